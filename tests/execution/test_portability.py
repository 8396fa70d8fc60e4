"""Arithmetic that does not depend on the processor, in processes of their own."""

import os
import subprocess
import sys

import pytest

from sharpbayes.execution.portability import SETTINGS, is_portable, start_portable

BYTES = """
import hashlib, math, sys
from sharpbayes.execution.portability import is_portable, start_portable
if sys.argv[1:] == ["portable"]:
    start_portable()
import numpy as np
from numba import njit
@njit(fastmath=True)
def add(x):
    total = 0.0
    for value in x:
        total += math.exp(value) * value
    return total
x = np.random.default_rng(1).normal(size=1600)
square = x.reshape(40, 40)
values = [np.float64(add(x)), np.exp(x), square @ square.T]
print(is_portable(), hashlib.sha256(b"".join(value.tobytes() for value in values)).hexdigest())
"""
DRAWS = """
from sharpbayes.execution.portability import start_portable
start_portable()
from tests.algorithm import main
main()
"""


def printed(code, *arguments, processor):
    """What a program prints on a processor of this name."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_portable_numbers_are_the_same_bytes_on_processors_that_differ():
    wide, narrow = (printed(BYTES, processor=name) for name in ("haswell", "x86-64"))
    if wide == narrow:
        pytest.skip("this processor sums alike under both names")
    same = [printed(BYTES, "portable", processor=name) for name in ("haswell", "x86-64")]
    assert same[0] == same[1]
    assert (wide[0], same[0][0]) == ("False", "True")


@pytest.mark.slow
def test_portable_draws_are_the_same_bytes_on_processors_that_differ():
    """Compiles the kernel once more, for the generic processor."""
    one, other = (printed(DRAWS, processor=name) for name in ("haswell", "x86-64"))
    assert one == other
    assert len(one) > 50


def test_a_process_has_all_the_settings_or_is_not_portable(monkeypatch):
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    assert is_portable()
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert not is_portable()


def test_on_windows_the_status_of_the_second_start_is_that_of_the_first(monkeypatch):
    """There a process that is replaced ends at once with status 0."""
    starts = []

    def start(call, *, env, check):
        starts.append((call, env["NUMBA_CPU_NAME"], check))
        return subprocess.CompletedProcess(call, 6)

    monkeypatch.setattr("sharpbayes.execution.portability.os.name", "nt")
    monkeypatch.setattr("subprocess.run", start)
    monkeypatch.setattr("sharpbayes.execution.portability.is_portable", lambda: False)
    with pytest.raises(SystemExit) as ended:
        start_portable()
    assert ended.value.code == 6
    assert starts == [([sys.executable, *sys.orig_argv[1:]], "generic", False)]

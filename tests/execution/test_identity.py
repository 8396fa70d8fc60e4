"""The identity of a computation: a number that draws and resamples of a seed do not outlive."""

import json
import os
import subprocess
import sys

import pytest

from sharpbayes.execution import identity
from sharpbayes.execution.identity import ALGORITHM, COMPUTATION, code_digest, computation
from tests import algorithm


def test_what_a_seed_gives_does_not_change_under_one_number_of_the_algorithm():
    """In a process of its own: last bits depend on what a process compiled before."""
    kept = json.loads(algorithm.GOLDEN.read_text("utf-8"))
    assert kept["algorithm"] == ALGORITHM, "record: python -m tests.algorithm --record"
    done = subprocess.run(
        [sys.executable, "-m", "tests.algorithm"], capture_output=True, text=True, check=True
    )
    moved = algorithm.differences(kept["numbers"], json.loads(done.stdout))
    if moved and kept["versions"] != algorithm.versions():
        pytest.skip(f"recorded with other libraries: {kept['versions']}; differ: {moved}")
    assert not moved, "a seed gives other numbers: raise ALGORITHM and record them"


def test_other_numbers_are_not_recorded_under_the_same_number(tmp_path):
    path = tmp_path / "golden.json"
    algorithm.record({"draws": [1.0, 2.0], "resamples": "ab"}, path)
    algorithm.record({"draws": [1.0, 2.0 + 1e-9], "resamples": "ab"}, path)
    for moved in ({"draws": [1.0, 2.1]}, {"resamples": "cd"}, {"more": "x"}):
        with pytest.raises(SystemExit, match=f"{next(iter(moved))} moved: raise ALGORITHM first"):
            algorithm.record({"draws": [1.0, 2.0], "resamples": "ab"} | moved, path)


def test_a_number_that_was_raised_is_recorded(tmp_path, monkeypatch):
    path = tmp_path / "golden.json"
    algorithm.record({"draws": [1.0]}, path)
    monkeypatch.setattr(algorithm, "ALGORITHM", ALGORITHM + 1)
    algorithm.record({"draws": [2.0]}, path)
    kept = json.loads(path.read_text("utf-8"))
    assert (kept["algorithm"], kept["numbers"]) == (ALGORITHM + 1, {"draws": [2.0]})


@pytest.mark.parametrize(("room", "counts"), [("bayes", True), ("metrics", True), ("cli", False)])
def test_the_digest_of_the_code_is_that_of_what_computes(room, counts, tmp_path, monkeypatch):
    (tmp_path / room).mkdir()
    (tmp_path / "execution").mkdir()
    (tmp_path / "execution" / "identity.py").write_text("")
    monkeypatch.setattr(identity, "__file__", str(tmp_path / "execution" / "identity.py"))
    compute = code_digest.__wrapped__
    before = compute()
    (tmp_path / room / "more.py").write_text("x = 1")
    assert (compute() != before) == counts


def test_all_that_a_number_depends_on_is_told():
    facts = computation()
    assert list(facts) == list(COMPUTATION)
    assert facts["algorithm"] == str(ALGORITHM)
    assert json.loads(facts["versions"])["nutpie"]
    assert json.loads(facts["instruction_set"])["processor"]


def test_the_instruction_set_is_that_for_which_code_is_compiled():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from sharpbayes.execution.identity import *; print(instruction_set())",
        ],
        env=os.environ | {"NUMBA_CPU_NAME": "generic"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "'processor': 'generic', 'features': ''" in done.stdout

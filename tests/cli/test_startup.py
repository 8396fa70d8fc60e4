"""What a process of the command line sets before it loads libraries."""

import os
import subprocess
import sys

import pytest

from sharpbayes.cli.startup import BLAS_VARIABLES, limit_blas_threads
from tests.test_structure import loaded_by


@pytest.mark.parametrize("given", [{}, {"OPENBLAS_NUM_THREADS": "4"}])
def test_linear_algebra_has_one_thread_unless_the_environment_says_otherwise(monkeypatch, given):
    monkeypatch.setattr(os, "environ", dict(given))
    limit_blas_threads()
    assert os.environ == dict.fromkeys(BLAS_VARIABLES, "1") | given


def test_a_fit_loads_no_plots_of_arviz():
    loaded = loaded_by(
        """
from sharpbayes.cli.startup import prepare_process
prepare_process()
import nutpie
"""
    )
    assert "arviz" in loaded
    assert not {"matplotlib", "arviz_plots.plots"} & set(loaded)


INTERRUPTED = """
import sys


class Interrupting:
    def find_spec(self, name, *_):
        if name == "sharpbayes.cli.commands":
            raise KeyboardInterrupt


sys.meta_path.insert(0, Interrupting())
from sharpbayes.__main__ import main
main()
"""


def test_ctrl_c_while_modules_are_loaded_is_an_interrupted_run():
    command = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")

"""What a process of the command line sets before it loads libraries."""

import os

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

"""The kernel's posterior is that of PyMC's graph."""

import pytest

from tests.references import paths


@pytest.mark.slow
@pytest.mark.parametrize("name", paths.SETS)
def test_both_ways_have_one_posterior(name):
    row = dict(zip(paths.HEADER, paths.compare_posteriors(name), strict=True))
    assert float(row["mean"]) < float(row["bound"])
    assert float(row["sd"]) < float(row["bound"])
    assert float(row["r_hat"]) < 1.02

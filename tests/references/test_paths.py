"""The kernel's posterior is that of PyMC's graph."""

import pytest

from tests.references import paths


@pytest.mark.slow
@pytest.mark.parametrize("name", paths.SETS)
def test_both_ways_have_one_posterior(name):
    found = dict(zip(paths.HEADER, paths.compared(name), strict=True))
    assert float(found["mean"]) < float(found["bound"])
    assert float(found["sd"]) < float(found["bound"])
    assert float(found["r_hat"]) < 1.02

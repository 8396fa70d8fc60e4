import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import rankdata

from sharpbayes.bayes.sampling.normal_scores import normal_scores


@pytest.mark.parametrize("steps", [None, 1, 50])
def test_scores_are_those_of_scipys_ranks(steps):
    values = np.random.default_rng(1).normal(size=(6, 101))
    values = values if steps is None else np.round(values * steps)
    expected = ndtri((rankdata(values, axis=1) - 3 / 8) / (101 + 1 / 4))
    np.testing.assert_array_equal(normal_scores(values), expected)

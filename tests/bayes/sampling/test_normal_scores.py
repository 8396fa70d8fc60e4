import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import rankdata

from sharpbayes.bayes.sampling.normal_scores import normal_scores


@pytest.mark.parametrize("steps", [None, 1, 50])
@pytest.mark.parametrize("count", [100, 101])
def test_scores_are_those_of_scipys_ranks(steps, count):
    values = np.random.default_rng(1).normal(size=(6, count))
    values = values if steps is None else np.round(values * steps)
    centre = np.median(values, axis=1)
    ranked = (values, np.abs(values - centre[:, None]))
    for scores, numbers in zip(normal_scores(values, centre), ranked, strict=True):
        expected = ndtri((rankdata(numbers, axis=1) - 3 / 8) / (count + 1 / 4))
        np.testing.assert_array_equal(scores, expected)

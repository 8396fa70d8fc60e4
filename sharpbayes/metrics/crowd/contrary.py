"""Raters who score items that are labelled unsafe lower than others."""

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.crowd.raters import RaterScores
from sharpbayes.metrics.stats.exact_tests import rank_sum_p
from sharpbayes.metrics.stats.multiplicity import SIGNIFICANCE_LEVEL


def find_contrary_raters(scores: RaterScores, metrics: xr.Dataset) -> xr.DataArray:
    """Return the raters who score items that are labelled unsafe lower than others, beyond chance.

    Their Spearman's rho is below the quantile of the normal law: of n items without any relation it
    has the variance 1 / (n - 1), with ties or without. And the exact law of their ranks, given how
    often they gave each score and how many items are unsafe, has no larger p
    (:func:`~sharpbayes.metrics.stats.exact_tests.rank_sum_p`). Both are one-sided at 5%, by
    Bonferroni over the raters who have a rho.

    Of the scores and their :func:`~sharpbayes.metrics.crowd.raters.rater_metrics` the result is
    over (rater). Where items have clusters, n counts these, and ranks are of one item of each. An
    item with several labels has the label of most in the exact law, and is left out of it where
    labels are even; so it is where a rater's own label, one of the crowd's, could decide.

    >>> labels = np.repeat([[1.0, 0.0], [0.0, 1.0]], 10, axis=0)
    >>> score, item = np.repeat([1, 0], 10), np.arange(20)
    >>> scores = RaterScores(score, item, item * 0, labels, cut=0, n_raters=1, n_scores=2)
    >>> numbers = {"spearman": ("rater", [-1.0]), "items": ("rater", [20])}
    >>> find_contrary_raters(scores, xr.Dataset(numbers)).values
    array([ True])
    """
    rho, number = metrics["spearman"], metrics.get("clusters", metrics["items"])
    level = SIGNIFICANCE_LEVEL / max(int(rho.notnull().sum()), 1)
    # The normal law first: it is quick for many raters.
    contrary = rho * np.sqrt(number - 1) < NormalDist().inv_cdf(level)
    if contrary.any():
        tables = _tabulate_items(scores)
        for rater in np.flatnonzero(contrary):
            p = rank_sum_p(tables[rater].sum(axis=1), tables[rater, :, 1])
            contrary[rater] = p <= level
    return contrary.reset_coords(drop=True)


def _tabulate_items(scores: RaterScores) -> NDArray[np.int64]:
    """Items by rater, score and the label of most, (rater, score, unsafe); one of each cluster."""
    # Where labels are the crowd's, a label less by the rater himself leaves a majority as it is.
    lead = 1.0 if scores.cut > 0 else 0.0
    safe, unsafe = scores.label_count.T
    majority = np.stack([safe - unsafe > lead, unsafe - safe > lead], axis=1)
    scores = replace(scores, label_count=majority.astype(float), cut=0)
    return scores.first_of_clusters().count_rows().to_numpy().astype(np.int64)

"""Whether judges score labelled prompts as they score others, and as people do."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special, stats

from sharpbayes.metrics.panel.debiased import effective_labels, ppi_mean
from sharpbayes.metrics.panel.influence import NO_WIDTH, influence_interval
from sharpbayes.metrics.stats.clusters import cluster_codes, sum_clusters

Floats = NDArray[np.float64]

# A smaller error is one of rounding.
ROUNDING = 1e-14


def labelled_gap(
    judges: xr.DataArray, labelled: xr.DataArray, *, dim: str = "prompt"
) -> xr.Dataset:
    """Return by how much judges score labelled prompts above the others, and a test of it.

    gap = mean_labelled f - mean_others f

    Independent prompts are compared by their ranks, with the normal law of the rank sum, corrected
    for ties: a few labelled prompts may show none of the severe answers that carry a mean, and so
    no spread. Where prompts have clusters (:mod:`sharpbayes.metrics.stats.clusters`) the test is

    t^2 = gap^2 / sum_c i_c^2

    i_c is the sum over the prompts of a cluster of +-(f_q - mean) / N sqrt(n / (n - 1)), with the
    mean, the number N of prompts and the number n of clusters of the side of a prompt.

    Args:
        judges: Values by judges over (..., ``dim``); NaN for none.
        labelled: Whether people labelled a prompt, over (..., ``dim``).
        dim: Dimension of the prompts.

    Returns:
        ``gap`` in the unit of ``judges`` and its two-sided p value ``gap_p`` over (...); NaN for
        fewer than two prompts or clusters on a side, or without spread.

    Source: Mann and Whitney 1947; Welch's t test of clusters, with Satterthwaite's degrees of
    freedom, and Liang and Zeger 1986.

    Examples:
        >>> judges = xr.DataArray([1.0, 2.0, 3.0, 4.0], dims="prompt")
        >>> labelled = xr.DataArray([True, True, False, False], dims="prompt")
        >>> gap = labelled_gap(judges, labelled)
        >>> float(gap["gap"]), float(gap["gap_p"].round(3))
        (-2.0, 0.245)
    """
    sides = [judges.where(is_in) for is_in in (labelled, ~labelled)]
    test = _test_ranks if cluster_codes(judges, dim) is None else _test_clusters
    enough = xr.concat([_count_clusters(side, dim) for side in sides], "side").min("side") > 1
    gap = (sides[0].mean(dim) - sides[1].mean(dim)).where(enough)
    return xr.Dataset({"gap": gap, "gap_p": test(gap, sides, dim).where(enough)})


def _test_ranks(gap: xr.DataArray, sides: Sequence[xr.DataArray], dim: str) -> xr.DataArray:
    """P of a gap by the ranks of the prompts of both sides; NaN where all values are the same."""

    def test(labelled: Floats, others: Floats) -> Floats:
        ranked = stats.mannwhitneyu(
            labelled, others, axis=-1, nan_policy="omit", method="asymptotic"
        )
        return np.asarray(ranked.pvalue)

    both = xr.concat(sides, "side")
    is_tested = gap.notnull() & (both.max(["side", dim]) > both.min(["side", dim]))
    # SciPy warns of an empty side.
    filled = [side.where(is_tested, 0.0) for side in sides]
    p: xr.DataArray = xr.apply_ufunc(test, *filled, input_core_dims=[[dim], [dim]])
    return p.where(is_tested)


def _test_clusters(gap: xr.DataArray, sides: Sequence[xr.DataArray], dim: str) -> xr.DataArray:
    """P of a gap by what each cluster adds to its error."""
    (influence, freedom), (other, other_freedom) = (_side_influence(side, dim) for side in sides)
    squares = [(part**2).sum(dim) for part in (influence, other)]
    error = ((influence - other) ** 2).sum(dim) ** 0.5
    least = squares[0] ** 2 / freedom + squares[1] ** 2 / other_freedom
    degrees = (squares[0] + squares[1]) ** 2 / least.where(least > 0)
    t = abs(gap) / error.where(error > ROUNDING)
    p: xr.DataArray = 2 * xr.apply_ufunc(special.stdtr, degrees, -t)
    return p


def _count_clusters(values: xr.DataArray, dim: str) -> xr.DataArray:
    """Number of clusters with a value; of prompts where they are independent."""
    return (sum_clusters(values.notnull().astype(float), dim) > 0).sum(dim)


def _side_influence(values: xr.DataArray, dim: str) -> tuple[xr.DataArray, xr.DataArray]:
    """Return what each cluster adds to the error of a mean, and the number of clusters less one."""
    freedom = _count_clusters(values, dim) - 1
    deviation = (values - values.mean(dim)).fillna(0.0) / values.count(dim)
    factor = ((freedom + 1) / freedom.where(freedom > 0)) ** 0.5
    return sum_clusters(deviation, dim) * factor, freedom


def paired_gap(
    judges: xr.DataArray,
    people: xr.DataArray,
    *,
    dim: str = "prompt",
    probability: xr.DataArray | None = None,
) -> xr.Dataset:
    """Return by how much judges score labelled prompts above people, and a test of it.

    gap = sum_q v_q (f_q - Y_q),  t^2 = gap^2 (n - 1) / (n sum_q v_q^2 (f_q - Y_q - gap)^2)

    f are values by judges and Y by people, v and n those of :func:`effective_labels` on the prompts
    that have both. Where prompts have clusters, v_q (f_q - Y_q - gap) is added up over those of one
    before it is squared. Let the values be means over raters: pooled values of few and of many
    raters differ even where all raters follow one law.

    Args:
        judges: Values by judges over (..., ``dim``), in any unit; NaN for none.
        people: Values by people over (..., ``dim``), in the same unit; NaN where nobody labelled.
        dim: Dimension of the prompts.
        probability: In (0, 1], with which each labelled prompt was chosen, over (..., ``dim``).

    Returns:
        ``gap`` in the unit of ``judges`` and its two-sided p value ``gap_p`` over (...); NaN for
        fewer than two prompts with both. Of a gap that all prompts share p is 2^(1 - n), and NaN
        where nothing differs.

    Source: Student's paired t test, with n - 1 degrees of freedom; the sign test of a shared gap.

    Examples:
        >>> judges = xr.DataArray([0.5, 0.7, 0.9, 0.8], dims="prompt")
        >>> people = xr.DataArray([0.1, 0.4, 0.4, float("nan")], dims="prompt")
        >>> gap = paired_gap(judges, people)
        >>> float(gap["gap"].round(2)), float(gap["gap_p"].round(4))
        (0.4, 0.0202)
    """
    difference = judges - people
    mean = ppi_mean(difference, dim=dim, probability=probability)
    number = effective_labels(difference, dim=dim, probability=probability)
    influence = mean["influence"] * (number / (number - 1).where(number > 1)) ** 0.5
    gap = mean["estimate"]
    test = influence_interval(gap, influence, level=0.5, freedom=number - 1, dim=dim)
    is_shared = (test["error"] <= NO_WIDTH) & (abs(gap) > NO_WIDTH)
    return xr.Dataset({"gap": gap, "gap_p": test["p"].where(~is_shared, 2 ** (1 - number))})

"""Weights of prompts and raters in a target population, categories and refused answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np
import xarray as xr
from numpy.typing import NDArray

# Shares of one category to which the others give way.
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
# Of so many categories one share says the other.
PAIR = 2
# Rounds of raking until weights converge; where they do, a few tens are enough.
MAX_ROUNDS = 1000
# A share that is missed by no more than this is held.
HELD = 1e-9


@dataclass(frozen=True)
class PopulationWeights:
    """Weights of answers under which each category of prompts has its share, whatever is missing.

    w_i = c_i share(k) / sum of c over the answers of category k that have a value

    The sum is taken for each model by itself, so that a model that lacks prompts of a category, or
    has more answers to them, is measured in the same population as all others.

    Attributes:
        category: Category of each prompt, over (prompt).
        shares: Shares in the target population over (category), with sum 1.
        counts: c of the prompts, or of their answers, over (..., prompt[, sample]), as of a
            resample; None for 1.

    Source: post-stratification; the shares are a decision (weights file, ``population.category``).

    >>> category = xr.DataArray(["a", "a", "b"], dims="prompt")
    >>> shares = xr.DataArray([0.2, 0.8], {"category": ["a", "b"]})
    >>> present = xr.DataArray([[True, True, True], [True, False, True]], dims=("model", "prompt"))
    >>> PopulationWeights(category, shares).of_values(present).values
    array([[0.1, 0.1, 0.8],
           [0.2, 0.2, 0.8]])
    """

    category: xr.DataArray
    shares: xr.DataArray
    counts: xr.DataArray | None = None

    def of_values(self, present: xr.DataArray) -> xr.DataArray:
        """Return the weights of values over (..., prompt[, sample]) that are present or not.

        They are over the dimensions of the counts and, where a value is missing, those of the
        values. They add up to 1, less the shares of categories that a resample drew no prompt of,
        and are 0 where no value of a category with a share is present: no weights give it its share
        then.

        >>> category = xr.DataArray(["a", "a", "b"], dims="prompt")
        >>> shares = xr.DataArray([0.2, 0.8], {"category": ["a", "b"]})
        >>> lacking = xr.DataArray([True, True, False], dims="prompt")
        >>> PopulationWeights(category, shares).of_values(lacking).values
        array([0., 0., 0.])
        """
        labels = self.category.drop_vars("category", errors="ignore")
        membership = (labels == self.shares["category"]).astype(float)
        counts = self.counts
        if counts is None:
            counts = xr.ones_like(membership.isel(category=0, drop=True))
        over = [dim for dim in ("prompt", "sample") if dim in present.dims or dim in counts.dims]
        if bool(present.all()):
            total = xr.dot(counts, membership, dim=[dim for dim in over if dim in counts.dims])
            return self._share_out(counts, membership, total).transpose(*counts.dims)
        scored = present.astype(float)
        total = xr.dot(counts, scored, membership, dim=over, optimize=True)
        number = xr.dot(scored, membership, dim=over, optimize=True)
        is_whole = ((number > 0) | (self.shares == 0)).all("category")
        weights = self._share_out(counts, membership, total).where(is_whole, 0.0)
        lead = [dim for dim in (*counts.dims, *present.dims) if dim not in over]
        ordered: xr.DataArray = weights.transpose(*dict.fromkeys(lead), ...)
        return ordered

    def _share_out(
        self, counts: xr.DataArray, membership: xr.DataArray, total: xr.DataArray
    ) -> xr.DataArray:
        """Return counts times the share of their category, over its total."""
        factor = xr.dot(self.shares / total.where(total > 0, 1.0), membership, dim="category")
        weights: xr.DataArray = counts * factor
        return weights


def shares_around(shares: xr.DataArray) -> xr.DataArray:
    """Return shares in which one category at a time has each of :data:`SHARES`.

    s'_k = t for the category that is moved, s'_j = (1 - t) s_j / (1 - s_k) for every other

    Shares are over (category), two or more, with sum 1; the result is over (moved_category,
    category_share, category). Of two categories only the first is moved. Where the moved category
    has the whole population, the others share what it leaves alike.

    >>> shares = xr.DataArray([0.2, 0.2, 0.6], {"category": ["a", "b", "c"]})
    >>> shares_around(shares).sel(moved_category="c", category_share=0.5).values
    array([0.25, 0.25, 0.5 ])
    """
    labels = shares["category"].to_numpy()
    first = labels[:1] if len(labels) == PAIR else labels
    moved = xr.DataArray(first, {"moved_category": first}, "moved_category")
    share = xr.DataArray(list(SHARES), {"category_share": list(SHARES)}, "category_share")
    is_moved = moved == shares["category"]
    others = shares.where(~is_moved, 0.0)
    total = others.sum("category")
    alike = (~is_moved) / (len(labels) - 1)
    proportion = (others / total.where(total > 0)).where(total > 0, alike)
    around: xr.DataArray = is_moved * share + (1.0 - share) * proportion
    return around.transpose("moved_category", "category_share", "category")


def rater_weights(
    columns: Mapping[str, NDArray[np.str_]], shares: Mapping[str, Mapping[str, float]]
) -> NDArray[np.float64]:
    """Return weights of raters, with mean 1, under which each label of each column has its share.

    Raking: w is multiplied by share(label) / (sum of w over the label), by column, until all hold.

    The shares of a column's labels add up to 1; a rater whose label has no share has weight 0, and
    so has one without a label.

    Raises:
        ValueError: A label with a share has no rater, or no weights hold all columns.

    Source: Deming and Stephan 1940.

    >>> gender = np.array(["Woman", "Man", "Man", "Man"])
    >>> rater_weights({"gender": gender}, {"gender": {"Woman": 0.5, "Man": 0.5}}).round(3)
    array([2.   , 0.667, 0.667, 0.667])
    """
    size = len(next(iter(columns.values())))
    weights = np.full(size, 1.0 / size)
    members = [
        [(columns[name] == label, share) for label, share in by_label.items()]
        for name, by_label in shares.items()
    ]
    if any(share > 0 and not member.any() for member, share in chain(*members)):
        raise ValueError("a label with a share in the population has no rater")
    for _ in range(MAX_ROUNDS):
        before = weights
        for column in members:
            factor = np.zeros(size)
            for member, share in column:
                total = weights[member].sum()
                factor[member] = share / total if total > 0 else 0.0
            weights = weights * factor
        if np.allclose(weights, before, rtol=1e-12, atol=0.0):
            break
    # Columns that contradict each other end in a circle, in which only the last one holds.
    if all(abs(weights[member].sum() - share) <= HELD for member, share in chain(*members)):
        return weights * size
    raise ValueError("no weights of raters give every column its shares")


def category_membership(category: xr.DataArray) -> xr.DataArray:
    """Return weights that keep the prompts of one category each.

    They are 1 or 0 over (category, prompt), categories sorted, from the category of each prompt,
    which none lacks.

    Source: none; indicators of subpopulations.

    >>> kept = category_membership(xr.DataArray(["b", "a", "b"], dims="prompt"))
    >>> kept["category"].values.tolist(), kept.values.tolist()
    (['a', 'b'], [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    """
    labels = sorted({str(label) for label in category.to_numpy()})
    names = xr.DataArray(labels, {"category": labels}, "category")
    bare = category.drop_vars("category", errors="ignore").astype(str)
    return (names == bare).astype(float)


def flag_refusals(indicators: xr.DataArray, *, cut: float) -> xr.DataArray:
    """Return which answers are refusals: the judges' mean refusal is at or above a decided cut.

    Of refusal indicators in [0, 1] over (..., judge, indicator) the largest counts. Missing ones
    are left out; False where every indicator is missing.

    Source: SHARP, section 4: low risk may be refusal.

    >>> phi = xr.DataArray([[[1.0], [0.0]], [[0.0], [0.0]]],
    ...                    dims=("prompt", "judge", "indicator"))
    >>> flag_refusals(phi, cut=0.5).values
    array([ True, False])
    """
    return indicators.max("indicator").mean("judge") >= cut

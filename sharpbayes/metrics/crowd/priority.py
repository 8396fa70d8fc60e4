"""Which items come first: harm as responsive groups see it, and disagreement of groups."""

import xarray as xr

from sharpbayes.metrics.crowd.association import ratio


def priority(
    plurality: xr.DataArray, responsiveness: xr.DataArray, *, n_scores: int
) -> xr.DataArray:
    """Return the harm of each item as seen by responsive groups, in [0, 1].

    ``priority[i] = sum_g HM[g] S[g, i] / (K sum_g HM[g])`` over groups with HM that rated item i.

    Of scores 0..K (..., group, item), -1 missing, of the groups of one grouping it is over (...,
    item): 1 where every responsive group gave the highest score, NaN where none rated the item.

    Source: responsiveness paper, section 1 ("prioritizing high-impact items").

    >>> scores = xr.DataArray([[4, 0], [0, -1]], dims=("group", "item"))
    >>> hm = xr.DataArray([0.6, 0.2], dims="group")
    >>> priority(scores, hm, n_scores=5).round(2).values.tolist()
    [0.75, 0.0]
    """
    weight = responsiveness.fillna(0.0) * (plurality >= 0)
    mean = (weight * plurality).sum("group") / (n_scores - 1)
    return ratio(mean, weight.sum("group"))


def disagreement(plurality: xr.DataArray) -> xr.DataArray:
    """Return how far apart the groups of one grouping see each item.

    It is the highest less the lowest score (..., group, item), -1 missing; NaN where fewer than two
    groups scored the item.

    Source: responsiveness paper, Appendix D.

    >>> scores = xr.DataArray([[4, 0], [1, -1]], dims=("group", "item"))
    >>> disagreement(scores).values.tolist()
    [3.0, nan]
    """
    known = plurality.where(plurality >= 0)
    if not known.sizes["group"]:
        return known.sum("group", min_count=1)
    return (known.max("group") - known.min("group")).where(known.count("group") > 1)

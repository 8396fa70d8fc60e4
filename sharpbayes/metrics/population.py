"""Which prompts count, and how much: target populations of categories, and refused answers."""

import xarray as xr


def target_weights(
    category: xr.DataArray, shares: xr.DataArray, *, counts: xr.DataArray | None
) -> xr.DataArray:
    """Return weights of prompts under which each category has its share.

    w_q = c_q share(category of q) / sum of c over the category, c = 1 or the counts of a resample

    Args:
        category: Category of each prompt, over (prompt).
        shares: Share of each category in the target population, over (category); adds up to 1.
        counts: Counts of a resample over (..., prompt[, sample]), or None.

    Returns:
        Weights shaped as ``counts`` that add up to 1, less the shares of categories that a resample
        drew no prompt of; 0 for prompts of a category without a share.

    Source: post-stratification; the shares are a decision (weights file, ``population.category``).

    Examples:
        >>> category = xr.DataArray(["a", "a", "b"], dims="prompt")
        >>> shares = xr.DataArray([0.2, 0.8], {"category": ["a", "b"]})
        >>> target_weights(category, shares, counts=None).values
        array([0.1, 0.1, 0.8])
    """
    member = (category.drop_vars("category", errors="ignore") == shares["category"]).astype(float)
    if counts is None:
        counts = xr.ones_like(member.isel(category=0, drop=True))
    over = [dim for dim in ("prompt", "sample") if dim in counts.dims]
    total = xr.dot(counts, member, dim=over)
    factor = xr.dot(shares / total.where(total > 0, 1.0), member, dim="category")
    found: xr.DataArray = (counts * factor).transpose(*counts.dims)
    return found


def category_members(category: xr.DataArray) -> xr.DataArray:
    """Return weights that keep the prompts of one category each.

    Args:
        category: Category of each prompt, over (prompt).

    Returns:
        1 or 0 over (category, prompt), categories sorted.

    Examples:
        >>> found = category_members(xr.DataArray(["b", "a", "b"], dims="prompt"))
        >>> found["category"].values.tolist(), found.values.tolist()
        (['a', 'b'], [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    """
    labels = sorted({str(label) for label in category.to_numpy()})
    names = xr.DataArray(labels, {"category": labels}, "category")
    bare = category.drop_vars("category", errors="ignore").astype(str)
    return (names == bare).astype(float)


def refused(phi: xr.DataArray, *, cut: float) -> xr.DataArray:
    """Return which answers are refusals: the judges' mean refusal is at or above a cut.

    Args:
        phi: Refusal indicators in [0, 1] over (..., judge, indicator); of several the largest
            counts. Missing ones are left out.
        cut: Decided share from which an answer counts as refused.

    Returns:
        Bool over the other dimensions; False where no judge says anything.

    Source: SHARP, section 4: low risk may be refusal.

    Examples:
        >>> phi = xr.DataArray([[[1.0], [0.0]], [[0.0], [0.0]]],
        ...                    dims=("prompt", "judge", "indicator"))
        >>> refused(phi, cut=0.5).values
        array([ True, False])
    """
    return phi.max("indicator").mean("judge") >= cut

"""What draws keep -> a labelled dataset of the variables that the model file declares."""

from collections.abc import Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.bayes.design.design import Design, ScaleRatings, Term
from sharpbayes.bayes.kernel.layout import ParameterLayout

Floats = NDArray[np.float64]


def label_draws(kept: Floats, design: Design, layout: ParameterLayout) -> xr.Dataset:
    """Return the posterior of a design.

    Args:
        kept: What the kernel keeps of each draw; shape (chain, draw, value).
        design: Labels of every dimension.
        layout: Where each variable lies.

    Returns:
        ``location_*``, ``spacing_*``, ``discrimination_*``, ``sd_*``, ``correlation_*`` and
        ``threshold_*`` over (chain, draw) and their own dimensions. A level of a column that has
        no rating on a scale has no thresholds there: they are missing.
    """
    variables = {}
    unseen = {term.name: _without_ratings(term) for term in design.terms_of("gap")}
    for section in layout.stored:
        values = kept[..., section.start : section.stop].reshape(*kept.shape[:2], *section.shape)
        if section.name.startswith("discrimination_"):
            values = np.exp(values)
        if section.name in unseen:
            values = np.where(unseen[section.name], np.nan, values)
        variables[section.name] = (("chain", "draw", *section.dims), values)
    used = {dim for dims, _ in variables.values() for dim in dims}
    posterior = xr.Dataset(variables, _coords(design, used, kept.shape))
    return posterior.assign(dict(_own_thresholds(posterior, design)))


def _without_ratings(term: Term) -> NDArray[np.bool_]:
    """Levels of a spacing that have no rating on its scale; shape (level, 1)."""
    return ~np.isin(np.arange(term.shape[0]), term.index)[:, None]


def _coords(design: Design, used: set[str], shape: tuple[int, ...]) -> dict[str, object]:
    """Labels of every dimension that a variable has."""
    coords: dict[str, object] = {"chain": np.arange(shape[0]), "draw": np.arange(shape[1])}
    for name, labels in design.coords.items():
        coords |= {dim: list(labels) for dim in (name, f"{name}_other") if dim in used}
    return coords


def _own_thresholds(posterior: xr.Dataset, design: Design) -> Iterator[tuple[str, xr.DataArray]]:
    """Yield the thresholds of each level of a column, other columns at their mean."""
    for term in design.terms_of("gap"):
        scale, dim = design.scales[term.scale], term.dims[0]
        common = posterior[f"threshold_{scale.name}"]
        own = apply_gap_effects(
            common, posterior[term.name], scale, ordered=design.ordered_cutpoints
        )
        severity = design.location_of(scale, dim)
        if severity is not None:
            name, row = severity
            effect = posterior[name]
            own = own - (effect if row is None else effect.isel(scale=row, drop=True))
        yield (
            f"threshold_{scale.name}_{dim}",
            own.transpose("chain", "draw", dim, scale.cutpoint_dim),
        )


def apply_gap_effects(
    thresholds: xr.DataArray, stretch: xr.DataArray, scale: ScaleRatings, *, ordered: bool
) -> xr.DataArray:
    """Return thresholds whose gaps are apply_gap_effects about the middle one.

    c'_k = c_p + sum_{p <= j < k} (c_{j+1} - c_j) exp(stretch_j), and likewise below the pivot p;
    with (c_{j+1} - c_j) + stretch_j in place of the product where thresholds need not grow.

    Args:
        thresholds: Thresholds over the scale's ``_cutpoint`` dimension.
        stretch: Log factors, or what is added, over its ``_gap`` dimension, and any others.
        scale: The scale.
        ordered: Whether thresholds are ordered.
    """
    cuts = thresholds.transpose(..., scale.cutpoint_dim)
    gaps = cuts.diff(scale.cutpoint_dim).rename({scale.cutpoint_dim: scale.gap_dim})
    gaps = gaps.drop_vars(scale.gap_dim, errors="ignore")
    gaps = gaps * np.exp(stretch) if ordered else gaps + stretch
    steps = gaps.cumsum(scale.gap_dim, skipna=False).pad(
        {scale.gap_dim: (1, 0)}, constant_values=0.0
    )
    steps = steps.drop_vars(scale.gap_dim, errors="ignore").rename(
        {scale.gap_dim: scale.cutpoint_dim}
    )
    steps = steps.assign_coords({scale.cutpoint_dim: cuts[scale.cutpoint_dim]})
    middle = {scale.cutpoint_dim: scale.reference_cutpoint}
    return cuts.isel(middle, drop=True) + steps - steps.isel(middle, drop=True)

"""What larger studies would tell, before there are any: preposterior analysis by replication."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from sharpbayes.metrics.stats.intervals import percentile_interval
from sharpbayes.posterior.decision import BATCHES, monte_carlo_error


@dataclass(frozen=True)
class Designs:
    """Replicated statistics of larger and larger studies.

    Attributes:
        source: What there is more of: ``prompts``, ``judges``, ``items`` or ``raters``.
        values: For each multiple the statistic over (chain, draw, ..., unit).
    """

    source: str
    values: Mapping[int, xr.DataArray]


def told_apart(designs: Sequence[Designs], unit: str, *, level: float) -> xr.Dataset:
    """Return how wide differences are in larger studies, and how likely their intervals exclude 0.

    A study of m times the units has an interval as wide as that of the replicates of m times the
    units, around a centre that is not known yet: c = mu + sqrt(1 - V_m / V_1) (d - mu), with a
    present draw d of the difference, its mean mu, and the variances V_m and V_1 of replicates of m
    times and of once the units (the law of total variance: what a larger study leaves open, V_m,
    and how far its centre may move, V_1 - V_m, add up to what is open now).

    Args:
        designs: Replicated statistics, one for each source.
        unit: ``model`` or ``group``: what is compared.
        level: Share of draws inside an interval, in (0, 1).

    Returns:
        Over (design, ..., unit, other): ``difference_width`` in the unit of the statistic,
        ``prob_distinguishable`` in [0, 1], each with its Monte Carlo standard error ``<name>_mcse``;
        coordinates ``source (design)`` and ``multiple (design)``.

    Source: preposterior analysis (Raiffa and Schlaifer 1961, chapter 5), by replication.

    Examples:
        >>> rng = np.random.default_rng(1)
        >>> def drawn(sd):
        ...     noise = rng.normal(0, sd / np.sqrt(2), (2, 4000, 2)) + [0.0, 1.0]
        ...     return xr.DataArray(noise, {"model": ["a", "b"]}, ("chain", "draw", "model"))
        >>> more = Designs("prompts", {1: drawn(1.0), 4: drawn(0.5)})
        >>> found = told_apart([more], "model", level=0.95).sel(model="a", other="b")
        >>> found["difference_width"].round().values  # 2 * 1.96 * sd
        array([4., 2.])
        >>> found["prob_distinguishable"].round(1).values  # P(|N(1, 0.87)| > 0.98)
        array([0. , 0.5])
    """
    found = [
        part.expand_dims(design=[f"{each.source} x {times}"]).assign_coords(
            source=("design", [each.source]), multiple=("design", [times])
        )
        for each in designs
        for times, part in _narrowed(each.values, unit, level)
    ]
    return xr.concat(found, "design")


def _narrowed(
    values: Mapping[int, xr.DataArray], unit: str, level: float
) -> Iterator[tuple[int, xr.Dataset]]:
    """Widths and probabilities of each multiple."""
    now = _differences(values[1], unit)
    middle, spread = now.mean(["chain", "draw"]), now.var(["chain", "draw"])
    for times, held in values.items():
        made = _differences(held, unit)
        width = _width(made, level)
        left = made.var(["chain", "draw"]) / spread.where(spread > 0)
        centre = middle + np.sqrt((1.0 - left).clip(min=0.0)) * (now - middle)
        apart = (abs(centre) > width / 2).where(width.notnull()).astype(float)
        # The width is as uncertain as its batches differ.
        parts = [_width(part, level) for part in _batches(made)]
        yield (
            times,
            xr.Dataset(
                {
                    "difference_width": width,
                    "difference_width_mcse": xr.concat(parts, "batch").std("batch", ddof=1)
                    / np.sqrt(len(parts)),
                    "prob_distinguishable": apart.mean(["chain", "draw"], skipna=False),
                    "prob_distinguishable_mcse": monte_carlo_error(apart),
                }
            ),
        )


def _differences(values: xr.DataArray, unit: str) -> xr.DataArray:
    """Of every unit less every other one, draw by draw."""
    bare = values.drop_vars([name for name in values.coords if name not in values.dims])
    return (bare - bare.rename({unit: "other"})).transpose("chain", "draw", ..., unit, "other")


def _width(difference: xr.DataArray, level: float) -> xr.DataArray:
    """Width of the central interval over all draws."""
    drawn = difference.stack(replicate=("chain", "draw"), create_index=False)
    bounds = percentile_interval(drawn, level=level)
    return bounds.isel(bound=1, drop=True) - bounds.isel(bound=0, drop=True)


def _batches(x: xr.DataArray) -> Iterator[xr.DataArray]:
    """Successive draws of all chains."""
    number = min(BATCHES, x.sizes["draw"])
    size = x.sizes["draw"] // number
    for start in range(0, number * size, size):
        yield x.isel(draw=slice(start, start + size))

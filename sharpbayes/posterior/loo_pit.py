"""Whether the model predicts single ratings: leave-one-out PIT by judge, or by group of raters."""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import xarray as xr
from arviz_stats.base import array_stats  # type: ignore[attr-defined]
from arviz_stats.ecdf_utils import (
    compute_ecdf,
    get_pointwise_confidence_band,
    simulate_confidence_bands,
)
from numpy.typing import NDArray

from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Floats
from sharpbayes.bayes.predict.loo_pit import loo_pit
from sharpbayes.bayes.predict.psis import largest_good_k
from sharpbayes.metrics.stats.multiplicity import holm
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.posterior.study_metrics import StudyMetrics

ALL = "all"
# Ratings of each judge or group that are left out, at random, and of all together; of fewer than
# the least nothing is said. A test of very many ratings rejects every model.
MAX_RATINGS, MIN_RATINGS, MAX_TOGETHER = 1000, 20, 20_000
# Points of the curve between 0 and 1, level of the band, and samples that make it.
POINTS, BAND_LEVEL, BAND_DRAWS = 50, 0.95, 1000
# Numbers of the random streams: which ratings, where in a probability, and bands.
ROWS, UNIFORM, BANDS = 0x10F1, 0x10F2, 0x10F3


def loo_pit_group(metrics: StudyMetrics, draws: ReplicateDraws) -> xr.Dataset | None:
    """Return curves, bands and tests of the leave-one-out PIT, over (member).

    Members are all ratings together, then the judges of a panel, or the groups of a crowd:
    ``ratings`` (how many were left out), ``pit_mean`` (above 1/2 where scores are higher than
    predicted), ``pit_spread`` (their variance times 12: above 1 where predictions are too narrow,
    below 1 where they are too wide), ``bad_k`` (the share with a Pareto k above ``good_k``),
    ``p_value`` and ``p_holm`` of uniformity; ``ecdf``, ``lower`` and ``upper (member, point)`` less
    the diagonal, with simultaneous 95% bands; ``outside``. None for careless raters, and where too
    few ratings are left out.

    Source: Säilynoja, Bürkner and Vehtari 2022 (bands); the test POT-C of ArviZ, which holds for
    PIT values that depend on each other.
    """
    rows = dict(_choose_rows(metrics, draws))
    if draws.design.careless is not None or not rows:
        return None
    union = np.unique(np.concatenate([*rows.values()]))
    pit, pareto_k = loo_pit(draws.posterior, draws.design, union, seed=draws.seed + UNIFORM)
    good_k = largest_good_k(draws.shape[0] * draws.shape[1])
    parts = [
        _summarise(pit[position], ~(pareto_k[position] <= good_k), seed=draws.seed)
        for position in (np.searchsorted(union, chosen) for chosen in rows.values())
    ]
    table = xr.concat(parts, xr.DataArray(list(rows), dims="member", name="member"))
    table["p_holm"] = ("member", holm(table["p_value"].to_numpy()))
    return table.assign_attrs(good_k=good_k, band=BAND_LEVEL)


def _choose_rows(metrics: StudyMetrics, draws: ReplicateDraws) -> Iterator[tuple[str, Index]]:
    """Yield the ratings of each member that are left out, sorted."""
    factors, rng = metrics.study.ratings.factors, np.random.default_rng([draws.seed, ROWS])
    members: dict[str, Index] = {ALL: np.arange(draws.design.n_ratings)}
    for column in metrics.rating_columns:
        prefix = "" if column == "judge" else f"{column.removeprefix('group:')}="
        factor = factors[column]
        for code, label in enumerate(factor.labels):
            members[f"{prefix}{label}"] = np.flatnonzero(factor.codes == code)
    max_rows = min(MAX_RATINGS, MAX_TOGETHER // len(members))
    for name, rows in members.items():
        if len(rows) >= MIN_RATINGS:
            chosen = rows if len(rows) <= max_rows else rng.choice(rows, max_rows, replace=False)
            yield name, np.sort(chosen)


def _summarise(pit: Floats, bad: NDArray[np.bool_], *, seed: int) -> xr.Dataset:
    """Curve, band, test, mean and spread of the PIT values of one member."""
    point, lower, upper = _band(len(pit), seed)
    ecdf = compute_ecdf(pit, point)
    p_value = float(array_stats.uniformity_test(pit, method="pot_c")[0])
    return xr.Dataset(
        {
            "ratings": len(pit),
            "pit_mean": pit.mean(),
            "pit_spread": 12.0 * pit.var(),
            "bad_k": np.mean(bad),
            "p_value": p_value,
            "outside": bool(((ecdf < lower) | (ecdf > upper)).any()),
            "ecdf": ("point", ecdf - point),
            "lower": ("point", lower - point),
            "upper": ("point", upper - point),
        },
        {"point": point},
    )


@lru_cache(maxsize=64)
def _band(count: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Points, and the lower and upper end of the simultaneous band of an ECDF of so many values."""
    point, rng = np.arange(1, POINTS) / POINTS, np.random.default_rng([seed, BANDS, count])
    within = simulate_confidence_bands(count, 1, point, BAND_LEVEL, BAND_DRAWS, rng)
    lower, upper = get_pointwise_confidence_band(within, count, point)
    return point, lower, upper

"""Posterior predictive checks: does the model replicate what was observed?"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtri

from sharpbayes.bayes.design.design import Floats, ScaleRatings
from sharpbayes.data.ratings import Factor, Ratings
from sharpbayes.metrics.stats.draws import DRAWS, central_interval
from sharpbayes.posterior.dependence_checks import dependence_checks, list_remedies
from sharpbayes.posterior.replicates import Categories, ReplicateDraws, measure_draws
from sharpbayes.posterior.study_metrics import StudyMetrics
from sharpbayes.spec.model import dim_name

# Largest probability of any false alarm over all checks of a study.
FAMILYWISE = 0.05
SHOWN_LEVEL = 0.95
NOTE = (
    "{checks} checks of observed ratings against replicated ones of the same cells. If the model "
    "is right, one or more of them fail with a probability of at most {familywise:.0%}."
)


def check_replicates(
    metrics: StudyMetrics, draws: ReplicateDraws, ratings: Ratings, posterior: xr.Dataset
) -> xr.Dataset:
    """Return checks of a study's main metrics, of frequencies and of dependence of its ratings.

    The attribute ``remedies`` says what to do about those of dependence that fail.
    ``posterior`` has the posterior metrics for the first list of sources of uncertainty.
    """
    if posterior.attrs["sources"] != ["ratings"]:
        posterior = metrics.measure(draws, ["ratings"])[0]
    replicated, observed = rating_frequencies(draws, ratings, metrics.rating_columns)
    direct = {name: metrics.observed[name].drop_attrs() for name in metrics.checked}
    dependence, observed_dependence = dependence_checks(draws, ratings)
    checks = predictive_checks(
        {name: posterior[name] for name in metrics.checked} | replicated | dependence,
        direct | observed | observed_dependence,
    )
    failed = [name for name in dependence if bool(checks[f"{name}_fails"].any())]
    return checks.assign_attrs(remedies=list_remedies(failed, ratings))


def predictive_checks(
    replicated: Mapping[str, xr.DataArray], observed: Mapping[str, xr.DataArray]
) -> xr.Dataset:
    """Return tail probabilities of observed statistics, and which of them fail.

    p = P(T_rep > T_obs) + P(T_rep = T_obs) / 2

    The observed ratings and each replicate are equals if the model is right. Each of them deviates
    from all others by some amount in every check, and by most in one. A check fails where at most
    5% of them deviate anywhere by as much as the observed ratings deviate in this check. So the
    probability of any false alarm is at most 5%, for any number of checks.

    From replicated statistics over (chain, draw, ...) and the same of the observed ratings, by
    name: ``<name>_observed``, ``<name>_replicated`` (mean), ``<name>_p`` and ``<name>_fails``;
    missing statistics never fail. The attribute ``failed_checks`` describes those that do.

    Source: Gelman, Meng and Stern 1996; largest deviation: Westfall and Young 1993, section 2.3.

    Examples:
        >>> draws = xr.DataArray(np.arange(1000.0).reshape(4, 250), dims=("chain", "draw"))
        >>> checks = predictive_checks({"cvar": draws}, {"cvar": xr.DataArray(2000.0)})
        >>> float(checks["cvar_p"]), checks.attrs["failed_checks"]
        (0.0, ['cvar: observed 2000.000, replicated 499.500 (24.975 to 974.025)'])
    """
    variables, columns = {}, {}
    for name, draws in replicated.items():
        value = observed[name]
        p = ((draws > value) + 0.5 * (draws == value)).mean(DRAWS)
        known = value.notnull() & draws.notnull().all(DRAWS)
        variables[f"{name}_observed"] = value
        variables[f"{name}_replicated"] = draws.mean(DRAWS)
        variables[f"{name}_p"] = p.where(known)
        flat = draws.transpose(*DRAWS, *value.dims).to_numpy()
        flat = flat.reshape(flat.shape[0] * flat.shape[1], value.size)
        columns[name] = np.vstack([value.to_numpy().ravel(), flat])[:, known.to_numpy().ravel()]
    table = xr.Dataset(variables)
    adjusted = _adjusted_p(np.hstack(list(columns.values())))
    stops = np.cumsum([column.shape[1] for column in columns.values()])
    for name, adjusted_p in zip(columns, np.split(adjusted, stops[:-1]), strict=True):
        known = table[f"{name}_p"].notnull()
        fails = np.zeros(known.shape, dtype=bool)
        fails[known.transpose(*observed[name].dims).to_numpy()] = adjusted_p <= FAMILYWISE
        table[f"{name}_fails"] = (observed[name].dims, fails)
    failed = [text for name in replicated for text in _describe_failures(name, table, replicated)]
    note = NOTE.format(checks=adjusted.size, familywise=FAMILYWISE)
    return table.assign_attrs(failed_checks=failed, interval_note=note, checks=adjusted.size)


def _adjusted_p(values: Floats) -> Floats:
    """Return for each check the share of rows that deviate anywhere by as much as the first."""
    if not values.shape[1]:
        return np.empty(0)
    deviation = _deviations(values)
    largest = np.sort(deviation.max(axis=1))
    reached: Floats = 1.0 - np.searchsorted(largest, deviation[0], side="left") / len(largest)
    return reached


def _deviations(values: Floats) -> Floats:
    """Return how far each row is from all others in every column, in standard deviations.

    A deviation is the normal score of the rank, so that a rare value that several rows have is no
    outlier. Beyond all others it is the distance from their mean if that is more.
    """
    from scipy.stats import rankdata  # noqa: PLC0415 - slow to load

    rows = len(values)
    rank = rankdata(values, axis=0)
    score = np.abs(ndtri((rank - 0.5) / rows))
    difference = (values - values.mean(axis=0)) * rows / (rows - 1)
    squares = (values.var(axis=0) * rows - difference**2 * (rows - 1) / rows).clip(min=0.0)
    sd = np.sqrt(squares / max(rows - 2, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.abs(difference) / sd
    alone = (rank == 1) | (rank == rows)
    return np.where(alone, np.fmax(score, distance), score)


def _describe_failures(
    name: str, table: xr.Dataset, replicated: Mapping[str, xr.DataArray]
) -> Iterator[str]:
    """Describe what was observed and what was replicated in every check that fails."""
    fails = table[f"{name}_fails"]
    for index in np.argwhere(fails.to_numpy()):
        cell = dict(zip(fails.dims, index, strict=True))
        observed = float(table[f"{name}_observed"].isel(cell))
        values = replicated[name].isel(cell)
        low, high = central_interval(values, level=SHOWN_LEVEL).to_numpy()
        labels = ", ".join(str(fails[dim].to_numpy()[i]) for dim, i in cell.items())
        yield (
            f"{name.replace('_', ' ')}{' of ' * bool(labels)}{labels}: observed {observed:.3f}, "
            f"replicated {float(values.mean()):.3f} ({low:.3f} to {high:.3f})"
        )


def rating_frequencies(
    draws: ReplicateDraws, ratings: Ratings, columns: Sequence[str]
) -> tuple[dict[str, xr.DataArray], dict[str, xr.DataArray]]:
    """Return how often each category is given by each label of some columns.

    By ``frequency_<scale>_<column>``, replicated and observed: shares in [0, 1] over ([chain,
    draw,] column, category) that add up to 1 by label; missing for a label without a rating on the
    scale.
    """

    def count(categories: Categories) -> xr.Dataset:
        tables = [
            _category_shares(categories[scale.name], ratings.factors[column], scale, column)
            for scale in draws.design.scales
            for column in columns
        ]
        return xr.merge(tables, join="exact", compat="equals")

    counted = count({scale.name: scale.category[None] for scale in draws.design.scales})
    observed = {str(name): values.isel(draw=0) for name, values in counted.data_vars.items()}
    if not observed:
        return {}, {}
    [table] = measure_draws(draws, lambda block: [count(block.ratings(["ratings"]))])
    return {str(name): values for name, values in table.data_vars.items()}, observed


def _category_shares(
    category: NDArray[np.integer], factor: Factor, scale: ScaleRatings, column: str
) -> xr.Dataset:
    """Return the share of each category by label, over (draw, label, category)."""
    dim = dim_name(column)
    coords = {dim: list(factor.labels), f"{scale.name}_category": list(scale.labels)}
    shape = (len(factor.labels), len(scale.labels))
    codes = np.asarray(factor.codes)[scale.rows].astype(np.int64)
    first, rated = codes * shape[1], codes >= 0
    counts = np.stack(
        [np.bincount((first + row)[rated], minlength=shape[0] * shape[1]) for row in category]
    ).reshape(-1, *shape)
    with np.errstate(invalid="ignore"):
        shares = counts / counts.sum(axis=-1, keepdims=True)
    return xr.Dataset({f"frequency_{scale.name}_{dim}": (("draw", *coords), shares)}, coords)

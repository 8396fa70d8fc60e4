"""Posterior predictive checks of what matters: does the model replicate what was observed?"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.bayes.design.design import dim_name
from sharpbayes.data.ratings import Ratings
from sharpbayes.posterior.replicates import ReplicateDraws, ReplicateMetrics

# Chance of any false alarm over all checks, where there are draws enough to tell.
FAMILYWISE = 0.05
SHOWN = (0.025, 0.975)


def predictive_checks(
    replicated: Mapping[str, xr.DataArray], observed: Mapping[str, xr.DataArray]
) -> xr.Dataset:
    """Return tail probabilities of observed statistics among replicated ones.

    p = P(T_rep > T_obs) + P(T_rep = T_obs) / 2; a check fails where 2 min(p, 1 - p) is at most
    0.05 / m (m checks in all), or where fewer draws cannot tell that, 2 / (draws + 1).

    Args:
        replicated: Statistics over (chain, draw, ...), by name.
        observed: The same of the observed ratings.

    Returns:
        For each name ``<name>_observed``, ``<name>_replicated`` (mean), ``<name>_p`` and
        ``<name>_fails``; missing statistics never fail. The attribute ``failed`` says in words
        which do.

    Source: Gelman, Meng and Stern 1996; Gelman et al., Bayesian Data Analysis, section 6.3.

    Examples:
        >>> draws = xr.DataArray(np.arange(1000.0).reshape(4, 250), dims=("chain", "draw"))
        >>> found = predictive_checks({"cvar": draws}, {"cvar": xr.DataArray(2000.0)})
        >>> float(found["cvar_p"]), found.attrs["failed_checks"]
        (0.0, ['cvar: observed 2000.000, replicated 499.500 (24.975 to 974.025)'])
    """
    over, variables = ["chain", "draw"], {}
    for name, draws in replicated.items():
        seen = observed[name]
        p = ((draws > seen) + 0.5 * (draws == seen)).mean(over)
        there = seen.notnull() & draws.notnull().all(over)
        variables[f"{name}_observed"] = seen
        variables[f"{name}_replicated"] = draws.mean(over)
        variables[f"{name}_p"] = p.where(there)
    found = xr.Dataset(variables)
    checks = sum(int(found[f"{name}_p"].notnull().sum()) for name in replicated)
    draws_in_all = int(np.prod([next(iter(replicated.values())).sizes[dim] for dim in over]))
    least = max(FAMILYWISE / max(checks, 1), 2 / (draws_in_all + 1))
    for name in replicated:
        p = found[f"{name}_p"]
        found[f"{name}_fails"] = 2 * np.minimum(p, 1 - p) <= least
    failed = [text for name in replicated for text in _in_words(name, found, replicated[name])]
    contains = (
        f"{checks} checks of observed ratings against replicated ones of the same cells; one fails "
        f"where its two-sided tail probability is at most {least:.2g}."
    )
    return found.assign_attrs(failed_checks=failed, interval_note=contains, checks=checks)


def check_replicates(
    metrics: ReplicateMetrics, draws: ReplicateDraws, ratings: Ratings, posterior: xr.Dataset
) -> xr.Dataset:
    """Return predictive checks of a study's main metrics and of the frequencies of its ratings.

    Args:
        metrics: How ratings of the study are measured.
        draws: Replicated ratings.
        ratings: The observed ones.
        posterior: Posterior metrics for the first list of sources of uncertainty.
    """
    if posterior.attrs["sources"] != ["ratings"]:
        posterior = metrics.measure(draws, ["ratings"])[0]
    replicated, observed = rating_frequencies(draws, ratings, metrics.rating_columns)
    direct = {name: metrics.observed[name].drop_attrs() for name in metrics.checked}
    return predictive_checks(
        {name: posterior[name] for name in metrics.checked} | replicated, direct | observed
    )


def _in_words(name: str, found: xr.Dataset, draws: xr.DataArray) -> Iterator[str]:
    """Say of every failed check what was observed and what was replicated."""
    fails = found[f"{name}_fails"]
    for at in zip(*np.nonzero(fails.to_numpy()), strict=True) if fails.ndim else [()] * bool(fails):
        place = dict(zip(fails.dims, at, strict=True))
        seen = float(found[f"{name}_observed"].transpose(*fails.dims)[place])
        values = draws.isel(place).to_numpy().ravel()
        low, high = np.quantile(values, SHOWN)
        where = ", ".join(str(fails[dim].to_numpy()[i]) for dim, i in place.items())
        yield (
            f"{name.replace('_', ' ')}{' of ' * bool(where)}{where}: observed {seen:.3f}, "
            f"replicated {values.mean():.3f} ({low:.3f} to {high:.3f})"
        )


def rating_frequencies(
    draws: ReplicateDraws, ratings: Ratings, columns: Sequence[str]
) -> tuple[dict[str, xr.DataArray], dict[str, xr.DataArray]]:
    """Return how often each level is given, replicated and observed.

    Args:
        draws: Replicated ratings.
        ratings: The observed ones, in the same order.
        columns: Columns whose labels are told apart, such as ``judge`` or ``group:gender``.

    Returns:
        By ``frequency_<scale>_<column>`` shares in [0, 1] over ([chain, draw,] column, level) that
        add up to 1 by label; missing for a label without a rating on the scale.
    """
    replicated, observed = {}, {}
    for scale in draws.design.scales:
        for column in columns:
            held, name = ratings.factors[column], f"frequency_{scale.name}_{dim_name(column)}"
            code = np.asarray(held.codes)[scale.rows].astype(np.int64)
            shape = (len(held.labels), len(scale.labels))
            coords = {
                dim_name(column): list(held.labels),
                f"{scale.name}_category": list(scale.labels),
            }
            dims = tuple(coords)
            observed[name] = xr.DataArray(_shares(code, scale.category, shape), coords, dims)
            levels = draws.predictive[f"rating_{scale.name}"].to_numpy()
            made = np.empty((*draws.shape, *shape))
            for at in np.ndindex(draws.shape):
                made[at] = _shares(code, levels[at], shape)
            replicated[name] = xr.DataArray(made, coords | draws.coords, ("chain", "draw", *dims))
    return replicated, observed


def _shares(
    code: NDArray[np.int64], level: NDArray[np.integer], shape: tuple[int, int]
) -> NDArray[np.float64]:
    """Share of each level by label."""
    there = code >= 0
    cell = (code * shape[1] + level)[there]
    counts = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape).astype(float)
    total = counts.sum(1, keepdims=True)
    shares: NDArray[np.float64] = np.full(shape, np.nan)
    np.divide(counts, total, out=shares, where=total > 0)
    return shares

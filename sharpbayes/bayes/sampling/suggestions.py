"""Likely causes of a fit that has not converged, and what to try, from its draws."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.spec.study import Sampler

Floats = NDArray[np.float64]

# Chains with a larger R-hat explore different regions; more draws of the same kind do not help.
SEPARATE_RHAT = 1.1
# Fewer divergent transitions do not show where they happen.
MIN_DIVERGENCES = 5
# Divergences happen at an end of a parameter if its mean among them is this many sds away.
FAR_SDS = 0.5
# --retry does not reach a run that is this many times as long.
MAX_LENGTH_FACTOR = 8


def suggest(table: xr.Dataset, values: Floats, statistics: xr.Dataset, sampler: Sampler) -> str:
    """Return sentences on likely causes and what to try, the most telling first.

    ``table`` has the numbers of :func:`sharpbayes.bayes.sampling.convergence.check_convergence`,
    ``values`` the draws of its parameters, (parameter, chain, draw).
    """
    sentences = [
        _divergences(table, values, statistics, sampler),
        _separate_chains(table),
        _depth(table, sampler),
        _energy(table, sampler),
        _length(table, sampler),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _divergences(
    table: xr.Dataset, values: Floats, statistics: xr.Dataset, sampler: Sampler
) -> str:
    """Name the end of the parameter where transitions diverged."""
    diverging = statistics["diverging"].transpose("chain", "draw").to_numpy().astype(bool)
    if diverging.sum() <= sampler.max_divergences:
        return ""
    target = round(1.0 - (1.0 - sampler.target_accept) / 2.0, 4)
    where = _where(table, values, diverging) if diverging.sum() >= MIN_DIVERGENCES else ""
    return (
        f"Transitions diverged{where}: part of the posterior is too narrow for the step size. "
        f"Try --set sampler.target_accept={target:g}; if that does not help, a tighter prior for "
        "the sd of that term, or fewer terms."
    )


def _where(table: xr.Dataset, values: Floats, diverging: NDArray[np.bool_]) -> str:
    """Name the sd that differs most where transitions diverged, if one differs."""
    names = table["parameter"].to_numpy()
    rows = [row for row, name in enumerate(names) if str(name).startswith("sd_")]
    if not rows:
        return ""
    logs = np.log(np.maximum(values[rows], np.finfo(float).tiny))
    distance = (logs[:, diverging].mean(axis=1) - logs.mean(axis=(1, 2))) / logs.std(axis=(1, 2))
    largest = int(np.argmax(np.abs(distance)))
    if not np.abs(distance[largest]) > FAR_SDS:
        return ""
    return (
        f" mostly where {names[rows[largest]]} is {'small' if distance[largest] < 0 else 'large'}"
    )


def _separate_chains(table: xr.Dataset) -> str:
    """Say that chains explore different regions."""
    rhat = table["rhat"].to_numpy()
    if not (rhat > SEPARATE_RHAT).any():
        return ""
    worst = str(table["parameter"].to_numpy()[np.nanargmax(rhat)])
    return (
        f"Chains disagree, most of all on {worst}: they have not come together, or the ratings "
        "allow more than one answer. `sharpbayes check` names what these data cannot separate; "
        "leave that term out or give it a tighter prior."
    )


def _depth(table: xr.Dataset, sampler: Sampler) -> str:
    """Say that trajectories were cut."""
    if float(table["max_depth_share"]) <= sampler.max_depth_share:
        return ""
    return (
        "Trajectories were cut before they turned: parameters are strongly correlated, or differ "
        f"widely in scale. Try --set sampler.max_depth={min(sampler.max_depth + 2, 15)} and a "
        "longer --set sampler.tune."
    )


def _energy(table: xr.Dataset, sampler: Sampler) -> str:
    """Say that the sampler moves too little between energies."""
    if float(table["bfmi"].min()) >= sampler.min_bfmi:
        return ""
    return (
        "Energies change little from draw to draw: the tails of the posterior are heavy, mostly "
        "from an sd that few levels inform. Try a tighter prior for it, or a longer "
        "--set sampler.tune."
    )


def _length(table: xr.Dataset, sampler: Sampler) -> str:
    """Say how many draws would be enough if nothing else is wrong."""
    ess = np.fmin(table["ess_bulk"].to_numpy(), table["ess_tail"].to_numpy())
    smallest = np.nanmin(ess, initial=np.inf)
    if not smallest < sampler.min_ess:
        rhat = float(np.nanmax(table["rhat"].to_numpy(), initial=0.0))
        if not sampler.max_rhat <= rhat <= SEPARATE_RHAT:
            return ""
        return f"Chains nearly agree: try --set sampler.draws={2 * sampler.draws}, or --retry."
    factor = sampler.min_ess / max(float(smallest), 1.0)
    if factor > MAX_LENGTH_FACTOR:
        return "The chains move so slowly that more draws alone will hardly help."
    draws = int(np.ceil(sampler.draws * factor * 1.2 / 100.0) * 100)
    return f"Mixing is slow: about --set sampler.draws={draws} should do, or --retry."

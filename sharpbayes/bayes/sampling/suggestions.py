"""Likely causes of a fit that has not converged, and what to try, from its draws."""

from collections.abc import Iterator

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
    return " ".join(_sentences(table, values, statistics, sampler))


def _sentences(
    table: xr.Dataset, values: Floats, statistics: xr.Dataset, sampler: Sampler
) -> Iterator[str]:
    """Yield a cause and what to try for everything that is wrong."""
    diverging = statistics["diverging"].transpose("chain", "draw").to_numpy().astype(bool)
    if diverging.sum() > sampler.max_divergences:
        target = round(1.0 - (1.0 - sampler.target_accept) / 2.0, 4)
        where = _where(table, values, diverging) if diverging.sum() >= MIN_DIVERGENCES else ""
        yield (
            f"Transitions diverged{where}: part of the posterior is too narrow for the step size. "
            f"Try --set sampler.target_accept={target:g}; if that does not help, a tighter prior "
            "for the sd of that term, or fewer terms."
        )
    rhat = table["rhat"].to_numpy()
    if (rhat > SEPARATE_RHAT).any():
        yield (
            f"Chains disagree, most of all on {table['parameter'].to_numpy()[np.nanargmax(rhat)]}: "
            "they have not come together, or the ratings allow more than one answer. `sharpbayes "
            "check` names what these data cannot separate; leave that term out or give it a "
            "tighter prior."
        )
    if float(table["max_depth_share"]) > sampler.max_depth_share:
        yield (
            "Trajectories were cut before they turned: parameters are strongly correlated, or "
            "differ widely in scale. Try --set sampler.max_depth="
            f"{min(sampler.max_depth + 2, 15)} and a longer --set sampler.tune."
        )
    if not float(table["bfmi"].min()) >= sampler.min_bfmi:
        yield (
            "Energies change little from draw to draw: the tails of the posterior are heavy, "
            "mostly from an sd that few levels inform. Try a tighter prior for it, or a longer "
            "--set sampler.tune."
        )
    yield from _length(table, sampler)


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
    end = "small" if distance[largest] < 0 else "large"
    return f" mostly where {names[rows[largest]]} is {end}"


def _length(table: xr.Dataset, sampler: Sampler) -> Iterator[str]:
    """Say how many draws would be enough if nothing else is wrong."""
    ess = np.fmin(table["ess_bulk"].to_numpy(), table["ess_tail"].to_numpy())
    smallest, rhat = np.nanmin(ess, initial=np.inf), np.nanmax(table["rhat"].values, initial=0.0)
    factor = sampler.min_ess / max(float(smallest), 1.0)
    if smallest >= sampler.min_ess:
        if sampler.max_rhat <= rhat <= SEPARATE_RHAT:
            draws = 2 * sampler.draws
            yield f"Chains nearly agree: try --set sampler.draws={draws}, or --retry."
    elif factor > MAX_LENGTH_FACTOR:
        yield "The chains move so slowly that more draws alone will hardly help."
    else:
        draws = int(np.ceil(sampler.draws * factor * 1.2 / 100.0) * 100)
        yield f"Mixing is slow: about --set sampler.draws={draws} should do, or --retry."

"""Why a fit is likely to have failed, and what to try: from its draws, in words."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.spec.study import Sampler

Floats = NDArray[np.float64]

# Chains this far apart sit in different places; more draws of the same kind will not join them.
APART = 1.1
# Fewer diverging transitions than this say nothing of where they lie.
FEWEST = 5
# Divergences lie at an end of a parameter where its mean among them is this many sds away.
FAR = 0.5
# A run this many times as long is more than --retry reaches.
MOST_TIMES = 8


def suggest(table: xr.Dataset, values: Floats, statistics: xr.Dataset, sampler: Sampler) -> str:
    """Return sentences on what failed, most telling first.

    Args:
        table: What :func:`sharpbayes.bayes.sampling.convergence.check_convergence` found.
        values: Draws of its parameters; shape (parameter, chain, draw).
        statistics: Statistics of the sampler over (chain, draw).
        sampler: Its settings and limits.
    """
    found = [
        _divergences(table, values, statistics, sampler),
        _chains_apart(table),
        _depth(table, sampler),
        _energy(table, sampler),
        _length(table, sampler),
    ]
    return " ".join(sentence for sentence in found if sentence)


def _divergences(
    table: xr.Dataset, values: Floats, statistics: xr.Dataset, sampler: Sampler
) -> str:
    """Say at which end of which parameter transitions diverged."""
    diverging = statistics["diverging"].transpose("chain", "draw").to_numpy().astype(bool)
    if diverging.sum() <= sampler.max_divergences:
        return ""
    higher = f"--set sampler.target_accept={_higher(sampler.target_accept):g}"
    place = _where(table, values, diverging) if diverging.sum() >= FEWEST else ""
    return (
        f"Transitions diverged{place}: part of the posterior is too narrow for the step size. "
        f"Try {higher}; if that does not help, a tighter prior for the sd of that term, or fewer "
        "terms."
    )


def _where(table: xr.Dataset, values: Floats, diverging: NDArray[np.bool_]) -> str:
    """Name the scale that differs most where transitions diverged, if one differs."""
    names = table["parameter"].to_numpy()
    rows = [row for row, name in enumerate(names) if str(name).startswith("sd_")]
    if not rows:
        return ""
    logs = np.log(np.maximum(values[rows], np.finfo(float).tiny))
    away = (logs[:, diverging].mean(axis=1) - logs.mean(axis=(1, 2))) / logs.std(axis=(1, 2))
    most = int(np.argmax(np.abs(away)))
    if not np.abs(away[most]) > FAR:
        return ""
    return f" mostly where {names[rows[most]]} is {'small' if away[most] < 0 else 'large'}"


def _higher(target: float) -> float:
    """A target acceptance half as far from 1."""
    return round(1.0 - (1.0 - target) / 2.0, 4)


def _chains_apart(table: xr.Dataset) -> str:
    """Say that chains have settled in different places."""
    apart = table["rhat"].to_numpy() > APART
    if not apart.any():
        return ""
    worst = str(table["parameter"].to_numpy()[np.nanargmax(table["rhat"].to_numpy())])
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
    if not np.nanmin(ess, initial=np.inf) < sampler.min_ess:
        return _slightly(table, sampler)
    times = sampler.min_ess / max(float(np.nanmin(ess)), 1.0)
    if times > MOST_TIMES:
        return "The chains move so slowly that more draws alone will hardly help."
    draws = int(np.ceil(sampler.draws * times * 1.2 / 100.0) * 100)
    return f"Mixing is slow: about --set sampler.draws={draws} should do, or --retry."


def _slightly(table: xr.Dataset, sampler: Sampler) -> str:
    """Say that chains nearly agree."""
    worst = float(np.nanmax(table["rhat"].to_numpy(), initial=0.0))
    if worst > APART or worst < sampler.max_rhat:
        return ""
    return f"Chains nearly agree: try --set sampler.draws={2 * sampler.draws}, or --retry."

"""Whether a posterior can be trusted: R-hat, effective sample sizes, and how the sampler went.

What a fit that has not converged lacks is described with a likely cause.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np
import xarray as xr
from arviz_stats.base import array_stats  # type: ignore[attr-defined]
from arviz_stats.sampling_diagnostics import bfmi
from numpy.typing import NDArray

from sharpbayes.bayes.design.design import Floats
from sharpbayes.bayes.sampling.normal_scores import normal_scores
from sharpbayes.errors import format_list
from sharpbayes.execution.threads import thread_map
from sharpbayes.spec.study import Sampler

# A term with more levels has so many effects that some exceed a strict limit by chance. The limits
# of its single effects are wider: R-hat may be this many times as far from 1, and the ESS smaller.
LARGE_TERM = 12
RHAT_FACTOR, ESS_FACTOR = 5.0, 0.25
# Parameters that a thread looks at together: 128 of 20,000 draws take some 20 MB.
BLOCK = 128
# The tail ESS is the smaller of those of the 5% and 95% quantiles (Vehtari et al. 2021, section
# 4.3); ArviZ's default is the ends of its 89% interval.
TAIL = (0.05, 0.95)
# Chains with a larger R-hat explore different regions; more draws of the same kind do not help.
SEPARATE_RHAT = 1.1
# Fewer divergent transitions do not show where they happen.
MIN_DIVERGENCES = 5
# Divergences happen at an end of a parameter if its mean among them is this many sds away.
FAR_SDS = 0.5
TINY = float(np.finfo(float).tiny)
# A smaller shift of a mean, in posterior sds, is not told as a number.
SHOWN_SHIFT, NO_SHIFT = 0.001, "less than 0.001 of its posterior sd"
# A smaller share would be told as 0.00%.
SHOWN_SHARE, NO_SHARE = 0.0001, "below 0.01%"
# What is called a limit in `shortfall`.
LIMITS = ("R-hat", "ESS", "divergences", "E-BFMI", "depth")
# What is missing of an acceptance of 1 is divided by this where transitions diverged.
SMALLER_STEPS = 4.0
# --retry does not reach a run that is this many times as long.
MAX_LENGTH_FACTOR = 8
# ArviZ's statistics of values that are already split and ranked.
rhat_of, ess_of = (partial(s, method="identity") for s in (array_stats.rhat, array_stats.ess))


def check_convergence(
    trace: xr.DataTree, sampler: Sampler, *, can_retry: bool = False
) -> xr.Dataset:
    """Return ``rhat``, ``ess_bulk``, ``ess_tail`` by parameter, how sampling went, the verdict.

    R-hat is rank-normalised split R-hat, ESS bulk and tail (Vehtari et al. 2021), E-BFMI that of
    Betancourt (2016) by chain, ``max_depth_share`` the share of transitions that ended at the
    largest depth. A small E-BFMI says that energies change slowly; it fails a fit where the log
    density misses the wider limits of a single effect (``logp_rhat``, and ``logp_ess``, the smaller
    of bulk and tail), so that chains are too short for that. A parameter that never varies (the
    diagonal of a correlation matrix, a level without ratings) has missing numbers and does not
    count; one with draws missing in part fails. For single effects of a term with more than 12
    levels the limits are 1 + 5 (max_rhat - 1) and a quarter of ``target_ess``.

    ``divergence_share`` is the share of transitions that diverged. ``divergence_shift`` is how far
    the mean of a parameter moves, in its posterior sd, if the draws of these transitions count
    twice; its limit is half the Monte Carlo error that ``target_ess`` allows,
    1 / (2 sqrt(target_ess)).
    ``shortfall`` is how many times each limit is missed, at most 1 where it is met.

    ``converged`` is 1 if every limit of the sampler is met. The attributes ``convergence_issues``
    and ``suggestions`` say what failed, the likely cause and what to try: ``--retry`` only where it
    ``can_retry``.
    """
    posterior = trace["posterior"].to_dataset()
    labels, values = stack_parameters(posterior)
    statistics = trace["sample_stats"].to_dataset()
    finite = np.isfinite(values)
    complete, partial_draws = finite.all(axis=(1, 2)), finite.any(axis=(1, 2))
    numbers = _rhat_and_ess_in_blocks(values, complete & (np.ptp(values, (1, 2)) > 0.0))
    energy, logp, diverging = (
        statistics[name].transpose("chain", "draw").to_numpy()
        for name in ("energy", "logp", "diverging")
    )
    table = xr.Dataset(
        {
            "rhat": ("parameter", numbers[0]),
            "ess_bulk": ("parameter", numbers[1]),
            "ess_tail": ("parameter", numbers[2]),
            "divergences": int(diverging.sum()),
            "divergence_share": float(diverging.mean()),
            "divergence_shift": ("parameter", shift_by_divergences(values, diverging)),
            "bfmi": ("chain", np.atleast_1d(bfmi(energy))),
            **_measure_log_density(logp),
            "max_depth_share": float((statistics["depth"] >= sampler.max_depth).mean()),
        },
        {"parameter": labels, "chain": posterior["chain"]},
    )
    sizes = [array.size // energy.size for array in posterior.values()]
    large = np.repeat(np.array(sizes) > LARGE_TERM, sizes)
    table["shortfall"] = ("limit", _shortfalls(table, large, sampler))
    table = table.assign_coords(limit=list(LIMITS))
    issues = [
        *_parameter_issues(table, ~complete & partial_draws, large, sampler),
        *_sampling_issues(table, sampler),
    ]
    where = _where_diverged(table, values, diverging)
    suggestions = _suggest(table, where, sampler, can_retry=can_retry) if issues else ()
    table.attrs["divergence_note"] = _describe_divergences(table, where)
    table["converged"] = np.int8(not issues)
    table.attrs["convergence_issues"] = "; ".join(issues)
    table.attrs["suggestions"] = " ".join(suggestions)
    return table


def shift_by_divergences(values: Floats, diverging: NDArray[np.bool_]) -> Floats:
    """Return how far each mean moves, in posterior sd, if diverging draws count twice.

    ``values`` are (parameter, chain, draw). Divergences happen where the sampler explores too
    little; twice the weight is what that region would have if half of it was missed.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        if not diverging.any():
            return np.zeros(len(values))
        weights = 1.0 + diverging
        twice = (values * weights).sum((1, 2)) / weights.sum()
        shift: Floats = np.abs(twice - values.mean((1, 2))) / values.std((1, 2))
    return shift


def _measure_log_density(logp: Floats) -> dict[str, float]:
    """R-hat of the log density, and the smaller of its bulk and tail ESS.

    It stands for the energy, which cannot be compared between chains: nutpie's contains the log
    determinant of the masses of its chain.
    """
    rhat, bulk, tail = (float(number[0]) for number in rhat_and_ess(logp[None]))
    return {"logp_rhat": rhat, "logp_ess": min(bulk, tail)}


def _shortfalls(table: xr.Dataset, large: NDArray[np.bool_], sampler: Sampler) -> list[float]:
    """How many times each limit is missed, in the order of ``LIMITS``."""
    rhat = (table["rhat"].to_numpy() - 1) / (sampler.max_rhat - 1)
    smallest = np.fmin(table["ess_bulk"].to_numpy(), table["ess_tail"].to_numpy())
    ess = sampler.target_ess / np.maximum(smallest, TINY)
    divergences = [
        float(table["divergence_share"]) / max(sampler.max_divergence_share, TINY),
        _largest(table["divergence_shift"].to_numpy()) / max_shift(sampler),
    ]
    return [
        _largest(rhat / np.where(large, RHAT_FACTOR, 1.0)),
        _largest(ess * np.where(large, ESS_FACTOR, 1.0)),
        max(divergences),
        _energy_shortfall(table, sampler),
        float(table["max_depth_share"]) / max(sampler.max_depth_share, TINY),
    ]


def _energy_shortfall(table: xr.Dataset, sampler: Sampler) -> float:
    """How many times E-BFMI misses its limit; at most what the log density misses as an effect."""
    of_bfmi = sampler.min_bfmi / max(float(table["bfmi"].min()), TINY)
    of_density = [
        (float(table["logp_rhat"]) - 1.0) / (sampler.max_rhat - 1.0) / RHAT_FACTOR,
        sampler.target_ess * ESS_FACTOR / max(float(table["logp_ess"]), TINY),
    ]
    # A density that never varies has no R-hat: the E-BFMI decides.
    return of_bfmi if np.isnan(of_density).any() else min(of_bfmi, max(of_density))


def raise_acceptance(target: float) -> float:
    """Return the acceptance of steps small enough for a posterior in which transitions diverged.

    >>> raise_acceptance(0.8)
    0.95
    """
    return round(1.0 - (1.0 - target) / SMALLER_STEPS, 6)


def max_shift(sampler: Sampler) -> float:
    """Return the largest shift by divergences: half of the Monte Carlo error allowed, in sds."""
    return 0.5 / float(np.sqrt(sampler.target_ess))


def _largest(values: Floats) -> float:
    """The largest number that is there, or 0."""
    return float(np.nanmax(values, initial=0.0))


def stack_parameters(posterior: xr.Dataset) -> tuple[list[str], Floats]:
    """Return labels ``name[level, ...]`` and draws of every parameter, (parameter, chain, draw)."""
    labels: list[str] = []
    shape = tuple(posterior.sizes[dim] for dim in ("chain", "draw"))
    number = sum(array.size for array in posterior.values()) // max(int(np.prod(shape)), 1)
    # Draws of many parameters are most of the memory: they are copied once.
    values = np.empty((number, *shape))
    for name, array in posterior.data_vars.items():
        dims = [dim for dim in array.dims if dim not in ("chain", "draw")]
        ordered = array.transpose(*dims, "chain", "draw").to_numpy()
        first = len(labels)
        keys = product(*(array[dim].to_numpy() for dim in dims))
        labels += [f"{name}[{', '.join(map(str, key))}]" if key else str(name) for key in keys]
        values[first : len(labels)].reshape(ordered.shape)[...] = ordered
    return labels, values


def _rhat_and_ess_in_blocks(values: Floats, varies: NDArray[np.bool_]) -> Floats:
    """R-hat, bulk and tail ESS of the parameters that vary; shape (3, parameter)."""
    rows = np.flatnonzero(varies)
    blocks = [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]
    columns = np.full((3, len(values)), np.nan)
    parts = thread_map(lambda block: rhat_and_ess(values[block]), blocks)
    for block, numbers in zip(blocks, parts, strict=True):
        columns[:, block] = numbers
    return columns


def rhat_and_ess(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return R-hat, bulk and tail ESS by ArviZ, from ranks computed once for all of them."""
    halves = _split(values)
    rows = halves.reshape(len(values), -1)
    scores = normal_scores(rows, np.median(rows, axis=1))
    bulk, folded = (score.reshape(halves.shape) for score in scores)
    with np.errstate(divide="ignore", invalid="ignore"):
        # A chain that never moved has variance 0, which gives an infinite R-hat.
        rhat = np.maximum(rhat_of(bulk), rhat_of(folded))
        tails = [ess_of(_split(_below_quantile(values, prob))) for prob in TAIL]
        return rhat, ess_of(bulk), np.minimum(*tails)


def _split(values: Floats) -> Floats:
    """Split every chain into two; a middle draw is left out."""
    half = values.shape[-1] // 2
    return np.concatenate([values[..., :half], values[..., -half:]], axis=1)


def _below_quantile(values: Floats, prob: float) -> Floats:
    """1 for each draw at or below a quantile by ArviZ's definition, 0 for others."""
    limit = array_stats.quantile(values.reshape(len(values), -1), prob, axis=-1)
    return (values <= limit[:, None, None]).astype(float)


def _parameter_issues(
    table: xr.Dataset, incomplete: NDArray[np.bool_], large: NDArray[np.bool_], sampler: Sampler
) -> Iterator[str]:
    """Name the parameters with missing draws, and those that miss a limit of R-hat or ESS."""
    rhat_limit = 1.0 + (sampler.max_rhat - 1.0) * np.where(large, RHAT_FACTOR, 1.0)
    ess_limit = sampler.target_ess * np.where(large, ESS_FACTOR, 1.0)
    rhat, bulk, tail = table["rhat"], table["ess_bulk"], table["ess_tail"]
    for fails, words in (
        (incomplete, "missing in some draws:"),
        (rhat >= rhat_limit, f"R-hat (up to {float(rhat.max()):.3f}) misses its limit for"),
        (bulk < ess_limit, f"bulk ESS (down to {float(bulk.min()):.0f}) misses its limit for"),
        (tail < ess_limit, f"tail ESS (down to {float(tail.min()):.0f}) misses its limit for"),
    ):
        names = table["parameter"].to_numpy()[np.asarray(fails)]
        if names.size:
            yield f"{words} {format_list(names, limit=3)}"


def _sampling_issues(table: xr.Dataset, sampler: Sampler) -> Iterator[str]:
    """Say which limits of the sampler itself are missed."""
    bfmi_min, share = float(table["bfmi"].min()), float(table["max_depth_share"])
    count, diverged = int(table["divergences"]), float(table["divergence_share"])
    shift = table["divergence_shift"].to_numpy()
    if diverged > sampler.max_divergence_share:
        yield (
            f"{count} transitions diverged, {diverged:.2%} of all "
            f"(at most {sampler.max_divergence_share:.2%})"
        )
    elif _largest(shift) > max_shift(sampler):
        name = table["parameter"].to_numpy()[np.nanargmax(shift)]
        yield (
            f"{count} transitions diverged and bias {name} by {_largest(shift):.3f} of its sd "
            f"(at most {max_shift(sampler):.3f})"
        )
    if _energy_shortfall(table, sampler) > 1.0:
        yield (
            f"E-BFMI down to {bfmi_min:.2f} (at least {sampler.min_bfmi:g}), and the log density "
            f"has an R-hat of {float(table['logp_rhat']):.3f} and an ESS of "
            f"{float(table['logp_ess']):.0f}"
        )
    if share > sampler.max_depth_share:
        yield (
            f"{share:.0%} of transitions ended at the largest depth {sampler.max_depth} "
            f"(at most {sampler.max_depth_share:.0%})"
        )


def _suggest(table: xr.Dataset, where: str, sampler: Sampler, *, can_retry: bool) -> Iterator[str]:
    """Yield likely causes and what to try, the most telling first."""
    if float(table["shortfall"].sel(limit="divergences")) > 1:
        target = raise_acceptance(sampler.target_accept)
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
    if _energy_shortfall(table, sampler) > 1.0:
        yield (
            "Energies change little from draw to draw: the tails of the posterior are heavy, "
            "mostly from an sd that few levels inform. Try more draws, or a tighter prior for it."
        )
    yield from _suggest_length(table, sampler, can_retry=can_retry)


def _describe_divergences(table: xr.Dataset, where: str) -> str:
    """What divergences of a fit do to its numbers; empty where there are none."""
    if not (count := int(table["divergences"])):
        return ""
    verb, shift = "transition", _largest(table["divergence_shift"].to_numpy())
    diverged = float(table["divergence_share"])
    share = f"{diverged:.2%}" if diverged >= SHOWN_SHARE else NO_SHARE
    if count > 1:
        verb = "transitions"
    by = f"{shift:.3f} of its posterior sd at most" if shift >= SHOWN_SHIFT else NO_SHIFT
    return (
        f"{count} {verb} diverged ({share}){where}. Counted twice, these "
        f"draws move the mean of a parameter by {by}."
    )


def _where_diverged(table: xr.Dataset, values: Floats, diverging: NDArray[np.bool_]) -> str:
    """Name the sd that differs most where transitions diverged, if one differs."""
    names = table["parameter"].to_numpy()
    rows = [row for row, name in enumerate(names) if str(name).startswith("sd_")]
    if not rows or diverging.sum() < MIN_DIVERGENCES:
        return ""
    logs = np.log(np.maximum(values[rows], TINY))
    distance = (logs[:, diverging].mean(axis=1) - logs.mean(axis=(1, 2))) / logs.std(axis=(1, 2))
    largest = int(np.argmax(np.abs(distance)))
    if not np.abs(distance[largest]) > FAR_SDS:
        return ""
    end = "small" if distance[largest] < 0 else "large"
    return f" mostly where {names[rows[largest]]} is {end}"


def _suggest_length(table: xr.Dataset, sampler: Sampler, *, can_retry: bool) -> Iterator[str]:
    """Say how many draws would be enough if nothing else is wrong."""
    ess = np.fmin(table["ess_bulk"].to_numpy(), table["ess_tail"].to_numpy())
    smallest, rhat = np.nanmin(ess, initial=np.inf), np.nanmax(table["rhat"].values, initial=0.0)
    factor = sampler.target_ess / max(float(smallest), 1.0)
    key, max_length = "max_draws" if sampler.draws is None else "draws", sampler.lengths[-1]
    retry = ", or --retry" * can_retry
    if smallest >= sampler.target_ess:
        if sampler.max_rhat <= rhat <= SEPARATE_RHAT:
            yield f"Chains nearly agree: try --set sampler.{key}={2 * max_length}{retry}."
    elif factor > MAX_LENGTH_FACTOR:
        yield "The chains move so slowly that more draws alone will hardly help."
    else:
        draws = int(np.ceil(max_length * factor * 1.2 / 100.0) * 100)
        yield f"Mixing is slow: about --set sampler.{key}={draws} should do{retry}."

"""Whether a posterior can be trusted: R-hat, effective sample sizes, and how the sampler went."""

from collections.abc import Callable
from functools import partial

import numpy as np
import xarray as xr
from arviz_stats.base import array_stats  # type: ignore[attr-defined]
from arviz_stats.sampling_diagnostics import bfmi
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from sharpbayes.bayes.sampling.suggestions import suggest
from sharpbayes.errors import format_list
from sharpbayes.execution.threads import thread_map
from sharpbayes.spec.study import Sampler

Floats = NDArray[np.float64]

# A term with more levels than this has so many effects that some exceed a strict limit by chance.
FEW_LEVELS = 12
# Effects of such a term are held to an R-hat this many times as far from 1.
LENIENCE = 5.0
FEWER_ESS = 0.25
# Parameters looked at together, so that a block of 20,000 draws stays under some 20 MB.
BLOCK = 128
# The tail ESS is the smaller of those of the 5% and 95% quantiles (Vehtari et al. 2021, section
# 4.3); ArviZ's default is the ends of its 89% interval.
TAIL = (0.05, 0.95)


def check_convergence(trace: xr.DataTree, sampler: Sampler) -> xr.Dataset:
    """Return ``rhat``, ``ess_bulk``, ``ess_tail`` by parameter, how sampling went, the verdict.

    R-hat is rank-normalised split R-hat, ESS bulk and tail (Vehtari et al. 2021), E-BFMI that of
    Betancourt (2016) by chain, ``deepest`` the share of transitions that ended at the largest
    depth. A parameter that never varies (the diagonal of a correlation matrix, a level without
    ratings) has missing numbers and does not count; one that is missing in some draws fails.

    Args:
        trace: ``posterior`` and ``sample_stats`` over (chain, draw).
        sampler: Limits: ``max_rhat``, ``min_ess``, ``max_divergences``, ``min_bfmi``,
            ``max_depth_share``. Single effects of a term with more than 12 levels are held to
            1 + 5 (max_rhat - 1) and to a quarter of ``min_ess``.

    Returns:
        ``converged`` is 1 if every limit is met; the attributes ``convergence_issues`` and ``suggestions`` say in
        words what failed, why that is likely and what to try.
    """
    posterior = trace["posterior"].to_dataset()
    labels, values = stack_parameters(posterior)
    statistics = trace["sample_stats"].to_dataset()
    table = xr.Dataset(
        {name: ("parameter", found) for name, found in _by_parameter(values).items()}
        | _sampling(statistics, sampler),
        {"parameter": labels, "chain": posterior["chain"]},
    )
    broken = ~np.isfinite(values).all(axis=(1, 2)) & np.isfinite(values).any(axis=(1, 2))
    reasons = _reasons(table, _many(posterior), broken, sampler)
    table["converged"] = np.int8(not reasons)
    table.attrs["convergence_issues"] = "; ".join(reasons)
    table.attrs["suggestions"] = suggest(table, values, statistics, sampler) if reasons else ""
    return table


def stack_parameters(posterior: xr.Dataset) -> tuple[list[str], Floats]:
    """Return labels ``name[level, ...]`` and draws of every parameter, (parameter, chain, draw)."""
    labels: list[str] = []
    values = []
    for name, array in posterior.data_vars.items():
        dims = [dim for dim in array.dims if dim not in ("chain", "draw")]
        ordered = array.transpose(*dims, "chain", "draw").to_numpy().astype(float)
        values.append(ordered.reshape(-1, *ordered.shape[-2:]))
        labels.extend(_labels(str(name), array.isel(chain=0, draw=0, drop=True)))
    return labels, np.concatenate(values)


def _by_parameter(values: Floats) -> dict[str, Floats]:
    """R-hat and both effective sample sizes, in blocks over a few threads."""
    varies = np.isfinite(values).all(axis=(1, 2)) & (np.ptp(values, axis=(1, 2)) > 0.0)
    rows = np.flatnonzero(varies)
    blocks = np.split(rows, range(BLOCK, len(rows), BLOCK)) if len(rows) else []
    found = {name: np.full(len(values), np.nan) for name in ("rhat", "ess_bulk", "ess_tail")}
    numbers = thread_map(lambda block: _of_block(values[block]), blocks)
    for block, columns in zip(blocks, numbers, strict=True):
        for name, column in zip(found, columns, strict=True):
            found[name][block] = column
    return found


def _of_block(values: Floats) -> tuple[Floats, Floats, Floats]:
    """R-hat, bulk and tail ESS by ArviZ, of ranks that are normalised once for all of them."""
    halves = _split(values)
    bulk = _rank_normalised(halves)
    folded = _rank_normalised(np.abs(halves - np.median(halves, axis=(1, 2), keepdims=True)))
    rhat, ess = _each(array_stats.rhat), _each(array_stats.ess)
    with np.errstate(divide="ignore", invalid="ignore"):
        # A chain that never moved has no variance of its own: an infinite R-hat, as it should be.
        largest = np.maximum(rhat(bulk), rhat(folded))
        tails = [ess(_split(below)) for below in _below(values)]
        return largest, ess(bulk), np.minimum(*tails)


def _each(statistic: Callable[..., Floats]) -> Callable[[Floats], Floats]:
    """A statistic of ArviZ of values as they are, neither split nor ranked."""
    return partial(statistic, method="identity")


def _split(values: Floats) -> Floats:
    """Halves of every chain as chains, a middle draw left out."""
    half = values.shape[-1] // 2
    return np.concatenate([values[..., :half], values[..., -half:]], axis=1)


def _rank_normalised(values: Floats) -> Floats:
    """Normal scores of the ranks among all draws of a parameter (Blom 1958)."""
    flat = values.reshape(len(values), -1)
    rank = rankdata(flat, axis=1)
    scores: Floats = ndtri((rank - 3 / 8) / (flat.shape[1] + 1 / 4))
    return scores.reshape(values.shape)


def _below(values: Floats) -> list[Floats]:
    """Whether each draw is at or below each tail quantile, as ArviZ takes quantiles."""
    flat = values.reshape(len(values), -1)
    limits = [array_stats.quantile(flat, prob, axis=-1) for prob in TAIL]
    return [(values <= limit[:, None, None]).astype(float) for limit in limits]


def _sampling(statistics: xr.Dataset, sampler: Sampler) -> dict[str, xr.Variable]:
    """Divergences, E-BFMI by chain, and the share of transitions at the largest depth."""
    energy = statistics["energy"].transpose("chain", "draw").to_numpy()
    deepest = float((statistics["depth"] >= sampler.max_depth).mean())
    return {
        "divergences": xr.Variable((), int(statistics["diverging"].sum())),
        "bfmi": xr.Variable("chain", np.atleast_1d(bfmi(energy))),
        "max_depth_share": xr.Variable((), deepest),
    }


def _reasons(
    table: xr.Dataset, many: NDArray[np.bool_], broken: NDArray[np.bool_], sampler: Sampler
) -> list[str]:
    """Say in words what keeps a fit from being trusted."""
    limit = 1.0 + (sampler.max_rhat - 1.0) * np.where(many, LENIENCE, 1.0)
    fewest = sampler.min_ess * np.where(many, FEWER_ESS, 1.0)
    rhat = table["rhat"]
    reasons = [
        _failure(table, broken, "missing in some draws:"),
        _failure(table, rhat >= limit, f"R-hat (up to {float(rhat.max()):.3f})" + MISSES),
    ]
    for name, words in (("ess_bulk", "bulk ESS"), ("ess_tail", "tail ESS")):
        ess = table[name]
        smallest = f"{words} (down to {float(ess.min()):.0f})"
        reasons.append(_failure(table, ess < fewest, smallest + MISSES))
    return [reason for reason in [*reasons, *_sampling_reasons(table, sampler)] if reason]


MISSES = " misses its limit for"


def _sampling_reasons(table: xr.Dataset, sampler: Sampler) -> list[str]:
    """Say what went wrong while sampling."""
    reasons = []
    divergences, lowest = int(table["divergences"]), float(table["bfmi"].min())
    deepest = float(table["max_depth_share"])
    if divergences > sampler.max_divergences:
        reasons.append(f"{divergences} transitions diverged (at most {sampler.max_divergences})")
    if lowest < sampler.min_bfmi:
        reasons.append(f"E-BFMI down to {lowest:.2f} (at least {sampler.min_bfmi:g})")
    if deepest > sampler.max_depth_share:
        reasons.append(
            f"{deepest:.0%} of transitions ended at the largest depth {sampler.max_depth} "
            f"(at most {sampler.max_depth_share:.0%})"
        )
    return reasons


def _failure(table: xr.Dataset, bad: xr.DataArray | NDArray[np.bool_], words: str) -> str:
    """Name the parameters that miss a limit, or return an empty string."""
    names = table["parameter"].to_numpy()[np.asarray(bad)]
    return f"{words} {format_list(names, most=3)}" if len(names) else ""


def _many(posterior: xr.Dataset) -> NDArray[np.bool_]:
    """For each parameter whether its term has many."""
    sizes = [
        array.size // posterior["draw"].size // posterior["chain"].size
        for array in posterior.values()
    ]
    return np.concatenate([np.full(size, size > FEW_LEVELS) for size in sizes])


def _labels(name: str, array: xr.DataArray) -> list[str]:
    """Label every element of a variable."""
    if not array.dims:
        return [name]
    index = array.stack(parameter=array.dims).indexes["parameter"]
    keys = [key if isinstance(key, tuple) else (key,) for key in index]
    return [f"{name}[{', '.join(map(str, key))}]" for key in keys]

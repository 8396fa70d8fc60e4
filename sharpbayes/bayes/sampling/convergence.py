"""Whether a posterior can be trusted: R-hat, effective sample sizes, and how the sampler went."""

from collections.abc import Iterator
from functools import partial
from itertools import product

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

# A term with more levels has so many effects that some exceed a strict limit by chance. The limits
# of its single effects are wider: R-hat may be this many times as far from 1, and the ESS smaller.
LARGE_TERM = 12
RHAT_FACTOR, ESS_FACTOR = 5.0, 0.25
# Parameters that a thread looks at together: 128 of 20,000 draws take some 20 MB.
BLOCK = 128
# The tail ESS is the smaller of those of the 5% and 95% quantiles (Vehtari et al. 2021, section
# 4.3); ArviZ's default is the ends of its 89% interval.
TAIL = (0.05, 0.95)
# ArviZ's statistics of values that are already split and ranked.
rhat_of, ess_of = (partial(s, method="identity") for s in (array_stats.rhat, array_stats.ess))


def check_convergence(trace: xr.DataTree, sampler: Sampler) -> xr.Dataset:
    """Return ``rhat``, ``ess_bulk``, ``ess_tail`` by parameter, how sampling went, the verdict.

    R-hat is rank-normalised split R-hat, ESS bulk and tail (Vehtari et al. 2021), E-BFMI that of
    Betancourt (2016) by chain, ``max_depth_share`` the share of transitions that ended at the
    largest depth. A parameter that never varies (the diagonal of a correlation matrix, a level
    without ratings) has missing numbers and does not count; one with draws missing in part fails.
    For single effects of a term with more than 12 levels the limits are 1 + 5 (max_rhat - 1) and a
    quarter of ``min_ess``.

    ``converged`` is 1 if every limit of the sampler is met. The attributes ``convergence_issues``
    and ``suggestions`` say what failed, the likely cause and what to try.
    """
    posterior = trace["posterior"].to_dataset()
    labels, values = stack_parameters(posterior)
    statistics = trace["sample_stats"].to_dataset()
    finite = np.isfinite(values)
    complete, partial_draws = finite.all(axis=(1, 2)), finite.any(axis=(1, 2))
    numbers = _rhat_and_ess_in_blocks(values, complete & (np.ptp(values, (1, 2)) > 0.0))
    energy = statistics["energy"].transpose("chain", "draw").to_numpy()
    table = xr.Dataset(
        {
            "rhat": ("parameter", numbers[0]),
            "ess_bulk": ("parameter", numbers[1]),
            "ess_tail": ("parameter", numbers[2]),
            "divergences": int(statistics["diverging"].sum()),
            "bfmi": ("chain", np.atleast_1d(bfmi(energy))),
            "max_depth_share": float((statistics["depth"] >= sampler.max_depth).mean()),
        },
        {"parameter": labels, "chain": posterior["chain"]},
    )
    issues = [
        _name_parameters(table, ~complete & partial_draws, "missing in some draws:"),
        *_limit_issues(table, _in_large_term(posterior), sampler),
        *_sampling_issues(table, sampler),
    ]
    issues = [issue for issue in issues if issue]
    table["converged"] = np.int8(not issues)
    table.attrs["convergence_issues"] = "; ".join(issues)
    table.attrs["suggestions"] = suggest(table, values, statistics, sampler) if issues else ""
    return table


def stack_parameters(posterior: xr.Dataset) -> tuple[list[str], Floats]:
    """Return labels ``name[level, ...]`` and draws of every parameter, (parameter, chain, draw)."""
    labels: list[str] = []
    values = []
    for name, array in posterior.data_vars.items():
        dims = [dim for dim in array.dims if dim not in ("chain", "draw")]
        ordered = array.transpose(*dims, "chain", "draw").to_numpy().astype(float)
        values.append(ordered.reshape(-1, *ordered.shape[-2:]))
        keys = product(*(array[dim].to_numpy() for dim in dims))
        labels += [f"{name}[{', '.join(map(str, key))}]" if key else str(name) for key in keys]
    return labels, np.concatenate(values)


def _rhat_and_ess_in_blocks(values: Floats, varies: NDArray[np.bool_]) -> Floats:
    """R-hat, bulk and tail ESS of the parameters that vary; shape (3, parameter)."""
    rows = np.flatnonzero(varies)
    blocks = [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]
    columns = np.full((3, len(values)), np.nan)
    parts = thread_map(lambda block: _rhat_and_ess(values[block]), blocks)
    for block, numbers in zip(blocks, parts, strict=True):
        columns[:, block] = numbers
    return columns


def _rhat_and_ess(values: Floats) -> tuple[Floats, Floats, Floats]:
    """R-hat, bulk and tail ESS by ArviZ, from ranks that are computed once for all of them."""
    halves = _split(values)
    bulk = _rank_normalise(halves)
    folded = _rank_normalise(np.abs(halves - np.median(halves, axis=(1, 2), keepdims=True)))
    with np.errstate(divide="ignore", invalid="ignore"):
        # A chain that never moved has variance 0, which gives an infinite R-hat.
        rhat = np.maximum(rhat_of(bulk), rhat_of(folded))
        tails = [ess_of(_split(_below_quantile(values, prob))) for prob in TAIL]
        return rhat, ess_of(bulk), np.minimum(*tails)


def _split(values: Floats) -> Floats:
    """Split every chain into two; a middle draw is left out."""
    half = values.shape[-1] // 2
    return np.concatenate([values[..., :half], values[..., -half:]], axis=1)


def _rank_normalise(values: Floats) -> Floats:
    """Normal scores of the ranks among all draws of a parameter (Blom 1958)."""
    flat = values.reshape(len(values), -1)
    scores = ndtri((rankdata(flat, axis=1) - 3 / 8) / (flat.shape[1] + 1 / 4))
    return scores.reshape(values.shape)


def _below_quantile(values: Floats, prob: float) -> Floats:
    """1 for each draw at or below a quantile by ArviZ's definition, 0 for others."""
    limit = array_stats.quantile(values.reshape(len(values), -1), prob, axis=-1)
    return (values <= limit[:, None, None]).astype(float)


def _limit_issues(table: xr.Dataset, large: NDArray[np.bool_], sampler: Sampler) -> list[str]:
    """Name the parameters that miss a limit of R-hat or ESS."""
    rhat_limit = 1.0 + (sampler.max_rhat - 1.0) * np.where(large, RHAT_FACTOR, 1.0)
    ess_limit = sampler.min_ess * np.where(large, ESS_FACTOR, 1.0)
    rhat, bulk, tail = table["rhat"], table["ess_bulk"], table["ess_tail"]
    return [
        _name_parameters(table, missed, f"{words} misses its limit for")
        for missed, words in (
            (rhat >= rhat_limit, f"R-hat (up to {float(rhat.max()):.3f})"),
            (bulk < ess_limit, f"bulk ESS (down to {float(bulk.min()):.0f})"),
            (tail < ess_limit, f"tail ESS (down to {float(tail.min()):.0f})"),
        )
    ]


def _in_large_term(posterior: xr.Dataset) -> NDArray[np.bool_]:
    """For each parameter whether its term has many levels."""
    draws = posterior["draw"].size * posterior["chain"].size
    sizes = [array.size // draws for array in posterior.values()]
    return np.repeat(np.array(sizes) > LARGE_TERM, sizes)


def _sampling_issues(table: xr.Dataset, sampler: Sampler) -> Iterator[str]:
    """Say which limits of the sampler itself are missed."""
    divergences, bfmi_min = int(table["divergences"]), float(table["bfmi"].min())
    share = float(table["max_depth_share"])
    if divergences > sampler.max_divergences:
        yield f"{divergences} transitions diverged (at most {sampler.max_divergences})"
    if bfmi_min < sampler.min_bfmi:
        yield f"E-BFMI down to {bfmi_min:.2f} (at least {sampler.min_bfmi:g})"
    if share > sampler.max_depth_share:
        yield (
            f"{share:.0%} of transitions ended at the largest depth {sampler.max_depth} "
            f"(at most {sampler.max_depth_share:.0%})"
        )


def _name_parameters(table: xr.Dataset, bad: xr.DataArray | NDArray[np.bool_], words: str) -> str:
    """Name the parameters that miss a limit, or return an empty string."""
    names = table["parameter"].to_numpy()[np.asarray(bad)]
    return f"{words} {format_list(names, most=3)}" if len(names) else ""

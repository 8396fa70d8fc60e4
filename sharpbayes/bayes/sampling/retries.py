"""Sampling again, longer, until a fit has converged or more draws cannot help."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import xarray as xr

from sharpbayes.bayes.design.design import Floats
from sharpbayes.bayes.sampling.convergence import (
    LARGE_TERM,
    SEPARATE_RHAT,
    check_convergence,
    raise_acceptance,
    rhat_and_ess,
    stack_parameters,
)
from sharpbayes.errors import format_list
from sharpbayes.execution.progress import Phase, ProgressCallback
from sharpbayes.spec.study import Sampler

# Each attempt to converge has this many times the tuning and the draws of the one before. Of chains
# that mix, R-hat - 1 and 1 / ESS fall by as much.
LENGTH_FACTOR = 2
# What chains of fewer draws miss a limit by is too uncertain to tell a pace from.
PACE_FROM = 2000
# Attempts with smaller steps where the number of draws is left open and divergences fail the fit.
DIVERGENCE_RETRIES = 2
# A chain with a smaller ESS of its own has not shown yet that it mixes. Two chains of ESS 100 that
# explore one region differ by an R-hat of 1.1 in 5 of a million parameters, of ESS 50 in 1 of 800.
MIN_ESS_ALONE = 100
BY_LENGTH = ("R-hat", "ESS", "E-BFMI")
# An estimate of R-hat or ESS may be this many times off what chains come to.
PACE_ERROR = 1.25


@dataclass
class StoppingRule:
    """Whether chains are long enough: they have converged, or more draws cannot help.

    It is asked at few fixed lengths, ``sampler.lengths``, so that it does not wait for a lucky
    moment. Before the last one terms with few effects, to which the strict limits apply, are asked
    first, and all others only where these are long enough. ``reason`` is why more draws cannot
    help, or empty; ``final`` are the diagnostics of draws that are long enough.
    """

    sampler: Sampler
    before: xr.Dataset | None = None
    final: xr.Dataset | None = None
    reason: str = ""

    def __call__(self, trace: xr.DataTree) -> bool:
        """Return whether a trace is long enough."""
        length = trace["posterior"].sizes["draw"]
        remaining = sum(further > length for further in self.sampler.lengths)
        short = self._check_small_terms(trace, remaining) if remaining else None
        if short is not None:
            self.before = short
            return False
        table = check_convergence(trace, self.sampler)
        if table["converged"]:
            self.final = table
            return True
        self.reason = explain_stop(trace, table, self.before, remaining=remaining)
        self.before, self.final = table, table if self.reason else None
        return bool(self.reason)

    def _check_small_terms(self, trace: xr.DataTree, remaining: int) -> xr.Dataset | None:
        """Return diagnostics of sds, cutpoints and other small terms if these need more draws.

        None if they are long enough, or if more draws may not help them: all terms are asked then.
        """
        posterior = trace["posterior"].to_dataset()
        single = {
            name: x.size // (x.sizes["chain"] * x.sizes["draw"]) for name, x in posterior.items()
        }
        small = posterior[[name for name, size in single.items() if size <= LARGE_TERM]]
        if not small.data_vars:
            return None
        groups = {"posterior": small, "sample_stats": trace["sample_stats"].to_dataset()}
        small_trace = xr.DataTree.from_dict(groups)
        table = check_convergence(small_trace, self.sampler)
        if table["converged"] or (table["rhat"] > SEPARATE_RHAT).any():
            return None
        may_help = not explain_stop(small_trace, table, self.before, remaining=remaining)
        return table if may_help else None


def sample_until_converged(
    sample: Callable[[Sampler, int], xr.DataTree],
    sampler: Sampler,
    *,
    seed: int,
    retries: int,
    progress: ProgressCallback,
) -> tuple[xr.DataTree, xr.Dataset]:
    """Return the trace and diagnostics of the first attempt that converged, or of the last.

    Attempts are independent: each has a seed that follows from ``seed`` and its number, and starts
    anew, so that equal studies give equal results however often they were tried. After Ctrl-C,
    which leaves fewer draws than asked for, no further attempt starts, nor where
    :func:`explain_stop` gives a reason. The reason leads the suggestions. Where the number of draws
    is left open and divergences fail the fit, up to two attempts follow without ``retries``.
    """
    attempt, before = 0, None
    while True:
        trace = sample(sampler, attempt_seed(seed, attempt))
        progress(Phase.CONVERGENCE)
        # Draws that were found long enough have been checked.
        table = trace.attrs.get("diagnostics")
        if table is None:
            table = check_convergence(trace, sampler, can_retry=not retries)
        # What was asked for: a sampler says it of the lengths that it chose from.
        length, reason = (trace.attrs.get(name) for name in ("length", "reason"))
        length = length or sampler.lengths[-1]
        settings = {name: getattr(sampler, name) for name in ("tune", "target_accept")}
        table.attrs |= {"attempts": attempt + 1, "draws": length} | settings
        sizes = trace["posterior"].sizes
        interrupted = sizes["chain"] < sampler.chains or sizes["draw"] < length
        diverged = float(table["shortfall"].sel(limit="divergences")) > 1
        allowed = max(retries, DIVERGENCE_RETRIES if diverged and sampler.draws is None else 0)
        if table["converged"] or interrupted:
            return trace, table
        if reason:
            _lead(table, f"Sampling stopped after {length} draws a chain: {reason}.")
        if attempt >= allowed:
            return trace, table
        if reason := explain_stop(trace, table, before, remaining=allowed - attempt):
            reason = f"--retry stops after attempt {attempt + 1}: {reason}."
            progress(reason)
            _lead(table, reason)
            return trace, table
        attempt, before = attempt + 1, table
        sampler = lengthen(sampler, diverged=diverged)
        progress(
            f"not converged ({table.attrs['convergence_issues']}); attempt {attempt + 1} with "
            f"{sampler.tune} tuning steps and {describe_draws(sampler)} a chain"
        )


def _lead(table: xr.Dataset, reason: str) -> None:
    """Let a reason lead the suggestions."""
    table.attrs["suggestions"] = f"{reason} {table.attrs['suggestions']}".strip()


def describe_draws(sampler: Sampler) -> str:
    """Return how many draws of a chain are asked for, in words.

    >>> describe_draws(Sampler(draws=400)), describe_draws(Sampler())
    ('400 draws', 'up to 8000 draws')
    """
    return f"{'up to ' if sampler.draws is None else ''}{sampler.lengths[-1]} draws"


def explain_stop(
    trace: xr.DataTree, table: xr.Dataset, before: xr.Dataset | None, *, remaining: int
) -> str:
    """Return why more draws cannot help a fit that has not converged; empty if they may.

    Draws that are missing stay missing. Chains that mix well one by one and disagree explore
    different regions. After the second attempt, what a limit is missed by tells whether the
    remaining attempts can reach it: R-hat, ESS and energies if chains mix from now on, others at
    the pace of the last two attempts.
    """
    labels, values = stack_parameters(trace["posterior"].to_dataset())
    finite = np.isfinite(values)
    if (partly := finite.any((1, 2)) & ~finite.all((1, 2))).any():
        return f"{format_list(np.array(labels)[partly], limit=3)} cannot be computed in some draws"
    rhat = table["rhat"].fillna(1.0).to_numpy()
    worst = int(rhat.argmax())
    if rhat[worst] > SEPARATE_RHAT and _mix_alone(values[worst]):
        return (
            f"each chain mixes well by itself and they disagree on {labels[worst]}, so that they "
            "explore different regions of the posterior; more draws do not join them"
        )
    if before is None or values.shape[-1] < PACE_FROM:
        return ""
    for limit in map(str, table["limit"].to_numpy()):
        last, current = (float(t["shortfall"].sel(limit=limit)) for t in (before, table))
        if last <= 1 or current <= 1:
            continue
        # Chains that mix halve what they miss by. How much one pair of lengths says of that is
        # mostly noise.
        by_length = limit in BY_LENGTH
        rate, error = (1.0 / LENGTH_FACTOR, PACE_ERROR) if by_length else (current / last, 1.0)
        if current * rate**remaining > error:
            return (
                f"{limit} missed its limit {last:.1f} times over, then {current:.1f} times with "
                "twice the draws; the remaining attempts do not reach it"
            )
    return ""


def _mix_alone(chains: Floats) -> bool:
    """Whether every chain, (chain, draw), has come to rest and moves freely by itself."""
    rhat, ess, _ = rhat_and_ess(chains[:, None, :])
    return bool((rhat < SEPARATE_RHAT).all() and (ess > MIN_ESS_ALONE).all())


def lengthen(sampler: Sampler, *, diverged: bool) -> Sampler:
    """Return settings of the next attempt: twice as long, and smaller steps if any diverged."""
    target = raise_acceptance(sampler.target_accept) if diverged else sampler.target_accept
    names = ("tune", "max_draws") if sampler.draws is None else ("tune", "draws")
    update = {name: LENGTH_FACTOR * getattr(sampler, name) for name in names}
    return sampler.model_copy(update=update | {"target_accept": target})


def attempt_seed(seed: int, attempt: int) -> int:
    """Return the seed of an attempt; the first has the seed itself."""
    if attempt == 0:
        return seed
    return int(np.random.SeedSequence([seed, attempt]).generate_state(1)[0])

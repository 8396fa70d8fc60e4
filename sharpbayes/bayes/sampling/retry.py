"""Longer sampling where a fit has not converged."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from sharpbayes.bayes.sampling.convergence import check_convergence
from sharpbayes.execution.progress import ProgressCallback
from sharpbayes.spec.study import Sampler

# Each attempt has this many times the tuning and the draws of the one before.
LENGTH_FACTOR = 2


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
    which leaves fewer draws than asked for, no further attempt starts.
    """
    attempt = 0
    while True:
        trace = sample(sampler, attempt_seed(seed, attempt))
        progress("checking convergence")
        table = check_convergence(trace, sampler)
        settings = {name: getattr(sampler, name) for name in ("tune", "draws", "target_accept")}
        table.attrs |= {"attempts": attempt + 1} | settings
        sizes = trace["posterior"].sizes
        interrupted = sizes["chain"] < sampler.chains or sizes["draw"] < sampler.draws
        if table["converged"] or attempt >= retries or interrupted:
            return trace, table
        attempt += 1
        sampler = lengthen(sampler, diverged=int(table["divergences"]) > sampler.max_divergences)
        progress(
            f"not converged ({table.attrs['convergence_issues']}); attempt {attempt + 1} with "
            f"{sampler.tune} tuning steps and {sampler.draws} draws a chain"
        )


def lengthen(sampler: Sampler, *, diverged: bool) -> Sampler:
    """Return settings of the next attempt: twice as long, and smaller steps if any diverged."""
    target = 1.0 - (1.0 - sampler.target_accept) / 2.0 if diverged else sampler.target_accept
    update = {name: LENGTH_FACTOR * getattr(sampler, name) for name in ("tune", "draws")}
    return sampler.model_copy(update=update | {"target_accept": round(target, 6)})


def attempt_seed(seed: int, attempt: int) -> int:
    """Return the seed of an attempt; the first has the seed itself."""
    if attempt == 0:
        return seed
    return int(np.random.SeedSequence([seed, attempt]).generate_state(1)[0])

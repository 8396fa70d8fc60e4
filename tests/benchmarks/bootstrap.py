"""Time of the paired bootstrap of a whole profile, beside SciPy's bootstrap of CVaR alone.

    uv run python -m tests.benchmarks.bootstrap

Eleven models, 901 prompts, four dimensions; every statistic of the profile against one statistic.
"""

import time

import numpy as np
import xarray as xr
from scipy import stats

from sharpbayes.metrics.profile import profile
from sharpbayes.metrics.resample import bootstrap
from sharpbayes.metrics.risk import panel

REPLICATES, SCIPY_REPLICATES = 10_000, 500


def made_panel():
    """A simulated panel of the size of the SHARP paper."""
    rng = np.random.default_rng(20260121)
    dims = ("model", "prompt", "judge", "dimension")
    x = xr.DataArray(rng.beta(0.6, 2.0, (11, 901, 3, 4)), dims=dims)
    return panel(x, temperature=0.2, epsilon=1e-6, judges_missing="available")


def ours(table):
    """Seconds of all statistics."""
    start = time.perf_counter()
    bootstrap(
        lambda weights: profile(
            table, alpha=0.95, policy=None, estimator="inclusive", weights=weights
        ),
        table["prompt"],
        replicates=REPLICATES,
        seed=1,
        dim="prompt",
        block=2000,
    )
    return time.perf_counter() - start


def scipys(risk):
    """Seconds of CVaR alone, scaled from fewer replicates."""

    def cvar(*rows, axis):
        x = np.stack(rows)
        var = np.quantile(x, 0.95, axis=axis, method="inverted_cdf", keepdims=True)
        return np.where(x >= var, x, 0).sum(axis) / (x >= var).sum(axis)

    start = time.perf_counter()
    stats.bootstrap(
        tuple(risk),
        lambda *rows, axis: cvar(*rows, axis=axis)[0],
        paired=True,
        vectorized=True,
        n_resamples=SCIPY_REPLICATES,
        batch=100,
        method="percentile",
        rng=1,
    )
    return (time.perf_counter() - start) * REPLICATES / SCIPY_REPLICATES


if __name__ == "__main__":
    table = made_panel()
    ours(table)
    times = sorted(ours(table) for _ in range(5))
    other = scipys(table["log_risk"].to_numpy())
    print(f"whole profile: {times[2]:.2f} s (fastest {times[0]:.2f}, slowest {times[-1]:.2f})")
    print(f"SciPy, CVaR alone: {other:.2f} s, {other / times[2]:.1f} times the whole profile")

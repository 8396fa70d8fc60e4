"""How often intervals of CVaR hold the truth where prompts of the tail have one value.

    python -m tests.references.tied_tails [--studies 400]

Two judges give each prompt a score in five steps, rounded from a severity that they share and an
error of their own. The truth comes from four million prompts and SHARP's formulas, written again in
NumPy. ``tied_tails.csv`` has the share of studies that have an interval, and of these the share
whose tail has one value below the end of the scale; the share of 95% intervals that hold the truth,
of all and of such tails; and the median width of the latter: by the program, and by resamples
alone.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import xarray as xr

from sharpbayes.analysis.profile_bootstrap import bootstrap_profile
from sharpbayes.analysis.profile_interval import BootstrappedProfile
from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.metrics.panel.risk import panel
from tests.references.rare_harm import BATCH, EPSILON, make_plan, write_worlds

TABLE = Path(__file__).with_name("tied_tails.csv")
HEADER = (
    *("world", "prompts", "interval", "shown", "tied", "holds", "holds_tied", "width_tied"),
    "studies",
)
PROMPTS, ALPHA, TEMPERATURE = (20, 40, 100, 300, 1000), 0.95, 0.2
JUDGES, STEPS = 2, 4

type Severity = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]

# Severity of prompts in [0, 1], and the standard deviation of the judges' errors in steps.
WORLDS: dict[str, tuple[Severity, float]] = {
    "often mild": (lambda rng, shape: rng.beta(1, 3, shape), 0.8),
    "seldom severe": (lambda rng, shape: rng.beta(1, 6, shape), 0.5),
    "judges agree": (lambda rng, shape: rng.beta(2, 6, shape), 0.0),
    "never severe": (lambda rng, shape: 0.5 * rng.beta(2, 2, shape), 0.3),
}


def draw_harm(world: str, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Scores of both judges, in [0, 1] over (..., prompt, judge)."""
    severity, spread = WORLDS[world]
    scores = severity(rng, shape)[..., None] * STEPS + spread * rng.normal(size=(*shape, JUDGES))
    return np.clip(np.round(scores), 0, STEPS) / STEPS


def compute_risk(harm: np.ndarray) -> np.ndarray:
    """Log-risk of prompts by the scores of their judges, over (..., prompt)."""
    pooled = TEMPERATURE * np.log(np.exp(harm / TEMPERATURE).mean(-1))
    return -np.log(1.0 - pooled + EPSILON)


def find_truth(world: str) -> float:
    """CVaR of the population of prompts, ties with VaR included."""
    risk = compute_risk(draw_harm(world, np.random.default_rng(1), (4_000_000,)))
    return float(risk[risk >= np.quantile(risk, ALPHA, method="inverted_cdf")].mean())


def bootstrap_harm(plan: ProfilePlan, harm: np.ndarray) -> BootstrappedProfile:
    """Profiles of harm over (study, prompt, judge), resampled by the program."""
    dims = ("study", "prompt", "model", "judge", "dimension")
    array = xr.DataArray(harm[:, :, None, :, None], dims=dims)
    risk = panel(array, temperature=TEMPERATURE, epsilon=EPSILON, judges_missing="error")
    labels = {name: plan.table[name] for name in ("prompt", "model", "dimension", "category")}
    return bootstrap_profile(replace(plan, table=risk.assign_coords(labels)), names=("cvar",))


def has_tied_tail(harm: np.ndarray) -> np.ndarray:
    """Whether no prompt exceeds VaR, which is below the end of the scale, by study."""
    risk = compute_risk(harm)
    var = np.quantile(risk, ALPHA, axis=-1, method="inverted_cdf")
    return (risk.max(-1) <= var + 1e-9) & (var < -np.log(EPSILON) - 1e-9)


def measure_batch(plan: ProfilePlan, harm: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Bounds of CVaR over (study, bound), by the program and by resamples alone."""
    bootstrapped = bootstrap_harm(plan, harm)
    endless = replace(bootstrapped, fewest_prompts=bootstrapped.fewest_prompts * np.inf)
    for kind, chosen in (("program", bootstrapped), ("studentized", endless)):
        yield kind, chosen.interval("cvar").isel(model=0).transpose("study", "bound").to_numpy()


def study_world(world: str, prompts: int, studies: int) -> Iterator[tuple[object, ...]]:
    """Rows of the table of one world and number of prompts."""
    truth, bounds = find_truth(world), {}
    with tempfile.TemporaryDirectory() as folder:
        plan = make_plan(Path(folder), prompts, weighted=False)
    for batch in range(-(-studies // BATCH)):
        rng = np.random.default_rng([20261130, prompts, batch, list(WORLDS).index(world)])
        harm = draw_harm(world, rng, (BATCH, prompts))
        for kind, interval in measure_batch(plan, harm):
            row = np.column_stack([interval, has_tied_tail(harm)])
            bounds.setdefault(kind, []).append(row)
    for kind, parts in bounds.items():
        lower, upper, tied = np.concatenate(parts).T
        is_shown = upper > lower
        yield world, prompts, kind, *summarise(lower, upper, tied > 0, is_shown, truth), len(tied)


def summarise(
    lower: np.ndarray, upper: np.ndarray, tied: np.ndarray, is_shown: np.ndarray, truth: float
) -> tuple[str, ...]:
    """Shares of studies by what the header says; empty where no study has such a tail."""
    holds, is_tied = (lower <= truth) & (truth <= upper), tied & is_shown
    of_all = (is_shown.mean(), tied[is_shown].mean(), holds[is_shown].mean())
    of_tied = (holds[is_tied].mean(), np.median((upper - lower)[is_tied])) if is_tied.any() else ()
    return *(f"{value:.3f}" for value in (*of_all, *of_tied)), *("",) * (2 - len(of_tied))


if __name__ == "__main__":
    write_worlds(study_world, product(WORLDS, PROMPTS), HEADER, TABLE, studies=400)

"""How often intervals of means hold the truth where harm is rare, and where few prompts carry it.

    python -m tests.references.rare_harm [--studies 1000]

One judge says of each prompt how harmful the answer is. Harm of prompts comes from laws in plain
NumPy, and the truth from their expectations or from four million draws; nothing of them knows how
the program computes. ``rare_harm.csv`` has, for the mean log-risk and the policy score, the share
of 95% intervals that hold the truth, the share that lie below the upper bound, the median width,
and the share of studies in which five prompts do not carry the mean: by the program, and by
studentized resamples alone.
"""

import argparse
import csv
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from sharpbayes.analysis.profile_bootstrap import bootstrap_profile
from sharpbayes.analysis.profile_interval import BootstrappedProfile
from sharpbayes.analysis.profile_plan import ProfilePlan, build_profile_plan
from sharpbayes.analysis.study import read_study
from sharpbayes.metrics.panel.risk import panel
from sharpbayes.spec.load import load_study
from tests.references.provenance import record_run

TABLE = Path(__file__).with_name("rare_harm.csv")
HEADER = (
    "world",
    "prompts",
    "metric",
    "interval",
    "holds",
    "below_upper",
    "width",
    "few",
    "studies",
)
PROMPTS, BATCH, EPSILON = (30, 100, 300), 50, 1e-6
METRICS = ("mean", "policy_score")
STUDY = """schema = "sharpbayes/study/2"
title = "Rare harm"
weights = "./weights.toml"
seed = 20261126

[panel]
data = "ratings.csv"
layout = "wide"
roles = { model = "model", prompt = "prompt", judge = "judge", category = "kind" }

[panel.scales]
harm = { kind = "ordinal", min = 0, max = 1 }

[panel.indicators]
harm = "harm"

[[panel.dimensions]]
name = "harm"
rms = ["harm"]

[bootstrap]
replicates = 1000
"""
WEIGHTS = """schema = "sharpbayes/weights/2"
title = "Weights"
"""
# The target population has as much of a kind as of the other, of which the study has a tenth.
SHARES = "\n[population.category]\ncommon = 0.5\nrare = 0.5\n"


@dataclass(frozen=True)
class World:
    """A law of harm.

    Attributes:
        draw: Harm of some prompts, from a generator and a shape (..., prompt).
        weighted: Whether a tenth of the prompts stand for half of the population.
    """

    draw: Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
    weighted: bool = False


def say_yes(rate: float) -> World:
    """Harm is 1 at a rate, else 0."""
    return World(lambda rng, shape: (rng.random(shape) < rate).astype(float))


def take_steps(rate: float) -> World:
    """Harm is above 0 at a rate, and then seldom more than a half."""
    shares = np.array([1 - rate, rate * 0.5, rate * 0.25, rate * 0.15, rate * 0.1])
    return World(lambda rng, shape: rng.choice(np.linspace(0, 1, 5), shape, p=shares))


def mix_severe(rate: float) -> World:
    """Harm is small, and severe at a rate."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        severe = rng.random(shape) < rate
        return np.where(severe, rng.beta(5, 2, shape), rng.beta(1, 30, shape))

    return World(draw)


WORLDS = {
    **{f"yes or no, {rate:.0%}": say_yes(rate) for rate in (0.01, 0.02, 0.05, 0.1)},
    **{f"five steps, {rate:.0%}": take_steps(rate) for rate in (0.02, 0.05)},
    **{f"severe, {rate:.0%}": mix_severe(rate) for rate in (0.02, 0.05)},
    "skewed": World(lambda rng, shape: rng.beta(0.1, 3, shape)),
    "yes or no, 2%, weighted": World(say_yes(0.02).draw, weighted=True),
}


def make_plan(folder: Path, prompts: int, *, weighted: bool) -> ProfilePlan:
    """A plan of the program for one model and one judge."""
    kinds = np.where(np.arange(prompts) < prompts // 10, "rare", "common")
    names = [f"p{number:04d}" for number in range(prompts)]
    rows = {"model": "m", "prompt": names, "judge": "j", "kind": kinds, "harm": 0}
    pd.DataFrame(rows).to_csv(folder / "ratings.csv", index=False)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    (folder / "weights.toml").write_text(WEIGHTS + SHARES * weighted, encoding="utf-8")
    return build_profile_plan(read_study(load_study(folder / "study.toml")))


def bootstrap_harm(plan: ProfilePlan, harm: np.ndarray) -> BootstrappedProfile:
    """Profiles of harm over (study, prompt, model) by one judge, resampled by the program."""
    dims = ("study", "prompt", "model", "judge", "dimension")
    array = xr.DataArray(harm[..., None, None], dims=dims)
    risk = panel(array, temperature=0.2, epsilon=EPSILON, judges_missing="error")
    labels = {name: plan.table[name] for name in ("prompt", "model", "dimension", "category")}
    return bootstrap_profile(replace(plan, table=risk.assign_coords(labels)), names=METRICS)


def measure_batch(
    plan: ProfilePlan, harm: np.ndarray
) -> Iterator[tuple[str, str, np.ndarray, np.ndarray]]:
    """Metric, interval, bounds and whether few prompts carry it, of harm over (study, prompt)."""
    bootstrapped = bootstrap_harm(plan, harm[:, :, None])
    rare = bootstrapped.rare_harm
    for name in METRICS:
        few = np.zeros(len(harm)) if rare is None else ~rare.is_carried[name].to_numpy()[:, 0]
        for kind in ("program", "studentized"):
            chosen = bootstrapped if kind == "program" else replace(bootstrapped, rare_harm=None)
            yield name, kind, chosen.interval(name).isel(model=0).to_numpy(), few


def find_truth(world: World) -> dict[str, float]:
    """Expected log-risk and harm."""
    harm = world.draw(np.random.default_rng(1), (4_000_000,))
    return {"mean": float(-np.log1p(EPSILON - harm).mean()), "policy_score": float(harm.mean())}


def study_world(name: str, prompts: int, studies: int) -> Iterator[tuple[object, ...]]:
    """Rows of the table of one world and number of prompts."""
    world, bounds = WORLDS[name], {}
    truth = find_truth(world)
    with tempfile.TemporaryDirectory() as folder:
        plan = make_plan(Path(folder), prompts, weighted=world.weighted)
    for batch in range(-(-studies // BATCH)):
        rng = np.random.default_rng([20261126, prompts, batch, list(WORLDS).index(name)])
        harm = world.draw(rng, (BATCH, prompts))
        for metric, kind, interval, few in measure_batch(plan, harm):
            bounds.setdefault((metric, kind), []).append(np.column_stack([interval, few]))
    for (metric, kind), parts in bounds.items():
        lower, upper, few = np.concatenate(parts).T
        below = truth[metric] <= upper
        holds = (below & (lower <= truth[metric])).mean()
        shares = (f"{holds:.3f}", f"{below.mean():.3f}", f"{np.median(upper - lower):.4f}")
        yield (name, prompts, metric, kind, *shares, f"{few.mean():.3f}", len(few))


def parse_arguments(table: Path, *, studies: int = 1000) -> argparse.Namespace:
    """Number of studies, and the table that is written."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=studies)
    parser.add_argument("--out", type=Path, default=table)
    return parser.parse_args()


def write_worlds(
    study: Callable[..., Iterator[tuple[object, ...]]],
    designs: Iterable[tuple[object, ...]],
    header: Sequence[str],
    table: Path,
    *,
    studies: int = 1000,
) -> None:
    """Write the rows of each design, a world with what else varies, for the studies asked for."""
    chosen = parse_arguments(table, studies=studies)
    with chosen.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        for design in designs:
            writer.writerows(study(*design, chosen.studies))
            file.flush()
    record_run(chosen.out)


if __name__ == "__main__":
    write_worlds(study_world, product(WORLDS, PROMPTS), HEADER, TABLE)

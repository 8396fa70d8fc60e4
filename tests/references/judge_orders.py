"""How often an order of models that is one judge's is told without naming the judge.

    python -m tests.references.judge_orders [--studies 60]

Two models answer the same prompts, and judges score them from 0 to 10. They are equal but for how
judges score the second one: in ``one judge`` the last judge alone scores it lower, in ``all
judges`` every judge does, by the same in the mean over judges. ``judge_orders.csv`` has shares of
studies, by the metric that models are compared by. ``claimed``: the second model is distinguishable
from the first. The other shares are of these studies. ``silent_by_sign``: it is the lowest one
without every single judge, all that was asked before. ``silent``: it is distinguishable too without
every single judge, or without the last one in ``one judge``. ``rests``: the order is said to rest
on a judge. ``open``: it is lost without a judge, by what may be chance. Those in which another
model is lowest without a judge are the rest.
"""

import argparse
import csv
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import sharpbayes
from sharpbayes.analysis.judge_orders import intervals_without_judges
from sharpbayes.analysis.profile_bootstrap import bootstrap_profile
from sharpbayes.analysis.profile_interval import BootstrappedProfile
from sharpbayes.analysis.profile_plan import ProfilePlan, build_profile_plan
from sharpbayes.analysis.stability import panel_stability
from sharpbayes.metrics.panel.sweeps import leave_one_judge_out
from sharpbayes.workflows.context import open_context
from tests.references.provenance import record_run

TABLE = Path(__file__).with_name("judge_orders.csv")
HEADER = (
    *("world", "prompts", "judges", "shift", "metric", "claimed"),
    *("silent_by_sign", "silent", "rests", "open", "studies"),
)
WORLDS = ("one judge", "all judges")
# Prompts, judges, and by how many steps of the scale the mean of all judges is lower.
DESIGNS = ((150, 3, 0.25), (150, 3, 0.67), (150, 2, 0.67), (150, 5, 0.5), (400, 3, 1.0))
METRICS = ("cvar", "policy_score")
MODELS, REPLICATES = ["first", "second"], 200


def draw_scores(rng: np.random.Generator, world: str, design: Sequence[float]) -> pd.DataFrame:
    """A row for each model, prompt and judge, with a score from 0 to 10."""
    prompts, judges, shift = int(design[0]), int(design[1]), design[2]
    harm = rng.normal(3.0, 1.3, prompts) + rng.normal(0.0, 0.8, (2, prompts))
    scores = harm[:, :, None] + rng.normal(0.0, 0.7, (2, prompts, judges))
    lower = np.full(judges, shift) if world == "all judges" else np.zeros(judges)
    lower[-1] = shift if world == "all judges" else shift * judges
    scores[1] -= lower
    labels = {"model": MODELS, "prompt": range(prompts), "judge": range(judges)}
    table = xr.DataArray(np.clip(scores.round(), 0, 10), labels, tuple(labels), name="harm")
    rows = table.to_dataframe().reset_index()
    return rows.assign(
        prompt=rows["prompt"].map("p{:04d}".format), judge="j" + rows["judge"].astype(str)
    )


def plan_study(scores: pd.DataFrame) -> ProfilePlan:
    """How a study of scores is profiled."""
    study = sharpbayes.study(
        scores,
        indicators={"harm": "severity"},
        scales={"severity": {"kind": "ordinal", "min": 0, "max": 10}},
        bootstrap={"replicates": REPLICATES},
    )
    return build_profile_plan(open_context(study).study)


def bootstrap_differences(plan: ProfilePlan, names: Sequence[str]) -> BootstrappedProfile:
    """Resamples of some metrics."""
    return bootstrap_profile(plan, names=names, differences=True)


def compare(plan: ProfilePlan) -> tuple[xr.Dataset, xr.Dataset]:
    """Intervals of a study by all judges, and what changes without each judge."""
    bootstrapped = bootstrap_profile(plan)
    sweep = leave_one_judge_out(plan.table["sub_index"], plan.protocol, policy=plan.policy)
    groups = {"profile": bootstrapped.observed, "profile_interval": bootstrapped.intervals()}
    groups["judges"] = sweep
    without = intervals_without_judges(plan, groups, bootstrapped, bootstrap_differences)
    groups["judges"] = sweep.assign(without)
    return groups["profile_interval"], panel_stability(groups)


def read_outcome(
    interval: xr.Dataset, stability: xr.Dataset, world: str, metric: str
) -> list[bool]:
    """Whether an order is claimed; silent by the sign, and wholly; rests on a judge; open."""
    pair = interval[f"{metric}_difference_joint"].sel(model="second", other="first")
    prefix, names = ("", {}) if metric == "cvar" else ("lojo_", {"metric": metric})
    table = stability.sel(names)
    dim = "setting" if metric == "cvar" else "judge_out"
    is_judge = (stability["kind"] == "judge").to_numpy() if metric == "cvar" else slice(None)
    changed, unresolved, decisive = (
        table[f"{prefix}{name}"].isel({dim: is_judge}).to_numpy()
        for name in ("changed", "unresolved", "decisive")
    )
    lost = unresolved != ""
    asked = slice(-1, None) if world == "one judge" else slice(None)
    is_silent = not (changed | lost)[asked].any()
    is_open = not changed.any() and not decisive.any() and lost.any()
    rests = not changed.any() and decisive.any()
    return [bool(pair.sel(bound="upper") < 0), not changed.any(), is_silent, rests, is_open]


def run_study(world: str, design: Sequence[float], number: int) -> list[list[bool]]:
    """Outcomes of one study, by metric."""
    seed = [20261130, WORLDS.index(world), DESIGNS.index(tuple(design)), number]
    results = compare(plan_study(draw_scores(np.random.default_rng(seed), world, design)))
    return [read_outcome(*results, world, metric) for metric in METRICS]


def study_design(
    pool: ProcessPoolExecutor, world: str, design: Sequence[float], studies: int
) -> Iterator[tuple[object, ...]]:
    """Rows of the table of one design."""
    outcomes = np.array([*pool.map(partial(run_study, world, design), range(studies))])
    for metric, rows in zip(METRICS, outcomes.transpose(1, 0, 2), strict=True):
        claimed = rows[rows[:, 0].astype(bool), 1:]
        shares = [f"{x:.3f}" for x in claimed.mean(0)] if len(claimed) else [""] * 4
        yield (world, *design, metric, f"{rows[:, 0].mean():.3f}", *shares, studies)


def main() -> None:
    """Measure every design and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=60)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=TABLE)
    chosen = parser.parse_args()
    with (
        ProcessPoolExecutor(chosen.processes) as pool,
        chosen.out.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for world, design in product(WORLDS, DESIGNS):
            writer.writerows(study_design(pool, world, design, chosen.studies))
            file.flush()
    record_run(chosen.out)


if __name__ == "__main__":
    main()

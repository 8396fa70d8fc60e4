"""How often a limit is called kept where answers that nobody scored exceed it.

    python -m tests.references.lost_limits [--studies 40]

Two models answer 300 prompts, or one alone does, and three judges score the answers from 0 to 10.
*Worst*: a share of the answers of the first model is at the end of the scale or near it, and just
these have no score, or no row. The limit, on CVaR of the dimension or on the policy score, is what
the model has when all are scored, so that it is exceeded by next to nothing. *Chance*: each answer
of both models is lost with the same probability, and *the model's chance*: of the first model
alone; the limit is a fifth above. ``lost_limits.csv`` has the share of studies in which the first
model keeps it: now, without the rule on lost answers, and with all answers scored.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import xarray as xr

from sharpbayes.analysis import panel
from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.spec.weights import Tolerance
from tests.references.lost_answers import JUDGES, NOISE, SEVERE, draw_scores, lose_answers
from tests.references.one_harm import make_study
from tests.references.rare_harm import write_worlds

TABLE = Path(__file__).with_name("lost_limits.csv")
HEADER = ("world", "models", "rows", "lost", "limit", "now", "without", "complete", "studies")
LIMITS = ("dimension harm", "policy_score")
PROMPTS, MANY, LOOSE = 300, 400_000, 1.2
TAIL, TEMPERATURE = 0.05, 0.2
WEIGHTS = """schema = "sharpbayes/weights/2"
title = "Lost answers"
rationale = "A study."
approved_by = "nobody"

[tolerance{table}]
{name} = {limit}
"""


@dataclass(frozen=True)
class World:
    """Which answers are lost, of how many models, whether they have rows, and their share."""

    law: str
    models: int
    rows: str
    lost: float


WORLDS = (
    World("worst", 2, "empty", 0.02),
    World("worst", 2, "none", 0.02),
    World("worst", 2, "empty", 0.08),
    World("worst", 2, "none", 0.08),
    World("worst", 1, "empty", 0.08),
    World("chance", 2, "empty", 0.02),
    World("chance", 2, "empty", 0.08),
    World("the model's chance", 2, "empty", 0.02),
)


def draw_harm(rng: np.random.Generator, prompts: int) -> np.ndarray:
    """Return the harm of an answer to each prompt, from 0 to 9."""
    return 9 * rng.beta(1, 4, prompts)


def raise_answers(harm: np.ndarray, is_lost: np.ndarray, world: World) -> np.ndarray:
    """Return harm of which that of lost answers is severe, in the world in which it is."""
    return np.where(is_lost & (world.law == "worst"), np.maximum(harm, SEVERE), harm)


def true_values(world: World) -> dict[str, float]:
    """CVaR and mean of harm of the first model, from its law, where every answer is scored.

    Harm of an answer is the logarithm of the mean of exp of the judges' scores from 0 to 1.
    """
    rng = np.random.default_rng([20261130, int(1000 * world.lost)])
    harm = raise_answers(draw_harm(rng, MANY), rng.random(MANY) < world.lost, world)
    noisy = harm[:, None] + NOISE * rng.standard_normal((MANY, len(JUDGES)))
    scores = np.clip(np.rint(noisy), 0, 10) / 10
    pooled = np.sort(TEMPERATURE * np.log(np.exp(scores / TEMPERATURE).mean(axis=1)))
    worst = pooled[-int(TAIL * MANY) :]
    return {"dimension harm": float(worst.mean()), "policy_score": float(pooled.mean())}


def draw_tables(world: World, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return scores of all models, of which some are lost, and all of them."""
    complete, scored = [], []
    for number in range(world.models):
        is_lost = rng.random(PROMPTS) < world.lost
        if number and world.law != "chance":
            is_lost[:] = False
        harm = raise_answers(draw_harm(rng, PROMPTS), is_lost, world)
        table = draw_scores(rng, f"m{number}", harm)
        complete.append(table)
        scored.append(lose_answers(table, is_lost, world.rows))
    return pd.concat(scored), pd.concat(complete)


def keeps_limit(table: pd.DataFrame, limit: str, value: float, seed: int) -> bool:
    """Whether the first model is called admissible."""
    kind, _, name = limit.rpartition(" ")
    weights = WEIGHTS.format(table=f".{kind}" * bool(kind), name=name, limit=round(value, 6))
    with tempfile.TemporaryDirectory() as folder:
        study = make_study(folder, table, weights, top=10, replicates=200, seed=seed)
        return bool(study.measure()["tolerance"]["verdict"].sel(model="m0") == "admissible")


def add_nothing(plan: ProfilePlan, observed: xr.Dataset, tolerance: Tolerance) -> None:
    """Lost answers add nothing to limits."""


def study_world(world: World, limit: str, studies: int) -> Iterator[tuple[object, ...]]:
    """The row of one design: shares of studies in which the first model keeps the limit."""
    value = true_values(world)[limit] * (1.0 if world.law == "worst" else LOOSE)
    outcomes = []
    for number in range(studies):
        rng = np.random.default_rng([20261130, number, int(1000 * world.lost), world.models])
        scored, complete = draw_tables(world, rng)
        now = keeps_limit(scored, limit, value, number + 1)
        with patch.object(panel, "rise_by_lost_answers", add_nothing):
            without = keeps_limit(scored, limit, value, number + 1)
        outcomes.append((now, without, keeps_limit(complete, limit, value, number + 1)))
    shares = (f"{share:.3f}" for share in np.mean(outcomes, axis=0))
    yield (world.law, world.models, world.rows, world.lost, limit, *shares, studies)


if __name__ == "__main__":
    write_worlds(study_world, product(WORLDS, LIMITS), HEADER, TABLE, studies=40)

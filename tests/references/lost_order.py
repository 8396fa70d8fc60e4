"""How often a model is called lower than another one by answers that lack a score.

    python -m tests.references.lost_order [--studies 40]

Two models answer 300 prompts, and three judges score the answers from 0 to 10. *Worst*: both are of
one law, a share of the answers of each is at the end of the scale or near it, and just these have
no score of the first model, or no row. *Chance*: the first model has four fifths of the harm of the
other one, and each answer of both is lost with the same probability; *the model's chance*: of the
first model alone. ``lost_order.csv`` has the share of studies in which the first model is
distinguished from the other one as the lower one, by CVaR and by the policy score, without the rule
on lost answers and now.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

from sharpbayes.analysis import evidence
from sharpbayes.analysis.results_view import ResultsView
from sharpbayes.posterior.claims import carried_statements
from sharpbayes.posterior.lowest import is_distinguished, observed_lowest
from tests.references.lost_answers import draw_scores, lose_answers
from tests.references.lost_limits import PROMPTS, World, draw_harm, raise_answers
from tests.references.one_harm import make_study
from tests.references.rare_harm import write_worlds

TABLE = Path(__file__).with_name("lost_order.csv")
METRICS = ("cvar", "policy_score")
HEADER = (
    *("world", "rows", "lost"),
    *(f"{name}_{when}" for name in METRICS for when in ("without", "now")),
    "studies",
)
WORLDS = (
    World("worst", 2, "empty", 0.02),
    World("worst", 2, "none", 0.02),
    World("worst", 2, "empty", 0.08),
    World("worst", 2, "none", 0.08),
    World("chance", 2, "empty", 0.02),
    World("chance", 2, "empty", 0.08),
    World("the model's chance", 2, "empty", 0.02),
    World("the model's chance", 2, "empty", 0.08),
)
LOWER = 0.8
WEIGHTS = """schema = "sharpbayes/weights/2"
title = "Lost answers"
rationale = "A study."
"""


def draw_table(world: World, rng: np.random.Generator) -> pd.DataFrame:
    """Return scores of two models, of which some are lost."""
    parts = []
    for number, name in enumerate(("m0", "m1")):
        is_lost = rng.random(PROMPTS) < world.lost
        scale = 1.0 if number or world.law == "worst" else LOWER
        harm = raise_answers(scale * draw_harm(rng, PROMPTS), is_lost, world)
        table = draw_scores(rng, name, harm)
        loses = number == 0 or world.law == "chance"
        parts.append(lose_answers(table, is_lost, world.rows) if loses else table)
    return pd.concat(parts)


def name_lower(table: pd.DataFrame, seed: int) -> list[bool]:
    """Whether the first model is distinguished as the lower one, by each metric."""
    with tempfile.TemporaryDirectory() as folder:
        study = make_study(folder, table, WEIGHTS, top=10, replicates=200, seed=seed)
        view = ResultsView(study.measure())
    carried = {"lowest", "distinguishable"} <= {*carried_statements(view)}
    return [
        observed_lowest(view, name) == ["m0"]
        and is_distinguished(view, name)
        and (carried or name != "cvar")
        for name in METRICS
    ]


def study_world(world: World, studies: int) -> Iterator[tuple[object, ...]]:
    """The row of one world: shares of studies that distinguish the first model."""
    outcomes = []
    for number in range(studies):
        table = draw_table(world, np.random.default_rng([20261131, number, int(1e3 * world.lost)]))
        with patch.object(evidence, "lost_evidence", lambda *_: {}):
            without = name_lower(table, number + 1)
        outcomes.append(np.column_stack([without, name_lower(table, number + 1)]).ravel())
    shares = (f"{share:.3f}" for share in np.mean(outcomes, axis=0))
    yield (world.law, world.rows, world.lost, *shares, studies)


if __name__ == "__main__":
    write_worlds(study_world, ((world,) for world in WORLDS), HEADER, TABLE, studies=40)

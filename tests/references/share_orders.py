"""How often equal models are ordered where few prompts stand for half of a target population.

    python -m tests.references.share_orders [--studies 150]

Two judges score the answers of three equal models to 200 prompts from 0 to 10, by a law in plain
NumPy. Some prompts are of a rare and more harmful category, which is half of the target population.
``share_orders.csv`` has the shares of studies in which the joint interval of any pair excludes 0,
by metric: now, and with as many degrees of freedom as there are prompts.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

from sharpbayes.analysis.panel import profile_panel
from sharpbayes.analysis.study import read_study
from sharpbayes.metrics.stats.intervals import is_outside
from tests.references.one_harm import make_study
from tests.references.rare_harm import write_worlds

TABLE = Path(__file__).with_name("share_orders.csv")
METRICS = ("mean", "policy_score")
HEADER = ("rare", *(f"{name}_{when}" for name in METRICS for when in ("now", "before")), "studies")
MODELS, PROMPTS, TOP, BIAS = 3, 200, 10, np.array([-0.3, 0.3])
DESIGNS = ((8,), (20,), (100,))
WEIGHTS = """schema = "sharpbayes/weights/2"
title = "Halves"
rationale = "Each category is half of the target population."
[risk]
epsilon = 0.01
[population.category]
usual = 0.5
rare = 0.5
"""


def draw_scores(rng: np.random.Generator, rare: int) -> pd.DataFrame:
    """A row for each model, prompt and judge."""
    is_rare = np.arange(PROMPTS) < rare
    severity = -1.6 + 1.2 * is_rare + rng.standard_normal(PROMPTS)
    seen = severity[:, None] + 0.6 * rng.standard_normal((MODELS, PROMPTS, 1)) + BIAS
    seen = seen + 0.5 * rng.standard_normal(seen.shape)
    score = np.clip(np.round(TOP / (1 + np.exp(-seen))), 0, TOP).astype(int)
    model, prompt, judge = np.indices(score.shape).reshape(3, -1)
    return pd.DataFrame(
        {
            "model": [f"m{number}" for number in model],
            "prompt": [f"p{number:03d}" for number in prompt],
            "judge": [f"j{number}" for number in judge],
            "kind": np.where(is_rare, "rare", "usual")[prompt],
            "harm": score.ravel(),
        }
    )


def find_orders(table: pd.DataFrame) -> list[bool]:
    """Whether the joint interval of any pair of models excludes 0, by metric."""
    with tempfile.TemporaryDirectory() as folder:
        options = {"top": TOP, "replicates": 400, "seed": 5}
        study = make_study(folder, table, WEIGHTS, **options, category="kind")
        _, groups = profile_panel(read_study(study))
    interval = groups["profile_interval"]
    return [bool(is_outside(0.0, interval[f"{name}_difference_joint"]).any()) for name in METRICS]


def study_design(rare: int, studies: int) -> Iterator[tuple[object, ...]]:
    """The row of one design: shares of studies that order equal models."""
    now, before = [], []
    for number in range(studies):
        table = draw_scores(np.random.default_rng([20261130, rare, number]), rare)
        now.append(find_orders(table))
        with patch("sharpbayes.analysis.profile_bootstrap.freedom_of_shares", lambda _: None):
            before.append(find_orders(table))
    shares = np.stack([np.mean(now, axis=0), np.mean(before, axis=0)], axis=1).ravel()
    yield (rare, *(f"{share:.3f}" for share in shares), studies)


if __name__ == "__main__":
    write_worlds(study_design, DESIGNS, HEADER, TABLE, studies=150)

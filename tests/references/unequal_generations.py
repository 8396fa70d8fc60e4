"""How often equal models are ordered where one of them answered some prompts more often.

    python -m tests.references.unequal_generations [--studies 40]

Two judges score the answers of two equal models to 100 prompts from 0 to 10, by a law in plain
NumPy: a severity of each prompt, of each model in it, and of single answers. One model answers the
severe prompts five times, or those four times at whose first answer judges saw much harm, and the
others once; or both answer each prompt three times. ``unequal_generations.csv`` has the shares of
studies in which the joint interval of the difference excludes 0, by metric: now, and with every
answer counted alike.
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

TABLE = Path(__file__).with_name("unequal_generations.csv")
METRICS = ("mean", "policy_score", "cvar")
HEADER = (
    "answers",
    *(f"{name}_{when}" for name in METRICS for when in ("now", "alike")),
    "studies",
)
PROMPTS, TOP, BIAS, SEVERE, HARMFUL = 100, 10, np.array([-0.3, 0.3]), 0.8, 5
WEIGHTS = 'schema = "sharpbayes/weights/2"\ntitle = "W"\n[risk]\nepsilon = 0.01\n'
ANSWERS = ("severe prompts again", "harmful answers again", "three of each")


def score_answer(rng: np.random.Generator, severity: float) -> np.ndarray:
    """Scores of one answer by both judges."""
    seen = severity + 0.6 * rng.standard_normal() + BIAS + 0.4 * rng.standard_normal(2)
    return np.clip(np.round(TOP / (1 + np.exp(-seen))), 0, TOP).astype(int)


def count_answers(answers: str, model: int, severity: float, first: np.ndarray) -> int:
    """How often a model answers a prompt."""
    if answers == "three of each":
        return 3
    if model == 0:
        return 1
    if answers == "severe prompts again":
        return 5 if severity > SEVERE else 1
    return 4 if first.mean() >= HARMFUL else 1


def draw_scores(rng: np.random.Generator, answers: str) -> pd.DataFrame:
    """A row for each score of an answer."""
    severity, rows = rng.standard_normal(PROMPTS), []
    for model in range(2):
        for prompt, value in enumerate(severity):
            of_model = value - 1.2 + 0.35 * rng.standard_normal()
            scores = [score_answer(rng, of_model)]
            number = count_answers(answers, model, float(value), scores[0])
            scores += [score_answer(rng, of_model) for _ in range(number - 1)]
            rows += [
                (f"m{model}", f"p{prompt:03d}", f"j{judge}", answer, score)
                for answer, by_judge in enumerate(scores)
                for judge, score in enumerate(by_judge)
            ]
    return pd.DataFrame(rows, columns=["model", "prompt", "judge", "answer", "harm"])


def find_orders(table: pd.DataFrame) -> list[bool]:
    """Whether the joint interval of the difference of both models excludes 0, by metric."""
    with tempfile.TemporaryDirectory() as folder:
        options = {"top": TOP, "replicates": 400, "seed": 5}
        study = make_study(folder, table, WEIGHTS, **options, sample="answer")
        _, groups = profile_panel(read_study(study))
    pair = groups["profile_interval"].sel(model="m0", other="m1")
    return [bool(is_outside(0.0, pair[f"{name}_difference_joint"])) for name in METRICS]


def study_design(answers: str, studies: int) -> Iterator[tuple[object, ...]]:
    """The row of one design: shares of studies that order equal models."""
    now, alike = [], []
    for number in range(studies):
        rng = np.random.default_rng([20261130, ANSWERS.index(answers), number])
        table = draw_scores(rng, answers)
        now.append(find_orders(table))
        with patch("sharpbayes.analysis.profile_plan.weigh_answers", lambda _, counts: counts):
            alike.append(find_orders(table))
    shares = np.stack([np.mean(now, axis=0), np.mean(alike, axis=0)], axis=1).ravel()
    yield (answers, *(f"{share:.3f}" for share in shares), studies)


if __name__ == "__main__":
    write_worlds(study_design, [(answers,) for answers in ANSWERS], HEADER, TABLE, studies=40)

"""How often the gate passes a candidate that is its reference but for rare severe answers.

    python -m tests.references.severe_gate [--studies 100]

Candidate and reference answer the same prompts, and one judge scores them from 0 to 10, most of
them from 0 to 3. The candidate's score is that of its reference, in a fifth of the prompts a new
one of the same law, but for a share of its answers, which are severe: at 9, or at 10, the end of
the scale. The margin on the policy score is the difference that
they make, so that 5% of candidates may pass; or it is given, and the candidate is unchanged.
``severe_gate.csv`` has the shares that pass now, and by bounds that know of no unseen answer.
"""

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np

from sharpbayes.analysis import gate_ends
from sharpbayes.analysis.gate import measure_gate
from sharpbayes.analysis.gate_study import Comparison, join_sides
from sharpbayes.analysis.limited_metrics import about_log_risk
from sharpbayes.analysis.study import PanelStudy
from sharpbayes.metrics.panel.non_inferiority import NON_INFERIOR
from tests.references.rare_gate import choose_margin, make_side, make_template
from tests.references.rare_harm import write_worlds

TABLE = Path(__file__).with_name("severe_gate.csv")
HEADER = ("prompts", "severe", "score", "margin", "now", "without", "studies")
TOP, REDRAWN = 10, 0.2
# Number of prompts, share of severe answers and their score; the margin of an unchanged candidate.
DESIGNS = (
    (40, 0.03, 9, None),
    (40, 0.03, 10, None),
    (100, 0.03, 9, None),
    (300, 0.01, 9, None),
    (40, 0.0, 0, 0.05),
    (100, 0.0, 0, 0.05),
    (100, 0.0, 0, 0.02),
)


def draw_scores(rng: np.random.Generator, prompts: int) -> np.ndarray:
    """Scores of two answers to each prompt, (side, prompt), by one law."""
    scores = rng.binomial(TOP, rng.beta(1.0, 6.0, prompts), (2, prompts))
    scores[1] = np.where(rng.random(prompts) < REDRAWN, scores[1], scores[0])
    return scores


@cache
def template() -> PanelStudy:
    """A study without its ratings."""
    with tempfile.TemporaryDirectory() as folder:
        return make_template(Path(folder), top=TOP)


def true_margin(share: float, score: int) -> float:
    """The difference in mean harm that severe answers make: a share of a beta's mean of 1 / 7."""
    return share * (score / TOP - 1 / 7)


def compare(prompts: int, share: float, score: int, *, margin: float, number: int) -> Comparison:
    """Draw a candidate and its reference."""
    rng = np.random.default_rng([20261130, prompts, round(1000 * share), score, number])
    old, new = draw_scores(rng, prompts)
    new = np.where(rng.random(prompts) < share, score, new)
    sides = (make_side(template(), name, x) for name, x in (("new", new), ("old", old)))
    return join_sides(*sides, choose_margin(template(), margin))


def passes(comparison: Comparison) -> tuple[bool, bool]:
    """Whether the candidate passes: now, and by bounds that know of no unseen answer."""
    now = measure_gate(comparison).attrs["verdict"]
    with patch.object(gate_ends, "is_raised_by_ends", about_log_risk):
        without = measure_gate(comparison).attrs["verdict"]
    return now == NON_INFERIOR, without == NON_INFERIOR


def study_design(
    prompts: int, share: float, score: int, given: float | None, studies: int
) -> Iterator[tuple[object, ...]]:
    """The row of one design: shares of candidates that pass."""
    margin = true_margin(share, score) if given is None else given
    verdicts = [
        passes(compare(prompts, share, score, margin=margin, number=number))
        for number in range(studies)
    ]
    now, without = np.mean(verdicts, axis=0)
    yield (prompts, share, score, f"{margin:.4f}", f"{now:.3f}", f"{without:.3f}", studies)


if __name__ == "__main__":
    write_worlds(study_design, DESIGNS, HEADER, TABLE, studies=100)

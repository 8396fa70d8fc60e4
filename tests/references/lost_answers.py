"""How often a gate passes a candidate whose answers nobody scored, and how often for no reason.

    python -m tests.references.lost_answers [--studies 40]

A candidate and its reference answer 300 prompts, and three judges score them from 0 to 10. *Worst*:
the candidate is as harmful as its reference, but for a share of the answers that are raised to the
end of the scale or near it; just these have no score, or no row. With all scores the policy score
is beyond its margin, of 0.01 where 2% are lost and of 0.02 where 8% are. *Chance*: both are alike,
and each answer of either side is lost with the same probability. *Candidate's chance*: so are
answers of the candidate alone, which is no more harmful. ``lost_answers.csv`` has the share of
studies in which the candidate passes, now and without the rule on lost answers, and with all
answers scored.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import xarray as xr

import sharpbayes
from sharpbayes.analysis import gate_evidence
from tests.references.one_harm import make_study
from tests.references.rare_harm import write_worlds

TABLE = Path(__file__).with_name("lost_answers.csv")
HEADER = ("world", "rows", "lost", "now", "without", "complete", "studies")
# World, whether lost answers have rows, and the share of answers that are lost.
DESIGNS = (
    ("worst", "empty", 0.02),
    ("worst", "none", 0.02),
    ("worst", "empty", 0.08),
    ("worst", "none", 0.08),
    ("chance", "empty", 0.02),
    ("chance", "empty", 0.08),
    ("candidate's chance", "empty", 0.02),
    ("candidate's chance", "empty", 0.08),
)
PROMPTS, JUDGES, NOISE, SEVERE = 300, ("ja", "jb", "jc"), 0.8, 8.5
# The margin of the policy score by the share of answers that are lost.
MARGINS = {0.02: 0.01, 0.08: 0.02}
WEIGHTS = """schema = "sharpbayes/weights/2"
title = "Lost answers"
rationale = "A study."

[gate]
policy_score = {}
"""


def draw_scores(rng: np.random.Generator, model: str, harm: np.ndarray) -> pd.DataFrame:
    """Return the scores of a model by all judges, a row for each judgement."""
    noisy = harm[:, None] + NOISE * rng.standard_normal((len(harm), len(JUDGES)))
    prompts = [f"p{number:04d}" for number in range(len(harm))]
    index = pd.MultiIndex.from_product(
        [[model], prompts, JUDGES], names=["model", "prompt", "judge"]
    )
    return index.to_frame(index=False).assign(harm=np.clip(np.rint(noisy), 0, 10).ravel())


def lose_answers(table: pd.DataFrame, is_lost: np.ndarray, rows: str) -> pd.DataFrame:
    """Return scores of which those of some prompts are empty, or have no row."""
    is_gone = np.repeat(is_lost, len(JUDGES))
    if rows == "none":
        return table[~is_gone]
    return table.assign(harm=table["harm"].mask(is_gone))


def measure(folder: str, table: pd.DataFrame, *, margin: float, seed: int) -> xr.DataTree:
    """Return the results of one side."""
    study = make_study(folder, table, WEIGHTS.format(margin), top=10, replicates=200, seed=seed)
    return study.measure()


def passes(candidate: xr.DataTree, reference: xr.DataTree) -> bool:
    """Whether the gate lets a candidate pass."""
    return bool(
        sharpbayes.gate(candidate, reference)["gate"].attrs["verdict"] == "at least as safe"
    )


def draw_sides(
    world: str, lost: float, rng: np.random.Generator
) -> tuple[dict[str, pd.DataFrame], dict[str, np.ndarray]]:
    """Return complete scores of both sides, and which answers are lost."""
    harm = 9 * rng.beta(1, 4, PROMPTS)
    is_lost = {name: rng.random(PROMPTS) < lost for name in ("v4", "v3")}
    raised = np.where(is_lost["v4"] & (world == "worst"), np.maximum(harm, SEVERE), harm)
    if world != "chance":
        is_lost["v3"] = np.zeros(PROMPTS, bool)
    tables = {name: draw_scores(rng, name, x) for name, x in (("v4", raised), ("v3", harm))}
    return tables, is_lost


def study_once(world: str, rows: str, lost: float, number: int) -> tuple[bool, bool, bool]:
    """Whether a candidate passes: now, without the rule, and with all answers scored."""
    rng = np.random.default_rng([20261130, number, int(1000 * lost)])
    tables, is_lost = draw_sides(world, lost, rng)
    options = {"margin": MARGINS[lost], "seed": number + 1}
    with tempfile.TemporaryDirectory() as folder:
        complete = {name: measure(folder, table, **options) for name, table in tables.items()}
        scored = {
            name: measure(folder, lose_answers(table, is_lost[name], rows), **options)
            for name, table in tables.items()
        }
    pair = (scored["v4"], scored["v3"])
    with patch.object(gate_evidence, "describe_lost_answers", lambda *_: ""):
        without = passes(*pair)
    return passes(*pair), without, passes(complete["v4"], complete["v3"])


def study_design(world: str, rows: str, lost: float, studies: int) -> Iterator[tuple[object, ...]]:
    """The row of one design: shares of studies in which the candidate passes."""
    outcomes = [study_once(world, rows, lost, number) for number in range(studies)]
    yield (world, rows, lost, *(f"{share:.3f}" for share in np.mean(outcomes, axis=0)), studies)


if __name__ == "__main__":
    write_worlds(study_design, DESIGNS, HEADER, TABLE, studies=40)

"""How often ties at the edge of the tail order models, or pass a gate, against the worst answers.

    python -m tests.references.ties_at_var [--studies 40]

Two models answer the same prompts, and three judges score them from 0 to 2. In a tenth of the
scores above 0 a judge sees a step less. *Orders*: aster is at 1 in 30% of the prompts and never
worse, briar at 2 in some and at 0 in all others, which is worse by the worst 5% of the prompts.
*Gates*: both are at 1 in 30%, and the candidate at 2 in some; by the worst 5% it is two margins
more harmful, or more. ``ties_at_var.csv`` has, by estimator of CVaR, the share of studies in which
briar has the lowest CVaR by the answer, of these as distinguishable, and in which the candidate
passes; and the same without the rule on ties. All of them are false.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import xarray as xr

import sharpbayes
from sharpbayes.analysis import gate_evidence
from sharpbayes.analysis.evidence_limits import PAIRS, state_limits
from tests.references.one_harm import make_study
from tests.references.rare_harm import write_worlds

TABLE = Path(__file__).with_name("ties_at_var.csv")
HEADER = ("statement", "estimator", "prompts", "severe", "now", "without", "studies")
# Estimator, number of prompts, and share of the answers that are severe.
DESIGNS = (("inclusive", 300, 0.02), ("inclusive", 300, 0.04), ("rockafellar-uryasev", 300, 0.02))
MIDDLE, MISSES = 0.3, 0.1
WEIGHTS = """schema = "sharpbayes/weights/2"
title = "Ties"
rationale = "A study."

[tail]
estimator = "{}"

[gate]
dimension = 0.1
"""

type Claims = dict[str, tuple[bool, bool]]


def draw_scores(
    rng: np.random.Generator, *, model: str, prompts: int, severe: float, middle: float
) -> pd.DataFrame:
    """Return the scores of a model by three judges, a row for each judgement."""
    level = rng.random(prompts)
    harm = np.where(level < severe, 2, np.where(level < severe + middle, 1, 0))
    is_missed = rng.random((prompts, 3)) < MISSES
    scores = np.maximum(harm[:, None] - is_missed, 0)
    labels = [[model], [f"p{number:04d}" for number in range(prompts)], ["ja", "jb", "jc"]]
    index = pd.MultiIndex.from_product(labels, names=["model", "prompt", "judge"])
    return index.to_frame(index=False).assign(harm=scores.ravel())


def measure(
    folder: str,
    estimator: str,
    table: pd.DataFrame,
    *,
    seed: int,
    text: str = WEIGHTS,
    replicates: int = 400,
) -> xr.DataTree:
    """Return the results of a table by one estimator, under weights of this text."""
    study = make_study(
        folder, table, text.format(estimator), top=2, replicates=replicates, seed=seed
    )
    return study.measure()


def name_lowest(results: xr.DataTree) -> Claims:
    """Whether briar is called lowest by CVaR, and distinguishable: now, and without the rule."""
    profile, intervals = (results[name].to_dataset() for name in ("profile", "profile_interval"))
    evidence = results["evidence"].to_dataset()
    chosen = profile.assign(intervals[PAIRS]).assign(cvar_interval=intervals["cvar"])
    without = state_limits(evidence.assign(wide_tail=evidence["wide_tail"] & False), chosen)
    carried = [json.loads(text["carried"]) for text in (evidence.attrs, without)]
    is_lowest = str(profile["cvar"].idxmin("model").item()) == "briar"
    is_apart = bool(intervals["separable"].sel(model="briar", other="aster"))
    named = tuple(is_lowest and "lowest" in statements for statements in carried)
    return {"lowest": named, "distinguishable": tuple(claim and is_apart for claim in named)}


def pass_gate(candidate: xr.DataTree, reference: xr.DataTree) -> Claims:
    """Whether the candidate passes: now, and without the rule."""
    verdict = sharpbayes.gate(candidate, reference)["gate"].attrs["verdict"]
    with patch.object(gate_evidence, "ties_of_limit", lambda plan, _: plan.tail_prompts < 0):
        without = sharpbayes.gate(candidate, reference)["gate"].attrs["verdict"]
    return {"passes": tuple(text == "at least as safe" for text in (verdict, without))}


def study_once(estimator: str, prompts: int, severe: float, number: int) -> Claims:
    """Return what is claimed of one order and of one gate."""
    rng = np.random.default_rng([20261130, number, prompts, int(1000 * severe)])
    designs = {"aster": (0.0, MIDDLE), "briar": (severe, 0.0), "v3": (0.0, MIDDLE)}
    designs |= {"v4": (severe, MIDDLE)}
    table = {
        model: draw_scores(rng, model=model, prompts=prompts, severe=rate, middle=middle)
        for model, (rate, middle) in designs.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        both = pd.concat([table["aster"], table["briar"]])
        claims = name_lowest(measure(folder, estimator, both, seed=number + 1))
        sides = (measure(folder, estimator, table[name], seed=number + 1) for name in ("v4", "v3"))
        return claims | pass_gate(*sides)


def study_design(
    estimator: str, prompts: int, severe: float, studies: int
) -> Iterator[tuple[object, ...]]:
    """Rows of the table of one design: shares of studies with each claim."""
    claims = [study_once(estimator, prompts, severe, number) for number in range(studies)]
    for statement in claims[0]:
        now, without = np.mean([claim[statement] for claim in claims], axis=0)
        yield (statement, estimator, prompts, severe, f"{now:.3f}", f"{without:.3f}", studies)


if __name__ == "__main__":
    write_worlds(study_design, DESIGNS, HEADER, TABLE, studies=40)

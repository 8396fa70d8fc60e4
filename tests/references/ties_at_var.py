"""How often ties at the edge of the tail order models, or pass a gate, against the worst answers.

    python -m tests.references.ties_at_var [--studies 40]

Two models answer the same prompts, and three judges score them. In a tenth of the scores above 0 a
judge sees a step less. *Wide* ties, scores from 0 to 2: aster is at 1 in 30% of the prompts and
never worse, briar at 2 in some and at 0 in all others. Of a gate both sides are at 1 in 30%, and
the candidate at 2 in some. *Narrow* ties, scores from 0 to 10: aster and the reference are at 5 in
9.5% of the prompts, briar and the candidate at 9 in some and at 1 in the rest of 9.5%. By the worst
5% of the prompts briar is worse, and the candidate two margins more harmful, or more.
``ties_at_var.csv`` has, by estimator of CVaR, the share of studies in which briar has the lowest
CVaR by the answer, of these as distinguishable, and in which the candidate passes; and the same
without the rule on ties. All of them are false.
"""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import xarray as xr

import sharpbayes
from sharpbayes.analysis import gate_evidence
from sharpbayes.analysis.evidence_limits import PAIRS, state_limits
from sharpbayes.metrics.panel.comparison import separable
from tests.references.one_harm import make_study
from tests.references.rare_harm import write_worlds

TABLE = Path(__file__).with_name("ties_at_var.csv")
HEADER = ("statement", "estimator", "ties", "prompts", "severe", "now", "without", "studies")
MISSES = 0.1
# Share of the prompts of a model at each score above 0, from the highest on.
type Shares = dict[int, float]


@dataclass(frozen=True)
class World:
    """Scores from 0 to ``top``, and the shares of models of which one is severe in some prompts."""

    name: str
    top: int
    aster: Shares
    briar: Shares
    reference: Shares
    candidate: Shares

    def severe(self, statement: str) -> float:
        """Return in which share of the prompts a model that a statement is about is severe."""
        shares = self.candidate if statement == "passes" else self.briar
        return next(iter(shares.values()))


OFTEN, NEAR = {1: 0.3}, {5: 0.095}
RARE, MORE = (
    World("wide", 2, OFTEN, {2: severe}, OFTEN, {2: severe, **OFTEN}) for severe in (0.02, 0.04)
)
NARROW = World("narrow", 10, NEAR, {9: 0.018, 1: 0.077}, NEAR, {9: 0.04, 1: 0.055})
DESIGNS = (
    ("inclusive", RARE, 300),
    ("inclusive", MORE, 300),
    ("inclusive", NARROW, 300),
    ("inclusive", NARROW, 1000),
    ("rockafellar-uryasev", RARE, 300),
    ("rockafellar-uryasev", NARROW, 1000),
)
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
    rng: np.random.Generator, shares: Shares, *, model: str, prompts: int
) -> pd.DataFrame:
    """Return the scores of a model by three judges, a row for each judgement."""
    limits = np.cumsum(list(shares.values()))
    harm = np.array([*shares, 0])[np.searchsorted(limits, rng.random(prompts), side="right")]
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
    top: int = 2,
    text: str = WEIGHTS,
    replicates: int = 400,
) -> xr.DataTree:
    """Return the results of a table by one estimator, under weights of this text."""
    study = make_study(
        folder, table, text.format(estimator), top=top, replicates=replicates, seed=seed
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
    apart = (intervals["separable"], separable(intervals["cvar_difference_joint"]))
    named = tuple(is_lowest and "lowest" in statements for statements in carried)
    both = zip(named, (bool(x.sel(model="briar", other="aster")) for x in apart), strict=True)
    return {
        "lowest": named,
        "distinguishable": tuple(claim and is_apart for claim, is_apart in both),
    }


def pass_gate(candidate: xr.DataTree, reference: xr.DataTree) -> Claims:
    """Whether the candidate passes: now, and without the rule."""
    verdict = sharpbayes.gate(candidate, reference)["gate"].attrs["verdict"]
    with patch.object(gate_evidence, "ties_of_limit", lambda plan, *_, **__: plan.tail_prompts < 0):
        without = sharpbayes.gate(candidate, reference)["gate"].attrs["verdict"]
    return {"passes": tuple(text == "at least as safe" for text in (verdict, without))}


def study_once(estimator: str, world: World, prompts: int, number: int) -> Claims:
    """Return what is claimed of one order and of one gate."""
    rng = np.random.default_rng([20261130, number, prompts, int(1000 * world.severe("lowest"))])
    models = {
        "aster": world.aster,
        "briar": world.briar,
        "v3": world.reference,
        "v4": world.candidate,
    }
    table = {
        model: draw_scores(rng, shares, model=model, prompts=prompts)
        for model, shares in models.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        about = {"seed": number + 1, "top": world.top}
        both = pd.concat([table["aster"], table["briar"]])
        claims = name_lowest(measure(folder, estimator, both, **about))
        sides = (measure(folder, estimator, table[name], **about) for name in ("v4", "v3"))
        return claims | pass_gate(*sides)


def study_design(
    estimator: str, world: World, prompts: int, studies: int
) -> Iterator[tuple[object, ...]]:
    """Rows of the table of one design: shares of studies with each claim."""
    claims = [study_once(estimator, world, prompts, number) for number in range(studies)]
    for statement in claims[0]:
        now, without = np.mean([claim[statement] for claim in claims], axis=0)
        design = (estimator, world.name, prompts, world.severe(statement))
        yield (statement, *design, f"{now:.3f}", f"{without:.3f}", studies)


if __name__ == "__main__":
    write_worlds(study_design, DESIGNS, HEADER, TABLE, studies=40)

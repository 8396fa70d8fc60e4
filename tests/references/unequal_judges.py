"""How often equal models are ordered because a harsh judge lacks rows of one of them.

    python -m tests.references.unequal_judges [--studies 200]

Two models of one law answer the same prompts, and three judges score them from 0 to 10. The third
judge is harsher by some steps, and a share of its rows of the second model is absent at random.
Scores come from plain NumPy. ``unequal_judges.csv`` has, for weights that pool the judges that are
there and for those that leave out what a judge did not score, the share of studies in which models
are compared, and in which they are and a joint 95% interval of a difference excludes 0: by the
mean, the policy score and CVaR. No such order is true.
"""

import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from sharpbayes.analysis.evidence import judge_evidence
from sharpbayes.analysis.profile_bootstrap import bootstrap_profile
from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.study import read_study
from sharpbayes.analysis.unequal_judges import is_judged_unequally
from tests.references.one_harm import make_study
from tests.references.rare_harm import write_worlds

TABLE = Path(__file__).with_name("unequal_judges.csv")
METRICS = ("mean", "policy_score", "cvar")
HEADER = ("prompts", "absent", "severity", "missing", "compared", *METRICS, "studies")
# Number of prompts, share of the rows that are absent, and by how many steps the judge is harsher.
DESIGNS = ((300, 0.0, 2.5), (300, 0.03, 1.0), (300, 0.1, 1.0), (300, 0.1, 2.5), (300, 0.19, 2.5))
MISSING = ("available", "complete")
WEIGHTS = """schema = "sharpbayes/weights/2"
title = "Missing judges"
rationale = "A study."

[judges]
missing = "{}"
"""


def draw_scores(
    rng: np.random.Generator, *, prompts: int, absent: float, severity: float
) -> pd.DataFrame:
    """Return the scores of two equal models by three judges, a row for each judgement."""
    latent = rng.normal(3.0, 1.3, prompts) + rng.normal(0.0, 0.8, (2, prompts))
    harm = latent[:, :, None] + rng.normal(0.0, 0.7, (2, prompts, 3))
    harm[..., 2] += severity
    labels = [["one", "two"], [f"p{n:04d}" for n in range(prompts)], ["ja", "jb", "jc"]]
    table = pd.MultiIndex.from_product(labels, names=["model", "prompt", "judge"]).to_frame(
        index=False
    )
    table["harm"] = np.clip(np.round(harm), 0, 10).astype(int).ravel()
    lacks = np.zeros(harm.shape, dtype=bool)
    lacks[1, :, 2] = rng.random(prompts) < absent
    return table[~lacks.ravel()]


def measure_study(
    case: tuple[int, float, float, str, int], *, replicates: int = 500
) -> dict[str, bool]:
    """Return whether models are compared, and whether each metric orders them if they are."""
    prompts, absent, severity, missing, number = case
    rng = np.random.default_rng([20261130, number, prompts, int(100 * absent)])
    table = draw_scores(rng, prompts=prompts, absent=absent, severity=severity)
    with tempfile.TemporaryDirectory() as folder:
        study = make_study(
            folder, table, WEIGHTS.format(missing), top=10, replicates=replicates, seed=number
        )
        plan = build_profile_plan(read_study(study))
    profiles = bootstrap_profile(plan, names=METRICS)
    joint = {f"{x}_difference_joint": profiles.joint_difference(x)["_joint"] for x in METRICS}
    intervals, pair = xr.Dataset(joint), {"model": "two", "other": "one"}
    evidence = xr.Dataset(judge_evidence(plan, profiles.observed, intervals))
    compared = not is_judged_unequally(evidence)
    bounds = {x: intervals[f"{x}_difference_joint"].sel(pair).to_numpy() for x in METRICS}
    ordered = {name: bool(low > 0 or high < 0) for name, (low, high) in bounds.items()}
    return {"compared": compared} | {name: compared and ordered[name] for name in METRICS}


def study_design(
    design: tuple[int, float, float], missing: str, studies: int
) -> Iterator[tuple[object, ...]]:
    """Yield the row of the table of one design."""
    counted = pd.DataFrame([measure_study((*design, missing, n)) for n in range(studies)])
    shares = (f"{counted[name].mean():.3f}" for name in ("compared", *METRICS))
    yield (*design, missing, *shares, studies)


if __name__ == "__main__":
    write_worlds(study_design, product(DESIGNS, MISSING), HEADER, TABLE)

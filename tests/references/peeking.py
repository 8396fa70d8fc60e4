"""How often decisions err if somebody looks again and again, in worlds with known truth.

    python -m tests.references.peeking --studies 1000 --raw peeking_raw.csv

writes ``peeking.csv``; the raw file has a row for each study, and the same command goes on from it.
Two models answer 200 prompts, three judges give scores from 0 to 4. Severities, judges and scores
are drawn by plain NumPy, and the truth is the mean of SHARP's policy score, written again, over
100,000 further prompts by the same judges. Somebody looks after 40, 80 ... 200 prompts, or
after every prompt from the tenth on. Compared are Student's interval of the paired difference, the
intervals of `measure`, and the confidence sequence, all at 95%.
"""

import argparse
import csv
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from sharpbayes.analysis.peeking import (
    CVAR,
    FIXED,
    OBSERVED,
    RULES,
    SCORE,
    SEQUENCE,
    decide_at_looks,
    paired_scores,
    prepare_looks,
    sequence_bounds,
)
from sharpbayes.analysis.profile_plan import build_profile_plan
from tests.references.gate import study_of, template_files, template_study
from tests.references.provenance import record_run
from tests.references.worlds.panel import (
    CELL_SD,
    CUTS,
    DIMENSION_OF,
    JUDGE_SD,
    JUDGES,
    PROMPT_SD,
    TEMPERATURE,
)

TABLE = Path(__file__).with_name("peeking.csv")
PROMPTS, LOOKS, FIRST, POPULATION, LEVEL, SHIFT = 200, 5, 10, 100_000, 0.95, 0.3
NAMES = {FIXED: "fixed", SCORE: "bootstrap score", CVAR: "bootstrap cvar", SEQUENCE: "sequence"}


def ordinary(rng, prompts):
    """Prompts of one kind."""
    return rng.normal(0, PROMPT_SD, (1, prompts, 2)) + rng.normal(0, CELL_SD, (2, prompts, 2))


def rare(rng, prompts):
    """Nine of ten answers are harmless, and a few are as bad as can be."""
    worse = 5.0 * (rng.random((2, prompts, 1)) < 0.1)
    return ordinary(rng, prompts) - 3.0 + worse


def two_kinds(rng, prompts):
    """A tenth of the prompts is of a worse kind."""
    return ordinary(rng, prompts) + 3.0 * (rng.random((1, prompts, 1)) < 0.1)


def extreme(rng, prompts):
    """Answers differ so much that most scores lie at either end of the scale."""
    return 4.0 * rng.normal(-0.5, 1.0, (2, prompts, 1)) + ordinary(rng, prompts)


WORLDS: dict[str, Callable] = {f.__name__: f for f in (ordinary, rare, two_kinds, extreme)}


def scored(rng, severity, judges):
    """Scores (model, prompt, judge, indicator) of severities (model, prompt, dimension)."""
    perceived = (severity[:, :, None] + judges)[..., DIMENSION_OF]
    return np.digitize(perceived + rng.logistic(size=perceived.shape), CUTS)


def policy_scores(scores):
    """Policy score of each answer, (model, prompt): harm pooled over judges, mean of dimensions."""
    harms = [np.sqrt(((scores[..., d == DIMENSION_OF] / len(CUTS)) ** 2).mean(-1)) for d in (0, 1)]
    pooled = [TEMPERATURE * np.log(np.exp(harm / TEMPERATURE).mean(-1)) for harm in harms]
    return np.mean(pooled, axis=0)


def run_study(template, world, shift, seed):
    """Errors of every rule in one study."""
    rng = np.random.default_rng(seed)
    judges, shifts = rng.normal(0, JUDGE_SD, (JUDGES, 2)), np.array([0.0, shift])[:, None, None]
    draw = WORLDS[world]
    scores = scored(rng, draw(rng, PROMPTS) + shifts, judges)
    truth = 0.0
    if shift:
        new = policy_scores(scored(rng, draw(rng, POPULATION) + shifts, judges))
        truth = float((new[0] - new[1]).mean())
    study = study_of(template, dict(zip("ab", scores, strict=True)), list(map(str, range(PROMPTS))))
    plan = build_profile_plan(study)
    pair = prepare_looks(plan, LOOKS)
    # The models in their own order: the program's pair begins with the lower CVaR.
    pair = replace(pair, plan=replace(pair.plan, table=pair.plan.table.sel(model=["a", "b"])))
    claims = decide_at_looks(pair.plan, OBSERVED, pair)[0]
    [x] = paired_scores(pair.plan)
    np.testing.assert_allclose(x, np.subtract(*policy_scores(scores)), atol=1e-9)
    sign = int(np.sign(truth))
    row = {"truth": truth}
    for n, rule in enumerate(RULES):
        wrong = (claims[:, n] != 0) & (claims[:, n] != sign)
        row |= {f"{NAMES[rule]} once": wrong[-1], f"{NAMES[rule]} ever": wrong.any()}
        row[f"{NAMES[rule]} right"] = bool((claims[:, n] == sign).any()) if sign else np.nan
    [bounds] = sequence_bounds(x[None], LEVEL)
    covered = (bounds[:, 0] <= truth) & (truth <= bounds[:, 1])
    number = np.arange(1, PROMPTS + 1)
    mean = np.cumsum(x) / number
    spread = np.sqrt(np.maximum(np.cumsum(x**2) - number * mean**2, 0) / np.maximum(number - 1, 1))
    reach = stats.t.ppf((1 + LEVEL) / 2, np.maximum(number - 1, 1)) * spread / np.sqrt(number)
    missed = np.abs(mean - truth) > reach
    width = (bounds[-1, 1] - bounds[-1, 0]) / (2 * reach[-1])
    return row | {
        "fixed every": missed[FIRST - 1 :].any(),
        "sequence every": not covered.all(),
        "width": width,
    }


def summarise(rows):
    """Shares over studies of each world, with their Monte Carlo errors."""
    table = []
    for (world, shift), part in rows.groupby(["world", "shift"], sort=False):
        row = {"world": world, "shift": shift, "studies": len(part)}
        for name in part.columns.drop(["world", "shift", "study", "truth", "width"]):
            values = part[name].astype(float)
            share, number = values.mean(), len(values)
            near = (share * number + 2) / (number + 4)
            row |= {name: share, f"{name} mcse": np.sqrt(near * (1 - near) / (number + 4))}
        table.append(row | {"width": part["width"].median()})
    return pd.DataFrame(table).round(4)


def main():
    """Add studies to the raw file, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--raw", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop after them")
    parser.add_argument("--out", type=Path, default=TABLE)
    asked = parser.parse_args()
    begun, template = time.monotonic(), template_study(template_files())
    known = pd.read_csv(asked.raw) if asked.raw.exists() else pd.DataFrame(columns=["study"])
    finished = 0 if known.empty else int(known["study"].max()) + 1
    for study in range(finished, asked.studies):
        if time.monotonic() - begun > 60 * asked.minutes:
            break
        rows = [
            {"world": world, "shift": shift, "study": study}
            | run_study(template, world, shift, [study, number, int(shift > 0)])
            for number, world in enumerate(WORLDS)
            for shift in (0.0, SHIFT)
        ]
        with asked.raw.open("a", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            if file.tell() == 0:
                writer.writeheader()
            writer.writerows(rows)
        print(study + 1, flush=True)
    summarise(pd.read_csv(asked.raw)).to_csv(asked.out, index=False)
    record_run(asked.out)


if __name__ == "__main__":
    main()

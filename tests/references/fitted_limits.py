"""What a fit says of a limit on CVaR that a model just exceeds, where ends of the scale are rare.

    python -m tests.references.fitted_limits [--studies 8]

Three models, 100 prompts, two judges with scores 0 to 4 of two indicators, each a dimension. In one
world some answers are at the end of the scale by all judges, which nothing else in the scores
tells; in the other none is. Generator and truth are NumPy alone. It prints the figures of record
118: how often the posterior is sure of the limit, and how often the verdict is that it is kept.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from sharpbayes.spec.load import load_study
from sharpbayes.workflows.fit import fit

MODELS, PROMPTS, JUDGES, POPULATION, TRUTHS = 3, 100, 2, 200_000, 4
CUTS, SHIFT = np.array([-0.5, 0.8, 2.2, 4.5]), np.array([0.0, 0.3, 0.6])
TEMPERATURE, EPSILON, ALPHA = 0.2, 1e-6, 0.95
WORLDS = {"an end in 400 cells": 1 / 400, "no end but by the law of the scores": 0.0}
STUDY = """schema = "sharpbayes/study/2"
title = "Limits"
weights = "./weights.toml"
seed = 3

[panel]
data = "ratings.csv"
layout = "wide"
roles = { model = "model", prompt = "prompt", judge = "judge" }
fit = "judge_panel"

[panel.scales]
severity = { kind = "ordinal", min = 0, max = 4 }

[panel.indicators]
a = "severity"
b = "severity"

[[panel.dimensions]]
name = "a"
rms = ["a"]

[[panel.dimensions]]
name = "b"
rms = ["b"]
"""
WEIGHTS = """schema = "sharpbayes/weights/2"
title = "A limit"

[tolerance]
cvar = {}
confidence = 0.95
"""


def draw_scores(rng, prompts, rate):
    """Scores over (model, prompt, judge, dimension)."""
    prompt = rng.normal(0, 0.8, (1, prompts, 2))
    severity = prompt + rng.normal(0, 0.5, (MODELS, prompts, 2)) + SHIFT[:, None, None] - 0.5
    noise = 0.6 * rng.logistic(size=(MODELS, prompts, JUDGES, 2))
    score = np.digitize(severity[:, :, None] + np.array([-0.2, 0.2])[:, None] + noise, CUTS)
    is_end = rng.random((MODELS, prompts, 1, 2)) < rate
    return np.where(is_end, len(CUTS), score)


def tail_risk(score):
    """SHARP's CVaR 95 of each model."""
    harm = TEMPERATURE * np.log(np.exp(score / len(CUTS) / TEMPERATURE).mean(2))
    risk = -np.log(1 - harm + EPSILON).sum(-1)
    bound = np.quantile(risk, ALPHA, axis=1, method="inverted_cdf")
    return np.array([row[row >= b].mean() for row, b in zip(risk, bound, strict=True)])


def write_study(folder, score, limit):
    """Write the ratings and the study; return its path."""
    model, prompt, judge = (
        np.char.add(name, codes.ravel().astype(str))
        for name, codes in zip("mpj", np.indices(score.shape[:3]), strict=True)
    )
    table = {"model": model, "prompt": prompt, "judge": judge}
    table |= {name: score[..., number].ravel() for number, name in enumerate("ab")}
    pd.DataFrame(table).to_csv(folder / "ratings.csv", index=False)
    (folder / "weights.toml").write_text(WEIGHTS.format(limit), encoding="utf-8")
    path = folder / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def main():
    """Print a row for each world."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=8)
    options = parser.parse_args()
    print("| world | studies | sure of the limit | verdict: kept |\n| --- | --- | --- | --- |")
    for number, (world, rate) in enumerate(WORLDS.items()):
        rngs = [np.random.default_rng([118, number, seed]) for seed in range(TRUTHS)]
        truth = np.mean([tail_risk(draw_scores(rng, POPULATION, rate)) for rng in rngs], axis=0)
        sure = kept = 0
        for study in range(options.studies):
            score = draw_scores(np.random.default_rng([119, number, study]), PROMPTS, rate)
            with tempfile.TemporaryDirectory() as folder:
                # Just below the truth: no model keeps it.
                path = write_study(Path(folder), score, 0.999 * truth[0])
                results = fit(load_study(path))
            of_first = results["decision"].to_dataset().sel(model="m0")
            sure += float(of_first["prob_admissible"]) >= ALPHA
            kept += of_first["verdict"].item() == "admissible"
        print(f"| {world} | {options.studies} | {sure} | {kept} |", flush=True)


if __name__ == "__main__":
    main()

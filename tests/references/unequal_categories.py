"""How often intervals hold the truth where a model lacks answers of a category with a share.

Two models are alike. Prompts are of two categories, one of high harm and one of low, with half of
the target population each; the first model lacks three quarters of its answers to prompts of high
harm. ``python -m tests.references.unequal_categories --studies 200`` prints, for each model, the
share of 95% intervals that hold the value of all prompts of the population.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

import sharpbayes

MODELS, JUDGES, STEPS = ("lacking", "whole"), ("ann", "bo"), 10
PROMPTS, LACKING = 120, 0.75
MEAN, SD, NOISE = {"high": 6.5, "low": 3.0}, 1.5, 0.7
METRICS = ("mean", "policy_score", "cvar")
POPULATION = 40_000
WEIGHTS = """schema = "sharpbayes/weights/2"
title = "Halves"
rationale = "A study of intervals."

[tail]
alpha = 0.8

[population.category]
high = 0.5
low = 0.5
"""


def draw_ratings(rng, prompts, *, lacking):
    """Scores of both models by both judges on prompts of two categories."""
    category = np.repeat([*MEAN], prompts // 2)
    severity = np.repeat([*MEAN.values()], prompts // 2) + rng.normal(0, SD, prompts)
    rows = []
    for model in MODELS:
        latent = severity + rng.normal(0, 1, prompts)
        is_kept = np.ones(prompts, dtype=bool)
        if model == "lacking" and lacking:
            is_kept = (category == "low") | (rng.random(prompts) > LACKING)
        scores = latent[:, None] + rng.normal(0, NOISE, (prompts, len(JUDGES)))
        for judge, values in zip(JUDGES, scores.T, strict=True):
            table = {
                "prompt": [f"p{number}" for number in range(prompts)],
                "category": category,
                "harm": np.clip(values.round(), 1, STEPS).astype(int),
            }
            rows.append(pd.DataFrame(table).assign(model=model, judge=judge)[is_kept])
    return pd.concat(rows)


def measure(ratings, weights, *, replicates):
    """Results of one study."""
    study = sharpbayes.study(
        ratings,
        weights=str(weights),
        indicators={"harm": "steps"},
        scales={"steps": {"kind": "ordinal", "min": 1, "max": STEPS}},
        category="category",
        bootstrap={"replicates": replicates},
    )
    return study.measure()


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        weights = Path(folder) / "halves.toml"
        weights.write_text(WEIGHTS, "utf-8")
        whole = draw_ratings(np.random.default_rng(0), POPULATION, lacking=False)
        truth = measure(whole[whole["model"] == "whole"], weights, replicates=100)["profile"]
        held = {name: [] for name in METRICS}
        value = {name: [] for name in METRICS}
        for number in range(options.studies):
            ratings = draw_ratings(np.random.default_rng([1, number]), PROMPTS, lacking=True)
            results = measure(ratings, weights, replicates=200)
            for name in METRICS:
                low, high = results["profile_interval"][name].transpose("bound", "model").to_numpy()
                true = float(truth[name].item())
                held[name].append((low <= true) & (true <= high))
                value[name].append(results["profile"][name].to_numpy())
    print("| metric | truth | mean, lacking | mean, whole | held, lacking | held, whole |")
    print("| --- | --: | --: | --: | --: | --: |")
    for name in METRICS:
        means, shares = np.mean(value[name], 0), np.mean(held[name], 0)
        numbers = " | ".join(f"{x:.3f}" for x in (float(truth[name].item()), *means))
        print(f"| {name} | {numbers} | " + " | ".join(f"{x:.0%}" for x in shares) + " |")


if __name__ == "__main__":
    main()

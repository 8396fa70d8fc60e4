"""What a fit says of limits on log-risk that a model just exceeds, or keeps with room.

    python -m tests.references.fitted_limits [--studies 20] [--prompts 100 400] [--worlds 0 1]
        [--without-fit]

Three models, two judges with scores 0 to 4 of two indicators, each a dimension. In one world some
answers are at the end of the scale by all judges, which nothing else in the scores tells; in the
other none is. Generator and truth are NumPy alone. Each model has its own limits: just below its
true mean or CVaR, which it does not keep, and at twice the truth. A row says how often the
posterior is sure that a model keeps its limit, and how often the verdict is so by the fit and by
the bootstrap. ``--without-fit`` measures the studies alone; the first ones are those of a run with
fits.
"""

import argparse
import tempfile
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from sharpbayes.spec.load import load_study
from sharpbayes.workflows.fit import fit
from sharpbayes.workflows.measure import measure
from sharpbayes.workflows.weigh import weigh

MODELS, JUDGES, POPULATION, TRUTHS = 3, 2, 200_000, 4
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
title = "Limits"

[tolerance]
mean = {mean}
cvar = {cvar}
confidence = 0.95
"""
# Limits as multiples of the truth.
LIMITS = {"at the limit": 0.999, "twice": 2.0}
METRICS = ("mean", "cvar")
SOURCES = ("sure", "fit", "bootstrap")


def draw_scores(rng, prompts, rate):
    """Scores over (model, prompt, judge, dimension)."""
    prompt = rng.normal(0, 0.8, (1, prompts, 2))
    severity = prompt + rng.normal(0, 0.5, (MODELS, prompts, 2)) + SHIFT[:, None, None] - 0.5
    noise = 0.6 * rng.logistic(size=(MODELS, prompts, JUDGES, 2))
    score = np.digitize(severity[:, :, None] + np.array([-0.2, 0.2])[:, None] + noise, CUTS)
    is_end = rng.random((MODELS, prompts, 1, 2)) < rate
    return np.where(is_end, len(CUTS), score)


def log_risks(score):
    """SHARP's mean log-risk and CVaR 95 of each model, by the name of the metric."""
    harm = TEMPERATURE * np.log(np.exp(score / len(CUTS) / TEMPERATURE).mean(2))
    risk = -np.log(1 - harm + EPSILON).sum(-1)
    bound = np.quantile(risk, ALPHA, axis=1, method="inverted_cdf")
    cvar = [row[row >= b].mean() for row, b in zip(risk, bound, strict=True)]
    return {"mean": risk.mean(1), "cvar": np.array(cvar)}


def write_study(folder, score):
    """Write the ratings and the study; return its path."""
    model, prompt, judge = (
        np.char.add(name, codes.ravel().astype(str))
        for name, codes in zip("mpj", np.indices(score.shape[:3]), strict=True)
    )
    table = {"model": model, "prompt": prompt, "judge": judge}
    table |= {name: score[..., number].ravel() for number, name in enumerate("ab")}
    pd.DataFrame(table).to_csv(folder / "ratings.csv", index=False)
    (folder / "weights.toml").write_text(WEIGHTS.format(mean=1.0, cvar=1.0), encoding="utf-8")
    path = folder / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def write_limits(folder, truth):
    """Write weights with the limits of one model each; return their paths by what they are of."""
    paths = {}
    for (size, times), model in product(LIMITS.items(), range(MODELS)):
        path = folder / f"{size.replace(' ', '_')}_m{model}.toml"
        limits = {metric: times * values[model] for metric, values in truth.items()}
        path.write_text(WEIGHTS.format(**limits), encoding="utf-8")
        paths[size, f"m{model}"] = path
    return paths


def read_verdicts(weighed, paths):
    """Yield each limit that is said to be kept, with who says so."""
    for ((size, model), path), metric in product(paths.items(), METRICS):
        node, limit = weighed[path.stem], {"model": model, "threshold": metric}
        tolerance = node["tolerance"].to_dataset().sel(limit)
        is_kept = {"bootstrap": tolerance["state"].item() == "admissible"}
        if "decision" in node:
            state = node["decision/state"].sel(limit).item()
            is_kept |= {"sure": float(tolerance["prob_within"]) >= ALPHA}
            is_kept |= {"fit": state == "admissible"}
        yield from ((metric, size, source) for source, kept in is_kept.items() if kept)


def main():
    """Print a row for each world and metric."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=20)
    parser.add_argument("--prompts", type=int, nargs="+", default=[100, 400])
    parser.add_argument("--worlds", type=int, nargs="+", default=[0, 1], help="by their order")
    parser.add_argument("--without-fit", action="store_true")
    options = parser.parse_args()
    compute, sources = (measure, SOURCES[2:]) if options.without_fit else (fit, SOURCES)
    columns = [f"{size}: {name}" for size in LIMITS for name in sources]
    print(f"| prompts | world | limit on | {' | '.join(columns)} |")
    print(f"{'| --- ' * (3 + len(columns))}|")
    for prompts, number in product(options.prompts, options.worlds):
        world, rate = list(WORLDS.items())[number]
        rngs = [np.random.default_rng([118, number, seed]) for seed in range(TRUTHS)]
        drawn = [log_risks(draw_scores(rng, POPULATION, rate)) for rng in rngs]
        truth = {name: np.mean([risk[name] for risk in drawn], axis=0) for name in drawn[0]}
        counts = Counter()
        for study in range(options.studies):
            score = draw_scores(np.random.default_rng([119, number, study]), prompts, rate)
            with tempfile.TemporaryDirectory() as folder:
                results = compute(load_study(write_study(Path(folder), score)))
                paths = write_limits(Path(folder), truth)
                counts.update(read_verdicts(weigh(results, list(paths.values())), paths))
        for metric in truth:
            total = options.studies * MODELS
            cells = [
                f"{100 * counts[metric, size, name] / total:.1f}"
                for size in LIMITS
                for name in sources
            ]
            print(f"| {prompts} | {world} | {metric} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()

"""Calibration of the shipped models at small designs; writes ``calibration.csv`` beside this file.

Run it again with ``python -m tests.references.calibration`` (some minutes a model; ``--only``
names models, ``--simulations`` their number).
"""

import argparse
import csv
import time
import tomllib
from pathlib import Path

import numpy as np

from sharpbayes.bayes.calibrate import calibrate
from sharpbayes.library import find
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Sampler
from tests.bayes.conftest import crowd_ratings, panel_ratings

SEED = 20260121
SAMPLER = Sampler(chains=2, tune=1000, draws=1500, target_accept=0.9)
HEADER = (
    "model",
    "simulations",
    "fits_converged",
    "quantity",
    "coverage_50",
    "coverage_90",
    "coverage_95",
    "outside_band",
    "p_holm",
)
DESIGNS = {
    "crowd_severity": lambda rng: crowd_ratings(rng, items=10, raters=6),
    "crowd_adjacent": lambda rng: crowd_ratings(rng, items=10, raters=6),
    "crowd_continuation": lambda rng: crowd_ratings(rng, items=10, raters=6),
    "rater_thresholds": lambda rng: crowd_ratings(rng, items=20, raters=5),
    "crowd_thresholds": lambda rng: crowd_ratings(rng, items=10, raters=8),
    "judge_severity": lambda rng: panel_ratings(rng, models=3, prompts=5, judges=3),
    "judge_panel": lambda rng: panel_ratings(rng, models=3, prompts=5, judges=3),
}
HERE = Path(__file__).parent


def model_named(name):
    text = find("models", name).read_text(encoding="utf-8")
    return Model.model_validate(tomllib.loads(text))


def rows_of(name, simulations):
    ratings = DESIGNS[name](np.random.default_rng(SEED))
    found = calibrate(
        ratings, model_named(name), SAMPLER, simulations=simulations, seed=SEED, step=print
    )
    for quantity in found["quantity"].to_numpy():
        one = found.sel(quantity=quantity)
        yield (
            name,
            simulations,
            int(found["fit_converged"].sum()),
            quantity,
            *(f"{float(one['coverage'].sel(level=level)):.3f}" for level in (0.5, 0.9, 0.95)),
            int(one["outside"]),
            f"{float(one['p_holm']):.4f}",
        )


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--simulations", type=int, default=300)
    asked.add_argument("--only", nargs="*", default=list(DESIGNS))
    asked.add_argument("--out", type=Path, default=HERE / "calibration.csv")
    chosen = asked.parse_args()
    with chosen.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for name in chosen.only:
            start = time.monotonic()
            writer.writerows(rows_of(name, chosen.simulations))
            file.flush()
            print(f"{name}: {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()

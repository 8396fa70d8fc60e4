"""Recovery of judges' terms by ``judges_and_people``; writes ``judges_and_people.csv`` beside it.

Run it again with ``python -m tests.references.judges_and_people`` (some ten seconds a simulation;
``--simulations`` their number).
"""

import argparse
import csv
import tempfile
from pathlib import Path

import numpy as np

from sharpbayes.bayes.geometry import sampling_powers
from sharpbayes.bayes.layout import layout
from sharpbayes.bayes.placing import design
from sharpbayes.bayes.replicate import thinned
from sharpbayes.bayes.sample import sample_kernel
from sharpbayes.measure_panel import planned
from sharpbayes.people import judge_calibration, people_draws
from sharpbayes.replicated import Draws, panel_cells, panel_twins
from sharpbayes.run import read
from tests.peopled import simulated

SEED, LEVEL = 20260121, 0.9
HERE = Path(__file__).parent
HEADER = ("quantity", "simulations", "truths", "held", "coverage_90", "standard_error")
HEADER += ("bias", "rmse", "rmse_of_raw_judges")


def one(folder, seed):
    """Yield quantity, truth, lower, mean, upper and what raw judges say, of one simulation."""
    made = simulated(folder, seed=seed)
    loaded, study = read(made.files), made.files.study.spec
    ratings, spec = loaded.ratings, made.files.model.spec
    placed = design(ratings, spec)
    placed = design(ratings, spec, powers=sampling_powers(placed, seed=seed))
    trace = sample_kernel(placed, layout(placed), study.sampler, seed=seed)
    posterior = trace["posterior"].to_dataset()
    found = judge_calibration(posterior, placed, ratings, level=LEVEL)
    for name, truth in made.truth.items():
        bounds = found[f"{name}_interval"].to_numpy().reshape(-1, 2)
        if name == "lean":  # the two of a judge add up to 0
            bounds = found["lean_interval"].to_numpy()[:, 0]
        mean = found[f"{name}_mean"].to_numpy().reshape(len(bounds), -1)[:, 0]
        values = truth[:, 0] if name == "lean" else np.atleast_1d(truth)
        for at, value in enumerate(values):
            yield name, value, bounds[at, 0], mean[at], bounds[at, 1], np.nan
    few = thinned(posterior, draws=200)
    empty = few.drop_vars(list(few.data_vars))
    draws = people_draws(Draws(few, empty, placed, seed), ratings)
    plan = planned(made.files, loaded.panel)
    cells = panel_cells(loaded.panel, ratings, study.panel)
    [twin] = panel_twins([plan], cells, draws, ["ratings"])
    wanted = planned(made.by_people, read(made.by_people).panel).profile()
    raw = plan.profile()
    for name in ("mean", "cvar"):
        bounds = twin[name].quantile([0.05, 0.95], ["chain", "draw"]).to_numpy()
        mean = twin[name].mean(["chain", "draw"]).to_numpy()
        for at, value in enumerate(wanted[name].to_numpy()):
            yield f"profile {name}", value, bounds[0, at], mean[at], bounds[1, at], raw[name][at]


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--simulations", type=int, default=100)
    asked.add_argument("--out", type=Path, default=HERE / "judges_and_people.csv")
    chosen = asked.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(chosen.simulations):
            for name, *row in one(Path(folder) / str(number), SEED + number):
                found.setdefault(name, []).append(np.array([number, *row], dtype=float))
            print(number + 1, flush=True)
            write(found, chosen.out)


def write(found, path):
    """Write the table of what was found so far."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for name, rows in found.items():
            number, truth, low, mean, high, raw = np.array(rows).T
            held = (low <= truth) & (truth <= high)
            # truths of one simulation share the people's error: only simulations are independent
            shares = np.array([held[number == each].mean() for each in np.unique(number)])
            error = shares.std(ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else np.nan
            rmse = [np.sqrt(np.mean((x - truth) ** 2)) for x in (mean, raw)]
            numbers = (held.mean(), error, (mean - truth).mean(), *rmse)
            counts = (len(shares), len(truth), int(held.sum()))
            writer.writerow((name, *counts, *(f"{x:.3f}" for x in numbers)))


if __name__ == "__main__":
    main()

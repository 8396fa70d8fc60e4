"""Recovery of judges' terms by ``judges_and_people``; writes ``judges_and_people.csv`` beside it.

Run it again with ``python -m tests.references.judges_and_people`` (six seconds of processor time a
simulation; ``--simulations`` their number, ``--first`` the first). Simulations that were finished
are kept in ``--raw`` and are not made again.
"""

import argparse
import csv
import tempfile
from pathlib import Path

import arviz as az
import numpy as np
import pandas as pd

from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.replication import thin
from sharpbayes.bayes.sampling.geometry import tune_design
from sharpbayes.bayes.sampling.nuts import sample_kernel
from sharpbayes.posterior.judge_bias import human_draws, judge_bias
from sharpbayes.posterior.panel import PanelMetrics, rating_positions
from sharpbayes.posterior.replicates import ReplicateDraws
from tests.peopled import simulated
from tests.references.provenance import record_run

SEED, LEVEL = 20260121, 0.9
HERE = Path(__file__).parent
HEADER = ("quantity", "simulations", "truths", "covered", "coverage_90", "standard_error")
HEADER += ("bias", "rmse", "rmse_of_raw_judges")
RAW = ("number", "quantity", "truth", "lower", "mean", "upper", "raw", "rhat")


def one(folder, seed):
    """Yield quantity, truth, lower, mean, upper, what raw judges say and R-hat, of a simulation."""
    made = simulated(folder, seed=seed)
    loaded, study = read_study(made.files), made.files.study.spec
    ratings, spec = loaded.ratings, made.files.model.spec
    design = build_design(ratings, spec)
    design = tune_design(design, ratings, spec, seed=seed)
    trace = sample_kernel(design, study.sampler, seed=seed)
    posterior = trace["posterior"].to_dataset()
    found = judge_bias(posterior, design, ratings, level=LEVEL)
    drawn = found[["severity", "differential_severity", "discrimination", "self_preference"]]
    rhat = float(az.rhat(drawn).to_dataarray().max())
    for name, truth in made.truth.items():
        bounds = found[f"{name}_interval"].to_numpy().reshape(-1, 2)
        if name == "differential_severity":  # the two of a judge add up to 0
            bounds = found["lean_interval"].to_numpy()[:, 0]
        mean = found[f"{name}_mean"].to_numpy().reshape(len(bounds), -1)[:, 0]
        values = truth[:, 0] if name == "differential_severity" else np.atleast_1d(truth)
        for at, value in enumerate(values):
            yield name, value, bounds[at, 0], mean[at], bounds[at, 1], np.nan, rhat
    few = thin(posterior, draws=200)
    empty = few.drop_vars(list(few.data_vars))
    draws = human_draws(ReplicateDraws(few, empty, design, seed), ratings)
    plan = build_profile_plan(loaded)
    [twin] = PanelMetrics([plan], rating_positions(loaded)).measure(draws, ["ratings"])
    wanted = build_profile_plan(read_study(made.by_people)).profile()
    raw = plan.profile()
    for name in ("mean", "cvar"):
        bounds = twin[name].quantile([0.05, 0.95], ["chain", "draw"]).to_numpy()
        mean = twin[name].mean(["chain", "draw"]).to_numpy()
        for at, value in enumerate(wanted[name].to_numpy()):
            low, high, of_judges = bounds[0, at], bounds[1, at], float(raw[name][at])
            yield f"profile {name}", value, low, mean[at], high, of_judges, rhat


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--simulations", type=int, default=300)
    asked.add_argument("--first", type=int, default=0)
    asked.add_argument("--raw", type=Path, default=Path("judges_and_people_raw.csv"))
    asked.add_argument("--out", type=Path, default=HERE / "judges_and_people.csv")
    chosen = asked.parse_args()
    if not chosen.raw.exists():
        chosen.raw.write_text(",".join(RAW) + "\n", encoding="utf-8")
    done = set(pd.read_csv(chosen.raw)["number"])
    with tempfile.TemporaryDirectory() as folder:
        for number in (n for n in range(chosen.first, chosen.simulations) if n not in done):
            rows = [(number, *row) for row in one(Path(folder) / str(number), SEED + number)]
            with chosen.raw.open("a", newline="", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerows(rows)
            print(number + 1, flush=True)
    write(pd.read_csv(chosen.raw), chosen.out)
    record_run(chosen.out)


def write(table, path):
    """Write the table of what was found."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for name, held in table.groupby("quantity", sort=False):
            inside = held["truth"].between(held["lower"], held["upper"])
            # truths of one simulation share the people's error: only simulations are independent
            shares = inside.groupby(held["number"]).mean()
            error = shares.std() / np.sqrt(len(shares))
            rmse = [np.sqrt(np.mean((held[x] - held["truth"]) ** 2)) for x in ("mean", "raw")]
            numbers = (inside.mean(), error, (held["mean"] - held["truth"]).mean(), *rmse)
            counts = (len(shares), len(held), int(inside.sum()))
            writer.writerow((name, *counts, *(f"{x:.3f}" for x in numbers)))


if __name__ == "__main__":
    main()

"""Recovery of judges' terms by ``judges_and_people``; writes ``judges_and_people.csv``.

Run it again with ``python -m tests.references.judges_and_people`` (six seconds of processor time a
simulation; ``--simulations`` is their number, ``--first`` the first). Finished simulations are
stored in ``--raw`` and are not made again.
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


def simulate_study(folder, seed):
    """Yield rows of a simulation: quantity, truth, lower, mean, upper, raw judges and R-hat."""
    simulation = simulated(folder, seed=seed)
    panel, study = read_study(simulation.files), simulation.files.study.spec
    ratings, spec = panel.ratings, simulation.files.model.spec
    design = build_design(ratings, spec)
    design = tune_design(design, ratings, spec, seed=seed)
    trace = sample_kernel(design, study.sampler, seed=seed)
    posterior = trace["posterior"].to_dataset()
    bias = judge_bias(posterior, design, ratings, level=LEVEL)
    terms = bias[["severity", "differential_severity", "discrimination", "self_preference"]]
    rhat = float(az.rhat(terms).to_dataarray().max())
    for name, truth in simulation.truth.items():
        bounds = bias[f"{name}_interval"].to_numpy().reshape(-1, 2)
        if name == "differential_severity":  # the two of a judge add up to 0
            bounds = bias["differential_severity_interval"].to_numpy()[:, 0]
        mean = bias[f"{name}_mean"].to_numpy().reshape(len(bounds), -1)[:, 0]
        values = truth[:, 0] if name == "differential_severity" else np.atleast_1d(truth)
        for number, value in enumerate(values):
            yield name, value, bounds[number, 0], mean[number], bounds[number, 1], np.nan, rhat
    kept = thin(posterior, draws=200)
    empty = kept.drop_vars(list(kept.data_vars))
    draws = human_draws(ReplicateDraws(kept, empty, design, seed), ratings)
    plan = build_profile_plan(panel)
    [posterior_profile] = PanelMetrics([plan], rating_positions(panel)).measure(draws, ["ratings"])
    truth_profile = build_profile_plan(read_study(simulation.by_people)).profile()
    raw = plan.profile()
    for name in ("mean", "cvar"):
        bounds = posterior_profile[name].quantile([0.05, 0.95], ["chain", "draw"]).to_numpy()
        mean = posterior_profile[name].mean(["chain", "draw"]).to_numpy()
        for number, value in enumerate(truth_profile[name].to_numpy()):
            low, high, of_judges = bounds[0, number], bounds[1, number], float(raw[name][number])
            yield f"profile {name}", value, low, mean[number], high, of_judges, rhat


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--raw", type=Path, default=Path("judges_and_people_raw.csv"))
    parser.add_argument("--out", type=Path, default=HERE / "judges_and_people.csv")
    options = parser.parse_args()
    if not options.raw.exists():
        options.raw.write_text(",".join(RAW) + "\n", encoding="utf-8")
    done = set(pd.read_csv(options.raw)["number"])
    with tempfile.TemporaryDirectory() as folder:
        for number in (n for n in range(options.first, options.simulations) if n not in done):
            rows = [
                (number, *row) for row in simulate_study(Path(folder) / str(number), SEED + number)
            ]
            with options.raw.open("a", newline="", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerows(rows)
            print(number + 1, flush=True)
    write(pd.read_csv(options.raw), options.out)
    record_run(options.out)


def write(table, path):
    """Write the table of what was found."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for name, rows in table.groupby("quantity", sort=False):
            covered = rows["truth"].between(rows["lower"], rows["upper"])
            # truths of one simulation share the people's error: only simulations are independent
            shares = covered.groupby(rows["number"]).mean()
            error = shares.std() / np.sqrt(len(shares))
            rmse = [np.sqrt(np.mean((rows[x] - rows["truth"]) ** 2)) for x in ("mean", "raw")]
            numbers = (covered.mean(), error, (rows["mean"] - rows["truth"]).mean(), *rmse)
            counts = (len(shares), len(rows), int(covered.sum()))
            writer.writerow((name, *counts, *(f"{x:.3f}" for x in numbers)))


if __name__ == "__main__":
    main()

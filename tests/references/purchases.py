"""What a purchase was predicted to leave open, and what it left; writes ``purchases.csv``.

    python -m tests.references.purchases --studies 2

A panel of :mod:`tests.references.worlds.trials` is drawn with twice the prompts, judges and trials.
The study sees a half of each and is fitted with ``judge_trials``; ``/sample_size`` predicts which
share of the variance of the difference of two models each purchase leaves. Then the purchase is
made: the other half of one of the three is added, and the panel is fitted again.
"""

import argparse
import csv
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import sharpbayes
from tests.references.provenance import record_run
from tests.references.worlds.trials import TrialWorld

HERE = Path(__file__).parent
SEED = 20260124
WORLD = TrialWorld(models=2, prompts=40, judges=4, trials=4)
HALVES = {"prompts": ("prompt", 20), "judges": ("judge", 2), "trials": ("trial", 2)}
STUDY = """schema = "sharpbayes/study/2"
title = "A purchase"
weights = "./weights.toml"
seed = {seed}

[panel]
data = "ratings.csv"
layout = "long"
roles = {{ model = "model", prompt = "prompt", judge = "judge", score = "score", trial = "trial" }}
scales = {{ severity = {{ kind = "ordinal", min = 0, max = 4 }} }}
indicators = {{ score = "severity" }}
dimensions = [{{ name = "harm", mean = ["score"] }}]
fit = "judge_trials"

[bootstrap]
replicates = 20

[sampler]
chains = 2
tune = 500
draws = 500
predictive_draws = 400
target_ess = 50
max_rhat = 1.05

[costs]
judge = 1
prompt = 1
"""
WEIGHTS = """schema = "sharpbayes/weights/2"
title = "Weights"
[tail]
alpha = 0.8
"""


def fit_table(table: pd.DataFrame, seed: int) -> xr.DataTree:
    """Results of a fit of some ratings."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        table.to_csv(base / "ratings.csv", index=False)
        (base / "weights.toml").write_text(WEIGHTS, encoding="utf-8")
        (base / "study.toml").write_text(STUDY.format(seed=seed), encoding="utf-8")
        return sharpbayes.fit(sharpbayes.load_study(base / "study.toml"))


def keep_halves(table: pd.DataFrame, bought: str) -> pd.DataFrame:
    """The study's half of prompts, judges and trials, and all of what was bought."""
    kept = np.ones(len(table), dtype=bool)
    for name, (column, number) in HALVES.items():
        if name != bought:
            kept &= table[column].str[1:].astype(int) < number
    return table[kept]


def variance(results: xr.DataTree) -> float:
    """Variance of the posterior of the difference of both models."""
    cvar = results["posterior_profile"]["cvar"]
    return float((cvar.isel(model=0) - cvar.isel(model=1)).var())


def run_study(seed: int) -> list[dict[str, object]]:
    """Predicted and achieved share of the variance, for each purchase."""
    table, _ = WORLD.simulate(np.random.default_rng([SEED, seed]))
    present = fit_table(keep_halves(table, ""), seed)
    if "sample_size" not in present:
        return []
    predicted = present["sample_size"].to_dataset().isel(model=0, other=1)
    rows = []
    for name in HALVES:
        after = fit_table(keep_halves(table, name), seed)
        purchase_row = predicted.sel(purchase=name)
        rows.append(
            {
                "study": seed,
                "purchase": name,
                "predicted": f"{float(purchase_row['purchase_share']):.2f}",
                "error": f"{float(purchase_row['purchase_share_mcse']):.2f}",
                "achieved": f"{variance(after) / variance(present):.2f}",
            }
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Run the studies and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=2)
    rows = [row for seed in range(parser.parse_args().studies) for row in run_study(seed)]
    path = HERE / "purchases.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    record_run(path)


if __name__ == "__main__":
    main()

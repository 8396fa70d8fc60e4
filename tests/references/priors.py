"""What weights of draws foretell of a fit under another prior, and the fit itself.

    python -m tests.references.priors [--studies N]

Panels of three models, three judges and few or many prompts, one of the models better by 1.5 on the
latent scale. The prior of the models' locations is normal with sd 0.15, in conflict with that, or
normal with sd 1.5. Weights count the prior half and twice; the refits have its sd times, and over,
the root of 2, which is the same posterior. ``priors.csv`` has a row for each study and power.
"""

import argparse
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
import xarray as xr

from sharpbayes.report.panel_answer import panel_answer
from sharpbayes.report.tables.declaration import View
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.fit import fit
from tests.references.provenance import record_run

OUT = Path(__file__).with_suffix(".csv")
PROMPTS, SDS, POWERS = (6, 150), (0.15, 1.5), (0.5, 2.0)
SEVERITY = {"a": 0.0, "b": 1.5, "c": 1.5}
THRESHOLDS = (-2.0, -0.7, 0.7, 2.0)
PRIOR = "location_model"
STUDY = """schema = "sharpbayes/study/2"
title = "A prior and few or many prompts"
seed = {seed}

[panel]
data = "data.csv"
layout = "long"
roles = {{ model = "model", prompt = "prompt", judge = "judge", indicator = "indicator", \
score = "score" }}
scales = {{ severity = {{ kind = "ordinal", min = 0, max = 4 }} }}
indicators = {{ harm = "severity" }}
dimensions = [{{ name = "harm", rms = ["harm"] }}]
fit = "./model.toml"

[bootstrap]
replicates = 20

[sampler]
chains = 4
tune = 500
draws = 1000
target_accept = 0.95
predictive_draws = 1000
"""
MODEL = """schema = "sharpbayes/model/2"
title = "Models, prompts and judges"

[[location]]
by = ["model"]
prior = {{ kind = "normal", sd = {sd} }}

[[location]]
by = ["prompt"]

[[location]]
by = ["judge"]
"""


def simulate(prompts: int, seed: int) -> pd.DataFrame:
    """Return ratings of every model, prompt and judge."""
    rng = np.random.default_rng([prompts, seed])
    by_prompt, by_judge = rng.normal(0, 1, prompts), rng.normal(0, 0.5, 3)
    rows = [
        (model, f"p{prompt}", f"j{judge}", SEVERITY[model] + by_prompt[prompt] + by_judge[judge])
        for model, prompt, judge in product(SEVERITY, range(prompts), range(3))
    ]
    table = pd.DataFrame(rows, columns=["model", "prompt", "judge", "eta"])
    latent = table.pop("eta") + rng.logistic(size=len(table))
    return table.assign(indicator="harm", score=np.digitize(latent, THRESHOLDS))


def fit_panel(folder: Path, table: pd.DataFrame, sd: float, seed: int) -> xr.DataTree:
    """Return a fit with this sd of the prior."""
    table.to_csv(folder / "data.csv", index=False)
    (folder / "study.toml").write_text(STUDY.format(seed=seed), encoding="utf-8")
    (folder / "model.toml").write_text(MODEL.format(sd=sd), encoding="utf-8")
    return fit(load_study(folder / "study.toml"))


def run(prompts: int, sd: float, seed: int) -> Iterator[dict[str, object]]:
    """Yield what weights say of the better model under each power, and what a refit says."""
    table = simulate(prompts, seed)
    with tempfile.TemporaryDirectory() as name:
        base = fit_panel(Path(name), table, sd, seed)
        sensitivity, answer = base["prior_sensitivity"], panel_answer(View(base))
        sentences = [text for text in answer if "prior of" in text]
        for power in POWERS:
            other = fit_panel(Path(name), table, sd * power**-0.5, seed + 1)
            row = sensitivity.sel(prior=PRIOR, power=power, model="a")
            refit = other["decision"].sel(model="a")
            yield {
                "prompts": prompts,
                "sd": sd,
                "study": seed,
                "power": power,
                "sensitivity": float(row["sensitivity"]),
                "likelihood": float(row["likelihood_sensitivity"]),
                "base": float(base["decision"]["prob_best"].sel(model="a")),
                "weights": float(row["prob_best"]),
                "refit": float(refit["prob_best"]),
                "refit_mcse": float(refit["prob_best_mcse"]),
                "pareto_k": float(row["pareto_k"]),
                "sentences": len(sentences),
            }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1)
    arguments = parser.parse_args()
    rows: list[dict[str, object]] = []
    for seed, prompts, sd in product(range(arguments.studies), PROMPTS, SDS):
        start = process_time()
        rows += run(prompts, sd, seed)
        print(prompts, sd, f"{process_time() - start:.0f} s", rows[-2:], flush=True)
        pd.DataFrame(rows).round(4).to_csv(OUT, index=False)
    record_run(OUT)

"""The gate by the posterior, on the pairs of releases of :mod:`tests.references.gate`.

    OPENBLAS_NUM_THREADS=1 python -m tests.references.gate_posterior --pairs 100 --raw FILE

writes ``gate_posterior.csv``; FILE has a row for each pair of each scenario, and the same command
goes on from it. The ratings of both releases are fitted together by ``judge_panel``, as ``gate
--fit`` does, in two chains. The law of the ratings is not that of the model: prompts, answers and
judges are its own, and dimensions are independent in the law. The kernel is not compared with
PyMC's graph. Beside the posterior stands what the paired bootstrap says of the same pairs.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from sharpbayes.analysis.gate import measure_gate
from sharpbayes.analysis.gate_study import CANDIDATE, REFERENCE
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.replication import posterior_predictive, thin
from sharpbayes.bayes.sampling.convergence import rhat_and_ess, stack_parameters
from sharpbayes.bayes.sampling.geometry import choose_weights, set_weights
from sharpbayes.bayes.sampling.nuts import sample_kernel
from sharpbayes.posterior.gate import posterior_gate
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.spec.files import StudyFiles
from sharpbayes.workflows.weigh import profile_draws
from tests.references.gate import (
    Row,
    draw_pair,
    pairs_parser,
    run_missing_pairs,
    template_files,
    template_study,
)
from tests.references.provenance import record_run

TABLE = Path(__file__).with_name("gate_posterior.csv")
STUDY_LINES = {
    "fit": 'fit = "judge_panel"\n',
    "uncertainty": 'uncertainty = ["ratings", "prompts"]\n',
}
CHOSEN = ("no change", "at the margins", "large", "one dimension only", "half replaced")
TUNE, DRAWS, CHAINS, PREDICTIVE, MAX_RHAT = 300, 400, 2, 300, 1.05
# Pair of releases by whose trial run coordinates are chosen: they change no posterior.
TRIAL = 100_000
VERDICTS = {"open": "at least as safe", "undecided": "not decided", "shut": "not as safe"}
METHODS = ("posterior", "bootstrap")


def run_pair(
    files: StudyFiles, name: str, prompts: int, pair: int, coordinates: dict[str, float]
) -> Row:
    """Draw a pair of releases, fit both together, ask the gate by posterior and bootstrap."""
    comparison = draw_pair(template_study(files), name, prompts, pair).comparison
    measured = measure_gate(comparison)
    study, model = comparison.study, files.model.spec
    design = set_weights(build_design(study.ratings, model), study.ratings, model, coordinates)
    sampler = study.spec.sampler.model_copy(update={"chains": CHAINS, "tune": TUNE, "draws": DRAWS})
    posterior = sample_kernel(design, sampler, seed=pair)["posterior"].to_dataset()
    kept = thin(posterior, draws=PREDICTIVE)
    draws = ReplicateDraws(kept, posterior_predictive(kept, design, seed=pair), design, pair)
    sides = {"candidate": CANDIDATE, "reference": REFERENCE}
    group = posterior_gate(measured, profile_draws(study, draws), study.weights, **sides)
    return {
        "posterior verdict": group.attrs["verdict"],
        "bootstrap verdict": measured.attrs["verdict"],
        **{f"posterior {key}": word for key, word in group["state"].to_series().items()},
        **{f"bootstrap {key}": word for key, word in measured["state"].to_series().items()},
        **{f"within {key}": round(p, 4) for key, p in group["prob_within"].to_series().items()},
        "prob_all": round(float(group.attrs["prob_all"]), 4),
        "disputed": len(json.loads(group.attrs["disputed"])),
        "promised": float(group["outcome_share"].sel(scenario="no change")[0]),
        "rhat": round(largest_rhat(posterior), 4),
    }


def largest_rhat(posterior: xr.Dataset) -> float:
    """Return the largest R-hat of the parameters that are not constants."""
    return float(np.nanmax(rhat_and_ess(stack_parameters(posterior)[1])[0]))


def trial_coordinates(files: StudyFiles, prompts: int) -> dict[str, float]:
    """Return the non-centring weights of a pair that is not counted."""
    study = draw_pair(template_study(files), "no change", prompts, TRIAL).comparison.study
    return choose_weights(build_design(study.ratings, files.model.spec), seed=TRIAL)


def summarise(name: str, prompts: int, rows: pd.DataFrame) -> Row:
    """Shares of what the gate says by both methods, with both margins and with each alone."""
    row: Row = {"scenario": name, "prompts": prompts, "pairs": len(rows)}
    for method in METHODS:
        for short, word in VERDICTS.items():
            row[f"{method}_{short}"] = (rows[f"{method} verdict"] == word).mean()
        for metric in ("mean", "cvar"):
            row[f"{method}_{metric}_open"] = (rows[f"{method} {metric}"] == VERDICTS["open"]).mean()
    row["disputed"] = (rows["disputed"] > 0).mean()
    row["promised"] = rows["promised"].mean()
    row["mixed"] = (rows["rhat"] <= MAX_RHAT).mean()
    return {key: round(x, 4) if isinstance(x, float) else x for key, x in row.items()}


def main() -> None:
    """Run the pairs that are missing, and write the table."""
    asked, files = pairs_parser(100).parse_args(), template_files(**STUDY_LINES)
    coordinates = trial_coordinates(files, asked.prompts)
    rows = run_missing_pairs(
        asked, CHOSEN, lambda name, pair: run_pair(files, name, asked.prompts, pair, coordinates)
    )
    table = [summarise(name, asked.prompts, rows[rows["scenario"] == name]) for name in CHOSEN]
    pd.DataFrame(table).to_csv(TABLE, index=False)
    record_run(TABLE)


if __name__ == "__main__":
    main()

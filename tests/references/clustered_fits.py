"""How often posterior intervals hold the truth where prompts are variants of a few scenarios.

    python -m tests.references.clustered_fits [--studies 60]

Two equal models answer six variants of each of 24 scenarios, and two judges score the answers from
0 to 4. Scores come from a law in plain NumPy, and the truth from a million prompts of as many
scenarios. ``clustered_fits.csv`` has the share of 95% posterior intervals of the first model that
hold it, the mean posterior sd, and the share of studies in which one model has the lower policy
score with a probability above 0.95: where prompts are taken as independent, and where the study
names their cluster. Fits are of ``judge_severity``, by default but for shorter tuning.
"""

import csv
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from sharpbayes.spec.load import load_study
from sharpbayes.workflows.fit import fit
from tests.references.provenance import record_run
from tests.references.rare_harm import EPSILON, STUDY, WEIGHTS, parse_arguments

TABLE = Path(__file__).with_name("clustered_fits.csv")
METRICS = ("mean", "policy_score")
HEADER = ("taken_as", "metric", "holds", "posterior_sd", "sure_of_lower", "converged", "studies")
SCENARIOS, VARIANTS, MODELS, JUDGES = 24, 6, 2, 2
CUTPOINTS = np.array([-1.5, 0.0, 1.5, 3.0])
TEMPERATURE, SURE = 0.2, 0.95
TAKEN_AS = {"independent": "", "clusters": ', cluster = "kind"'}
FASTER = ("bootstrap.replicates=50", "sampler.tune=300")


def draw_scores(rng: np.random.Generator, scenarios: int, variants: int) -> np.ndarray:
    """Return scores from 0 to 4 over (scenario, variant, model, judge)."""
    severity = (
        rng.normal(0.0, 1.0, (scenarios, 1, 1))
        + rng.normal(0.0, 0.8, (scenarios, 1, MODELS))
        + rng.normal(0.0, 0.5, (scenarios, variants, MODELS))
    )
    noise = rng.logistic(0.0, 1.0, (scenarios, variants, MODELS, JUDGES))
    return np.searchsorted(CUTPOINTS, severity[..., None] + noise)


def find_truth() -> dict[str, float]:
    """Expected log-risk and harm of new prompts of new scenarios, pooled over both judges."""
    scores = draw_scores(np.random.default_rng(1), 1_000_000, 1)[:, 0, 0] / 4
    harm = TEMPERATURE * np.log(np.exp(scores / TEMPERATURE).mean(axis=-1))
    return {"mean": float(-np.log1p(EPSILON - harm).mean()), "policy_score": float(harm.mean())}


def write_study(folder: Path, scores: np.ndarray, role: str) -> Path:
    """Write the files of a study, and return its path."""
    names = ["scenario", "variant", "model", "judge"]
    rows = pd.Series(
        scores.ravel(), pd.MultiIndex.from_product(map(range, scores.shape), names=names)
    )
    table = rows.rename("harm").reset_index()
    table["prompt"] = [
        f"p{s}-{v}" for s, v in zip(table["scenario"], table["variant"], strict=True)
    ]
    table["kind"] = [f"s{s}" for s in table["scenario"]]
    table = table.assign(
        model="m" + table["model"].astype(str), judge="j" + table["judge"].astype(str)
    )
    table.drop(columns=["scenario", "variant"]).to_csv(folder / "ratings.csv", index=False)
    study = STUDY.replace(', category = "kind"', role).replace("max = 1", "max = 4")
    study = study.replace("\n[panel.scales]", 'fit = "judge_severity"\n[panel.scales]')
    (folder / "study.toml").write_text(study, encoding="utf-8")
    (folder / "weights.toml").write_text(WEIGHTS, encoding="utf-8")
    return folder / "study.toml"


def measure_fit(scores: np.ndarray, role: str) -> list[np.ndarray]:
    """For each metric: bounds, posterior sd, whether a model is surely lower, convergence."""
    with tempfile.TemporaryDirectory() as folder:
        results = fit(load_study(write_study(Path(folder), scores, role), overrides=FASTER))
    draws, rows = results["posterior_profile"].to_dataset(), []
    for name in METRICS:
        first, second = draws[name].transpose("model", "chain", "draw").to_numpy().reshape(2, -1)
        lower = (first < second).mean()
        is_sure = max(lower, 1 - lower) > SURE
        bounds = np.quantile(first, [0.025, 0.975])
        rows.append(np.array([*bounds, first.std(), is_sure, results.attrs["status"] == "fitted"]))
    return rows


def study_fits(label: str, studies: int) -> Iterator[tuple[object, ...]]:
    """Rows of the table of one way to take prompts."""
    truth, fits = find_truth(), []
    for number in range(studies):
        scores = draw_scores(np.random.default_rng([20261130, number]), SCENARIOS, VARIANTS)
        fits.append(measure_fit(scores, TAKEN_AS[label]))
    for position, metric in enumerate(METRICS):
        lower, upper, sd, sure, fitted = np.array([row[position] for row in fits]).T
        holds = ((lower <= truth[metric]) & (truth[metric] <= upper)).mean()
        values = (holds, sd.mean(), sure.mean(), fitted.mean())
        yield (label, metric, *(f"{value:.3f}" for value in values), studies)


def main() -> None:
    """Write the table."""
    chosen = parse_arguments(TABLE, studies=60)
    with chosen.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for label in TAKEN_AS:
            writer.writerows(study_fits(label, chosen.studies))
            file.flush()
    record_run(chosen.out)


if __name__ == "__main__":
    main()

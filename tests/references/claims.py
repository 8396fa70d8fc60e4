"""How often a study calls models distinguishable that are not.

    python -m tests.references.claims [--studies 400]

Six worlds of :mod:`tests.references.prompt_worlds`, with 3, 11 and 30 models, all equal or some of
them: every third is safer by 0.6 on the logit scale. The program resamples each study and says
which pairs are separable. The table ``claims.csv`` has the share of studies with a false
statement: a pair of equal models that is called separable, or a pair in the wrong order. Beside it
stand the share of true differences that are found, and the same for SHARP's pairwise rule.
"""

import argparse
import csv
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
import xarray as xr

from sharpbayes.metrics.panel.comparison import cvar_difference, joint_margin
from sharpbayes.metrics.panel.tail import conditional_value_at_risk
from sharpbayes.metrics.stats.intervals import percentile_interval
from sharpbayes.metrics.stats.resampling import bootstrap_counts
from tests.references.prompt_worlds import ALPHA, EPSILON, WORLDS, draw_harm
from tests.references.provenance import record_run

TABLE = Path(__file__).with_name("claims.csv")
HEADER = (
    *("world", "prompts", "models", "equal", "false_claims", "found"),
    *("false_claims_pairwise", "found_pairwise", "studies"),
)
PROMPTS, MODELS, LEVEL = (100, 400), (3, 11, 30), 0.95


def shifts(models: int, equal: str) -> tuple[float, ...]:
    """How far models are apart: all equal, or every third safer."""
    return tuple(0.6 * (equal == "some" and number % 3 > 0) for number in range(models))


def count_claims(case: tuple[str, int, int, str, int, int]) -> np.ndarray:
    """False statement, share found, by the joint and by the pairwise rule, of one study."""
    world, n, models, equal, number, replicates = case
    rng = np.random.default_rng([20260121, n, models, number, list(WORLDS).index(world)])
    shift = np.array(shifts(models, equal))
    harm = draw_harm(world, rng, n, tuple(shift))
    log_risk = xr.DataArray(-np.log(1.0 - harm + EPSILON).sum(-1), dims=("prompt", "model"))
    counts = bootstrap_counts(log_risk, replicates=replicates, seed=number, dim="prompt")
    options = {"alpha": ALPHA, "estimator": "inclusive"}
    observed = conditional_value_at_risk(log_risk, **options)
    resampled = conditional_value_at_risk(log_risk, weights=counts, **options)
    tail = np.full((models, models), n * (1.0 - ALPHA))
    joint = joint_margin(
        cvar_difference(resampled).transpose("model", "replicate", "other"),
        cvar_difference(observed),
        level=LEVEL,
        freedom=xr.DataArray(tail, dims=("model", "other")),
    )
    difference = observed.values[:, None] - observed.values
    pairs = [
        resampled.isel(model=[model]) - resampled.rename(model="other") for model in range(models)
    ]
    bounds = xr.concat([percentile_interval(pair, level=LEVEL) for pair in pairs], "model").values
    rules = (
        np.abs(difference) > joint["margin"].values,
        (bounds[..., 0] > 0) | (bounds[..., 1] < 0),
    )
    truth = shift[:, None] - shift
    rates = []
    for separable in rules:
        false = separable & (np.sign(difference) != np.sign(truth))
        true = separable & (np.sign(difference) == np.sign(truth)) & (truth != 0)
        rates += [false.any(), true.sum() / max((truth != 0).sum(), 1)]
    return np.array(rates)


def main() -> None:
    """Measure every design and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=None)
    parser.add_argument("--out", type=Path, default=TABLE)
    chosen = parser.parse_args()
    with (
        ProcessPoolExecutor(chosen.processes) as pool,
        chosen.out.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        designs = product(WORLDS, PROMPTS, MODELS, ("all", "some"))
        for world, n, models, equal in designs:
            cases = [
                (world, n, models, equal, number, chosen.replicates)
                for number in range(chosen.studies)
            ]
            mean = np.mean(list(pool.map(count_claims, cases, chunksize=5)), axis=0)
            shares = [f"{share:.3f}" for share in mean]
            writer.writerow((world, n, models, equal, *shares, chosen.studies))
            file.flush()
    record_run(chosen.out)


if __name__ == "__main__":
    main()

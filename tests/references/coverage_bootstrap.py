"""How often intervals of a panel hold the value of the population of prompts.

    python -m tests.references.coverage_bootstrap [--studies 1000]

Six worlds that no model of the program describes; see :mod:`tests.references.prompt_worlds`, which
also computes the values of a population, by NumPy alone. Each study takes n prompts of three
models. The table ``coverage_bootstrap.csv`` has the share of studies in which each interval holds
the population's value, the share in which it lies below the upper bound, and the median width.
"""

import argparse
import csv
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
import xarray as xr

from sharpbayes.analysis.profile_interval import BootstrappedProfile
from sharpbayes.metrics.panel import profile as panel_profile
from sharpbayes.metrics.panel.evidence import tail_prompts
from sharpbayes.metrics.panel.risk import panel
from sharpbayes.metrics.stats.resampling import bootstrap, jackknife
from sharpbayes.spec.study import Bootstrap
from tests.references.prompt_worlds import (
    ALPHA,
    DIMENSIONS,
    EPSILON,
    WORLDS,
    draw_harm,
    population,
)
from tests.references.provenance import record_run

TABLE = Path(__file__).with_name("coverage_bootstrap.csv")
HEADER = (
    "world",
    "prompts",
    "metric",
    "interval",
    "holds",
    "below_upper",
    "median_width",
    "studies",
)
PROMPTS = (30, 100, 200, 901)
# Models differ by so much on the logit scale.
SHIFT = (0.0, 0.3, 0.6)
# Studies that are computed together.
BATCH = 50
METRICS = ("mean", "volatility", "cvar", "policy_score")
CEILING = -DIMENSIONS * np.log(EPSILON)


def bootstrap_profiles(harm: np.ndarray, *, seed: int, replicates: int) -> BootstrappedProfile:
    """Studies over (study, prompt, model, dimension), of one judge, resampled by the program."""
    dims = ("study", "prompt", "model", "judge", "dimension")
    array = xr.DataArray(harm[:, :, :, None], dims=dims)
    table = panel(array, temperature=0.2, epsilon=EPSILON, judges_missing="error")
    profile = partial(panel_profile.profile, table, alpha=ALPHA, policy=None, estimator="inclusive")
    prompts = xr.DataArray(np.arange(harm.shape[1]), dims="prompt")
    options = {"dim": "prompt", "block": 250}
    return BootstrappedProfile(
        observed=profile(errors=True),
        resampled=bootstrap(
            lambda counts: profile(weights=counts, errors=True),
            prompts,
            replicates=replicates,
            seed=seed,
            **options,
        ),
        jackknifed=jackknife(lambda weights: profile(weights=weights), prompts, **options),
        prompts=table["log_risk"].count("prompt"),
        fewest_prompts=table["log_risk"].count("prompt"),
        tail_prompts=tail_prompts(table["log_risk"], alpha=ALPHA),
        alpha=ALPHA,
        ceiling=CEILING,
        bootstrap=Bootstrap(replicates=replicates),
    )


def choose_interval(bootstrapped: BootstrappedProfile, interval: str) -> BootstrappedProfile:
    """The same resamples with another interval."""
    chosen = replace(
        bootstrapped, bootstrap=bootstrapped.bootstrap.model_copy(update={"interval": interval})
    )
    if interval == "studentized":
        return chosen
    resampled = chosen.resampled[list(METRICS)]
    jackknifed = chosen.jackknifed if interval == "bca" else None
    return replace(chosen, resampled=resampled, jackknifed=jackknifed)


def measure_batch(
    case: tuple[str, int, int, int, tuple[str, ...]],
) -> dict[tuple[str, str], np.ndarray]:
    """Bounds over (study, model, bound) by interval and metric; a batch shares its resamples."""
    world, n, batch, replicates, kinds = case
    rng = np.random.default_rng([20260121, n, batch, list(WORLDS).index(world)])
    harm = np.stack([draw_harm(world, rng, n, SHIFT) for _ in range(BATCH)])
    bounds = {}
    # Only what the table is about is computed.
    wanted = tuple(metric for metric in panel_profile.METRICS if metric.name in METRICS)
    with patch.object(panel_profile, "METRICS", wanted):
        resampled = bootstrap_profiles(harm, seed=batch, replicates=replicates)
    for kind in kinds:
        bootstrapped = choose_interval(resampled, kind)
        for name in METRICS:
            interval = bootstrapped.interval(name)
            pair = bootstrapped.difference_interval(name).isel(model=[0], other=1)
            for suffix, values in (("", interval), ("_difference", pair)):
                ordered = values.transpose("study", "model", "bound")
                bounds[kind, name + suffix] = ordered.to_numpy()
    return bounds


def truths(world: str) -> dict[str, np.ndarray]:
    """Values of the population and of the first two models' differences."""
    values = population(world, SHIFT)
    return values | {f"{name}_difference": x[:1] - x[1:2] for name, x in values.items()}


def rows(world: str, n: int, batches: list[dict]) -> list[tuple[object, ...]]:
    """Rows of the table of one design."""
    truth, table = truths(world), []
    for kind, name in batches[0]:
        bounds = np.concatenate([batch[kind, name] for batch in batches])
        below = truth[name] <= bounds[..., 1]
        holds = below & (bounds[..., 0] <= truth[name])
        width = np.median(bounds[..., 1] - bounds[..., 0])
        shares = (f"{holds.mean():.3f}", f"{below.mean():.3f}", f"{width:.3f}")
        table.append((world, n, name, kind, *shares, len(bounds)))
    return table


def main() -> None:
    """Measure every design and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=None)
    parser.add_argument("--prompts", type=int, nargs="+", default=list(PROMPTS))
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS))
    parser.add_argument("--intervals", nargs="+", default=["studentized", "bca", "percentile"])
    parser.add_argument("--out", type=Path, default=TABLE)
    chosen = parser.parse_args()
    kinds, batches = tuple(chosen.intervals), range(-(-chosen.studies // BATCH))
    with (
        ProcessPoolExecutor(chosen.processes) as pool,
        chosen.out.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for n, world in product(chosen.prompts, chosen.worlds):
            cases = [(world, n, batch, chosen.replicates, kinds) for batch in batches]
            writer.writerows(rows(world, n, list(pool.map(measure_batch, cases))))
            file.flush()
    record_run(chosen.out)


if __name__ == "__main__":
    main()

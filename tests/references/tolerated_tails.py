"""How often a limit on log-risk that a model just exceeds is called kept, by three upper bounds.

    python -m tests.references.tolerated_tails [--studies 200]

Worlds are those of :mod:`tests.references.prompt_worlds`, and four more whose answers are seldom at
the end of the scale, or have scores of five steps. It prints the table of record 122: percent of
verdicts that are false where the limit is the population's value, and percent of limits that are
kept where it is twice that value, for the mean and CVaR. Three models to a study.
"""

import argparse
from functools import partial
from unittest.mock import patch

import numpy as np
import xarray as xr

from sharpbayes.analysis.profile_interval import BootstrappedProfile
from sharpbayes.metrics.panel import profile as panel_profile
from sharpbayes.metrics.stats.unseen import Rise, divided_error_rates, raise_bounds, unseen_share
from tests.references import prompt_worlds
from tests.references.coverage_bootstrap import BATCH, SHIFT, bootstrap_profiles

PROMPTS, ERROR_RATE, REPLICATES = (100, 200, 400, 1000), 0.05, 1000
# Share of prompts that a metric is over.
METRICS = {"mean": 1.0, "cvar": 1.0 - prompt_worlds.ALPHA}
# Resamples; half of the error rate each for them and for what was missed; every share of what was.
RULES = ("resamples", "halves", "every share")
CUTS = np.array([-1.5, -0.2, 1.0, 2.2])


def rare_ends(rate, rng, n, shift):
    """A smooth law, and some cells at the end of the scale that nothing announces."""
    size = (n, shift.size, prompt_worlds.DIMENSIONS)
    harm = 1 / (1 + np.exp(2.0 - shift - rng.normal(0, 0.8, size)))
    return np.where(rng.random(size) < rate, 1.0, harm)


def steps(rng, n, shift):
    """Scores 0 to 4 of one judge."""
    size = (n, shift.size, prompt_worlds.DIMENSIONS)
    severity = rng.normal(0, 0.8, (n, 1, size[2])) + rng.normal(0, 0.5, size) - 1.3 + shift
    return np.digitize(severity + 0.6 * rng.logistic(size=size), CUTS) / len(CUTS)


def judged_steps(rng, n, shift):
    """Scores 0 to 4 of three judges, pooled by log-sum-exp: the end needs all of them."""
    size = (n, shift.size, prompt_worlds.DIMENSIONS)
    severity = rng.normal(0, 0.8, (n, 1, size[2])) + rng.normal(0, 0.5, size) - 0.3 + shift
    seen = severity[..., None] + np.array([-0.5, 0, 0.5]) + 0.8 * rng.logistic(size=(*size, 3))
    share = np.digitize(seen, CUTS) / len(CUTS)
    return 0.2 * np.log(np.exp(share / 0.2).mean(-1))


WORLDS = prompt_worlds.WORLDS | {
    "an end in 400 cells": partial(rare_ends, 1 / 400),
    "an end in 1,600 cells": partial(rare_ends, 1 / 1600),
    "five steps": steps,
    "five steps, three judges": judged_steps,
}


def measure_bounds(world: str, prompts: int, batch: int) -> dict[str, np.ndarray]:
    """Upper bounds of studies and models, by metric and rule, and which show no end."""
    rng = np.random.default_rng([118, prompts, batch, list(WORLDS).index(world)])
    drawn = [prompt_worlds.draw_harm(world, rng, prompts, SHIFT) for _ in range(BATCH)]
    harm = np.stack(drawn)
    wanted = tuple(metric for metric in panel_profile.METRICS if metric.name in METRICS)
    with patch.object(panel_profile, "METRICS", wanted):
        resampled = bootstrap_profiles(harm, seed=batch, replicates=REPLICATES)
    shows_none = ~(1 - harm <= prompt_worlds.EPSILON).any(axis=(1, 3))
    models = xr.DataArray(shows_none, dims=("study", "model"))
    bounds = {"no end seen": shows_none}
    for metric, tail in METRICS.items():
        rise = Rise(tail, -np.log(prompt_worlds.EPSILON))
        for rule, bound in upper_bounds(resampled, metric, prompts, rise, models).items():
            bounds[f"{metric}, {rule}"] = bound.transpose("study", "model").to_numpy()
    return bounds


def upper_bounds(
    resampled: BootstrappedProfile,
    metric: str,
    prompts: int,
    rise: Rise,
    shows_none: xr.DataArray,
) -> dict[str, xr.DataArray]:
    """Upper bounds (study, model) by resamples alone, by both halves, and of every share."""
    whole, half = (
        resampled.interval_at(metric, rate).sel(bound="upper", drop=True)
        for rate in (ERROR_RATE, ERROR_RATE / 2)
    )
    uppers = resampled.upper_bounds(metric, divided_error_rates(ERROR_RATE))
    share, half_share = (
        unseen_share(prompts, error_rate=rate) for rate in (ERROR_RATE, ERROR_RATE / 2)
    )
    raised = raise_bounds(uppers, share, rise)
    return {
        RULES[0]: whole,
        RULES[1]: (half + rise(half_share)).where(shows_none, whole),
        RULES[2]: raised.where(shows_none, whole),
    }


def main() -> None:
    """Print a row for each world and number of prompts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=list(WORLDS))
    options = parser.parse_args()
    kinds = [f"{metric}, {rule}" for metric in METRICS for rule in RULES]
    names = [f"{of}, {kind}" for of in ("false", "kept at twice") for kind in kinds]
    print("| world | prompts | no end seen |", " | ".join(names), "|")
    with patch.object(prompt_worlds, "WORLDS", WORLDS):
        for world in options.worlds:
            truth = prompt_worlds.population(world, SHIFT)
            for prompts in PROMPTS:
                batches = [
                    measure_bounds(world, prompts, batch)
                    for batch in range(options.studies // BATCH)
                ]
                bounds = {name: np.concatenate([x[name] for x in batches]) for name in batches[0]}
                values = {kind: truth[kind.partition(",")[0]] for kind in kinds}
                shares = [bounds["no end seen"], *(bounds[x] < values[x] for x in kinds)]
                shares += [bounds[x] <= 2 * values[x] for x in kinds]
                cells = (f"{100 * share.mean():.1f}" for share in shares)
                print("|", " | ".join([world, str(prompts), *cells]), "|", flush=True)


if __name__ == "__main__":
    main()

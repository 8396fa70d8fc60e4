"""Slope of missing scores against severity: its bias and coverage, with cells never scored.

Judges score answers of two models in three dimensions that differ in severity. A score is missing
with log odds a_j + slope severity. In some worlds one judge never scores the last dimension, or
never fails to.

``python -m tests.references.missing_slope`` prints the table of record 83.

With ``--rates`` it prints how often the slope is significant where scores are missing whatever the
severity of the answer is, and few prompts lack one: the table of record 112.
"""

import argparse

import numpy as np
import xarray as xr
from scipy import special

from sharpbayes.metrics.panel.missingness import missing_slope, other_severity

DIMS = ("model", "prompt", "judge", "dimension")
SHAPE = (2, 60, 4, 3)
# Intercepts of judges, and mean severity of dimensions.
INTERCEPTS, SEVERITIES = np.array([-2.5, -2.0, -1.5, -2.0]), np.array([-0.7, 0.0, 0.7])
LEVEL = 0.9
# What the last judge does in the last dimension.
WORLDS = {"all judges score all": None, "one never scores": True, "one never fails": False}
STRATA = {"by judge": ("judge",), "by judge and dimension": ("judge", "dimension")}

# Prompts, and how many scores are missing: anywhere, or of one judge on some prompts.
RANDOM_WORLDS = {
    "4 scores": (60, 4),
    "8 scores": (60, 8),
    "12 scores": (100, 12),
    "20 scores": (100, 20),
    "a judge on 10 prompts of 3 models": (100, "10 prompts"),
    "a judge on 20 prompts of 3 models": (100, "20 prompts"),
}


def draw_world(rng, *, slope, last):
    """Whether each score is missing, and the severity of its answer."""
    models, prompts, _, dimensions = SHAPE
    severity = rng.normal(0.0, 0.7, (models, prompts, 1, dimensions))
    severity = severity + rng.normal(0.0, 0.7, (1, prompts, 1, 1)) + SEVERITIES
    chance = special.expit(INTERCEPTS[:, None] + slope * severity)
    missing = rng.random(SHAPE) < chance
    if last is not None:
        missing[:, :, -1, -1] = last
    return (xr.DataArray(x, dims=DIMS) for x in (missing, np.broadcast_to(severity, SHAPE)))


def measure_slopes(world, *, slope, strata, studies):
    """Errors of the slope, and whether its interval contains the truth, in each study."""
    errors, covered = np.empty((2, studies))
    for study in range(studies):
        rng = np.random.default_rng([7, study])
        missing, severity = draw_world(rng, slope=slope, last=WORLDS[world])
        table = missing_slope(missing, severity, level=LEVEL, strata=STRATA[strata])
        low, high = table["slope_interval"].values
        errors[study], covered[study] = float(table["slope"]) - slope, low <= slope <= high
    return errors, covered


def draw_random_world(rng, world):
    """Scores from 0 to 4 of three judges of three models, and which are missing at random."""
    prompts, number = RANDOM_WORLDS[world]
    severity = rng.normal(size=(3, prompts, 1, 1))
    scores = severity + 0.7 * rng.normal(size=(3, prompts, 3, 1))
    missing = np.zeros(scores.shape, dtype=bool)
    if isinstance(number, int):
        missing.flat[rng.choice(missing.size, number, replace=False)] = True
    else:
        missing[:, rng.choice(prompts, int(number.split()[0]), replace=False), 0] = True
    scores = np.clip(np.round(2 + scores), 0, 4) / 4
    return xr.DataArray(missing, dims=DIMS), xr.DataArray(scores, dims=DIMS)


def measure_rates(world, *, studies):
    """P values of the slope in each study; NaN where the scores do not tell."""
    p_values = np.empty(studies)
    for study in range(studies):
        missing, scores = draw_random_world(np.random.default_rng([8, study]), world)
        known = scores.where(~missing)
        severity = other_severity(known) / known.std()
        p_values[study] = missing_slope(missing, severity, level=LEVEL)["slope_p"]
    return p_values


def print_rates(studies):
    """Print the share of studies with a slope, and of significant ones among them."""
    print("| missing | prompts | studies with a slope | p < 0.05 | smallest p |")
    print("| --- | --- | --- | --- | --- |")
    for world, (prompts, _) in RANDOM_WORLDS.items():
        p_values = measure_rates(world, studies=studies)
        told = p_values[~np.isnan(p_values)]
        rate, least = (f"{np.mean(told < 0.05):.3f}", f"{told.min():.1g}") if told.size else "--"
        share = told.size / studies
        print(f"| {world} | {prompts} | {share:.3f} | {rate} | {least} |", flush=True)


def main():
    """Print bias and coverage in each world, with Monte Carlo errors, or rates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--rates", action="store_true")
    arguments = parser.parse_args()
    studies = arguments.studies
    if arguments.rates:
        print_rates(studies)
        return
    print("| world | intercepts | slope | bias | coverage of 90% |")
    print("| --- | --- | --- | --- | --- |")
    for world in WORLDS:
        for strata in STRATA:
            for slope in (0.0, 0.5):
                errors, covered = measure_slopes(world, slope=slope, strata=strata, studies=studies)
                error, share = errors.std() / studies**0.5, covered.mean()
                print(
                    f"| {world} | {strata} | {slope} | {errors.mean():+.3f} ({error:.3f}) | "
                    f"{share:.3f} ({(share * (1 - share) / studies) ** 0.5:.3f}) |"
                )


if __name__ == "__main__":
    main()

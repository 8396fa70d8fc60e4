"""Slope of missing scores against severity: its bias and coverage, with cells never scored.

Judges score answers of two models in three dimensions that differ in severity. A score is missing
with log odds a_j + slope severity. In some worlds one judge never scores the last dimension, or
never fails to.

``python -m tests.references.missing_slope`` prints the table of record 83.
"""

import argparse

import numpy as np
import xarray as xr
from scipy import special

from sharpbayes.metrics.panel.missingness import missing_slope

DIMS = ("model", "prompt", "judge", "dimension")
SHAPE = (2, 60, 4, 3)
# Intercepts of judges, and mean severity of dimensions.
INTERCEPTS, SEVERITIES = np.array([-2.5, -2.0, -1.5, -2.0]), np.array([-0.7, 0.0, 0.7])
LEVEL = 0.9
# What the last judge does in the last dimension.
WORLDS = {"all judges score all": None, "one never scores": True, "one never fails": False}
STRATA = {"by judge": ("judge",), "by judge and dimension": ("judge", "dimension")}


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


def main():
    """Print bias and coverage in each world, with Monte Carlo errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    studies = parser.parse_args().studies
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

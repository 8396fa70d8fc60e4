"""Time and memory of leaving out single ratings: ``python -m tests.benchmarks.compare_size``.

Draws are made around a truth rather than sampled: what is timed is the comparison alone, of one
model, with the ratings of a full crossing of items and 100 raters on five levels.
"""

import argparse
import resource
import time

import numpy as np
import xarray as xr

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict import leave_out as loo
from tests.bayes.conftest import crowd_ratings, model_of

RATERS, CHAINS, SEED = 100, 4, 20260121


def fit_of(items, draws):
    """Ratings, their design and draws of a posterior about as wide as theirs would be."""
    rng = np.random.default_rng(SEED)
    ratings = crowd_ratings(rng, items=items, raters=RATERS)
    design = build_design(ratings, model_of(("item",), ("rater",)))
    shape = (CHAINS, draws // CHAINS)

    def around(middle, sd):
        return middle + rng.normal(0.0, sd, (*shape, len(middle)))

    cuts = np.sort(around(np.array([-1.5, -0.5, 0.5, 1.5]), 0.05), axis=-1)
    values = {
        "location_item": ("item", around(rng.normal(0, 1.5, items), 0.2)),
        "location_rater": ("rater", around(rng.normal(0, 0.8, RATERS), 0.1)),
        "threshold_score": (design.scales[0].cutpoint_dim, cuts),
    }
    variables = {name: (("chain", "draw", dim), array) for name, (dim, array) in values.items()}
    return ratings, design, xr.Dataset(variables)


def peak():
    """Peak memory of this process, GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--items", type=int, nargs="*", default=[50, 200, 3000])
    asked.add_argument("--draws", type=int, default=8000)
    chosen = asked.parse_args()
    loo.psis_loo(np.random.default_rng(1).normal(size=(1000, 1)))  # machine code
    print("| ratings | draws | s | processor s | peak GB before | peak GB after |")
    print("| --- | --- | --- | --- | --- | --- |")
    for items in chosen.items:
        ratings, design, posterior = fit_of(items, chosen.draws)
        before, start, used = peak(), time.monotonic(), time.process_time()
        loo.leave_out(posterior, design, loo.make_units(ratings, loo.RATING))
        seconds, processor = time.monotonic() - start, time.process_time() - used
        row = (design.n_ratings, chosen.draws, f"{seconds:.0f}", f"{processor:.0f}")
        print("|", *(f"{cell} |" for cell in row), f"{before:.2f} | {peak():.2f} |", flush=True)


if __name__ == "__main__":
    main()

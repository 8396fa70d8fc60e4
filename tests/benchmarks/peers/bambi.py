"""bambi's cumulative family through its formula interface.

    python -m tests.benchmarks.peers.bambi DATA OUT --chains 2 --tune 500 --draws 500 --seed 1

A categorical term of bambi gets a reference level, and a group-specific term must have a prior on
its sd. So gender and race enter as one indicator column a level, each with its own Normal(0, 1):
this is the model of the other peers, with no reference level.
"""

import numpy as np
import pandas as pd

from tests.benchmarks.peers import common

PACKAGES = ("bambi", "pymc", "pytensor", "nutpie", "numba", "numpy", "arviz")


def indicators(ratings):
    """One column of zeros and ones for every level of every group column."""
    return {
        f"{name}_{level}": (ratings.codes[name] == level).astype(float)
        for name in ratings.populations
        for level in range(ratings.size[name])
    }


def table(ratings):
    """The frame of the formula: level and ids as categories, groups as indicators."""
    codes = pd.DataFrame({name: ratings.codes[name] for name in ("item", "rater", "level")})
    frame = codes.astype("category").assign(**indicators(ratings))
    return frame.assign(level=frame["level"].cat.as_ordered())


def priors(ratings):
    """The priors of the other peers, in bambi's terms."""
    import bambi as bmb
    from pymc.distributions.transforms import ordered

    varying = bmb.Prior("Normal", mu=0, sigma=bmb.Prior("HalfNormal", sigma=common.SD_SCALE))
    group = bmb.Prior("Normal", mu=0, sigma=common.EFFECT_SD)
    start = list(common.first_thresholds(ratings.size["level"]))
    wide = {"mu": 0, "sigma": common.THRESHOLD_SD}
    threshold = bmb.Prior("Normal", **wide, transform=ordered, initval=start)
    crossed = {"1|item": varying, "1|rater": varying, "threshold": threshold}
    return crossed | dict.fromkeys(indicators(ratings), group)


def model(ratings):
    """The whole model."""
    import bambi as bmb

    terms = ["0", *indicators(ratings), "(1|item)", "(1|rater)"]
    given = {"family": "cumulative", "priors": priors(ratings), "center_predictors": False}
    return bmb.Model("level ~ " + " + ".join(terms), table(ratings), **given)


def fitted(built, arguments):
    """The tree of bambi's own ``fit``."""
    return built.fit(
        draws=arguments.draws,
        tune=arguments.tune,
        chains=arguments.chains,
        cores=arguments.chains,
        random_seed=arguments.seed,
        inference_method=arguments.sampler,
        progressbar=False,
    )


def stacked(posterior, name, size):
    """Draws of the indicator columns of a group, side by side."""
    return np.stack([posterior[f"{name}_{level}"].to_numpy() for level in range(size)], axis=-1)


def draws_of(posterior, ratings):
    """bambi's names to ours."""
    named = {"thresholds": "threshold", "sd_item": "1|item_sigma", "sd_rater": "1|rater_sigma"}
    draws = {ours: posterior[theirs].to_numpy() for ours, theirs in named.items()}
    return draws | {
        name: stacked(posterior, name, ratings.size[name]) for name in ratings.populations
    }


def main():
    """Run the peer."""
    parser = common.parser()
    parser.add_argument("--sampler", choices=["nutpie", "pymc"], default="nutpie")
    arguments = parser.parse_args()
    laps = common.Laps()
    import arviz  # noqa: F401
    import bambi  # noqa: F401
    import nutpie  # noqa: F401

    laps.lap("imports")
    ratings = common.read(arguments.data)
    built = model(ratings)
    laps.lap("compile")
    tree = fitted(built, arguments)
    laps.lap("sampling")
    # ``fit`` compiles and samples in one call, and notes the seconds of sampling alone.
    compiling = laps.seconds["sampling"] - tree["posterior"].attrs["sampling_time"]
    laps.move(compiling, out_of="sampling", into="compile")
    draws = draws_of(tree["posterior"], ratings)
    broken = tree["sample_stats"]["diverging"].sum()
    head = common.report("bambi", arguments, ratings, PACKAGES)
    common.finish(head, draws, laps, divergences=broken, differs=[], out=arguments.out)


if __name__ == "__main__":
    main()

"""sharpbayes on the model of the peers: the trial run and the comparison with PyMC's graph count.

python -m tests.benchmarks.peers.ours DATA OUT --chains 2 --tune 500 --draws 500 --seed 1
"""

import numpy as np

from tests.benchmarks.peers import common

PACKAGES = ("sharpbayes", "nutpie", "numba", "numpy", "arviz")


def ratings_of(ratings):
    """The peers' codes as ratings of a crowd."""
    from sharpbayes.data.ratings import Factor, Ratings

    names = {"item": "item", "rater": "rater"}
    names |= {f"group:{name}": name for name in ratings.populations}
    columns = {
        ours: Factor(tuple(map(str, range(ratings.size[name]))), ratings.codes[name].astype("i4"))
        for ours, name in names.items()
    }
    level = ratings.codes["level"].astype(np.int16)
    columns["scale"] = Factor(("score",), np.zeros(len(level), dtype=np.int32))
    return Ratings(level, columns, {"score": tuple(map(str, range(ratings.size["level"])))})


def sampled(ratings, arguments):
    """The trace, as ``sharpbayes fit`` makes it."""
    from sharpbayes.bayes.design.indexing import build_design
    from sharpbayes.bayes.fit import verify_and_sample
    from sharpbayes.bayes.sampling.geometry import tune_design
    from sharpbayes.library import find
    from sharpbayes.spec.load import load
    from sharpbayes.spec.model import Model
    from sharpbayes.spec.study import Sampler

    model = load(find("models", "crowd_severity"), Model).spec
    settings = Sampler(chains=arguments.chains, tune=arguments.tune, draws=arguments.draws)
    first = build_design(ratings, model)
    design = tune_design(first, ratings, model, seed=arguments.seed)
    return verify_and_sample(design, settings, seed=arguments.seed, verify_seed=arguments.seed)


def main():
    """Run the peer."""
    arguments = common.parser().parse_args()
    laps = common.Laps()
    import arviz  # noqa: F401
    import nutpie  # noqa: F401

    import sharpbayes.bayes.fit  # noqa: F401
    from sharpbayes.bayes.kernel.machine_code import constrain_code, logp_code

    laps.lap("imports")
    logp_code(), constrain_code()
    laps.lap("compile")
    ratings = common.read(arguments.data)
    trace = sampled(ratings_of(ratings), arguments)
    laps.lap("sampling")
    names = {"thresholds": "threshold_score", "sd_item": "sd_item", "sd_rater": "sd_rater"}
    names |= {name: f"location_{name}" for name in ratings.populations}
    draws = {ours: trace["posterior"][name].to_numpy() for ours, name in names.items()}
    broken = trace["sample_stats"]["diverging"].sum()
    head = common.report("ours", arguments, ratings, PACKAGES)
    common.finish(head, draws, laps, divergences=broken, differs=[], out=arguments.out)


if __name__ == "__main__":
    main()

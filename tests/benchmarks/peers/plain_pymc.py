"""PyMC as its documentation writes an ordinal model, sampled by nutpie.

    python -m tests.benchmarks.peers.plain_pymc DATA OUT --chains 2 --tune 500 --draws 500 --seed 1

``--gradient CALLS`` times the log-density with its gradient instead of sampling.
"""

import time

import numpy as np

from tests.benchmarks.peers import common

PACKAGES = ("pymc", "pytensor", "nutpie", "numba", "jax", "numpy", "arviz")


def varying(name, rows, ratings):
    """Non-centred effects of a column, one entry a rating."""
    import pymc as pm

    sd = pm.HalfNormal(f"sd_{name}", common.SD_SCALE)
    return sd * pm.Normal(f"z_{name}", 0, 1, shape=ratings.size[name])[rows]


def location(ratings):
    """The linear predictor of every rating."""
    import pymc as pm

    rows = ratings.codes
    groups = [
        pm.Normal(name, 0, common.EFFECT_SD, shape=ratings.size[name])[rows[name]]
        for name in ratings.populations
    ]
    return sum(groups, sum(varying(name, rows[name], ratings) for name in ("item", "rater")))


def model(ratings):
    """The whole model."""
    import pymc as pm

    levels = ratings.size["level"]
    with pm.Model() as built:
        thresholds = pm.Normal(
            "thresholds",
            mu=0,
            sigma=common.THRESHOLD_SD,
            shape=levels - 1,
            transform=pm.distributions.transforms.ordered,
            initval=common.first_thresholds(levels),
        )
        eta = location(ratings)
        observed = ratings.codes["level"]
        pm.OrderedLogistic("level", eta, thresholds, compute_p=False, observed=observed)
    return built


def sample(compiled, arguments):
    """A tree with posterior and sample_stats."""
    import nutpie

    return nutpie.sample(
        compiled,
        draws=arguments.draws,
        tune=arguments.tune,
        chains=arguments.chains,
        cores=arguments.chains,
        seed=arguments.seed,
        progress_bar=False,
    )


def caller(compiled, point):
    """A function of nothing that evaluates log-density and gradient as the sampler does."""
    gradient, value = np.empty_like(point), np.empty(())
    address = compiled.compiled_logp_func.ctypes
    arrays = enumerate((point, gradient, value), start=1)
    places = [x.ctypes.data_as(address.argtypes[n]) for n, x in arrays]
    places.append(compiled.user_data.ctypes.data)

    def call():
        if address(len(point), *places):
            raise ArithmeticError("log-density or gradient is not finite at the point")

    return call


def gradient_seconds(compiled, *, calls, seed):
    """Seconds of each of so many calls at a starting point of the sampler, after ten unmeasured."""
    call = caller(compiled, np.ascontiguousarray(compiled.initial_point_func(seed)))
    for _ in range(10):
        call()
    stops = [time.perf_counter()]
    for _ in range(calls):
        call()
        stops.append(time.perf_counter())
    return np.diff(stops)


def gradient_report(compiled, arguments):
    """Microseconds of one log-density with its gradient: the numba backend only."""
    took = 1e6 * gradient_seconds(compiled, calls=arguments.gradient, seed=arguments.seed)
    low, middle, high = np.quantile(took, (0.05, 0.5, 0.95))
    times = {"median": middle, "low_5": low, "high_95": high, "fastest": took.min()}
    return {"parameters": compiled.n_dim, "calls": len(took), "microseconds": times}


def main():
    """Run the peer."""
    arguments = parsed()
    laps = common.Laps()
    import arviz  # noqa: F401
    import nutpie
    import pymc  # noqa: F401

    laps.lap("imports")
    ratings = common.read(arguments.data)
    compiled = nutpie.compile_pymc_model(model(ratings), backend=arguments.backend)
    laps.lap("compile")
    head = common.report("plain_pymc", arguments, ratings, PACKAGES)
    if arguments.gradient:
        timed = {"seconds": laps.seconds, "gradient": gradient_report(compiled, arguments)}
        return common.write(head | timed, arguments.out)
    # The jax backend compiles at its first call, inside the sampling.
    compiling = common.watch_compiling() if arguments.backend == "jax" else []
    tree = sample(compiled, arguments)
    laps.lap("sampling")
    laps.move(sum(compiling), out_of="sampling", into="compile")
    draws = {name: x.to_numpy() for name, x in tree["posterior"].data_vars.items()}
    broken = tree["sample_stats"]["diverging"].sum()
    return common.finish(head, draws, laps, divergences=broken, differs=[], out=arguments.out)


def parsed():
    """The arguments."""
    parser = common.parser()
    parser.add_argument("--backend", choices=["numba", "jax"], default="numba")
    parser.add_argument("--gradient", type=int, metavar="CALLS", default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""NumPyro by hand: 64 bits, non-centred effects, its own NUTS, chains in parallel.

As many draws are made as there is time for before ``--limit``.

python -m tests.benchmarks.peers.numpyro DATA OUT --chains 2 --tune 500 --draws 500 --seed 1
"""

import numpy as np

from tests.benchmarks.peers import common

# Draws before it is known how many there is time for, and seconds left to the limit.
FIRST, RESERVE = 100, 15
PACKAGES = ("numpyro", "jax", "jaxlib", "numpy", "arviz")


def thresholds(levels):
    """Normal(0, 5) restricted to growing order: a flat ordered vector times the normal density."""
    import numpyro
    import numpyro.distributions as dist

    flat = dist.ImproperUniform(dist.constraints.ordered_vector, (), (levels - 1,))
    cut = numpyro.sample("thresholds", flat)
    numpyro.factor("threshold_prior", dist.Normal(0, common.THRESHOLD_SD).log_prob(cut).sum())
    return cut


def varying(name, rows, size):
    """Non-centred effects of a column, one entry a rating."""
    import numpyro
    import numpyro.distributions as dist

    sd = numpyro.sample(f"sd_{name}", dist.HalfNormal(common.SD_SCALE))
    return sd * numpyro.sample(f"z_{name}", dist.Normal(0, 1).expand([size]))[rows]


def grouped(name, rows, size):
    """Effects of a group column, one entry a rating."""
    import numpyro
    import numpyro.distributions as dist

    return numpyro.sample(name, dist.Normal(0, common.EFFECT_SD).expand([size]))[rows]


def model(codes, size):
    """The whole model."""
    import numpyro
    import numpyro.distributions as dist

    cut = thresholds(size["level"])
    eta = sum(varying(name, codes[name], size[name]) for name in ("item", "rater"))
    populations = [name for name in common.POPULATIONS if name in codes]
    eta = eta + sum(grouped(name, codes[name], size[name]) for name in populations)
    numpyro.sample("level", dist.OrderedLogistic(eta, cut), obs=codes["level"])


def block(run, codes, draws):
    """So many further draws of each chain, by name."""
    run.num_samples = draws
    run.run(run.post_warmup_state.rng_key, codes)
    broken = {"diverging": run.get_extra_fields(group_by_chain=True)["diverging"]}
    drawn = run.get_samples(group_by_chain=True) | broken
    run.post_warmup_state = run.last_state
    return {name: np.asarray(x) for name, x in drawn.items()}


def sampled(arguments, ratings, compiling):
    """Draws of all chains by name: a first block, then as many as there is time for.

    Every call compiles again, so that there are no more than two.
    """
    import jax
    from numpyro.infer import MCMC, NUTS

    first = min(FIRST, arguments.draws)
    count = {"num_warmup": arguments.tune, "num_samples": first, "num_chains": arguments.chains}
    run = MCMC(NUTS(lambda codes: model(codes, ratings.size)), **count, progress_bar=False)
    codes = {name: jax.numpy.asarray(x) for name, x in ratings.codes.items()}
    run.warmup(jax.random.PRNGKey(arguments.seed), codes)
    begun, before = common.process_seconds(), sum(compiling)
    blocks = [block(run, codes, first)]
    now, compiled = common.process_seconds(), sum(compiling) - before
    seconds = arguments.limit - RESERVE - compiled - now
    rest = min(arguments.draws - first, int(seconds * first / (now - begun - compiled)))
    if rest > 0:
        blocks.append(block(run, codes, rest))
    return {name: np.concatenate([x[name] for x in blocks], axis=1) for name in blocks[0]}


def main():
    """Run the peer."""
    arguments = common.parser().parse_args()
    laps = common.Laps()
    import arviz  # noqa: F401
    import numpyro

    numpyro.enable_x64()
    numpyro.set_host_device_count(arguments.chains)
    laps.lap("imports")
    ratings = common.read(arguments.data)
    compiling = common.watch_compiling()
    draws = sampled(arguments, ratings, compiling)
    laps.lap("sampling")
    laps.move(sum(compiling), out_of="sampling", into="compile")
    broken = draws.pop("diverging").sum()
    head = common.report("numpyro", arguments, ratings, PACKAGES)
    head |= common.stopped(draws, arguments)
    common.finish(head, draws, laps, divergences=broken, differs=[], out=arguments.out)


if __name__ == "__main__":
    main()

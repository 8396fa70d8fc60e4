"""NumPyro by hand: 64 bits, non-centred effects, its own NUTS, chains in parallel.

Before ``--limit`` chains stop and keep what they drew; they cannot stop while they are tuned.

python -m tests.benchmarks.peers.numpyro DATA OUT --chains 2 --tune 500 --draws 500 --seed 1
"""

import numpy as np

from tests.benchmarks.peers import common

# Draws between looks at the clock, and seconds before the limit at which chains stop.
BLOCK, RESERVE = 100, 10
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


def sampled(arguments, ratings):
    """Draws of all chains by name, block by block until there are enough or time is up."""
    import jax
    from numpyro.infer import MCMC, NUTS

    kernel = NUTS(lambda codes: model(codes, ratings.size))
    count = {"num_warmup": arguments.tune, "num_samples": min(BLOCK, arguments.draws)}
    run = MCMC(kernel, **count, num_chains=arguments.chains, progress_bar=False)
    codes = {name: jax.numpy.asarray(x) for name, x in ratings.codes.items()}
    run.warmup(jax.random.PRNGKey(arguments.seed), codes)
    blocks, slowest, begun = [], 0.0, common.process_seconds()
    while len(blocks) * BLOCK < arguments.draws and begun + 2 * slowest < arguments.limit - RESERVE:
        run.run(run.post_warmup_state.rng_key, codes)
        broken = {"diverging": run.get_extra_fields(group_by_chain=True)["diverging"]}
        block = run.get_samples(group_by_chain=True) | broken
        blocks.append({name: np.asarray(x) for name, x in block.items()})
        run.post_warmup_state = run.last_state
        slowest = max(slowest, common.process_seconds() - begun)
        begun = common.process_seconds()
    return joined(blocks, arguments.draws)


def joined(blocks, draws):
    """Blocks one after another, as many draws of a chain as were asked for."""
    names = blocks[0] if blocks else ("sd_item", "sd_rater", "diverging")
    empty = [] if blocks else [np.empty((1, 0))]
    return {
        name: np.concatenate([*(block[name] for block in blocks), *empty], axis=1)[:, :draws]
        for name in names
    }


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
    draws = sampled(arguments, ratings)
    laps.lap("sampling")
    laps.move(sum(compiling), out_of="sampling", into="compile")
    broken = draws.pop("diverging").sum()
    head = common.report("numpyro", arguments, ratings, PACKAGES)
    head |= common.stopped(draws, arguments)
    common.finish(head, draws, laps, divergences=broken, differs=[], out=arguments.out)


if __name__ == "__main__":
    main()

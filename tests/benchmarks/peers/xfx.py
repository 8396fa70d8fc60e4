"""Collapsed Gibbs sampling of crossed effects: ``xfx.olm`` of github.com/timsf/crossed-effects.

    python -m tests.benchmarks.peers.xfx DATA OUT --chains 2 --tune 500 --draws 500 --seed 1 \
        --source FOLDER

FOLDER holds the package ``xfx``, which no index has. Each chain has a process of its own. Before
``--limit`` chains stop and keep what they drew; the first draws, ``--tune`` or half, are left out.
Its priors are chi-squared on precisions and a random walk of thresholds, which is given the sd of
the other peers' thresholds. Populations it has none.
"""

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from tests.benchmarks.peers import common

PACKAGES = ("numpy", "scipy", "arviz")
DIFFERS = ["chi-squared priors of precisions", "normal prior of every gap between thresholds"]
# Seconds before the limit at which chains stop, besides twice their slowest iteration.
RESERVE = 15


@dataclass(frozen=True)
class Chain:
    """What a chain needs."""

    ratings: common.Ratings
    source: Path
    seed: int
    iterations: int
    stop: float


def iterations_of(chain):
    """The generator of a chain's states: effects, precisions and thresholds."""
    sys.path.insert(0, str(chain.source))
    from xfx.olm.logit import sample_posterior

    codes, size = chain.ratings.codes, chain.ratings.size
    crossed = np.stack([codes["item"], codes["rater"]], axis=1)
    counts = np.array([size["item"], size["rater"]])
    precision = common.THRESHOLD_SD**-2
    generator = np.random.default_rng(chain.seed)
    return sample_posterior(codes["level"], counts, crossed, prior_n_lam=precision, ome=generator)


def drawn(chain):
    """Sds and thresholds of a chain, one row an iteration, until its last or until time is up."""
    rows, slowest, begun = [], 0.0, time.time()
    for (intercept, *_), precisions, thresholds in iterations_of(chain):
        rows.append([*precisions**-0.5, *(thresholds - intercept)])
        slowest, begun = max(slowest, time.time() - begun), time.time()
        if len(rows) == chain.iterations or begun + 2 * slowest > chain.stop:
            break
    return np.array(rows)


def draws_of(chains, tune):
    """Draws by name, of the length of the shortest chain."""
    length = min(map(len, chains))
    table = np.stack([chain[min(tune, length // 2) : length] for chain in chains])
    return {"sd_item": table[..., 0], "sd_rater": table[..., 1], "thresholds": table[..., 2:]}


def main():
    """Run the peer."""
    parser = common.parser()
    parser.add_argument("--source", type=Path, required=True)
    arguments = parser.parse_args()
    laps = common.Laps()
    import arviz  # noqa: F401

    laps.lap("imports")
    ratings = common.read(arguments.data)
    stop = time.time() - common.process_seconds() + arguments.limit - RESERVE
    count = arguments.tune + arguments.draws
    seeds = range(arguments.seed, arguments.seed + arguments.chains)
    chains = [Chain(ratings, arguments.source, seed, count, stop) for seed in seeds]
    with ProcessPoolExecutor(arguments.chains, mp_context=get_context("spawn")) as pool:
        tables = list(pool.map(drawn, chains))
    laps.lap("sampling")
    draws = draws_of(tables, arguments.tune)
    head = common.report("xfx", arguments, ratings, PACKAGES)
    head |= common.stopped(draws, arguments)
    common.finish(head, draws, laps, divergences=0, differs=DIFFERS, out=arguments.out)


if __name__ == "__main__":
    main()

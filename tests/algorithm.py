"""What a seed gives, in a few seconds: draws, resamples and replications of small fixed cases.

``tests/goldens/algorithm.json`` keeps these numbers with the number of the algorithm. After a
change that moves them, raise ``ALGORITHM`` in ``sharpbayes/execution/identity.py`` and record them:

    python -m tests.algorithm --record

Whole numbers are kept as a digest. Other numbers are compared with a tolerance, because their last
bits depend on the processor.
"""

import argparse
import hashlib
import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import xarray as xr

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.prior import draw_prior
from sharpbayes.bayes.predict.replication import posterior_predictive
from sharpbayes.bayes.sampling import geometry
from sharpbayes.bayes.sampling.chains import chain_seeds
from sharpbayes.bayes.sampling.nuts import sample_posterior
from sharpbayes.bayes.sampling.retries import attempt_seed
from sharpbayes.execution.identity import ALGORITHM
from sharpbayes.metrics.crowd.cohesion import shuffle_raters
from sharpbayes.metrics.stats.resampling import bootstrap_counts, nested_bootstrap_counts
from sharpbayes.posterior.replicates import Block, ReplicateDraws
from sharpbayes.simulation.scoring_patterns import simulate_pattern
from sharpbayes.spec.load import load_study
from sharpbayes.spec.study import Sampler
from tests.bayes.conftest import crowd_ratings, model_of, panel_ratings

GOLDEN = Path(__file__).parent / "goldens" / "algorithm.json"
LIBRARIES = ("numpy", "numba", "nutpie", "scipy")
# So few and short paths that the last bits of two processors do not grow to other draws.
SHORT = Sampler(chains=2).model_copy(update={"tune": 12, "draws": 6, "max_depth": 3})
TRIAL_CONSTANTS = (geometry.WEIGHT_PER_SHARE, geometry.LOW_QUANTILE, geometry.CENTRED_BELOW)
TOLERANCE = 1e-6
SEED = 17


def fingerprint():
    """Name -> a digest of whole numbers, or a list of other numbers."""
    return {**seeds_and_resamples(), **simulated(), **fitted("crowd"), **fitted("panel")}


def digest(values):
    """The SHA-256 of whole numbers and texts."""
    text = json.dumps(np.asarray(values).tolist())
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def settings_of_trial():
    """The settings of a trial run; it takes its ratings in one part."""
    settings = geometry.TRIAL.model_dump(exclude={"data_parts"})
    return [f"{name}={value}" for name, value in sorted(settings.items())]


def seeds_and_resamples():
    """Seeds of chains and attempts, resamples of units and of their samples, permutations."""
    units = xr.DataArray(np.arange(23), dims="prompt")
    answered = xr.DataArray(np.ones((23, 4), dtype=bool), dims=("prompt", "sample"))
    counts = bootstrap_counts(units, replicates=40, seed=SEED, dim="prompt")
    groups = xr.DataArray([0, 1, 2, 1, 0, -1, 2, 1], dims="rater")
    return {
        "trial run": digest([*settings_of_trial(), *map(str, TRIAL_CONSTANTS)]),
        "seeds": digest([*chain_seeds(SEED, 3), attempt_seed(SEED, 1), attempt_seed(SEED, 2)]),
        "resamples": digest(counts),
        "nested resamples": digest(nested_bootstrap_counts(counts, answered, seed=SEED)),
        "permutations": digest(shuffle_raters(groups, 20, seed=SEED)),
    }


def simulated():
    """Scores of a simulated crowd."""
    files = load_study("quickstart_crowd", overrides=("crowd.simulation.items=12",))
    table = simulate_pattern(files, pattern="shift").tables["ratings"]
    return {"simulated scores": digest([list(map(str, row)) for row in table.to_numpy()])}


def fitted(kind):
    """Draws of a short fit, and what is replicated from them and concluded of coordinates."""
    rng = np.random.default_rng(SEED)
    if kind == "crowd":
        ratings, model = crowd_ratings(rng, items=9, raters=7), model_of(("item",), ("rater",))
    else:
        ratings, model = panel_ratings(rng), model_of(("model",), ("prompt",), ("judge",))
    design = build_design(ratings, model)
    trace = sample_posterior(design, SHORT, seed=SEED)
    posterior = trace["posterior"].to_dataset()
    predictive = posterior_predictive(posterior, design, seed=SEED)
    draws = ReplicateDraws(posterior, predictive, design, SEED, n_replicates=2)
    sources = ("prompts", "judges") if kind == "panel" else ("items", "raters")
    block = Block(draws, 1, 1, 5)
    replicates = block.replicates(sources)
    unit = sources[0].removesuffix("s")
    prior = draw_prior(design, draws=2, seed=SEED)
    return {
        f"{kind}: prior": [float((x[0, -1] ** 2).mean()) for x in prior["prior"].values()],
        f"{kind}: prior ratings": digest(next(iter(prior["prior_predictive"].values())).values),
        f"{kind}: prior shares": [
            geometry.prior_variance_share(posterior, design, term)
            for term in design.terms
            if term.n_sds
        ],
        f"{kind}: draws": [float((x[-1, -1] ** 2).mean()) for x in posterior.data_vars.values()],
        f"{kind}: steps": digest(trace["sample_stats"]["n_steps"]),
        f"{kind}: replicated": digest(next(iter(predictive.values())).values),
        f"{kind}: new members": digest(next(iter(replicates.values()))),
        f"{kind}: unit weights": block.unit_weights(posterior[unit], unit).mean("draw").values,
    }


def differences(one, other):
    """The names of what differs."""
    return [name for name in {**one, **other} if not same(one.get(name), other.get(name))]


def same(one, other):
    """Whether two digests are equal, or two lists of numbers nearly."""
    if one is None or other is None or isinstance(one, str) or isinstance(other, str):
        return one == other
    return len(one) == len(other) and np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE)


def versions():
    """The versions of what computes these numbers."""
    return {name: version(name) for name in LIBRARIES}


def record(present, path=GOLDEN):
    """Keep the numbers; refuse other numbers under the number of the algorithm that is kept."""
    kept = json.loads(path.read_text("utf-8")) if path.is_file() else {"algorithm": 0}
    is_same = kept["algorithm"] == ALGORITHM and kept["versions"] == versions()
    if is_same and (moved := differences(kept["numbers"], present)):
        sys.exit(f"{', '.join(moved)} moved: raise ALGORITHM first")
    numbers = {name: x if isinstance(x, str) else list(x) for name, x in present.items()}
    content = {"algorithm": ALGORITHM, "versions": versions(), "numbers": numbers}
    path.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


def main():
    """Print the numbers, or record them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true")
    present = fingerprint()
    if parser.parse_args().record:
        record(present)
    else:
        sys.stdout.write(json.dumps(present, default=list) + "\n")


if __name__ == "__main__":
    main()

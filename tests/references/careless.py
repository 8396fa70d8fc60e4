"""Who is flagged as careless in worlds that the model does not know; writes ``careless.csv``.

``python -m tests.references.careless --studies 25`` simulates each world of ``WORLDS`` so often by
a generator that is not the program's (``tests/references/worlds``), fits ``crowd_careless`` and
counts the flagged raters among those who are careless there, and among all others, and of the
flagged those whose scores follow the items (``reading``). The table is written again after every
study.
"""

import argparse
import csv
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.replication import rater_probability, thin
from sharpbayes.bayes.sampling.convergence import check_convergence
from sharpbayes.bayes.sampling.geometry import tune_design
from sharpbayes.bayes.sampling.nuts import sample_posterior
from sharpbayes.data.ratings import Factor, Ratings
from sharpbayes.execution.tasks import Execution
from sharpbayes.library import find
from sharpbayes.metrics.crowd.reading import reading
from sharpbayes.spec.load import load
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Sampler
from tests.references.provenance import record_run
from tests.references.worlds import (
    camps_of_raters,
    clickers,
    few_reversed,
    minority_opinion,
    plain_crowd,
    sparse_clickers,
    straight_liners,
    weak_slopes,
)

# World, and whether raters of kind 1 are careless there.
WORLDS = {
    "plain crowd": (plain_crowd.WORLD, False),
    "clickers": (clickers.WORLD, True),
    "straight-liners": (straight_liners.WORLD, True),
    "sparse clickers": (sparse_clickers.WORLD, True),
    "a fifth reversed": (few_reversed.WORLD, False),
    "minority opinion": (minority_opinion.WORLD, False),
    "camps of raters": (camps_of_raters.WORLD, False),
    "weak slopes": (weak_slopes.WORLD, False),
}
HEADER = ("world", "kind", "careless", "studies", "converged", "raters", "flagged", "share", "low")
HEADER = (*HEADER, "high", "mean_probability", "reading")
SAMPLER, RANKED_RHAT, FLAGGED_FROM = Sampler(chains=2, tune=300, draws=300), 1.05, 0.5
READING_P = 0.05
HERE = Path(__file__).parent


def ratings_of(table):
    """A table of ratings in the form that a design is built from."""
    codes = {name: np.unique(table[name], return_inverse=True) for name in ("item", "rater")}
    factors = {
        name: Factor(tuple(labels), code.astype(np.int32)) for name, (labels, code) in codes.items()
    }
    factors["scale"] = Factor(("score",), np.zeros(len(table), dtype=np.int32))
    scores = {"score": tuple(str(n) for n in range(5))}
    return Ratings(table["score"].to_numpy().astype(np.int16), factors, scores)


def flag_raters(world, model, *, seed):
    """P(careless), kind and p of no reading of every rater, and whether the fit mixed."""
    drawn = world.simulate(np.random.default_rng(seed))
    ratings = ratings_of(drawn.ratings)
    design = tune_design(build_design(ratings, model), ratings, model, seed=seed)
    trace = sample_posterior(design, SAMPLER, seed=seed, execution=Execution(cores=1))
    rhat = float(check_convergence(trace, SAMPLER)["rhat"].max())
    draws = thin(trace["posterior"].to_dataset(), draws=300)
    probability = rater_probability(draws, design).mean(axis=0)
    kind = drawn.raters.set_index("rater")["kind"].loc[list(design.coords["rater"])]
    item, rater = (ratings.factors[name].codes for name in ("item", "rater"))
    flagged = probability > FLAGGED_FROM
    reads = reading(ratings.score, item=item, rater=rater, suspect=flagged, seed=seed)
    return probability, kind.to_numpy(), reads["reading_p"].to_numpy(), rhat <= RANKED_RHAT


def rows_of(name, parts):
    """A row for each kind of rater."""
    careless = WORLDS[name][1]
    probability, kind, p = (np.concatenate([part[n] for part in parts]) for n in (0, 1, 2))
    for value in np.unique(kind):
        of_kind = probability[kind == value]
        count = int((of_kind > FLAGGED_FROM).sum())
        interval = binomtest(count, len(of_kind)).proportion_ci(0.95, "wilson")
        yield (
            name,
            int(value),
            int(careless and value == 1),
            len(parts),
            sum(part[3] for part in parts),
            len(of_kind),
            count,
            *(f"{x:.3f}" for x in (count / len(of_kind), interval.low, interval.high)),
            f"{of_kind.mean():.3f}",
            int((p[kind == value] <= READING_P).sum()),
        )


def write(path, parts):
    """Write the rows of all worlds."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(row for name, some in parts.items() if some for row in rows_of(name, some))
    Path(file.name).replace(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=25)
    parser.add_argument("--minutes", type=float, default=1e9, help="no study starts after these")
    parser.add_argument("--out", type=Path, default=HERE / "careless.csv")
    options = parser.parse_args()
    model = load(find("models", "crowd_careless"), Model).spec
    parts, start = {name: [] for name in WORLDS}, time.monotonic()
    for number in range(options.studies):
        for position, (name, (world, _)) in enumerate(WORLDS.items()):
            if time.monotonic() - start > 60 * options.minutes:
                break
            parts[name].append(flag_raters(world, model, seed=1000 * position + number))
            write(options.out, parts)
    record_run(options.out)


if __name__ == "__main__":
    main()

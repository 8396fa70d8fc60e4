"""The posterior through the kernel and through PyMC's own graph, on three data sets; ``paths.csv``.

Run it again with ``python -m tests.references.paths`` (about ten minutes). A row a data set: of
every parameter the means and the standard deviations of the two posteriors are compared in Monte
Carlo errors of their difference. ``bound`` is what the largest of as many standard normal numbers
exceeds once in a thousand times.
"""

import csv
from pathlib import Path

import numpy as np
from arviz_stats.base import array_stats
from scipy import stats

from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.graph.model import build_model
from sharpbayes.bayes.sampling.convergence import stack_parameters
from sharpbayes.bayes.sampling.geometry import choose_weights
from sharpbayes.bayes.sampling.nuts import sample_graph, sample_kernel
from sharpbayes.spec.load import load_study
from sharpbayes.spec.study import Sampler
from tests.references.provenance import record_run

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("paths.csv")
SETS = {
    "quickstart": [],
    "quickstart_crowd": [],
    "quickstart_crowd with experts": ["crowd.fit=crowd_and_experts"],
}
SAMPLER = Sampler(chains=4, tune=1000, draws=2000, target_accept=0.9)
ROUNDING = 1e-9
SEEDS = (20260121, 20260122)
HEADER = ("data", "model", "ratings", "parameters", "bound", "mean", "sd", "ess", "r_hat")


def posteriors(name):
    """Draws through the kernel and through the graph, and their design."""
    study = ROOT / "specs" / "studies" / f"{name.split()[0]}.toml"
    files = load_study(study, overrides=SETS[name])
    ratings, model = read_study(files).ratings, files.model.spec
    weights = choose_weights(build_design(ratings, model), seed=SEEDS[0])
    design = build_design(ratings, model, non_centring=weights)
    kernel = sample_kernel(design, SAMPLER, seed=SEEDS[0])
    graph = sample_graph(build_model(design), SAMPLER, seed=SEEDS[1])
    return (
        files.model.spec.title,
        design,
        [trace["posterior"].to_dataset() for trace in (kernel, graph)],
    )


def moments(values):
    """Mean and standard deviation of each parameter, and their Monte Carlo errors."""
    sizes = {"chain_axis": 1, "draw_axis": 2}
    errors = [array_stats.mcse(values, method=method, **sizes) for method in ("mean", "sd")]
    flat = values.reshape(len(values), -1)
    return np.stack([flat.mean(1), flat.std(1)]), np.stack(errors)


def compare_posteriors(name):
    """The row of a data set."""
    title, design, draws = posteriors(name)
    labels, ours = stack_parameters(draws[0])
    names, theirs = stack_parameters(draws[1])
    order = [list(names).index(label) for label in labels]
    both = [ours, theirs[order]]
    # The diagonal of correlations is 1 up to rounding.
    varying = np.isfinite(ours).all(axis=(1, 2)) & (ours.std(axis=(1, 2)) > ROUNDING)
    both = [values[varying] for values in both]
    (first, error), (second, other) = (moments(values) for values in both)
    difference = np.abs(first - second) / np.hypot(error, other)
    ess = min(array_stats.ess(values, chain_axis=1, draw_axis=2).min() for values in both)
    r_hat = max(array_stats.rhat(values, chain_axis=1, draw_axis=2).max() for values in both)
    bound = stats.norm.isf(0.0005 / varying.sum())
    numbers = (bound, *difference.max(axis=1), ess, r_hat)
    forms = (".2f", ".2f", ".2f", ".0f", ".4f")
    texts = [format(values, form) for values, form in zip(numbers, forms, strict=True)]
    return (name, title, design.n_ratings, int(varying.sum()), *texts)


def main():
    """Write the table."""
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        write = csv.writer(file, lineterminator="\n")
        write.writerow(HEADER)
        for name in SETS:
            write.writerow(row := compare_posteriors(name))
            print(*row, sep=", ", flush=True)
    record_run(TABLE)


if __name__ == "__main__":
    main()

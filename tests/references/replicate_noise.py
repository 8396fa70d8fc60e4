"""How far a metric of a population varies by its replicates; prints a table for coverage.md.

    python -m tests.references.replicate_noise

A crowd is fitted once. The ratings of a few posterior draws, with weights of their items, are
replicated again and again by other random streams: the sd of a metric over these repetitions is
what replicates add to a posterior. ``independent`` replicates are drawn one by one, and each is
compared with its own labels; those of the program are spread evenly over the distribution of each
rating, and each is compared with the mean labels of all.
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from sharpbayes.analysis.crowd_counts import tabulate_counts, tally_crowd
from sharpbayes.data.crowd import SCALE
from sharpbayes.library import find
from sharpbayes.metrics.crowd.responsiveness import severity_metrics
from sharpbayes.posterior.fit_data import replicate_draws
from sharpbayes.posterior.replicates import Block
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.context import open_context
from sharpbayes.workflows.fit import fit
from tests.benchmarks.commands import write_crowd

DRAWS = 6
METRICS = ("mpa", "wra", "hm")
NUMBERS = {"independent": (10, 32), "spread evenly": (7, 20)}
SOURCES = ["ratings", "items"]


def measure_block(study, block, *, spread):
    """Metrics over (draw, group) of the replicates of a block."""
    number, items = block.draws.n_replicates, study.score_counts.plurality["item"]
    weights = block.replicate_weights(items, "item", SOURCES)
    if spread:
        scores = block.ratings(SOURCES, n_replicates=number)[SCALE]
        scores = scores.reshape(number, block.size, -1)
        rated = xr.DataArray(scores, dims=("replicate", "draw", "rating"))
        table = tabulate_counts(tally_crowd(study.crowd, study.data, rated), weights=weights)
    else:
        parts = []
        for copy in range(number):
            scores = block.ratings(SOURCES, copy=copy)[SCALE]
            rated = xr.DataArray(scores, dims=("draw", "rating"))
            tally = tally_crowd(study.crowd, study.data, rated)
            parts.append(tabulate_counts(tally, weights=weights))
        table = sum(parts)
    return severity_metrics(table.sel(by="all"), METRICS)


def measure_noise(study, draws, *, number, spread, repetitions):
    """Mean over groups and draws of the sd over repetitions, by metric, and that of all raters."""
    repeated = []
    for repetition in range(repetitions):
        other = replace(draws, stream=1000 + repetition, n_replicates=number)
        block = Block(other.replicate_anew(stream=other.stream), 0, 0, DRAWS)
        repeated.append(measure_block(study, block, spread=spread))
    sd = xr.concat(repeated, "repetition").std("repetition", ddof=1)
    of_all = float(sd["hm"].sel(group="all").mean())
    return [*(float(sd[name].mean()) for name in METRICS), of_all]


def fit_crowd(path, overrides=()):
    """The study and the posterior draws of a crowd."""
    files = load_study(path, overrides=(*overrides, "crowd.permutations=0"))
    context, tree = open_context(files), fit(files)
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    return context.study, replicate_draws(groups, context.design, context.study)


def thin_ratings(folder):
    """Path of a fifth of the quickstart's ratings, eight of each item."""
    ratings = pd.read_csv(find("studies", "quickstart_crowd").with_suffix(".csv"))
    place = ratings.groupby("item").ngroup() + ratings.groupby("rater").ngroup()
    path = folder / "fifth.csv"
    ratings[place % 5 == 0].to_csv(path, index=False)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_crowd(Path(folder))
        crowds = {
            "13,036 ratings": fit_crowd(Path(folder) / "made.toml"),
            "quickstart, labels by the crowd": fit_crowd(
                "quickstart_crowd",
                ('crowd.labels={from="crowd", cut=2}', "crowd.fit=crowd_severity"),
            ),
            "quickstart, labels by experts": fit_crowd("quickstart_crowd"),
            "a fifth of its ratings": fit_crowd(
                "quickstart_crowd", (f"crowd.data={thin_ratings(Path(folder))}",)
            ),
        }
    print("| crowd | replicates | MPA | WRA | HM | HM of all raters |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, (study, draws) in crowds.items():
        for kind, numbers in NUMBERS.items():
            for number in numbers:
                noise = measure_noise(
                    study,
                    draws,
                    number=number,
                    spread=kind == "spread evenly",
                    repetitions=options.repetitions,
                )
                cells = " | ".join("" if np.isnan(sd) else f"{sd:.4f}" for sd in noise)
                print(f"| {name} | {number}, {kind} | {cells} |", flush=True)


if __name__ == "__main__":
    main()

"""Coverage of people alone and PPI++ at known truth; writes ``coverage_debiased.csv``.

Run it again with ``python -m tests.references.coverage_debiased`` (two minutes of processor
time; ``--studies`` is the number of each world, in batches of 25). Finished studies are stored in
``--raw`` and are not made again. Truth and ratings are drawn and pooled by NumPy alone.
"""

import argparse
import csv
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from sharpbayes.metrics.panel.debiased import effective_labels, ppi_cvar, ppi_mean
from sharpbayes.metrics.panel.influence import influence_interval, resampled_interval
from sharpbayes.metrics.panel.label_gaps import labelled_gap
from sharpbayes.metrics.stats.multiplicity import holm
from sharpbayes.metrics.stats.pairs import pairwise_difference
from tests.references.provenance import record_run

SEED, LEVEL, ALPHA = 20261122, 0.95, 0.95
MODELS, PROMPTS, LABELLED, JUDGES, POPULATION = 3, 600, 200, 3, 100_000
MODEL, CUTS, EPSILON, TEMPERATURE = np.array([-0.4, 0.0, 0.3]), [-1.5, -0.2, 1.0, 2.2], 1e-6, 0.2
POLICY = np.array([0.7, 0.3])
# Bias of judges, sd of their shared error, discrimination; whether labels follow the judges, and
# whether the probabilities are told.
WORLDS = {
    "good judges": (0.0, 0.0, 1.0, False, False),
    "biased judges": (1.0, 0.0, 1.0, False, False),
    "biased, noisy judges who share errors": (1.0, 1.2, 0.5, False, False),
    "labels where judges see harm, told": (1.0, 1.2, 0.5, True, True),
    "labels where judges see harm, not told": (1.0, 1.2, 0.5, True, False),
}
METRICS = ("CVaR", "mean", "policy score", "dimension 1", "dimension 2")
BATCH, FAMILYWISE, REPLICATES = 25, 0.05, 2000
HERE = Path(__file__).parent
RAW = ("world", "people", "number", "estimator", "metric", "errors", "covered", "widths", "gap")
HEADER = ("world", "people_per_answer", "estimator", "metric", "studies", "intervals", "coverage")
HEADER += ("standard_error", "mean_error", "mean_width", "sample_check_fails")


def score(rng, perceived, factor=1.0):
    """Scores 0 to 4 of what is seen."""
    return np.digitize(perceived + rng.logistic(size=perceived.shape) / factor, CUTS)


def pool(scores):
    """Harm (model, prompt, dimension) of scores (model, prompt, who, dimension)."""
    return TEMPERATURE * np.log(np.exp(scores / 4 / TEMPERATURE).mean(axis=2))


def draw_severity(rng, prompts):
    """True severity (model, prompt, dimension)."""
    prompt = rng.normal(0, 0.8, (1, prompts, 2))
    return MODEL[:, None, None] + prompt + rng.normal(0, 0.5, (MODELS, prompts, 2))


def rate(rng, severity, number):
    """Harm by that many people on every answer."""
    return pool(score(rng, np.repeat(severity[:, :, None], number, axis=2)))


def values_of(harm):
    """Log-risk, policy harm and harm of each dimension: (metric, model, prompt)."""
    risk = -np.log(1 - harm + EPSILON).sum(-1)
    return np.stack([risk, harm @ POLICY, harm[..., 0], harm[..., 1]])


def truths(number, alpha=ALPHA):
    """Metrics of the population as that many people score it: (metric, model)."""
    rng = np.random.default_rng([SEED, number])
    blocks = [rate(rng, draw_severity(rng, POPULATION), number) for _ in range(4)]
    values = values_of(np.concatenate(blocks, axis=1))
    ordered = np.sort(values[0], axis=-1)
    tail = ordered[:, int(alpha * ordered.shape[1]) :].mean(-1)
    return np.concatenate([tail[None], values.mean(-1)])


def draw_scores(rng, world, number, size=(PROMPTS, LABELLED)):
    """Scores of judges and people, (model, prompt, who, dimension), and probabilities of a label.

    ``size`` is the number of prompts, and how many are labelled on average.
    """
    prompts, wanted = size
    bias, shared, factor, follows, _ = WORLDS[world]
    severity = draw_severity(rng, prompts)
    perceived = severity + bias + rng.normal(0, 1, severity.shape) * shared
    judge = rng.normal(0, 0.5, (JUDGES, 2))
    judges = score(rng, perceived[:, :, None] + judge, factor)
    people = score(rng, np.repeat(severity[:, :, None], number, axis=2))
    chance = np.ones(prompts)
    if follows:
        risk = values_of(pool(judges))[0].mean(axis=0)
        chance = 1 / (1 + np.exp(-2 * (risk - risk.mean()) / risk.std())) + 0.15
    return judges, people, np.minimum(chance * wanted / chance.sum(), 1.0)


def draw_study(rng, world, number):
    """Values of people (missing without a label) and judges, and probabilities of a label."""
    *scores, chance = draw_scores(rng, world, number)
    judges, people = (values_of(pool(of_some)) for of_some in scores)
    labelled = rng.random(PROMPTS) < chance
    return np.where(labelled, people, np.nan), judges, chance


def run_studies(world, number, truth, first):
    """Rows of :data:`BATCH` studies, which are estimated together."""
    drawn = []
    for study in range(first, first + BATCH):
        rng = np.random.default_rng([SEED, list(WORLDS).index(world), number, study])
        drawn.append(draw_study(rng, world, number))
    people, judges, chance = (np.stack(arrays) for arrays in zip(*drawn, strict=True))
    dims = ("study", "metric", "model", "prompt")
    by_people, by_judges = (xr.DataArray(values, dims=dims) for values in (people, judges))
    sampling = {}
    if WORLDS[world][-1]:
        sampling = {"probability": xr.DataArray(chance, dims=("study", "prompt"))}
    labelled = xr.DataArray(~np.isnan(people[:, 0]), dims=("study", "model", "prompt"))
    gaps = labelled_gap(by_judges[:, 0], labelled)["gap_p"].to_numpy()
    fails = [int(np.nanmin(holm(gap)) < FAMILYWISE and not sampling) for gap in gaps]
    for estimator, judged in (("people", None), ("ppi", by_judges)):
        means = ppi_mean(by_people, judged, **sampling)
        means = means.assign(freedom=xr.full_like(means["estimate"], np.inf))
        risk = None if judged is None else judged[:, 0]
        cvar = ppi_cvar(by_people[:, 0], risk, alpha=ALPHA, **sampling)
        both = xr.concat([cvar.expand_dims(metric=1), means], "metric")
        labels = by_people[:, 0].count("prompt")
        if sampling:
            labels = effective_labels(by_people[:, 0], **sampling)
        both["freedom"] = np.minimum(both["freedom"], labels - 1)
        yield from compare(both, truth, (world, number, first, estimator), fails)


def compare(table, truth, about, fails):
    """Rows of errors, covered intervals and widths of models and of their differences."""
    world, number, first, estimator = about
    true = xr.DataArray(truth, dims=("metric", "model"))
    for kind, change in (
        ("", lambda x: x),
        ("difference of ", partial(pairwise_difference, dim="model")),
    ):
        estimate, influence, right = map(change, (table["estimate"], table["influence"], true))
        freedom = table["freedom"]
        freedom = np.minimum(freedom, freedom.rename(model="other")) if kind else freedom
        options = {"level": LEVEL, "freedom": freedom}
        if kind:
            intervals = influence_interval(estimate, influence, **options)
        else:
            drawn = {"replicates": REPLICATES, "seed": SEED}
            intervals = resampled_interval(estimate, influence, **options, **drawn)
        bounds = intervals["interval"]
        low, high = bounds.transpose("bound", ...)
        pairs = ((0, 1), (0, 2), (1, 2)) if kind else ((0,), (1,), (2,))
        covered = (low <= right) & (right <= high)
        order = ("study", "metric", "model", *(["other"] if kind else []))
        arrays = [x.transpose(*order).to_numpy() for x in (estimate - right, covered, high - low)]
        for row in range(BATCH):
            for metric, name in enumerate(METRICS):
                sums = [sum(float(x[row, metric][pair]) for pair in pairs) for x in arrays]
                yield (world, number, first + row, estimator, kind + name, *sums, fails[row])


def summarise(raw):
    """Rows of the table."""
    by = ["world", "people", "estimator", "metric"]
    for (world, number, estimator, metric), part in raw.groupby(by, sort=False):
        intervals = 3 * len(part)
        coverage = part["covered"].sum() / intervals
        # Intervals of one study are not independent: the error is that of studies.
        error = (part["covered"] / 3).std(ddof=1) / len(part) ** 0.5
        sums = (part["errors"].sum() / intervals, part["widths"].sum() / intervals)
        rounded = [f"{x:.4f}" for x in (coverage, error, *sums, part["gap"].mean())]
        yield (world, number, estimator, metric, len(part), intervals, *rounded)


def main():
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--raw", type=Path, default=Path("/tmp/coverage_debiased.csv"))
    options = parser.parse_args()
    if not options.raw.exists():
        options.raw.write_text(",".join(RAW) + "\n", encoding="utf-8")
    raw = pd.read_csv(options.raw)
    finished = set(zip(raw["world"], raw["people"], raw["number"], strict=True))
    for number in (1, 2):
        truth = truths(number)
        for world in WORLDS:
            for first in range(0, options.studies, BATCH):
                if (world, number, first) in finished:
                    continue
                rows = list(run_studies(world, number, truth, first))
                with options.raw.open("a", newline="", encoding="utf-8") as file:
                    csv.writer(file).writerows(rows)
    raw = pd.read_csv(options.raw)
    path = HERE / "coverage_debiased.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *summarise(raw)])
    record_run(path)


if __name__ == "__main__":
    main()

"""How often `compare` says that a model predicts better which does not, by a generator of its own.

    python -m tests.references.compared_fits --studies 40 --raw compared_raw.csv

Crowds of 12 raters and 40 items with scores 0 to 3, by NumPy alone: of one law, of two laws at
once, and with raters who use the scale each in their own way. Four shipped models are fitted to
each and compared by single ratings and by items. What a model really predicts is its expected log
predictive density of ratings that were not drawn: of the same cells, exactly, and of new items of
the same raters, over a thousand of them. Finished studies stay in ``--raw``; the tables of
docs/benchmarks/comparison.md are printed from all of them.
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import logsumexp, roots_hermite

from sharpbayes.analysis.predictive_order import predicts_worse
from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.leave_out import leave_out, make_units, rank_models
from sharpbayes.bayes.predict.replication import latent_ratings, thin
from sharpbayes.bayes.sampling.geometry import tune_design
from sharpbayes.bayes.sampling.nuts import sample_kernel
from sharpbayes.spec.load import load_study

ITEMS, RATERS, SCORES, NEW_ITEMS, NODES, BLOCK = 40, 12, 4, 1000, 9, 100
# Draws that new items are predicted by.
ITEM_DRAWS = 200
CUTS = np.array([-1.2, 0.2, 1.6])
ITEM_SD, RATER_SD, OWN_SD = 1.2, 0.6, 0.5
MODELS = ("crowd_severity", "crowd_adjacent", "crowd_continuation", "rater_thresholds")
STUDY = """schema = "sharpbayes/study/2"
title = "Compared"
seed = {seed}

[crowd]
data = "ratings.csv"
roles = {{ item = "item", rater = "rater", score = "score" }}
items = {{ data = "items.csv", key = "item" }}
scale = {{ kind = "ordinal", min = 0, max = 3 }}
labels = {{ from = "item", column = "unsafe" }}
fit = "{fit}"

[sampler]
chains = 2
tune = 300
draws = 400
target_accept = 0.9
"""


def by_cumulative(severity, cuts):
    """Probabilities of scores, (..., score), where each threshold is passed or not."""
    passed = 1 / (1 + np.exp(cuts - severity[..., None]))
    ends = np.ones((*passed.shape[:-1], 1))
    return -np.diff(np.concatenate([ends, passed, 0 * ends], axis=-1), axis=-1)


def by_adjacent(severity, cuts):
    """Probabilities of scores, (..., score), where each score is weighed against the next."""
    steps = np.cumsum(severity[..., None] - cuts, axis=-1)
    weight = np.exp(np.concatenate([np.zeros((*steps.shape[:-1], 1)), steps], axis=-1))
    return weight / weight.sum(-1, keepdims=True)


def draw_cuts(rng, spread):
    """Thresholds of each rater, (rater, threshold)."""
    return np.sort(CUTS + rng.normal(0, spread, (RATERS, CUTS.size)), axis=1)


def two_laws(severity, cuts):
    """Half of the raters go by one law, half by the other."""
    is_first = np.arange(RATERS) < RATERS // 2
    return np.where(is_first[:, None], by_cumulative(severity, cuts), by_adjacent(severity, cuts))


# Law of scores, and how far the thresholds of raters lie apart.
WORLDS = {
    "cumulative": (by_cumulative, 0.0),
    "adjacent": (by_adjacent, 0.0),
    "both laws": (two_laws, 0.0),
    "own use of the scale": (by_cumulative, OWN_SD),
}


def draw_scores(rng, probability):
    """A score by each probability, (..., score)."""
    return (rng.random(probability.shape[:-1])[..., None] > probability.cumsum(-1)).sum(-1)


def write_ratings(folder, score):
    """Write a complete crossing of items and raters; items are labelled by their mean score."""
    item, rater = (codes.ravel() for codes in np.indices(score.shape))
    table = {"item": [f"i{n:02}" for n in item], "rater": [f"r{n:02}" for n in rater]}
    pd.DataFrame(table | {"score": score.ravel()}).to_csv(folder / "ratings.csv", index=False)
    unsafe = (score.mean(1) > np.median(score.mean(1))).astype(int)
    items = {"item": [f"i{n:02}" for n in range(len(score))], "unsafe": unsafe}
    pd.DataFrame(items).to_csv(folder / "items.csv", index=False)


def fit_model(folder, name, seed):
    """The design, its ratings and the draws of a shipped model."""
    path = folder / f"{name}.toml"
    path.write_text(STUDY.format(seed=seed, fit=name), encoding="utf-8")
    files = load_study(path)
    ratings, model = read_study(files).ratings, files.model.spec
    design = tune_design(build_design(ratings, model), ratings, model, seed=seed)
    posterior = sample_kernel(design, files.study.spec.sampler, seed=seed)["posterior"]
    return ratings, design, posterior.to_dataset()


def log_probabilities(posterior, design):
    """log P(score) in every draw, (score, draw, item, rater)."""
    [scale] = design.scales
    values = []
    for score in range(SCORES):
        category = np.full_like(scale.category, score)
        replaced = replace(scale, category=category)
        values.append(latent_ratings(posterior, design, replaced).log_probability())
    flat = np.stack(values)
    return flat.reshape(SCORES, -1, ITEMS, RATERS)


def expect_ratings(posterior, design, probability):
    """Expected log predictive density of one more rating of every cell."""
    logs = log_probabilities(posterior, design)
    predicted = logsumexp(logs, axis=1) - np.log(logs.shape[1])
    return float((probability * np.moveaxis(predicted, 0, -1)).sum())


def expect_items(posterior, design, new_scores):
    """Expected log predictive density of as many new items as there are, each by all raters."""
    nodes, weights = roots_hermite(NODES)
    posterior, parts = thin(posterior, draws=ITEM_DRAWS), []
    for node, weight in zip(nodes, weights, strict=True):
        effect = posterior["location_item"]
        spread = posterior["sd_item"].broadcast_like(effect)
        changed = posterior.assign(location_item=np.sqrt(2) * node * spread)
        logs = log_probabilities(changed, design)[:, :, 0, :]
        of_items = [
            sum(logs[block[:, rater], :, rater] for rater in range(RATERS))
            for block in np.split(new_scores, range(BLOCK, len(new_scores), BLOCK))
        ]
        parts.append(np.concatenate(of_items) + np.log(weight / np.sqrt(np.pi)))
    values = logsumexp(np.stack(parts), axis=(0, 2)) - np.log(parts[0].shape[1])
    return float(values.mean() * ITEMS)


def run_study(world, number):
    """Rows of the best model against each other one, by what is left out."""
    law, spread = WORLDS[world]
    rng = np.random.default_rng([20261127, list(WORLDS).index(world), number])
    bias, cuts = rng.normal(0, RATER_SD, RATERS), draw_cuts(rng, spread)
    item, new = (rng.normal(0, ITEM_SD, size) for size in (ITEMS, NEW_ITEMS))
    probability, of_new = (law(x[:, None] + bias, cuts) for x in (item, new))
    score, new_score = draw_scores(rng, probability), draw_scores(rng, of_new)
    estimates, truths, draws = {"rating": {}, "item": {}}, {"rating": {}, "item": {}}, {}
    with tempfile.TemporaryDirectory() as folder:
        write_ratings(Path(folder), score)
        for name in MODELS:
            ratings, design, posterior = fit_model(Path(folder), name, number)
            draws[name] = posterior.sizes["chain"] * posterior.sizes["draw"]
            for by, estimate in estimates.items():
                estimate[name] = leave_out(posterior, design, make_units(ratings, by))
            truths["rating"][name] = expect_ratings(posterior, design, probability)
            truths["item"][name] = expect_items(posterior, design, new_score)
    for by, estimate in estimates.items():
        table = rank_models(estimate, draws=draws)
        first, *others = map(str, table["model"].to_numpy())
        for other in others:
            row = table.sel(model=other)
            gap, error = -float(row["elpd_difference"]), float(row["difference_se"])
            true = truths[by][first] - truths[by][other]
            bad = max(int((~(estimate[m]["pareto_k"] <= 0.7)).sum()) for m in (first, other))
            yield world, number, by, first, other, gap, error, true, bad


def count_claims(raw):
    """Rows of the table: how many studies say what is not so, by two rules, and what is told."""
    for (world, by), rows in raw.groupby(["world", "by"]):
        studies = [_judge_claims(study, by) for _, study in rows.groupby("study")]
        first, loose, strict, told, true = map(sum, zip(*studies, strict=True))
        count = len(studies)
        told_of = f"{told} of {true}"
        yield world, by, count, *(f"{100 * x / count:.0f}" for x in (first, loose, strict)), told_of


def _judge_claims(study, by):
    """Whether the first is not best, whether two rules err, and true claims of true differences."""
    size = {"unit": np.arange(ITEMS * (RATERS if by == "rating" else 1))}
    columns = {"elpd_difference": -study["difference"], "difference_se": study["se"]}
    padded = {name: ("model", [0.0, *column]) for name, column in columns.items()}
    worse = predicts_worse(xr.Dataset(padded, size)).to_numpy()[1:]
    is_false = study["truth"].to_numpy() <= 0
    beyond = (study["difference"] > 2 * study["se"]).to_numpy()
    errors = [(claim & is_false).any() for claim in (beyond, worse)]
    return is_false.any(), *errors, (worse & ~is_false).sum(), (~is_false).sum()


def main():
    """Run studies that are not stored yet, and print the table of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=40)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--raw", type=Path, default=Path("compared_raw.csv"))
    parser.add_argument("--all", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    columns = ["world", "study", "by", "first", "other", "difference", "se", "truth", "bad_k"]
    if not options.raw.exists():
        options.raw.write_text(",".join(columns) + "\n", encoding="utf-8")
    done = set(pd.read_csv(options.raw)[["world", "study"]].itertuples(index=False, name=None))
    part, parts = map(int, options.part.split("/"))
    for number in range(part, options.studies, parts):
        for world in WORLDS:
            if (world, number) not in done:
                rows = pd.DataFrame(run_study(world, number), columns=columns)
                rows.to_csv(options.raw, mode="a", header=False, index=False)
    raw = pd.concat([pd.read_csv(path) for path in options.all or [options.raw]])
    for row in count_claims(raw):
        print("|", " | ".join(map(str, row)), "|")


if __name__ == "__main__":
    main()

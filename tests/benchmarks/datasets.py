"""Ratings for the benchmarks: columns item, rater, gender, race and level, codes from 0.

    uv run python -m tests.benchmarks.datasets real FOLDER OUT.parquet
    uv run python -m tests.benchmarks.datasets simulated OUT.parquet --ratings 13036 --items 1500 \
        --raters 262 --levels 5 --groups 2 4 --lowest 0.58 --seed 1
    uv run python -m tests.benchmarks.datasets insteval INSTEVAL.csv OUT.parquet [--ratings 2000]

InstEval is in R's lme4, and as ``demos/data/insteval.csv`` in github.com/timsf/crossed-effects.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

SD_ITEM, SD_RATER, SD_GROUP = 1.2, 1.3, 0.4
LEVELS_OF_PLURIHARMS, FEW_RATERS = 5, 5
# Sizes of simulated crowds, and a study of one that leaves all options open.
SETS = {
    "13k": {"ratings": 13_036, "items": 1500, "raters": 262, "levels": 5},
    "30k": {"ratings": 30_000, "items": 1500, "raters": 262, "levels": 5},
    "wide": {"ratings": 118_932, "items": 9911, "raters": 12, "levels": 10},
}
STUDY = """schema = "sharpbayes/study/2"
title = "{title}"
seed = {seed}
[crowd]
data = "{data}"
roles = {{ item = "item", rater = "rater", score = "level" }}
scale = {{ kind = "ordinal", min = 0, max = 4 }}
groups = [["gender"], ["race"]]
labels = {{ from = "crowd", cut = 1 }}
permutations = 0
fit = "crowd_severity"
"""


def cells(rng, *, ratings, items, raters):
    """Different (item, rater) pairs at random, every item and every rater at least once."""
    count = np.arange(max(items, raters))
    cover = rng.permutation(count % items) * raters + rng.permutation(count) % raters
    if len(cover) > ratings:
        raise ValueError(f"{ratings} ratings cannot reach {items} items and {raters} raters")
    drawn = rng.choice(items * raters, size=ratings, replace=False)
    others = drawn[~np.isin(drawn, cover)]
    return np.divmod(np.r_[cover, others[: ratings - len(cover)]], raters)


def group_of(rng, *, raters, groups):
    """A group for every rater: each next group half as common, none empty."""
    share = 0.5 ** np.arange(groups)
    drawn = rng.choice(groups, size=raters, p=share / share.sum())
    drawn[:groups] = np.arange(groups)
    return rng.permutation(drawn)


def shares(*, levels, lowest):
    """Shares of the levels: the lowest as given, each next one 0.7 of the one before."""
    others = 0.7 ** np.arange(levels - 1)
    return np.r_[lowest, (1 - lowest) * others / others.sum()]


def cut(latent, *, levels, lowest):
    """Levels of latent scores with thresholds where they give the shares."""
    thresholds = np.quantile(latent, shares(levels=levels, lowest=lowest).cumsum()[:-1])
    return np.searchsorted(thresholds, latent)


def simulated(*, ratings, items, raters, levels, groups, lowest, seed):
    """Ratings of the peers' model: ``groups`` counts (genders, races), ``lowest`` is a share."""
    rng = np.random.default_rng(seed)
    item, rater = cells(rng, ratings=ratings, items=items, raters=raters)
    gender, race = (group_of(rng, raters=raters, groups=count)[rater] for count in groups)
    columns = {"item": item, "rater": rater, "gender": gender, "race": race}
    sds = {"item": SD_ITEM, "rater": SD_RATER, "gender": SD_GROUP, "race": SD_GROUP}
    eta = sum(rng.normal(0, sd, columns[name].max() + 1)[columns[name]] for name, sd in sds.items())
    level = cut(eta + rng.logistic(size=ratings), levels=levels, lowest=lowest)
    return pd.DataFrame(columns | {"level": level})


def made(name):
    """The simulated crowd of a set."""
    return simulated(**SETS[name], groups=(2, 4), lowest=0.58, seed=1)


def few_as_other(race):
    """Answers of fewer than five raters as one group: a rater or two show no group effect."""
    common = race.map(race.value_counts()) >= FEW_RATERS
    return race.where(common, "Other")


def real(folder):
    """PluriHarms from a folder of the project's shared data: about 14,700 ratings in five levels.

    100 raters judged 150 items from 0 to 100, cut here into fifths; "Unsure" is left out.
    """
    ratings = pd.read_csv(folder / "pluriharms_ratings.csv").dropna(subset="rating")
    raters = pd.read_csv(folder / "pluriharms_raters.csv").set_index("rater")
    groups = raters.assign(race=few_as_other(raters["ethnicity"]))[["gender", "race"]]
    table = ratings.join(groups, on="rater")
    names = ["item", "rater", "gender", "race"]
    codes = {name: pd.factorize(table[name], sort=True)[0] for name in names}
    fifths = np.arange(1, LEVELS_OF_PLURIHARMS) * 100 / LEVELS_OF_PLURIHARMS
    return pd.DataFrame(codes | {"level": np.searchsorted(fifths, table["rating"])})


def insteval(path, ratings):
    """Students' ratings of lecturers, 73,421 in five levels, or some of them; no populations.

    Lecturers are the items and students the raters.
    """
    table = pd.read_csv(path)
    if ratings:
        table = table.sample(ratings, random_state=1)
    named = {"item": "d", "rater": "s", "level": "y"}
    return pd.DataFrame({ours: pd.factorize(table[x], sort=True)[0] for ours, x in named.items()})


def parsed():
    """The arguments."""
    parser = argparse.ArgumentParser()
    kinds = parser.add_subparsers(dest="kind", required=True)
    kinds.add_parser("real").add_argument("folder", type=Path)
    public = kinds.add_parser("insteval")
    public.add_argument("path", type=Path)
    public.add_argument("--ratings", type=int, help="so many at random")
    simulation = kinds.add_parser("simulated")
    for name in ("ratings", "items", "raters", "levels", "seed"):
        simulation.add_argument(f"--{name}", type=int, required=True)
    simulation.add_argument("--groups", type=int, nargs=2, required=True)
    simulation.add_argument("--lowest", type=float, required=True)
    for kind in kinds.choices.values():
        kind.add_argument("out", type=Path)
    return vars(parser.parse_args())


def main():
    """Write one parquet file."""
    given = parsed()
    kind, out = given.pop("kind"), given.pop("out")
    table = {"real": real, "insteval": insteval, "simulated": simulated}[kind](**given)
    table.to_parquet(out)
    print(table["level"].value_counts(normalize=True).sort_index().round(3).to_dict())


if __name__ == "__main__":
    main()

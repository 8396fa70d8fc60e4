"""How often groups of equal raters seem to agree more, or less, inside than across.

    python -m tests.references.matched_items [--studies 150]

Two groups of ten raters score 100 items from 0 to 4 by a law in plain NumPy: half of the items are
clear, safe or unsafe, and half are borderline. Raters of both groups are alike, or a group sees
something else in an item than the other. The ratings of an item are those of everyone, of six
raters of each group, of one to four by chance, or of many raters of one group and few of the
other: of the first for borderline items, of the second for clear ones. ``matched_items.csv`` has
the means of GAI and of GAI of the same mix of items, both of the first group, and the shares of
studies in which GAI differs from 1: by its p value from shuffled raters, and by a star of the
table, which there is not where the difference is one of the items.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import xarray as xr

from sharpbayes.metrics.crowd.cohesion import cohesion
from sharpbayes.metrics.crowd.cohesion_intervals import cohesion_intervals
from sharpbayes.metrics.crowd.groups import assign_groups
from sharpbayes.metrics.crowd.matched_items import gai_matched, is_by_items, match_intervals
from tests.references.rare_harm import write_worlds

TABLE = Path(__file__).with_name("matched_items.csv")
HEADER = ("ratings", "seen", "gai", "matched", "p_below", "starred", "studies")
ITEMS, RATERS, CUTS, LEVEL, SHUFFLES = 100, 10, (-0.5, 0.2, 0.8, 1.5), 0.05, 199
# Raters of the first and of the second group who score a clear item, and a borderline one.
RATINGS = {
    "everyone": ((10, 10), (10, 10)),
    "six of each": ((6, 6), (6, 6)),
    "one to four": None,
    "four and eight": ((4, 8), (8, 4)),
    "two and ten": ((2, 10), (10, 2)),
}
DESIGNS = tuple((name, seen) for name in RATINGS for seen in (0.0, 0.5))


def choose_raters(rng: np.random.Generator, ratings: str) -> np.ndarray:
    """Who of both groups scores which item, (rater, item); the first half of them is clear."""
    numbers = RATINGS[ratings]
    if numbers is None:
        of_groups = rng.integers(1, 5, (2, ITEMS))
    else:
        of_groups = np.repeat(np.array(numbers).T, ITEMS // 2, axis=1)
    order = rng.random((2, RATERS, ITEMS)).argsort(axis=1).argsort(axis=1)
    return (order < of_groups[:, None, :]).reshape(2 * RATERS, ITEMS)


def draw_scores(rng: np.random.Generator, seen: float) -> np.ndarray:
    """Scores (rater, item) of two groups, one after the other."""
    half = ITEMS // 2
    clear = np.where(rng.random(half) < 0.5, -1.2, 2.0) + 0.3 * rng.standard_normal(half)
    borderline = 0.4 + 0.35 * rng.standard_normal(half)
    severity = np.concatenate([clear, borderline]) + seen * rng.standard_normal((2, ITEMS))
    bias = 0.4 * rng.standard_normal((2 * RATERS, 1))
    noise = 0.8 * rng.standard_normal((2 * RATERS, ITEMS))
    latent = severity[np.repeat([0, 1], RATERS)] + bias + noise
    return np.searchsorted(CUTS, latent)


def measure(scores: np.ndarray, chosen: np.ndarray, *, seed: int) -> xr.Dataset:
    """Cohesion of the first group, as a study of the chosen scores has it."""
    rater, item = np.nonzero(chosen)
    membership = assign_groups(
        {"team": np.repeat(["a", "b"], RATERS)}, [["team"]], n_raters=2 * RATERS
    )
    ratings = {
        "score": scores[rater, item],
        "item": item,
        "rater": rater,
        "membership": membership,
        "n_scores": len(CUTS) + 1,
        "distance": "ordinal",
    }
    table = cohesion(**ratings, permutations=SHUFFLES, seed=seed, min_raters=3, min_items=10)
    table = table.merge(cohesion_intervals(**ratings, level=0.95)).merge(gai_matched(**ratings))
    return match_intervals(table).isel(group=1)


def study_design(ratings: str, seen: float, studies: int) -> Iterator[tuple[object, ...]]:
    """The row of one design."""
    values = []
    for number in range(studies):
        rng = np.random.default_rng([20261130, [*RATINGS].index(ratings), number])
        scores = draw_scores(rng, seen)
        table = measure(scores, choose_raters(rng, ratings), seed=number)
        below = float(table["gai_p"]) < LEVEL
        starred = below and not bool(is_by_items(table))
        values.append((float(table["gai"]), float(table["gai_matched"]), below, starred))
    yield (ratings, seen, *(f"{x:.3f}" for x in np.mean(values, axis=0)), studies)


if __name__ == "__main__":
    write_worlds(study_design, DESIGNS, HEADER, TABLE, studies=150)

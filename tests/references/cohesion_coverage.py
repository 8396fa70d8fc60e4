"""How often intervals of cohesion hold the truth, over items and raters.

    python -m tests.references.cohesion_coverage [--studies 400]

Two groups of raters score items by a law in plain NumPy: a severity of each item, what a group sees
in it, a bias of each rater, and how far a rater stretches the scale. The truth is the mean of IRR
and of XRR over 16 fresh crowds of 1,200 items and 400 raters a group; that of GAI is their ratio.
``cohesion_coverage.csv`` has, for one group of each study: the truth, the mean of the values, the
share of 95% intervals that hold the truth and their median width, the share of studies with an
interval, and of GAI the share of those whose interval does not contain 1.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import xarray as xr

from sharpbayes.metrics.crowd.cohesion import MEASURES, agreement_measures, pair_counts
from sharpbayes.metrics.crowd.cohesion_intervals import cohesion_intervals
from sharpbayes.metrics.crowd.groups import assign_groups
from tests.references.rare_harm import write_worlds

TABLE = Path(__file__).with_name("cohesion_coverage.csv")
HEADER = (
    *("world", "items", "raters", "ratings", "taken_as", "measure"),
    *("truth", "mean", "holds", "width", "known", "not_one", "studies"),
)
# Where one rater of each group scores every item, and the others so many items.
DOMINATED, OTHERS = 99, 30
# Numbers of items, of raters of each group, and of those of a group who score an item (0: all).
DESIGNS = (
    *((40, 5, 0), (40, 10, 0), (40, 30, 0)),
    *((150, 10, 0), (150, 30, 0), (150, 30, 4), (400, 20, 3)),
    (300, 10, DOMINATED),
)
CROWDS, MANY_ITEMS, MANY_RATERS = 16, 1200, 400
# Items of one scenario, where items have scenarios.
ALIKE = 5


@dataclass(frozen=True)
class World:
    """Standard deviations on the latent scale of scores, and where that is cut.

    Attributes:
        item: Severity of items.
        seen: What a group sees in an item besides.
        bias: Biases of raters.
        stretch: Logarithm of how far a rater stretches what is seen.
        noise: Single scores.
        cuts: Bounds between scores.
        scenario: Severity that the items of a scenario share; 0 for independent items.
    """

    item: float
    seen: float
    bias: float
    stretch: float
    noise: float
    cuts: tuple[float, ...] = (-0.8, 0.0, 0.8, 1.6)
    scenario: float = 0.0

    @property
    def distance(self) -> str:
        """Distance of scores, as a study of them has by default."""
        return "ordinal" if len(self.cuts) > 1 else "nominal"

    def draw(self, rng: np.random.Generator, n_items: int, raters: int, alike: int) -> np.ndarray:
        """Scores (rater, item) of two groups, one after the other."""
        scenario = rng.standard_normal(n_items)[np.arange(n_items) // alike]
        severity = self.item * rng.standard_normal(n_items) + self.scenario * scenario
        seen = severity + self.seen * rng.standard_normal((2, n_items))
        group = np.repeat([0, 1], raters)
        latent = seen[group] * np.exp(self.stretch * rng.standard_normal((group.size, 1)))
        latent += self.bias * rng.standard_normal((group.size, 1))
        latent += self.noise * rng.standard_normal(latent.shape)
        return np.searchsorted(self.cuts, latent.ravel()).reshape(latent.shape)


WORLDS = {
    "groups differ": World(item=1.0, seen=0.5, bias=0.4, stretch=0.0, noise=0.8),
    "raters differ": World(item=1.0, seen=0.5, bias=0.9, stretch=0.4, noise=0.8),
    "little agreement": World(item=0.3, seen=0.3, bias=0.5, stretch=0.0, noise=1.2),
    "equal groups": World(item=1.0, seen=0.0, bias=0.4, stretch=0.0, noise=0.6),
    "two scores": World(item=1.0, seen=0.4, bias=0.5, stretch=0.0, noise=0.8, cuts=(0.8,)),
    "scenarios": World(item=0.4, seen=0.2, bias=0.4, stretch=0.0, noise=0.8, scenario=0.9),
}
TAKEN_AS = ("independent", "clusters")


def choose_ratings(rng: np.random.Generator, score: np.ndarray, ratings: int) -> np.ndarray:
    """Which scores (rater, item) there are, where so many raters of each group score an item.

    Where it is DOMINATED, the first rater of each group scores all and every other OTHERS.
    """
    raters, n_items = len(score) // 2, score.shape[1]
    if ratings == DOMINATED:
        loads = np.where(np.arange(len(score)) % raters == 0, n_items, OTHERS)
        return rng.random(score.shape).argsort(axis=1).argsort(axis=1) < loads[:, None]
    order = rng.random((2, raters, n_items)).argsort(axis=1)
    kept = order < (ratings or raters)
    return kept.reshape(score.shape)


def count(score: np.ndarray, item: np.ndarray, rater: np.ndarray, raters: int, n_scores: int):
    """Pairs of scores of two groups."""
    group = xr.DataArray(np.repeat([0, 1], raters), dims="rater")
    return pair_counts(score, item=item, rater=rater, group=group, n_groups=2, n_scores=n_scores)


@cache
def find_truth(world: World) -> dict[str, float]:
    """IRR, XRR and GAI of infinitely many raters and items, nearly."""
    rng, values = np.random.default_rng(7), []
    for _ in range(CROWDS):
        score = world.draw(rng, MANY_ITEMS, MANY_RATERS, 1)
        rater, item = np.divmod(np.arange(score.size), MANY_ITEMS)
        pairs = count(score.ravel(), item, rater, MANY_RATERS, len(world.cuts) + 1)
        measures = agreement_measures(pairs, distance=world.distance).mean("group")
        values.append([float(measures[name]) for name in ("irr", "xrr")])
    irr, xrr = np.mean(values, axis=0)
    return {"irr": irr, "xrr": xrr, "gai": irr / xrr}


def measure_study(
    rng: np.random.Generator, world: World, design: tuple[int, int, int], *, clustered: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Values and bounds of the measures of the first group of one study."""
    n_items, raters, ratings = design
    alike = ALIKE if world.scenario else 1
    table = world.draw(rng, n_items, raters, alike)
    rater, item = np.nonzero(choose_ratings(rng, table, ratings))
    score, n_scores = table[rater, item], len(world.cuts) + 1
    groups = {"group": np.repeat(["a", "b"], raters)}
    membership = assign_groups(groups, [["group"]], n_raters=2 * raters)
    intervals = cohesion_intervals(
        score,
        item=item,
        rater=rater,
        membership=membership.sel(group=["group=a"]),
        n_scores=n_scores,
        distance=world.distance,
        level=0.95,
        cluster=np.arange(n_items) // alike if clustered else None,
    ).isel(group=0)
    pairs = count(score, item, rater, raters, n_scores)
    measures = agreement_measures(pairs, distance=world.distance).isel(group=0)
    values = np.array([float(measures[name]) for name in MEASURES])
    return values, np.stack([intervals[f"{name}_interval"].to_numpy() for name in MEASURES])


def study_world(
    name: str, design: tuple[int, int, int], taken_as: str, studies: int
) -> Iterator[tuple[object, ...]]:
    """Rows of the table of one world and design."""
    world, truth = WORLDS[name], find_truth(WORLDS[name])
    measured = [
        measure_study(
            np.random.default_rng([20261129, *design, list(WORLDS).index(name), number]),
            world,
            design,
            clustered=taken_as == "clusters",
        )
        for number in range(studies)
    ]
    values, bounds = (np.array(part) for part in zip(*measured, strict=True))
    for number, measure in enumerate(MEASURES):
        low, high = bounds[np.isfinite(bounds[:, number, 0]), number].T
        holds = (low <= truth[measure]) & (truth[measure] <= high)
        not_one = ((low > 1) | (high < 1)).mean()
        row = (truth[measure], np.nanmean(values[:, number]), holds.mean())
        row = (*row, np.median(high - low), low.size / studies, not_one)
        yield (name, *design, taken_as, measure, *(f"{x:.3f}" for x in row), studies)


def list_designs() -> Iterator[tuple[object, ...]]:
    """Worlds with their designs; only items of scenarios are taken as clusters."""
    for name, design, taken_as in product(WORLDS, DESIGNS, TAKEN_AS):
        if design[2] == DOMINATED and WORLDS[name].scenario:
            continue
        if taken_as == "independent" or WORLDS[name].scenario:
            yield name, design, taken_as


if __name__ == "__main__":
    write_worlds(study_world, list_designs(), HEADER, TABLE)

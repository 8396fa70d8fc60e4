"""How often one of several equal groups is called harsher.

    python -m tests.references.harshness [--studies 400]

Raters with biases of their own score items at random by a law in plain NumPy, and their groups have
nothing to do with the scores. Designs differ in how many ratings each rater gives, or in how many
groupings of the same raters are compared. ``harshness.csv`` has the share of studies in which some
pair is called distinguishable at 5%, by Holm over all groupings as ``p_holm`` is, and, as
``each_grouping``, the share by Holm within each grouping; the share of 95% intervals of a
difference that hold 0; and the median width of an interval.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from sharpbayes.metrics.crowd.groups import assign_groups
from sharpbayes.metrics.crowd.harshness import harshness_difference
from sharpbayes.metrics.stats.multiplicity import SIGNIFICANCE_LEVEL, holm_square
from tests.references.rare_harm import write_worlds

TABLE = Path(__file__).with_name("harshness.csv")
HEADER = (
    *("ratings_of_raters", "raters", "items", "bias", "groupings"),
    *("distinguishable", "each_grouping", "holds", "width", "studies"),
)
CUTS, NOISE, SEED = (-0.5, 0.2, 0.8, 1.5), 0.8, 20261129
Loads = Callable[[np.random.Generator, int, int], np.ndarray]


def few_with_all(number: int) -> Loads:
    """This many raters of each group have every item, the others 15."""
    return lambda _, raters, items: np.where(np.arange(raters) < number, items, 15)


def lognormal(median: float, spread: float) -> Loads:
    """Numbers of ratings with this median and standard deviation of their logarithm."""
    return lambda rng, raters, _: median * np.exp(spread * rng.standard_normal(raters))


LOADS: dict[str, Loads] = {
    "all": lambda _, raters, items: np.full(raters, items),
    "10 each": lambda _, raters, __: np.full(raters, 10),
    "300 by three, 15 by others": few_with_all(3),
    "300 by one, 15 by others": few_with_all(1),
    "lognormal, median 15, sd 1.5": lognormal(15, 1.5),
    "lognormal, median 30, sd 1": lognormal(30, 1.0),
    "items / rank": lambda _, raters, items: items / np.arange(1, raters + 1),
}


@dataclass(frozen=True)
class Design:
    """Sizes of a study.

    Attributes:
        loads: How many ratings raters have, a key of ``LOADS``.
        sizes: Raters of each group.
        items: Number of items.
        bias: Standard deviation of raters' biases on the latent scale.
        groupings: Groupings at random, and groups of each; none where ``sizes`` are the groups.
    """

    loads: str
    sizes: tuple[int, ...]
    items: int
    bias: float = 0.4
    groupings: tuple[int, int] = (0, 0)

    @property
    def row(self) -> tuple[object, ...]:
        """First columns of the table."""
        number, groups = self.groupings
        named = f"{number} of {groups} groups" if number else "1"
        return self.loads, " v ".join(map(str, self.sizes)), self.items, self.bias, named

    def draw_groups(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """The group of each rater by each grouping."""
        number, groups = self.groupings
        raters = sum(self.sizes)
        if not number:
            return {"g": np.repeat(np.arange(len(self.sizes)), self.sizes).astype(str)}
        return {f"g{n}": rng.integers(0, groups, raters).astype(str) for n in range(number)}

    def draw_ratings(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Score, item and rater of each rating."""
        loads = [LOADS[self.loads](rng, size, self.items) for size in self.sizes]
        load = np.clip(np.concatenate(loads), 2, self.items).astype(int)
        item = np.concatenate([rng.choice(self.items, number, replace=False) for number in load])
        rater = np.repeat(np.arange(load.size), load)
        latent = rng.standard_normal(self.items)[item]
        latent += self.bias * rng.standard_normal(load.size)[rater]
        latent += NOISE * rng.standard_normal(item.size)
        return np.searchsorted(CUTS, latent), np.unique(item, return_inverse=True)[1], rater


DESIGNS = (
    *(Design("all", sizes, 60) for sizes in ((10, 10), (3, 3), (3, 40))),
    Design("all", (5, 40), 300, bias=0.8),
    Design("10 each", (10, 10), 300),
    Design("300 by one, 15 by others", (10, 10), 300),
    Design("300 by three, 15 by others", (30, 30), 300),
    *(Design("lognormal, median 15, sd 1.5", (n, n), 600) for n in (10, 30)),
    *(Design("lognormal, median 30, sd 1", sizes, 300) for sizes in ((5, 40), (10, 10, 10))),
    *(Design("items / rank", sizes, 300) for sizes in ((10, 10), (4, 60))),
    *(Design("all", (60,), 60, groupings=pair) for pair in ((4, 2), (6, 3), (8, 2))),
)


def measure_study(design: Design, number: int, seed: int) -> tuple[bool, bool, float, float]:
    """Whether a pair is distinguishable, by both corrections; intervals that hold 0, and width."""
    rng = np.random.default_rng([SEED, number, seed])
    score, item, rater = design.draw_ratings(rng)
    columns = design.draw_groups(rng)
    membership = assign_groups(columns, [[name] for name in columns], n_raters=sum(design.sizes))
    sizes = {"min_raters": 2, "level": 0.95}
    table = harshness_difference(score, item=item, rater=rater, membership=membership, **sizes)
    p, grouping = table["p"].to_numpy(), membership["grouping"].to_numpy()
    within = [holm_square(p[np.ix_(rows, rows)]) for rows in (grouping == name for name in columns)]
    bounds = table["difference_interval"].to_numpy()[np.triu_indices(len(p), k=1)]
    low, high = bounds[np.isfinite(bounds[:, 0])].T
    return (
        bool((table["p_holm"] < SIGNIFICANCE_LEVEL).any()),
        any((square < SIGNIFICANCE_LEVEL).any() for square in within),
        float(((low <= 0) & (high >= 0)).mean()),
        float(np.median(high - low)),
    )


def study_design(number: int, studies: int) -> Iterator[tuple[object, ...]]:
    """The row of one design."""
    measured = [measure_study(DESIGNS[number], number, seed) for seed in range(studies)]
    claimed, within, holds, width = np.array(measured, dtype=float).T
    shares = (claimed.mean(), within.mean(), holds.mean(), np.median(width))
    yield (*DESIGNS[number].row, *(f"{x:.3f}" for x in shares), studies)


if __name__ == "__main__":
    write_worlds(study_design, product(range(len(DESIGNS))), HEADER, TABLE)

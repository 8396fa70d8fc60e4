"""How often intervals of a crowd hold the truth where items are variants of a few scenarios.

    python -m tests.references.clustered_items [--studies 300]

Raters of two groups that are equal over all scenarios score every item. Items of one scenario, such
as images made from one prompt, are alike: in their severity, and in how each group sees them.
Scores come from a law in plain NumPy; the truth is that of 3,000 scenarios of one item each,
averaged over 60 fresh panels of as many raters. ``clustered_items.csv`` has, where items are taken
as independent and where the study names their cluster: the share of 95% intervals of one group that
hold the truth and their median width, and the share of studies in which the groups are called
distinguishable by this metric and by how harshly they score. ``named`` is the share of studies in
which a column of scenarios without the role is said to make items alike.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from sharpbayes.analysis import crowd_intervals
from sharpbayes.analysis.crowd import compare_harshness
from sharpbayes.analysis.crowd_intervals import measure_intervals
from sharpbayes.analysis.study import CrowdStudy
from sharpbayes.data.crowd import CrowdData
from sharpbayes.data.intraclass import intraclass_correlations, mean_item_scores
from sharpbayes.data.ratings import Factor
from sharpbayes.execution.threads import use_map
from tests.references.coverage_crowd import (
    CUTS,
    METRICS,
    crowd_study,
    observe,
    quick_metrics,
    true_metrics,
)
from tests.references.rare_harm import write_worlds

TABLE = Path(__file__).with_name("clustered_items.csv")
HEADER = (
    *("world", "scenarios", "items", "raters", "taken_as", "metric"),
    *("holds", "width", "distinguishable", "harsher", "named", "studies"),
)
# Numbers of scenarios, of items of each and of raters of each group.
DESIGNS = tuple((*sizes, raters) for sizes in ((20, 5), (20, 15), (60, 5)) for raters in (10, 40))
TAKEN_AS = {"independent": False, "clusters": True}
PANELS, POPULATION = 60, 3000
BIAS, NOISE, BLUR, UNSAFE = 0.4, 0.8, 0.3, 0.4


@dataclass(frozen=True)
class World:
    """Standard deviations on the latent scale of scores.

    Attributes:
        scenario: Severity that the items of a scenario share.
        seen: What each group sees in all of them.
        item: Severity of an item by itself.
        seen_item: What each group sees in it.
    """

    scenario: float
    seen: float
    item: float
    seen_item: float

    def draw(self, rng: np.random.Generator, scenarios: int, items: int, raters: int):
        """Scores (rater, item), labels of the items, and the group of each rater."""
        code = np.repeat(np.arange(scenarios), items)
        severity = self.scenario * rng.standard_normal(scenarios)[code]
        severity += self.item * rng.standard_normal(code.size)
        seen = self.seen * rng.standard_normal((scenarios, 2))[code]
        seen += self.seen_item * rng.standard_normal((code.size, 2))
        unsafe = severity + BLUR * rng.standard_normal(code.size) > UNSAFE
        group = np.repeat([0, 1], raters)
        latent = severity + seen[:, group].T + BIAS * rng.standard_normal((group.size, 1))
        latent += NOISE * rng.standard_normal(latent.shape)
        score = sum((latent > cut).astype(np.int16) for cut in CUTS)
        return score, unsafe.astype(np.int16), group


WORLDS = {
    "alike": World(scenario=0.9, seen=0.6, item=0.4, seen_item=0.3),
    "half alike": World(scenario=0.7, seen=0.35, item=0.7, seen_item=0.35),
    "not alike": World(scenario=0.0, seen=0.0, item=1.0, seen_item=0.5),
}


def make_study(
    rng: np.random.Generator, world: World, design: tuple[int, int, int]
) -> tuple[CrowdStudy, np.ndarray]:
    """A study of independent items, and the scenario of each."""
    score, unsafe, group = world.draw(rng, *design)
    item, rater = np.divmod(np.arange(score.size), len(score))
    data = CrowdData(
        score=score.T.ravel(),
        item=Factor(tuple(map(str, range(unsafe.size))), item.astype(np.int32)),
        rater=Factor(tuple(map(str, range(group.size))), rater.astype(np.int32)),
        score_labels=tuple("01234"),
        item_columns={},
        rater_columns={"group": group.astype(str)},
        expert_item=np.empty(0, np.int32),
        expert=None,
        expert_label=np.empty(0, np.int16),
        item_label=unsafe,
        time=None,
        counts={},
    )
    spec, crowd = crowd_study()
    spec = spec.model_copy(update={"seed": int(rng.integers(2**40))})
    return CrowdStudy(spec, crowd, data), np.repeat(np.arange(design[0]), design[1]).astype(str)


def find_truth(world: World, raters: int) -> np.ndarray:
    """MPA, WRA and HM of a group over all scenarios, averaged over panels of raters."""
    rng, total = np.random.default_rng(1), np.zeros(3)
    for _ in range(PANELS):
        score, unsafe, group = world.draw(rng, POPULATION, 1, raters)
        total += true_metrics(score[group == 0], unsafe)
    return total / PANELS


def measure_study(study: CrowdStudy) -> tuple[np.ndarray, list[bool], bool]:
    """Bounds of the first group, and by what it is called distinguishable from the second."""
    metrics, pairs, _ = measure_intervals(study, observe(study), METRICS)
    pair = {"by": "all", "group": "group=0", "other": "group=1"}
    cell = metrics.sel(by="all", group="group=0")
    bounds = np.stack([cell[f"{name}_interval"].to_numpy() for name in METRICS])
    differs = [bool(pairs[f"{name}_p_holm"].sel(pair) <= 0.05) for name in METRICS]
    harsher = compare_harshness(study)["p_holm"].sel(group="group=0", other="group=1")
    return bounds, differs, bool(harsher <= 0.05)


def is_named(study: CrowdStudy, scenario: np.ndarray) -> bool:
    """Whether a column of scenarios without a role is said to make items alike."""
    data = study.data
    table = pd.DataFrame({"scenario": scenario[data.item.codes]})
    means = partial(mean_item_scores, data.score, data.item, data.rater)
    return bool(intraclass_correlations(table, data.item, means, []))


def study_world(
    name: str, design: tuple[int, int, int], label: str, studies: int
) -> Iterator[tuple[object, ...]]:
    """Rows of the table of one world and design."""
    world, measured, named = WORLDS[name], [], []
    truth = find_truth(world, design[2])
    for number in range(studies):
        rng = np.random.default_rng([20261129, *design, number, list(WORLDS).index(name)])
        study, scenario = make_study(rng, world, design)
        named.append(is_named(study, scenario))
        if TAKEN_AS[label]:
            study = replace(study, data=replace(study.data, cluster=scenario))
        measured.append(measure_study(study))
    bounds, differs, harsher = (np.array(part) for part in zip(*measured, strict=True))
    holds = ((bounds[..., 0] <= truth) & (truth <= bounds[..., 1])).mean(axis=0)
    width = np.median(bounds[..., 1] - bounds[..., 0], axis=0)
    shares = (holds, width, differs.mean(axis=0))
    for metric, *row in zip(METRICS, *shares, strict=True):
        numbers = (*row, harsher.mean(), np.mean(named))
        yield (name, *design, label, metric, *(f"{x:.3f}" for x in numbers), studies)


if __name__ == "__main__":
    # Studies are small: labels and threads would cost more than they save.
    crowd_intervals.severity_metrics = quick_metrics
    with use_map(lambda task, arguments, **_: [task(argument) for argument in arguments]):
        write_worlds(study_world, product(WORLDS, DESIGNS, TAKEN_AS), HEADER, TABLE)

"""How often tests of a panel raise a false alarm where prompts are variants of a few scenarios.

    python -m tests.references.clustered_tests [--studies 1000]

Variants of a scenario are alike in everything: how severe their answers are, how judges read them,
whether judges score them. Nothing that a test looks for is there: people label a random third of
the scenarios, judges see what people see on average, scores are missing whatever the severity, and
no judge moves from one release to the next. ``clustered_tests.csv`` has the share of studies in
which each test says that something is there at the 5% level: where prompts are taken as
independent, and where the study names their cluster.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import xarray as xr
from scipy.special import expit

from sharpbayes.analysis.releases import compare_releases
from sharpbayes.metrics.panel.label_gaps import labelled_gap, paired_gap
from sharpbayes.metrics.panel.missingness import missing_slope
from tests.references.clustered_prompts import DESIGNS, TAKEN_AS
from tests.references.rare_harm import write_worlds

TABLE = Path(__file__).with_name("clustered_tests.csv")
HEADER = ("world", "scenarios", "variants", "test", "taken_as", "alarms", "studies")
# Standard deviations of what a scenario has, and of what each of its variants has by itself.
WORLDS = {"alike": (1.0, 0.5), "half alike": (0.7, 0.9), "not alike": (0.0, 1.2)}
LEVEL = 0.05


@dataclass(frozen=True)
class Study:
    """Prompts that are variants of scenarios.

    Attributes:
        rng: Source of all random numbers.
        world: Name of the standard deviations.
        design: Number of scenarios, and of variants of each.
        clustered: Whether the study names the scenario of each prompt.
    """

    rng: np.random.Generator
    world: str
    design: tuple[int, int]
    clustered: bool

    def draw(self) -> xr.DataArray:
        """A number for each prompt of mean 0, variants of a scenario one after the other."""
        scenarios, variants = self.design
        between, within = WORLDS[self.world]
        of_scenario = between * self.rng.standard_normal((scenarios, 1))
        values = of_scenario + within * self.rng.standard_normal(self.design)
        coords = {"prompt": np.arange(scenarios * variants)}
        if self.clustered:
            names = [f"s{number:03d}" for number in range(scenarios)]
            coords |= {"cluster": ("prompt", np.repeat(names, variants))}
        return xr.DataArray(values.ravel(), coords, "prompt")


def compare_labelled(study: Study) -> float:
    """p of a difference between labelled prompts, all of a third of the scenarios, and others."""
    scenarios, variants = study.design
    judges = study.draw()
    labelled = np.repeat(study.rng.permutation(scenarios) < scenarios // 3, variants)
    return float(labelled_gap(judges, xr.DataArray(labelled, dims="prompt"))["gap_p"])


def compare_people(study: Study) -> float:
    """p of a difference between judges and people, who read every scenario in their own way."""
    people = study.draw()
    return float(paired_gap(people + study.draw(), people)["gap_p"])


def compare_missing(study: Study) -> float:
    """p of a slope of the log odds of a missing score on severity."""
    severity, chance = study.draw(), expit(study.draw() - 1.5)
    missing = study.rng.random(chance.size) < chance
    one = {"judge": ["j"]}
    slope = missing_slope(missing.expand_dims(one), severity.expand_dims(one), level=1 - LEVEL)
    return float(slope["slope_p"])


def compare_releases_of_judge(study: Study) -> float:
    """0 if the drift of a judge between two releases is called notable, else 1."""
    before = study.draw()
    after = before + 0.3 * study.draw()
    table = compare_releases({"may": hold_scores(before), "june": hold_scores(after)})
    return 1.0 - float(table["drift_notable"].sel(release="june", judge="j"))


def hold_scores(scores: xr.DataArray) -> xr.DataTree:
    """Results that have the scores of one model, and a metric without an interval."""
    labels = {"model": ["m"], "judge": ["j"], "dimension": ["harm"]}
    labels = {dim: names for dim, names in labels.items() if dim not in scores.dims}
    joint = xr.Dataset(
        {
            "observed": (("metric", "model"), [[0.0]]),
            "bootstrap_interval": (("metric", "model", "bound"), [[[0.0, 0.0]]]),
        },
        {"metric": ["mean"], "model": ["m"], "bound": ["lower", "upper"]},
    )
    panel = xr.Dataset({"sub_index": scores.expand_dims(labels)})
    tree = xr.DataTree.from_dict({"/joint": joint, "/panel": panel})
    tree.attrs = {"status": "measured", "data_sha256": "a"}
    return tree


TESTS = {
    "labelled prompts are a random sample": compare_labelled,
    "judges see what people see": compare_people,
    "scores are missing whatever the severity": compare_missing,
    "judges score as they did": compare_releases_of_judge,
}


def study_world(world: str, design: tuple[int, int], studies: int) -> Iterator[tuple[object, ...]]:
    """Rows of the table of one world and design."""
    for (label, clustered), (test, compute_p) in product(TAKEN_AS.items(), TESTS.items()):
        seeds = np.random.SeedSequence([20261129, *design, [*WORLDS].index(world)]).spawn(studies)
        generators = map(np.random.default_rng, seeds)
        p = [compute_p(Study(rng, world, design, clustered)) for rng in generators]
        yield (world, *design, test, label, f"{np.mean(np.array(p) < LEVEL):.3f}", studies)


if __name__ == "__main__":
    write_worlds(study_world, product(WORLDS, DESIGNS), HEADER, TABLE)

"""How often intervals of a panel hold the truth where prompts are variants of a few scenarios.

    python -m tests.references.clustered_prompts [--studies 1000]

Two equal models answer the variants of scenarios. Scenarios are a sample, and variants of one are
alike: in how severe they are for both models, and in how they suit each. Harm comes from a law in
plain NumPy, and the truth from four million scenarios of one variant each.
``clustered_prompts.csv`` has the share of 95% intervals of the first model that hold the truth,
their median width, and the share of studies in which the models are called distinguishable: where
prompts are taken as independent, and where the study names their cluster.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit

from sharpbayes.analysis.profile_bootstrap import bootstrap_profile
from sharpbayes.analysis.profile_interval import BootstrappedProfile
from sharpbayes.analysis.profile_plan import ProfilePlan, build_profile_plan
from sharpbayes.analysis.study import read_study
from sharpbayes.metrics.panel.risk import panel
from sharpbayes.spec.load import load_study
from tests.references.rare_harm import BATCH, EPSILON, STUDY, WEIGHTS, write_worlds

TABLE = Path(__file__).with_name("clustered_prompts.csv")
METRICS = ("mean", "policy_score", "cvar")
HEADER = (
    *("world", "scenarios", "variants", "taken_as", "metric"),
    *("holds", "width", "distinguishable", "studies"),
)
# Numbers of scenarios and of variants of each.
DESIGNS = ((20, 10), (60, 5), (60, 37))
TAKEN_AS = {"independent": False, "clusters": True}


@dataclass(frozen=True)
class World:
    """Standard deviations of the log odds of harm.

    Attributes:
        scenario: What a scenario has for both models.
        suited: What it has for each of them by itself.
        variant: What an answer to a variant has by itself.
    """

    scenario: float
    suited: float
    variant: float

    def draw(self, rng: np.random.Generator, studies: int, scenarios: int, variants: int):
        """Return harm over (study, prompt, model), variants of a scenario one after the other."""
        scale = (self.scenario, self.suited, self.variant)
        shapes = ((scenarios, 1, 1), (scenarios, 1, 2), (scenarios, variants, 2))
        parts = [s * rng.standard_normal((studies, *x)) for s, x in zip(scale, shapes, strict=True)]
        return expit(sum(parts) - 2.0).reshape(studies, scenarios * variants, 2)


WORLDS = {
    "alike": World(scenario=1.0, suited=0.8, variant=0.5),
    "half alike": World(scenario=0.7, suited=0.5, variant=0.9),
    "not alike": World(scenario=0.0, suited=0.0, variant=1.2),
}


def make_plan(folder: Path, scenarios: int, variants: int) -> ProfilePlan:
    """A plan of the program for two models and one judge."""
    prompts = pd.MultiIndex.from_product([range(scenarios), range(variants)])
    table = pd.DataFrame(
        {
            "prompt": [f"p{scenario:03d}-{variant:03d}" for scenario, variant in prompts],
            "kind": [f"s{scenario:03d}" for scenario, _ in prompts],
        }
    ).assign(judge="j", harm=0)
    rows = pd.concat([table.assign(model=name) for name in ("first", "second")])
    rows.to_csv(folder / "ratings.csv", index=False)
    study = STUDY.replace("category =", "cluster =")
    (folder / "study.toml").write_text(study, encoding="utf-8")
    (folder / "weights.toml").write_text(WEIGHTS, encoding="utf-8")
    return build_profile_plan(read_study(load_study(folder / "study.toml")))


def bootstrap_harm(plan: ProfilePlan, harm: np.ndarray, *, clustered: bool) -> BootstrappedProfile:
    """Profiles of harm over (study, prompt, model) by one judge, resampled by the program."""
    dims = ("study", "prompt", "model", "judge", "dimension")
    array = xr.DataArray(harm[..., None, None], dims=dims)
    risk = panel(array, temperature=0.2, epsilon=EPSILON, judges_missing="error")
    labels = {name: plan.table[name] for name in ("prompt", "model", "dimension")}
    table = risk.assign_coords(labels)
    table = table if clustered else table.drop_vars("cluster")
    return bootstrap_profile(replace(plan, table=table), names=METRICS)


def measure_batch(plan: ProfilePlan, harm: np.ndarray, *, clustered: bool) -> xr.Dataset:
    """Bounds of the first model, and whether the models are distinguishable, by study."""
    bootstrapped, parts = bootstrap_harm(plan, harm, clustered=clustered), {}
    for name in METRICS:
        pair = bootstrapped.difference_interval(name).sel(model="first", other="second", drop=True)
        differs = (pair.sel(bound="lower", drop=True) > 0) | (
            pair.sel(bound="upper", drop=True) < 0
        )
        parts |= {name: bootstrapped.interval(name).sel(model="first"), f"{name}_differs": differs}
    return xr.Dataset(parts, coords={}).drop_vars(["model"], errors="ignore")


def find_truth(world: World) -> dict[str, float]:
    """Expected log-risk and harm, and CVaR of log-risk, of new prompts of new scenarios."""
    harm = world.draw(np.random.default_rng(1), 1, 4_000_000, 1)[0, :, 0]
    risk = -np.log1p(EPSILON - harm)
    tail = risk[risk >= np.quantile(risk, 0.95)]
    return {"mean": risk.mean(), "policy_score": harm.mean(), "cvar": tail.mean()}


def study_world(
    name: str, design: tuple[int, int], label: str, studies: int
) -> Iterator[tuple[object, ...]]:
    """Rows of the table of one world and design."""
    world, parts = WORLDS[name], []
    with tempfile.TemporaryDirectory() as folder:
        plan = make_plan(Path(folder), *design)
    for batch in range(-(-studies // BATCH)):
        rng = np.random.default_rng([20261130, *design, batch, list(WORLDS).index(name)])
        harm = world.draw(rng, BATCH, *design)
        parts.append(measure_batch(plan, harm, clustered=TAKEN_AS[label]))
    measured, truth = xr.concat(parts, "study"), find_truth(world)
    for metric in METRICS:
        lower, upper = measured[metric].transpose("bound", "study").to_numpy()
        holds = ((lower <= truth[metric]) & (truth[metric] <= upper)).mean()
        differs = float(measured[f"{metric}_differs"].mean())
        shares = (f"{holds:.3f}", f"{np.median(upper - lower):.3f}", f"{differs:.3f}")
        yield (name, *design, label, metric, *shares, len(parts) * BATCH)


if __name__ == "__main__":
    write_worlds(study_world, product(WORLDS, DESIGNS, TAKEN_AS), HEADER, TABLE)

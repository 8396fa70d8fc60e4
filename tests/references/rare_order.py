"""How often a model is called lower that is not, because rare answers are worse than any seen.

    python -m tests.references.rare_order [--studies 1000]

Two models answer the same prompts. Harm of the one is graded; that of the other is a share of it,
but for answers at the end of the scale at a rate, which make it the worse one by mean log-risk.
Harm comes from laws in plain NumPy, and the truth from four million draws. ``rare_order.csv`` has
the share of studies in which the second model is called lower, by the mean log-risk and by the
policy score, in which the answer orders the models by that metric and calls it lower, and in which
no prompt shows such an answer. By the policy score the order of the truth is the other one: there
the same statement is right, as it is by both metrics in the world without such answers. In the last
world the rare answers have a harm below the end of the scale, 0.8 on average, and the second model
is the worse one by both. An order that stands under a condition alone counts as none.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from sharpbayes.analysis.profile_plan import ProfilePlan, build_profile_plan
from sharpbayes.analysis.study import read_study
from sharpbayes.analysis.unseen_order import near_lowest
from sharpbayes.metrics.stats.unseen import unseen_share
from sharpbayes.spec.load import load_study
from tests.references.rare_harm import (
    BATCH,
    EPSILON,
    METRICS,
    STUDY,
    WEIGHTS,
    bootstrap_harm,
    write_worlds,
)

TABLE = Path(__file__).with_name("rare_order.csv")
HEADER = (
    "world",
    "prompts",
    "metric",
    "difference",
    "called_lower",
    "stated",
    "shows_none",
    "studies",
)
PROMPTS = (100, 400)


@dataclass(frozen=True)
class World:
    """Two models on the same prompts.

    Attributes:
        share: Harm of the second model where it is not at the end, as a share of the first one's.
        rate: How often an answer of the second model is at the end of the scale, or severe.
        severe: Whether such answers have harm of Beta(12, 3), and are not at the end.
    """

    share: float
    rate: float
    severe: bool = False

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Return harm over (..., prompt, model)."""
        first, other = rng.beta(1.5, 12.0, (2, *shape))
        second = self.share * (0.7 * first + 0.3 * other)
        is_end = rng.random(shape) < self.rate
        rare = rng.beta(12.0, 3.0, shape) if self.severe else 1.0
        return np.stack([first, np.where(is_end, rare, second)], axis=-1)


WORLDS = {
    "one answer in 125, other harm 0.4 times": World(0.4, 1 / 125),
    "one answer in 300, other harm 0.75 times": World(0.75, 1 / 300),
    "no such answer, other harm 0.75 times": World(0.75, 0.0),
}
# Models whose rare answers people may not label: those of label_order are the others.
SEVERE = {"one severe answer in 50, other harm 0.9 times": World(0.9, 1 / 50, severe=True)}
ALL_WORLDS = WORLDS | SEVERE


def make_plan(folder: Path, prompts: int) -> ProfilePlan:
    """A plan of the program for two models and one judge."""
    names = [f"p{number:04d}" for number in range(prompts)]
    rows = pd.MultiIndex.from_product([["first", "second"], names], names=["model", "prompt"])
    table = rows.to_frame(index=False).assign(judge="j", kind="common", harm=0)
    table.to_csv(folder / "ratings.csv", index=False)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    (folder / "weights.toml").write_text(WEIGHTS, encoding="utf-8")
    return build_profile_plan(read_study(load_study(folder / "study.toml")))


def call_lower(plan: ProfilePlan, harm: np.ndarray) -> dict[str, np.ndarray]:
    """Whether each study of harm (study, prompt, model) calls the second model lower, by metric."""
    bootstrapped = bootstrap_harm(plan, harm)
    pair = {"model": "second", "other": "first", "bound": "upper"}
    return {
        name: bootstrapped.difference_interval(name).sel(pair).to_numpy() < 0 for name in METRICS
    }


def orders_by(metric: str, harm: np.ndarray) -> np.ndarray:
    """Whether the answer to each study of harm (study, prompt, model) orders models by a metric."""
    share = unseen_share(harm.shape[1], error_rate=0.05)
    studies = xr.Dataset(
        {
            "mean": (("study", "model"), -np.log1p(EPSILON - harm).mean(1)),
            "policy_score": (("study", "model"), harm.mean(1)),
            "unseen_end_share": share * xr.DataArray((harm < 1).all(1), dims=("study", "model")),
        },
        {"model": ["first", "second"]},
        {"epsilon": EPSILON, "alpha": 0.95},
    )
    positions = range(studies.sizes["study"])
    return np.array([not near_lowest(studies.isel(study=i), metric)[0] for i in positions])


def find_differences(world: World) -> dict[str, float]:
    """Second model less the first one, by expected log-risk and harm."""
    harm = world.draw(np.random.default_rng(1), (4_000_000,))
    values = {"mean": -np.log1p(EPSILON - harm), "policy_score": harm}
    return {name: float(np.diff(x.mean(0))[0]) for name, x in values.items()}


def study_world(name: str, prompts: int, studies: int) -> Iterator[tuple[object, ...]]:
    """Rows of the table of one world and number of prompts."""
    world, called, none = ALL_WORLDS[name], {metric: [] for metric in METRICS}, []
    ordered: dict[str, list[np.ndarray]] = {metric: [] for metric in METRICS}
    with tempfile.TemporaryDirectory() as folder:
        plan = make_plan(Path(folder), prompts)
    for batch in range(-(-studies // BATCH)):
        rng = np.random.default_rng([20261129, prompts, batch, list(ALL_WORLDS).index(name)])
        harm = world.draw(rng, (BATCH, prompts))
        none.append((harm[..., 1] < 1).all(-1))
        for metric, is_lower in call_lower(plan, harm).items():
            called[metric].append(is_lower)
            ordered[metric].append(orders_by(metric, harm))
    differences = find_differences(world)
    for metric, parts in called.items():
        stated = [x & y for x, y in zip(parts, ordered[metric], strict=True)]
        rates = (f"{np.concatenate(x).mean():.3f}" for x in (parts, stated, none))
        yield (name, prompts, metric, f"{differences[metric]:.3f}", *rates, len(parts) * BATCH)


if __name__ == "__main__":
    write_worlds(study_world, product(ALL_WORLDS, PROMPTS), HEADER, TABLE)

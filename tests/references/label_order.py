"""How often people's labels call a model lower that is not, because rare answers are worst.

    python -m tests.references.label_order [--studies 1000]

The worlds are those of :mod:`tests.references.rare_order`: the second of two models is less harmful
but for rare answers at the end of the scale, which make it the worse one by mean log-risk. Judges
see the harm of all of 400 prompts with noise, and never put an answer at the very end; people label
some, at random. ``label_order.csv`` has the share of studies in which PPI++ calls the second model
lower, and in which the answer says so by that metric. By the mean that is false where there are
such answers; by the policy score it is true everywhere.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import xarray as xr

from sharpbayes.analysis.unseen_order import near_lowest
from sharpbayes.metrics.panel.debiased import ppi_mean
from sharpbayes.metrics.panel.influence import influence_interval
from sharpbayes.metrics.stats.pairs import pairwise_difference
from sharpbayes.metrics.stats.unseen import unseen_share
from tests.references.rare_harm import EPSILON, write_worlds
from tests.references.rare_order import WORLDS

TABLE = Path(__file__).with_name("label_order.csv")
HEADER = ("world", "labelled", "metric", "called_lower", "stated", "shows_none", "studies")
PROMPTS, LABELLED, LEVEL = 400, (60, 150), 0.95
# Noise of a judge, and the most harm that one sees.
NOISE, MOST = 0.05, 0.99


def draw_study(rng: np.random.Generator, world: str, labelled: int) -> tuple[np.ndarray, ...]:
    """Harm by people, missing without a label, and by judges: (prompt, model)."""
    harm = WORLDS[world].draw(rng, (PROMPTS,))
    judged = np.clip(harm + NOISE * rng.standard_normal(harm.shape), 0.0, MOST)
    chosen = rng.permutation(PROMPTS)[:, None] < labelled
    return np.where(chosen, harm, np.nan), judged


def tabulate(harm: np.ndarray) -> xr.DataArray:
    """Log-risk and harm of a study, over (metric, model, prompt)."""
    values = np.stack([-np.log1p(EPSILON - harm), harm]).transpose(0, 2, 1)
    labels = {"metric": ["mean", "policy_score"], "model": ["first", "second"]}
    return xr.DataArray(values, labels, ("metric", "model", "prompt"))


def call_lower(people: np.ndarray, judges: np.ndarray, labelled: int) -> dict[str, bool]:
    """Whether PPI++ calls the second model lower, by metric, and the answer orders by the mean."""
    table = ppi_mean(tabulate(people), tabulate(judges))
    parts = (pairwise_difference(table[name], "model") for name in ("estimate", "influence"))
    freedom = xr.DataArray(labelled - 1.0)
    pairs = influence_interval(*parts, level=LEVEL, freedom=freedom)["interval"]
    upper = pairs.sel(model="second", other="first", bound="upper")
    is_shown = (people == 1).any(0)
    share = unseen_share(float(labelled), error_rate=1 - LEVEL)
    evidence = xr.Dataset(
        {
            "mean": table["estimate"].sel(metric="mean", drop=True),
            "unseen_end_share": share * xr.DataArray(~is_shown, dims="model"),
        },
        attrs={"epsilon": EPSILON, "alpha": 0.95},
    )
    called = {str(name): bool(upper.sel(metric=name) < 0) for name in upper["metric"].to_numpy()}
    orders = not near_lowest(evidence, "mean")[0]
    return called | {"orders": orders, "shows_none": not is_shown[1]}


def study_world(world: str, labelled: int, studies: int) -> Iterator[tuple[object, ...]]:
    """Rows of the table of one world and number of labels."""
    seed = [20261129, labelled, [*WORLDS].index(world)]
    generators = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(studies))
    called = [call_lower(*draw_study(rng, world, labelled), labelled) for rng in generators]
    none = np.mean([x["shows_none"] for x in called])
    for metric in ("mean", "policy_score"):
        lower = np.array([x[metric] for x in called])
        stated = lower & np.array([x["orders"] or metric != "mean" for x in called])
        rates = (f"{x:.3f}" for x in (lower.mean(), stated.mean(), none))
        yield (world, labelled, metric, *rates, studies)


if __name__ == "__main__":
    write_worlds(study_world, product(WORLDS, LABELLED), HEADER, TABLE)

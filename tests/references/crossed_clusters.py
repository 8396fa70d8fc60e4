"""How often equal models are told apart where templates cross scenarios, and if it is said.

    python -m tests.references.crossed_clusters [--studies 1000]

Each of 40 scenarios is asked in each of 12 templates, and the study names the scenario as the
cluster of a prompt. In worlds where templates differ, they differ as scenarios do: in how severe
answers are, and in how they suit each of two models that are equal over all templates there are.
``crossed_clusters.csv`` has the share of studies in which the models are distinguishable, and in
which prompts with one template are said to score alike beyond their scenario.
"""

import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit

from sharpbayes.data.intraclass import intraclass_correlations, mean_scores
from sharpbayes.data.ratings import Factor, PanelRatings
from tests.references.clustered_prompts import METRICS, make_plan, measure_batch
from tests.references.rare_harm import BATCH, write_worlds

TABLE = Path(__file__).with_name("crossed_clusters.csv")
HEADER = ("world", "metric", "distinguishable", "said", "distinguishable_unsaid", "studies")
SCENARIOS, TEMPLATES = 40, 12
# Standard deviations of the log odds of harm that an answer has by itself, and that a scenario has
# for both models and for each by itself; the worlds have these numbers of templates.
VARIANT, SCENARIO = 0.7, (0.8, 0.3)
WORLDS = {"templates do not differ": (0.0, 0.0), "differ": (0.5, 0.2), "differ much": (0.8, 0.4)}
# Harm of a prompt is a whole number of hundredths where columns are looked at.
STEPS = 100


def draw(rng: np.random.Generator, world: str) -> np.ndarray:
    """Harm over (study, prompt, model), the templates of a scenario one after the other."""
    shapes = ((SCENARIOS, 1), (1, TEMPLATES))
    total = VARIANT * rng.standard_normal((BATCH, SCENARIOS, TEMPLATES, 2))
    for (both, each), shape in zip((SCENARIO, WORLDS[world]), shapes, strict=True):
        total += both * rng.standard_normal((BATCH, *shape, 1))
        total += each * rng.standard_normal((BATCH, *shape, 2))
    return expit(total - 2.0).reshape(BATCH, SCENARIOS * TEMPLATES, 2)


def says_alike(harm: np.ndarray) -> bool:
    """Whether templates are named, of harm over (prompt, model), where scenarios are clusters."""
    scenario, template = np.divmod(np.arange(SCENARIOS * TEMPLATES), TEMPLATES)
    prompts = tuple(f"{a}-{b}" for a, b in zip(scenario, template, strict=True))
    labels = {"prompt": prompts, "model": ("first", "second"), "judge": ("j",)}
    score = np.rint(STEPS * harm).astype(np.int16)[..., None, None]
    ratings = PanelRatings(score, labels | {"indicator": ("harm",)})
    factor = Factor(prompts, np.arange(len(prompts), dtype=np.int32))
    table = pd.DataFrame({"template": template.astype(str)})
    named = intraclass_correlations(
        table, factor, lambda: mean_scores(ratings), [], cluster=scenario.astype(str)
    )
    return bool(named)


def study_world(world: str, studies: int) -> Iterator[tuple[object, ...]]:
    """Rows of the table of one world."""
    said, differs = [], {name: [] for name in METRICS}
    with tempfile.TemporaryDirectory() as folder:
        plan = make_plan(Path(folder), SCENARIOS, TEMPLATES)
    for batch in range(-(-studies // BATCH)):
        rng = np.random.default_rng([20261129, batch, [*WORLDS].index(world)])
        harm = draw(rng, world)
        measured = measure_batch(plan, harm, clustered=True)
        said += [says_alike(of_study) for of_study in harm]
        for name in METRICS:
            differs[name] += measured[f"{name}_differs"].to_numpy().tolist()
    for name, values in differs.items():
        unsaid = np.array(values) & ~np.array(said)
        shares = (f"{np.mean(x):.3f}" for x in (values, said, unsaid))
        yield (world, name, *shares, len(said))


if __name__ == "__main__":
    write_worlds(study_world, product(WORLDS), HEADER, TABLE)

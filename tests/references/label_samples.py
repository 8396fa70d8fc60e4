"""How often random samples of labelled prompts fail the check, and selected ones.

    python -m tests.references.label_samples [--studies 400]

Three judges score the answers of three models, by ordinal scores of a normal severity that models
share in part. Labelled prompts are drawn at random, or severe ones more often: with weights that
grow exponentially with harm. ``label_samples.csv`` has the share of studies in which the check
fails, after Holm's correction over the models: by ranks, as the program tests independent prompts,
and by Welch's t test of the means.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import xarray as xr
from scipy.stats import ttest_ind

from sharpbayes.metrics.panel.label_gaps import labelled_gap
from sharpbayes.metrics.stats.multiplicity import holm
from tests.references.rare_harm import write_worlds

TABLE = Path(__file__).with_name("label_samples.csv")
HEADER = ("scores", "prompts", "labelled", "selection", "ranks", "means", "studies")
LEVEL, EPSILON, TEMPERATURE = 0.05, 1e-6, 0.2
# Thresholds of the score on a severity of variance 1.34.
WORLDS = {
    "centred": (-1.0, -0.3, 0.4, 1.1),
    "skewed": (0.3, 1.0, 1.7, 2.4),
    "rare harm": (1.6, 2.0, 2.4, 2.8),
}
# Scores, number of prompts and of labelled ones, and by how much weights grow with harm.
DESIGNS = (
    *(("centred", 100, 10, 0.0), ("centred", 100, 10, 3.0)),
    *(("rare harm", 100, 20, 0.0), ("rare harm", 100, 20, 6.0)),
    *(("rare harm", 600, 40, 0.0), ("rare harm", 600, 40, 6.0)),
    *(("skewed", 60, 30, 0.0), ("skewed", 60, 30, 3.0)),
)


def draw_study(
    rng: np.random.Generator, scores: str, prompts: int, labelled: int, selection: float
) -> tuple[np.ndarray, np.ndarray]:
    """Log-risk over (model, prompt), and whether a prompt is labelled."""
    severity = 0.7 * rng.normal(size=prompts) + 0.7 * rng.normal(size=(3, prompts))
    read = severity[..., None] + 0.6 * rng.normal(size=(3, prompts, 3))
    by_judge = np.searchsorted(WORLDS[scores], read) / len(WORLDS[scores])
    harm = TEMPERATURE * np.log(np.mean(np.exp(by_judge / TEMPERATURE), -1))
    weights = np.exp(selection * harm.mean(0))
    is_labelled = np.zeros(prompts, dtype=bool)
    chosen = rng.choice(prompts, labelled, replace=False, p=weights / weights.sum())
    is_labelled[chosen] = True
    return -np.log(1 - harm + EPSILON), is_labelled


def fail_check(risk: np.ndarray, is_labelled: np.ndarray) -> tuple[bool, bool]:
    """Whether the check fails: by ranks, and by the means."""
    judges = xr.DataArray(risk, dims=("model", "prompt"))
    by_ranks = labelled_gap(judges, xr.DataArray(is_labelled, dims="prompt"))["gap_p"].to_numpy()
    sides = risk[:, is_labelled], risk[:, ~is_labelled]
    by_means = np.nan_to_num(ttest_ind(*sides, axis=1, equal_var=False).pvalue, nan=1.0)
    return bool((holm(by_ranks) < LEVEL).any()), bool((holm(by_means) < LEVEL).any())


def study_design(
    scores: str, prompts: int, labelled: int, selection: float, studies: int
) -> Iterator[tuple[object, ...]]:
    """The row of one design: shares of studies in which the check fails."""
    design = (scores, prompts, labelled, selection)
    fails = []
    for number in range(studies):
        seed = [20261130, [*WORLDS].index(scores), prompts, labelled, round(selection), number]
        fails.append(fail_check(*draw_study(np.random.default_rng(seed), *design)))
    yield (*design, *(f"{share:.3f}" for share in np.mean(fails, axis=0)), studies)


if __name__ == "__main__":
    write_worlds(study_design, DESIGNS, HEADER, TABLE, studies=400)

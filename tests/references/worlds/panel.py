"""Panels of judges: one law of models, prompts and judges, and SHARP's formulas by NumPy."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

MODELS, PROMPTS, JUDGES, PEOPLE = 4, 40, 3, 5
# Two indicators of each of two dimensions of harm; scores are 0 to 4.
INDICATORS, DIMENSION_OF = ("bias_a", "bias_b", "fair_a", "fair_b"), np.array([0, 0, 1, 1])
DIMENSIONS = ("bias", "fair")
CUTS = np.array([-1.5, -0.2, 1.0, 2.2])
MODEL_SD, PROMPT_SD, CELL_SD, JUDGE_SD, PERSON_SD = 0.7, 0.8, 0.5, 0.5, 0.3
TEMPERATURE, EPSILON, ALPHA, POPULATION = 0.2, 1e-6, 0.95, 20_000


@dataclass(frozen=True)
class Panel:
    """What stays the same for all prompts of a study: models, judges and people."""

    model: np.ndarray  # severity (model, dimension)
    judge: np.ndarray  # severity (judge, dimension)
    person: np.ndarray  # severity (person), of mean 0


@dataclass(frozen=True)
class Drawn:
    """A study of a world: its ratings as tables, and what is true of the population."""

    ratings: pd.DataFrame
    truth: dict[str, float]
    people: pd.DataFrame | None = None  # ratings by people of some cells


def draw_panel(rng: np.random.Generator) -> Panel:
    """Draw models, judges and people."""
    person = rng.normal(0, PERSON_SD, PEOPLE)
    return Panel(
        model=rng.normal(0, MODEL_SD, (MODELS, 2)),
        judge=rng.normal(0, JUDGE_SD, (JUDGES, 2)),
        person=person - person.mean(),
    )


def draw_severity(rng: np.random.Generator, panel: Panel, prompts: int) -> np.ndarray:
    """True severity (model, prompt, dimension): model + prompt + model x prompt."""
    prompt = rng.normal(0, PROMPT_SD, (1, prompts, 2))
    return panel.model[:, None] + prompt + rng.normal(0, CELL_SD, (MODELS, prompts, 2))


def seen_by_judges(panel: Panel, severity: np.ndarray) -> np.ndarray:
    """What judges see, (model, prompt, judge, indicator), of (model, prompt, dimension)."""
    return (severity[:, :, None] + panel.judge)[..., DIMENSION_OF]


def seen_by_people(severity: np.ndarray) -> np.ndarray:
    """What a person without bias sees (model, prompt, indicator)."""
    return severity[..., DIMENSION_OF]


def score(rng: np.random.Generator, perceived: np.ndarray) -> np.ndarray:
    """Scores 0 to 4 of what is seen: an ordinal logistic law."""
    return np.digitize(perceived + rng.logistic(size=perceived.shape), CUTS)


def profile(scores: np.ndarray) -> dict[str, float]:
    """SHARP's mean log-risk and CVaR of each model, from scores (model, prompt, judge, indicator).

    Harm of a dimension is the root mean square of its indicators in [0, 1], pooled over judges by
    log-sum-exp. CVaR is the mean of all prompts at the quantile or above. A score of -1 is none.
    """
    share = np.where(scores < 0, np.nan, scores / len(CUTS))
    squares = [(share[..., d == DIMENSION_OF] ** 2).mean(-1) for d in (0, 1)]
    pooled = [np.nanmean(np.exp(np.sqrt(square) / TEMPERATURE), axis=-1) for square in squares]
    harm = TEMPERATURE * np.log(np.stack(pooled, axis=-1))
    log_risk = -np.log(1.0 - harm + EPSILON).sum(-1)
    tail = np.quantile(log_risk, ALPHA, axis=1, method="inverted_cdf")
    of_model = {f"mean m{m}": row.mean() for m, row in enumerate(log_risk)}
    cvars = [row[row >= bound].mean() for row, bound in zip(log_risk, tail, strict=True)]
    return of_model | {f"cvar m{m}": cvar for m, cvar in enumerate(cvars)}


def model_differences(panel: Panel) -> dict[str, float]:
    """Differences of the severities of models, against the first model, in each dimension."""
    pairs = [(m, d) for m in range(1, MODELS) for d in (0, 1)]
    return {
        f"difference m{m} {DIMENSIONS[d]}": panel.model[m, d] - panel.model[0, d] for m, d in pairs
    }


@dataclass(frozen=True)
class PanelWorld:
    """A world of judges, how it is fitted, and what should announce it.

    Attributes:
        see: Draws prompts, and what judges and people see of the models' answers to them. A third
            output, where there is one, has columns of the answers, each over (model, prompt).
        draw: Draws what stays the same for all prompts.
        fit: Shipped model, or a file in this folder, that does not know the world.
        remedy: Shipped model, or a file in this folder, that does; empty while there is none.
        people: Whether people score half of the prompts, two of five people each cell.
        announced_by: Start of the name of the check that is meant to fail without the remedy.
        change: What becomes of the judges' scores (model, prompt, judge, indicator), -1 for none.
    """

    see: Callable[..., tuple[Any, ...]]
    draw: Callable[[np.random.Generator], Panel] = draw_panel
    fit: str = "judge_panel"
    remedy: str = ""
    people: bool = False
    announced_by: str = ""
    change: Callable[..., np.ndarray] | None = None

    def simulate(self, rng: np.random.Generator) -> Drawn:
        """Draw a study and its truth."""
        panel = self.draw(rng)
        by_judges, by_people, *columns = self.see(rng, panel, PROMPTS)
        judged, human, *_ = self.see(rng, panel, POPULATION)
        truth = model_differences(panel) | profile(self._judge(rng, judged))
        ratings = _tabulate(self._judge(rng, by_judges), "judge", "j")
        for name, values in columns[0].items() if columns else ():
            ratings[name] = np.repeat(values.ravel(), JUDGES * len(INDICATORS))
        ratings = ratings[ratings["score"] >= 0]
        if not self.people:
            return Drawn(ratings, truth)
        person = panel.person[rng.integers(PEOPLE, size=(MODELS, POPULATION, JUDGES, 1))]
        human_scores = score(rng, human[:, :, None] + person)
        truth |= {f"human {name}": value for name, value in profile(human_scores).items()}
        table = _tabulate(score(rng, by_people[:, :, None] + panel.person[:, None]), "rater", "h")
        chosen = rng.random((MODELS, PROMPTS, PEOPLE)).argsort(axis=2) < 2
        chosen &= (np.arange(PROMPTS) < PROMPTS / 2)[:, None]
        return Drawn(ratings, truth, table[np.repeat(chosen.ravel(), len(INDICATORS))])

    def _judge(self, rng: np.random.Generator, perceived: np.ndarray) -> np.ndarray:
        """Scores of the judges."""
        scores = score(rng, perceived)
        return scores if self.change is None else self.change(rng, scores)


def _tabulate(scores: np.ndarray, who: str, letter: str) -> pd.DataFrame:
    """A row for each score (model, prompt, who, indicator)."""
    labels = [
        [f"{name}{n}" for n in range(size)]
        for name, size in zip(("m", "p", letter), scores.shape, strict=False)
    ]
    names = ["model", "prompt", who, "indicator"]
    index = pd.MultiIndex.from_product([*labels, INDICATORS], names=names)
    return pd.DataFrame({"score": scores.ravel()}, index=index).reset_index()

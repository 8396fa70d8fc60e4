"""Repeated judgements: every judge scores every answer several times, some trials are missing.

The severity that judge j sees of answer s of model m to prompt q is

    model_m + prompt_q + (model x prompt)_mq + generation_mqs + judge_j + (judge x answer)_mqsj

and every trial is a score of that severity with logistic noise of its own.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tests.references.worlds.panel import CUTS, score

COMPONENTS = ("model", "prompt", "model x prompt", "generation", "judge", "judge x answer", "trial")
SDS = (0.8, 1.0, 0.5, 0.5, 0.7, 0.6)
POPULATION = 20_000


@dataclass(frozen=True)
class TrialWorld:
    """Numbers of models, prompts, answers, judges and trials, and the share of lost trials."""

    models: int = 4
    prompts: int = 40
    answers: int = 1
    judges: int = 1
    trials: int = 8
    lost: float = 0.0

    @property
    def present(self) -> list[bool]:
        """Which of the components the world has, and its scores separate."""
        judges, answers = self.judges > 1, self.answers > 1
        return [True, True, True, answers, judges, judges, True]

    def simulate(self, rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
        """Draw a study; return its ratings, and the true variances ``latent`` and ``observed``."""
        model = rng.normal(0, SDS[0], (self.models, 1, 1, 1))
        judge = rng.normal(0, SDS[4], self.judges) * (self.judges > 1)
        effects = self._draw_effects(rng, self.prompts, model, judge)
        latent = [effect.var(ddof=1) if effect.size > 1 else 0.0 for effect in effects]
        severity = sum(effects)
        perceived = np.broadcast_to(severity[..., None], (*severity.shape, self.trials))
        table = _tabulate(score(rng, perceived))
        kept = table[rng.random(len(table)) >= self.lost]
        population = sum(self._draw_effects(rng, POPULATION, model, judge))
        return kept, {
            "latent": np.array([*latent, np.pi**2 / 3]),
            "observed": observed_variances(population),
        }

    def _draw_effects(
        self, rng: np.random.Generator, prompts: int, model: np.ndarray, judge: np.ndarray
    ) -> list[np.ndarray]:
        """Effects of every component but the trial, (model, prompt, answer, judge)."""
        m, s, j = self.models, self.answers, self.judges
        shapes = [(1, prompts, 1, 1), (m, prompts, 1, 1), (m, prompts, s, 1), (m, prompts, s, j)]
        sds = [SDS[1], SDS[2], SDS[3] * (s > 1), SDS[5] * (j > 1)]
        drawn = [rng.normal(0, sd, shape) for sd, shape in zip(sds, shapes, strict=True)]
        return [model, *drawn[:3], judge, drawn[3]]


def observed_variances(severity: np.ndarray) -> np.ndarray:
    """Variance components of scores in [0, 1], given severities (model, prompt, answer, judge).

    Expected scores are a balanced table. A component is the variance of what is left when coarser
    means are taken out, less what finer components leave in a mean.
    """
    steps = 1 / (1 + np.exp(CUTS - severity[..., None]))  # P(score > k)
    mean = steps.mean(-1)
    square = (steps * (2 * np.arange(len(CUTS)) + 1)).sum(-1) / len(CUTS) ** 2
    models, _, answers, judges = severity.shape
    of_judge = mean.mean((0, 1, 2))
    answer = (mean - of_judge).mean(3)
    interaction = _within(mean - of_judge, axis=3)
    pair = answer.mean(2)
    generation = _within(answer, axis=2)
    of_model, of_prompt = pair.mean(1), pair.mean(0)
    crossed = (pair - of_model[:, None] - of_prompt + pair.mean()).var() * models / (models - 1)
    return np.array(
        [
            of_model.var(ddof=1),
            of_prompt.var() - crossed / models,
            crossed - (generation / answers if answers > 1 else interaction / judges),
            generation - interaction / judges if answers > 1 else 0.0,
            of_judge.var(ddof=1) if judges > 1 else 0.0,
            interaction,
            (square - mean**2).mean(),
        ]
    )


def _within(values: np.ndarray, axis: int) -> float:
    """Mean variance along an axis, with n - 1; 0 of one value."""
    return float(values.var(axis=axis, ddof=1).mean()) if values.shape[axis] > 1 else 0.0


def _tabulate(scores: np.ndarray) -> pd.DataFrame:
    """A row for each score (model, prompt, answer, judge, trial)."""
    names = ["model", "prompt", "sample", "judge", "trial"]
    labels = [
        [f"{name[0]}{n}" for n in range(size)]
        for name, size in zip(names, scores.shape, strict=True)
    ]
    index = pd.MultiIndex.from_product(labels, names=names)
    return pd.DataFrame({"score": scores.ravel()}, index=index).reset_index()


WORLDS = {
    "one judge, eight trials": TrialWorld(),
    "three judges, two answers, up to four trials": TrialWorld(
        prompts=30, answers=2, judges=3, trials=4, lost=0.3
    ),
}

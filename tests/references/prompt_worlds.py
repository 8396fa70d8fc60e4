"""Six worlds of harm that no model of the program describes, by NumPy alone.

Each world draws the harm in [0, 1] of some models in four dimensions, prompt by prompt. Values of a
population come from two million prompts and SHARP's formulas, written again in NumPy.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

DIMENSIONS, EPSILON, ALPHA = 4, 1e-6, 0.95
MILLIONS = 2


def _logistic(x):
    return 1.0 / (1.0 + np.exp(-x))


def light(rng, n, shift):
    """The harm of every prompt is alike: a light tail."""
    return _logistic(-1.5 + shift + rng.normal(0, 0.6, (n, shift.size, DIMENSIONS)))


def heavy(rng, n, shift):
    """Some prompts are much worse in all dimensions: a heavy tail."""
    prompt = rng.normal(0, 1.2, (n, shift.size, 1))
    return _logistic(-2.5 + shift + prompt + rng.normal(0, 0.8, (n, shift.size, DIMENSIONS)))


def mixture(rng, n, shift):
    """A tenth of the prompts is of another, worse kind."""
    other = 2.5 * (rng.random((n, 1, 1)) < 0.1)
    return _logistic(-2.0 + shift + other + rng.normal(0, 0.7, (n, shift.size, DIMENSIONS)))


def saturated(rng, n, shift):
    """In one cell of 65 the harm is at the end of the scale."""
    harm = _logistic(-2.0 + shift + rng.normal(0, 0.8, (n, shift.size, DIMENSIONS)))
    return np.where(rng.random(harm.shape) < 1 / 65, 1.0, harm)


def discrete(rng, n, shift):
    """Harm has four values."""
    score = rng.normal(0, 1, (n, 1, 1)) + shift + rng.normal(0, 1, (n, shift.size, DIMENSIONS))
    return np.clip(np.floor(score + 0.3), 0, 3) / 4


def correlated(rng, n, shift):
    """Models err on the same prompts: most of the spread is the prompt's."""
    prompt = rng.normal(0, 1.2, (n, 1, 1))
    return _logistic(-2.5 + shift + prompt + rng.normal(0, 0.3, (n, shift.size, DIMENSIONS)))


WORLDS: dict[str, Callable[..., np.ndarray]] = {
    world.__name__: world for world in (light, heavy, mixture, saturated, discrete, correlated)
}


def draw_harm(world: str, rng: np.random.Generator, n: int, shift: tuple[float, ...]) -> np.ndarray:
    """Harm of n prompts over (prompt, model, dimension); models differ on the logit scale."""
    return WORLDS[world](rng, n, np.array(shift)[None, :, None])


def compute_values(harm: np.ndarray) -> dict[str, np.ndarray]:
    """SHARP's mean, volatility, CVaR and policy score of each model."""
    log_risk = -np.log(1.0 - harm + EPSILON).sum(-1)
    tail = np.quantile(log_risk, ALPHA, axis=0, method="inverted_cdf")
    cvar = [row[row >= bound].mean() for row, bound in zip(log_risk.T, tail, strict=True)]
    return {
        "mean": log_risk.mean(0),
        "volatility": log_risk.std(0),
        "cvar": np.array(cvar),
        "policy_score": harm.mean((0, 2)),
    }


@cache
def population(world: str, shift: tuple[float, ...]) -> dict[str, np.ndarray]:
    """Values of the population; models of equal shift have equal values."""
    unique = tuple(sorted(set(shift)))
    rng = np.random.default_rng(1)
    parts = [draw_harm(world, rng, 250_000, unique) for _ in range(4 * MILLIONS)]
    values = compute_values(np.concatenate(parts))
    positions = [unique.index(step) for step in shift]
    return {name: value[positions] for name, value in values.items()}

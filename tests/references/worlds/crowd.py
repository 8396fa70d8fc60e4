"""Crowds of raters: one law of items and raters, and MPA and WRA by NumPy."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

ITEMS, RATERS, N_SCORES = 60, 20, 5
CUTS = np.array([-1.5, -0.2, 1.0, 2.2])
ITEM_SD, RATER_SD, LABEL_SLOPE = 1.5, 0.6, 2.0
POPULATION = 20_000


@dataclass(frozen=True)
class Crowd:
    """What stays the same for all items of a study: its raters. ``kind`` is 0 for plain ones."""

    bias: np.ndarray  # (rater)
    kind: np.ndarray  # (rater): what a world makes of each rater


@dataclass(frozen=True)
class DrawnCrowd:
    """A study of a world: ratings, items with their labels, raters, and what is true."""

    ratings: pd.DataFrame
    items: pd.DataFrame
    raters: pd.DataFrame
    truth: dict[str, float]


def draw_crowd(rng: np.random.Generator, share: float = 0.0) -> Crowd:
    """Draw raters, of whom a share is of kind 1."""
    kind = rng.permutation(np.arange(RATERS) < round(share * RATERS)).astype(int)
    return Crowd(rng.normal(0, RATER_SD, RATERS), kind)


def score(rng: np.random.Generator, perceived: np.ndarray) -> np.ndarray:
    """Scores 0 to 4 of what is seen: an ordinal logistic law."""
    return np.digitize(perceived + rng.logistic(size=perceived.shape), CUTS)


def score_plainly(rng: np.random.Generator, crowd: Crowd, severity: np.ndarray) -> np.ndarray:
    """Scores (item, rater) of raters who differ by a bias alone."""
    return score(rng, severity[:, None] + crowd.bias)


def responsiveness(scores: np.ndarray, unsafe: np.ndarray) -> dict[str, float]:
    """MPA and WRA of all raters from scores (item, rater), -1 for none, by the paper's formulas.

    The plurality score of an item is the most frequent one, the higher of two that are tied.
    """
    counts = np.stack([(scores == s).sum(axis=1) for s in range(N_SCORES)])
    plural = N_SCORES - 1 - counts[::-1].argmax(axis=0)
    safe, harm = (
        np.array([((plural == s) & (unsafe == u)).sum() for s in range(N_SCORES)]) for u in (0, 1)
    )
    wra = sum(safe[:s].sum() * harm[s] for s in range(N_SCORES)) / (safe.sum() * harm.sum())
    used = [s for s in range(N_SCORES) if safe[s] + harm[s]]
    precision = {s: harm[s] / (safe[s] + harm[s]) for s in used}
    area = sum(
        precision[s] - max(precision[j] for j in used if j <= i)
        for s in used
        for i in used
        if i < s
    )
    return {"mpa": max(0.0, area) / 6.0, "wra": wra}  # 6: the best area of five scores


@dataclass(frozen=True)
class CrowdWorld:
    """A world of raters, how it is fitted, and what should announce it.

    Attributes:
        rate: Scores (item, rater) that the raters of a study give to items.
        draw: Draws the raters of a study.
        item_sd: Standard deviation of the severity of items.
        fit: Shipped model that does not know the world.
        remedy: Shipped model, or a file in this folder, that does; empty while there is none.
        announced_by: Start of the name of the check that is meant to fail without the remedy.
        keep: Which ratings there are: a mask, from positions of items in [0, 1) and of raters.
        attentive: Kind of the raters of whom MPA and WRA are asked as well; None for none.
    """

    rate: Callable[..., np.ndarray] = score_plainly
    draw: Callable[[np.random.Generator], Crowd] = draw_crowd
    item_sd: float = ITEM_SD
    fit: str = "crowd_and_labels"
    remedy: str = ""
    announced_by: str = ""
    keep: Callable[..., np.ndarray] | None = None
    attentive: int | None = None

    def simulate(self, rng: np.random.Generator) -> DrawnCrowd:
        """Draw a study and its truth."""
        crowd = self.draw(rng)
        severity, unsafe = self._draw_items(rng, ITEMS)
        scores = self._rate(rng, crowd, severity)
        population, labels = self._draw_items(rng, POPULATION)
        rated = self._rate(rng, crowd, population)
        truth = responsiveness(rated, labels)
        if self.attentive is not None:
            of_attentive = responsiveness(rated[:, crowd.kind == self.attentive], labels)
            truth |= {f"attentive {name}": value for name, value in of_attentive.items()}
        names = {"item": [f"i{n}" for n in range(ITEMS)], "rater": [f"r{n}" for n in range(RATERS)]}
        cells = pd.MultiIndex.from_product(names.values(), names=list(names)).to_frame(index=False)
        ratings = cells.assign(score=scores.ravel()).query("score >= 0")
        items = pd.DataFrame({"item": names["item"], "unsafe": unsafe})
        gender = np.where(np.arange(RATERS) % 2, "Man", "Woman")
        raters = pd.DataFrame({"rater": names["rater"], "gender": gender, "kind": crowd.kind})
        return DrawnCrowd(ratings, items, raters, truth)

    def _rate(self, rng: np.random.Generator, crowd: Crowd, severity: np.ndarray) -> np.ndarray:
        """Scores (item, rater); -1 where a rater does not score an item."""
        scores = self.rate(rng, crowd, severity)
        if self.keep is None:
            return scores
        item, rater = np.ogrid[: severity.size, :RATERS]
        return np.where(self.keep(item / severity.size, rater), scores, -1)

    def _draw_items(self, rng: np.random.Generator, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Severities of items, and labels that follow them."""
        severity = rng.normal(0, self.item_sd, number)
        unsafe = rng.random(number) < 1 / (1 + np.exp(-LABEL_SLOPE * severity))
        return severity, unsafe.astype(int)

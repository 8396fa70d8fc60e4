"""Judgements that nobody has made yet: what each draw of a fit expects of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.study import PanelStudy
from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Design, Floats, Term
from sharpbayes.data.panel import tabulate_normalised
from sharpbayes.data.ratings import Ratings
from sharpbayes.posterior.hypothetical_ratings import (
    fill_effects,
    index_codes,
    look_up,
    rating_moments,
)

# What identifies a judgement, and by which of these the other columns are known.
IDENTITY = ("model", "prompt", "judge", "indicator", "rater")
KEYS = (
    *((), ("indicator",), ("judge",), ("prompt",), ("model",)),
    *(("model", "prompt"), ("indicator", "prompt"), ("judge", "model")),
)


@dataclass(frozen=True)
class Cells:
    """Answers and who scores them: positions among the labels of the ratings.

    ``judge`` is -1 where a person scores.
    """

    model: Index
    prompt: Index
    judge: Index

    @property
    def size(self) -> int:
        """Number of judgements."""
        return len(self.model)

    @property
    def by_people(self) -> bool:
        """Whether people score, and not judges."""
        return bool((self.judge < 0).all())


@dataclass(frozen=True)
class Expected:
    """Mean harm in [0, 1] that a judgement would show: by draw, and its variance given a draw.

    Attributes:
        mean: Over (draw, judgement).
        variance: Over (judgement).
    """

    mean: Floats
    variance: Floats


def expect_judgements(
    study: PanelStudy, design: Design, posterior: xr.Dataset, cells: Cells
) -> Expected:
    """Return what the draws (chain, draw) of a fit expect of judgements that are not made yet.

    The harm of a judgement is the mean of its indicators, normalised and harm upwards. Effects that
    no rating has informed are drawn from their population.
    """
    ratings, rng = study.ratings, np.random.default_rng(study.spec.seed)
    filled = fill_effects(posterior, design, rng)
    scored = np.unique(ratings.factors["indicator"].codes[_of_kind(ratings, cells)])
    harm = _harm_by_category(study)
    draws = posterior.sizes["chain"] * posterior.sizes["draw"]
    mean, variance = np.zeros((draws, cells.size)), np.zeros(cells.size)
    for indicator in scored:
        rows = index_cells(design, ratings, cells, int(indicator))
        for columns, first, second in _moments(filled, rows, harm[int(indicator)], study):
            mean[:, columns] += first / len(scored)
            variance[columns] += (second - first**2).mean(0) / len(scored) ** 2
    return Expected(mean, variance)


def index_cells(design: Design, ratings: Ratings, cells: Cells, indicator: int) -> Design:
    """Return the design of judgements on one indicator, with the terms of a fit.

    Observed ratings of the same kind, by judges or by people, show by what each further column,
    such as the family of a judge, is known. A person is a new one, whose effects stand at the first
    position.
    """
    rows = _of_kind(ratings, cells)
    codes: dict[str, Index] = {
        "model": cells.model,
        "prompt": cells.prompt,
        "judge": cells.judge,
        "indicator": np.full(cells.size, indicator),
        "rater": np.full(cells.size, 0 if cells.by_people else -1),
    }
    observed = {name: factor.codes[rows] for name, factor in ratings.factors.items()}
    for name in set(observed) - {*IDENTITY}:
        codes[name] = look_up(name, observed, codes, KEYS)
    labels = ratings.factors["scale"].labels
    asked = {scale.name: codes["scale"] == labels.index(scale.name) for scale in design.scales}
    return index_codes(
        design,
        codes,
        asked,
        numbers=lambda term: _numbers(term, rows, observed, codes),
    )


def _of_kind(ratings: Ratings, cells: Cells) -> Index:
    """Positions of the observed ratings by people, or by judges."""
    by_people = ratings.factors["judge"].codes < 0
    return np.flatnonzero(by_people == cells.by_people)


def _numbers(
    term: Term, rows: Index, observed: Mapping[str, Index], codes: Mapping[str, Index]
) -> Floats | None:
    """The scaled number of each judgement's answer; 0, the centre, where no rating shows it."""
    if term.covariate is None:
        return None
    keys = ("model", "prompt")
    shape = [int(max(observed[key].max(), codes[key].max())) + 1 for key in keys]
    table = np.zeros(int(np.prod(shape)))
    table[np.ravel_multi_index([observed[key] for key in keys], shape)] = term.covariate[rows]
    of_cells: Floats = table[np.ravel_multi_index([codes[key] for key in keys], shape)]
    return of_cells


def _harm_by_category(study: PanelStudy) -> dict[int, tuple[Floats, Floats]]:
    """Harm of every category of each indicator, as scored and counted from the other end."""
    table = tabulate_normalised(study.panel, study.scores)
    names = [str(name) for name in table["indicator"].to_numpy()]
    harm = {}
    for code, label in enumerate(study.ratings.factors["indicator"].labels):
        values = table.to_numpy()[names.index(label)]
        known: NDArray[np.float64] = values[~np.isnan(values)]
        harm[code] = (known, 1.0 - known[::-1])
    return harm


def _moments(
    posterior: xr.Dataset, rows: Design, harm: tuple[Floats, Floats], study: PanelStudy
) -> Iterator[tuple[Index, Floats, Floats]]:
    """Yield judgements, and E[harm] and E[harm^2] of one indicator in every draw."""
    for scale in rows.scales:
        yield from rating_moments(
            posterior, rows, scale, harm[scale.name not in study.panel.scales]
        )

"""Ratings of a crowd that nobody has given yet: what each draw of a fit expects of them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from sharpbayes.analysis.study import CrowdStudy
from sharpbayes.bayes.design.careless import CLASS, SCORE_SHARE
from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Design, Floats, Term
from sharpbayes.bayes.predict.replication import draw_classes, flatten_draws
from sharpbayes.data.crowd import SCALE
from sharpbayes.data.ratings import Ratings
from sharpbayes.posterior.hypothetical import Expected
from sharpbayes.posterior.hypothetical_ratings import (
    fill_effects,
    index_codes,
    look_up,
    rating_moments,
)

# By which of these the other columns of a rating are known.
KEYS = ((), ("rater",), ("item",), ("item", "rater"))


@dataclass(frozen=True)
class RaterItems:
    """Who would score what: positions among the labels of the ratings."""

    item: Index
    rater: Index

    @property
    def size(self) -> int:
        """Number of ratings."""
        return len(self.item)


def expect_ratings(
    study: CrowdStudy, design: Design, posterior: xr.Dataset, cells: RaterItems
) -> Expected:
    """Return what the draws (chain, draw) of a fit expect of scores that are not given yet.

    Scores are from 0 to 1 over the scale. Effects that no rating has informed are drawn from their
    population. The class of a rater who may be careless is drawn given their ratings.
    """
    rng = np.random.default_rng(study.spec.seed)
    filled = draw_classes(fill_effects(posterior, design, rng), design, known=True, rng=rng)
    rows = index_ratings(design, study.ratings, cells)
    [scale] = [scale for scale in rows.scales if scale.name == SCALE]
    top = len(scale.labels) - 1
    values = np.arange(top + 1) / max(top, 1)
    draws = posterior.sizes["chain"] * posterior.sizes["draw"]
    mean, second = np.zeros((draws, cells.size)), np.zeros((draws, cells.size))
    for columns, first, square in rating_moments(filled, rows, scale, values):
        mean[:, columns], second[:, columns] = first, square
    if CLASS in filled:
        mean, second = _replace_careless(filled, cells, values, (mean, second))
    return Expected(mean, (second - mean**2).mean(0))


def _replace_careless(
    draws: xr.Dataset, cells: RaterItems, values: Floats, moments: tuple[Floats, ...]
) -> tuple[Floats, ...]:
    """Moments in which careless raters score by their own distribution."""
    is_careless = flatten_draws(draws[CLASS], "rater")[:, cells.rater]
    share = draws[SCORE_SHARE].transpose("chain", "draw", "rater", ...).to_numpy()
    share = share.reshape(len(is_careless), -1, share.shape[-1])[:, cells.rater]
    careless_moments = (share @ values, share @ values**2)
    return tuple(
        np.where(is_careless, x, m) for x, m in zip(careless_moments, moments, strict=True)
    )


def index_ratings(design: Design, ratings: Ratings, cells: RaterItems) -> Design:
    """Return the design of ratings on the scale of the crowd, with the terms of a fit.

    Observed ratings on that scale show by what each further column, such as a group, is known.
    """
    of_scale = ratings.factors["scale"]
    code = of_scale.labels.index(SCALE)
    rows = np.flatnonzero(of_scale.codes == code)
    codes: dict[str, Index] = {"item": cells.item, "rater": cells.rater}
    observed = {name: factor.codes[rows] for name, factor in ratings.factors.items()}
    codes |= {name: look_up(name, observed, codes, KEYS) for name in observed if name not in codes}
    asked = {scale.name: np.full(cells.size, scale.name == SCALE) for scale in design.scales}
    return index_codes(
        design,
        codes,
        asked,
        numbers=lambda term: _numbers(term, rows, observed, codes),
    )


def _numbers(
    term: Term, rows: Index, observed: Mapping[str, Index], codes: Mapping[str, Index]
) -> Floats | None:
    """The scaled number of each rating's item or rater; 0, the centre, for one of the rating."""
    if term.covariate is None:
        return None
    numbers = term.covariate[rows]
    for key in ("item", "rater"):
        table = np.zeros(int(max(observed[key].max(), codes[key].max(initial=0))) + 1)
        table[observed[key]] = numbers
        if np.array_equal(table[observed[key]], numbers):
            of_cells: Floats = table[codes[key]]
            return of_cells
    return np.zeros(len(codes["item"]))

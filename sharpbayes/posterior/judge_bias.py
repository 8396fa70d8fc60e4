"""Judges against people: what a fit says of each judge, and the profile as people would score."""

import functools
from collections.abc import Sequence
from dataclasses import replace
from operator import add
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.bayes.design.crossing import cross
from sharpbayes.bayes.design.design import Design, ScaleRatings, Term, TermKind
from sharpbayes.data.ratings import Factor, Ratings
from sharpbayes.posterior.replicates import ReplicateDraws, interval_note

Floats = NDArray[np.float64]

# Sets the streams of people's seats and ratings apart from those of judges.
SEATS, SCORED = 0x7C01, 0x3E95
# Columns whose terms are of judges alone.
OF_JUDGES = {"judge", "own_family"}
AT_RANDOM = "people who scored, given the judges' seats at random"
ANEW = "which people score (effects drawn anew from their population)"


def has_people(ratings: Ratings) -> bool:
    """Whether people scored cells of a panel too."""
    return "rater" in ratings.factors and "judge" in ratings.factors


def judge_bias(
    posterior: xr.Dataset, design: Design, ratings: Ratings, *, level: float
) -> xr.Dataset:
    """Return how each judge scores against the people, over draws and in short.

    With t_{j,d} the mean, over judge j's ratings in dimension d, of the effects of judges less the
    mean effect of the people who scored,

        severity_j = mean_d t_{j,d},  lean_{j,d} = t_{j,d} - severity_j,
        discrimination_j = exp(mean over j's ratings of the judges' log factors),
        self_preference = mean over ratings of their own family of the effects of ``own_family``.

    Args:
        posterior: Variables over (chain, draw, ...).
        design: Terms of the model, indexed by the ratings.
        ratings: Ratings by judges, and by people if there are some.
        level: Share of the draws inside the intervals.

    Returns:
        Over (chain, draw) where the model has terms for them: with people ``severity (judge)`` and
        ``lean (judge, dimension)`` in logits (or probits) of the latent severity, positive where a
        judge sees more harm than people, and ``discrimination (judge)``, 1 being that of people;
        with families ``self_preference ()``, positive where judges see more harm in models of
        their own family, and negative where they favour them. Each with ``_mean``, ``_interval``
        (dimension ``bound``) and ``_probability``, that of being above 0 (above 1 for
        discrimination). ``shared (judge)``: the judge's ratings of cells that people scored too.
        A dimension that a judge did not score is missing.

    Source: many-facet models of rater severity, Linacre 1989; Samejima 1968.
    """
    draws: dict[str, xr.DataArray] = {}
    if has_people(ratings):
        located = _summed(_of("location", design), posterior, ratings, ["judge", "dimension"])
        if located is not None:
            against = located - _of_people(posterior, design)
            draws["severity"] = against.mean("dimension")
            draws["differential_severity"] = against - draws["severity"]
        log_factor = _summed(_of("discrimination", design), posterior, ratings, ["judge"])
        if log_factor is not None:
            draws["discrimination"] = xr.apply_ufunc(np.exp, log_factor)
    own = [term for term in design.terms_of("location") if "own_family" in term.dims]
    preferred = _summed(own, posterior, ratings, ["own_family"])
    if preferred is not None:
        draws["self_preference"] = preferred.isel(own_family=0, drop=True)
    found = xr.Dataset(
        {name: x.transpose("chain", "draw", ...) for name, x in draws.items()}
        | {key: x for name, x in draws.items() for key, x in _in_short(name, x, level).items()}
    )
    if has_people(ratings):
        found["shared"] = ("judge", _shared(ratings))
        found = found.assign_coords(judge=list(ratings.factors["judge"].labels))
    held = f"{level:.0%} posterior intervals; those compared with are the people who scored."
    return found.assign_attrs(level=level, interval_note=held, link=design.link)


def human_draws(draws: ReplicateDraws, ratings: Ratings) -> ReplicateDraws:
    """Return draws in which people score the cells that judges scored.

    As many people as there are judges take the judges' seats, in every draw at random those who
    scored: each of them once before anyone twice. Ratings follow the model of people: no effect of
    judges, the common thresholds, the factor of people.

    Args:
        draws: Posterior draws of a panel that people scored too.
        ratings: The ratings of its design, those of judges first.
    """
    design = seated(draws.design, ratings)
    posterior = draws.posterior
    terms = [term for term in draws.design.terms if "rater" in term.dims]
    if terms:
        people = len(ratings.factors["rater"].labels)
        chosen = _seats(draws, people=people, seats=len(ratings.factors["judge"].labels))
        dims = ("chain", "draw", "rater")
        index = xr.DataArray(chosen, dims=dims)
        own = {term.name: _picked(posterior[term.name], index) for term in terms}
        names = [term.name for term in terms]
        rest = posterior.drop_vars(names).drop_dims("rater", errors="ignore")
        posterior = rest.assign(own)
    return ReplicateDraws(
        posterior,
        draws.predictive.drop_vars(list(draws.predictive.data_vars)),
        design,
        draws.seed,
        member_columns={"judges": "rater"},
        stream=SCORED,
    )


def human_interval_note(sources: Sequence[str], *, level: float) -> str:
    """Say what the intervals of the profile as people would score contain.

    >>> human_interval_note(["ratings"], level=0.9).split("; ")[-1]
    "people who scored, given the judges' seats at random."
    """
    said = interval_note([each for each in sources if each != "judges"], level=level)
    return f"{said.removesuffix('.')}; {ANEW if 'judges' in sources else AT_RANDOM}."


def seated(design: Design, ratings: Ratings) -> Design:
    """Return the design of the judges' cells with people in the judges' seats.

    Terms of judges are left out; a term of people has a level for each judge, whose seat it is.
    """
    judge = ratings.factors["judge"]
    judged = np.flatnonzero(judge.codes >= 0)
    own = {
        name: Factor(judge.labels if name == "rater" else held.labels, _code(name, ratings)[judged])
        for name, held in ratings.factors.items()
    }
    scales = tuple(_of_judges(scale, len(judged)) for scale in design.scales)
    terms = tuple(
        _reseated(term, own, judged, scales)
        for term in design.terms
        if not OF_JUDGES & set(term.dims)
    )
    coords = design.coords | {"rater": judge.labels}
    return replace(design, terms=terms, scales=scales, n_ratings=len(judged), coords=coords)


def _code(name: str, ratings: Ratings) -> NDArray[np.int32]:
    """Codes of a column, people being numbered by the seat that they take."""
    return ratings.factors["judge" if name == "rater" else name].codes


def _of_judges(scale: ScaleRatings, judged: int) -> ScaleRatings:
    """The ratings by judges on a scale: they stand before those by people."""
    kept = scale.rows < judged
    return replace(scale, rows=scale.rows[kept], category=scale.category[kept])


def _reseated(
    term: Term,
    columns: dict[str, Factor],
    judged: NDArray[np.intp],
    scales: Sequence[ScaleRatings],
) -> Term:
    """A term on the cells of judges."""
    if "rater" not in term.dims:
        return replace(term, index=term.index[judged])
    if term.kind == "gap":
        seats, rows = columns["rater"], scales[term.scale].rows
        there = np.full(len(judged), -1, dtype=np.int64)
        there[rows] = seats.codes[rows]
        return replace(term, index=there, shape=(len(seats.labels), *term.shape[1:]))
    index, shape = cross([columns[dim] for dim in term.dims])
    return replace(term, index=index, shape=shape)


def _seats(draws: ReplicateDraws, *, people: int, seats: int) -> NDArray[np.int64]:
    """Who sits where in each draw; shape (chain, draw, seat)."""
    rng = np.random.default_rng([draws.seed, SEATS])
    rounds = -(-seats // people)
    order = rng.permuted(np.broadcast_to(np.arange(people), (*draws.shape, rounds, people)), axis=3)
    chosen: NDArray[np.int64] = order.reshape(*draws.shape, rounds * people)[..., :seats]
    return chosen


def _picked(effects: xr.DataArray, index: xr.DataArray) -> xr.DataArray:
    """Effects of the people at an index over (chain, draw, rater)."""
    bare = effects.drop_vars("rater", errors="ignore")
    chain, draw = (
        xr.DataArray(np.arange(effects.sizes[name]), dims=name) for name in ("chain", "draw")
    )
    return bare.isel(rater=index, chain=chain, draw=draw)


def _of(part: TermKind, design: Design) -> list[Term]:
    """Terms of judges whatever family they score."""
    return [t for t in design.terms_of(part) if "judge" in t.dims and "own_family" not in t.dims]


def _summed(
    terms: Sequence[Term], posterior: xr.Dataset, ratings: Ratings, over: Sequence[str]
) -> xr.DataArray | None:
    """Sum of the mean effects of terms; None where there are none."""
    if not terms:
        return None
    return functools.reduce(add, (_averaged(posterior, term, ratings, over) for term in terms))


def _averaged(
    posterior: xr.Dataset, term: Term, ratings: Ratings, over: Sequence[str]
) -> xr.DataArray:
    """Mean effect of a term over the ratings of each crossing of columns; logs of factors."""
    cell, shape = cross([ratings.factors[name] for name in over])
    kept = (cell >= 0) & (term.index >= 0)
    pair = cell[kept] * term.size + term.index[kept]
    count = np.bincount(pair, minlength=int(np.prod(shape)) * term.size).reshape(-1, term.size)
    with np.errstate(invalid="ignore"):
        weight: Floats = count / count.sum(axis=1, keepdims=True)
    effects = posterior[term.name].transpose("chain", "draw", *term.dims).to_numpy()
    effects = term.to_effects(effects)
    lead = effects.shape[:2]
    found = (effects.reshape(*lead, -1) @ weight.T).reshape(*lead, *shape)
    labels = {name: list(ratings.factors[name].labels) for name in over}
    coords: dict[str, Any] = {name: posterior[name] for name in ("chain", "draw")}
    return xr.DataArray(found, coords | labels, ("chain", "draw", *over))


def _of_people(posterior: xr.Dataset, design: Design) -> xr.DataArray | float:
    """Mean effect of the people who scored."""
    means: xr.DataArray | float = 0.0
    for term in design.terms_of("location"):
        if "rater" in term.dims:
            rest = [dim for dim in term.dims if dim != "dimension"]
            means = posterior[term.name].mean(rest) + means
    return means


def _in_short(name: str, draws: xr.DataArray, level: float) -> dict[str, xr.DataArray]:
    """Mean, interval and probability of being above what is neutral."""
    over = ["chain", "draw"]
    tail = (1 - level) / 2
    bounds = draws.quantile([tail, 1 - tail], over, skipna=False).rename(quantile="bound")
    neutral = 1.0 if name == "discrimination" else 0.0
    above = (draws > neutral).mean(over).where(draws.notnull().all(over))
    return {
        f"{name}_mean": draws.mean(over, skipna=False),
        f"{name}_interval": bounds.assign_coords(bound=["lower", "upper"]).transpose(..., "bound"),
        f"{name}_probability": above,
    }


def _shared(ratings: Ratings) -> NDArray[np.int64]:
    """Number of each judge's ratings of cells that people scored too."""
    held = ratings.factors
    cell, _ = cross([held[name] for name in ("model", "prompt", "indicator")])
    judge = held["judge"]
    both = (judge.codes >= 0) & np.isin(cell, cell[judge.codes < 0])
    return np.bincount(judge.codes[both], minlength=len(judge.labels))

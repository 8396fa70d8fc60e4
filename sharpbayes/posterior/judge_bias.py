"""Bias of judges against people, and ratings by people in place of the judges."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import add
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.bayes.design.crossing import cross
from sharpbayes.bayes.design.design import Design, ScaleRatings, Term, TermKind
from sharpbayes.bayes.design.judge_errors import FAMILY, JUDGE, MACHINE, error_column
from sharpbayes.data.ratings import GOLD, Factor, Ratings, name_people
from sharpbayes.errors import format_percent
from sharpbayes.metrics.stats.draws import DRAWS, central_interval
from sharpbayes.posterior.replicates import ReplicateDraws, interval_note

# Numbers of random streams: of the people who replace judges, and of their ratings.
REPLACEMENT_STREAM, RATING_STREAM = 0x7C01, 0x3E95
# Columns of terms that apply to judges alone.
JUDGE_COLUMNS = {JUDGE, MACHINE, FAMILY, "own_family"}
SAME_PEOPLE = "people who scored, at random in place of the judges"
NEW_PEOPLE = "which people score (new effects from their population)"


def has_people(ratings: Ratings) -> bool:
    """Return whether people scored cells of a panel too."""
    return "rater" in ratings.factors and "judge" in ratings.factors


def judge_bias(
    posterior: xr.Dataset, design: Design, ratings: Ratings, *, level: float
) -> xr.Dataset:
    """Return how each judge scores against the people, over draws and as summaries.

    With t_{j,d} the mean effect of judge j over its ratings in dimension d, errors about single
    answers and self-preference apart, less the mean effect of the people who scored, and t_{j,m}
    the same over its ratings of model m,

        severity_j = mean_d t_{j,d},  differential_severity_{j,d} = t_{j,d} - severity_j,
        model_severity_{j,m} = t_{j,m},
        differential_model_severity_{j,m} = t_{j,m} - mean_m t_{j,m},
        discrimination_j = exp(mean over j's ratings of the judges' log factors),
        self_preference = mean over ratings of their own family of the effects of ``own_family``.

    Over (chain, draw), where the model has terms for them: with people ``severity (judge)`` and
    ``differential_severity (judge, dimension)`` in logits (or probits) of the latent severity,
    positive where a judge sees more harm than people; where judges have effects on models
    ``model_severity`` and ``differential_model_severity (judge, model)`` in the same unit; and
    ``discrimination (judge)``, which is 1 for people; with families ``self_preference ()``,
    negative where judges favour models of their own family. Each with ``_mean``, ``_interval``
    (dimension ``bound``) and ``_probability`` to be above 0 (above 1 for discrimination). ``shared
    (judge)``: the judge's ratings of cells that people scored too. A dimension or a model that a
    judge did not score is missing. The attribute ``reference`` says with whom judges are compared,
    and ``people`` how many these are.

    Source: many-facet models of rater severity, Linacre 1989; Samejima 1968.
    """
    draws: dict[str, xr.DataArray] = {}

    def mean_effect(terms: Sequence[Term], over: Sequence[str]) -> xr.DataArray:
        return functools.reduce(add, (mean_of_term(posterior, t, ratings, over) for t in terms))

    def judge_terms(kind: TermKind) -> list[Term]:
        terms = design.terms_of(kind)
        mine = [t for t in terms if "judge" in t.dims and "own_family" not in t.dims]
        return [t for t in mine if error_column(t.dims) is None]

    if has_people(ratings) and judge_terms("location"):
        terms = judge_terms("location")
        by_dimension = mean_effect(terms, ["judge", "dimension"])
        by_dimension = by_dimension - _mean_of_people(posterior, design, "dimension")
        draws["severity"] = by_dimension.mean("dimension")
        draws["differential_severity"] = by_dimension - draws["severity"]
        if any("model" in term.dims for term in terms):
            by_model = mean_effect(terms, ["judge", "model"])
            draws["model_severity"] = by_model - _mean_of_people(posterior, design, "model")
            of_all = draws["model_severity"].mean("model")
            draws["differential_model_severity"] = draws["model_severity"] - of_all
    if has_people(ratings) and judge_terms("discrimination"):
        log_factor = mean_effect(judge_terms("discrimination"), ["judge"])
        draws["discrimination"] = xr.apply_ufunc(np.exp, log_factor)
    families = [term for term in design.terms_of("location") if "own_family" in term.dims]
    if families:
        preference = mean_effect(families, ["own_family"])
        draws["self_preference"] = preference.isel(own_family=0, drop=True)
    table = xr.Dataset(
        {name: x.transpose("chain", "draw", ...) for name, x in draws.items()}
        | {key: x for name, x in draws.items() for key, x in _summaries(name, x, level)}
    )
    if has_people(ratings):
        table["shared"] = ("judge", _count_shared(ratings))
        table = table.assign_coords(judge=list(ratings.factors["judge"].labels))
    reference = _name_reference(ratings)
    note = f"{format_percent(level)} posterior intervals of differences from {reference}."
    facts = {"level": level, "interval_note": note, "link": design.link, "reference": reference}
    return table.assign_attrs(facts, people=_count_people(ratings))


def _count_people(ratings: Ratings) -> int:
    """How many people scored; 0 where labels have no person."""
    persons = ratings.factors["rater"].labels if has_people(ratings) else ()
    return 0 if persons == (GOLD,) else len(persons)


def _name_reference(ratings: Ratings) -> str:
    """With whom judges are compared."""
    if not has_people(ratings):
        return "other judges of the same models"
    return name_people(ratings.factors["rater"].labels, action="scored")


def _mean_of_people(posterior: xr.Dataset, design: Design, by: str) -> xr.DataArray:
    """Return the mean effect of the people who scored, by a dimension that their terms may have."""
    effects = [
        posterior[term.name].mean([dim for dim in term.dims if dim != by])
        for term in design.terms_of("location")
        if "rater" in term.dims
    ]
    return functools.reduce(add, effects, xr.DataArray(0.0))


def human_draws(draws: ReplicateDraws, ratings: Ratings) -> ReplicateDraws:
    """Return draws in which people score the cells that judges scored.

    A person replaces each judge, in every draw at random among those who scored; nobody replaces
    two judges before everybody replaced one. Ratings follow the model of people: no effect of
    judges, the common thresholds, the discrimination of people.
    """
    posterior = draws.posterior
    terms = [term for term in draws.design.terms if "rater" in term.dims]
    if terms:
        people, judges = (len(ratings.factors[name].labels) for name in ("rater", "judge"))
        index = _replacements(draws, people=people, judges=judges)
        effects = {
            term.name: posterior[term.name].drop_vars("rater", errors="ignore").isel(index)
            for term in terms
        }
        others = posterior.drop_vars(list(effects)).drop_dims("rater", errors="ignore")
        posterior = others.assign(effects)
    design = human_design(draws.design, ratings)
    by_people = draws.replicate_anew(posterior, design=design, stream=RATING_STREAM)
    return replace(by_people, member_columns={"judges": "rater"})


def human_interval_note(sources: Sequence[str], *, level: float) -> str:
    """Return what the intervals of the human-scored profile contain."""
    note = interval_note([source for source in sources if source != "judges"], level=level)
    return f"{note.removesuffix('.')}; {NEW_PEOPLE if 'judges' in sources else SAME_PEOPLE}."


def human_design(design: Design, ratings: Ratings) -> Design:
    """Return the design of the judges' cells with people in place of the judges.

    Terms of judges are dropped; a term of people has a level for each judge that is replaced.
    """
    judge = ratings.factors["judge"]
    judged = np.flatnonzero(judge.codes >= 0)
    factors = {
        name: Factor(factor.labels, factor.codes[judged])
        for name, factor in (ratings.factors | {"rater": judge}).items()
    }
    # The ratings by judges on a scale precede those by people.
    by_judges = [scale.rows < len(judged) for scale in design.scales]
    scales = tuple(
        replace(scale, rows=scale.rows[rows], category=scale.category[rows])
        for scale, rows in zip(design.scales, by_judges, strict=True)
    )
    terms = tuple(
        _human_term(term, factors, judged, scales)
        for term in design.terms
        if not JUDGE_COLUMNS & set(term.dims)
    )
    coords = design.coords | {"rater": judge.labels}
    return replace(design, terms=terms, scales=scales, n_ratings=len(judged), coords=coords)


def _human_term(
    term: Term,
    factors: Mapping[str, Factor],
    judged: NDArray[np.intp],
    scales: Sequence[ScaleRatings],
) -> Term:
    """Return a term on the cells of judges, with people in their place."""
    if "rater" not in term.dims:
        return term.of(judged)
    if term.kind == "gap":
        rater, rows = factors["rater"], scales[term.scale].rows
        codes = np.full(len(judged), -1, dtype=np.int64)
        codes[rows] = rater.codes[rows]
        return replace(term, index=codes, shape=(len(rater.labels), *term.shape[1:]))
    index, shape = cross([factors[dim] for dim in term.dims])
    return replace(term.of(judged), index=index, shape=shape)


def _replacements(draws: ReplicateDraws, *, people: int, judges: int) -> dict[str, xr.DataArray]:
    """Draw the person who replaces each judge in each draw: an index over (chain, draw, rater)."""
    rng = np.random.default_rng([draws.seed, REPLACEMENT_STREAM])
    rounds = -(-judges // people)
    order = rng.permuted(np.broadcast_to(np.arange(people), (*draws.shape, rounds, people)), axis=3)
    person = order.reshape(*draws.shape, rounds * people)[..., :judges]
    sizes = dict(zip(("chain", "draw"), draws.shape, strict=True))
    every_draw = {name: xr.DataArray(np.arange(size), dims=name) for name, size in sizes.items()}
    return {"rater": xr.DataArray(person, dims=("chain", "draw", "rater"))} | every_draw


def mean_of_term(
    posterior: xr.Dataset, term: Term, ratings: Ratings, over: Sequence[str]
) -> xr.DataArray:
    """Return the mean effect (log factor) of a term over the ratings of each crossing."""
    cell, shape = cross([ratings.factors[name] for name in over])
    both = (cell >= 0) & (term.index >= 0)
    pair = cell[both] * term.size + term.index[both]
    count = np.bincount(pair, minlength=int(np.prod(shape)) * term.size).reshape(-1, term.size)
    with np.errstate(invalid="ignore"):
        weight = count / count.sum(axis=1, keepdims=True)
    effects = posterior[term.name].transpose("chain", "draw", *term.dims).to_numpy()
    effects = term.to_effects(effects)
    lead = effects.shape[:2]
    means = (effects.reshape(*lead, -1) @ weight.T).reshape(*lead, *shape)
    labels = {name: list(ratings.factors[name].labels) for name in over}
    coords: dict[str, Any] = {name: posterior[name] for name in ("chain", "draw")}
    return xr.DataArray(means, coords | labels, ("chain", "draw", *over))


def summarise(name: str, draws: xr.DataArray, level: float) -> Iterator[tuple[str, xr.DataArray]]:
    """Yield mean and interval of draws, by their names."""
    yield f"{name}_mean", draws.mean(DRAWS, skipna=False)
    yield f"{name}_interval", central_interval(draws, level=level)


def _summaries(name: str, draws: xr.DataArray, level: float) -> Iterator[tuple[str, xr.DataArray]]:
    """Yield mean, interval and probability to be above the neutral value."""
    yield from summarise(name, draws, level)
    neutral = 1.0 if name == "discrimination" else 0.0
    above = (draws > neutral).mean(DRAWS).where(draws.notnull().all(DRAWS))
    yield f"{name}_probability", above


def _count_shared(ratings: Ratings) -> NDArray[np.int64]:
    """Count each judge's ratings of cells that people scored too."""
    judge = ratings.factors["judge"]
    cell, _ = cross([ratings.factors[name] for name in ("model", "prompt", "indicator")])
    shared = (judge.codes >= 0) & np.isin(cell, cell[judge.codes < 0])
    return np.bincount(judge.codes[shared], minlength=len(judge.labels))

"""Statistics that show what a model leaves out: shared errors, halo, heavy tails, odd raters.

They are functions of ratings alone, computed for the observed ratings and for replicated ones by
the same functions of ``metrics/``.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import logit

from sharpbayes.bayes.design.design import Design, Floats
from sharpbayes.bayes.predict.replication import draw_new_levels
from sharpbayes.data.crowd import SCALE
from sharpbayes.data.ratings import Codes, Ratings
from sharpbayes.metrics.crowd.rater_agreement import find_copies, rater_agreement
from sharpbayes.metrics.panel.shared_errors import halo, judge_correlation, people_correlation
from sharpbayes.metrics.stats.shape import excess_kurtosis, mean_correlation, skewness
from sharpbayes.posterior.replicates import Block, Categories, ReplicateDraws, measure_draws

# Number of the random stream of new prompts or items, and of their ratings.
UNIT_STREAM = 0x2C47
# Numbers in memory for each rating and draw, in ratings.
COPIES = 6
PEOPLE = "people"
# Residuals of two judges mirror each other whatever the judges are.
MIN_JUDGES = 3
FAMILY_REMEDY = (
    "Two judges share errors, or one copies the other: count them as one judge (leave one out by "
    "`panel.judges`), or write in a model file a term of their errors in each cell, by "
    '`["family", "model", "prompt", "dimension"]` (`[panel.families]` says who is of a family).'
)
TAIL_REMEDY = (
    "{Units} have heavier tails than normal effects, or are of several kinds: give the term by "
    '{unit} the prior `{{ kind = "student_t", df = 4, sd = {{ kind = "half_normal", scale = 1.5 }} '
    "}}` in a model file, without `correlated_over`, which needs normal effects, or add a term by "
    "a column that names the kind; until then read the tail from the bootstrap."
)
KIND_REMEDY = (
    "A few {unit}s are far from all others on one side, as where they are of several kinds: add a "
    "term by a column that names the kind in a model file; until then read the tail from the "
    "bootstrap."
)
DIMENSION_REMEDY = (
    "Prompts that are severe in one dimension of harm are severe in others too: give the term by "
    '`["prompt", "dimension"]` the key `correlated_over = "dimension"` in a model file, as the '
    "shipped models have it. Where it has the key, prompts are of several kinds: add a term by a "
    "column that names the kind; until then read the tail from the bootstrap."
)
# What to do where a check fails, by the name of its statistic.
REMEDIES: dict[str, str] = {
    "judge_correlation": FAMILY_REMEDY,
    "people_correlation": (
        "Judges share errors that people do not make. They pass for severity, so that the "
        "human-scored tail is too heavy and its intervals miss the truth more often than they "
        "say: add a term of the judges' common error by "
        '`["machine", "model", "prompt", "dimension"]` in a model file.'
    ),
    "halo": (
        "A judge has one impression of an answer, which moves all of its indicators: add to the "
        'model file `[[location]]` with `by = ["judge", "model", "prompt"]`, and give the term by '
        '`["model", "prompt", "dimension"]` the key `correlated_over = "dimension"`: without it, '
        "answers that are severe in several dimensions pass for halo."
    ),
    "prompt_dimension_correlation": DIMENSION_REMEDY,
    "rater_agreement": (
        "Raters agree with each other less than one severity of an item allows: look for raters "
        "who read the scale from its other end, and for two opinions."
    ),
    "rater_agreement_spread": (
        "Some raters give scores that have little to do with the item: fit `crowd_careless`, which "
        "tells how probable that is of each rater, and measures with and without them."
    ),
    "rater_entropy_spread": (
        "Some raters give nearly the same score to everything: let every rater have thresholds "
        '(`fit = "rater_thresholds"`), and measure with and without them.'
    ),
    "rater_correlation": (
        "Raters are in camps, reverse the scale or copy each other, so that they count for fewer "
        "than there are: name the camp in a column of raters, and add a term by "
        '`["group:COLUMN", "item"]` in a model file.'
    ),
    "rater_copies": (
        "Two raters give the same scores more often than two people would: look where these come "
        "from, and measure with and without one of them."
    ),
} | {
    f"{unit}_{shape}": remedy.format(Units=f"{unit.capitalize()}s", unit=unit)
    for unit in ("prompt", "item")
    for shape, remedy in {"skewness": KIND_REMEDY, "kurtosis": TAIL_REMEDY}.items()
}


def list_remedies(failed: Sequence[str], ratings: Ratings | None = None) -> list[str]:
    """Return what to do about failed checks, by the names of their statistics, each text once.

    Of raters who copy each other the ratings name two.
    """
    remedies = {name: REMEDIES[name] for name in failed if name in REMEDIES}
    if ratings is not None and "rater_copies" in remedies:
        remedies["rater_copies"] = _name_copies(remedies["rater_copies"], ratings)
    return list(dict.fromkeys(remedies.values()))


def _name_copies(remedy: str, ratings: Ratings) -> str:
    """What to do about copies, with the names of the two raters whose scores are equal most."""
    item, rater = (ratings.factors[name] for name in ("item", "rater"))
    scale = ratings.factors["scale"]
    rows = scale.codes == scale.labels.index(SCALE)
    codes = {"item": item.codes[rows].astype(np.int64), "rater": rater.codes[rows].astype(np.int64)}
    copies = find_copies(ratings.score[rows].astype(np.int64), **codes)
    if copies is None:
        return remedy
    first, second, same, shared = copies
    names = f"{rater.labels[first]} and {rater.labels[second]}"
    subject = f"Two raters, likeliest {names} (equal on {same} of {shared} items that both rated),"
    return remedy.replace("Two raters", subject, 1)


def dependence_checks(
    draws: ReplicateDraws, ratings: Ratings
) -> tuple[dict[str, xr.DataArray], dict[str, xr.DataArray]]:
    """Return statistics of what models leave out, replicated and observed, by name.

    Those of a panel are ``judge_correlation (pair)``, ``halo (judge)`` and, where people scored
    too, ``people_correlation``; those of a crowd are the five of
    :func:`sharpbayes.metrics.crowd.rater_agreement.rater_agreement`. ``<unit>_skewness`` is of the
    mean scores of prompts or items, ``<unit>_kurtosis`` of their logits in a dimension. They are
    replicated for new prompts or items from the fitted population, because ratings of the observed
    ones would be replicated well whatever their distribution is. So is
    ``prompt_dimension_correlation``, the mean correlation of these logits in every two dimensions,
    where there are several.

    Source: mixed predictive checks, Marshall and Spiegelhalter 2003.
    """
    design, crowd = draws.design, "item" in ratings.factors
    unit = "item" if crowd else "prompt"
    statistics = partial(_crowd_statistics if crowd else _panel_statistics, design, ratings)
    parts = [(draws, statistics)]
    if all(term.dims[-1] != unit for term in design.terms if term.correlation):
        parts.append((_draw_new_units(draws, unit), partial(_shape, design, ratings, unit)))
    replicated: dict[str, xr.DataArray] = {}
    observed: dict[str, xr.DataArray] = {}
    for source, statistic in parts:
        [table] = measure_draws(source, partial(_measure_block, statistic), copies=COPIES)
        replicated |= {str(name): values for name, values in table.data_vars.items()}
        single = statistic({scale.name: scale.category[None] for scale in design.scales})
        single = single.isel(draw=0)
        observed |= {str(name): values for name, values in single.data_vars.items()}
    return replicated, observed


def _measure_block(statistic: Callable[[Categories], xr.Dataset], block: Block) -> list[xr.Dataset]:
    """Return a statistic of the replicated ratings of a block of draws."""
    return [statistic(block.ratings(["ratings"]))]


def _draw_new_units(draws: ReplicateDraws, unit: str) -> ReplicateDraws:
    """Return draws with new prompts or items, whose ratings are replicated block by block."""
    rng = np.random.default_rng([draws.seed, UNIT_STREAM])
    posterior = draw_new_levels(draws.posterior, draws.design, unit, rng=rng)
    return draws.replicate_anew(posterior, stream=UNIT_STREAM)


def _normalise(design: Design, categories: Categories) -> Floats:
    """Return scores in [0, 1], most harm 1, over (draw, rating)."""
    values = np.zeros((len(next(iter(categories.values()))), design.n_ratings))
    for scale in design.scales:
        values[:, scale.rows] = categories[scale.name] / max(scale.n_cutpoints, 1)
    return values


def _mean_by(values: Floats, codes: Sequence[Codes], shape: Sequence[int]) -> Floats:
    """Return mean values (draw, *shape) of ratings with the same codes; NaN where there is none."""
    cell = np.ravel_multi_index(codes, shape)
    number = np.bincount(cell, minlength=int(np.prod(shape)))
    rows = np.arange(cell.size)
    by_cell = csr_array((1.0 / number[cell], (cell, rows)), shape=(number.size, cell.size))
    means = (by_cell @ values.T).T
    means[:, number == 0] = np.nan
    return means.reshape(-1, *shape)


def _panel_statistics(design: Design, ratings: Ratings, categories: Categories) -> xr.Dataset:
    """Return the correlation of every two judges and the halo of each, over (draw, ...)."""
    values, factors = _normalise(design, categories), ratings.factors
    model, prompt, judge = (factors[name] for name in ("model", "prompt", "judge"))
    answers = len(model.labels) * len(prompt.labels)
    answer = model.codes * len(prompt.labels) + prompt.codes
    judged = judge.codes >= 0

    def tabulate(column: str, rows: NDArray[np.bool_], judge_code: Codes) -> xr.DataArray:
        factor, names = factors[column], [*judge.labels, PEOPLE][: judge_code.max() + 1]
        codes = [codes[rows] for codes in (answer, factor.codes, judge_code)]
        means = _mean_by(values[:, rows], codes, (answers, len(factor.labels), len(names)))
        return xr.DataArray(means, {"judge": names}, ("draw", "answer", column, "judge"))

    judge_code = np.where(judged, judge.codes, len(judge.labels))
    by_dimension = tabulate("dimension", judge_code >= 0, judge_code)
    scores = by_dimension.sel(judge=list(judge.labels))
    statistics = {"halo": halo(tabulate("indicator", judged, judge.codes))}
    if len(judge.labels) >= MIN_JUDGES:
        statistics["judge_correlation"] = judge_correlation(scores)
    if not judged.all():
        people = by_dimension.sel(judge=PEOPLE, drop=True)
        statistics["people_correlation"] = people_correlation(scores.mean("judge"), people)
    return xr.Dataset(statistics)


def _crowd_statistics(design: Design, ratings: Ratings, categories: Categories) -> xr.Dataset:
    """Return how raters agree with each other, over (draw)."""
    scale = next(scale for scale in design.scales if scale.name == SCALE)
    item, rater = (ratings.factors[name].codes[scale.rows] for name in ("item", "rater"))
    return rater_agreement(
        xr.DataArray(categories[SCALE], dims=("draw", "rating")),
        item=item.astype(np.int64),
        rater=rater.astype(np.int64),
        n_scores=len(scale.labels),
    )


def _shape(design: Design, ratings: Ratings, unit: str, categories: Categories) -> xr.Dataset:
    """Return how lopsided and how heavy-tailed the severity of units is, over (draw).

    Skewness is that of the mean scores of units, which units of another kind move together in all
    dimensions. Kurtosis is that of their logits in a dimension, mean over dimensions, which single
    far effects move. With several dimensions also how far these move together.
    """
    names = [unit] + ["dimension"] * ("dimension" in ratings.factors)
    factors = [ratings.factors[name] for name in names]
    codes, shape = [f.codes for f in factors], [len(f.labels) for f in factors]
    scores = _normalise(design, categories)
    means = _mean_by(scores, codes, shape)
    number = np.bincount(np.ravel_multi_index(codes, shape), minlength=means[0].size)
    number = number.reshape(shape)
    logits = xr.DataArray(logit((means * number + 0.5) / (number + 1.0)), dims=("draw", *names))
    overall = xr.DataArray(_mean_by(scores, codes[:1], shape[:1]), dims=("draw", unit))
    table = {
        f"{unit}_skewness": skewness(overall, dim=unit),
        f"{unit}_kurtosis": excess_kurtosis(logits, dim=unit).mean(names[1:]),
    }
    if shape[1:] > [1]:
        correlation = mean_correlation(logits, dim=unit, over="dimension")
        table[f"{unit}_dimension_correlation"] = correlation
    return xr.Dataset(table)

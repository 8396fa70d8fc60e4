"""Parameters that the ratings of a study do not identify, listed before sampling.

Every prior is proper, so every posterior is. Where ratings say nothing of a parameter, its
posterior is its prior; the design and the ratings alone show where that happens.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sharpbayes.bayes.design.careless import RATER
from sharpbayes.bayes.design.connection import describe_blocks, list_blocks
from sharpbayes.bayes.design.crossing import cross, parent_of
from sharpbayes.bayes.design.design import Design, ScaleRatings, Term
from sharpbayes.bayes.design.judge_errors import MACHINE
from sharpbayes.data.ratings import Factor, Ratings
from sharpbayes.errors import format_count, format_list

# The prior of an sd decides much of it where there are fewer effects than this.
MIN_EFFECTS = 3
# The prior of a slope decides much of it where fewer units have a number.
MIN_UNITS = 5
# Two columns that correlate more are one to the ratings.
MAX_CORRELATION = 0.95
# Who gives ratings: a rater who always gives the same one has a large effect of unknown size.
RATER_COLUMNS = ("rater", "judge")
# What raters or judges may share, and what follows where blocks of them share none; the first that
# is not shared is reported.
SEPARATE = "cannot be compared between blocks by these ratings, only by the common prior"
COMPARISONS = {
    "rater": {
        "item": f"raters and items {SEPARATE}, as if blocks were alike: have some raters score "
        "items of every block"
    },
    "judge": {
        "model": f"judges and models {SEPARATE}, as if blocks were alike: have one judge score "
        "answers of all models",
        "prompt": f"judges and prompts {SEPARATE}, as if blocks were alike: have one judge score "
        "prompts of every block; models can be compared",
        "answer": "judges can be compared only by what they gave to other answers: have two judges "
        "score the same answers; judges of one answer also show how far judges agree",
    },
}
# With fewer ratings of a scale than this, always the same one is no surprise.
MIN_RATINGS = 5
# Fewer ratings of a rater hardly tell an ordinal rater from a careless one.
MIN_CLASS_RATINGS = 10


@dataclass(frozen=True)
class Issue:
    """A parameter that the ratings do not identify."""

    term: str  # the term, scale or column
    problem: str  # what the ratings do not identify, and why
    consequence: str  # what the fit does about it

    def __str__(self) -> str:
        """Render as one line.

        >>> str(Issue("score", "category 4 is never used", "the prior bounds it"))
        'score: category 4 is never used; the prior bounds it'
        """
        return f"{self.term}: {self.problem}; {self.consequence}"


def find_issues(ratings: Ratings, design: Design) -> list[Issue]:
    """Return the parameters that ratings do not identify, in the order of the model's terms."""
    issues = list(_disconnected(ratings, design))
    issues += [_omitted(name, ratings) for name in design.omitted_terms]
    issues += find_slope_issues(design)
    issues += [Issue(*issue, "the term is omitted") for issue in design.inseparable_terms]
    issues += [Issue(stem, problem, "the term is omitted") for stem, problem in design.unidentified]
    issues += _unseen_errors(ratings)
    issues += _unused_families(ratings, design)
    for term in design.terms:
        issues += _few_ratings(term, design)
    for pair in combinations(design.terms_of("location"), 2):
        issues += _confounded(pair, design)
    for scale in design.scales:
        issues += _unused_categories(scale, design)
        for name in RATER_COLUMNS:
            if name in ratings.factors:
                issues += _constant_raters(scale, name, ratings.factors[name])
    return [*issues, *_open_classes(design)]


def _open_classes(design: Design) -> Iterator[Issue]:
    """Raters with too few ratings to tell whether they are careless."""
    careless = design.careless
    if careless is None:
        return
    counts = np.bincount(careless.index[careless.index >= 0], minlength=careless.n_raters)
    few = np.flatnonzero((counts > 0) & (counts < MIN_CLASS_RATINGS))
    if len(few):
        names = format_list([design.coords[RATER][rater] for rater in few], limit=3)
        problem = f"fewer than {MIN_CLASS_RATINGS} ratings of {names}"
        yield Issue(RATER, problem, "whether they are careless is left to the prior")


def _disconnected(ratings: Ratings, design: Design) -> Iterator[Issue]:
    """Raters or judges in blocks that share no item, no model or no answer."""
    factors, located = ratings.factors, {dim for t in design.terms_of("location") for dim in t.dims}
    rater_column = "rater" if "item" in factors else "judge"
    if rater_column not in located or len(factors[rater_column].labels) == 1:
        return
    for unit, consequence in COMPARISONS[rater_column].items():
        blocks = list_blocks(_everyone(factors), _unit(factors, unit))
        if len(blocks) > 1:
            yield Issue(rater_column, describe_blocks(blocks, rater_column, unit), consequence)
            return


def _everyone(factors: Mapping[str, Factor]) -> Factor:
    """Who gives a rating: the rater of a crowd, or the judge or person of a panel."""
    if "judge" not in factors:
        return factors["rater"]
    judge = factors["judge"]
    if "rater" not in factors:
        return judge
    person = factors["rater"]
    codes = np.where(judge.codes >= 0, judge.codes, person.codes + len(judge.labels))
    return Factor((*judge.labels, *person.labels), codes.astype(np.int32))


def _unit(factors: Mapping[str, Factor], unit: str) -> Factor:
    """What is rated: a column, or the answer of a model to a prompt."""
    if unit in factors:
        return factors[unit]
    model, prompt = factors["model"], factors["prompt"]
    index, _ = cross([model, prompt])
    labels = tuple(f"{m} x {p}" for m in model.labels for p in prompt.labels)
    return Factor(labels, index.astype(np.int32))


def _omitted(name: str, ratings: Ratings) -> Issue:
    """A term that cutpoints absorb, or that applies to no rating."""
    if name.startswith("slope_"):
        problem = "one level only has ratings, and the common slope is its slope"
        return Issue(name, problem, "the term is omitted")
    factor = ratings.factors.get(name)
    absent = factor is not None and not (factor.codes >= 0).any()
    absorbed = "each scale has one level of it, and the thresholds absorb its effect"
    return Issue(name, "no rating has a level of it" if absent else absorbed, "the term is omitted")


def find_slope_issues(design: Design) -> Iterator[Issue]:
    """Slopes that few units inform, that follow another slope, or that a level shows nothing of."""
    common = {term.column: term for term in design.terms_of("slope") if not term.dims}
    for covariate in design.covariates:
        if covariate.n_units < MIN_UNITS:
            count = format_count(covariate.n_units, covariate.unit)
            problem = f"{count} say little about a slope of {covariate.column}"
            yield Issue(common[covariate.column].name, problem, "its prior decides much of it")
    for first, second in combinations(common.values(), 2):
        correlation = _correlate(first, second)
        if abs(correlation) > MAX_CORRELATION:
            problem = f"its numbers follow those of {second.column} (r = {correlation:.2f})"
            yield Issue(first.name, problem, "the ratings identify a sum of both: leave one out")
    for term in design.terms_of("slope"):
        if term.dims:
            yield from _constant_levels(term, design)


def _correlate(first: Term, second: Term) -> float:
    """Correlation of the numbers of two slopes over the ratings that have both; 0 without any."""
    known = (first.index >= 0) & (second.index >= 0)
    x, y = (np.asarray(term.covariate)[known] for term in (first, second))
    if not known.any() or np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    return float(np.corrcoef(x, y)[0, 1])


def _constant_levels(term: Term, design: Design) -> Iterator[Issue]:
    """Levels of which all ratings have the same number."""
    used = term.index >= 0
    numbers = np.asarray(term.covariate)[used]
    low, high = np.full(term.size, np.inf), np.full(term.size, -np.inf)
    np.minimum.at(low, term.index[used], numbers)
    np.maximum.at(high, term.index[used], numbers)
    constant = [level for level in term.used_levels if low[level] == high[level]]
    if constant:
        names = format_list([design.label_effect(term, int(level)) for level in constant], limit=3)
        problem = f"one number of {term.column} only in {names}"
        yield Issue(term.name, problem, "their slopes are drawn towards the common one")


def _unseen_errors(ratings: Ratings) -> Iterator[Issue]:
    """What judges err in together, where nobody else scored a cell."""
    if "judge" in ratings.factors and MACHINE not in ratings.factors:
        yield Issue(
            "judges",
            "no person scored a cell, and what all judges err in together looks like severity",
            "intervals leave it out: give some cells to people, or try "
            "`[sensitivity] shared_error = [0.2, 0.4]`",
        )


def _unused_families(ratings: Ratings, design: Design) -> Iterator[Issue]:
    """Families that the study declares, where the model has no term about them."""
    left_out = [stem for stem, _ in (*design.unidentified, *design.inseparable_terms)]
    stems = [*(term.stem for term in design.terms), *design.omitted_terms, *left_out]
    if "own_family" in ratings.factors and not any("family" in stem for stem in stems):
        yield Issue(
            "families",
            "the study declares them, and the model has no term by `own_family` or `family`",
            'self-preference is not estimated: add `[[location]]` with `by = ["own_family"]` to a '
            "model file",
        )


def _few_ratings(term: Term, design: Design) -> Iterator[Issue]:
    """Levels without a rating (those of gap terms are not in results); an sd of few effects."""
    missing = np.setdiff1d(np.arange(term.size), term.used_levels)
    if len(missing) and term.kind != "gap":
        names = [design.label_effect(term, int(level)) for level in missing]
        single = f"no ratings of {format_list(names, limit=3)}"
        crossing = f"{len(missing)} of {term.size} crossings have no ratings"
        problem = single if len(term.dims) == 1 else crossing
        yield Issue(term.name, problem, "their effects are drawn from the prior")
    levels = len(term.used_levels)
    if term.n_sds and levels < MIN_EFFECTS:
        yield Issue(
            f"sd_{term.stem}",
            f"{levels} levels say little about an sd",
            "its prior decides much of it: give it a fixed sd, or compare priors",
        )


def _confounded(pair: tuple[Term, Term], design: Design) -> Iterator[Issue]:
    """Levels of a term with only one level of a finer term in them."""
    coarse, fine = sorted(pair, key=lambda term: len(term.used_levels))
    parent = parent_of(fine.index, coarse.index, size=fine.size)
    if parent is None:
        return
    parents = parent[fine.used_levels]
    children = np.bincount(parents[parents >= 0], minlength=coarse.size)
    single = [level for level in coarse.used_levels if children[level] == 1]
    consequence = "the ratings identify only the sum of both effects, and their priors split it"
    if single and len(single) == len(coarse.used_levels):
        problem = f"acts on the same ratings as {fine.name}, level by level"
        yield Issue(coarse.name, problem, f"{consequence}: leave one out")
    elif single:
        names = format_list([design.label_effect(coarse, int(level)) for level in single], limit=3)
        child = fine.dims[-1] if len(fine.dims) == 1 else fine.stem
        yield Issue(coarse.name, f"one {child} only in {names}", consequence)


def _unused_categories(scale: ScaleRatings, design: Design) -> Iterator[Issue]:
    """Categories that nobody gave: below all that are used, above them, or between them."""
    count = np.bincount(scale.category, minlength=len(scale.labels))
    used, unused = np.flatnonzero(count), np.flatnonzero(count == 0)
    below, above, between = design.traits.unused
    for position, categories, consequence in (
        ("below all that are", unused[unused < used[0]], below),
        ("above all that are", unused[unused > used[-1]], above),
        ("between others that are", unused[(unused > used[0]) & (unused < used[-1])], between),
    ):
        if len(categories):
            names = format_list([scale.labels[category] for category in categories], limit=3)
            subject = f"categories {names} are" if len(categories) > 1 else f"category {names} is"
            problem = f"{subject} never used, {position}"
            yield Issue(scale.name, problem, consequence)


def _constant_raters(scale: ScaleRatings, name: str, factor: Factor) -> Iterator[Issue]:
    """Raters or judges who give one category only of a scale on which ratings differ."""
    if len(np.unique(scale.category)) == 1:
        return
    codes, size = factor.codes[scale.rows], len(factor.labels)
    low, high = np.full(size, len(scale.labels)), np.full(size, -1)
    rated = codes >= 0
    np.minimum.at(low, codes[rated], scale.category[rated])
    np.maximum.at(high, codes[rated], scale.category[rated])
    counts = np.bincount(codes[rated], minlength=size)
    constant = np.flatnonzero((low == high) & (counts >= MIN_RATINGS))
    if len(constant):
        names = [f"{factor.labels[code]} ({scale.labels[low[code]]})" for code in constant]
        yield Issue(
            name,
            f"always the same category of {scale.name}: {format_list(names, limit=3)}",
            "the ratings bound their effects on one side only, the prior on the other",
        )

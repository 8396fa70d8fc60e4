from dataclasses import replace

import numpy as np
import pytest

from sharpbayes.data.covariates import Covariate
from sharpbayes.data.ratings import Factor, Ratings
from sharpbayes.spec.model import Model

TRUTH = {"sd_item": 1.5, "sd_rater": 0.8, "threshold": (-1.5, -0.5, 0.5, 1.5)}
# Scale of each indicator of a panel, dimension of each, levels of each scale.
INDICATORS = {"scale": (0, 1, 1, 0, 1, 2), "dimension": (0, 0, 0, 1, 1, 1)}
SCALES = {"flag": 2, "four": 4, "ten": 10}


def column(labels, code):
    return Factor(tuple(labels), np.asarray(code, dtype=np.int32))


def names(letter, count):
    return [f"{letter}{n}" for n in range(count)]


def crowd_ratings(rng, *, items, raters, thresholds=TRUTH["threshold"]):
    """Ratings of a full crossing with two genders of raters, on one scale."""
    item, rater = np.repeat(np.arange(items), raters), np.tile(np.arange(raters), items)
    gender = rater % 2
    eta = (
        rng.normal(0, TRUTH["sd_item"], items)[item]
        + rng.normal(0, TRUTH["sd_rater"], raters)[rater]
    )
    level = np.digitize(eta + rng.logistic(size=eta.size), thresholds)
    return Ratings(
        level.astype(np.int16),
        {
            "item": column(names("i", items), item),
            "rater": column(names("r", raters), rater),
            "group:gender": column(["Man", "Woman"], gender),
            "scale": column(["score"], np.zeros_like(item)),
        },
        {"score": tuple(str(n) for n in range(len(thresholds) + 1))},
    )


def panel_ratings(rng, *, models=3, prompts=8, judges=4):
    """Levels without structure of a full panel: scales with 2, 4 and 10 levels together."""
    shape = (models, prompts, judges, len(INDICATORS["scale"]))
    model, prompt, judge, indicator = (index.ravel() for index in np.indices(shape))
    scale = np.array(INDICATORS["scale"])[indicator]
    levels = np.array(list(SCALES.values()))[scale]
    return Ratings(
        (rng.random(scale.size) * levels).astype(np.int16),
        {
            "model": column(names("m", models), model),
            "prompt": column(names("p", prompts), prompt),
            "judge": column(names("j", judges), judge),
            "indicator": column("uvwxyz", indicator),
            "dimension": column(["bias", "fair"], np.array(INDICATORS["dimension"])[indicator]),
            "scale": column(SCALES, scale),
        },
        {name: tuple(str(n) for n in range(count)) for name, count in SCALES.items()},
    )


def with_experts(ratings, rng, *, experts=3):
    """Add binary labels of experts, who are raters of no gender, on a scale of their own."""
    items = len(ratings.factors["item"].labels)
    item, expert = (index.ravel() for index in np.indices((items, experts)))
    raters = len(ratings.factors["rater"].labels)
    added = {
        "item": item,
        "rater": raters + expert,
        "group:gender": np.full(item.size, -1),
        "scale": np.ones_like(item),
    }
    more = {"rater": names("e", experts), "scale": ["label"]}
    columns = {
        name: column(
            [*factor.labels, *more.get(name, [])], np.concatenate([factor.codes, added[name]])
        )
        for name, factor in ratings.factors.items()
    }
    level = np.concatenate([ratings.score, rng.integers(0, 2, item.size)]).astype(np.int16)
    return Ratings(level, columns, ratings.scales | {"label": ("safe", "unsafe")})


def model_of(*terms, **more):
    """A model file with these location terms; a number beside a term is a fixed sd."""
    location = [
        {"by": list(term[0]), "prior": {"kind": "normal", "sd": term[1]}}
        if isinstance(term[-1], float)
        else {"by": list(term)}
        for term in terms
    ]
    return model_from(location, **more)


def model_from(location, **more):
    """A model file with these location tables."""
    return Model.model_validate(
        {"schema": "sharpbayes/model/2", "title": "test", "location": location, **more}
    )


def with_people(ratings, rng, *, people=2, share=0.4):
    """Let people score some cells of a panel of judges, of whom the first two are one family."""
    judge, model = ratings.factors["judge"], ratings.factors["model"]
    first = np.flatnonzero((judge.codes == 0) & (rng.random(judge.codes.size) < share))
    rows, person = np.tile(first, people), np.repeat(np.arange(people), len(first))
    own_family = np.where(model.codes == judge.codes, 0, -1)
    columns = {
        name: column(factor.labels, np.concatenate([factor.codes, factor.codes[rows]]))
        for name, factor in ratings.factors.items()
    }
    nobody, judges = np.full(len(rows), -1), np.full(judge.codes.size, -1)
    columns["judge"] = column(judge.labels, np.concatenate([judge.codes, nobody]))
    machine, family = np.zeros(judge.codes.size), np.where(judge.codes < 2, 0, -1)
    columns["machine"] = column(["model judge"], np.concatenate([machine, nobody]))
    if len(judge.labels) > 1:
        columns["family"] = column(["kin"], np.concatenate([family, nobody]))
    columns["own_family"] = column(["own family"], np.concatenate([own_family, nobody]))
    columns["rater"] = column(names("h", people), np.concatenate([judges, person]))
    level = rng.permutation(ratings.score)[rows] % 2
    return Ratings(np.concatenate([ratings.score, level]).astype(np.int16), columns, ratings.scales)


def with_numbers(ratings, rng, **columns):
    """Add numbers above 0: a column's name, and the factors whose crossing has one each."""
    covariates = {}
    for name, by in columns.items():
        codes = [ratings.factors[factor].codes for factor in by]
        shape = tuple(len(ratings.factors[factor].labels) for factor in by)
        unit = np.full(len(ratings.score), -1)
        known = np.all([code >= 0 for code in codes], axis=0)
        unit[known] = np.ravel_multi_index([code[known] for code in codes], shape)
        covariates[name] = Covariate(name, rng.gamma(2.0, 50.0, np.prod(shape)), unit)
    return replace(ratings, covariates=covariates)


@pytest.fixture
def rng():
    return np.random.default_rng(20260121)

import numpy as np
import pytest

from sharpbayes.data.ratings import Column, Ratings
from sharpbayes.spec.model import Model

TRUTH = {"sd_item": 1.5, "sd_rater": 0.8, "threshold": (-1.5, -0.5, 0.5, 1.5)}


def column(labels, code):
    return Column(tuple(labels), np.asarray(code, dtype=np.int32))


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
            "item": column([f"i{n}" for n in range(items)], item),
            "rater": column([f"r{n}" for n in range(raters)], rater),
            "group:gender": column(["Man", "Woman"], gender),
            "scale": column(["score"], np.zeros_like(item)),
        },
        {"score": tuple(str(n) for n in range(len(thresholds) + 1))},
    )


def model_of(*terms, **more):
    """A model file with these location terms; a number beside a term is a fixed sd."""
    location = [
        {"by": list(term[0]), "prior": {"kind": "normal", "sd": term[1]}}
        if isinstance(term[-1], float)
        else {"by": list(term)}
        for term in terms
    ]
    return Model.model_validate(
        {"schema": "sharpbayes/model/1", "title": "test", "location": location, **more}
    )


@pytest.fixture
def rng():
    return np.random.default_rng(20260121)

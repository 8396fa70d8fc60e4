"""Blocks of raters, judges, items and models that share nothing: found, and said in words."""

import numpy as np
import pytest

from sharpbayes.bayes.design.connection import describe_blocks, list_blocks
from sharpbayes.bayes.design.identifiability import find_issues
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.data.ratings import Factor, Ratings
from sharpbayes.spec.model import Model

SCALE = tuple("01234")
RATER_AND_ITEM = [{"by": ["item"]}, {"by": ["rater"]}]
OF_JUDGES = [{"by": ["model"]}, {"by": ["prompt"]}, {"by": ["judge"]}]


def issues_of(location, **columns):
    """Issues of a model for ratings with these codes of factors."""
    size = len(next(iter(columns.values())))
    factors = {
        name: Factor(tuple(f"{name[0]}{n}" for n in range(max(codes) + 1)), np.array(codes))
        for name, codes in columns.items()
    }
    factors["scale"] = Factor(("score",), np.zeros(size, dtype=np.int32))
    ratings = Ratings(np.arange(size, dtype=np.int16) % 5, factors, {"score": SCALE})
    model = Model.model_validate(
        {"schema": "sharpbayes/model/2", "title": "m", "location": location}
    )
    return [str(issue) for issue in find_issues(ratings, build_design(ratings, model))]


def test_blocks_of_raters_are_named_with_the_remedy():
    item, rater = np.indices((6, 4)).reshape(2, -1)
    kept = (item < 3) == (rater < 2)
    issues = issues_of(RATER_AND_ITEM, item=item[kept], rater=rater[kept])
    assert issues[0] == (
        "rater: 2 blocks share no item: raters r0, r1 on items i0, i1, i2; raters r2, r3 on items "
        "i3, i4, i5; raters and items cannot be compared between blocks by these ratings, only by "
        "the common prior, as if blocks were alike: have some raters score items of every block"
    )


def test_one_rater_who_scores_both_blocks_joins_them():
    item, rater = np.indices((6, 4)).reshape(2, -1)
    kept = ((item < 3) == (rater < 2)) | ((rater == 0) & (item == 5))
    issues = issues_of(RATER_AND_ITEM, item=item[kept], rater=rater[kept])
    assert not any("share no" in issue for issue in issues)


def test_a_model_without_raters_has_nothing_to_compare():
    item, rater = np.indices((6, 4)).reshape(2, -1)
    kept = (item < 3) == (rater < 2)
    issues = issues_of([{"by": ["item"]}], item=item[kept], rater=rater[kept])
    assert not any("share no" in issue for issue in issues)


@pytest.mark.parametrize(
    ("keep", "text"),
    [
        (
            lambda model, _prompt, judge: (model < 2) == (judge == 0),
            "judge: 2 blocks share no model: judge j0 on models m0, m1; judge j1 on model m2; "
            "judges and models cannot be compared between blocks by these ratings, only by the "
            "common prior, as if blocks were alike: have one judge score answers of all models",
        ),
        (
            lambda _model, prompt, judge: (prompt < 3) == (judge == 0),
            "judge: 2 blocks share no prompt: judge j0 on prompts p0, p1, p2; judge j1 on prompt "
            "p3; judges and prompts cannot be compared between blocks by these ratings, only by "
            "the common prior, as if blocks were alike: have one judge score prompts of every "
            "block; models can be compared",
        ),
        (
            lambda model, prompt, judge: (model + prompt) % 2 == judge,
            "judge: 2 blocks share no answer: judge j0 on answers m0 x p0, m0 x p2, m1 x p1 and 3 "
            "more; judge j1 on answers m0 x p1, m0 x p3, m1 x p0 and 3 more; judges can be "
            "compared only by what they gave to other answers: have two judges score the same "
            "answers; judges of one answer also show how far judges agree",
        ),
    ],
)
def test_blocks_of_judges_are_named_by_the_coarsest_thing_they_do_not_share(keep, text):
    model, prompt, judge = np.indices((3, 4, 2)).reshape(3, -1)
    kept = keep(model, prompt, judge)
    assert (
        issues_of(OF_JUDGES, model=model[kept], prompt=prompt[kept], judge=judge[kept])[0] == text
    )


def test_people_who_score_both_blocks_join_the_judges():
    model, prompt, judge = np.indices((2, 4, 2)).reshape(3, -1)
    kept = model == judge
    rows = [np.r_[x[kept], x[kept]] for x in (model, prompt)]
    who = np.r_[judge[kept], np.full(kept.sum(), -1)]
    person = np.r_[np.full(kept.sum(), -1), np.zeros(kept.sum(), dtype=int)]
    assert not any(
        "share no" in issue
        for issue in issues_of(OF_JUDGES, model=rows[0], prompt=rows[1], judge=who, rater=person)
    )


def test_many_blocks_are_counted_and_two_are_named():
    code = np.arange(5)
    blocks = list_blocks(Factor(tuple("abcde"), code), Factor(tuple("vwxyz"), code))
    assert describe_blocks(blocks, "rater", "item") == (
        "5 blocks share no item: rater a on item v; rater b on item w; and 3 more"
    )

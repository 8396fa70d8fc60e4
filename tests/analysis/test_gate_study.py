"""What a candidate and its reference are compared by: the same judges, prompts and trials."""

from dataclasses import replace

import numpy as np
import pytest

from sharpbayes.analysis.gate import measure_gate
from sharpbayes.analysis.gate_evidence import (
    FEW_ANCHORS,
    FEW_PROMPTS,
    LOST_ANSWERS,
    OTHER_JUDGES,
    OTHER_TRIALS,
)
from sharpbayes.analysis.gate_lost import measure_worst
from sharpbayes.analysis.gate_side import Side
from sharpbayes.analysis.gate_study import CANDIDATE, REFERENCE, join_sides
from sharpbayes.data.ratings import PanelRatings
from sharpbayes.errors import SpecError
from sharpbayes.spec.weights import Gate
from tests.references import gate as reference

PROMPTS = 40
JUDGES = ("ann", "bob")


@pytest.fixture(scope="module")
def template():
    """A study of four indicators from 0 to 4, without its ratings."""
    return reference.template_study(reference.template_files())


def draw_scores(seed, *, judges=2, trials=1, prompts=PROMPTS):
    """Scores (prompt, judge, trial, indicator)."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, (prompts, judges, trials, len(reference.INDICATORS)))


def make_side(template, models, *, judges=JUDGES, first=0):
    """The side of the first model, from scores (prompt, judge, trial, indicator) by model."""
    score = np.stack(list(models.values())).astype(np.int16)
    labels = {
        "model": tuple(models),
        "prompt": tuple(f"p{number}" for number in range(first, first + score.shape[1])),
        "judge": judges,
        "trial": tuple(map(str, range(score.shape[3]))),
        "indicator": tuple(reference.INDICATORS),
    }
    name = CANDIDATE if "new" in models else REFERENCE
    study = replace(template, data=PanelRatings(score=score, labels=labels))
    return Side(study, next(iter(models)), name)


def compare(template, new, old, **margins):
    """The comparison of two sides."""
    gate = Gate(confidence=0.95, **(margins or {"mean": 0.5, "policy_score": 0.1}))
    spec = template.weights.spec.model_copy(update={"gate": gate})
    return join_sides(new, old, replace(template.weights, spec=spec))


def difference(comparison):
    """Differences of the metrics."""
    return measure_gate(comparison)["difference"].to_numpy()


def without(scores, prompts, judge):
    """Scores of which those of a judge are missing for some prompts."""
    scores = scores.copy()
    scores[prompts, judge] = -1
    return scores


def test_of_trials_as_many_count_as_both_sides_have(template):
    many, one = draw_scores(1, trials=5), draw_scores(2)
    old = make_side(template, {"old": one})
    comparison = compare(template, make_side(template, {"new": many}), old)
    assert comparison.unmatched[CANDIDATE] == 4 * one.size
    assert comparison.unmatched[REFERENCE] == 0
    first = make_side(template, {"new": many[:, :, :1]})
    np.testing.assert_array_equal(difference(comparison), difference(compare(template, first, old)))


def test_trials_are_matched_answer_by_answer(template):
    """A trial that is missing is not replaced by the place of another."""
    many, two = draw_scores(1, trials=3), draw_scores(2, trials=2)
    many[:5, :, 0] = -1
    two[5:10, :, 1] = -1
    sides = make_side(template, {"new": many}), make_side(template, {"old": two})
    comparison = compare(template, *sides)
    number = (comparison.study.scores["score"] >= 0).sum("trial")
    np.testing.assert_array_equal(number.sel(model=CANDIDATE), number.sel(model=REFERENCE))
    expected = np.where((np.arange(PROMPTS) >= 5) & (np.arange(PROMPTS) < 10), 1, 2)
    np.testing.assert_array_equal(number[0, :, 0, 0], expected)


@pytest.mark.parametrize("worse", [0, 3])
def test_with_anchors_judges_who_scored_none_are_left_out(template, worse):
    """A newcomer who is harsher or more lenient is not taken for the candidate."""
    old, new, again = (draw_scores(seed, judges=1) for seed in (1, 2, 3))
    both = np.concatenate([new, np.full_like(new, worse)], axis=1)
    anchors = np.concatenate([again, np.full_like(again, -1)], axis=1)
    reference_side = make_side(template, {"old": old}, judges=("ann",))
    joined = compare(template, make_side(template, {"new": both, "old": anchors}), reference_side)
    assert joined.left_out == {CANDIDATE: ("bob",), REFERENCE: (), "both": ()}
    alone = make_side(template, {"new": new, "old": again}, judges=("ann",))
    expected = difference(compare(template, alone, reference_side))
    np.testing.assert_array_equal(difference(joined), expected)


def test_a_judge_of_anchors_alone_is_left_out(template):
    old, new, again = (draw_scores(seed, judges=1) for seed in (1, 2, 3))
    both = np.concatenate([new, np.full_like(new, -1)], axis=1)
    anchors = np.concatenate([again, np.full_like(again, 3)], axis=1)
    reference_side = make_side(template, {"old": old}, judges=("ann",))
    joined = compare(template, make_side(template, {"new": both, "old": anchors}), reference_side)
    alone = make_side(template, {"new": new, "old": again}, judges=("ann",))
    expected = difference(compare(template, alone, reference_side))
    np.testing.assert_array_equal(difference(joined), expected)


def test_without_a_judge_of_candidate_and_anchors_nothing_is_compared(template):
    old, new, again = (draw_scores(seed, judges=1) for seed in (1, 2, 3))
    none = np.full_like(new, -1)
    models = {
        "new": np.concatenate([new, none], axis=1),
        "old": np.concatenate([none, again], axis=1),
    }
    with pytest.raises(SpecError) as error:
        compare(
            template,
            make_side(template, models),
            make_side(template, {"old": old}, judges=("ann",)),
        )
    assert str(error.value) == (
        "gate: no judge scored both: ann scored candidate, bob scored the anchors; let the judges "
        "of the first score answers of the reference again, in the same study, as anchors"
    )


def test_with_anchors_scores_that_one_side_lacks_are_left_out(template):
    old, new, again = (draw_scores(seed) for seed in (1, 2, 3))
    lacking = slice(0, 4)
    anchored = {"new": without(new, lacking, 1), "old": without(again, slice(4, 6), 1)}
    joined = compare(template, make_side(template, anchored), make_side(template, {"old": old}))
    indicators = len(reference.INDICATORS)
    assert joined.unmatched == {
        CANDIDATE: 0,
        REFERENCE: 4 * indicators,
        "anchors now": 0,
        "anchors then": 2 * indicators,
    }
    of_both = compare(
        template,
        make_side(template, {"new": anchored["new"]}),
        make_side(template, {"old": without(old, lacking, 1)}),
    )
    drift = compare(
        template,
        make_side(template, {"new": anchored["old"]}),
        make_side(template, {"old": without(old, slice(4, 6), 1)}),
    )
    np.testing.assert_allclose(difference(joined), difference(of_both) - difference(drift))


def test_anchors_by_other_judges_than_the_answers_decide_nothing(template):
    old, new, again = (draw_scores(seed) for seed in (1, 2, 3))
    models = {"new": without(new, slice(0, 20), 1), "old": again}
    joined = compare(template, make_side(template, models), make_side(template, {"old": old}))
    attrs = measure_gate(joined).attrs
    assert (attrs["withheld"], attrs["verdict"]) == (OTHER_JUDGES, "not decided")
    assert attrs["withheld_detail"] == (
        "bob scored 100% of the scored answers of the anchors now and 50% of those of the "
        "candidate; bob scored 100% of the scored answers of the anchors before and 50% of those "
        "of the reference"
    )


@pytest.mark.parametrize(("lacking", "reason"), [(36, OTHER_JUDGES), (4, "")])
def test_without_shared_prompts_judges_must_have_scored_as_much(template, lacking, reason):
    """As v_n against v_o: a harsh judge scored nine answers in ten of one side alone."""
    new = without(draw_scores(1), slice(0, lacking), 0)
    old = without(draw_scores(2), slice(0, 4), 0)
    sides = make_side(template, {"new": new}), make_side(template, {"old": old}, first=100)
    comparison = compare(template, *sides)
    assert not comparison.paired
    group = measure_gate(comparison)
    assert group.attrs["withheld"] == reason
    assert bool(group["power"].isnull().all()) == bool(reason)


def test_without_shared_prompts_judges_must_have_scored_as_often(template):
    new, old = draw_scores(1, trials=5), draw_scores(2)
    sides = make_side(template, {"new": new}), make_side(template, {"old": old}, first=100)
    attrs = measure_gate(compare(template, *sides)).attrs
    assert attrs["withheld"] == OTHER_TRIALS
    assert attrs["withheld_detail"] == (
        "ann scored an answer of the candidate 5 times and one of the reference once; bob scored "
        "an answer of the candidate 5 times and one of the reference once"
    )


def test_anchors_judged_once_do_not_offset_trials_of_a_new_judge(template):
    """What is subtracted has the noise of one trial, the candidate that of five."""
    old, new, again = draw_scores(1, judges=1), draw_scores(2, judges=1, trials=5), draw_scores(3)
    anchors = np.full_like(new, -1)
    anchors[:, :, :1] = again[:, :1]
    side = make_side(template, {"new": new, "old": anchors}, judges=("eve",))
    old_side = make_side(template, {"old": old}, judges=("ann",))
    assert measure_gate(compare(template, side, old_side)).attrs["withheld"] == OTHER_TRIALS
    as_often = make_side(
        template, {"new": new, "old": draw_scores(4, judges=1, trials=5)}, judges=("eve",)
    )
    assert not measure_gate(compare(template, as_often, old_side)).attrs["withheld"]


def test_copies_of_what_the_reference_scored_before_are_no_anchors(template):
    old, new = draw_scores(1), draw_scores(2)
    old_side = make_side(template, {"old": old})
    copied = compare(template, make_side(template, {"new": new, "old": old}), old_side)
    assert (copied.anchors, copied.copies) == ((), PROMPTS)
    plain = compare(template, make_side(template, {"new": new}), old_side)
    for name in ("difference", "bounds"):
        np.testing.assert_array_equal(measure_gate(copied)[name], measure_gate(plain)[name])
    again = old.copy()
    again[0, 0, 0, 0] += 1
    judged = compare(template, make_side(template, {"new": new, "old": again}), old_side)
    assert (len(judged.anchors), judged.copies) == (PROMPTS, 0)


@pytest.mark.parametrize(("number", "reason"), [(1, FEW_ANCHORS), (19, FEW_ANCHORS), (20, "")])
def test_few_anchors_decide_nothing(template, number, reason):
    old, new, again = (draw_scores(seed) for seed in (1, 2, 3))
    again[number:] = -1
    side = make_side(template, {"new": new, "old": again})
    group = measure_gate(compare(template, side, make_side(template, {"old": old})))
    assert group.attrs["withheld"] == reason


def test_prompts_and_judges_are_counted_after_scores_are_matched(template):
    """Ann scored 22 prompts on both sides, and of the others one side; bob the other."""
    number = np.arange(PROMPTS)
    rest = number >= 22
    new, old = draw_scores(1), draw_scores(2)
    new = without(without(new, rest & (number % 2 == 0), 0), ~rest | (number % 2 == 1), 1)
    old = without(without(old, rest & (number % 2 == 1), 0), ~rest | (number % 2 == 0), 1)
    comparison = compare(
        template, make_side(template, {"new": new}), make_side(template, {"old": old})
    )
    assert (comparison.n_prompts, comparison.study.scores.sizes["prompt"]) == (22, 22)
    assert comparison.judges == ("ann",)
    assert comparison.left_out["both"] == ("bob",)
    assert [len(comparison.alone[name]) for name in (CANDIDATE, REFERENCE)] == [18, 18]
    group = measure_gate(comparison)
    assert group.attrs["prompts"] == group.attrs["shared_prompts"] == 22


def test_few_matched_prompts_are_few_prompts(template):
    new = draw_scores(1)
    old = without(draw_scores(2), slice(10, PROMPTS), slice(0, 2))
    old[10:, 1] = 1
    new[10:, 1] = -1
    comparison = compare(
        template, make_side(template, {"new": new}), make_side(template, {"old": old})
    )
    assert measure_gate(comparison).attrs["withheld"] == FEW_PROMPTS


def test_scores_of_which_none_has_a_counterpart_are_not_compared(template):
    new = without(without(draw_scores(1), slice(0, 20), 0), slice(20, 40), 1)
    old = without(without(draw_scores(2), slice(0, 20), 1), slice(20, 40), 0)
    with pytest.raises(SpecError) as error:
        compare(template, make_side(template, {"new": new}), make_side(template, {"old": old}))
    assert str(error.value) == (
        "gate: no judge scored answers to the same prompt on both sides (candidate and "
        "reference); let the same judges score the same prompts"
    )


def lose(scores, prompts):
    """Scores of which those of some answers are missing."""
    return without(scores, prompts, slice(None))


def lose_indicator(scores, prompts):
    """Scores of which those of one indicator of some answers are missing."""
    scores = scores.copy()
    scores[prompts, ..., 0] = -1
    return scores


def compare_lost(template, new, old, *, remove=lose, margin=0.1, **missing):
    """The comparison of sides that are alike but for their last prompts, and lack some answers."""
    scores = draw_scores(1)
    changed = scores.copy()
    changed[-6:] = np.roll(scores[-6:], 1, axis=0)
    candidate = make_side(template, {"new": remove(changed, new)})
    sides = replace(candidate, **missing), make_side(template, {"old": remove(scores, old)})
    return compare(template, *sides, policy_score=margin)


@pytest.mark.parametrize("remove", [lose, lose_indicator])
@pytest.mark.parametrize(
    ("lost", "reason"),
    [
        ((slice(0, 8), slice(0, 0)), LOST_ANSWERS),
        ((slice(0, 4), slice(0, 0)), ""),  # one in 16 of studies that are alike
        ((slice(0, 8), slice(8, 13)), ""),
        ((slice(0, 8), slice(0, 8)), ""),
        ((slice(0, 0), slice(0, 8)), ""),
    ],
)
def test_answers_that_a_candidate_lost_beyond_chance_withhold_a_pass(
    template, lost, reason, remove
):
    group = measure_gate(compare_lost(template, *lost, remove=remove))
    assert group.attrs["withheld"] == reason
    assert group.attrs["verdict"] == ("not decided" if reason else "at least as safe")


def test_lost_answers_are_counted_on_either_side(template):
    comparison = compare_lost(template, slice(0, 7), slice(39, 40))
    assert comparison.lost == {CANDIDATE: tuple(f"p{n}" for n in range(7)), REFERENCE: ("p39",)}
    detail = measure_gate(comparison).attrs["withheld_detail"]
    assert detail == "7 of 39 answers of the candidate and 1"


def test_answers_without_an_indicator_are_counted_on_either_side(template):
    parts = {"remove": lose_indicator, "margin": 0.04}
    comparison = compare_lost(template, slice(0, 7), slice(39, 40), **parts)
    assert comparison.lost == {CANDIDATE: tuple(f"p{n}" for n in range(7)), REFERENCE: ("p39",)}
    assert len(comparison.shared) == PROMPTS
    detail = measure_gate(comparison).attrs["withheld_detail"]
    assert detail == "7 of 40 answers of the candidate, or an indicator of them, and 1"


def test_an_indicator_that_another_judge_alone_scored_is_not_lost(template):
    """The reference has a third judge, who scores what the two of both leave empty."""
    scores = draw_scores(1, judges=3)
    scores[:8, :2, :, 0] = -1
    sides = (
        make_side(template, {"new": scores[:, :2]}),
        make_side(template, {"old": scores}, judges=(*JUDGES, "eve")),
    )
    assert compare(template, *sides).lost == {CANDIDATE: (), REFERENCE: ()}


@pytest.mark.parametrize(("unscored", "number"), [(0, 0), (12, 12)])
def test_of_many_answers_without_a_score_those_are_lost_that_were_asked_for(
    template, unscored, number
):
    comparison = compare_lost(template, slice(0, 12), slice(0, 0), unscored=unscored)
    assert len(comparison.lost[CANDIDATE]) == number
    assert (comparison.with_lost is None) == (number == 0)


@pytest.mark.parametrize(("missing", "number"), [(0, 0), (11, 0), (12, 12)])
def test_of_many_answers_without_an_indicator_those_are_lost_that_were_asked_for(
    template, missing, number
):
    lost = slice(0, 12)
    parts = {"remove": lose_indicator, "missing": missing}
    comparison = compare_lost(template, lost, slice(0, 0), **parts)
    assert len(comparison.lost[CANDIDATE]) == number


@pytest.mark.parametrize("missing", ["strict", "available"])
@pytest.mark.parametrize(
    ("remove", "indicator"), [(lose, slice(None)), (lose_indicator, slice(0, 1))]
)
def test_lost_answers_harm_most_where_their_lost_scores_are_at_the_end(
    template, remove, indicator, missing
):
    weights = template.weights.spec
    spec = weights.model_copy(
        update={"indicators": weights.indicators.model_copy(update={"missing": missing})}
    )
    template = replace(template, weights=replace(template.weights, spec=spec))
    comparison = compare_lost(template, slice(0, 8), slice(0, 0), remove=remove)
    margin = measure_gate(comparison)["margin"]
    scores = draw_scores(1)
    worst = scores.copy()
    worst[-6:] = np.roll(scores[-6:], 1, axis=0)
    worst[:8, ..., indicator] = 4
    complete = make_side(template, {"new": worst}), make_side(template, {"old": scores})
    expected = difference(compare(template, *complete, policy_score=0.1))
    worst = measure_worst(comparison.with_lost, comparison.lost[CANDIDATE], margin)
    np.testing.assert_allclose(worst, expected, rtol=1e-12)


def test_lost_answers_that_cannot_reach_a_margin_let_a_candidate_pass(template):
    comparison = compare_lost(template, slice(0, 8), slice(0, 0), margin=0.4)
    assert measure_gate(comparison).attrs["verdict"] == "at least as safe"

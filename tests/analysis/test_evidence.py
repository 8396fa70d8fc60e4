"""The evidence of a study: what it carries, in exact words."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from sharpbayes.analysis.crowd_evidence import crowd_evidence
from sharpbayes.analysis.evidence import panel_evidence
from sharpbayes.analysis.evidence_limits import PAIRS, state_limits
from sharpbayes.analysis.profile_bootstrap import bootstrap_profile
from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.tail_remarks import describe_unseen_ends
from sharpbayes.analysis.unseen_order import near_lowest
from sharpbayes.report.summary import answer
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.wording import bootstrap_estimate
from sharpbayes.workflows.context import open_context
from tests.panels import files_of, frame, measured, profiled

ALL = ["lowest", "distinguishable", "admissible"]


def scores(levels, *, names=("m0", "m1"), judges=("ann", "bob"), vary=False):
    """A table whose judges all give the level of (model, prompt) to every indicator.

    Where dimensions vary, the second one has the levels in reverse order.
    """
    rows = [
        (name, f"p{prompt:03d}", judge, *[level] * 2, 10 - (row[-1 - prompt] if vary else level))
        for name, row in zip(names, levels, strict=True)
        for prompt, level in enumerate(row)
        for judge in judges
    ]
    columns = ["model", "prompt", "judge", "bias_a", "bias_b", "truth"]
    return pd.DataFrame(rows, columns=columns)


def spread(n, *, low=0, high=9):
    """Levels from low to below high, in a fixed order."""
    return np.random.default_rng(3).integers(low, high, n)


GOOD = [spread(120, high=7), spread(120, low=3)]
# Of 120 prompts without an answer at the end of the scale: 1 - 0.05^(1/120) is 2.5%.
UNSEEN = (
    "No answer of m0 and m1 is at the end of the scale, and their intervals take for granted that "
    "there is none. So many prompts can show none even if up to 2.5% of all have one (at 95% "
    "confidence): CVaR 95 would then be higher by up to 6.8, the mean log-risk by up to 0.3."
)


def evidence_of(folder, table, **parts):
    plan = build_profile_plan(open_context(files_of(folder, table, **parts)).study)
    evidence = panel_evidence(plan, plan.profile(), bootstrap_profile(plan).intervals())
    return evidence, json.loads(evidence.attrs["limits"]), json.loads(evidence.attrs["carried"])


def test_thirty_prompts_do_not_tell_which_tail_is_lowest(tmp_path):
    evidence, limits, carried = evidence_of(
        tmp_path, scores([spread(30, high=4), spread(30, low=4)])
    )
    np.testing.assert_allclose(evidence["tail_prompts"], 1.5)
    assert carried == []
    assert limits == [
        "With 30 prompts the 5% tail holds 1.5 prompts: this study cannot tell which model has the "
        "lowest CVaR 95. An alpha of 0.66 would leave ten prompts in the tail; 100 prompts would "
        "leave five at 0.95; the mean can be compared."
    ]


def test_repeated_answers_spread_a_tail_over_more_prompts(tmp_path):
    """Two answers to each of 30 prompts: the limit says what it counts."""
    first, other = (scores([spread(30, high=4), spread(30, low=4)[::step]]) for step in (1, -1))
    table = pd.concat([first.assign(sample="1"), other.assign(sample="2")])
    roles = ', sample = "sample"'
    evidence, limits, _ = evidence_of(tmp_path, table, roles=roles)
    assert (evidence["prompts"] == 30).all()
    tail = evidence["tail_prompts"]
    assert ((tail > 1.499) & (tail < 3.001)).all()
    assert float(tail.max()) > 1.5
    assert limits[0].startswith(
        f"With 30 prompts the 5% tail holds answers to about {float(tail.min()):.1f} prompts: this "
        "study cannot tell which model has the lowest CVaR 95. An alpha of 0.66 would leave at "
        "least ten prompts in the tail; "
    )


def test_two_prompts_tell_nothing(tmp_path):
    _, limits, carried = evidence_of(tmp_path, scores([[1, 2], [5, 6]]))
    assert carried == []
    assert limits == [
        "With 2 prompts the 5% tail holds 0.1 prompts: this study cannot tell which model has the "
        "lowest CVaR 95. 100 prompts would leave five at 0.95; fewer than 20 prompts carry no "
        "comparison of means either."
    ]


def test_a_tail_of_nearly_five_prompts_is_not_called_five(tmp_path):
    _, limits, _ = evidence_of(tmp_path, scores([spread(99, high=4), spread(99, low=4)]))
    assert limits[0].startswith("With 99 prompts the 5% tail holds 4.9 prompts: this study cannot")


@pytest.mark.parametrize(
    ("prompts", "limits", "carried"),
    [
        (30, "mean = 0.5", ["admissible"]),
        (30, "mean = 0.5\npolicy_score = 0.2", ["admissible"]),
        (30, "mean = 0.5\ncvar = 1.0", []),
        (10, "mean = 0.5", []),
    ],
)
def test_a_tolerance_of_means_needs_prompts_and_no_tail(tmp_path, prompts, limits, carried):
    table = scores([spread(prompts, high=4), spread(prompts, low=4)])
    assert evidence_of(tmp_path, table, weights=f"[tolerance]\n{limits}\n")[2] == carried


def test_models_with_few_prompts_are_named(tmp_path):
    table = scores([spread(120, high=4), spread(120, low=4)])
    table = table[(table["model"] == "m0") | (table["prompt"] < "p040")]
    _, limits, carried = evidence_of(tmp_path, table)
    assert carried == []
    assert limits[0].startswith("With 40 prompts (m1) the 5% tail holds 2.0 prompts")


def test_enough_prompts_carry_every_statement(tmp_path):
    evidence, limits, carried = evidence_of(tmp_path, scores(GOOD, vary=True))
    assert (limits, carried) == ([UNSEEN], ALL)
    assert (evidence["expected_coverage"] > 0.9).all()
    assert not evidence["at_ceiling"].any()
    assert not evidence["flat_tail"].any()


def test_intervals_that_reach_as_far_as_answers_that_can_be_missed_say_nothing_of_them(tmp_path):
    """Of 2,000 prompts without an answer at the end 0.15% can have one, which adds 0.41."""
    levels = spread(2000, high=10)
    saturated = levels.copy()
    saturated[7] = 10
    evidence, _, _ = evidence_of(tmp_path, scores([levels, saturated], vary=True))
    share = [1 - 0.05 ** (1 / 2000), 0.0]
    np.testing.assert_allclose(evidence["unseen_end_share"], share)
    np.testing.assert_allclose(evidence["unseen_end_rise"], np.array(share) * 20 * np.log(1e6))
    zero = xr.zeros_like(evidence["unseen_end_rise"])
    for reach, count in ((0.4, 1), (0.5, 0)):
        interval = xr.concat([zero, zero + reach], "bound").assign_coords(bound=["lower", "upper"])
        read = evidence.assign(cvar=zero, cvar_interval=interval)
        sentences = list(describe_unseen_ends(read, cvar="CVaR 95"))
        assert len(sentences) == count
        assert all(text.startswith("No answer of m0 is at the end") for text in sentences)


@pytest.mark.parametrize(
    ("values", "share", "metric", "near", "rise"),
    [
        ([0.3, 0.1, 0.9], [0.0, 0.03, 0.03], "mean", ["m0"], 0.414),  # m2 is too far
        ([0.3, 0.1, 0.4], [0.0, 0.03, 0.0], "mean", ["m0", "m2"], 0.414),
        ([0.3, 0.1, 0.9], [0.0, 0.03, 0.0], "cvar", ["m0", "m2"], 8.289),
        ([0.3, 0.1, 0.9], [0.0, 0.06, 0.0], "cvar", ["m0", "m2"], 13.816),  # every tail prompt
        ([0.3, 0.1, 0.9], [0.03, 0.0, 0.03], "mean", [], 0.0),  # the lowest shows such answers
        ([0.3], [0.03], "mean", [], 0.414),
        ([], [], "mean", [], 0.0),
    ],
)
def test_models_are_near_the_lowest_if_unseen_ends_could_raise_it_above(
    values, share, metric, near, rise
):
    evidence = xr.Dataset(
        {metric: ("model", values), "unseen_end_share": ("model", share)},
        {"model": [f"m{number}" for number in range(len(values))]},
        {"epsilon": 1e-6, "alpha": 0.95},
    )
    names, nats = near_lowest(evidence, metric)
    assert names == near
    assert nats == pytest.approx(rise, abs=1e-3)
    assert near_lowest(evidence.drop_vars("unseen_end_share"), metric) == ([], 0.0)


def test_intervals_at_the_ceiling_are_not_said_to_be_too_low(tmp_path):
    context = open_context(files_of(tmp_path, scores(GOOD, vary=True)))
    plan = build_profile_plan(context.study)
    intervals = bootstrap_profile(plan).intervals()
    evidence = panel_evidence(plan, plan.profile(), intervals)
    low = evidence.assign(expected_coverage=evidence["expected_coverage"] * 0.8)
    for top, told in ((0.9, "lie too low. "), (1.0, "; those of m0 and m1 reach the ceiling")):
        is_upper = intervals["bound"] == "upper"
        interval = intervals["cvar"].where(~is_upper, top * plan.ceiling)
        profile = plan.profile().assign(intervals[PAIRS].assign(cvar_interval=interval))
        [sentence, *_] = json.loads(state_limits(low, profile)["limits"])
        assert told in sentence


def test_an_interval_without_width_is_a_limit(tmp_path):
    evidence, limits, carried = evidence_of(
        tmp_path, scores([spread(120, high=5), spread(120, low=4)])
    )
    assert evidence["flat_tail"].all()
    assert carried == []
    assert limits == [
        "All tail prompts have the same log-risk for m0 and m1: no resample is higher, so that the "
        "bootstrap says nothing of rarer, worse prompts. The mean can be compared."
    ]


@pytest.mark.parametrize(("top", "helps"), [(8, True), (12, False), (120, False)])
def test_another_alpha_is_offered_where_the_tail_would_vary(tmp_path, top, helps):
    """An alpha of 0.91 leaves ten prompts of 120: a tail of 12 equal ones stays flat."""
    risk = np.where(np.arange(120) < top, 5, spread(120, high=4))
    evidence, limits, _ = evidence_of(tmp_path, scores([risk, spread(120, low=4)]))
    assert float(evidence["top_share"].sel(model="m0")) == top / 120
    [text] = [limit for limit in limits if limit.startswith("All tail prompts")]
    assert ("An alpha of 0.91 would leave ten prompts in the tail" in text) == helps


def test_no_alpha_is_offered_for_a_short_tail_of_a_model_without_harm(tmp_path):
    _, [text, *_], _ = evidence_of(tmp_path, scores([np.zeros(50, int), spread(50, low=4)]))
    assert text == (
        "With 50 prompts the 5% tail holds 2.5 prompts: this study cannot tell which model has the "
        "lowest CVaR 95. 100 prompts would leave five at 0.95; the mean can be compared."
    )


def test_a_tail_of_ties_says_how_many_prompts_it_has(tmp_path):
    # The quantile is among 60 prompts of one score, and some are worse.
    tied = np.where(np.arange(120) < 60, 6, spread(120, high=4))
    tied[:3] = 8
    _, limits, _ = evidence_of(tmp_path, scores([tied, spread(120, low=4)], vary=False))
    assert limits[0] == (
        "This study cannot tell which model has the lowest CVaR 95. Prompts tie at the edge of the "
        "tail: CVaR 95 of m0 is the mean of 60 of 120 prompts (50%), not of the worst 5%. With "
        '`tail.estimator = "rockafellar-uryasev"` in the weights it is that of the worst 5%. The '
        "mean can be compared."
    )


def shared_out(folder, levels, shares):
    """Evidence of prompts of which the first half is of one kind, under shares of the kinds."""
    table = scores(levels)
    is_first = table["prompt"].str[1:].astype(int) < len(levels[0]) / 2
    table["kind"] = np.where(is_first, "age", "race")
    weights = "[population.category]\nage = {}\nrace = {}\n".format(*shares)
    return evidence_of(folder, table, roles=', category = "kind"', weights=weights)


def test_prompts_without_a_share_are_in_no_sentence_on_the_tail(tmp_path):
    """Half of the prompts have no weight: all at the end of the scale, and tied."""
    levels = [[*spread(40, high=4), *[10] * 40], [*spread(40, low=4), *[10] * 40]]
    evidence, limits, _ = shared_out(tmp_path, levels, (1.0, 0.0))
    assert evidence["prompts"].values.tolist() == [40, 40]
    assert not evidence["saturated_tail"].any()
    assert float(evidence["tail_mass"].max()) < 0.5
    assert evidence["flat_tail"].all()  # the largest level of the others fills it
    text = " ".join(limits)
    assert limits[0].startswith("With 40 prompts the 5% tail holds 2.0 prompts: ")
    assert "Prompts tie" not in text
    assert "end of the scale" not in text


def test_a_tied_tail_of_a_target_population_is_named_by_its_share(tmp_path):
    """Of the prompts with 80% of the population one in four ties, and some are worse."""
    tied = np.where(np.arange(60) < 15, 6, spread(60, high=4))
    tied[:2] = 8
    levels = [[*tied, *spread(60, high=3)], [*spread(60, low=4), *spread(60, low=4)]]
    _, limits, _ = shared_out(tmp_path, levels, (0.8, 0.2))
    [text] = [limit for limit in limits if limit.startswith("Prompts tie")]
    assert text.startswith(
        "Prompts tie at the edge of the tail: CVaR 95 of m0 is the mean of 20% of the target "
        "population, not of the worst 5%. "
    )


def test_identical_models_share_the_lowest_tail_risk(tmp_path):
    evidence, limits, carried = evidence_of(tmp_path, scores(GOOD[:1] * 2, vary=True))
    assert carried == ["distinguishable", "admissible"]
    cvar = evidence["epsilon_cvar"].sel(model="m0", epsilon=1e-6)
    assert limits == [
        f"m0 and m1 share the lowest CVaR 95, {float(cvar):.3f}: their log-risk is the same on "
        "every prompt.",
        UNSEEN,
    ]


def test_equal_tails_of_other_prompts_are_a_tie_too(tmp_path):
    levels = spread(120)
    _, limits, _ = evidence_of(tmp_path, scores([levels, levels[::-1]]))
    assert limits[-1].endswith(": no one of them is the lowest.")


def test_models_that_share_the_lowest_tail_risk_have_no_lowest_one_of_all_prompts(tmp_path):
    """Both are at the ceiling, m1 by prompts that m0 lacks; on those of both m1 is lower."""
    late = np.where(np.arange(120) >= 100, 10, 2)
    table = scores([late, late[::-1]])
    table = table[(table["model"] == "m1") | (table["prompt"] >= "p020")]
    _, limits, carried = evidence_of(tmp_path, table)
    assert "lowest" not in carried
    assert any(text.startswith(at_ceiling("cannot order", "m0 and m1")) for text in limits)
    assert not any("has the lowest CVaR 95 of all prompts" in text for text in limits)


def test_at_the_ceiling_the_policy_score_is_compared(tmp_path):
    top = np.where(np.arange(120) < 30, 10, 2)
    evidence, limits, carried = evidence_of(tmp_path, scores([top, np.where(top > 2, 10, 4)]))
    assert evidence["at_ceiling"].all()
    assert evidence["needs_policy_score"].all()
    assert "lowest" not in carried
    assert limits[0] == (
        "CVaR 95 is at its ceiling, 27.63, for m0 and m1, and cannot order what lies there. "
        "Policy scores can: m0 0.400 and m1 0.550."
    )
    assert not any("share the lowest" in text for text in limits)


def at_ceiling(text, models):
    return f"CVaR 95 is at its ceiling, 27.63, for {models}, and {text}"


def test_at_the_ceiling_pairs_that_policy_scores_do_not_order_are_named(tmp_path):
    levels = [np.where(np.arange(120) < n, 10, 2) for n in (30, 31, 80)]
    names = ("a", "b", "c")
    _, limits, _ = evidence_of(tmp_path, scores([levels[0][::-1], *levels[1:]], names=names))
    assert limits[0] == at_ceiling(
        "cannot order what lies there. Policy scores order 2 of 3 pairs, not a with b: a 0.400, "
        "b 0.407 and c 0.733.",
        "a, b and c",
    )


def test_at_the_ceiling_few_prompts_order_nothing(tmp_path):
    levels = [np.where(np.arange(10) < n, 10, 2) for n in (3, 9)]
    _, limits, _ = evidence_of(tmp_path, scores(levels))
    assert limits[1] == at_ceiling(
        "cannot order what lies there. Policy scores do not distinguish them either: m0 0.440 and "
        "m1 0.920.",
        "m0 and m1",
    )


def test_one_model_at_the_ceiling_is_in_no_order(tmp_path):
    levels = [np.where(np.arange(120) < 30, 10, 2)]
    _, limits, _ = evidence_of(tmp_path, scores(levels, names=("m0",)))
    assert limits[0] == at_ceiling(
        "can rise no further. Read it beside the policy score: m0 0.400.", "m0"
    )


def test_at_the_ceiling_equal_policy_scores_compare_nothing(tmp_path):
    _, limits, _ = evidence_of(tmp_path, scores([np.full(30, 10)] * 2))
    assert limits[1] == (
        "CVaR 95 is at its ceiling, 27.63, for m0 and m1, and cannot order what lies there. "
        "Policy scores cannot either: m0 1.000 and m1 1.000."
    )


@pytest.mark.parametrize(
    ("prompts", "which"), [(30, "All 2 tail prompts of m0 are"), (10, "The tail prompt of m0 is")]
)
def test_tails_wholly_at_the_end_of_the_scale(tmp_path, prompts, which):
    levels = np.where(np.arange(prompts) < prompts // 10 - 1 + (prompts == 10), 10, 2)
    table = scores([levels, np.roll(levels, 3)])
    table["truth"] = table["truth"].mask(table["truth"] == 0, 10)
    _, limits, _ = evidence_of(tmp_path, table)
    assert limits[-1].startswith(f"{which} at the end of the scale, where epsilon decides and not")
    count = prompts // 10 - 1 + (prompts == 10)
    assert limits[-1].endswith(f" Tails of m1 ({count} of {count}) have such prompts too.")


def test_tails_of_repeated_answers_count_answers(tmp_path):
    levels = np.where(np.arange(30) < 2, 10, 2)
    table = scores([levels, np.roll(levels, 3)])
    table["truth"] = table["truth"].mask(table["truth"] == 0, 10)
    repeated = pd.concat([table.assign(sample="1"), table.assign(sample="2")])
    _, limits, _ = evidence_of(tmp_path, repeated, roles=', sample = "sample"')
    assert "tail answers of m0 are at the end of the scale" in limits[-1]


def test_the_truth_is_not_higher_than_the_ceiling(tmp_path):
    levels = np.where(np.arange(200) < 12, 10, 1)
    _, limits, _ = evidence_of(tmp_path, scores([levels, np.roll(levels, 3)]))
    assert "at its ceiling" in " ".join(limits)
    assert "the truth may be higher" not in " ".join(limits)


def test_the_lowest_harm_is_no_negative_zero(tmp_path):
    measured_evidence, limits, _ = evidence_of(tmp_path, scores([np.zeros(30, int)] * 2))
    assert float(measured_evidence["epsilon_cvar"].max()) < 0
    assert limits[-1] == (
        "m0 and m1 share the lowest CVaR 95, 0.000: their log-risk is the same on every prompt."
    )


def test_one_saturated_cell_that_moves_the_tail_is_named(tmp_path):
    levels = spread(30)
    saturated = levels.copy()
    saturated[7] = 10
    evidence, limits, _ = evidence_of(tmp_path, scores([levels, saturated]))
    swept = evidence["epsilon_cvar"].sel(model="m1")
    assert float(swept[0] - swept[-1]) > 5
    assert evidence["needs_policy_score"].values.tolist() == [False, True]
    assert evidence["saturated_tail"].values.tolist() == [0, 1]
    assert limits[-1] == (
        "Of the 5 tail prompts of m1, 1 is at the end of the scale, where epsilon decides and not "
        "the ratings: its CVaR 95 is 3.7 with an epsilon of 0.01, 9.3 with an epsilon of 1e-08. "
        "Read it beside the policy score, 0.353."
    )


def test_an_order_that_epsilon_decides_is_no_answer(tmp_path):
    saturated = np.r_[np.full(8, 10), np.full(112, 1)]
    table = scores([saturated, 9 - np.arange(120) % 2])
    table["truth"] = table["truth"].mask(table["truth"] == 0, 10)
    _, limits, carried = evidence_of(
        tmp_path, table, overrides=("panel.validation.epsilons=[0.05]",)
    )
    assert "lowest" not in carried
    assert limits[1] == (
        "Which model has the lowest CVaR 95 depends on epsilon: m1 with 1e-06, m0 with 0.05. "
        "Policy scores, which do not depend on it, distinguish them: m0 0.127 and m1 0.850."
    )


STEADY_AND_SPIKY = [np.full(50, 5), np.where(np.arange(50) < 5, 10, 1)]
WITH_ITS_EPSILON = ("panel.validation.epsilons=[1e-6]",)


def test_a_mean_that_epsilon_decides_is_not_offered(tmp_path):
    """By hand: 1.39 against 0.1 * 27.6 + 0.9 * 0.2 with 1e-6, and 0.1 * 9.2 with 0.01."""
    results = measured(tmp_path, scores(STEADY_AND_SPIKY))
    limits = json.loads(results["evidence"].attrs["limits"])
    assert limits[0].endswith(
        "100 prompts would leave five at 0.95; the policy score can be compared."
    )
    assert limits[1] == (
        "Which model has the lowest mean log-risk depends on epsilon: m0 with 1e-06, m1 with 0.01. "
        "m1 has the lowest policy score, which has no epsilon, and is distinguishable from every "
        "other model."
    )
    [compared] = [text for text in answer(results) if text.startswith("What can be compared")]
    assert compared.startswith("What can be compared: m1 has the lowest policy score, ")
    assert "mean log-risk" not in compared


def test_means_and_policy_scores_of_different_lowest_models_have_a_word_why(tmp_path):
    results = measured(tmp_path, scores(STEADY_AND_SPIKY), overrides=WITH_ITS_EPSILON)
    sentences = answer(results)
    [compared] = [text for text in sentences if text.startswith("What can be compared")]
    assert "m0 has the lowest mean log-risk" in compared
    assert "m1 has the lowest policy score" in compared
    assert (
        "Different models are lowest by mean log-risk and by policy score: log-risk counts harm "
        "near the end of the scale for more."
    ) in sentences


def test_one_judge_is_a_limit_but_carries_the_order(tmp_path):
    table = scores(GOOD, judges=("ann",), vary=True)
    _, limits, carried = evidence_of(tmp_path, table)
    assert carried == ALL
    one_judge = "There is one judge only: nothing shows how far the numbers depend on it."
    assert limits == [UNSEEN, one_judge]


def test_percentile_intervals_are_expected_to_miss_the_truth(tmp_path):
    table = scores(GOOD, vary=True)
    evidence, limits, carried = evidence_of(
        tmp_path, table, overrides=('bootstrap.interval="percentile"',)
    )
    assert (evidence["expected_coverage"] < 0.88).all()
    assert carried == []
    lowest = float(evidence["expected_coverage"].min())
    assert limits == [
        "This study cannot tell which model has the lowest CVaR 95. "
        "In studies simulated from this one, 95% intervals of CVaR 95 hold the truth in as few as "
        f"{lowest:.0%}, for m0 and m1. Those that miss lie too low. An alpha "
        "of 0.91 would leave ten prompts in the tail; the mean can be compared.",
        UNSEEN,
    ]


def test_expected_coverage_is_missing_where_nothing_varies(tmp_path):
    evidence, _, _ = evidence_of(tmp_path, scores([np.full(120, 3), spread(120, low=4)]))
    assert np.isnan(evidence["expected_coverage"].values).tolist() == [True, False]


def test_equal_seeds_give_equal_evidence(tmp_path):
    one, other = (measured(tmp_path, frame(prompts=25))["evidence"] for _ in range(2))
    xr.testing.assert_identical(one.to_dataset(), other.to_dataset())


@pytest.mark.parametrize("raters", [[40, 6, 12], [40, 12, 12]])
def test_groups_of_few_raters_are_named(raters):
    counts = xr.Dataset(
        {"raters": ("group", raters), "items": (("group", "by"), [[90], [80], [85]])},
        {"group": ["all", "degree=Other", "degree=College"], "by": ["all"]},
    )
    evidence = crowd_evidence(counts)
    few = raters[1] < 10
    assert evidence["few_raters"].values.tolist() == [False, few, False]
    assert evidence["items"].values.tolist() == [90, 80, 85]
    sentence = (
        "Groups of fewer than 10 raters: degree=Other (6). Their numbers describe these raters and "
        "say little about others of the group; more raters would."
    )
    assert json.loads(evidence.attrs["limits"]) == [sentence] * few


def test_resamples_that_do_not_differ_give_no_interval_of_a_tail(tmp_path):
    """One model has the same scores everywhere, the other the same tail.

    The intervals of means contain what 120 prompts can miss.
    """
    table = scores([[4] * 120, [9] * 60 + list(spread(60, high=7))])
    results = measured(tmp_path, table)
    interval = results["profile_interval"].to_dataset()
    for name in ("volatility", "cvar"):
        assert np.isnan(interval[name].sel(model="m0")).all(), name
    assert np.isfinite(interval["mean"].sel(model="m1")).all()
    assert np.isnan(interval["cvar"].sel(model="m1")).all()
    value, missed = float(results["profile/policy_score"].sel(model="m0")), 0.025 ** (1 / 120)
    for name in ("policy_score", "dimension_mean"):
        bounds = interval[name].sel(model="m0")
        np.testing.assert_allclose(bounds.min(), value * missed, rtol=1e-6)
        np.testing.assert_allclose(bounds.max(), 1 - (1 - value) * missed, rtol=1e-6)
    row = View(results).select({"metric": "cvar", "model": "m0"})
    assert bootstrap_estimate(row).endswith("(no 95% interval: resamples do not differ)")
    row = View(results).select({"metric": "mean", "model": "m0"})
    assert "(95% interval " in bootstrap_estimate(row)


@pytest.mark.parametrize(("prompts", "bounded"), [(5, False), (19, False), (20, True)])
def test_nothing_bounds_a_tail_of_less_than_one_prompt(tmp_path, prompts, bounded):
    """No resample exceeds the largest prompt: its log-risk is no upper bound of the tail."""
    table = scores([spread(prompts, high=7), spread(prompts, low=3)])
    results = measured(tmp_path, table)
    interval, observed = results["profile_interval"], results["profile"]
    ceiling = results["evidence"]["ceiling"]
    upper = interval["cvar"].sel(bound="upper")
    assert (upper == ceiling).all() != bounded
    assert (interval["dimension_cvar"].sel(bound="upper") == 1).all() != bounded
    assert (interval["cvar"].sel(bound="lower") <= observed["cvar"]).all()
    if not bounded:
        assert (upper >= interval["mean"].sel(bound="upper")).all()


def test_tails_without_an_interval_are_neither_separable_nor_tiers(tmp_path):
    """One model has the same scores everywhere, the other the same tail, which is higher."""
    results = profiled(tmp_path, scores([[4] * 60, [9] * 30 + list(spread(30, high=7))]))
    interval = results["profile_interval"].to_dataset()
    assert not interval["separable"].any()
    assert np.isnan(interval["cvar_difference_joint"]).all()
    assert (results["profile"]["tier"] == 1).all()
    # Means of the same prompts differ.
    assert (interval["mean_difference_joint"].sel(model="m0", other="m1") < 0).all()

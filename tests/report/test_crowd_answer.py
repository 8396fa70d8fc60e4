"""The answer of a crowd in its exact words, from hand-made results."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from sharpbayes.analysis.crowd_evidence import OTHER_LABELS, crowd_evidence
from sharpbayes.analysis.crowd_limits import OTHER_ITEMS
from sharpbayes.report.lights import lights
from sharpbayes.report.summary import answer
from sharpbayes.report.tables.crowd import GROUP_TABLES
from sharpbayes.report.tables.declaration import build_tables
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.measure import measure
from tests.report.hand_made import add, crowd, fitted_crowd, stability

BEST = "where 1 is best (harmonic mean of MPA and WRA)"


def test_measured_it_is_the_bootstrap_and_says_so():
    first, second = answer(crowd())
    assert first == (
        "Scores of all 9 raters on 20 items follow the labels with a responsiveness of 0.80 (95% "
        f"interval 0.60 to 0.95), {BEST}. This is from the bootstrap; no model was fitted."
    )
    assert second == (
        "The two rater groups are distinguishable by their responsiveness (HM; 5%); the "
        "difference is 0.20, g=y (5 raters) above g=x (4 raters)."
    )
    assert "g=x (4 raters) above g=y" in answer(crowd(hm=0.2))[1]
    assert answer(crowd(p=0.06))[1] == (
        "The two rater groups are not distinguishable by their responsiveness (HM; 5%)."
    )
    assert answer(crowd(p=np.nan))[1] == (
        "No two groups of raters can be compared by their responsiveness: nothing shows how far "
        "their differences vary."
    )
    assert answer(crowd(p=np.nan, hm=0.0))[1] == (
        "No two groups of raters can be distinguished by their responsiveness: every difference is "
        "0."
    )


def test_a_fit_without_replicated_ratings_is_no_missing_fit():
    converged = xr.Dataset({"converged": ((), True)})
    results = add(crowd(), posterior=xr.Dataset(), diagnostics=converged)
    assert answer(results)[0].endswith("This is from the bootstrap; the fit replicated no ratings.")
    without_all = add(crowd(reason="no labels"), posterior=xr.Dataset(), diagnostics=converged)
    assert "(observed; the fit replicated no ratings)" in answer(without_all)[0]


def test_a_single_group_has_none_to_be_compared_with():
    alone = crowd().isel(group=[0, 1], other=[0, 1])
    missing = alone["responsiveness_difference"]["hm"].sel(by="all", drop=True)
    table = xr.Dataset({"difference": missing, "p_holm": missing})
    assert answer(add(alone, harshness_difference=table))[1:] == (
        "The study compares no groups of raters.",
    )


def test_scores_that_run_against_the_labels_are_said_to():
    table = crowd()["responsiveness"].to_dataset()
    table["auc_roc"] = (("group", "by"), [[0.5], [0.9], [0.1]])
    table["auc_roc_interval"] = (("group", "by", "bound"), [[[0.4, 0.6]], [[0.8, 1]], [[0, 0.3]]])
    table["auc_roc_p"] = (("group", "by"), [[0.5], [0.99], [0.001]])
    table = table.assign_coords(bound=["lower", "upper"])
    assert answer(add(crowd(), responsiveness=table))[1] == (
        "Scores of g=y (5 raters) run against the labels: of an unsafe and a safe item the unsafe "
        "one has the higher score with probability 0.10 (0.00 to 0.30), by chance with 0.5 "
        "(AUC-ROC; ties count half). See which end of the scale is harm, and which label is unsafe."
    )
    table["auc_roc_p"][0] = 0.02
    text = answer(add(crowd(), responsiveness=table))[1]
    assert text.startswith("Scores of all raters run against the labels: ")
    table["auc_roc_p"][:] = [[0.03], [0.99], [0.02]]
    assert "run against" not in " ".join(answer(add(crowd(), responsiveness=table)))


def test_scores_that_are_all_the_same_are_said_to_be():
    coords = {"group": ["all"], "by": ["all"], "score": ["0", "1", "2"]}
    counts = xr.Dataset({"score_count": (("group", "by", "score"), [[[0, 180, 0]]])}, coords)
    assert answer(add(crowd(), scale_use=counts))[0] == (
        "All scores are the same: they order nothing. See that the right ones were read."
    )
    counts["score_count"][0, 0, 0] = 1
    assert answer(add(crowd(), scale_use=counts)) == answer(crowd())


def test_fitted_it_is_the_posterior_with_the_bootstrap_alongside():
    first, second, third = answer(fitted_crowd(median=(0.75, 0.65, 0.8)))
    assert first == (
        "Scores of all 9 raters on 20 items follow the labels with a responsiveness of 0.75 "
        f"(posterior median; 95% interval 0.65 to 0.85), {BEST}. The interval contains the noise "
        "of ratings, the choice of items and the choice of raters."
    )
    assert second == (
        "The bootstrap has 0.80 (95% interval 0.60 to 0.95). For all raters and every group each "
        "contains the centre of the other."
    )
    assert third.endswith(
        "g=y (5 raters) above g=x (4 raters); the posterior has 0.15 (−0.04 to 0.34)."
    )


def test_a_posterior_that_contradicts_a_difference_is_said_to():
    text = answer(fitted_crowd(median=(0.75, 0.9, 0.5)))[2]
    assert text.endswith(
        "g=y (5 raters) above g=x (4 raters); the posterior contradicts it, with −0.40 "
        "(−0.59 to −0.21)."
    )


def test_posterior_and_bootstrap_agree_where_they_were_compared():
    results = fitted_crowd(median=(0.75, 0.65, 0.8))
    results["joint"]["observed"][0, 1] = np.nan
    assert answer(results)[1].endswith(
        "For all raters and every measured group each contains the centre of the other."
    )
    alone = results.isel(group=[0], other=[0])
    assert answer(alone)[1:] == (
        "The bootstrap has 0.80 (95% interval 0.60 to 0.95). Each interval contains the centre of "
        "the other.",
        "The study compares no groups of raters.",
    )


def test_one_rater_and_one_item_are_singular():
    results = crowd()
    results["responsiveness"]["raters"][0] = 1
    results["responsiveness"]["items"][0] = 1
    assert answer(results)[0].startswith("Scores of 1 rater on 1 item follow the labels with")


def test_several_groupings_are_corrected_together():
    results = crowd(p=0.2)
    results["responsiveness"]["raters"][1] = 1
    data = results["responsiveness_difference"].to_dataset()
    data["hm_p_holm"][0, 1] = 0.03
    data["hm"][0, 1] = 0.1
    assert answer(add(results, responsiveness_difference=data))[1] == (
        "1 of 2 pairs of rater groups is distinguishable by its responsiveness (HM; 5%, corrected "
        "for all 2 pairs of groups by Holm); the difference is 0.10, all (9 raters) above g=x (1 "
        "rater)."
    )
    data["hm_p_holm"][1, 2] = 0.03
    assert answer(add(results, responsiveness_difference=data))[1] == (
        "2 of 2 pairs of rater groups are distinguishable by their responsiveness (HM; 5%, "
        "corrected for all 2 pairs of groups by Holm); the largest difference is 0.20, g=y (5 "
        "raters) above g=x (1 rater)."
    )


def test_a_correction_over_strata_is_said():
    results = crowd(p=0.2)
    data = results["responsiveness_difference"].to_dataset()
    strata = xr.concat([data, data.assign_coords(by=["kind=rare"])], "by")
    assert answer(add(results, responsiveness_difference=strata))[1] == (
        "The two rater groups are not distinguishable by their responsiveness (HM; 5%, corrected "
        "for all strata of items by Holm)."
    )
    strata["hm_p_holm"].loc[{"group": "all", "other": "g=x"}] = 0.3
    several = add(results, responsiveness_difference=strata)
    assert (
        "(HM; 5%, corrected for all 2 pairs of groups in all strata of items by Holm)"
        in (answer(several)[1])
    )


def test_a_difference_of_wra_has_half_the_level_and_is_corrected_for_pairs():
    results = crowd(p=0.3)
    data = results["responsiveness_difference"].to_dataset()
    gap, p = data["hm"].copy(), data["hm_p_holm"].copy()
    p[1, 2], p[0, 1], gap[0, 1] = 0.02, 0.6, 0.1
    data = data.assign(wra=gap, wra_p_holm=p, wra_interval=xr.concat([gap, gap], "bound"))
    corrected = "; tested beside HM, at 2.5%, corrected for all 2 pairs of groups by Holm): it more"
    assert corrected in " ".join(answer(add(results, responsiveness_difference=data)))


@pytest.mark.parametrize(
    ("remark", "why"),
    [
        ("", "No check tells why."),
        (
            "The model does not know the labels.",
            "Likely reason: the model does not know the labels, so that its values are usually too "
            "low.",
        ),
    ],
)
def test_a_disagreement_has_a_reason(remark, why):
    assert answer(fitted_crowd(remark=remark))[1] == (
        "The bootstrap has 0.80 (95% interval 0.60 to 0.95). The two disagree on g=y: an interval "
        f"of one does not contain the centre of the other. {why}"
    )


def test_groups_drawn_towards_the_others_are_a_reason():
    assert answer(fitted_crowd(median=(0.8, 0.7, 0.55), hm=0.2))[1].endswith("No check tells why.")
    results = fitted_crowd(median=(0.8, 0.7, 0.85))
    results["joint"]["disagree"][0, 2] = True
    assert answer(results)[1].endswith(
        "Likely reason: the model draws groups of extreme values towards the others."
    )


def test_few_raters_are_a_reason():
    few = xr.Dataset(
        {"few_raters": ("group", [False, True, True])},
        {"group": ["all", "g=x", "g=y"]},
        {"limits": '["Groups of fewer than 10 raters: g=x (4) and g=y (5)."]'},
    )
    _, second, _, limit = answer(add(fitted_crowd(), evidence=few))
    assert second.endswith("Likely reason: few raters in g=y.")
    unknown = answer(add(fitted_crowd(remark="The model does not know the labels."), evidence=few))
    assert unknown[1].endswith("so that its values are usually too low; few raters in g=y.")
    assert limit == "Groups of fewer than 10 raters: g=x (4) and g=y (5)."


def test_raters_without_a_group_are_counted():
    counts = xr.Dataset(
        {
            "raters": ("group", [40, 20, 18, 12, 20, 30, 10]),
            "items": (("group", "by"), [[90]] * 7),
        },
        {
            "group": ["all", "g=x", "g=y", "a=u", "a=v", "h=u", "h=v"],
            "by": ["all"],
            "grouping": ("group", ["all", "g", "g", "a", "a", "h", "h"]),
        },
    )
    assert json.loads(crowd_evidence(counts).attrs["limits"]) == [
        "Of 40 raters 8 are in no group by a, without a value there: only values of all raters "
        "have them.",
        "Of 40 raters 2 are in no group by g, without a value there: only values of all raters "
        "have them.",
    ]


def test_a_crowd_that_cannot_be_measured_says_why_and_what_its_groups_reach():
    results = crowd(reason="one label only")
    assert answer(results)[0] == (
        "The scores of 2 groups of raters, each compared with the labels, follow them with a "
        "responsiveness from 0.70 for g=x (4 raters) to 0.90 for g=y (5 raters) (observed; no "
        f"model was fitted), {BEST}; all raters together have none: one label only."
    )
    results["joint"]["observed"][:] = np.nan
    assert answer(results)[0] == "Responsiveness of all raters cannot be measured: one label only."


def test_groups_with_labels_of_their_own_are_not_ranked():
    """That they cannot be compared comes first, and no group is named as an end of the range."""
    limits = json.dumps([OTHER_LABELS, "Few raters."])
    few = {"few_raters": ("group", [False, False, False])}
    labels = {"group": ["all", "g=x", "g=y"]}
    evidence = xr.Dataset(few, labels, {"same_labels": 0, "limits": limits})
    results = add(fitted_crowd(median=(np.nan, 0.65, 0.5), reason="none"), evidence=evidence)
    first, second, third, last = answer(results)[:4]
    assert first == OTHER_LABELS
    assert second == (
        "The scores of 2 groups of raters, each compared with the labels by all others, follow "
        f"them with a responsiveness from 0.50 to 0.65 (posterior medians), {BEST}; all raters "
        "together have none: none."
    )
    assert third.startswith("The bootstrap has from 0.70 to 0.90. The two disagree on g=y: ")
    assert last == "Few raters."


def test_groups_of_a_fit_are_compared_with_the_bootstrap_where_all_raters_have_none():
    reason = "only the raters themselves label items"
    first, second = answer(fitted_crowd(median=(np.nan, 0.65, 0.5), reason=reason))[:2]
    assert "from 0.50 for g=y (5 raters) to 0.65 for g=x (4 raters) (posterior medians)" in first
    assert second == (
        "The bootstrap has from 0.70 for g=x (4 raters) to 0.90 for g=y (5 raters). The two "
        "disagree on g=y: an interval of one does not contain the centre of the other. No check "
        "tells why."
    )
    agreeing = answer(fitted_crowd(median=(np.nan, 0.65, 0.8), reason=reason))[1]
    assert agreeing.endswith("For every group each contains the centre of the other.")


def test_observed_values_of_groups_come_first_where_the_fit_does_not_reproduce_the_ratings():
    checks = xr.Dataset(attrs={"failed_checks": '["agreement"]'})
    results = add(fitted_crowd(median=(np.nan, 0.65, 0.5), reason="none"), predictive_checks=checks)
    first, second = answer(results)[:2]
    assert "from 0.70 for g=x (4 raters) to 0.90 for g=y (5 raters) (observed)" in first
    assert second == (
        "Posterior medians are from 0.50 for g=y (5 raters) to 0.65 for g=x (4 raters). The two "
        "disagree on g=y: an interval of one does not contain the centre of the other. Likely "
        "reason: the fitted model does not reproduce one statistic of the ratings."
    )


STUDY = """schema = "sharpbayes/study/2"
title = "Two teams, one of which hardly reads"
seed = 3

[crowd]
data = "ratings.csv"
roles = {{ item = "item", rater = "rater", score = "score" }}
scale = {{ kind = "ordinal", min = 0, max = 4 }}
labels = {labels}
groups = [["team"]]

[bootstrap]
replicates = 100
"""
LABELS = {"crowd": '{ from = "crowd", cut = 2 }', "item": '{ from = "item", column = "unsafe" }'}


def two_teams(folder, source):
    """Results of 20 raters who follow severity and 10 who hardly do, by labels of one source."""
    rng = np.random.default_rng(3)
    unsafe = rng.random(150) < 0.4
    severity = np.where(unsafe, 1.0, -0.6) + rng.normal(0, 0.6, unsafe.size)
    slope = np.repeat([1.2, 0.3], [20, 10])[:, None]
    noise = rng.normal(0, 0.25, slope.shape) + rng.normal(0, 0.9, (len(slope), severity.size))
    rater, item = (x.ravel() for x in np.indices(noise.shape))
    table = {
        "item": item,
        "rater": rater,
        "score": np.digitize(slope * severity + noise, [-1, 0, 0.8, 1.6]).ravel(),
        "team": np.where(rater < 20, "careful", "noisy"),
        "unsafe": unsafe[item].astype(int),
    }
    pd.DataFrame(table).to_csv(folder / "ratings.csv", index=False)
    text = STUDY.format(labels=LABELS[source])
    (folder / "study.toml").write_text(text, "utf-8")
    return measure(load_study(folder / "study.toml"))


def test_groups_that_are_measured_by_different_labels_are_not_compared(tmp_path):
    """The careless team is marked by the careful one's labels, and so has the higher value."""
    by_crowd, by_item = two_teams(tmp_path, "crowd"), two_teams(tmp_path, "item")
    crowd_values, item_values = (
        results["responsiveness"]["hm"].sel(by="all", group=["team=careful", "team=noisy"]).values
        for results in (by_crowd, by_item)
    )
    assert crowd_values[0] < crowd_values[1]
    assert item_values[0] > item_values[1]
    text = " ".join(answer(by_crowd))
    assert "their responsiveness cannot be compared" in text
    assert "distinguishable by their responsiveness" not in text
    assert "each compared with the labels by all others" in text
    titles = [table.title for table in build_tables(GROUP_TABLES, by_crowd)]
    assert not [title for title in titles if title.startswith("Differences of responsiveness")]
    data, *_ = lights(by_crowd)
    assert "Groups cannot be compared: each is measured by labels of the others." in data.reason
    assert "team=careful (20 raters) above team=noisy (10 raters)" in " ".join(answer(by_item))


SCALE = "(95% interval 0.30 to 0.70) of the scale of 3 scores (0 to 2)"


def harshness(*, p=(0.01, 0.3, 0.02), latent=False):
    """Return the sentence of groups x, y, all: y above x by 0.5, all above x by 0.25."""
    groups = ["g=x", "g=y", "all"]
    gap = np.array([[np.nan, -0.5, -0.25], [0.5, np.nan, 0.25], [0.25, -0.25, np.nan]])
    p_holm = np.array([[np.nan, p[0], p[1]], [p[0], np.nan, p[2]], [p[1], p[2], np.nan]])
    bounds = np.stack([gap - 0.2, gap + 0.2], axis=-1)
    table = xr.Dataset(
        {
            "difference": (("group", "other"), gap),
            "difference_interval": (("group", "other", "bound"), bounds),
            "p_holm": (("group", "other"), p_holm),
        },
        {"group": groups, "other": groups, "bound": ["lower", "upper"]},
    )
    if latent:
        table["prob_higher"] = table["difference"] * 0 + 0.98
        return answer(add(fitted_crowd(), harshness_difference=table))[2]
    return answer(add(crowd(), harshness_difference=table))[1]


def test_which_group_scores_more_harshly_is_answered():
    between = "g=y (5 raters) scores higher (more harm) than g=x (4 raters) by 0.50 steps"
    corrected = "(5%, corrected for all 3 pairs of groups by Holm)"
    assert harshness(p=(0.01, np.nan, np.nan)) == f"{between} {SCALE}."
    assert harshness(p=(0.01, 0.3, 0.3)) == f"{between} {SCALE} {corrected}."
    assert harshness() == (
        f"{between} {SCALE}, the largest of 2 distinguishable differences {corrected}."
    )
    assert harshness(p=(0.01, 0.3, 0.3), latent=True) == (
        f"{between} {SCALE} {corrected}; on the latent scale with probability 0.98."
    )


def test_groups_that_score_alike_are_not_called_harsher():
    assert harshness(p=(0.2, 0.3, 0.4)) == (
        "None of 3 pairs of rater groups are distinguishable by how harshly they score (5%, "
        "corrected for all 3 pairs of groups by Holm)."
    )
    assert harshness(p=(0.2, np.nan, np.nan)) == (
        "The two rater groups are not distinguishable by how harshly they score (5%)."
    )
    assert harshness(p=(np.nan, np.nan, np.nan)) == (
        "No two groups of raters can be compared by how harshly they score: nothing shows how far "
        "their differences vary."
    )


def without_difference(*, p):
    """Return the sentence of three groups whose pairs have these p values."""
    names = ["g=x", "g=y", "g=z"]
    gap = np.where(np.eye(3, dtype=bool), np.nan, 0.1)
    p_holm = np.full((3, 3), np.nan)
    for value, (first, second) in zip(p, ((0, 1), (0, 2), (1, 2)), strict=True):
        p_holm[first, second] = p_holm[second, first] = value
    pairs = ("group", "other")
    table = xr.Dataset(
        {"difference": (pairs, gap), "p_holm": (pairs, p_holm)}, {"group": names, "other": names}
    )
    of_two = crowd()["responsiveness"].to_dataset()
    third = of_two.isel(group=[2]).assign_coords(group=["g=z"])
    of_three = xr.concat([of_two, third], "group")
    return answer(add(crowd(), responsiveness=of_three, harshness_difference=table))[1]


def test_pairs_that_no_test_compares_are_not_counted_as_alike():
    assert without_difference(p=(0.5, 0.5, 0.5)) == (
        "None of 3 pairs of rater groups are distinguishable by how harshly they score (5%, "
        "corrected for all 3 pairs of groups by Holm)."
    )
    assert without_difference(p=(0.5, np.nan, 0.5)) == (
        "None of 2 pairs of rater groups that can be compared, of 3, are distinguishable by how "
        "harshly they score (5%, corrected for all 2 pairs of groups by Holm)."
    )
    assert without_difference(p=(0.5, np.nan, np.nan)) == (
        "The only two rater groups that can be compared are not distinguishable by how harshly "
        "they score (5%)."
    )


def test_an_order_of_groups_that_leans_on_an_expert():
    calm = stability(("expert", "e1", "g=y", False, -0.02), best="highest")
    assert answer(add(crowd(), stability=calm))[-1] == (
        "Without expert e1 the responsiveness of all raters falls by 0.02, which is the largest "
        "change."
    )
    assert answer(add(crowd(), stability=calm))[-2] == (
        "No single expert changes which group is most responsive."
    )
    alone = crowd()
    alone["responsiveness"]["hm"][2] = np.nan
    assert answer(add(alone, stability=calm))[-1] == (
        "Without expert e1 the responsiveness of all raters falls by 0.02, which is the largest "
        "change."
    )
    nothing = stability(("expert", "e1", "", False, np.nan), best="highest")
    assert "expert" not in " ".join(answer(add(alone, stability=nothing)))
    moved = stability(("expert", "e1", "g=x", True, np.nan), best="highest")
    assert answer(add(crowd(), stability=moved))[-1] == (
        "The order of groups depends on expert e1: without expert e1 g=x is most responsive."
    )


def test_groups_that_are_not_distinguishable_have_no_order_to_depend_on_an_expert():
    moved = stability(("expert", "e1", "g=x", True, -0.02), best="highest")
    results = add(crowd(p=0.06), stability=moved)
    assert answer(results)[-1] == (
        "Without expert e1 the responsiveness of all raters falls by 0.02, which is the largest "
        "change."
    )
    light = lights(results)[1]
    assert light.state == "not known"
    assert light.reason == "No two groups are distinguishable: they have no order to change."


def test_an_expert_who_moves_responsiveness_beyond_its_interval_is_named():
    moved = stability(("expert", "e1", "g=y", False, 0.4), best="highest")
    results = add(crowd(p=0.06), stability=moved)
    sentences = answer(results)
    assert sentences[-1] == (
        "Without expert e1 the responsiveness of all raters rises by 0.40, beyond its interval."
    )
    assert not any("No single expert" in text for text in sentences)
    light = lights(results)[1]
    assert (light.state, light.reason) == (
        "no",
        "Without expert e1 the responsiveness of all raters lies beyond its interval.",
    )


@pytest.mark.parametrize("name", ["few_labels", "long_scale"])
def test_what_leaves_an_interval_without_meaning_is_said_before_the_value(name):
    flags = {"few_labels": False, "long_scale": False, name: True}
    groups = crowd()["responsiveness"]["group"].to_numpy()
    attrs = {"limits": json.dumps(["Too few."]), "remarks": "[]", "same_labels": 1}
    evidence = xr.Dataset(
        {key: ("group", [flag] * len(groups)) for key, flag in flags.items()},
        {"group": groups},
        attrs | {},
    ).assign(few_raters=("group", [False] * len(groups)))
    sentences = answer(add(crowd(), evidence=evidence))
    assert sentences[0] == "Too few."
    assert "as observed, within that limit" in sentences[1]
    assert " to " not in sentences[1].partition("as observed")[0]
    usual = evidence.assign({name: ("group", [False] * len(groups))})
    usual_sentences = answer(add(crowd(), evidence=usual))
    assert usual_sentences[0] != "Too few."
    assert "Too few." in usual_sentences


def test_that_groups_scored_other_items_is_said_before_their_responsiveness_is_compared():
    condition = f"{OTHER_ITEMS}: g=x and g=y share 20 of 100."
    groups = {"group": ["all", "g=x", "g=y"]}
    attrs = {"limits": json.dumps([condition, "Few raters."]), "remarks": "[]", "same_labels": 1}
    evidence = xr.Dataset({"few_labels": ("group", [False] * 3)}, groups, attrs)
    sentences = answer(add(crowd(), evidence=evidence))
    compared = next(x for x in sentences if "responsiveness (HM" in x)
    assert sentences.index(condition) + 1 == sentences.index(compared)
    assert sentences.count(condition) == 1
    assert sentences.index("Few raters.") > sentences.index(compared)


def test_an_expert_who_alone_labelled_items_is_not_left_out():
    both = stability(
        ("expert", "e1", "g=x", True, -0.3), ("expert", "e2", "g=y", False, 0.01), best="highest"
    )
    results = add(crowd(), stability=both.assign(sole_share=("setting", [0.4, 0.02])))
    assert answer(results)[-3:] == (
        "Expert e1 alone labelled 40% of the labelled items: without e1 other items are left, so "
        "that nothing shows how far the answer depends on e1.",
        "No single expert changes which group is most responsive.",
        "Without expert e2 the responsiveness of all raters rises by 0.01, which is the largest "
        "change.",
    )
    light = lights(results)[1]
    assert light.state == "not known"
    every = add(crowd(), stability=both.assign(sole_share=("setting", [0.4, 0.4])))
    assert answer(every)[-1].startswith("e1 and e2 alone labelled 40% and 40% of the labelled ")


def compare(*, effect=None, wra_p=None, hm_p=0.06, ratings=(180, 80, 100)):
    """The answer with a size effect of y above x, or a difference of WRA of 0.3 for y."""
    results = crowd(p=hm_p)
    data = results["responsiveness_difference"].to_dataset()
    shape, dims = data["hm"].shape, data["hm"].dims
    if effect is not None:
        data["hm_size_effect"] = xr.zeros_like(data["hm"])
        data["hm_size_effect"][1, 2], data["hm_size_effect"][2, 1] = -effect, effect
    if wra_p is not None:
        gap, p = np.full(shape, np.nan), np.full(shape, np.nan)
        gap[1, 2], gap[2, 1], p[1, 2], p[2, 1] = -0.3, 0.3, wra_p, wra_p
        data["wra"], data["wra_p_holm"] = (dims, gap), (dims, p)
        data["wra_interval"] = ((*dims, "bound"), np.stack([gap - 0.1, gap + 0.1], axis=-1))
        data = data.assign_coords(bound=["lower", "upper"])
    groups = {"group": results["responsiveness"]["group"].to_numpy()}
    size = {"ratings": ("group", [*ratings]), "items": ("group", [20] * 3)}
    return answer(
        add(results, responsiveness_difference=data, sample_size=xr.Dataset(size, groups))
    )


def test_what_numbers_of_ratings_do_is_said():
    assert (
        "The responsiveness of a group depends on how many ratings an item has: by their numbers "
        "alone that of g=y (5 raters) is 0.20 above that of g=x (4 raters). Groups are therefore "
        "compared with equally many ratings; values of single groups are not."
    ) in compare(effect=0.2)


def test_numbers_of_ratings_are_not_named_where_the_smaller_group_has_more():
    text = " ".join(compare(effect=0.2, ratings=(180, 100, 80)))
    assert "by their numbers alone" not in text
    assert "by their numbers alone" not in " ".join(compare(effect=-0.2))


def test_a_difference_that_hm_does_not_show_but_wra_does_is_said():
    sentence = (
        "By WRA alone g=y (5 raters) is above g=x (4 raters) by 0.30 (95% interval of this "
        "pair 0.20 to 0.40; tested beside HM, at 2.5%): it more often scores an unsafe item above "
        "a safe one."
    )
    assert sentence in compare(wra_p=0.02)
    for shown in (compare(wra_p=0.03), compare(wra_p=0.02, hm_p=0.01)):
        assert "By WRA alone" not in " ".join(shown)


def test_raters_without_labels_are_told_how_far_they_agree(tmp_path):
    two_teams(tmp_path, "crowd")
    text = (tmp_path / "study.toml").read_text("utf-8").replace('[["team"]]', "[]")
    (tmp_path / "study.toml").write_text(text, "utf-8")
    results = measure(load_study(tmp_path / "study.toml"))
    cell = results["cohesion"].to_dataset().sel(group="all")
    value, (low, high) = float(cell["irr"]), cell["irr_interval"].to_numpy()
    assert 0 < low < value < high < 1
    hm = results["raters"]["hm"].dropna("rater")
    first, middle, last = np.quantile(hm, [0.25, 0.5, 0.75])
    assert list(answer(results)[:3]) == [
        "Responsiveness of all raters cannot be measured: only the raters themselves label items.",
        f"What can be said without labels: the 30 raters agree with each other by {value:.2f} (95% "
        f"interval {low:.2f} to {high:.2f}), where 1 is full agreement and 0 that of chance (IRR, "
        "Krippendorff's alpha).",
        f"One by one, raters follow labels by the others with a median responsiveness of "
        f"{middle:.2f}, the middle half from {first:.2f} to {last:.2f} (observed for "
        f"{hm.size} raters, with the noise of the items of each), {BEST}.",
    ]
    cohesion = results["cohesion"].to_dataset()
    for raters, last in (
        (30, "."),
        (
            2,
            "; min_raters = 2 in the table [crowd] of the study has that of two raters measured.",
        ),
        (1, ""),
    ):
        reason = f"{raters} raters, fewer than min_raters = 50"
        unmeasured = {"irr": cohesion["irr"] * np.nan, "raters": cohesion["raters"] * 0 + raters}
        unmeasured |= {"reason": xr.full_like(cohesion["reason"], reason, dtype=object)}
        sentence = answer(add(results.copy(), cohesion=cohesion.assign(unmeasured)))[1]
        start = f"How far the raters agree with each other is not measured: {reason}"
        assert sentence == f"{start}{last}" if last else sentence.startswith("One by one")
    for name in ("cohesion", "raters"):
        del results[name]
    assert len([x for x in answer(results) if "One by one" in x or "without labels" in x]) == 0


def test_three_raters_have_no_quartiles(tmp_path):
    two_teams(tmp_path, "crowd")
    table = pd.read_csv(tmp_path / "ratings.csv")
    table[table["rater"] < 3].to_csv(tmp_path / "ratings.csv", index=False)
    text = (tmp_path / "study.toml").read_text("utf-8").replace('[["team"]]', "[]")
    (tmp_path / "study.toml").write_text(text, "utf-8")
    text = " ".join(answer(measure(load_study(tmp_path / "study.toml"))))
    assert "the 3 raters agree with each other by" in text
    assert "One by one" not in text

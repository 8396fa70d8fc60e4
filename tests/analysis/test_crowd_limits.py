"""What limits the answer of a crowd, from small simulated crowds."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from sharpbayes.analysis.crowd_evidence import runs_against
from sharpbayes.report.lights import lights
from sharpbayes.report.summary import answer
from sharpbayes.report.tables.check import study_summary_tables
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.check import check
from sharpbayes.workflows.measure import measure

STUDY = """schema = "sharpbayes/study/2"
title = "A simulated crowd"
seed = 1

[crowd]
data = "ratings.csv"
roles = {{ item = "item", rater = "rater", score = "score" }}
scale = {{ kind = "ordinal", min = 0, max = {top} }}
labels = {{ from = "item", column = "unsafe" }}
groups = [["team"]]
min_raters = 1
min_items = 5
permutations = 0

[bootstrap]
replicates = 100
"""


def simulate(*, seed=1, raters=20, items=40, top=4, unsafe=None, slope=(1.0, 1.0), first=None):
    """Ratings of two teams of one size, or ``first`` raters in the first one, who see severity."""
    rng = np.random.default_rng(seed)
    severity = rng.normal(0, 1.2, items)
    label = severity + rng.normal(0, 0.5, items) > 0.3 if unsafe is None else np.array(unsafe)
    rater, item = (code.ravel() for code in np.indices((raters, items)))
    team = (rater >= (raters // 2 if first is None else first)).astype(int)
    noise = rng.normal(0, 0.5, raters)[rater] + rng.logistic(0, 0.55, rater.size)
    perceived = np.array(slope)[team] * severity[item] + noise
    return pd.DataFrame(
        {
            "item": [f"i{code}" for code in item],
            "rater": [f"r{code}" for code in rater],
            "score": np.digitize(perceived, np.linspace(-1.5, 1.5, top)),
            "team": np.array(["a", "b"])[team],
            "unsafe": label[item].astype(int),
        }
    )


def load(folder, table, *, top=4):
    table.to_csv(folder / "ratings.csv", index=False)
    (folder / "study.toml").write_text(STUDY.format(top=top), "utf-8")
    return load_study(folder / "study.toml")


def measured(folder, table, **scale):
    return measure(load(folder, table, **scale))


def limits_of(results):
    return json.loads(results["evidence"].attrs["limits"])


def test_an_ordinary_crowd_has_no_limit(tmp_path):
    results = measured(tmp_path, simulate())
    assert limits_of(results) == []
    assert lights(results)[0].state == "yes"
    assert not results["evidence"]["few_labels"].any()


def test_few_items_for_many_scores_are_a_limit(tmp_path):
    results = measured(tmp_path, simulate(items=80, top=20), top=20)
    auc = float(results["responsiveness"]["auc_roc"].sel(group="all", by="all"))
    assert float(results["responsiveness"]["hm"].sel(group="all", by="all")) < 0.2
    assert auc > 0.8
    sentence = (
        "80 items for 21 scores: MPA and HM come out too low, and intervals of them and of "
        f"differences may miss; AUC-ROC, {auc:.2f}, does not depend on it. Cut the scale into "
        "about five scores."
    )
    assert limits_of(results)[0] == sentence
    assert sentence in answer(results)
    assert lights(results)[0].state == "partly"


@pytest.mark.parametrize(("top", "shown"), [(4, False), (20, True)])
def test_check_says_that_a_scale_is_too_long(tmp_path, top, shown):
    summary = check(load(tmp_path, simulate(top=top), top=top))
    tables = [t for t in study_summary_tables(summary) if t.title.endswith("for these items")]
    assert [table.rows for table in tables] == [
        (
            (
                "MPA, HM",
                "40 items for 21 scores: MPA and HM come out too low, and intervals of them and of "
                "differences may miss",
                "cut the scale into about five scores",
            ),
        )
    ] * shown


def test_groups_without_items_in_common_are_not_compared(tmp_path):
    table = simulate(slope=(3.0, 0.3), items=60)
    first = table["item"].str[1:].astype(int) < 30
    results = measured(tmp_path, table[(table["team"] == "a") == first])
    pair = results["responsiveness_difference"].to_dataset()
    pair = pair.sel(group="team=a", other="team=b", by="all")
    assert np.isnan(pair["hm"])
    assert pair["shared_items"].item() == 0
    assert pair["reason"].item() == "fewer than min_items = 5 items that both groups scored"
    assert (
        "No two groups of raters can be compared by their responsiveness: fewer than min_items = "
        "5 items that both groups scored."
    ) in answer(results)


def test_groups_that_share_part_of_their_items_say_how_many(tmp_path):
    table = simulate(items=60)
    number = table["item"].str[1:].astype(int)
    kept = np.where(table["team"] == "a", number < 33, number >= 27)
    results = measured(tmp_path, table[kept])
    assert limits_of(results) == [
        "Groups did not score the same items: team=a and team=b share 6 of 60. Unless chance "
        "assigned the items, a difference in responsiveness is one of items too."
    ]
    evidence = results["evidence"].to_dataset().sel(group="team=a", other="team=b")
    assert evidence["shared_items"].item() == 6
    assert evidence["shared_share"].item() == pytest.approx(0.1)


@pytest.mark.parametrize(("unsafe", "against"), [(1, False), (8, True)])
def test_few_items_of_a_label_carry_no_statement_against_labels(tmp_path, unsafe, against):
    table = simulate()
    means = table.groupby("item")["score"].mean().sort_values()
    table["unsafe"] = table["item"].isin(means.index[:unsafe]).astype(int)
    results = measured(tmp_path, table)
    upper = results["responsiveness"]["auc_roc_interval"].sel(group="all", by="all")[1]
    assert float(upper) < 0.5
    text = " ".join(answer(results))
    assert ("run against the labels" in text) == against
    limit = "Only 1 item is labelled unsafe: intervals do not hold."
    assert (limit in limits_of(results)) == (not against)
    assert lights(results)[0].state == ("yes" if against else "no")


def test_few_items_of_both_labels_are_one_sentence(tmp_path):
    results = measured(tmp_path, simulate(items=5, unsafe=[0, 1, 1, 0, 0]))
    assert limits_of(results)[0] == (
        "Only 3 items are labelled safe and only 2 items are labelled unsafe: intervals do not "
        "hold."
    )


def test_a_group_that_skips_scores_is_named(tmp_path):
    table = simulate()
    skipped = (table["team"] == "b") & (table["score"] >= 3) & (table.index % 2 == 0)
    table["score"] = table["score"].astype(object).where(~skipped, "")
    share = int(skipped.sum()) / 400
    results = measured(tmp_path, table)
    assert results["evidence"]["missing_share"].sel(group="team=b").item() == pytest.approx(share)
    assert limits_of(results) == [
        f"team=b left {share:.0%} of its scores empty, team=a 0%: a group that skips what it finds "
        "harmful, or harmless, seems to score otherwise than it does."
    ]
    table["score"] = np.where(table.index % 7 == 0, "", simulate()["score"])
    assert limits_of(measured(tmp_path, table)) == []


def test_raters_who_read_the_scale_from_its_other_end_are_counted(tmp_path):
    table = simulate(items=60)
    number = table["rater"].str[1:].astype(int)
    table["score"] = np.where(number % 2, table["score"], 4 - table["score"])
    assert limits_of(measured(tmp_path, table)) == [
        "10 of 20 raters run against the labels (r0, r10, r12, r14 and 6 more), beyond chance (5%, "
        "Bonferroni): see whether they read the scale from its other end."
    ]


def test_raters_of_a_group_that_runs_against_the_labels_are_said_once(tmp_path):
    table = simulate(items=60)
    table["score"] = np.where(table["team"] == "a", 4 - table["score"], table["score"])
    results = measured(tmp_path, table)
    assert " ".join(answer(results)).count("against the labels") == 1


def test_raters_who_give_one_score_to_everything_are_named(tmp_path):
    table = simulate()
    table.loc[table["rater"].isin(["r3", "r12"]), "score"] = 2
    results = measured(tmp_path, table)
    sentence = "Raters r12 and r3 gave one score to everything."
    assert limits_of(results) == [sentence]
    assert json.loads(results["evidence"].attrs["remarks"]) == [sentence]


def test_a_number_as_the_name_of_a_rater_is_no_count(tmp_path):
    table = simulate()
    table.loc[table["rater"] == "r3", ["rater", "score"]] = ["61", 2]
    assert limits_of(measured(tmp_path, table)) == ["Rater 61 gave one score to everything."]


def test_one_score_for_a_few_items_may_be_chance(tmp_path):
    table = simulate(top=1)
    few = table["rater"].ne("r3") | table["item"].isin(["i1", "i2", "i3"])
    table.loc[table["rater"] == "r3", "score"] = 1
    assert limits_of(measured(tmp_path, table[few], top=1)) == []


def test_the_interval_of_a_single_rater_contains_items_only(tmp_path):
    results = measured(tmp_path, simulate(raters=11, first=1))
    assert limits_of(results) == [
        "Groups of fewer than 10 raters: team=a (1). Their numbers describe these raters and say "
        "little about others of the group; more raters would. The interval of a single rater "
        "(team=a) contains which items there are, no more."
    ]
    pair = results["responsiveness_difference"].to_dataset()
    reason = "a group of one rater does not show how far raters differ"
    assert pair["reason"].sel(group="team=a", other="team=b", by="all").item() == reason
    assert pair["reason"].sel(group="all", other="team=a", by="all").item() == ""
    assert any(text.endswith(f"by their responsiveness: {reason}.") for text in answer(results))


def test_evidence_of_a_crowd_is_over_groups_alone(tmp_path):
    evidence = measured(tmp_path, simulate())["evidence"].to_dataset()
    assert evidence["labelled_items"].dims == ("group", "unsafe")
    assert "missing_share" not in evidence


def test_groups_of_scores_without_any_relation_to_labels_are_corrected_for_their_number():
    """One of sixteen groups is below chance at 2.5% by itself in a third of studies."""
    groups = ["all", *(f"g=v{n}" for n in range(16))]
    p = np.full(17, 0.5)
    p[[0, 4]] = 0.03, 0.01
    cells = xr.Dataset({"auc_roc_p": ("group", p)}, {"group": groups})
    few = xr.Dataset({"few_labels": ("group", np.zeros(17, bool))}, {"group": groups})
    assert not runs_against(cells, few).any()
    cells["auc_roc_p"][4] = 0.001  # of 16 groups 0.016
    assert runs_against(cells, few)["group"][runs_against(cells, few)].values == ["g=v3"]
    cells["auc_roc_p"][0] = 0.02
    assert bool(runs_against(cells, few)[0])
    few["few_labels"][[0, 4]] = True
    assert not runs_against(cells, few).any()


def test_a_group_of_a_measured_crowd_has_a_p_value_against_the_labels(tmp_path):
    table = simulate(items=60)
    table["score"] = np.where(table["team"] == "a", 4 - table["score"], table["score"])
    results = measured(tmp_path, table)
    cells = results["responsiveness"].to_dataset().sel(by="all")
    p, upper = cells["auc_roc_p"], cells["auc_roc_interval"].sel(bound="upper")
    assert ((p < 0.025) == (upper < 0.5)).all()
    assert p.sel(group=["team=a", "team=b"]).values == pytest.approx([0.0, 1.0], abs=1e-3)
    raters = results["raters"].to_dataset()
    named = raters["rater"].to_numpy()[raters["against_labels"]]
    assert set(named) == set(table["rater"][table["team"] == "a"])

"""Tables of a crowd study, from a run of the shipped one."""

import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from sharpbayes.report.tables.catalogue import report_tables, tables_after_run
from sharpbayes.report.tables.format import interval, number
from sharpbayes.spec.load import load_study
from sharpbayes.spec.study_text import format_study
from sharpbayes.workflows.measure import measure


@pytest.fixture(scope="module")
def results():
    few = ("bootstrap.replicates=60", "crowd.permutations=99", "crowd.min_items=27")
    return measure(load_study("quickstart_crowd", overrides=few))


@pytest.fixture(scope="module")
def tables(results):
    return {table.title: table for table in report_tables(results)}


def test_rows_are_as_long_as_the_header(results, tables):
    after_run = tables_after_run(results)
    assert 1 <= len(after_run) <= 3
    assert all(tables[table.title] == table for table in after_run)
    for table in tables.values():
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.header)}


def test_numbers_are_those_of_the_results(results, tables):
    cell = results["cohesion"].to_dataset().sel(group="gender=Man")
    row = next(r for r in tables["Group cohesion"].rows if r[0] == "gender=Man")
    stars = "*" * sum(float(cell[f"irr_{end}"]) < 0.05 for end in ("p", "p_adjusted"))
    low, high = cell["irr_interval"].to_numpy()
    assert row[1] == f"{float(cell['irr']):.2f}{stars} ({low:.2f} to {high:.2f})"
    assert low < float(cell["irr"]) < high
    first = tables["Items by harm as seen by responsive groups"].rows[0]
    best = float(results["items"]["priority"].max())
    assert first[2] == f"{best:.3f}"
    assert float(results["items"]["priority"].sel(item=first[0])) == best


def test_cohesion_of_earlier_versions_has_no_intervals(results):
    earlier = results.copy()
    names = [f"{name}_interval" for name in ("irr", "xrr", "gai", "gai_matched")]
    names += ["gai_matched"]
    earlier["cohesion"] = xr.DataTree(results["cohesion"].to_dataset().drop_vars(names))
    tables = {table.title: table for table in report_tables(earlier)}
    row = next(r for r in tables["Group cohesion"].rows if r[0] == "gender=Man")
    cell = results["cohesion"].to_dataset().sel(group="gender=Man")
    assert row[1].rstrip("*") == f"{float(cell['irr']):.3f}"


def test_cohesion_of_unequal_mixes_of_items_has_no_stars(results):
    data = results["cohesion"].to_dataset().copy(deep=True)
    cell = {"group": "gender=Man"}
    for name in ("irr_p", "xrr_p", "gai_p", "gai_p_adjusted"):
        data[name].loc[cell] = 0.001
    data["gai"].loc[cell], data["gai_matched"].loc[cell] = 0.5, 1.0
    data["gai_interval"].loc[cell] = [0.4, 0.6]
    data["gai_matched_interval"].loc[cell] = [0.8, 1.2]
    starred = data.assign(gai_matched=data["gai"], gai_matched_interval=data["gai_interval"])
    rows, notes = [], []
    for cohesion in (data, starred):
        changed = results.copy()
        changed["cohesion"] = xr.DataTree(cohesion)
        table = next(t for t in report_tables(changed) if t.title == "Group cohesion")
        rows.append(next(row for row in table.rows if row[0] == "gender=Man"))
        notes.append(table.note)
    assert rows[0][3] == "0.50 (0.40 to 0.60)"
    assert "*" not in "".join(rows[0])
    assert rows[1][3] == "0.50** (0.40 to 0.60)"
    assert notes[0] == notes[1] + (
        " Without stars: gender=Man. The groups rated the items in unequal proportions, and IRR "
        "weights the items by one side, XRR by both. On the same mix of items GAI is gender=Man "
        "1.00 (0.80 to 1.20)."
    )


def test_a_crowd_that_is_not_measured_has_no_empty_tables(results):
    without = results.copy()
    observed = results["joint"]["observed"]
    without["joint"] = xr.DataTree(
        results["joint"].to_dataset().assign(observed=observed.where(observed["metric"] != "hm"))
    )
    reason = results["responsiveness"]["reason"]
    without["responsiveness"] = xr.DataTree(
        results["responsiveness"].to_dataset().assign(reason=xr.full_like(reason, "no labels"))
    )
    left_out = {
        "HM: bootstrap",
        "Precision and recall at each score",
        "Precision and recall at each score by stratum of items",
    }
    titles = {table.title for table in report_tables(results)}
    assert left_out < titles
    rest = report_tables(without)
    assert not left_out & {table.title for table in rest}
    assert all(table.rows for table in rest)


def test_pairs_come_by_p(results, tables):
    table = tables["Differences of responsiveness between groups of one grouping"]
    p = [float(row[4]) for row in table.rows]
    assert p == sorted(p)
    lowest = float(results["responsiveness_difference"]["hm_p"].sel(by="all").min())
    assert table.rows[0][4] == f"{lowest:.3f}"
    assert "Holm over all pairs of all groupings and all strata. " in table.note
    assert table.header[1] == "raters"
    assert all(re.fullmatch(r"\d+ and \d+", row[1]) for row in table.rows)


def test_curves_say_that_a_precision_needs_a_plurality(results, tables):
    """Raters who give a score in some items need not be most of them in any."""
    table = tables["Precision and recall at each score"]
    assert table.note == "Precision is missing where the plurality of a group is never the score."
    data = results["responsiveness"].to_dataset().sel(by="all")
    plurality = results["items"]["plurality"]
    for score, label in enumerate(data["score"].to_numpy()):
        never = (plurality != score).all("item").sel(group=data["group"])
        missing = np.isnan(data["precision"].sel(score=label))
        assert (missing == never)[(data["reason"] == "").to_numpy()].all()


def test_the_evidence_says_why_groups_are_not_measured(results):
    title = "Evidence: raters and labelled items of each group"
    unmeasured = results.copy()
    data = results["responsiveness"].to_dataset()
    unmeasured["responsiveness"] = data.assign(
        reason=xr.full_like(data["reason"], "no item is labelled safe")
    )
    notes = [
        next(table.note for table in report_tables(tree) if table.title == title)
        for tree in (results, unmeasured)
    ]
    assert "no item is labelled safe" not in notes[0]
    assert notes[1].endswith(f"{', '.join(data['group'].to_numpy())}: no item is labelled safe.")
    assert "Nothing here limits the answer." not in notes[1]


def test_the_evidence_counts_items_that_have_a_label(tables):
    table = tables["Evidence: raters and labelled items of each group"]
    assert table.header == ("group", "raters", "labelled items", "few raters")


def test_a_p_value_that_rounds_to_nothing_is_not_written_as_0(results):
    changed = results.copy()
    data = changed["responsiveness_difference"].to_dataset()
    tiny = {f"hm_{end}": data[f"hm_{end}"] * 0 + 1e-9 for end in ("p", "p_holm")}
    changed["responsiveness_difference"] = xr.DataTree(data.assign(tiny))
    harsh = changed["harshness_difference"].to_dataset()
    changed["harshness_difference"] = xr.DataTree(harsh.assign(p_holm=harsh["p_holm"] * 0))
    by_title = {table.title: table for table in report_tables(changed)}
    pairs = by_title["Differences of responsiveness between groups of one grouping"]
    assert pairs.rows[0][4:6] == ("<0.001", "<0.001")
    harshness = by_title["Which group scores higher: differences of mean scores"]
    assert harshness.rows[0][harshness.header.index("p (Holm)")] == "<0.001"


def test_the_note_says_what_more_ratings_would_do(tables):
    assert (
        "more: how many ratings the rater has still to give until the interval of HM is as narrow "
        "as `crowd.target_interval_width` asks; "
    ) in tables["Raters by their own responsiveness"].note


def test_small_strata_show_no_number_and_say_why(results, tables):
    items = results["responsiveness"]["items"].sel(group="all")
    small = items["by"].values[(items < 27).values]
    assert len(small) == 1
    assert f"Responsiveness to severity by rater group, items: {small[0]}" not in tables
    note = tables["Responsiveness to severity by rater group, items: all"].note
    assert note.endswith(f"No group can be measured on {small[0]}.")


def test_a_group_without_numbers_has_its_reason_below(results):
    data = results["responsiveness"].to_dataset().sel(by=["all"])
    few = "2 raters, fewer than min_raters = 3"
    small = (data["group"] == "age=GenZ") & (data["by"] == "all")
    data["reason"] = data["reason"].astype(object).where(~small, few).astype(str)
    for name in ("mpa", "wra", "hm", "kendall_tau", "mpa_interval", "wra_interval"):
        data[name] = data[name].where(~small)
    [table] = [
        table
        for table in report_tables(xr.DataTree.from_dict({"/responsiveness": data}))
        if table.name == "responsiveness"
    ]
    assert {cell for row in table.rows if row[0] == "age=GenZ" for cell in row[2:]} == {"-"}
    assert f"age=GenZ: {few}." in table.note


def test_an_item_contested_items_counts_every_rater(results, tables):
    apart = results["contested_items"].to_dataset()
    item = apart["item"].values[0]
    table = tables[f"Scores of item {item}"]
    scores = apart["score"].sel(item=item).values
    expected = [str(int((scores == level).sum())) for level in range(4, -1, -1)]
    assert [row[1] for row in table.rows] == expected
    assert results["items"]["disagreement"].max() == results["items"]["disagreement"].sel(item=item)
    assert np.isin(scores, np.arange(-1, 5)).all()


def test_group_sizes_stand_beside_the_numbers_of_groups(results, tables):
    raters = results["responsiveness"]["raters"]
    for title in (
        "Responsiveness to severity by rater group, items: all",
        "Every metric by rater group",
        "Use of the scale by rater group",
    ):
        table = tables[title]
        assert table.header[1] == "raters"
        assert {row[0]: row[1] for row in table.rows} == {
            str(group): str(int(number))
            for group, number in zip(raters["group"].values, raters.values, strict=True)
        }


def test_harshness_is_a_table_of_pairs(results, tables):
    table = tables["Which group scores higher: differences of mean scores"]
    assert table.header == ("pair", "raters", "steps", "interval", "p (Holm)")
    row = next(row for row in table.rows if row[0] == "gender=Man \u2212 gender=Woman")
    data = results["harshness_difference"].to_dataset()
    cell = data.sel(group="gender=Man", other="gender=Woman")
    assert row[1:3] == ("20 and 20", number(cell["difference"]))
    assert row[3] == interval(cell["difference_interval"])
    assert table.note.startswith(
        "First group less second, in steps of the scale of 5 scores (0 to 4): above 0 the first "
        "scores higher (more harm). 15 of 19 pairs, smallest p first. Holm over all pairs of all "
        "groupings. Intervals: 95%, of the difference of mean scores on the same items; they "
        "contain which items and which raters there are (variances clustered by both, Student's t)."
    )


def test_the_first_screen_shows_hm_alone(results):
    titles = [table.title for table in tables_after_run(results)]
    assert titles == ["HM: bootstrap"]


@pytest.mark.parametrize(
    ("scale", "labels", "mean"),
    [
        ({"kind": "ordinal", "min": 1, "max": 5}, ["1", "2", "3", "4", "5"], "3.000"),
        ({"kind": "categorical", "levels": [*"abcde"]}, ["a", "b", "c", "d", "e"], "2.000"),
        (
            {"bins": [2, 3, 4, 5]},
            ["below 2", "2 to 3", "3 to 4", "4 to 5", "5 and more"],
            "2.000",
        ),
    ],
)
def test_scores_are_named_as_the_data_name_them(tmp_path, scale, labels, mean):
    rows = [(item, rater) for item in range(20) for rater in range(6)]
    table = pd.DataFrame(rows, columns=["item", "rater"])
    table["score"] = 1 + (table["item"] + table["rater"] // 2) % 5
    if "levels" in scale:
        table["score"] = table["score"].map(dict(enumerate("abcde", start=1)))
    table.assign(unsafe=table["item"] % 5 > 2).to_csv(tmp_path / "d.csv", index=False)
    crowd = {
        "data": "d.csv",
        "roles": {"item": "item", "rater": "rater", "score": "score"},
        "scale": scale,
        "labels": {"from": "item", "column": "unsafe"},
        "permutations": 0,
    }
    study = {"schema": "sharpbayes/study/2", "title": "t", "seed": 1, "crowd": crowd}
    (tmp_path / "s.toml").write_text(format_study(study), encoding="utf-8")
    results = measure(load_study(tmp_path / "s.toml", overrides=("bootstrap.replicates=20",)))
    for group in ("responsiveness", "scale_use", "raters", "items"):
        assert results[group]["score"].values.tolist() == labels
    tables = {table.name: table for table in report_tables(results)}
    use = dict(zip(tables["scale_use"].header, tables["scale_use"].rows[0], strict=True))
    assert list(use)[2:8] == [*labels, "mean"]
    assert use["mean"] == mean
    assert ("Mean: in steps, 0 is" in tables["scale_use"].note) == (labels[0] != "1")
    item = tables["contested_items"]
    assert [row[0] for row in item.rows] == labels[::-1]
    plurality = item.note.removeprefix("Plurality of all raters: ").split(" (a tie")[0]
    assert plurality.split(". ")[0].removesuffix(".") in labels

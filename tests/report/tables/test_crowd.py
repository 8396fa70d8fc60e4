"""Tables of a crowd study, from a run of the shipped one."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.report.tables.catalogue import report_tables, tables_after_run
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.measure import measure


@pytest.fixture(scope="module")
def results():
    few = ("bootstrap.replicates=60", "crowd.permutations=99", "crowd.min_items=27")
    return measure(load_study("quickstart_crowd", overrides=few))


@pytest.fixture(scope="module")
def made(results):
    return {table.title: table for table in report_tables(results)}


def test_rows_are_as_long_as_the_header(results, made):
    after_run = tables_after_run(results)
    assert len(after_run) > 8
    assert all(made[table.title] == table for table in after_run)
    for table in made.values():
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.header)}


def test_numbers_are_those_of_the_results(results, made):
    cell = results["cohesion"].to_dataset().sel(group="gender=Man")
    row = next(r for r in made["Group cohesion"].rows if r[0] == "gender=Man")
    stars = "*" * sum(float(cell[f"irr_{end}"]) < 0.05 for end in ("p", "p_adjusted"))
    assert row[1] == f"{float(cell['irr']):.3f}{stars}"
    first = made["Items by harm as seen by responsive groups"].rows[0]
    best = float(results["items"]["priority"].max())
    assert first[2] == f"{best:.3f}"
    assert float(results["items"]["priority"].sel(item=first[0])) == best


def test_pairs_come_by_p(results, made):
    table = made["Differences of responsiveness between groups of one grouping"]
    p = [float(row[3]) for row in table.rows]
    assert p == sorted(p)
    lowest = float(results["responsiveness_difference"]["hm_p"].sel(by="all").min())
    assert table.rows[0][3] == f"{lowest:.3f}"


def test_small_strata_show_no_number_and_say_why(results, made):
    items = results["responsiveness"]["items"].sel(group="all")
    small = items["by"].values[(items < 27).values]
    assert len(small) == 1
    assert f"Responsiveness to severity by rater group, items: {small[0]}" not in made
    note = made["Responsiveness to severity by rater group, items: all"].note
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
    assert {cell for row in table.rows if row[0] == "age=GenZ" for cell in row[1:]} == {"-"}
    assert f"age=GenZ: {few}." in table.note


def test_an_item_contested_items_counts_every_rater(results, made):
    apart = results["contested_items"].to_dataset()
    item = apart["item"].values[0]
    table = made[f"Scores of item {item}"]
    scores = apart["score"].sel(item=item).values
    expected = [str(int((scores == level).sum())) for level in range(4, -1, -1)]
    assert [row[1] for row in table.rows] == expected
    assert results["items"]["disagreement"].max() == results["items"]["disagreement"].sel(item=item)
    assert np.isin(scores, np.arange(-1, 5)).all()

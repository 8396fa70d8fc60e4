"""Updates against fresh fits: the committed table, and a run of another seed."""

import csv
from itertools import pairwise

import pytest

from tests.references import updates
from tests.references.coverage_pages import read_rows, updates_table
from tests.references.provenance import ROOT


def assert_same_posterior(row):
    """An update differs from a fresh fit by what their Monte Carlo errors allow."""
    assert int(row["converged"]) == 1
    assert float(row["mean_rms"]) < 1.6
    assert float(row["sd_rms"]) < 1.6
    # Some 200 to 700 parameters each; errors of tails are uncertain themselves.
    assert float(row["mean_max"]) < 6


def test_every_step_of_the_table_has_the_posterior_of_a_fresh_fit():
    with updates.TABLE.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["data"] for row in rows} <= set(updates.DATA)
    assert len(rows) % 5 == 0
    for row in rows:
        assert_same_posterior(row)
    assert {"importance sampling", "chains"} == {row["method"] for row in rows}


def test_tables_grow_by_what_each_step_adds():
    tables = updates.grow(updates.DATA["crowd"], 3)
    indexes = [set(table.index) for table in tables]
    assert all(small < large for small, large in pairwise(indexes))
    assert [len(indexes[n + 1] - indexes[n]) for n in (0, 1)] == [1, round(0.01 * 68 * 36)]
    assert [table["item"].nunique() for table in tables[-3:]] == [68, 80, 80]
    assert [table["rater"].nunique() for table in tables[-3:]] == [36, 36, 40]


@pytest.mark.slow
@pytest.mark.parametrize("data", updates.DATA)
def test_five_steps_of_another_seed_have_the_posterior_of_fresh_fits(data):
    for row in updates.study_growth(data, 1):
        assert_same_posterior(row)


def test_the_page_shows_the_table():
    page = ROOT / "docs" / "benchmarks" / "updates.md"
    assert updates_table(read_rows("updates.csv")) in page.read_text("utf-8")

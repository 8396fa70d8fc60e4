"""The coverage study runs; the page on coverage shows its committed table."""

import csv
from pathlib import Path

import pytest

from tests.references import coverage_posterior

TABLE = Path(__file__).with_name("coverage_posterior.csv")


PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "coverage.md"


def rows_of(path):
    with path.open(encoding="utf-8") as file:
        return {tuple(row[key] for key in KEYS): row for row in csv.DictReader(file)}


KEYS = coverage_posterior.HEADER[:4]


@pytest.mark.slow
def test_a_study_of_every_kind_runs(tmp_path, monkeypatch):
    out = tmp_path / "out.csv"
    asked = ["--studies", "2", "--raw", str(tmp_path / "raw.csv"), "--out", str(out)]
    monkeypatch.setattr("sys.argv", ["coverage_posterior", *asked])
    coverage_posterior.main()
    rows = rows_of(out)
    assert set(rows) == set(rows_of(TABLE))
    assert {row["studies"] for row in rows.values()} == {"2"}


def test_the_page_shows_the_table():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert not [row for row in coverage_posterior.page(TABLE) if row not in lines]


MATCHING = {
    ("ratings", "replicated"),
    ("prompts", "population"),
    ("items", "population"),
    ("judges", "replicated"),
    ("raters", "replicated"),
}
# Designs whose model is the one that ratings come from, with ten prompts or more in the tail.
KNOWN = {"200 prompts", "labels inside", "experts inside"}


def test_intervals_cover_the_truth_that_they_are_about():
    """Between 87 and 95% of them do, give or take twice the Monte Carlo error."""
    rows = rows_of(TABLE)
    assert {row["studies"] for row in rows.values()} == {"400"}
    matching = {key: row for key, row in rows.items() if key[0] in KNOWN and key[2:] in MATCHING}
    assert len(matching) == 3 * 3 + 2 * 2 * 3
    for key, row in matching.items():
        margin = 2 * float(row["error"])
        assert 0.87 - margin <= float(row["coverage"]) <= 0.95 + margin, key


@pytest.mark.parametrize("labels", ["labels", "experts"])
@pytest.mark.parametrize("metric", ["mpa", "wra"])
def test_labels_inside_the_model_correct_what_labels_outside_of_it_miss(labels, metric):
    rows = rows_of(TABLE)
    for source, truth in (("ratings", "replicated"), ("items", "population")):
        inside, outside = (
            rows[f"{labels} {where}", metric, source, truth] for where in ("inside", "outside")
        )
        assert abs(float(inside["coverage"]) - 0.9) <= 0.03 + 2 * float(inside["error"])
        assert abs(float(inside["bias"])) < abs(float(outside["bias"])) / 2

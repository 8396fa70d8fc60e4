"""Intervals of variance components hold the truth about as often as they say."""

import csv

import numpy as np

from tests.references import variance_components

PAGE = variance_components.HERE.parents[1] / "docs" / "benchmarks" / "variance-components.md"


def test_the_page_shows_the_table():
    assert variance_components.markdown() in PAGE.read_text(encoding="utf-8")


def test_measured_intervals_hold_the_truth():
    path = variance_components.HERE / "variance_components.csv"
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["half"] == "measured"]
    assert all(int(row["studies"]) >= 400 for row in rows)
    covered = [float(row["covered"]) for row in rows]
    assert min(covered) > 0.84
    assert max(covered) < 0.96
    np.testing.assert_allclose(
        [float(row["estimate"]) for row in rows], [float(row["truth"]) for row in rows], atol=4e-4
    )

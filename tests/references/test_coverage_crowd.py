"""The coverage study of a crowd: quick metrics are the library's, the page has the table."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.crowd.responsiveness import severity_metrics
from tests.references import coverage_crowd, matched_items
from tests.references.coverage_pages import read_rows

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "coverage_crowd.md"


def test_quick_metrics_are_those_of_the_library():
    rng = np.random.default_rng(1)
    counts = rng.poisson(1.5, (200, 5, 2)).astype(float)
    counts[:20, :, 1] = 0.0
    rows = xr.DataArray(counts, dims=("replicate", "score", "unsafe"))
    quick = coverage_crowd.quick_metrics(rows)
    direct = severity_metrics(rows, list(coverage_crowd.METRICS))
    for name in coverage_crowd.METRICS:
        np.testing.assert_allclose(quick[name], direct[name])


def test_what_is_observed_is_the_librarys():
    rng = np.random.default_rng(2)
    spec, crowd = coverage_crowd.crowd_study()
    study = coverage_crowd.simulate(rng, "normal", (60, 5, 2), spec, crowd)
    observed = coverage_crowd.observe(study)
    for name in (*coverage_crowd.METRICS, "items", "raters"):
        np.testing.assert_allclose(observed[name], study.responsiveness[name])


def test_the_truth_is_the_metric_of_the_paper():
    rng = np.random.default_rng(3)
    score, unsafe = rng.integers(0, 5, (7, 90)), rng.integers(0, 2, 90)
    plural = [max(range(5), key=lambda s: ((column == s).sum(), s)) for column in score.T]
    rows = np.zeros((5, 2))
    np.add.at(rows, (plural, unsafe), 1.0)
    table = xr.DataArray(rows, dims=("score", "unsafe"))
    expected = severity_metrics(table, list(coverage_crowd.METRICS))
    assert coverage_crowd.true_metrics(score, unsafe) == pytest.approx(
        [float(expected[name]) for name in coverage_crowd.METRICS]
    )


def test_the_page_shows_the_table():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert not [row for row in coverage_crowd.page() if row not in lines]


def test_intervals_hold():
    """At 100 items and ten raters a group in at least 92%, less twice the Monte Carlo error."""
    for row in coverage_crowd.read_rows(coverage_crowd.TABLE).values():
        if int(row["raters"]) < 10:
            continue
        groups = int(row["studies"]) * (1 if row["world"] == "slopes" else 2)
        for column, number in (("coverage", groups), ("difference_coverage", int(row["studies"]))):
            error = np.sqrt(0.08 * 0.92 / number)
            assert float(row[column]) >= 0.92 - 2 * error, row


def test_equal_groups_have_no_stars_whatever_items_they_rated():
    rows = read_rows("matched_items.csv")
    for row in rows:
        error = np.sqrt(0.05 * 0.95 / int(row["studies"]))
        if float(row["seen"]) == 0:
            assert float(row["starred"]) <= 0.05 + 2 * error, row
            assert abs(float(row["matched"]) - 1) < 0.03, row
    assert max(float(row["p_below"]) for row in rows if float(row["seen"]) == 0) > 0.9
    kept = [row for row in rows if row["ratings"] in {"everyone", "six of each"}]
    assert [row["starred"] for row in kept] == [row["p_below"] for row in kept]


def test_the_study_of_unequal_proportions_runs():
    [row] = matched_items.study_design("two and ten", 0.0, 4)
    assert float(row[4]) == 1
    assert float(row[5]) == 0

"""The table of who is said to run against the labels is as its page promises."""

import csv

import numpy as np
import pytest

from sharpbayes.metrics.stats.multiplicity import SIGNIFICANCE_LEVEL
from tests.references.label_reversals import DESIGNS, HEADER, TABLE, run_study

ROWS = list(csv.DictReader(TABLE.read_text("utf-8").splitlines()))


def test_every_design_has_its_row():
    assert list(ROWS[0]) == list(HEADER)
    assert [[*row.values()][:9] for row in ROWS] == [[*map(str, d.row)] for d in DESIGNS]


@pytest.mark.parametrize("row", [row for row in ROWS if row["reversed"] == "0"])
def test_nobody_who_does_not_is_named_more_often_than_promised(row):
    share, studies = float(row["named"]), int(row["studies"])
    error = (SIGNIFICANCE_LEVEL * (1 - SIGNIFICANCE_LEVEL) / studies) ** 0.5
    assert share <= SIGNIFICANCE_LEVEL + 2 * error
    assert share <= float(row["named_before"])


def test_who_reverses_the_scale_is_named():
    shares = {(row["who"], int(row["items"])): float(row["named"]) for row in ROWS}
    assert shares["groups", 100] > 0.95
    assert shares["raters", 60] > 0.95
    balanced = [row for row in ROWS if row["reversed"] == "1" and row["unsafe"] == "0.5"]
    [twenty] = [r for r in balanced if (r["who"], r["items"]) == ("raters", "20")]
    assert float(twenty["named"]) > 0.45
    assert float(twenty["named"]) > 0.8 * float(twenty["named_before"])


def test_the_rules_of_before_name_somebody_by_chance():
    """Twenty items, eighteen unsafe and two scores above 0 on average."""
    number = next(n for n, d in enumerate(DESIGNS) if (d.items, d.unsafe) == (20, 0.9))
    named, before = np.mean([run_study(number, seed) for seed in range(30)], axis=0)
    assert named <= 0.1
    assert before >= 0.3

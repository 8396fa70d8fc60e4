"""The study of judges who are named: what it promises, and that it counts what it says."""

from pathlib import Path

import pytest

from tests.references.coverage_pages import named_judges_table, read_rows
from tests.references.named_judges import CONTRADICT, DESIGNS, MOVED, study_design

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "claims.md"
ROWS = read_rows("named_judges.csv")


def test_the_table_has_every_design():
    assert [(row["sentence"], row["world"]) for row in ROWS] == [
        *(("moved", design.world) for design in MOVED),
        *(("contradict", design.world) for design in CONTRADICT),
    ]


@pytest.mark.parametrize("row", ROWS)
def test_judges_who_did_nothing_are_seldom_named(row):
    """In 5% of studies, or as many more as three Monte Carlo errors; without a correction often."""
    error = (0.05 * 0.95 / int(row["studies"])) ** 0.5
    assert float(row["false"]) <= 0.05 + 3 * error
    assert float(row["false"]) <= float(row["false_before"])


@pytest.mark.parametrize(
    "world", ["one judge reversed, correlation 0.6", "one judge stricter by 0.5"]
)
def test_a_judge_who_did_it_is_named(world):
    """By 25 prompts whose judges agree by 0.6, and by 100 of a history."""
    shares = [float(row["named"]) for row in ROWS if row["world"] == world]
    assert len(shares) > 1
    assert min(shares) > 0.8


def test_the_page_shows_the_tables():
    text = PAGE.read_text(encoding="utf-8")
    for sentence in ("moved", "contradict"):
        assert named_judges_table(ROWS, sentence) in text


@pytest.mark.parametrize("number", [4, len(DESIGNS) - 3])
def test_the_study_counts_who_is_named(number):
    """Of an offender in each study shares are of 0, 1 or 2 studies, by two rules."""
    [row] = study_design(number, 2)
    assert row[-1] == 2
    assert {float(share) for share in row[7:11]} <= {0.0, 0.5, 1.0}
    assert float(row[9]) >= float(row[10])

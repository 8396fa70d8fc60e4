"""Statements of decisions are as often true as they say; the page shows the committed table."""

import csv

import numpy as np
import pytest

import sharpbayes
from tests.references import reliability

TABLE = reliability.HERE / "reliability.csv"
PAGE = reliability.PICTURE.with_name("reliability.md")


def rows(**wanted):
    with TABLE.open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    return [row for row in table if all(row[key] == value for key, value in wanted.items())]


@pytest.fixture
def panel():
    rng = np.random.default_rng(1)
    world = reliability.WORLDS["saturated"]
    drawn = reliability.draw_panel(rng, world)
    return world, drawn.scores(rng, 40)


def test_the_truth_follows_the_formulas_that_the_library_measures(panel, tmp_path):
    world, scores = panel
    path = reliability.write_study(tmp_path, scores, world, 1)
    profile = sharpbayes.measure(sharpbayes.load_study(path))["profile"]
    wanted = reliability.cvar(reliability.log_risk(scores, len(world.cuts)))
    np.testing.assert_allclose(profile["cvar"], wanted, rtol=1e-9)


def test_a_bin_counts_statements_and_their_opposites(tmp_path):
    import pandas as pd  # noqa: PLC0415 - slow to load

    raw = pd.DataFrame(
        [
            (40, "light tail", 0, "ratings", "prob_less", 0.2, False),
            (40, "light tail", 1, "ratings", "prob_less", 0.8, False),
            (40, "light tail", 1, "ratings", "prob_best", 0.2, False),
            (40, "two kinds", 1, np.nan, np.nan, np.nan, False),
        ],
        columns=(*reliability.KEY, *reliability.RAW),
    )
    left_out, *table = [row for row in reliability.tabulate(raw) if row[5]]
    assert left_out[:7] == (40, "", "two kinds", "left out", "", 1, 1)
    assert [row[2:8] for row in table] == [
        (world, "prob_less", "0.75-0.85", 2, 2, "0.800")
        for world in (reliability.ALL, "light tail")
    ]
    assert {row[8] for row in table} == {"0.500"}


@pytest.mark.slow
def test_a_study_is_fitted_and_its_statements_are_read(tmp_path):
    path = reliability.fit_study(tmp_path, "light tail", 40, 2)
    stated = reliability.state(path, reliability.WORLDS["light tail"])
    assert len([row for row in stated if row[1] in reliability.STATEMENTS]) == 2 * (4 + 4 + 6)
    assert {row[0] for row in stated} == {reliability.DEFAULT, "ratings"}
    # 40 prompts do not tell which tail is the lowest, and the answer turns to the mean.
    said = {row[1]: row[2:] for row in stated if row[1] not in reliability.STATEMENTS}
    assert said["limited"] == (1.0, True)
    assert "answer_mean" in said or said["disputed mean"][1]


def test_the_page_shows_the_table():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert not [row for row in reliability.page(TABLE) if row not in lines]


def test_statements_are_not_true_more_seldom_than_they_say():
    """Those of 0.65 or more, over all worlds: within 5 points and three standard errors."""
    table = rows(world=reliability.ALL, sources=reliability.DEFAULT)
    assert {(row["prompts"], row["statement"]) for row in table} >= {
        *((prompts, name) for prompts in ("40", "100") for name in reliability.STATEMENTS),
        *(("40", "answer_mean"), ("100", "answer_cvar")),
    }
    for row in table:
        if float(row["stated"]) >= 0.65:
            # There are some thirty bins.
            margin = 0.05 + 3 * float(row["error"])
            assert float(row["right"]) >= float(row["stated"]) - margin, row


def test_of_statements_with_probability_08_about_four_in_five_are_true():
    wanted = {"world": reliability.ALL, "sources": reliability.DEFAULT, "bin": "0.75-0.85"}
    table = rows(**wanted, prompts="40")
    total = sum(int(row["n"]) for row in table)
    right = sum(int(row["n"]) * float(row["right"]) for row in table)
    assert abs(right / total - 0.8) < 0.1


def test_ratings_alone_are_overconfident_about_a_tolerance():
    """The former default: of models stated to be on one side of it with 0.8, few are."""
    [row] = rows(
        world=reliability.ALL,
        sources="ratings",
        bin="0.75-0.85",
        prompts="40",
        statement="prob_admissible",
    )
    assert float(row["right"]) + 2 * float(row["error"]) < float(row["stated"])

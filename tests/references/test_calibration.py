"""The table of calibrations: what it says, and that the command that made it still runs."""

import csv
from collections import Counter

import pytest

from tests.references import calibration


@pytest.fixture(scope="module")
def rows():
    with (calibration.HERE / "calibration.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# Of so few raters hardly one tells their class, so that chains go from one to the other.
MIXES_SELDOM = "crowd_careless"


def test_no_shipped_model_misses_its_truths(rows):
    """Over the whole table: one of ten models would miss by chance in 40% of tables."""
    assert {row["model"] for row in rows} == set(calibration.KINDS)
    quantities = Counter(row["model"] for row in rows)
    for row in rows:
        assert row["simulations"] == "300"
        # The smallest corrected p of a model is its p times the model's quantities.
        p = float(row["p_holm"]) * len(rows) / quantities[row["model"]]
        assert p >= 0.05, row


def test_nearly_all_fits_have_what_ranks_need(rows):
    assert min(int(row["fits_ranked"]) for row in rows) >= 240
    rows = [row for row in rows if row["model"] != MIXES_SELDOM]
    # Where priors are as wide as those of judges_and_people few small studies meet the limits.
    assert min(int(row["fits_ranked"]) for row in rows) >= 285
    others = [row for row in rows if row["model"] != "judges_and_people"]
    assert min(int(row["fits_converged"]) for row in others) > 200


def test_metrics_of_interest_are_among_the_quantities(rows):
    quantities = {(row["model"], row["quantity"].split("[")[0]) for row in rows}
    assert {
        ("judge_panel", "CVaR"),
        ("crowd_and_experts", "MPA"),
        ("crowd_and_experts", "WRA"),
    } <= quantities


@pytest.mark.slow
def test_an_interrupted_run_goes_on_with_the_same_ranks(tmp_path, monkeypatch):
    monkeypatch.setattr(calibration, "WRITTEN_EVERY", 2)
    monkeypatch.setattr("builtins.print", lambda *_, **__: None)
    reports = []
    last = calibration.calibrate_model("crowd_severity", 2, tmp_path, reports.append)
    assert reports[0]["pit"].equals(last["pit"])
    (tmp_path / "crowd_severity-2" / "simulation-1.npz").unlink()
    again = calibration.calibrate_model("crowd_severity", 2, tmp_path, reports.append)
    assert again["pit"].equals(last["pit"])


def test_rows_of_one_model_replace_its_own_alone(tmp_path):
    path = tmp_path / "table.csv"
    row = ("2", "1", "sd", "0.5", "0.9", "0.95", "0", "1.0")
    for model, first in (("a", "x"), ("b", "y"), ("a", "z")):
        calibration.replace_rows(path, model, [(model, *row[:2], first, *row[3:])])
    with path.open(newline="", encoding="utf-8") as file:
        assert [(line[0], line[3]) for line in list(csv.reader(file))[1:]] == [
            ("b", "y"),
            ("a", "z"),
        ]

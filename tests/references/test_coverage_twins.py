"""The coverage study runs; its committed table says what the page of twins says."""

import csv
from pathlib import Path

import pytest

from tests.references import coverage_twins

TABLE = Path(__file__).with_name("coverage_twins.csv")


def rows_of(path):
    with path.open(encoding="utf-8") as file:
        return {(row["metric"], row["source"], row["truth"]): row for row in csv.DictReader(file)}


@pytest.mark.slow
def test_a_study_of_every_kind_runs(tmp_path, monkeypatch):
    out = tmp_path / "out.csv"
    asked = ["--studies", "2", "--raw", str(tmp_path / "raw.csv"), "--out", str(out)]
    monkeypatch.setattr("sys.argv", ["coverage_twins", *asked])
    coverage_twins.main()
    found = rows_of(out)
    assert set(found) == set(rows_of(TABLE))
    assert {row["studies"] for row in found.values()} == {"2"}


def test_labels_inside_the_model_mend_what_labels_outside_of_it_miss():
    found = rows_of(TABLE)
    for metric in ("mpa", "wra"):
        inside, outside = (
            {key: float(found[f"{metric} experts {where}", "ratings", "anew"][key]) for key in keys}
            for where in ("inside", "outside")
            for keys in [("coverage", "error", "bias")]
        )
        assert abs(inside["coverage"] - 0.9) <= 0.05
        assert abs(inside["bias"]) < abs(outside["bias"]) / 2

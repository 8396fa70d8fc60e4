"""The study of the gate: its law, its rivals, and the page that shows the committed table."""

from pathlib import Path

import numpy as np
import pytest

from tests.references import gate, gate_posterior
from tests.references.coverage_pages import gate_posterior_table, gate_table, read_rows
from tests.references.worlds.panel import DIMENSION_OF, profile, score

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "gate.md"


def test_the_log_risk_of_the_rivals_is_that_of_the_truth():
    rng = np.random.default_rng(1)
    scores = score(rng, rng.normal(size=(2, 50, 3, len(DIMENSION_OF))))
    values = profile(scores)
    for model in (0, 1):
        assert gate.log_risk(scores[model]).mean() == pytest.approx(values[f"mean m{model}"])


def test_a_shift_is_what_makes_releases_differ():
    judges = np.zeros((3, 2))
    none, some = (gate.true_difference(judges, shift, seed=1) for shift in (0.0, 0.4))
    assert abs(none["mean"]) < 0.03
    assert 0.1 < some["mean"] < some["cvar"]


def test_a_pair_of_each_kind_is_asked():
    template = gate.template_study(gate.template_files())
    chosen = ("large", "judges drifted, half anchors", "half replaced")
    rows = {name: gate.run_pair(template, name, 40, pair=3) for name in chosen}
    words = {"at least as safe", "not decided", "not as safe"}
    assert {row["verdict"] for row in rows.values()} <= words
    assert rows["large"]["verdict"] != "at least as safe"
    assert rows["large"]["t"] == 1.0


def test_the_page_shows_the_tables():
    text = PAGE.read_text(encoding="utf-8")
    assert gate_table(read_rows("gate.csv")) in text
    assert gate_posterior_table(read_rows("gate_posterior.csv")) in text


def test_by_the_posterior_no_release_passes_that_must_not():
    rows = {row["scenario"]: row for row in read_rows("gate_posterior.csv")}
    pairs = int(rows["no change"]["pairs"])
    most = 0.05 + 3 * (0.05 * 0.95 / pairs) ** 0.5
    for column in ("posterior_open", "posterior_mean_open", "posterior_cvar_open"):
        assert float(rows["at the margins"][column]) <= most
    assert float(rows["large"]["posterior_open"]) == 0.0
    for name in ("no change", "half replaced"):
        assert float(rows[name]["posterior_shut"]) <= most
        assert float(rows[name]["posterior_open"]) >= float(rows[name]["bootstrap_open"]) - 0.1
    # Log-risk passes by both or not at all, and a no of the bootstrap that the fit shares stands.
    for row in rows.values():
        for column in ("mean_open", "cvar_open"):
            assert float(row[f"posterior_{column}"]) <= float(row[f"bootstrap_{column}"])
    assert float(rows["large"]["posterior_shut"]) > 0.9
    promised, passed = (float(rows["no change"][x]) for x in ("promised", "posterior_open"))
    assert abs(promised - passed) < 0.05


@pytest.mark.slow
def test_a_pair_is_fitted_and_asked_by_the_posterior():
    files = gate.template_files(**gate_posterior.STUDY_LINES)
    coordinates = gate_posterior.trial_coordinates(files, 30)
    row = gate_posterior.run_pair(files, "large", 30, 3, coordinates)
    words = set(gate_posterior.VERDICTS.values())
    assert {row["posterior verdict"], row["bootstrap verdict"]} <= words
    assert row["posterior verdict"] != "at least as safe"
    assert row["prob_all"] < 0.5


def test_the_committed_table_keeps_its_promises():
    rows = {row["scenario"]: row for row in read_rows("gate.csv")}
    pairs = int(rows["no change"]["pairs"])
    # Three Monte Carlo errors above 5%.
    most = 0.05 + 3 * (0.05 * 0.95 / pairs) ** 0.5
    assert float(rows["at the margins"]["gate_open"]) <= most
    assert float(rows["at the margins"]["cvar_open"]) <= most
    for name in ("no change", "half replaced", "judges drifted, anchors"):
        assert float(rows[name]["gate_shut"]) <= most
    assert float(rows["large"]["gate_shut"]) > 0.9
    promised, passed = (float(rows["no change"][x]) for x in ("promised_open", "gate_open"))
    assert abs(promised - passed) < 0.15

"""The tables of intervals and of claims about pairs: what they say, and that their programs run."""

import csv
from pathlib import Path

import numpy as np
import pytest

from tests.references import (
    claims,
    coverage_bootstrap,
    label_samples,
    lost_limits,
    lost_order,
    named_lowest,
    prompt_worlds,
    rare_harm,
    severe_gate,
    share_orders,
    tied_tails,
    unequal_generations,
)

HERE = Path(__file__).parent


def read_rows(name):
    with (HERE / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def coverage():
    return read_rows("coverage_bootstrap.csv")


def test_the_default_interval_holds_the_population_from_100_prompts_on(coverage):
    rows = [r for r in coverage if r["interval"] == "studentized" and int(r["prompts"]) >= 100]
    assert {row["world"] for row in rows} == set(prompt_worlds.WORLDS)
    assert {row["metric"] for row in rows} == {
        f"{name}{suffix}" for name in coverage_bootstrap.METRICS for suffix in ("", "_difference")
    }
    for row in rows:
        assert int(row["studies"]) >= 1000
        assert float(row["holds"]) >= 0.92, row
        assert float(row["below_upper"]) >= 0.92, row


def test_intervals_of_rare_harm_hold_its_rate():
    rows = [row for row in read_rows("rare_harm.csv") if row["world"].startswith("yes or no")]
    by = {kind: [r for r in rows if r["interval"] == kind] for kind in ("program", "studentized")}
    for row in by["program"]:
        assert int(row["studies"]) >= 1000
        assert float(row["holds"]) >= 0.94, row
    assert min(float(row["holds"]) for row in by["studentized"]) < 0.5


def test_the_gate_passes_rare_harm_at_its_margin_in_one_case_of_twenty():
    rows = [r for r in read_rows("rare_gate.csv") if r["candidate"] != r["reference"]]
    for row in rows:
        error = np.sqrt(0.05 * 0.95 / int(row["pairs"]))
        assert float(row["passes"]) <= 0.05 + 2 * error, row
    assert max(float(row["by_resamples"]) for row in rows) > 0.05


def test_the_gate_passes_rare_severe_answers_in_one_case_of_twenty():
    rows = [row for row in read_rows("severe_gate.csv") if float(row["severe"]) > 0]
    for row in rows:
        error = np.sqrt(0.05 * 0.95 / int(row["studies"]))
        assert float(row["now"]) <= 0.05 + 2 * error, row
    assert max(float(row["without"]) for row in rows) > 0.15


def test_the_study_of_severe_answers_runs():
    [row] = severe_gate.study_design(40, 0.03, 10, None, 2)
    assert row[:4] == (40, 0.03, 10, "0.0257")
    assert float(row[4]) <= float(row[5])


def test_random_samples_of_labels_pass_their_check():
    rows = read_rows("label_samples.csv")
    for row in rows:
        error = np.sqrt(0.05 * 0.95 / int(row["studies"]))
        is_random = float(row["selection"]) == 0
        assert (float(row["ranks"]) <= 0.05 + 2 * error) == is_random, row
    assert max(float(row["means"]) for row in rows if float(row["selection"]) == 0) > 0.3


def test_the_study_of_labelled_samples_runs():
    [row] = label_samples.study_design("centred", 100, 10, 3.0, 20)
    assert float(row[4]) > float(row[5])


def test_equal_models_are_not_ordered_by_how_often_they_answered():
    for row in read_rows("unequal_generations.csv"):
        chosen = row["answers"] == "harmful answers again"
        assert float(row["mean_now"]) <= (0.15 if chosen else 0.1), row
        assert float(row["cvar_now"]) <= 0.1
    rows = {row["answers"]: row for row in read_rows("unequal_generations.csv")}
    assert float(rows["severe prompts again"]["mean_alike"]) == 1
    even = rows["three of each"]
    assert even["mean_now"] == even["mean_alike"]


def test_the_studies_of_unequal_generations_and_of_shares_run():
    [row] = unequal_generations.study_design("severe prompts again", 1)
    assert (row[1], row[2]) == ("0.000", "1.000")
    [row] = share_orders.study_design(8, 1)
    assert all(float(now) <= float(before) for now, before in (row[1:3], row[3:5]))


def test_limits_and_orders_do_not_rest_on_lost_answers():
    for row in read_rows("lost_limits.csv"):
        if row["world"] == "worst":
            most = 0.1 if row["lost"] == "0.08" else 0.3
            assert float(row["now"]) <= min(most, float(row["without"])), row
    rows = {(row["world"], row["lost"]): row for row in read_rows("lost_order.csv")}
    worst, chance = rows["worst", "0.08"], rows["chance", "0.08"]
    assert (worst["cvar_now"], worst["policy_score_now"]) == ("0.000", "0.000")
    assert float(chance["policy_score_now"]) >= float(chance["policy_score_without"]) - 0.1


def test_the_studies_of_lost_answers_run():
    world = lost_limits.World("worst", 2, "empty", 0.08)
    [row] = lost_limits.study_world(world, "dimension harm", 1)
    assert row[5:7] == ("0.000", "1.000")
    [row] = lost_order.study_world(world, 1)
    assert row[3:7] == ("1.000", "0.000", "1.000", "0.000")


def test_the_study_of_rare_harm_runs():
    [program, alone, *_] = rare_harm.study_world("yes or no, 2%", 30, 50)
    assert program[:4] == ("yes or no, 2%", 30, "mean", "program")
    assert float(program[4]) > float(alone[4])


def test_intervals_of_tails_of_one_value_hold_the_truth():
    rows = [row for row in read_rows("tied_tails.csv") if float(row["tied"]) > 0.05]
    by = {kind: [r for r in rows if r["interval"] == kind] for kind in ("program", "studentized")}
    assert len(by["program"]) >= 8
    for row in by["program"]:
        assert float(row["holds_tied"]) >= 0.94, row
    assert min(float(row["holds_tied"]) for row in by["studentized"]) < 0.05


def test_the_study_of_tails_of_one_value_runs():
    program, alone = tied_tails.study_world("never severe", 40, 50)
    assert program[:3] == ("never severe", 40, "program")
    assert float(program[6]) > 0.9 > float(alone[6])


def test_the_percentile_interval_does_not_hold_a_tail(coverage):
    rows = [
        row
        for row in coverage
        if (row["interval"], row["metric"], row["prompts"]) == ("percentile", "cvar", "100")
    ]
    assert max(float(row["holds"]) for row in rows) < 0.85


def test_claims_about_pairs_are_false_in_one_study_of_twenty():
    rows = read_rows("claims.csv")
    assert {int(row["models"]) for row in rows} == {3, 11, 30}
    for row in rows:
        error = np.sqrt(0.05 * 0.95 / int(row["studies"]))
        assert float(row["false_claims"]) <= 0.05 + 2.5 * error, row
    every = [float(row["false_claims"]) for row in rows]
    assert np.mean(every) <= 0.05


def test_the_interval_of_the_lowest_of_equal_models_holds_too_seldom():
    rows = read_rows("named_lowest.csv")
    assert {row["world"] for row in rows} == set(prompt_worlds.WORLDS)
    alike = [row for row in rows if row["equal"] == "all" and int(row["models"]) >= 6]
    assert np.mean([float(row["named"]) for row in alike]) < 0.9
    assert np.mean([float(row["all_models"]) for row in alike]) > 0.94
    two = [float(row["named"]) for row in rows if row["models"] == "2"]
    assert np.mean(two) > 0.93


def test_the_page_shows_the_table_of_named_models():
    page = HERE.parents[1] / "docs" / "benchmarks" / "coverage_bootstrap.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    assert not [row for row in named_lowest.page(named_lowest.TABLE) if row not in lines]


def test_a_named_model_is_counted_against_its_own_value():
    case = ("light", 40, 3, "all", 0, 60)
    mean = named_lowest.measure_batch(case)["mean"]
    assert mean.shape == (named_lowest.BATCH, 5)
    every, named, sure, above, error = mean.T
    assert set(named) | set(sure) | set(above) <= {0.0, 1.0}
    assert ((every >= 0) & (every <= 1)).all()
    # A truth above the interval of the named model is a miss, by more than half of its length.
    assert (named[above == 1] == 0).all()
    assert (error[above == 1] < 0).all()


def test_a_population_is_that_of_its_formulas():
    harm = prompt_worlds.draw_harm("light", np.random.default_rng(1), 1000, (0.0, 0.0))
    values = prompt_worlds.compute_values(harm)
    log_risk = np.sort(-np.log(1 - harm[:, 0] + 1e-6).sum(-1))
    assert values["cvar"][0] == pytest.approx(log_risk[949:].mean())
    assert values["policy_score"][1] == pytest.approx(harm[:, 1].mean())


@pytest.mark.slow
def test_the_programs_still_run(tmp_path, monkeypatch):
    table = tmp_path / "table.csv"
    monkeypatch.setattr(prompt_worlds, "MILLIONS", 1)
    arguments = ["--studies", "50", "--replicates", "100", "--processes", "1", "--out", str(table)]
    monkeypatch.setattr("sys.argv", ["x", *arguments, "--prompts", "100", "--worlds", "light"])
    coverage_bootstrap.main()
    assert len(table.read_text(encoding="utf-8").splitlines()) == 1 + 3 * 8
    case = ("light", 100, 3, "all", 1, 200)
    assert claims.count_claims(case).shape == (4,)

"""Ratings from a study's own model: the design is kept, and a fit finds the truth again."""

import shutil

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.errors import DataError, SpecError
from sharpbayes.library import find
from sharpbayes.simulation.scoring_patterns import save_simulation
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.check import check
from sharpbayes.workflows.context import RunContext
from sharpbayes.workflows.fit import fit
from sharpbayes.workflows.measure import measure
from sharpbayes.workflows.simulate import simulate
from tests import peopled
from tests.panels import files_of, frame
from tests.shared_data import needs_shared_data

QUICK = ("bootstrap.replicates=20", "sampler.predictive_draws=0")


@pytest.mark.parametrize("name", ["quickstart", "quickstart_crowd"])
def test_a_simulated_study_has_the_design_of_its_study(name, tmp_path):
    files = load_study(name)
    written = save_simulation(simulate(files, pattern="model"), tmp_path)
    counts = [check(study).counts["ratings"] for study in (files, load_study(written))]
    assert counts[0] == counts[1]
    measured = measure(load_study(written, overrides=QUICK[:1]))
    metric = measured["profile/cvar"] if "profile" in measured else measured["responsiveness/wra"]
    assert np.isfinite(metric).any()


def test_files_that_a_study_names_by_a_path_are_copied(tmp_path):
    for kind, name in (("models", "crowd_severity"), ("studies", "quickstart_crowd")):
        text = find(kind, name).read_text(encoding="utf-8")
        (tmp_path / f"{kind}.toml").write_text(text, encoding="utf-8")
    for table in find("studies", "quickstart_crowd").parent.glob("quickstart_crowd*.csv"):
        shutil.copy(table, tmp_path)
    files = load_study(tmp_path / "studies.toml", overrides=["crowd.fit=./models.toml"])
    written = save_simulation(simulate(files, pattern="model"), tmp_path / "made")
    copied = load_study(written)
    assert copied.study.spec.crowd.fit == "model.toml"
    assert copied.model.text == files.model.text


def test_clusters_of_prompts_are_kept(tmp_path):
    table = frame(prompts=12).assign(scenario=lambda x: x["prompt"].str[:2])
    roles, severity = ', cluster = "scenario"', 'fit = "judge_severity"'
    files = files_of(tmp_path / "given", table, roles=roles, panel=severity)
    simulated = simulate(files, pattern="model")
    copied = load_study(save_simulation(simulated, tmp_path / "made"))
    assert copied.study.spec.panel.roles.cluster == "cluster"
    made = simulated.tables["ratings"].groupby("prompt")["cluster"].unique().map(list)
    assert made.to_dict() == {name: [name[:2]] for name in table["prompt"].unique()}
    assert check(copied).counts["ratings"] == check(files).counts["ratings"]


def test_people_who_scored_a_panel_have_a_table_of_their_own(tmp_path):
    files = peopled.simulated(tmp_path, seed=5, models=2, prompts=6, judges=2, people=3).files
    simulated = simulate(files, pattern="model")
    copied = load_study(save_simulation(simulated, tmp_path / "made"))
    assert check(copied).counts == check(files).counts
    assert set(simulated.tables["people"]) == {"model", "prompt", "rater", "indicator", "score"}
    assert (simulated.tables["ratings"]["judge"] != "").all()


def test_another_seed_has_another_truth_and_the_same_seed_the_same():
    first, again, other = (
        simulate(load_study("quickstart_crowd", overrides=[f"seed={seed}"]), pattern="model")
        for seed in (1, 1, 2)
    )
    assert first.tables["ratings"].equals(again.tables["ratings"])
    assert not first.tables["ratings"].equals(other.tables["ratings"])


def test_a_fit_finds_the_truth_again(tmp_path):
    simulated = simulate(load_study("quickstart_crowd"), pattern="model")
    written = save_simulation(simulated, tmp_path)
    draws = ("sampler.chains=2", "sampler.tune=150", "sampler.draws=150", "crowd.permutations=0")
    results = fit(load_study(written, overrides=[*QUICK, *draws]))
    posterior = results["posterior"].to_dataset()["location_item"]
    known = [
        simulated.truth["parameters"][f"location_item[{i}]"] for i in posterior["item"].to_numpy()
    ]
    mean, sd = posterior.mean(("chain", "draw")), posterior.std(("chain", "draw"))
    z = ((mean - known) / sd).to_numpy()
    # The mean of all items and the thresholds move together; what is left is standard normal.
    assert 0.85 < np.std(z) < 1.15
    assert np.corrcoef(mean, known)[0, 1] > 0.8


def test_labels_are_true_or_the_experts_own(tmp_path):
    study = load_study("quickstart_crowd", overrides=["crowd.fit=crowd_severity"])
    plain = simulate(study, pattern="model")
    ratings = plain.tables["ratings"].drop_duplicates("item")
    severity = [plain.truth["parameters"][f"location_item[{i}]"] for i in ratings["item"]]
    unsafe = ratings["unsafe"].to_numpy() == 1
    assert min(np.array(severity)[unsafe]) > max(np.array(severity)[~unsafe])
    joint = load_study("quickstart_crowd", overrides=["crowd.fit=crowd_and_experts"])
    simulated = simulate(joint, pattern="model")
    assert set(simulated.tables["experts"]["label"]) == {0, 1}
    assert check(load_study(save_simulation(simulated, tmp_path))).counts["labels"] == len(
        simulated.tables["experts"]
    )


@needs_shared_data
def test_a_study_without_a_model_is_refused(tmp_path):
    with pytest.raises(SpecError, match=r"crowd\.fit"):
        simulate(load_study("tests/studies/nibbler.toml", overrides=[]), pattern="model")


def test_command(tmp_path):
    out = tmp_path / "made"
    words = ["simulate", "quickstart_crowd", "--pattern", "model", "--out", str(out)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "3200 ratings with known truth" in done.output
    assert sorted(path.name for path in out.iterdir()) == [
        "experts.csv",
        "ratings.csv",
        "study.toml",
        "truth.json",
    ]


SCORES = {"score", "label", "explicitness"}


def empty_scores(folder, name):
    """Copy a shipped study whose table is filled in later: no cell has a score."""
    for path in find("studies", name).parent.glob(f"{name}[._]*"):
        shutil.copy(path, folder)
    for table in folder.glob("*.csv"):
        data = pd.read_csv(table, dtype=str)
        scores = [column for column in data if column in SCORES or column.count("_") == 1]
        scores = [column for column in scores if not column.endswith("_id")]
        data.assign(**dict.fromkeys(scores, "")).to_csv(table, index=False)
    return folder / f"{name}.toml"


@pytest.mark.parametrize("name", ["quickstart", "quickstart_crowd"])
def test_a_design_without_scores_is_simulated_as_one_with_scores(name, tmp_path):
    files = load_study(empty_scores(tmp_path, name))
    with pytest.raises(DataError):
        RunContext(files).design  # noqa: B018 - a property that computes
    drawn = simulate(files, pattern="model")
    expected = simulate(load_study(name), pattern="model")
    assert {*drawn.tables} == {*expected.tables}
    for table, rows in expected.tables.items():
        pd.testing.assert_frame_equal(drawn.tables[table], rows)
    assert drawn.truth == expected.truth


def test_people_need_no_scores_either(tmp_path):
    files = peopled.simulated(tmp_path, seed=5, models=2, prompts=6, judges=2, people=3).files
    expected = simulate(files, pattern="model")
    for path in tmp_path.glob("*.csv"):
        pd.read_csv(path, dtype=str).assign(score="").to_csv(path, index=False)
    drawn = simulate(files, pattern="model")
    for table, rows in expected.tables.items():
        pd.testing.assert_frame_equal(drawn.tables[table], rows)


def test_commands_that_need_scores_name_the_one_that_draws_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = empty_scores(tmp_path, "quickstart_crowd")
    done = CliRunner().invoke(app, ["fit", study.name])
    message = "no cell has a score; to draw scores for this design run `sharpbayes simulate STUDY"
    assert done.exit_code == 3
    assert f"quickstart_crowd.csv: {message} --pattern model`" in " ".join(done.stderr.split())


def test_a_panel_without_a_pattern_is_simulated_by_its_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["simulate", "quickstart", "--out", "drawn"])
    assert done.exit_code == 0
    truth = simulate(load_study("quickstart"), pattern="model").tables["ratings"]
    drawn = pd.read_csv(tmp_path / "drawn" / "ratings.csv")
    assert len(drawn) == len(truth)


def test_a_panel_with_a_pattern_of_a_crowd_is_told_the_one_that_it_can_have():
    done = CliRunner().invoke(app, ["simulate", "quickstart", "--pattern", "normal"])
    assert done.exit_code == 2
    assert done.stderr.rstrip().endswith(
        "the patterns normal, shift, conservative, all are those of a crowd; this study has a "
        "panel: add --pattern model"
    )

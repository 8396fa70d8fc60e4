"""Several releases on one page: what changed, and with which release."""

import json

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.errors import SpecError, StorageError
from sharpbayes.report.figures.catalogue import page_figures
from sharpbayes.report.figures.history import NOT_COMPARED
from sharpbayes.report.figures.history import releases as draw_releases
from sharpbayes.report.page import page_text
from sharpbayes.report.summary import answer, verdict
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.storage.results import open_results, save_results
from sharpbayes.workflows.history import build_history
from tests.panels import frame, measured


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """Three releases: the second is judged more strictly by one judge, the third has a limit."""
    folder = tmp_path_factory.mktemp("releases")
    table = frame(prompts=24)
    stricter = table.copy()
    rows = stricter["judge"] == "ann"
    for name in ("bias_a", "bias_b"):
        stricter.loc[rows, name] = np.minimum(stricter.loc[rows, name] + 4, 10)
    return {
        "may": measured(folder / "may", table),
        "june": measured(folder / "june", stricter),
        "july": measured(folder / "july", stricter, weights="[tolerance]\ncvar = 100.0\n"),
    }


@pytest.fixture(scope="module")
def tree(releases):
    return build_history(releases)


@pytest.fixture(scope="module")
def crowd(shared_results):
    return open_results(shared_results("measured_crowd")).load()


def test_numbers_are_those_of_each_release(releases, tree):
    data = tree["history"].to_dataset()
    assert data["release"].to_numpy().tolist() == ["may", "june", "july"]
    for name, results in releases.items():
        expected = results["profile"]["cvar"].to_numpy()
        shown = data["observed"].sel(release=name, metric="cvar", unit=["m0", "m1", "m2"])
        np.testing.assert_allclose(shown, expected)


def test_the_answer_names_what_changed_and_when(releases, tree):
    sentences = answer(tree)
    assert sentences[0] == "3 releases: may, june, july."
    assert (
        "Verdicts that changed: m0 cannot tell since july, no tolerance before; m1 cannot tell "
        "since july, no tolerance before; m2 cannot tell since july, no tolerance before."
    ) in sentences
    # Studies lie in folders of their own, and have the same text.
    assert ("Inputs that changed since the release before: june: data; july: weights.") in sentences
    [drift] = [text for text in sentences if text.startswith("On the same models")]
    assert drift == (
        "On the same models and prompts scores differ from the release before, beyond chance (5%, "
        "corrected for 6 comparisons): ann by 0.14 in june. If the answers are the same, the "
        "judges have moved; if they are new, the models may have."
    )
    reordered = {name: releases[name] for name in ("july", "june")}
    assert "june" in answer(build_history(reordered))[0]


def test_what_judges_did_not_change_is_said_with_its_correction(tree):
    judges = tree["history"].to_dataset()
    judges["drift_notable"] = xr.zeros_like(judges["drift_notable"])
    is_said = "No judge is shown to score otherwise than in the release before (5%"
    for releases, names, correction in (
        (3, 3, ", corrected for 6 comparisons"),
        (2, 3, ", corrected for 3 comparisons"),
        (2, 1, ""),
    ):
        part = judges.isel(release=slice(releases), judge=slice(names))
        sentences = answer(xr.DataTree.from_dict({"/history": part}))
        assert f"{is_said}{correction})." in sentences


def test_values_whose_intervals_do_not_overlap_are_named(releases, tmp_path):
    table = frame(prompts=24)
    worse = table.copy()
    rows = worse["model"] == "m0"
    for name in ("bias_a", "bias_b"):
        worse.loc[rows, name] = np.minimum(worse.loc[rows, name] + 6, 10)
    later = measured(tmp_path / "june", worse)
    tree = build_history({"may": releases["may"], "june": later})
    [sentence] = [text for text in answer(tree) if "do not overlap" in text]
    start = (
        "Intervals of these values do not overlap from one release to the next, of 12 that were "
    )
    assert sentence.startswith(f"{start}compared: ")
    assert sentence.endswith(". `sharpbayes gate` compares two releases.")
    data = tree["history"].to_dataset()
    before, after = (
        data["observed"].sel(metric="mean", unit="m0", release=name) for name in ("may", "june")
    )
    assert f"mean log-risk of m0 from {float(before):.2f} to {float(after):.2f} in june" in sentence
    assert "of m1" not in sentence
    unchanged = build_history({"may": releases["may"], "june": releases["may"]})
    assert not [text for text in answer(unchanged) if "do not overlap" in text]


def test_a_history_claims_no_more_than_the_evidence(releases, tree):
    """24 prompts have no tail: none is named, and the choice is by the policy score."""
    sentences = answer(tree)
    assert (
        "The data of may, june and july do not tell which tail risks differ: none is named."
    ) in sentences
    assert not [text for text in sentences if "tail risk of" in text]
    choices = tree["history"]["choice"].to_numpy()
    assert all(text.endswith(" (by policy score)") for text in choices)
    enough = {name: results.copy() for name, results in releases.items()}
    for results in enough.values():
        evidence = results["evidence"].to_dataset()
        carried = {"carried": '["lowest", "distinguishable", "admissible"]'}
        results["evidence"] = xr.DataTree(evidence.assign_attrs(carried))
    choices = build_history(enough)["history"]["choice"].to_numpy()
    assert not [text for text in choices if "mean log-risk" in text]


def test_a_choice_on_condition_is_said_of_its_releases(tree):
    data = tree["history"].to_dataset()
    open_in = data.assign(
        choice=("release", ["m0"] * 3), choice_on_condition=("release", [False, True, True])
    )
    text = " ".join(answer(xr.DataTree.from_dict({"/history": open_in})))
    assert (
        "is the same in every release: m0. In june and july it is so only if answers at the "
        in (text)
    )
    never = open_in.assign(choice_on_condition=("release", [False] * 3))
    assert "only if" not in " ".join(answer(xr.DataTree.from_dict({"/history": never})))


def test_a_choice_that_chance_can_change_is_said_of_its_releases(tree):
    data = tree["history"].to_dataset()
    swapped = data.assign(
        choice=("release", ["m0", "m1", "m1"]),
        choice_by_chance=("release", [True] * 3),
        choice_on_condition=("release", [False] * 3),
    )
    sentences = answer(xr.DataTree.from_dict({"/history": swapped}))
    position = next(n for n, text in enumerate(sentences) if "changed: since june m1" in text)
    assert sentences[position + 1] == (
        "In may and june the lowest model is not distinguishable from every other one: chance "
        "alone can change which it is."
    )
    apart = swapped.assign(choice_by_chance=("release", [False, False, True]))
    assert "chance alone" not in " ".join(answer(xr.DataTree.from_dict({"/history": apart})))
    same = swapped.assign(choice=("release", ["m0"] * 3))
    assert (
        "In may, june and july the lowest model is not distinguishable from every other one: "
        "chance alone can change which it is."
    ) in answer(xr.DataTree.from_dict({"/history": same}))


def test_a_model_that_is_chosen_by_another_metric_is_the_same(tree):
    by = ["m0 (by policy score)", "m0", "m0 (by policy score)"]
    data = tree["history"].to_dataset().assign(choice=("release", by))
    assert (
        "The model that is selected, or lowest where no fit recommends one, is the same in every "
        "release: m0 (by policy score) in may; m0 in june; m0 (by policy score) in july."
    ) in answer(xr.DataTree.from_dict({"/history": data}))


def test_a_lowest_model_that_resamples_tell_apart_is_no_chance(tmp_path):
    tables = {"alike": frame(prompts=24, seed=4), "apart": frame(prompts=24, seed=4)}
    better = tables["apart"]["model"] == "m0"
    for name in ("bias_a", "bias_b"):
        tables["apart"].loc[better, name] = 0
        tables["apart"].loc[~better, name] = 8
    results = {name: measured(tmp_path / name, table) for name, table in tables.items()}
    data = build_history(results)["history"]
    assert data["choice_by_chance"].values.tolist() == [True, False]


def test_tails_of_another_alpha_are_not_compared(releases):
    wide = releases["june"].copy()
    profile = wide["profile"].to_dataset()
    wide["profile"] = xr.DataTree(profile.assign_attrs(profile.attrs | {"alpha": 0.9}))
    joint = wide["joint"].to_dataset()
    moved = joint["observed"].where(joint["metric"] != "cvar", joint["observed"] + 100)
    far = joint["bootstrap_interval"].where(joint["metric"] != "cvar", moved)
    wide["joint"] = xr.DataTree(joint.assign(observed=moved, bootstrap_interval=far))
    carried = {"carried": '["lowest", "distinguishable", "admissible"]'}
    both = {"may": releases["may"].copy(), "june": wide}
    for results in both.values():
        results["evidence"] = xr.DataTree(results["evidence"].to_dataset().assign_attrs(carried))
    tree = build_history(both)
    text = " ".join(answer(tree))
    assert "tail risk of m0" not in text
    assert (
        "Tail risks of these releases are not compared: CVaR 90 since june, CVaR 95 before."
    ) in text
    titles = [table.title for table in report_tables(tree)]
    assert "CVaR 95 and 90 of log-risk release by release" in titles
    alike = build_history({"may": both["may"], "june": releases["june"]})
    assert "CVaR 95 of log-risk release by release" in [x.title for x in report_tables(alike)]


def test_releases_that_tell_no_choice_are_not_said_to_choose_the_same(tmp_path):
    """Ten prompts carry no comparison, by tails or by means."""
    few = {name: measured(tmp_path / name, frame(prompts=10)) for name in ("may", "june")}
    text = " ".join(answer(build_history(few)))
    assert "No release tells which model to choose." in text
    assert "is the same in every release" not in text


def test_no_line_joins_what_is_not_compared(tree, crowd):
    """24 prompts have no tail; responsiveness of a crowd has no such limit."""
    for results, joined in ((tree, False), (build_history({"may": crowd, "june": crowd}), True)):
        figure = draw_releases(results)
        lines = figure.axes[0].get_lines()
        drawn = [line for line in lines if np.isfinite(line.get_ydata()).any()]
        assert len(drawn) == results["history"].sizes["unit"]
        assert {line.get_linestyle() != "None" for line in drawn} == {joined}
        assert [text.get_text() for text in figure.texts] == ([] if joined else [NOT_COMPARED])


def test_an_interval_without_width_is_missing_and_its_moves_are_said_by_themselves(releases):
    still, moved = (releases["may"].copy() for _ in range(2))
    joint = still["joint"].to_dataset()
    interval = joint["observed"].expand_dims(bound=joint["bound"], axis=-1)
    still["joint"] = xr.DataTree(joint.assign(bootstrap_interval=interval))
    moved["joint"] = xr.DataTree(
        joint.assign(observed=joint["observed"] + 1, bootstrap_interval=interval + 1)
    )
    tree = build_history({"may": still, "june": moved})
    assert tree["history"]["bootstrap_interval"].isnull().all()
    assert not [text for text in answer(tree) if "do not overlap" in text]
    [table] = [table for table in report_tables(tree) if table.title.startswith("Mean log-risk")]
    mean = float(joint["observed"].sel(metric="mean", model="m0"))
    assert table.rows[0] == ("m0", f"{mean:.2f}", f"{mean + 1:.2f}")
    says = (
        "These values differ from one release to the next; whether beyond chance is not known, "
        "because resamples of a release do not differ: "
    )
    [sentence] = [text for text in answer(tree) if text.startswith(says)]
    assert f"mean log-risk of m0 from {mean:.2f} to {mean + 1:.2f} in june" in sentence
    one_sided = build_history({"may": releases["may"], "june": moved})
    assert [text for text in answer(one_sided) if text.startswith(says)]
    unchanged = build_history({"may": releases["may"], "june": still})
    assert not [text for text in answer(unchanged) if text.startswith(says)]
    assert table.note.endswith("Without an interval where resamples do not differ.")


@pytest.fixture(scope="module")
def renamed(tmp_path_factory):
    """Three releases of one model, each of a name of its own; the third is worse."""
    folder, table = tmp_path_factory.mktemp("renamed"), frame(models=1, prompts=24)
    worse = table.copy()
    for name in ("bias_a", "bias_b"):
        worse[name] = np.minimum(worse[name] + 6, 10)
    return {
        name: measured(folder / name, rows.assign(model=f"acme/{name}"))
        for name, rows in (("v1", table), ("v2", table), ("v3", worse))
    }


def test_releases_of_one_model_each_are_one_series_whatever_its_names_are(renamed):
    tree = build_history(renamed)
    data, sentences = tree["history"].to_dataset(), answer(tree)
    assert sentences[1] == (
        "Each release has one model, and they are compared as one series (v1: acme/v1; v2: "
        "acme/v2; v3: acme/v3)."
    )
    values = [float(results["profile"]["mean"][0]) for results in renamed.values()]
    [moved] = [text for text in sentences if "do not overlap" in text]
    assert f" mean log-risk from {values[1]:.2f} to {values[2]:.2f} in v3" in moved
    assert " in v2" not in moved
    assert not [text for text in sentences if "selected" in text or "Nothing is compared" in text]
    np.testing.assert_allclose(data["observed"].sel(metric="mean").squeeze("unit"), values)
    [table] = [table for table in report_tables(tree) if table.title.startswith("Mean log-risk")]
    assert [row[0] for row in table.rows] == ["model of the release"]
    assert "-" not in table.rows[0]


def test_verdicts_on_the_one_model_of_each_release_are_compared(renamed, tmp_path):
    table = frame(models=1, prompts=24).assign(model="acme/v4")
    limited = measured(tmp_path, table, weights="[tolerance]\nmean = 100.0\n")
    sentences = answer(build_history({"v1": renamed["v1"], "v4": limited}))
    assert "Verdicts that changed: admissible since v4, no tolerance before." in sentences


def test_the_one_model_of_all_releases_is_not_called_selected(renamed):
    sentences = answer(build_history({"may": renamed["v1"], "june": renamed["v1"]}))
    assert sentences[1] == "Each release has one model, acme/v1."


def test_a_history_without_a_fit_does_not_point_to_one(renamed):
    trust = "No release was fitted: what intervals contain is in the results of each release."
    assert verdict(build_history(renamed)) == trust
    fitted = renamed["v2"].copy()
    fitted.attrs["status"] = "fitted"
    assert verdict(build_history({"v1": renamed["v1"], "v2": fitted})) == (
        "Whether a fit converged and passed its checks is in the results of the fit."
    )


def test_models_that_nothing_is_compared_with_are_named(releases, renamed):
    sentences = answer(build_history({"may": releases["may"], "v1": renamed["v1"]}))
    assert (
        "Nothing is compared of models that the release before lacks: acme/v1 in v1. `sharpbayes "
        "gate` compares models of two names."
    ) in sentences


def test_models_prompts_and_judges_that_are_new_or_gone_are_counted(releases, tmp_path):
    table = frame(prompts=24)
    less = table[(table["judge"] != "ann") & (table["prompt"] != "p03")]
    fewer = measured(tmp_path / "june", less.replace({"model": {"m2": "m3"}}))
    tree = build_history({"may": releases["may"], "june": fewer})
    sentence = (
        "Data that changed since the release before: june has 3 models (1 new, 1 gone), 23 prompts "
        "(1 gone) and 2 judges (1 gone)."
    )
    assert sentence in answer(tree)
    [counts] = [table for table in report_tables(tree) if table.title == "Data release by release"]
    assert [row[:4] for row in counts.rows] == [("may", "3", "0", "0"), ("june", "3", "1", "1")]
    same = answer(build_history({"may": releases["may"], "june": releases["may"]}))
    assert not [text for text in same if text.startswith("Data that changed")]


def test_tables_have_a_column_for_each_release(tree):
    tables = {table.title: table for table in report_tables(tree)}
    numbers = tables["CVaR 95 of log-risk release by release"]
    assert numbers.header == ("unit", "may", "june", "july")
    assert len(numbers.rows) == 3
    inputs = tables["Inputs release by release"]
    assert [row[-4].endswith(" *") for row in inputs.rows] == [False, True, False]
    assert "Verdicts release by release" in tables
    assert "Judges release by release: the same models and prompts again" in tables


def test_the_page_has_the_figure_and_every_digest(tree, releases):
    [figure] = page_figures(tree)
    assert figure.table == "history"
    text = page_text(tree)
    for results in releases.values():
        assert str(results.attrs["data_sha256"]) in text
    assert "What the numbers do not mean" in text


def test_other_results_are_refused(releases, crowd):
    with pytest.raises(SpecError) as error:
        build_history(releases | {"crowd": crowd})
    assert str(error.value) == "crowd: results of a crowd among those of a panel"
    bare = releases["may"].copy()
    del bare["joint"]
    with pytest.raises(StorageError) as missing:
        build_history(releases | {"old": bare})
    assert str(missing.value) == (
        "old: no group /joint; run `sharpbayes measure` of the study again"
    )


def test_a_history_of_crowds_has_the_metrics_of_every_group(crowd):
    tree = build_history({"may": crowd, "june": crowd})
    tables = {table.title: table for table in report_tables(tree)}
    assert list(tables) == [
        "HM release by release",
        "MPA release by release",
        "WRA release by release",
        "Inputs release by release",
        "Data release by release",
    ]
    assert len(tables["HM release by release"].rows) == crowd["joint"].sizes["group"]
    # A crowd chooses no model.
    assert "choice" not in tables["Inputs release by release"].header
    assert answer(tree) == (
        "2 releases: may, june.",
        "Inputs that changed since the release before: june: nothing.",
    )
    assert [figure.table for figure in page_figures(tree)] == ["history"]
    text = page_text(tree)
    assert "describe these raters on these items" in text
    assert "<dt>Groups of raters</dt>" in text


def test_releases_with_other_groups_stand_in_one_history(crowd):
    groups = crowd["joint"]["group"].to_numpy()
    fewer = crowd.copy()
    fewer["joint"] = xr.DataTree(crowd["joint"].to_dataset().sel(group=groups[1:]))
    data = build_history({"may": fewer, "june": crowd})["history"].to_dataset()
    assert data["unit"].to_numpy().tolist() == [*groups[1:], groups[0]]
    assert data["observed"].sel(release="may", unit=groups[0]).isnull().all()


def test_the_command_shows_crowds_and_refuses_them_among_panels(releases, crowd, tmp_path):
    names = ("crowd", "again", "panel")
    paths = [str(tmp_path / f"{name}.results.nc") for name in names]
    for path, results in zip(paths, (crowd, crowd, releases["may"]), strict=True):
        save_results(results, path)
    done = CliRunner().invoke(app, ["report", *paths[:2], "--text"])
    assert done.exit_code == 0, done.stderr
    done = CliRunner().invoke(app, ["report", paths[2], paths[0]])
    message = "crowd: results of a crowd among those of a panel\n"
    assert (done.exit_code, done.stderr) == (2, message)


def test_the_command_takes_several_files(releases, tmp_path):
    paths = []
    for name, results in releases.items():
        paths.append(str(tmp_path / f"{name}.results.nc"))
        save_results(results, paths[-1])
    done = CliRunner().invoke(app, ["report", *paths])
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "history.html").exists()
    done = CliRunner().invoke(app, ["report", *paths, "--json"])
    document = json.loads(done.stdout)
    assert document["answer"][0] == "3 releases: may, june, july."
    assert set(document["history"]["observed"]) == {"may", "june", "july"}
    done = CliRunner().invoke(app, ["report", *paths, "--item", "x"])
    assert (done.exit_code, done.stderr) == (2, "report: --item: is for one results file\n")
    done = CliRunner().invoke(app, ["report", paths[0], paths[0]])
    assert done.exit_code == 2
    assert done.stderr == "report: results files need names of their own, they name the releases\n"


def test_the_command_names_the_file_that_lacks_something(releases, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bare = releases["may"].copy()
    del bare["joint"]
    save_results(bare, "old.nc")
    save_results(releases["june"], "new.nc")
    done = CliRunner().invoke(app, ["report", "new.nc", "old.nc"])
    message = "old.nc: no group /joint; run `sharpbayes measure` of the study again\n"
    assert (done.exit_code, done.stderr) == (5, message)

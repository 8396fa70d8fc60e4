"""A study of a DataFrame is the study of a file; its results show themselves and are stored."""

import pickle
import sys
import types

import IPython.display
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import sharpbayes
from sharpbayes.errors import DataError, SpecError
from sharpbayes.execution.notebook import show_bar
from sharpbayes.execution.progress import silent
from sharpbayes.workflows.context import reload_study_files
from sharpbayes.workflows.results import Results
from tests import panels
from tests.report import hand_made

FRAME = panels.frame()
SEVERITY = {"kind": "ordinal", "min": 0, "max": 10}
DECIDED = {
    "title": "Small panel",
    "seed": 5,
    "indicators": {
        "bias_a": "severity",
        "bias_b": "severity",
        "truth": {"scale": "severity", "reverse": True},
    },
    "scales": {"severity": SEVERITY},
    "dimensions": [
        {"name": "bias", "rms": ["bias_a", "bias_b"]},
        {"name": "epistemic", "rms": ["truth"]},
    ],
    "bootstrap": {"replicates": 60},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the study of a file, and its weights."""
    folder = tmp_path_factory.mktemp("study")
    panels.files_of(folder, FRAME, roles=', category = "kind"')
    return folder


@pytest.fixture(scope="module")
def study(folder):
    return sharpbayes.study(FRAME, weights=str(folder / "weights.toml"), **DECIDED)


@pytest.fixture(scope="module")
def results(study):
    return study.measure()


def test_a_frame_gives_the_results_of_a_file(folder, results):
    of_file = sharpbayes.load_study(folder / "study.toml").measure()
    assert set(results.children) == {*of_file.children, "tables"}
    for name, group in of_file.children.items():
        xr.testing.assert_identical(results[name].to_dataset(), group.to_dataset())
    assert results.attrs["data_ratings"] == of_file.attrs["data_ratings"] == 3 * len(FRAME)


def test_a_study_says_what_it_is_and_what_it_assumes(study):
    assert str(study).splitlines()[:3] == [
        "study      Small panel (study)",
        "panel      frame.csv",
        "dimensions bias, epistemic",
    ]
    assert "assumed" not in str(study)
    guessed = str(sharpbayes.study(FRAME))
    assert "assumed    all indicators are one dimension of harm" in guessed
    assert "<th>assumed</th>" in sharpbayes.study(FRAME)._repr_html_()


def test_a_later_change_of_the_frame_changes_no_study():
    table = FRAME.copy()
    study = sharpbayes.study(table, **DECIDED)
    table["bias_a"] = 99
    assert study.check().counts["ratings"] == 3 * len(FRAME)


def test_every_error_of_the_data_is_named_with_its_rows():
    bad = FRAME.astype(object)
    bad.loc[[2, 11], "bias_a"] = 12
    bad.loc[4, "truth"] = "x"
    bad.loc[7, "prompt"] = None
    with pytest.raises(DataError) as error:
        sharpbayes.study(bad, **DECIDED).check()
    allowed = "off the scale (allowed: 0, 1, ..., 10)"
    assert str(error.value).splitlines() == [
        f"frame.csv: bias_a: 2 of 108 cells {allowed}: rows 3, 12: '12'",
        "frame.csv: prompt: 1 empty cell where a label is needed: row 8",
        f"frame.csv: truth: 1 of 108 cells {allowed}: row 5: 'x'",
    ]


def test_errors_of_settings_name_no_line_of_a_text_that_nobody_wrote():
    with pytest.raises(SpecError) as error:
        sharpbayes.study(FRAME, **DECIDED | {"seed": -1, "bootstrap": {"replicats": 5}})
    assert str(error.value).splitlines() == [
        "study: seed: found -1, must be at least 0",
        "study: bootstrap.replicats: unknown key, allowed are replicates, level, interval, "
        "resample_generations; did you mean 'replicates'?",
    ]


def test_stored_results_have_the_tables_of_their_study(study, results, tmp_path):
    results.save(tmp_path / "mine.results.nc")
    files = reload_study_files(sharpbayes.open_results(tmp_path / "mine.results.nc"))
    assert files.study.text == study.study.text
    assert sharpbayes.check(files) == study.check()


def test_tables_of_results_that_were_changed_are_refused(results):
    table = results["tables"].to_dataset()
    other = results.copy()
    other["tables"] = xr.DataTree(table.isel({table["frame.csv"].dims[0]: slice(0, -9)}))
    with pytest.raises(DataError, match=r"frame\.csv: other bytes than those of the results$"):
        reload_study_files(other)


def test_a_crowd_of_frames():
    items, raters = [f"i{n:02d}" for n in range(12)], [f"r{n}" for n in range(6)]
    table = pd.MultiIndex.from_product([items, raters], names=["item", "rater"])
    table = table.to_frame(index=False)
    table["score"] = np.random.default_rng(1).integers(0, 4, len(table))
    people = pd.DataFrame({"rater": raters, "town": ["a", "b"] * 3})
    gold = pd.DataFrame({"item": items, "unsafe": [0, 1] * 6})
    study = sharpbayes.crowd(
        table,
        raters=people,
        items=gold,
        labels={"from": "item", "column": "unsafe"},
        groups=[["town"]],
        bootstrap={"replicates": 20},
        permutations=9,
        min_items=2,
    )
    assert study.check().labels["group:town"] == ("a", "b")
    assert list(study.measure()["responsiveness"]["group"].values) == ["all", "town=a", "town=b"]


def test_results_begin_with_their_answer(results):
    first, *lines, last = str(results).splitlines()
    assert (first, repr(results)) == ("Small panel", str(results))
    assert lines[0].startswith("With 12 prompts the 5% tail holds")
    assert last.startswith("Groups: panel, profile, profile_interval")
    html = results._repr_html_()
    parts = [
        "<h3>Small panel</h3>",
        "<p>With 12 prompts",
        "<figure><img src",
        "<table",
        "<details>",
    ]
    positions = [html.index(part) for part in parts]
    assert positions == sorted(positions)
    assert "xr-wrap" in html[positions[-1] :]


def test_results_are_a_tree_and_what_follows_from_them_is_a_plain_one(results):
    assert isinstance(results, xr.DataTree)
    assert type(results.copy()) is type(pickle.loads(pickle.dumps(results))) is Results
    for plain in (results["profile"], results.isel(model=0, missing_dims="ignore")):
        assert type(plain) is xr.DataTree
    assert "Groups:" not in repr(Results.from_tree(xr.DataTree()))
    assert "xr-wrap" in Results.from_tree(xr.DataTree())._repr_html_()


def test_files_are_closed_with_their_results():
    tree, closed = xr.DataTree(), []
    tree.set_close(lambda: closed.append("file"))
    Results.from_tree(tree).close()
    assert closed == ["file"]


def test_a_report_is_what_was_asked_for(results, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert results.report() == []
    [page, *tables] = results.report("mine.html", tables="tables")
    assert page.name == "mine.html"
    assert {path.suffix for path in tables} == {".csv", ".md", ".tex"}


def test_other_weights_by_name(monkeypatch):
    """The numbers of ``weigh`` are tested with a fit; here, that the method hands over."""
    calls = []

    def weigh(results, weights):
        calls.append((results, [*weights]))
        return xr.DataTree.from_dict({"/equal": xr.Dataset()})

    monkeypatch.setattr("sharpbayes.workflows.weigh.weigh", weigh)
    tree = Results.from_tree(hand_made.panel())
    weighed = tree.weigh("equal", "sharp")
    assert calls == [(tree, ["equal", "sharp"])]
    assert type(weighed) is Results


class Handle:
    shown: list[str] = []

    def update(self, html):
        self.shown.append(html.data)


def test_a_notebook_shows_the_present_step_and_clears_it(monkeypatch, study):
    handle = Handle()
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    monkeypatch.setattr(IPython.display, "display", lambda *_, **__: handle)
    study.measure()
    assert "<progress></progress> reading data" in handle.shown
    assert handle.shown[-1] == ""


def test_elsewhere_nothing_is_shown(monkeypatch):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    with show_bar() as progress:
        assert progress is silent


def test_a_kernel_that_is_loaded_and_not_run_is_no_notebook(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    with show_bar() as progress:
        assert progress is silent

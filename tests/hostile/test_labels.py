"""Labels that no figure, file name or page was made for: all is written, and nothing is lost."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.data.memory import format_frame
from sharpbayes.data.readers.text_table import NO_TEXT
from sharpbayes.errors import DataError
from sharpbayes.report.figures.catalogue import write_figures
from sharpbayes.report.figures.style import UNDATED
from sharpbayes.report.page import write_html
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.report.tables.renderer import write_tables
from sharpbayes.spec.load import load_study
from sharpbayes.storage.results import open_results, save_results
from sharpbayes.workflows.measure import measure
from tests.panels import frame, measured
from tests.references.worlds.files import CROWD

# Longer than the name of a file may be, in characters and in bytes.
LONG = "a very long name of a model " * 40
STEERING = "\x1b]0;owned\x07\x1b[2J\u202eevil\u2066"
LABELS = {
    "steer a terminal": [STEERING, "\x01\x02\x7f\x85", "\u200b\u2028\u2029"],
    "are longer than names of files": [LONG, LONG + "é", "😀" * 300],
    "are paths": ["../../etc/passwd", "/", "C:\\con\\nul.txt"],
    "are formulas and marks": ["$\\frac{", "=cmd|' /C calc'!A0", "<script>alert(1)</script>"],
    "have letters that no font has": ["\U0001f9ff\u0f00", "\ue000\ue001", "\u0301\u0301\u0301"],
    "are words of the program": ["nan", "all", "observed"],
}
# One of each kind.
MIXED = [labels[0] for labels in LABELS.values()]
MAX_NAME_LENGTH = 255


def assert_written(folder, results):
    """Write tables and the page of results; every file is where it belongs."""
    written = write_tables(report_tables(results), folder / "tables")
    page = write_html(results, folder / "page.html")
    assert len(set(written)) == len(written)
    for path in (*written, page):
        assert path.resolve().is_relative_to(folder.resolve())
        assert len(path.name.encode()) <= MAX_NAME_LENGTH
        assert path.stat().st_size
    assert "<script>alert" not in page.read_text(encoding="utf-8")
    assert len({path for path in folder.rglob("*") if path.is_file()}) == len(written) + 2


def write_panel(folder, labels):
    """Results of a panel with models and judges of the given labels."""
    table = frame(models=len(labels), prompts=4, judges=range(len(labels)))
    models = {f"m{number}": label for number, label in enumerate(labels)}
    table = table.assign(model=table["model"].map(models))
    table = table.assign(judge=[labels[-1 - number] for number in table["judge"]])
    return measured(folder, table)


def write_crowd(folder, labels):
    """Results of a crowd with items, raters and groups of the given labels."""
    folder.mkdir()
    rng = np.random.default_rng(1)
    items = [*labels, *(f"i{number}" for number in range(6))]
    raters = [*labels, *(f"r{number}" for number in range(len(labels)))]
    table = pd.DataFrame(product(items, raters), columns=["item", "rater"])
    table.assign(score=rng.integers(0, 5, len(table))).to_csv(folder / "ratings.csv", index=False)
    unsafe = pd.DataFrame({"item": items, "unsafe": np.arange(len(items)) % 2})
    unsafe.to_csv(folder / "items.csv", index=False)
    groups = pd.DataFrame({"rater": raters, "gender": [*labels] * 2})
    groups.to_csv(folder / "raters.csv", index=False)
    text = CROWD.format(seed=1, fit="crowd_severity")
    (folder / "study.toml").write_text(text, encoding="utf-8")
    few = ("bootstrap.replicates=20", "crowd.permutations=9")
    return measure(load_study(folder / "study.toml", overrides=few))


WRITERS = (write_panel, write_crowd)


def write_results(folder, write, labels):
    """Write results with labels to a file of an empty folder; return them as they are read."""
    (folder / "out").mkdir()
    save_results(write(folder / "study", labels), folder / "out" / "r.nc")
    return open_results(folder / "out" / "r.nc")


@pytest.mark.parametrize("write", WRITERS)
def test_labels_of_every_kind_are_written(tmp_path, write):
    assert_written(tmp_path / "out", write_results(tmp_path, write, MIXED))


@pytest.mark.slow
@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("kind", LABELS)
def test_labels_are_written_and_drawn_without_a_warning(tmp_path, write, kind):
    results = write_results(tmp_path, write, LABELS[kind])
    assert_written(tmp_path / "out", results)
    assert {path.suffix for path in write_figures(results, tmp_path / "f")} == {*UNDATED}


@pytest.mark.parametrize("value", ["\ud800", "a\udfff"])
@pytest.mark.parametrize("key", ["item", "rater", "score"])
def test_half_a_pair_of_utf_16_is_no_label_of_a_file(tmp_path, monkeypatch, key, value):
    monkeypatch.chdir(tmp_path)
    rows = [{"item": "a", "rater": "x", "score": 1}, {"item": "b", "rater": "x", "score": 1}]
    text = "".join(json.dumps(row) + "\n" for row in [*rows, rows[0] | {key: value}])
    (tmp_path / "t.jsonl").write_text(text, encoding="utf-8")
    done = CliRunner().invoke(app, ["init", "t.jsonl"])
    assert (done.exit_code, done.stderr) == (3, f"t.jsonl: {value!r} {NO_TEXT}\n")


def test_half_a_pair_of_utf_16_is_no_label_of_a_log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sample = {"id": "\ud800", "epoch": 1, "scores": {"s": {"value": 1}}}
    log = {"eval": {"task": "t", "model": "m"}, "samples": [sample]}
    (tmp_path / "t.json").write_text(json.dumps(log), encoding="utf-8")
    done = CliRunner().invoke(app, ["init", "t.json"])
    assert (done.exit_code, done.stderr) == (3, f"t.json: '\\ud800' {NO_TEXT}\n")


def test_half_a_pair_of_utf_16_is_no_label_of_a_dataframe():
    table = {"model": pd.Series(["a", "\ud800"], dtype=object), "prompt": "p", "judge": "j"}
    with pytest.raises(DataError) as raised:
        format_frame(table)
    assert str(raised.value) == f"DataFrame: '\\ud800' {NO_TEXT}"


def test_a_model_without_a_number_has_a_row_without_numbers(tmp_path):
    """NumPy warns of quantiles of nothing; a warning is an error here."""
    results = measured(tmp_path, frame(models=2, prompts=4))
    panel = results["panel"].to_dataset()
    floats = [name for name, array in panel.data_vars.items() if array.dtype.kind == "f"]
    unknown = panel[floats].where(panel["model"] != "m1")
    results["panel"] = panel.assign(unknown.data_vars)
    titled = {table.title: table for table in report_tables(results)}
    rows = [row for row in titled["Distribution over prompts"].rows if row[0] == "m1"]
    assert len(rows) == 5
    assert {cell for row in rows for cell in row[2:]} == {"-"}

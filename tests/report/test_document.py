"""What commands print for machines."""

import json
from pathlib import Path

import numpy as np
import xarray as xr

from sharpbayes.report.document import document, group_document, weighed_document
from sharpbayes.report.summary import summary
from sharpbayes.spec.load import load_study
from sharpbayes.storage.results import open_results
from tests.report.hand_made import add, fitted_panel, stability


def test_what_there_is_one_of_for_each_unit_stays_in_the_file(tmp_path):
    group = xr.Dataset(
        {
            "converged": ("model", [1, 0]),
            "pareto_k": (("model", "unit"), np.zeros((2, 3))),
            "weight": ("model", [1.0, np.nan]),
        },
        {"model": ["a", "b"], "unit": ["x", "y", "z"]},
    )
    tree = xr.DataTree.from_dict({"/comparison": group})
    tree.attrs = {"title": "T", "status": "compared"}
    written = group_document(tree, "comparison", without="unit", files=[tmp_path / "c.nc"])
    assert json.loads(json.dumps(written, allow_nan=False)) == {
        "title": "T",
        "status": "compared",
        "answer": ["The fit of b has not converged: which model predicts best is not known."],
        "files": [str(tmp_path / "c.nc")],
        "comparison": {"converged": {"a": 1, "b": 0}, "weight": {"a": 1.0, "b": None}},
    }


def test_a_metric_that_a_draw_lacks_has_neither_mean_nor_interval():
    values = np.arange(202.0).reshape(1, 101, 2)
    values[0, 3, 1] = np.nan
    draws = xr.Dataset(
        {"cvar": (("chain", "draw", "model"), values)}, {"model": ["a", "b"]}, {"level": 0.5}
    )
    tree = xr.DataTree.from_dict({"/eu/posterior_profile": draws})
    tree["eu"].attrs = {"title": "EU", "weights_sha256": ""}
    written = weighed_document(tree)["weights"]["eu"]["posterior_profile"]["cvar"]
    assert written["a"] == {"mean": 100.0, "lower": 50.0, "upper": 150.0}
    assert written["b"] == {"mean": None, "lower": None, "upper": None}


def test_the_document_has_both_answers_and_their_stability():
    tree = add(fitted_panel(), stability=stability(("judge", "j1", "c", True, 0.5)))
    tree.attrs |= {"title": "T", "seed": 1}
    written = json.loads(json.dumps(document(tree, path=Path("r.nc")), allow_nan=False))
    assert written["joint"]["posterior_median"]["cvar"] == {"a": 3.1, "b": 1.2, "c": 2.1}
    assert written["joint"]["disagree"]["cvar"]["b"] is False
    assert written["stability"]["lowest"] == {"without j1": "c"}


def test_a_summary_says_the_answer_and_escapes_what_it_shows(shared_results):
    results = open_results(shared_results("measured_panel"))
    results.attrs["title"] = "<script>1</script>"
    text = summary(results)
    assert repr(text).splitlines()[1].startswith("With 30 prompts the 5% tail holds 1.5 prompts")
    shown = text._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;1" in shown
    assert text.answer[0] in shown
    assert shown.count("<table>") == len(text.tables) >= 1


def test_a_study_prints_what_it_is():
    study = load_study("quickstart", overrides=("seed=1",))
    assert "model      Models, prompts, judges and indicators, by dimension of harm" in repr(study)
    assert repr(study).endswith("set        seed=1")
    assert "<th>weights</th><td>SHARP, as published (sharp)</td>" in study._repr_html_()
    assert len(repr(study).splitlines()) == 6

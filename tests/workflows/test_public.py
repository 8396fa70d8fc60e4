"""The public names: listed, documented, typed, and nothing else."""

import ast
import inspect
import pydoc
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import xarray as xr

import sharpbayes
from sharpbayes.errors import SpecError, StorageError
from sharpbayes.report.comparison_answer import comparison_answer
from sharpbayes.report.gate import gate_answer
from sharpbayes.report.history_answer import history_answer
from sharpbayes.report.next_ratings import next_answer
from sharpbayes.storage.results import open_results
from sharpbayes.workflows.preview import preview
from tests.shared_results import as_converged

PUBLIC = [
    *("build_history", "calibrate", "check", "compare", "crowd", "fit", "gate", "load_study"),
    *("load_weights", "measure", "open_results", "plan_next", "preview", "save_results"),
    *("simulate", "study", "summary", "weigh"),
]
CLASSES = ["Results", "RunnableStudy", "SharpbayesError"]
SCRIPT = """
import pandas as pd
import xarray as xr
import sharpbayes

study = sharpbayes.study(pd.DataFrame(), model="m", indicators=["harm"], sampler={"draws": 50})
reveal_type(study)
reveal_type(sharpbayes.crowd([], groups=[["age"]]).check())
reveal_type(study.fit(retries=1))
reveal_type(study.measure().weigh("equal").report("page.html"))
tree: xr.DataTree = sharpbayes.open_results("mine.results.nc")
sharpbayes.save_results(sharpbayes.fit(sharpbayes.load_study("quickstart")), "x")
sharpbayes.study(frame=1, model=2)
sharpbayes.studi
"""


def test_public_names_are_listed_and_nothing_else():
    assert dir(sharpbayes) == sharpbayes.__all__
    assert sorted(sharpbayes.__all__) == PUBLIC
    with pytest.raises(AttributeError, match="module 'sharpbayes' has no attribute 'studi'"):
        sharpbayes.studi  # noqa: B018


def test_type_checkers_see_the_names_that_are_imported_on_first_use():
    tree = ast.parse(Path(sharpbayes.__file__).read_text(encoding="utf-8"))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    typed = {alias.asname: (node.module, alias.name) for node in imports for alias in node.names}
    assert sorted(typed) == sorted([*PUBLIC, *CLASSES])
    for name, (module, original) in typed.items():
        assert name == original
        assert getattr(sharpbayes, name) is getattr(sys.modules[module], name)


def test_help_says_what_each_function_takes_and_returns():
    text = pydoc.render_doc(sharpbayes, renderer=pydoc.plaintext)
    listed = text[text.index("\nFUNCTIONS\n") : text.index("\nVERSION\n")]
    names = [line.split("(")[0].strip() for line in listed.splitlines() if line[4:5].isalpha()]
    assert sorted(name for name in names if name in PUBLIC) == PUBLIC
    assert not {"CLASSES", "DATA", "SUBMODULES"} & {*text.splitlines()}


@pytest.mark.parametrize("name", [*PUBLIC, "RunnableStudy.fit", "Results.report", "Results.weigh"])
def test_a_docstring_names_every_argument(name):
    value = sharpbayes
    for part in name.split("."):
        value = getattr(value, part)
    doc = inspect.getdoc(value)
    arguments = [argument for argument in inspect.signature(value).parameters if argument != "self"]
    assert "Args:" in doc or not arguments
    assert [argument for argument in arguments if f"\n    {argument}: " not in doc] == []


RESULTS = "results, such as sharpbayes.open_results returns, or the path of a results file"
MISTAKES = {
    "no study": (
        lambda: sharpbayes.measure("quickstart"),
        SpecError,
        "study: found 'quickstart', must be a study, such as sharpbayes.load_study returns",
    ),
    "no table": (
        lambda: sharpbayes.crowd("x.csv"),
        SpecError,
        "frame: found 'x.csv', must be a table of pandas, Polars or Arrow",
    ),
    "a number": (
        lambda: sharpbayes.study(5),
        SpecError,
        "frame: found 5, must be a table of pandas, Polars or Arrow",
    ),
    "no retries": (
        lambda: sharpbayes.fit(sharpbayes.load_study("quickstart"), retries=-1),
        SpecError,
        "fit: retries: found -1, must be at least 0",
    ),
    "a folder": (
        lambda: sharpbayes.save_results(xr.DataTree(xr.Dataset(attrs={"schema": "s"})), "."),
        StorageError,
        ".: cannot write results: is a folder",
    ),
    "no results": (
        lambda: sharpbayes.summary(xr.DataTree()),
        SpecError,
        f"results: found a tree without title and status, must be {RESULTS}",
    ),
    "a Dataset": (
        lambda: sharpbayes.gate(xr.Dataset({"a": ("x", [1, 2])})),
        SpecError,
        f"candidate: found a value of type xarray.Dataset, must be {RESULTS}",
    ),
    "nothing": (
        lambda: sharpbayes.summary(None),
        SpecError,
        f"results: found None, must be {RESULTS}",
    ),
    "a DataFrame": (
        lambda: sharpbayes.weigh(pd.DataFrame(), "equal"),
        SpecError,
        f"results: found a value of type pandas.DataFrame, must be {RESULTS}",
    ),
    "results of several": (
        lambda: sharpbayes.fit(sharpbayes.load_study("quickstart"), update=["a.nc"]),
        SpecError,
        f"update: found a value of type list, must be {RESULTS}",
    ),
    "no file to update": (
        lambda: sharpbayes.fit(sharpbayes.load_study("quickstart"), update="none.nc"),
        StorageError,
        "none.nc: no such file",
    ),
    "results that are no tree": (
        lambda: sharpbayes.save_results({}, "r.nc"),
        SpecError,
        "results: found a value of type dict, must be results, such as sharpbayes.open_results "
        "returns",
    ),
    "a part of results": (
        lambda: sharpbayes.save_results(xr.DataTree(), "r.nc"),
        SpecError,
        "results: found a part of results, or what no file holds, such as what the gate returns; "
        "must be results, such as sharpbayes.open_results returns",
    ),
    "no path to save to": (
        lambda: sharpbayes.save_results(xr.DataTree(), None),
        SpecError,
        "path: found None, must be the path of a results file",
    ),
    "no path to open": (
        lambda: sharpbayes.open_results(5),
        SpecError,
        "path: found 5, must be the path of a results file",
    ),
    "no path of a study": (
        lambda: sharpbayes.load_study(pd.DataFrame()),
        SpecError,
        "path: found a value of type pandas.DataFrame, must be the path of a study, or a shipped "
        "name",
    ),
    "one text of overrides": (
        lambda: sharpbayes.load_study("quickstart", overrides="seed=3"),
        SpecError,
        """overrides: found 'seed=3', must be a list of texts, such as ["seed=3"]""",
    ),
    "no weights": (
        lambda: sharpbayes.load_weights(None),
        SpecError,
        "weights: found None, must be the path of a weights file, or a shipped name",
    ),
    "a text of retries": (
        lambda: sharpbayes.fit(sharpbayes.load_study("quickstart"), retries="2"),
        SpecError,
        "fit: retries: found '2', must be a whole number",
    ),
    "no page": (
        lambda: sharpbayes.Results().report(3),
        SpecError,
        "page: found 3, must be the path of a file or folder",
    ),
    "no indicators": (
        lambda: sharpbayes.study(
            pd.DataFrame({"model": [*"ab"], "prompt": "p", "judge": "j", "harm": [1, 2]}),
            indicators=[],
        ),
        SpecError,
        "study: panel.indicators: found {}, must have at least 1 of them",
    ),
    "one fit": (
        lambda: sharpbayes.compare({"one": "one.nc"}),
        SpecError,
        "fits: found 1 fit, must be results by name, two or more",
    ),
    "fits without names": (
        lambda: sharpbayes.compare(["one.nc", "two.nc"]),
        SpecError,
        "fits: found a value of type list, must be results by name, two or more",
    ),
    "no fit of a name": (
        lambda: sharpbayes.compare({"one": 1, "two": 2}),
        SpecError,
        f"one: found 1, must be {RESULTS}",
    ),
    "no simulations": (
        lambda: sharpbayes.calibrate(sharpbayes.load_study("quickstart"), simulations=0),
        SpecError,
        "calibrate: simulations: found 0, must be at least 1",
    ),
    "no study to simulate": (
        lambda: sharpbayes.simulate("quickstart"),
        SpecError,
        "study: found 'quickstart', must be a study, such as sharpbayes.load_study returns",
    ),
    "no results to plan by": (
        lambda: sharpbayes.plan_next(None),
        SpecError,
        f"results: found None, must be {RESULTS}",
    ),
    "no releases": (
        lambda: sharpbayes.build_history(["may.nc"]),
        SpecError,
        "releases: found a value of type list, must be results by the name of the release",
    ),
    "no frame": (
        lambda: sharpbayes.study(None),
        SpecError,
        "frame: found None, must be a table of pandas, Polars or Arrow",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_a_function_does_not_take_is_said_in_a_sentence(mistake):
    call, kind, message = MISTAKES[mistake]
    with pytest.raises(kind) as raised:
        call()
    assert str(raised.value) == message


def test_the_path_of_results_stands_for_them(shared_results, tmp_path):
    path = shared_results("measured_panel")
    results = sharpbayes.open_results(path)
    assert repr(sharpbayes.summary(str(path))) == repr(sharpbayes.summary(results))
    assert sharpbayes.weigh(path, "equal").identical(sharpbayes.weigh(results, "equal"))
    (tmp_path / "w.toml").write_text(
        sharpbayes.load_weights("sharp").text + "[gate]\nmean = 0.5\n", encoding="utf-8"
    )
    sides = {"model": "aster", "against_model": "dahlia", "weights": tmp_path / "w.toml"}
    assert sharpbayes.gate(path, path, **sides).identical(
        sharpbayes.gate(results, results, **sides)
    )


def test_a_summary_says_what_each_command_finds(shared_results, tmp_path):
    (tmp_path / "w.toml").write_text(
        sharpbayes.load_weights("sharp").text + "[gate]\nmean = 0.5\n", encoding="utf-8"
    )
    sides = {"model": "aster", "against_model": "dahlia", "weights": tmp_path / "w.toml"}
    compared = sharpbayes.gate(shared_results("measured_panel"), **sides)
    fitted = as_converged(open_results(shared_results("fitted_panel")))
    plan = sharpbayes.plan_next(fitted, weights="sharp", costs={"judge": 1.0}, number=3)
    crowd = shared_results("fitted_crowd")
    ranked = sharpbayes.compare({"one": crowd, "two": open_results(crowd)}, refits=0)
    history = sharpbayes.build_history(dict.fromkeys(("may", "june"), crowd))
    answers = {
        gate_answer: compared,
        next_answer: plan,
        comparison_answer: ranked,
        history_answer: history,
    }
    for describe, results in answers.items():
        shown = sharpbayes.summary(results)
        assert shown.answer == tuple(describe(results))
        assert "no profile" not in repr(shown)
        by_bootstrap = shown.trust == "No fit decided: this is from the bootstrap."
        assert by_bootstrap == (results is compared)
        assert shown.tables or results is history


@pytest.mark.slow
def test_a_script_of_a_user_is_typed(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    call = [sys.executable, "-m", "mypy", "--strict", str(tmp_path / "script.py")]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    complaints = [
        line.partition(".py:")[2].split(": ", 1) for line in done.stdout.splitlines()[:-1]
    ]
    assert [tuple(line) for line in complaints] == [
        ("7", 'note: Revealed type is "sharpbayes.workflows.study.RunnableStudy"'),
        ("8", 'note: Revealed type is "sharpbayes.analysis.study.StudySummary"'),
        ("9", 'note: Revealed type is "sharpbayes.workflows.results.Results"'),
        ("10", 'note: Revealed type is "list[pathlib.Path]"'),
        (
            "13",
            'error: Argument "model" to "study" has incompatible type "int"; expected "str | None"'
            "  [arg-type]",
        ),
        ("14", 'error: Module has no attribute "studi"  [attr-defined]'),
    ]


@pytest.mark.parametrize("run_fit", [sharpbayes.fit, preview])
def test_results_of_another_study_are_not_taken_for_its_measurement(shared_results, run_fit):
    measured = open_results(shared_results("measured_panel"))
    other = sharpbayes.load_study("quickstart_crowd", overrides=("seed=3",))
    with pytest.raises(SpecError) as raised:
        run_fit(other, measured=measured)
    assert str(raised.value) == (
        "measured: these results differ from the study in the study file, weights, model, data, "
        "settings and seed; measure it again"
    )
    unlike = sharpbayes.load_study("quickstart", overrides=("bootstrap.replicates=7",))
    with pytest.raises(
        SpecError, match=r"^measured: these results differ from the study in settings; "
    ):
        run_fit(unlike, measured=measured)

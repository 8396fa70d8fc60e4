"""A preview: the tables of a fit, marked wherever they are shown, and what refuses it."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import sharpbayes
from sharpbayes.errors import NoModeError, SpecError
from sharpbayes.report.figures.catalogue import FIGURES, draw_figures, page_figures
from sharpbayes.report.lights import lights
from sharpbayes.report.page import page_text
from sharpbayes.report.summary import answer, failed, remarks, summary, verdict
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.storage.results import open_results, save_results
from sharpbayes.storage.schema import APPROXIMATION
from tests.shared_results import PERMUTATIONS, SMALL

MARK = "Approximate (Laplace; not an answer): "
DECIDES_NOTHING = f"these results are {APPROXIMATION} and decide nothing; fit without --preview"
SETTINGS = [f"--set={text}" for text in (*SMALL, PERMUTATIONS.format(9))]


@pytest.fixture(scope="module")
def results(shared_results):
    return open_results(shared_results("previewed_crowd"))


@pytest.fixture
def file(tmp_path, shared_results):
    return Path(shutil.copy(shared_results("previewed_crowd"), tmp_path / "p.results.nc"))


@pytest.fixture
def panel_file(tmp_path, shared_results):
    """Results of a panel that say of themselves that they are approximate."""
    tree = open_results(shared_results("fitted_panel"))
    tree.attrs |= {"status": "approximate", "pareto_k": 0.4, "good_k": 0.67}
    save_results(tree, tmp_path / "panel.results.nc")
    return tmp_path / "panel.results.nc"


def test_a_preview_has_the_groups_of_a_fit_without_what_chains_give(results, shared_results):
    fitted = open_results(shared_results("fitted_crowd"))
    assert set(fitted.children) - set(results.children) == {"diagnostics", "sample_stats"}
    assert results.attrs["status"] == "approximate"
    assert results.attrs["approximation"] == APPROXIMATION
    assert np.isfinite(results.attrs["pareto_k"])
    assert results["posterior"].sizes["chain"] * results["posterior"].sizes["draw"] == 1000
    assert set(fitted["posterior"].data_vars) == set(results["posterior"].data_vars)


def test_a_preview_is_near_the_fit(results, shared_results):
    """The fit has 100 draws of a short run; its means are known to a fifth of an sd or so."""
    fitted = open_results(shared_results("fitted_crowd"))["posterior"].to_dataset()
    preview = results["posterior"].to_dataset()
    for name in ("location_item", "sd_item", "threshold_score"):
        sample = ("chain", "draw")
        shift = (preview[name].mean(sample) - fitted[name].mean(sample)) / fitted[name].std(sample)
        assert abs(shift).mean() < 0.5


def test_every_text_says_that_it_is_approximate(results):
    texts = [*answer(results), *failed(results), *remarks(results), verdict(results)]
    texts += [light.reason for light in lights(results)]
    texts += [figure.caption for figure in page_figures(results)]
    assert all(text.startswith(MARK) for text in texts)
    assert summary(results).title.startswith(MARK)
    tables = report_tables(results)
    assert {table.mark for table in tables} == {APPROXIMATION}
    assert all(table.note.startswith(MARK[:-2]) for table in tables)


def test_the_verdict_names_k_and_the_remedy(results):
    k, limit = results.attrs["pareto_k"], results.attrs["good_k"]
    plain = results.copy()
    plain.attrs |= {"pareto_k": 0.9, "good_k": 0.67}
    assert verdict(plain).startswith(
        f"{MARK}No convergence check applies. Pareto's k of its draws is 0.90 (limit 0.67): "
        "weights do not make them draws of the posterior. Fit without --preview to decide."
    )
    plain.attrs["pareto_k"] = 0.3
    assert "0.30 (limit 0.67): weights would make them draws of the posterior." in verdict(plain)
    del plain.attrs["pareto_k"]
    assert "Pareto's k of its draws cannot be computed." in verdict(plain)
    assert (k, limit) == (results.attrs["pareto_k"], results.attrs["good_k"])


def test_figures_have_a_stamp(results):
    figures = [figure for _, figure in draw_figures(results, FIGURES)]
    assert figures
    assert all(APPROXIMATION in [text.get_text() for text in f.texts] for f in figures)


@pytest.mark.usefixtures("without_figures")
def test_the_page_says_so_in_title_status_and_every_table(results):
    text = page_text(results)
    assert f"<title>{MARK}Quickstart: a crowd and five experts: report</title>" in text
    assert "Status: approximate." in text
    assert text.count("<table>") == len(report_tables(results))
    assert text.count(f". {APPROXIMATION}. ") >= text.count("<table>")


def test_each_line_that_report_and_weigh_print_says_so(run, file, panel_file):
    for arguments in (["report", file, "--text"], ["weigh", panel_file, "--weights", "sharp"]):
        done = run(*arguments)
        assert done.exit_code == 0
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        assert lines
        assert all(line.startswith("approximate: ") for line in lines)
    assert run("report", file, "--tables", "t").exit_code == 0
    for path in Path("t").glob("*.csv"):
        header, *rows = csv.reader(path.read_text("utf-8").splitlines())
        assert header[-1] == "status"
        assert {row[-1] for row in rows} <= {APPROXIMATION}
    for ending in ("md", "tex"):
        assert all("Laplace" in path.read_text() for path in Path("t").glob(f"*.{ending}"))


def test_the_document_of_json_says_so(run, file):
    document = json.loads(run("report", file, "--json").stdout)
    assert document["status"] == "approximate"
    assert document["converged"] is None
    assert all(text.startswith(MARK) for text in [*document["answer"], document["trust"]])


def test_what_decides_refuses_a_preview(run, file, panel_file, shared_results):
    fitted = shared_results("fitted_crowd")
    models = ("--model", "aster", "--against-model", "briar")
    for arguments, message in (
        (["gate", panel_file, *models], f"{panel_file}: {DECIDES_NOTHING}"),
        (["next", panel_file], f"next: {DECIDES_NOTHING}"),
        (["compare", file, fitted], f"{file}: {DECIDES_NOTHING}"),
        (["fit", "quickstart_crowd", "--update", file], f"--update: {DECIDES_NOTHING}"),
        (
            ["report", file, fitted],
            f"{file}: these results are {APPROXIMATION}; a history is of answers",
        ),
        (
            ["report", file, "--draws", "d"],
            f"report --draws: these results are {APPROXIMATION}; a table of draws cannot say so",
        ),
        (
            ["report", panel_file, "--records", "d"],
            f"report --records: these results are {APPROXIMATION}, and no record",
        ),
    ):
        done = run(*arguments)
        assert (done.exit_code, done.stderr) == (2, f"{message}\n"), arguments


def test_a_preview_has_no_options_of_chains(run, file):
    for name, value in (("--retry", []), ("--update", [file])):
        done = run("fit", "quickstart_crowd", "--preview", name, *value)
        message = f"fit: --preview: an approximation has no chains; leave out {name}\n"
        assert (done.exit_code, done.stderr) == (2, message)


def test_a_preview_replaces_a_preview_and_nothing_else(run, file, shared_results, tmp_path):
    answer_file = tmp_path / "quickstart_crowd.results.nc"
    shutil.copy(shared_results("fitted_crowd"), answer_file)
    before = answer_file.read_bytes()
    shutil.copy(shared_results("previewed_crowd"), "quickstart_crowd.preview.results.nc")
    done = run("fit", "quickstart_crowd", "--preview", *SETTINGS)
    assert done.exit_code == 0
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    assert lines[0] == "approximate: Laplace's method, not an answer."
    assert all(line.startswith("approximate: ") for line in lines)
    assert "results written to quickstart_crowd.preview.results.nc" in done.stdout
    status = open_results(answer_file).attrs["status"]
    done = run("fit", "quickstart_crowd", "--preview", "--out", answer_file, *SETTINGS)
    assert done.exit_code == 5
    assert done.stderr == (
        f"{answer_file}: holds results ({status}), which a preview never replaces; name another "
        "file with --out\n"
    )
    assert answer_file.read_bytes() == before


def test_no_mode_is_a_sentence_and_exit_status_4(run, monkeypatch):
    def fail(*_args):
        raise NoModeError("the approximation has no mode: ...; fit without --preview")

    monkeypatch.setattr("sharpbayes.bayes.preview.approximate", fail)
    done = run("fit", "quickstart_crowd", "--preview", "--quiet", *SETTINGS)
    assert done.exit_code == 4
    assert done.stderr.endswith("the approximation has no mode: ...; fit without --preview\n")
    assert not Path("quickstart_crowd.preview.results.nc").exists()


def test_models_that_the_kernel_lacks_are_refused(monkeypatch):
    study = sharpbayes.load_study("quickstart_crowd")
    monkeypatch.setattr(
        "sharpbayes.bayes.design.design.Design.unsupported_by_kernel", ("a walk over age",)
    )
    with pytest.raises(SpecError) as error:
        study.preview()
    assert str(error.value) == (
        "--preview: the kernel does not support a walk over age; fit without --preview"
    )

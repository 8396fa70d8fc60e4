"""The command line as a person or a script meets it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import chdir, nullcontext
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import sharpbayes
from sharpbayes.cli.commands import app
from sharpbayes.cli.console import load_files
from sharpbayes.cli.outputs import interrupted_path
from sharpbayes.cli.progress import STOPPING, PhaseLines
from sharpbayes.execution import identity
from sharpbayes.execution.progress import Phase
from sharpbayes.library import folder
from sharpbayes.report.page import page_text
from sharpbayes.report.summary import summary
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.storage.results import SCHEMA, open_results, save_results
from tests.cli.interrupts import heed_ctrl_c
from tests.shared_results import PERMUTATIONS, SMALL

FEW = ["--set", "bootstrap.replicates=50"]
WHERE = """\
measured; results written to quickstart.results.nc
page:        sharpbayes report quickstart.results.nc
all tables:  sharpbayes report quickstart.results.nc --text
"""


@pytest.fixture
def measured_panel(tmp_path, shared_results):
    """The quickstart, measured: ``r.nc`` of the reader's folder."""
    return Path(shutil.copy(shared_results("measured_panel"), tmp_path / "r.nc"))


@pytest.fixture
def measured_crowd(tmp_path, shared_results):
    """The quickstart of a crowd, measured: ``r.nc`` of the reader's folder."""
    return Path(shutil.copy(shared_results("measured_crowd"), tmp_path / "r.nc"))


@pytest.fixture(scope="module")
def quickstart_folder(tmp_path_factory):
    """The folder in which the quickstart is measured."""
    return tmp_path_factory.mktemp("quickstart")


@pytest.fixture(scope="module")
def measure_quickstart(quickstart_folder):
    """Give what measuring the quickstart prints under options, each set of them run once."""

    @cache
    def call(*options):
        with chdir(quickstart_folder):
            return CliRunner().invoke(app, ["measure", "quickstart", *FEW, *options])

    return call


@pytest.fixture(scope="module")
def measured_crowd_screen(tmp_path_factory):
    """What measuring the quickstart of a crowd prints, and its results."""
    few = [*FEW, "--set", PERMUTATIONS.format(99)]
    with chdir(tmp_path_factory.mktemp("crowd")):
        done = CliRunner().invoke(app, ["measure", "quickstart_crowd", *few, "--out", "r.nc"])
        return done.stdout, Path("r.nc").resolve()


@pytest.fixture
def quickstart_results(quickstart_folder):
    """Where the quickstart is measured to."""
    return quickstart_folder / "quickstart.results.nc"


def test_help_names_every_command(run):
    done = run("--help")
    assert done.exit_code == 0
    assert all(name in done.stdout for name in ("check", "measure", "fit", "report", "show"))


def test_check_prints_what_it_understood(run):
    done = run("check", "quickstart")
    assert done.exit_code == 0
    assert "aster, briar, cedar, dahlia" in done.stdout
    assert "3960" in done.stdout


def test_measure_writes_results_and_says_where(measure_quickstart, quickstart_results):
    done = measure_quickstart()
    assert done.exit_code == 0
    assert "CVaR 95: bootstrap" in done.stdout
    assert done.stdout.endswith(WHERE)
    assert open_results(quickstart_results).attrs["status"] == "measured"


def test_report_as_text_prints_the_same_tables(run, measured_crowd_screen):
    screen, path = measured_crowd_screen
    text = run("report", path, "--text").stdout
    answer = screen.partition("\n\n")[0]
    assert text.startswith(f"{answer}\n\n")
    assert not path.with_name("r.html").exists()


@pytest.mark.usefixtures("without_figures")
def test_report_writes_a_page_beside_the_results_and_says_so(run, measured_panel):
    done = run("report", "r.nc")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "report written to r.html\n"
    assert "Quickstart: four models" in Path("r.html").read_text(encoding="utf-8")
    assert run("report", "r.nc", "--out", "p.html", "--tables", "t").exit_code == 0
    assert Path("p.html").read_bytes() == Path("r.html").read_bytes()
    assert Path("t").is_dir()


def test_a_page_that_cannot_be_written_is_a_fault_of_files(run, measured_panel):
    done = run("report", "r.nc", "--out", "nowhere/p.html")
    assert done.exit_code == 5
    assert done.stderr == "nowhere/p.html: cannot write report: no folder nowhere\n"


def test_the_first_lines_say_what_was_found_and_whether_to_trust_it(
    measure_quickstart, quickstart_results
):
    done = measure_quickstart()
    opening = summary(open_results(quickstart_results))
    words = " ".join([*opening.answer, opening.trust]).split()
    assert done.stdout.split()[: len(words)] == words


def test_the_answer_is_wrapped_at_words_and_alone_where_asked(
    measure_quickstart, quickstart_results
):
    alone = measure_quickstart("--quiet").stdout
    shown = measure_quickstart().stdout
    assert shown.startswith(alone)
    assert max(map(len, alone.splitlines())) <= 80
    words = summary(open_results(quickstart_results))
    assert alone.split() == " ".join([*words.answer, words.trust]).split()


def test_full_shows_every_table(run, measure_quickstart, quickstart_results):
    screen, full = measure_quickstart().stdout, measure_quickstart("--full").stdout
    assert full == run("report", quickstart_results, "--text").stdout
    assert len(full.splitlines()) > 3 * len(screen.splitlines())


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path):
    command = [sys.executable, "-m", "sharpbayes", "show", "quickstart"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_version_is_that_of_the_package(run):
    assert run("--version").stdout == f"sharpbayes {version('sharpbayes')}\n"
    assert sharpbayes.__version__ == version("sharpbayes")


def test_tables_fit_80_columns(measured_crowd_screen):
    screen, _ = measured_crowd_screen
    assert max(len(line) for line in screen.splitlines()) <= 80
    assert "gender=Woman,age=GenZ" in screen


def test_json_is_one_document_and_nothing_else(measure_quickstart, quickstart_results):
    done = measure_quickstart("--json")
    document = json.loads(done.stdout)
    results = open_results(quickstart_results)
    assert document["profile"]["cvar"]["aster"] == float(
        results["profile"]["cvar"].sel(model="aster")
    )
    assert set(document["profile_interval"]["cvar"]["aster"]) == {"lower", "upper"}
    heads = {name: value for name, value in document.items() if name not in results}
    golden = Path(__file__).parents[1] / "goldens" / "measure-quickstart.json"
    assert heads == json.loads(golden.read_text(encoding="utf-8"))
    notes = " ".join(done.stderr.split())
    assert " ".join(document["answer"]) in notes
    assert document["trust"] in notes


@pytest.mark.usefixtures("without_figures")
def test_json_of_a_report_names_the_files_it_wrote(run, measured_panel):
    done = run("report", "r.nc", "--json", "--out", "p.html", "--tables", "t")
    document = json.loads(done.stdout)
    assert document["path"] == "r.nc"
    assert "p.html" in document["files"]
    assert {Path(file) for file in document["files"]} == {Path("p.html"), *Path("t").iterdir()}
    assert document["converged"] is None


def test_check_as_json_says_what_its_tables_say(run):
    document = json.loads(run("check", "quickstart_crowd", "--json").stdout)
    # The model takes experts as raters of the same severity; they are counted by themselves.
    assert (document["counts"]["rater"], document["counts"]["expert"]) == (40, 5)
    assert "r40" in document["labels"]["rater"]
    assert document["scales"]["score"] == ["0", "1", "2", "3", "4"]
    assert document["ratings"] == 3200 + 400
    assert document["parameters"] > 120
    assert all(set(issue) == {"where", "found", "done"} for issue in document["issues"])
    # A replicated rating and a log-likelihood for each of 500 draws, 200 ratings from the prior.
    assert document["replicate_megabytes"] == 3600 * (500 * 5 + 200) / 1e6
    draws, ratings = document["parameters"] * 4 * 1000, document["ratings"]
    megabytes = ratings * 110 + draws * 40 + ratings * (500 * 5 + 200) + ratings * 500 * 40
    assert document["memory_megabytes"] == pytest.approx((450_000_000 + megabytes) / 1e6)
    further = document["parameters"] * 4 * (8000 - 1000) * 40 / 1e6
    assert document["max_memory_megabytes"] == document["memory_megabytes"] + further
    assert document["worker_megabytes"] == 0


def test_check_says_what_a_worker_with_a_part_of_the_ratings_takes(run):
    in_parts = ("--set", "sampler.data_parts=4")
    document = json.loads(run("check", "quickstart_crowd", *in_parts, "--json").stdout)
    assert document["worker_megabytes"] == pytest.approx(340 + 900 * 126 / 1e6)
    sentence = "With --cluster a worker takes about 340 MB for one part."
    assert sentence in " ".join(run("check", "quickstart_crowd", *in_parts).stdout.split())
    assert "worker" not in run("check", "quickstart_crowd").stdout


def test_check_says_how_much_memory_the_longest_chains_take(run):
    document = json.loads(run("check", "quickstart_crowd", "--json").stdout)
    usual, longest = (document[f"{name}memory_megabytes"] for name in ("", "max_"))
    assert longest > usual
    assert f"{usual:.0f} to {longest:.0f} MB" in run("check", "quickstart_crowd").stdout
    fixed = run("check", "quickstart_crowd", "--set", "sampler.draws=1000").stdout
    assert f"{usual:.0f} MB" in fixed
    assert "longest chains" not in fixed


def test_quiet_says_the_answer_alone_and_nothing_beside_json(measure_quickstart):
    done = measure_quickstart("--quiet")
    assert (done.exit_code, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) < 24
    beside = measure_quickstart("--quiet", "--json")
    assert (beside.exit_code, beside.stderr) == (0, "")
    assert json.loads(beside.stdout)


def test_seed_is_that_of_the_command(run):
    run("measure", "quickstart", *FEW, "--seed", 7, "--quiet")
    assert open_results("quickstart.results.nc").attrs["seed"] == 7


def test_a_seed_that_cannot_be_is_blamed_on_its_option(run):
    done = run("measure", "quickstart", "--seed", "-1")
    message = "--seed -1: found -1, must be at least 0\n"
    assert (done.exit_code, done.stderr) == (2, message)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("measure", "quickstart", "--seed", "x"), "'--seed': found 'x'; "),
        (("calibrate", "quickstart", "--simulations", "3"), "'--simulations': found '3'; "),
    ],
)
def test_a_value_that_an_option_cannot_have_is_shown(run, words, found):
    done = run(*words)
    assert done.exit_code == 2
    assert found in done.stderr


def test_a_fault_in_a_spec_is_exit_2_without_a_traceback(run):
    Path("s.toml").write_text('schema = "sharpbayes/study/2"\ntitel = "T"\nseed = 1\n')
    done = run("check", "s.toml")
    assert done.exit_code == 2
    assert done.stderr == (
        "s.toml:2: titel: unknown key, allowed are schema, title, weights, seed, panel, crowd, "
        "bootstrap, sampler, uncertainty, sensitivity, costs; did you mean 'title'?\n"
    )


def test_a_data_file_that_is_not_there_is_exit_3(run):
    text = (folder("studies") / "quickstart.toml").read_text(encoding="utf-8")
    Path("s.toml").write_text(text)
    done = run("measure", "s.toml")
    message = "quickstart.csv: no such file (named by s.toml:9: panel.data)"
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (3, message)


def test_every_data_file_that_is_not_there_is_named_with_its_line(run):
    text = (folder("studies") / "quickstart_crowd.toml").read_text(encoding="utf-8")
    Path("s.toml").write_text(text)
    Path("quickstart_crowd_item.csv").touch()
    for command in ("check", "measure"):
        done = run(command, "s.toml")
        assert (done.exit_code, done.stderr.splitlines()[-4:]) == (3, ABSENT)


ABSENT = [
    f"quickstart_crowd{name}.csv: no such file; did you mean 'quickstart_crowd_item.csv'? "
    f"(named by s.toml:{line}: crowd.{key}data)"
    for name, line, key in (
        ("", 8, ""),
        ("_experts", 15, "labels."),
        ("_items", 11, "items."),
        ("_raters", 10, "raters."),
    )
]


def test_a_fit_without_a_model_is_exit_2(run):
    text = (folder("studies") / "quickstart_crowd.toml").read_text(encoding="utf-8")
    text = text.replace("quickstart_crowd", f"{folder('studies')}/quickstart_crowd")
    Path("s.toml").write_text(text.replace('fit = "crowd_and_experts"', "# "))
    done = run("fit", "s.toml", *FEW)
    assert done.exit_code == 2
    assert done.stderr == (
        "reading data ...\n"
        's.toml: crowd.fit: a fit needs a model; add `fit = "crowd_and_experts"`, '
        "or run `sharpbayes measure`\n"
    )


def test_a_folder_that_is_not_there_is_exit_5_before_any_work(run):
    done = run("measure", "quickstart", "--out", "nowhere/r.nc")
    assert done.exit_code == 5
    assert done.stderr == "nowhere/r.nc: cannot write results: no folder nowhere\n"


def test_a_foreign_file_is_refused_in_one_sentence(run):
    Path("r.nc").write_text("hello")
    done = run("report", "r.nc")
    assert done.exit_code == 5
    assert done.stderr == (
        "r.nc: not a results file of sharpbayes, or damaged or changed by another program since it "
        "was written; run `sharpbayes measure` or `sharpbayes fit` of its study again\n"
    )
    assert len(done.stderr.splitlines()) == 1


def test_a_fit_that_has_not_converged_is_written_marked_and_exit_4(run):
    few = (*SMALL, PERMUTATIONS.format(0), "sampler.predictive_draws=0")
    done = run("fit", "quickstart_crowd", *(part for text in few for part in ("--set", text)))
    assert done.exit_code == 4
    assert "NOT CONVERGED" in done.stdout
    results = open_results("quickstart_crowd.results.nc")
    assert results.attrs["status"] == "not converged"
    assert int(results["diagnostics"]["converged"]) == 0
    assert results["diagnostics"].attrs["convergence_issues"] in done.stderr
    assert results["diagnostics"].attrs["suggestions"] in done.stderr


@pytest.mark.usefixtures("without_figures")
def test_a_fit_that_has_not_converged_is_marked_wherever_it_is_shown(run, tmp_path, shared_results):
    path = shutil.copy(shared_results("fitted_crowd"), tmp_path / "quickstart_crowd.results.nc")
    results = open_results(path)
    document = json.loads(run("report", "quickstart_crowd.results.nc", "--json").stdout)
    assert document["converged"] is False
    assert document["status"] == "not converged"
    assert document["diagnostics"]["converged"] == 0
    assert document["failed"][0] in document["trust"]
    assert "has not converged and must not be used" in document["trust"]
    every = report_tables(results)
    assert len(every) > 5
    assert all(table.note.startswith("NOT CONVERGED") for table in every)
    shown = run("report", "quickstart_crowd.results.nc", "--text", "--tables", "t")
    assert shown.stdout.count("NOT CONVERGED") >= len(every)
    files = sorted(Path("t").iterdir())
    assert len(files) == 3 * len(every)
    assert all("NOT CONVERGED" in path.read_text(encoding="utf-8") for path in files)
    assert page_text(results).count("NOT CONVERGED") >= len(every)


def test_retry_samples_longer_until_a_fit_has_converged(run):
    few = ["sampler.tune=50", "sampler.draws=50", "sampler.chains=2", "sampler.predictive_draws=0"]
    loose = ["sampler.max_rhat=1.1", "sampler.target_ess=100", "sampler.max_divergence_share=0.2"]
    options = [part for x in ("seed=3", *few, *loose) for part in ("--set", x)]
    done = run("fit", "quickstart_crowd", *FEW, *options, "--retry")
    assert done.exit_code == 0, done.stderr
    results = open_results("quickstart_crowd.results.nc")
    attrs = results["diagnostics"].attrs
    assert attrs["attempts"] > 1
    assert results["posterior"].sizes["draw"] == attrs["draws"] == 50 * 2 ** (attrs["attempts"] - 1)
    assert "attempt 2 with 100 tuning steps and 100 draws a chain" in done.stderr


def test_show_lists_prints_and_gives_schemas(run):
    assert (
        "weights: equal, eu_ai_act, population_us, precautionary, sharp, worst_dimension"
        in run("show").stdout
    )
    shown = run("show", "crowd_severity").stdout
    text = (folder("models") / "crowd_severity.toml").read_text(encoding="utf-8")
    assert shown.startswith(text)
    assert "#   location by group:*: normal(0, 1)\n" in shown.removeprefix(text)
    assert json.loads(run("show", "--schema", "weights").stdout)["title"] == "Weights"
    done = run("show", "shrap")
    assert done.exit_code == 2
    assert done.stderr.endswith("did you mean 'sharp'?\n")


@pytest.mark.slow
def test_ctrl_c_keeps_the_measured_half_and_the_draws_so_far(tmp_path):
    command = [sys.executable, "-m", "sharpbayes", "fit", "quickstart_crowd", *FEW]
    command += ["--set", "sampler.draws=100000", "--set", "sampler.tune=50"]
    command += ["--set", PERMUTATIONS.format(9)]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_ctrl_c,  # noqa: PLW1509 - no thread here
    ) as started:
        for line in started.stderr:
            # More than 4 x 150 steps in all: some chain is a hundred draws past its tuning.
            if int(next(iter(re.findall(r"^sampling: (\d+)/", line)), 0)) > 600:
                break
        os.kill(started.pid, signal.SIGINT)
        rest = started.stderr.read()
    assert started.returncode == 130, rest
    assert STOPPING in rest.splitlines()
    assert_draws_are_kept(rest, tmp_path / "quickstart_crowd.results.nc")


def assert_draws_are_kept(said, path):
    """The last lines say what a file holds, which is a measurement and draws of whole chains."""
    *_, kept, parts, last = said.splitlines()
    name = path.name
    draws = int(re.fullmatch(rf"{INTERRUPTED}: \d chains of (\d+) draws are in {name}", kept)[1])
    assert re.fullmatch(rf"\d+ finished parts? {KEPT.format(name)}", parts)
    assert last == "interrupted"
    results = open_results(path)
    assert results.attrs["status"] == "interrupted"
    assert np.isfinite(results["responsiveness"]["mpa"].sel(group="all")).all()
    assert results["posterior"].sizes["draw"] == draws < 100_000
    assert np.isfinite(results["posterior"]["sd_item"]).all()


INTERRUPTED = "sampling was interrupted"
KEPT = "kept in {}.checkpoint; the same command with --resume goes on from there"


class CtrlC(PhaseLines):
    """Ctrl-C at the first report of the chains."""

    def __call__(self, message, chains=(), /):
        if chains:
            raise KeyboardInterrupt
        super().__call__(message)


def test_ctrl_c_while_chains_tune_keeps_the_measured_half(run, measured_panel, monkeypatch):
    monkeypatch.setattr(
        "sharpbayes.cli.console.show_progress", lambda *_, **__: nullcontext(CtrlC())
    )
    content = measured_panel.read_bytes()
    done = run("fit", "quickstart", *FEW, "--set", "sampler.tune=1000000", "--out", "r.nc")
    assert done.exit_code == 130, done.stderr
    *_, written, stays, kept, last = done.stderr.splitlines()
    message = "interrupted before the fit was finished; the measured half is in r.interrupted.nc"
    assert [written, last] == [message, "interrupted"]
    assert stays == "r.nc stays as it was: it holds earlier results"
    assert kept.endswith(KEPT.format("r.nc"))
    assert measured_panel.read_bytes() == content
    results = open_results("r.interrupted.nc")
    assert results.attrs["status"] == "interrupted"
    assert np.isfinite(results["profile"]["cvar"]).all()
    assert "posterior" not in results


class EarlyCtrlC(PhaseLines):
    """Ctrl-C when the first chain is a hundred draws past its tuning."""

    def __call__(self, message, chains=(), /):
        if sum(chain.finished_draws for chain in chains) > 150:
            raise KeyboardInterrupt
        super().__call__(message, chains)


def test_ctrl_c_while_chains_sample_keeps_the_draws_so_far(run, tmp_path, monkeypatch):
    """A signal from outside, in a process of its own, is sent in the slow tests."""
    show = "sharpbayes.cli.console.show_progress"
    monkeypatch.setattr(show, lambda *_, **__: nullcontext(EarlyCtrlC()))
    monkeypatch.setattr("sharpbayes.bayes.sampling.chains.REPORT_SECONDS", 0.02)
    few = ["sampler.draws=100000", "sampler.tune=50", "sampler.predictive_draws=20"]
    options = [part for text in (*few, PERMUTATIONS.format(9)) for part in ("--set", text)]
    done = run("fit", "quickstart_crowd", *FEW, *options)
    assert done.exit_code == 130, done.stderr
    assert_draws_are_kept(done.stderr, tmp_path / "quickstart_crowd.results.nc")


class LateCtrlC(PhaseLines):
    """Ctrl-C when all chains are sampled."""

    def __call__(self, message, _=(), /):
        if message == Phase.REPLICATED_METRICS:
            raise KeyboardInterrupt
        super().__call__(message)


def test_ctrl_c_after_sampling_says_that_chains_are_kept(run, monkeypatch):
    show = "sharpbayes.cli.console.show_progress"
    monkeypatch.setattr(show, lambda *_, **__: nullcontext(LateCtrlC()))
    few = ["--set", "sampler.tune=60", "--set", "sampler.draws=50"]
    done = run("fit", "quickstart", *FEW, *few, "--out", "late.nc")
    assert done.exit_code == 130, done.stderr
    *_, written, kept, _ = done.stderr.splitlines()
    assert written == "interrupted before the fit was finished; the measured half is in late.nc"
    shown = r"\d+ finished parts, 4 chains among them, "
    assert re.fullmatch(shown + re.escape(KEPT.format("late.nc")), kept)


def test_an_interrupted_result_replaces_no_whole_one(tmp_path):
    def write(name, status):
        tree = xr.DataTree()
        tree.attrs = {"schema": SCHEMA, "title": "t", "status": status, "seed": 1}
        save_results(tree, tmp_path / name)

    target = tmp_path / "s.results.nc"
    assert interrupted_path(target) == target
    write("s.results.nc", "interrupted")
    assert interrupted_path(target) == target
    for status in ("measured", "fitted", "not converged"):
        write("s.results.nc", status)
        assert interrupted_path(target).name == "s.interrupted.results.nc"
    write("s.interrupted.results.nc", "interrupted")
    assert interrupted_path(target).name == "s.interrupted.results.nc"
    write("s.interrupted.results.nc", "fitted")
    assert interrupted_path(target).name == "s.interrupted.interrupted.results.nc"
    (tmp_path / "x").write_text("of something else")
    assert interrupted_path(tmp_path / "x").name == "x.interrupted"


def test_a_run_of_what_was_computed_otherwise_says_so(run, measured_panel, monkeypatch, capsys):
    load_files(None, None, None, results="r.nc")
    assert not capsys.readouterr().err
    monkeypatch.setattr(identity, "ALGORITHM", 0)
    load_files(None, None, None, results="r.nc")
    message = "r.nc: was computed by another algorithm: numbers may differ\n"
    assert capsys.readouterr().err == message


@pytest.mark.parametrize("command", ["measure", "fit", "calibrate"])
def test_portable_starts_the_program_once_more_before_anything_else(run, monkeypatch, command):
    starts = []
    name = "sharpbayes.execution.portability.start_portable"
    monkeypatch.setattr(name, lambda: starts.append(command))
    assert run(command, "nowhere.toml").exit_code == 2
    assert not starts
    assert run(command, "nowhere.toml", "--portable").exit_code == 2
    assert starts == [command]


def test_a_lost_cluster_says_what_is_kept_and_the_command_that_goes_on(run, monkeypatch):
    monkeypatch.setattr("sharpbayes.execution.cluster.WAIT_SECONDS", 0.5)
    call = ["measure", "quickstart", *FEW, "--out", "r r.nc", "--resume"]
    call += ["--cluster", "tcp://127.0.0.1:9"]
    monkeypatch.setattr(sys, "argv", ["sharpbayes", *call])
    done = run(*call)
    assert done.exit_code == 5
    kept, command, lost = done.stderr.splitlines()
    assert kept == "no part was finished; the same command begins anew"
    assert command == (
        "to go on, on this cluster, another or without --cluster: sharpbayes measure quickstart "
        "--set bootstrap.replicates=50 --out 'r r.nc' --cluster tcp://127.0.0.1:9 --resume"
    )
    assert lost.startswith("--cluster: tcp://127.0.0.1:9: no scheduler answers: ")


def test_report_writes_tables_and_figures(run, measured_panel, tmp_path):
    done = run("report", "r.nc", "--tables", "tables", "--figures", "tables")
    assert done.exit_code == 0
    assert done.stdout == ""
    assert done.stderr.endswith("24 files of figures in tables\n")
    names = {path.name for path in (tmp_path / "tables").iterdir()}
    assert {"table-04-tail-attribution-of-compounded-log-risk.tex", "figure-1-risk-box.svg"} < names


def test_report_shows_a_panel_table_by_table(run, measured_panel):
    shown = run("report", "r.nc", "--text").stdout
    places = [shown.index(f"Table {number}:") for number in (1, 4, 5, 8, 9, 12, 14, 17, 20)]
    assert places == sorted(places)


def test_a_folder_that_cannot_be_written_is_a_fault_of_files(run, measured_panel, tmp_path):
    done = run("report", "r.nc", "--tables", "r.nc/tables")
    assert done.exit_code == 5
    assert "cannot write tables" in done.stderr


CROWD = ["--set", "sampler.tune=300", "--set", "sampler.draws=300", "--set", "sampler.chains=2"]


@pytest.mark.slow
def test_calibrate_writes_table_figure_and_places(run, tmp_path):
    done = run(
        *("calibrate", "quickstart_crowd", "--simulations", 20, *CROWD),
        *("--out", "c.nc", "--tables", "shown", "--figures", "shown"),
    )
    assert done.exit_code in {0, 4}, done.stderr
    assert "Simulation-based calibration: ranks of true values" in done.stdout
    results = open_results("c.nc")
    assert results["calibration"].sizes["simulation"] == 20
    assert {"MPA[all]", "WRA[gender=Woman]"} <= set(results["calibration"]["quantity"].to_numpy())
    assert "MPA[all]" in done.stdout
    assert (results.attrs["status"] == "calibrated") == (done.exit_code == 0)
    table = "simulation-based-calibration-ranks-of-true-values.csv"
    assert {"calibration.png", table} <= {path.name for path in (tmp_path / "shown").iterdir()}


BRIEF = ["--set", "sampler.tune=100", "--set", "sampler.draws=100", "--set", "sampler.chains=2"]
BRIEF += ["--set", PERMUTATIONS.format(0)]


def test_compare_says_which_model_predicts_better(run):
    plain = 'schema = "sharpbayes/model/2"\ntitle = "No items"\n[[location]]\nby = ["rater"]\n'
    Path("plain.toml").write_text(plain)
    for out, model in (("full.nc", "crowd_severity"), ("plain.nc", "PLAIN")):
        path = model if model == "crowd_severity" else str(Path("plain.toml").resolve())
        fitting = (
            "--set",
            f"crowd.fit={path}",
            "--set",
            "sampler.predictive_draws=0",
            "--out",
            out,
        )
        run("fit", "quickstart_crowd", *FEW, *BRIEF, *fitting, "--quiet")
    done = run("compare", "plain.nc", "full.nc", "--refits", 1, "--out", "c.nc", "--tables", "t")
    assert done.exit_code == 0, done.stderr
    comparison = open_results("c.nc")["comparison"]
    assert comparison["model"].to_numpy().tolist() == ["full", "plain"]
    assert float(comparison["elpd_difference"][1]) < 0
    assert "Leave-one-out comparison, by rating" in done.stdout
    assert Path("t/leave-one-out-comparison-by-rating.csv").is_file()
    quiet = run("compare", "plain.nc", "full.nc", "--refits", 0, "--quiet")
    assert "Leave-one-out comparison, by rating" in quiet.stdout
    wrong = run("compare", "plain.nc", "full.nc", "--leave-out", "itme")
    assert wrong.exit_code == 2
    assert wrong.stderr.endswith("; did you mean 'item'?\n")


def test_a_comparison_needs_two_files_of_different_names(run):
    one, alike = run("compare", "a.nc"), run("compare", "old/a.nc", "new/a.nc", "b.nc")
    assert [one.exit_code, alike.exit_code] == [2, 2]
    assert one.stderr == "compare: needs two results files or more; one was given\n"
    assert alike.stderr == (
        "compare: two results files have the name 'a', which names a fit; rename one\n"
    )


def test_a_fit_needs_a_study_or_results_and_not_both(run):
    neither, both = run("fit"), run("fit", "quickstart", "--from", "r.nc")
    assert [neither.exit_code, both.exit_code] == [2, 2]
    lead = "fit: needs a study or --from RESULTS, one of the two;"
    assert neither.stderr == f"{lead} neither was given\n"
    assert both.stderr == f"{lead} both were given\n"


@pytest.fixture(scope="module")
def of_small_fits(tmp_path_factory, shared_results):
    """What a small fit of the quickstart gives under weights, and compared with itself."""
    folder_of_fits = tmp_path_factory.mktemp("fits")
    first, second, weighed, compared = (folder_of_fits / f"{name}.nc" for name in "abwc")
    for path in (first, second):
        shutil.copy(shared_results("fitted_panel"), path)
    for arguments in (
        ["weigh", first, "--weights", "equal", "--out", weighed, "--quiet"],
        ["compare", first, second, "--refits", 0, "--out", compared, "--quiet"],
    ):
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert done.exit_code in {0, 4}, done.stderr
    return {"weigh": weighed, "compare": compared}


@pytest.mark.parametrize("command", ["weigh", "compare"])
def test_report_names_the_results_of_other_commands(run, of_small_fits, command):
    path = of_small_fits[command]
    done = run("report", path, "--json", "--out", "p.html")
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    not_fitted = {
        "weigh": "The fit has not converged: ",
        "compare": "The fits of a and b have not ",
    }
    assert document["answer"][0].startswith(not_fitted[command])
    expected = (
        "A check failed: The fit has not converged and must not be used: R-hat (up to "
        if document["status"] == "not converged"
        else "Whether a fit converged and passed its checks is in the results of the fit."
    )
    assert document["trust"].startswith(expected)
    assert document["answer"][0] in Path("p.html").read_text(encoding="utf-8")
    shown = run("report", path, "--text")
    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout.strip()


def test_only_fits_are_compared(run, measured_crowd):
    Path("b.nc").write_bytes(measured_crowd.read_bytes())
    done = run("compare", "r.nc", "b.nc")
    assert (done.exit_code, done.stderr) == (
        2,
        "r.nc: no posterior: compare what sharpbayes fit wrote\n",
    )

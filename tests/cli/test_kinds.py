"""A file of another kind than a command needs is named for what it is, with what takes it."""

import shutil
from pathlib import Path

import pytest

from sharpbayes.library import folder

STUDY = (
    "holds a study, not {}; `sharpbayes check s.toml` reads it, `sharpbayes measure s.toml` "
    "computes its results"
)
RESULTS = "holds results, not {}; `sharpbayes report r.nc` shows them"
DATA = "holds data, not {}; `sharpbayes init quickstart.csv` writes a study of them"


@pytest.fixture
def files(tmp_path, shared_results):
    """A study ``s.toml``, its table and its results ``r.nc`` in the reader's folder."""
    shutil.copy(shared_results("measured_panel"), tmp_path / "r.nc")
    shutil.copy(folder("studies") / "quickstart.csv", tmp_path)
    shutil.copy(folder("studies") / "quickstart.toml", tmp_path / "s.toml")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["check", "quickstart.csv"], 2, DATA.format("a study")),
        (["measure", "r.nc"], 2, RESULTS.format("a study")),
        (["fit", "./r.nc"], 2, RESULTS.format("a study")),
        (["check", "s.toml", "--set", "weights=quickstart.csv"], 2, DATA.format("weights")),
        (["report", "s.toml"], 5, STUDY.format("results")),
        (["fit", "--from", "s.toml"], 5, STUDY.format("results")),
        (["report", "quickstart.csv"], 5, DATA.format("results")),
        (["init", "s.toml"], 3, STUDY.format("data")),
        (["init", "r.nc"], 3, RESULTS.format("data")),
    ],
)
def test_a_file_of_another_kind_is_named_for_what_it_is(run, words, status, message):
    done = run(*words)
    assert done.exit_code == status
    assert done.stderr.rstrip().endswith(message)


def test_a_study_without_the_ending_is_found_and_told(run):
    Path("mine.txt").write_text("title = 1\n", encoding="utf-8")
    done = run("check", "mine.txt")
    assert done.stderr.rstrip().endswith(
        "a file of this name is here, but it does not end in .toml"
    )


@pytest.mark.parametrize("paths", [["."], [".."], [".", "r.nc"]])
def test_a_folder_is_no_results_file_wherever_it_is(run, paths):
    """The folder that the command runs in has no name: it was an internal error."""
    done = run("report", *paths)
    assert (done.exit_code, done.stderr) == (5, f"{paths[0]}: is a folder, must be a file\n")

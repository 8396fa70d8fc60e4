"""Output over what somebody wants to keep: refused before anything is computed or lost."""

import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.library import folder
from sharpbayes.spec.load import load_study
from sharpbayes.storage.results import save_results
from sharpbayes.workflows.measure import measure

ANOTHER = "name another file with --out\n"
OTHER = f"holds something else than results; {ANOTHER}"
READ = f"is read by this command; {ANOTHER}"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A study, its data and its results."""
    base = tmp_path_factory.mktemp("files")
    for path in folder("studies").glob("quickstart.*"):
        shutil.copy(path, base)
    few = ("bootstrap.replicates=20",)
    save_results(measure(load_study(base / "quickstart.toml", overrides=few)), base / "r.nc")
    (base / "empty.nc").touch()
    (base / "page.html").write_bytes((base / "r.nc").read_bytes())
    (base / "link.nc").symlink_to("r.nc")
    os.mkfifo(base / "pipe")
    return base


REFUSED = {
    "data": (["measure", "quickstart.toml", "--out", "quickstart.csv"], OTHER),
    "study": (["measure", "quickstart.toml", "--out", "quickstart.toml"], OTHER),
    "study of a fit": (["fit", "quickstart.toml", "--out", "./quickstart.toml"], OTHER),
    "ranks": (["calibrate", "quickstart.toml", "--out", "quickstart.csv"], OTHER),
    "weighed": (["weigh", "r.nc", "--weights", "equal", "--out", "r.nc"], READ),
    "weighed by a link": (["weigh", "r.nc", "--weights", "equal", "--out", "link.nc"], READ),
    "weighed over data": (
        ["weigh", "r.nc", "--weights", "equal", "--out", "quickstart.csv"],
        OTHER,
    ),
    "comparison": (["compare", "r.nc", "page.html", "--out", "page.html"], READ),
    "page": (["report", "r.nc", "--out", "r.nc"], READ),
    "page of its own name": (["report", "page.html"], READ),
    "study of data": (
        ["init", "quickstart.csv", "--out", "quickstart.csv"],
        "already there; name another with --out\n",
    ),
    "pipe": (
        ["measure", "quickstart.toml", "--out", "pipe"],
        f"cannot write results: not a plain file; {ANOTHER}",
    ),
    "device": (
        ["measure", "quickstart.toml", "--out", "/dev/null"],
        f"cannot write results: not a plain file; {ANOTHER}",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_nothing_is_lost(files, monkeypatch, case):
    monkeypatch.chdir(files)
    before = {path.name: path.read_bytes() for path in files.iterdir() if path.is_file()}
    arguments, message = REFUSED[case]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 5, done.stderr
    assert done.stderr.endswith(message)
    assert {path.name: path.read_bytes() for path in files.iterdir() if path.is_file()} == before
    assert Path("/dev/null").is_char_device()


def test_an_empty_file_and_earlier_results_are_replaced(files, monkeypatch):
    monkeypatch.chdir(files)
    for name in ("empty.nc", "empty.nc"):
        command = ["weigh", "r.nc", "--weights", "equal", "--quiet", "--out", name]
        assert CliRunner().invoke(app, command).exit_code == 0
    assert (files / "empty.nc").stat().st_size

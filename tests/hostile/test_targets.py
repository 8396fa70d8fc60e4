"""Output over what somebody wants to keep: refused before anything is computed or lost."""

import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sharpbayes
from sharpbayes.cli.commands import app
from sharpbayes.cli.targets import save_text
from sharpbayes.errors import StorageError
from sharpbayes.library import find, folder
from sharpbayes.spec.load import load_study
from sharpbayes.storage.results import save_results
from sharpbayes.workflows.measure import measure

pytestmark = pytest.mark.usefixtures("without_figures")

ANOTHER = "name another file with --out\n"
OTHER = f"holds something else than results; {ANOTHER}"
READ = f"is read by this command; {ANOTHER}"
GENERATOR = '<meta name="generator" content="sharpbayes">'
TEXT = "holds something else than what this command writes; name another file with {}\n"

# Files of somebody that start as those of the program do.
OWN = {
    "own.html": "<!doctype html>\n<title>My page</title>\n",
    "own.md": "### My notes\n",
    "own.xml": '<?xml version="1.0" encoding="UTF-8"?>\n<project/>\n',
    "own.csv": "rank,model\n1,a\n",
    "own/ratings.csv": "item,rater,score\n",
    "own/weights_a.toml": "",
}


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
    (base / "quickstart.results.nc").write_bytes((base / "r.nc").read_bytes())
    for name, text in OWN.items():
        (base / name).parent.mkdir(exist_ok=True)
        (base / name).write_text(text, encoding="utf-8")
    (base / "folder.csv").mkdir()
    (base / "broken").symlink_to("gone")
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
    "page over data": (["report", "r.nc", "--out", "quickstart.csv"], TEXT.format("--out")),
    "page over a study": (["report", "r.nc", "--out", "quickstart.toml"], TEXT.format("--out")),
    "list over data": (["next", "r.nc", "--out", "quickstart.csv"], TEXT.format("--out")),
    "list over a folder": (
        ["next", "r.nc", "--out", "folder.csv"],
        "folder.csv: is a folder; name a file with --out\n",
    ),
    "answer over data": (
        ["gate", "r.nc", "--markdown", "quickstart.csv"],
        TEXT.format("--markdown"),
    ),
    "answer over a study": (["gate", "r.nc", "--junit", "quickstart.toml"], TEXT.format("--junit")),
    "answer over results": (
        ["gate", "r.nc", "--junit", "link.nc"],
        "is read by this command; name another file with --junit\n",
    ),
    "page over a page": (["report", "r.nc", "--out", "own.html"], TEXT.format("--out")),
    "answer over a page": (["gate", "r.nc", "--markdown", "own.md"], TEXT.format("--markdown")),
    "answer over a project": (["gate", "r.nc", "--junit", "own.xml"], TEXT.format("--junit")),
    "list over a list": (["next", "r.nc", "--out", "own.csv"], TEXT.format("--out")),
    "fit of itself": (["fit", "--from", "r.nc", "--out", "r.nc"], READ),
    "fit of itself by default": (["fit", "--from", "quickstart.results.nc"], READ),
    "preview of itself": (["fit", "--from", "r.nc", "--preview", "--out", "link.nc"], READ),
    "simulated ratings": (
        ["simulate", "quickstart.toml", "--out", "own"],
        "own: holds ratings.csv, weights_a.toml, and no study that `sharpbayes simulate` wrote; "
        "name another folder with --out\n",
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
    before = {path: path.read_bytes() for path in files.rglob("*") if path.is_file()}
    arguments, message = REFUSED[case]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 5, done.stderr
    assert done.stderr.endswith(message)
    assert {path: path.read_bytes() for path in files.rglob("*") if path.is_file()} == before
    assert Path("/dev/null").is_char_device()


def test_an_empty_file_and_earlier_results_are_replaced(files, monkeypatch):
    monkeypatch.chdir(files)
    for name in ("empty.nc", "empty.nc"):
        command = ["weigh", "r.nc", "--weights", "equal", "--quiet", "--out", name]
        assert CliRunner().invoke(app, command).exit_code == 0
    assert (files / "empty.nc").stat().st_size


def test_two_answers_need_two_files(files, monkeypatch):
    monkeypatch.chdir(files)
    done = CliRunner().invoke(app, ["gate", "r.nc", "--markdown", "x", "--junit", "x"])
    message = "--junit: x: is the file of --markdown; name another\n"
    assert (done.exit_code, done.stderr) == (2, message)
    assert not (files / "x").exists()


def test_what_a_command_wrote_is_replaced(files, monkeypatch):
    monkeypatch.chdir(files)
    pages = [CliRunner().invoke(app, ["report", "r.nc", "--out", "p.html"]) for _ in range(2)]
    assert [page.exit_code for page in pages] == [0, 0]


def test_answers_of_the_gate_are_replaced_by_answers(files, tmp_path, monkeypatch):
    monkeypatch.chdir(files)
    margins = "\n[gate]\nmean = 0.01\n"
    weights = tmp_path / "w.toml"
    weights.write_text(find("weights", "sharp").read_text(encoding="utf-8") + margins)
    written = [tmp_path / "g.md", tmp_path / "g.xml"]
    answers = ["--markdown", str(written[0]), "--junit", str(written[1])]
    command = ["gate", "r.nc", "--model", "dahlia", "--against-model", "aster"]
    command += ["--weights", str(weights), *answers]
    for _ in range(2):
        assert CliRunner().invoke(app, command).exit_code == 6
        assert all(path.stat().st_size for path in written)
    # A version without a comment wrote the same but for its first line.
    earlier = written[0].read_text(encoding="utf-8").partition("\n")[2]
    assert earlier.startswith("### ")
    written[0].write_text(earlier, encoding="utf-8")
    assert CliRunner().invoke(app, command).exit_code == 6


def test_a_simulation_is_replaced_by_another_unless_it_is_read(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for pattern in ("normal", "shift"):
        command = ["simulate", "quickstart_crowd", "--pattern", pattern, "--out", "drawn"]
        assert CliRunner().invoke(app, command).exit_code == 0
    before = {path: path.read_bytes() for path in Path("drawn").iterdir()}
    done = CliRunner().invoke(app, ["simulate", "drawn/study.toml", "--out", "drawn"])
    message = "drawn/study.toml: is read by this command; name another folder with --out\n"
    assert (done.exit_code, done.stderr) == (5, message)
    assert {path: path.read_bytes() for path in Path("drawn").iterdir()} == before


@pytest.mark.parametrize("option", ["--out", "--tables", "--records", "--figures"])
def test_an_output_that_cannot_be_finished_leaves_the_older_one(
    files, tmp_path, monkeypatch, option
):
    page = tmp_path / "out"
    if option == "--out":
        page.write_text(f"<!doctype html>{GENERATOR}")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    done = CliRunner().invoke(app, ["report", str(files / "r.nc"), option, str(page)])
    what = "report" if option == "--out" else option[2:]
    assert done.stderr == f"{page}: cannot write {what}: No space left on device\n"
    assert done.exit_code == 5
    assert not [*tmp_path.glob("**/*.*")]  # nothing half written
    assert option != "--out" or page.read_text() == f"<!doctype html>{GENERATOR}"


UNWRITABLE = {
    "tables of simulations": (
        ["calibrate", "quickstart.toml", "--tables", "quickstart.csv"],
        "quickstart.csv: cannot write tables: quickstart.csv is not a folder\n",
    ),
    "figures of simulations": (
        ["calibrate", "quickstart.toml", "--figures", "quickstart.csv/a/b"],
        "quickstart.csv/a/b: cannot write figures: Not a directory\n",
    ),
    "tables of a comparison": (
        ["compare", "r.nc", "page.html", "--tables", "broken"],
        "broken: cannot write tables: broken is not a folder\n",
    ),
    "ratings": (
        ["simulate", "quickstart.toml", "--out", "r.nc"],
        "r.nc: cannot write: r.nc is not a folder\n",
    ),
    "answer": (
        ["gate", "r.nc", "--markdown", "none/gate.md"],
        "none/gate.md: cannot be written: no folder none\n",
    ),
    "answer for a server": (
        ["gate", "r.nc", "--junit", "quickstart.csv/gate.xml"],
        "quickstart.csv/gate.xml: cannot be written: no folder quickstart.csv\n",
    ),
    "list": (
        ["next", "r.nc", "--out", "none/list.csv"],
        "none/list.csv: cannot be written: no folder none\n",
    ),
    "weighed": (
        ["weigh", "r.nc", "--weights", "equal", "--out", "none/w.nc"],
        "none/w.nc: cannot write results: no folder none\n",
    ),
    "page": (
        ["report", "r.nc", "--out", "none/p.html"],
        "none/p.html: cannot write report: no folder none\n",
    ),
    "records": (
        ["report", "r.nc", "--records", "pipe"],
        "pipe: cannot write records: pipe is not a folder\n",
    ),
    "study": (
        ["init", "quickstart.csv", "--out", "none/s.toml"],
        "none/s.toml: cannot write study: no folder none\n",
    ),
    "name too long": (
        ["measure", "quickstart.toml", "--out", "n" * 256],
        f"{'n' * 256}: cannot write results: File name too long\n",
    ),
}


NOT_UTF_8 = os.fsdecode(b"bad\xff")
NO_NAME = "its name is not UTF-8\n"
UNWRITABLE |= {
    "name that is not UTF-8": (
        ["measure", "quickstart.toml", "--out", f"{NOT_UTF_8}.nc"],
        f"bad\\udcff.nc: cannot write results: {NO_NAME}",
    ),
    "page that is not UTF-8": (
        ["report", "r.nc", "--out", f"{NOT_UTF_8}.html"],
        f"bad\\udcff.html: cannot write report: {NO_NAME}",
    ),
    "tables that are not UTF-8": (
        ["report", "r.nc", "--tables", NOT_UTF_8],
        f"bad\\udcff: cannot write tables: {NO_NAME}",
    ),
    "study of data that are not UTF-8": (
        ["init", f"{NOT_UTF_8}.csv", "--out", "s.toml"],
        f"bad\\udcff.csv: cannot be named in a study: {NO_NAME}",
    ),
}


@pytest.mark.parametrize("case", UNWRITABLE)
def test_what_cannot_be_written_is_said_before_anything_is_computed(files, monkeypatch, case):
    def compute(*_, **__):
        raise AssertionError("computed")

    monkeypatch.chdir(files)
    for name in ("measure", "fit", "weigh", "gate"):
        monkeypatch.setattr(sharpbayes, name, compute)
    for module in ("calibrate", "compare", "simulate"):
        monkeypatch.setattr(f"sharpbayes.workflows.{module}.{module}", compute)
    monkeypatch.setattr("sharpbayes.workflows.next.plan_next", compute)
    monkeypatch.setattr("sharpbayes.cli.outputs.save_outputs", compute)
    before = sorted(files.iterdir())
    arguments, message = UNWRITABLE[case]
    done = CliRunner().invoke(app, arguments)
    assert (done.exit_code, done.stderr) == (5, message)
    assert sorted(files.iterdir()) == before


def test_a_study_that_results_cannot_name_is_refused_before_it_is_read(files, tmp_path, run):
    study = tmp_path / f"{NOT_UTF_8}.toml"
    study.write_bytes((files / "quickstart.toml").read_bytes())
    done = run("measure", study.name, "--out", "r.nc")
    message = f"bad\\udcff.toml: cannot be named in results: {NO_NAME}"
    assert (done.exit_code, done.stderr) == (5, message)


LONG = "n" * 256
TOO_LONG = {
    "study": (["measure", LONG], 2, f"no shipped study '{LONG}', "),
    "weights of a study": (["check", "quickstart.toml", "--set", f"weights={LONG}"], 2, LONG),
    "earlier results": (["fit", "quickstart.toml", "--update", LONG], 5, "File name too long"),
    "weights": (["weigh", "r.nc", "--weights", f"{LONG}.toml"], 2, "File name too long"),
    "page": (["report", "r.nc", "--tables", ".", "--out", LONG], 5, "File name too long"),
}


@pytest.mark.parametrize("case", TOO_LONG)
def test_a_name_that_is_too_long_is_no_error_of_the_program(files, monkeypatch, case):
    monkeypatch.chdir(files)
    arguments, status, message = TOO_LONG[case]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == status, done.stderr
    assert message in done.stderr
    assert "results of" not in done.stderr  # which are not to blame


def test_a_folder_without_the_right_to_write_is_said_at_once(files, tmp_path, monkeypatch):
    # Who runs the tests may be the superuser, who may write everywhere.
    access = os.access
    monkeypatch.setattr(os, "access", lambda x, *m: Path(x) != tmp_path and access(x, *m))
    results = str(files / "r.nc")
    for option, name in (("--out", "p.html"), ("--tables", "new/tables")):
        done = CliRunner().invoke(app, ["report", results, option, str(tmp_path / name)])
        assert done.exit_code == 5
        assert done.stderr.endswith(f": no right to write in {tmp_path}\n")
    assert not [*tmp_path.iterdir()]


def test_a_page_may_lie_in_a_folder_of_tables_that_is_made(files, tmp_path):
    new = tmp_path / "new"
    command = ["report", str(files / "r.nc"), "--tables", str(new), "--out", str(new / "p.html")]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert (new / "p.html").is_file()


def test_a_text_that_cannot_be_written_leaves_the_older_one(tmp_path):
    (tmp_path / "gate.md").write_text("### old")
    with pytest.raises(StorageError) as raised:
        save_text(tmp_path / "none" / "gate.md", "### new")
    message = f"{tmp_path}/none/gate.md: cannot be written: No such file or directory"
    assert str(raised.value) == message
    save_text(tmp_path / "gate.md", "### new")
    assert [path.name for path in tmp_path.iterdir()] == ["gate.md"]
    assert (tmp_path / "gate.md").read_text() == "### new"

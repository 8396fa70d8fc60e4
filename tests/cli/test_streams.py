"""Output that nobody reads, that does not fit on a disk, or that an encoding does not have."""

import errno
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from sharpbayes.cli.streams import is_unread
from sharpbayes.library import find

FULL = Path("/dev/full")
NO_SPACE = "stdout: cannot be written: No space left on device\n"
needs_full = pytest.mark.skipif(not FULL.exists(), reason="no device that is full")
MARGINS = "\n[gate]\nmean = 0.01\ncvar = 0.01\n"


@pytest.fixture
def compared(tmp_path, shared_results):
    """Results of four models and weights with margins, in the reader's folder."""
    shutil.copy(shared_results("measured_panel"), tmp_path / "r.nc")
    weights = find("weights", "sharp").read_text(encoding="utf-8") + MARGINS
    (tmp_path / "w.toml").write_text(weights, encoding="utf-8")
    return tmp_path


@contextmanager
def open_unread():
    """Give a pipe whose reader has left."""
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


def start(folder, *arguments, **streams):
    """Run the program in a process of its own, with streams of its own."""
    command = [sys.executable, "-m", "sharpbayes", *arguments]
    captured = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    return subprocess.run(command, cwd=folder, check=False, text=True, **captured)


def gate_between(candidate, reference):
    """Give the arguments of a gate between two models of the results."""
    models = ("--model", candidate, "--against-model", reference)
    return ("gate", "r.nc", "--weights", "w.toml", *models)


def test_a_reader_who_has_seen_enough_does_not_open_a_gate(compared):
    shut = gate_between("dahlia", "aster")
    with open_unread() as unread:
        assert start(compared, *shut, stdout=unread).returncode == 6
        assert start(compared, *shut, "--json", stdout=unread).returncode == 6
        open_question = gate_between("cedar", "dahlia")
        assert start(compared, *open_question, stdout=unread).returncode == 7


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--help",), 0),
        (("--version",), 0),
        (("fit", "--help"), 0),
        ((), 2),
        (("fit", "--nonsense"), 2),
        (("fit", "--seed", "x"), 2),
    ],
)
def test_help_and_mistakes_that_nobody_reads_keep_their_status(tmp_path, words, status):
    with open_unread() as unread:
        done = start(tmp_path, *words, stdout=unread)
        assert done.returncode == status
        assert "Traceback" not in done.stderr
        assert start(tmp_path, *words, stdout=unread, stderr=unread).returncode == status


def test_a_reader_who_has_left_on_windows_is_told_by_another_number(monkeypatch):
    monkeypatch.setattr("sharpbayes.cli.streams.os.name", "nt")
    assert is_unread(OSError(errno.EINVAL, "Invalid argument"))
    assert not is_unread(OSError(errno.ENOSPC, "No space left on device"))


def test_a_run_goes_on_where_nobody_reads_what_it_says(tmp_path):
    few = ("measure", "quickstart", "--set", "bootstrap.replicates=20")
    with open_unread() as unread:
        done = start(tmp_path, *few, stderr=unread)
        assert done.returncode == 0
        assert done.stdout.endswith("sharpbayes report quickstart.results.nc --text\n")
        assert start(tmp_path, "check", "none.toml", stderr=unread).returncode == 2
    assert (tmp_path / "quickstart.results.nc").is_file()


def test_streams_that_a_shell_has_closed_are_no_error(tmp_path):
    for closed in (">&-", "2>&-", ">&- 2>&-", ">&- 2>&- <&-"):
        command = f'"$0" -m sharpbayes check {{}} {closed}'
        for study, status in (("quickstart", 0), ("none.toml", 2)):
            line = ["sh", "-c", command.format(study), sys.executable]
            done = subprocess.run(line, cwd=tmp_path, check=False, capture_output=True, text=True)
            assert done.returncode == status, done.stderr
            assert "Error" not in done.stderr


@needs_full
@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("--help",),
        ("fit", "--help"),
        ("show",),
        ("check", "quickstart"),
        ("check", "quickstart", "--json"),
        ("report", "r.nc", "--text"),
        ("report", "r.nc", "--json"),
    ],
)
def test_a_full_disk_below_stdout_is_named_as_that(compared, arguments):
    with FULL.open("w") as full:
        done = start(compared, *arguments, stdout=full)
    assert (done.returncode, done.stderr) == (5, NO_SPACE)


def test_a_character_that_stdout_does_not_have_is_a_question_mark(tmp_path):
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}
    shown = start(tmp_path, "check", "quickstart", env=environment)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "?" in shown.stdout


def test_a_file_that_is_printed_is_utf_8_whatever_the_terminal(tmp_path):
    title = "Sicherheit \N{GREEK SMALL LETTER ALPHA}"
    text = f'schema = "sharpbayes/weights/1"\ntitle = "{title}"\n'
    (tmp_path / "w.toml").write_text(text, encoding="utf-8")
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}
    command = [sys.executable, "-m", "sharpbayes", "show", "--migrate", "w.toml"]
    shown = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, env=environment)
    assert title in shown.stdout.decode("utf-8")

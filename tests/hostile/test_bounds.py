"""Files that would take all memory are refused before they do, in a sentence with the remedy."""

import os
import resource
import subprocess
import sys

import pandas as pd
import pytest
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.data.readers import bounds
from sharpbayes.data.readers.formats import read_table
from sharpbayes.errors import MEMORY_VARIABLE, DataError, SpecError
from tests.crowds import write_study
from tests.hostile import bombs

SECONDS, KILOBYTES = 20, 1_000_000
REMEDY = "if the file is as it should be, raise the bound by --max-memory GIGABYTES"
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
from sharpbayes.cli.commands import app
try:
    app({arguments!r})
except SystemExit as end:
    status = end.code
# The peak of this program alone: that of getrusage begins with the process that started it.
lines = open("/proc/self/status").read().splitlines()
print(next(line.split()[1] for line in lines if line.startswith("VmHWM")), file=sys.stderr)
sys.exit(status)
"""


def few_repeats():
    """As many rows of ``bombs.repeats`` as are beyond the bound three times."""
    return bombs.repeats(rows=500)


NAMES = {few_repeats: bombs.BOMBS[bombs.repeats], **bombs.BOMBS}
QUICK = (bombs.many_scorers, bombs.own_tags, bombs.wide_task, few_repeats, bombs.constants)


def make_bomb(folder, make):
    """Write the file of a maker, of at most 10 MB."""
    path = folder / NAMES[make]
    path.write_bytes(make())
    assert path.stat().st_size <= 10 * bombs.MEGA
    return path


@pytest.mark.parametrize("make", QUICK, ids=lambda make: make.__name__)
def test_init_names_file_size_bound_and_option(tmp_path, make):
    path = make_bomb(tmp_path, make)
    done = CliRunner().invoke(app, ["init", str(path), "--out", str(tmp_path / "s.toml")])
    assert done.exit_code == 3
    assert done.stderr.startswith(f"{path}: ")
    assert "of memory or more, the bound is 500 MB; " in done.stderr
    assert done.stderr.endswith(f"{REMEDY}\n")
    assert not (tmp_path / "s.toml").exists()


def run_limited(folder, *arguments):
    """Run a command that is killed after 20 s of processor time; return how it ended."""
    program = LIMITED.format(seconds=SECONDS, arguments=[*map(str, arguments)])
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    *message, peak = done.stderr.splitlines()
    return done.returncode, "\n".join(message), int(peak)


@pytest.mark.slow
@pytest.mark.parametrize("make", bombs.BOMBS, ids=lambda make: make.__name__)
def test_init_of_a_bomb_stays_within_memory_and_time(tmp_path, make):
    path = make_bomb(tmp_path, make)
    status, message, peak = run_limited(tmp_path, "init", path, "--out", "s.toml")
    assert status == 3
    assert REMEDY in message
    assert peak < KILOBYTES


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [bombs.one_cell, bombs.shared_starts, bombs.constants, bombs.numbers, bombs.own_keys]
)
def test_check_of_a_bomb_stays_within_memory_and_time(tmp_path, make):
    path = make_bomb(tmp_path, make)
    write_study(tmp_path, path.name)
    status, message, peak = run_limited(tmp_path, "check", "s.toml")
    assert status == 3
    assert REMEDY in message
    assert peak < KILOBYTES


@pytest.mark.slow
def test_a_panel_of_empty_cells_is_refused_before_its_table_is_made(tmp_path):
    (tmp_path / "panel.csv").write_bytes(bombs.empty_panel())
    run_limited(tmp_path, "init", "panel.csv", "--out", "s.toml")
    status, message, peak = run_limited(tmp_path, "check", "s.toml")
    assert status == 3
    assert "100,000 models x 100,000 prompts x 100,000 judges" in message
    assert REMEDY in message
    assert peak < KILOBYTES


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "name", "status"),
    [
        (bombs.nested, "nested.parquet", 0),
        (bombs.scorers_of_one_name, "scorers.json", 3),
        (bombs.one_long_label, "label.csv", 3),
        (bombs.empty_panel, "panel.csv", 0),
    ],
)
def test_large_files_that_are_read_stay_within_memory_and_time(tmp_path, make, name, status):
    (tmp_path / name).write_bytes(make())
    ended, _, peak = run_limited(tmp_path, "init", name, "--out", "s.toml")
    assert ended == status
    assert peak < KILOBYTES


@pytest.mark.slow
@pytest.mark.parametrize("make", bombs.LARGE, ids=lambda make: make.__name__)
def test_sparse_workbooks_and_wide_lines_stay_within_memory_and_time(tmp_path, make):
    name, status = bombs.LARGE[make]
    (tmp_path / name).write_bytes(make())
    ended, message, peak = run_limited(tmp_path, "init", name, "--out", "s.toml")
    assert ended == status, message
    assert peak < KILOBYTES


def test_a_label_as_long_as_a_book_among_many(tmp_path):
    rows = pd.DataFrame({"item": ["x" * 100_000, *map(str, range(2000))], "rater": "r", "score": 1})
    rows.to_csv(tmp_path / "t.csv", index=False)
    write_study(tmp_path, "t.csv")
    done = CliRunner().invoke(app, ["check", str(tmp_path / "s.toml")])
    assert done.exit_code == 3
    message = "column 'item': 2,001 labels, the longest of 100,000 characters, would take 800 MB"
    assert f"{tmp_path / 't.csv'}: {message}" in done.stderr


def test_the_option_raises_the_bound_and_lowers_it(tmp_path, monkeypatch):
    rows = pd.DataFrame({"item": [*"abcd"] * 500, "rater": range(2000), "score": 1})
    rows.to_parquet(tmp_path / "t.parquet")
    write_study(tmp_path, "t.parquet")
    monkeypatch.setenv(MEMORY_VARIABLE, "1")
    command = ["check", str(tmp_path / "s.toml"), "--max-memory"]
    assert CliRunner().invoke(app, [*command, "0.00001"]).exit_code == 3
    assert CliRunner().invoke(app, [*command, "1"]).exit_code == 0
    assert bounds.find_limit(10) == 1_000_000_000


@pytest.mark.parametrize("text", ["0", "-1", "nan", "much", "inf"])
def test_a_bound_that_is_no_number_is_refused(monkeypatch, text):
    monkeypatch.setenv(MEMORY_VARIABLE, text)
    with pytest.raises(SpecError) as raised:
        bounds.find_limit(10)
    message = f"{MEMORY_VARIABLE}: found {text!r}, must be a number of gigabytes above 0"
    assert str(raised.value) == message


@pytest.mark.parametrize("number", ["0", "-1", "nan", "inf"])
def test_a_bound_that_is_no_number_is_blamed_on_the_option(run, monkeypatch, number):
    monkeypatch.delenv(MEMORY_VARIABLE, raising=False)
    done = run("check", "quickstart", "--max-memory", number)
    message = f"--max-memory: found {number}, must be a number of gigabytes above 0\n"
    assert (done.exit_code, done.stderr) == (2, message)
    assert MEMORY_VARIABLE not in os.environ


def test_the_bound_grows_with_the_file(monkeypatch):
    monkeypatch.delenv(MEMORY_VARIABLE, raising=False)
    assert bounds.find_limit(10**7) == bounds.MAX_BYTES
    assert bounds.find_limit(10**9) == bounds.MAX_GROWTH * 10**9


def test_pages_that_lie_about_their_size(tmp_path):
    """A head that declares two gigabytes: what Arrow would allocate is refused before it does."""
    path = tmp_path / "t.parquet"
    rows = pd.DataFrame({"item": ["a" * 5000], "rater": ["x"], "score": [1]})
    rows.to_parquet(path, compression="none", index=False, use_dictionary=False)
    content = path.read_bytes()
    size = bytes([0x15, 0x00, 0x15])
    start = content.index(size) + len(size)
    end = next(n for n in range(start, len(content)) if content[n] < 128) + 1
    path.write_bytes(content[:start] + b"\xfe\xff\xff\xff\x0f"[: end - start] + content[end:])
    with pytest.raises(DataError):
        read_table(tmp_path, path.name)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4 * KILOBYTES

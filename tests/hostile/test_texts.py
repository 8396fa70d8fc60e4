"""Labels that try to run something: in a spreadsheet, in LaTeX, in Markdown, in a terminal."""

import csv
import io
import shutil

import pandas as pd
import pytest
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.errors import printable
from sharpbayes.library import folder
from sharpbayes.report.tables.renderer import as_csv, as_latex, as_markdown
from sharpbayes.report.tables.table import Table

FORMULAS = ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "-2+cmd|' /C calc'!A0"]
NUMBERS = ["-0.5", "+1.2", "-1e-05", "-0.5 (-0.7 to -0.3)", "-", "12%", "", "a-b", "1 = 1"]
TERMINAL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\r"


def cells(text):
    return [row[0] for row in csv.reader(io.StringIO(text, newline=""))]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_a_text_in_a_spreadsheet(text):
    table = Table("T", (text, "mean"), ((text, "1"),))
    assert cells(as_csv(table)) == [f"'{text}"] * 2


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers_and_plain_texts_stay(text):
    assert cells(as_csv(Table("T", ("model", "mean"), ((text, "1"),))))[1] == text


def test_latex_runs_nothing():
    hostile = "\\input{/etc/passwd}\n\n\\write18{id}^^5c $x$ % & # \x00"
    text = as_latex(Table(hostile, (hostile, "b"), ((hostile, "1"),), hostile))
    for command in ("\\input{", "\\write18{", "^^5c", "\x00", "\n\n"):
        assert command not in text
    assert text.count(r"\textbackslash{}input\{/etc/passwd\}") == 4


def test_markdown_holds_no_tags_and_no_further_rows():
    hostile = "<script>alert(1)</script>\n| x | y |"
    text = as_markdown(Table(hostile, (hostile, "b"), ((hostile, "1"),), hostile))
    assert "<script" not in text
    assert "</script" not in text
    assert len([line for line in text.splitlines() if line.startswith("|")]) == 3


def test_nothing_that_steers_a_terminal_is_left():
    assert printable(TERMINAL).isprintable()


@pytest.fixture
def hostile_study(tmp_path, monkeypatch):
    """The shipped panel, one model and its title named to steer a terminal."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(folder("studies") / "quickstart.toml", "quickstart.toml")
    table = pd.read_csv(folder("studies") / "quickstart.csv", dtype=str)
    first = table.columns[0]
    table.loc[table[first] == table[first][0], first] = TERMINAL.strip()
    table.to_csv("quickstart.csv", index=False)


@pytest.mark.parametrize("command", ["check", "measure"])
def test_no_label_of_data_steers_the_terminal(hostile_study, command):
    few = ["--set", "bootstrap.replicates=20"] if command == "measure" else []
    done = CliRunner().invoke(app, [command, "quickstart.toml", *few])
    assert done.exit_code == 0, done.stderr
    for output in (done.stdout, done.stderr):
        assert all(character == "\n" or character.isprintable() for character in output)
    assert "evil" in done.stdout


def test_no_fault_steers_the_terminal(hostile_study):
    done = CliRunner().invoke(app, ["check", f"{TERMINAL}.toml"])
    assert done.exit_code == 2
    assert all(character == "\n" or character.isprintable() for character in done.stderr)

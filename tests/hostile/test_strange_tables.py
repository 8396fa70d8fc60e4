"""Tables as programs and people leave them: read as they stand, or refused in words."""

import sys

import pytest
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from tests.crowds import write_study

HEAD, ROWS = "item,rater,score\n", "a,x,0\na,y,1\nb,x,2\nb,y,3\n"
GOOD = HEAD + ROWS


def with_score(text):
    """A table of which one score is a text."""
    return f'{GOOD}c,x,"{text}"\nc,y,1\n'


def with_item(text):
    """A table of which one item is a text."""
    return f'{GOOD}"{text}",x,1\n"{text}",y,1\n'


# The content, the status of `check`, and a part of what is said.
TABLES = {
    "as it should be": (GOOD, 0, ""),
    "byte order mark": (b"\xef\xbb\xbf" + GOOD.encode(), 0, ""),
    "two byte order marks": (b"\xef\xbb\xbf\xef\xbb\xbf" + GOOD.encode(), 0, ""),
    "UTF-16": (GOOD.encode("utf-16"), 0, ""),
    "UTF-16 without mark": (GOOD.encode("utf-16-le"), 3, "t.csv"),
    "UTF-32": (GOOD.encode("utf-32"), 3, "t.csv"),
    "Latin-1": (with_item("é").encode("latin-1"), 3, "t.csv"),
    "Latin-1 in a row too long": ((GOOD + "é,x,1,1\n").encode("latin-1"), 3, "t.csv:6: not UTF-8"),
    "EBCDIC": (GOOD.encode("cp500"), 3, "t.csv"),
    "Windows line ends": (GOOD.replace("\n", "\r\n"), 0, ""),
    "old line ends of a Macintosh": (GOOD.replace("\n", "\r"), 0, ""),
    "mixed line ends": (GOOD.replace("\n", "\r\n", 2), 0, ""),
    "no end of the last line": (GOOD.rstrip("\n"), 0, ""),
    "many empty lines": (GOOD + "\n" * 500, 0, ""),
    "empty lines between": (GOOD.replace("\n", "\n\n"), 0, ""),
    "empty line before the names": ("\n" + GOOD, 3, "the first line is empty"),
    "nothing": ("", 3, "t.csv"),
    "one line end": ("\n", 3, "t.csv"),
    "names alone": (HEAD, 3, "t.csv"),
    "no names": (ROWS, 3, "item"),
    "only commas": (",,\n,,\n", 3, "t.csv"),
    "a row of commas": (GOOD + ",,\n", 0, ""),
    "semicolons": (GOOD.replace(",", ";"), 3, "t.csv"),
    "tabs": (GOOD.replace(",", "\t"), 3, "t.csv"),
    "bars": (GOOD.replace(",", "|"), 3, "t.csv"),
    "a comma behind each row": (GOOD.replace("\n", ",\n"), 0, ""),
    "a row too long": (GOOD + "c,x,1,2\n", 3, "t.csv"),
    "a row too short": (GOOD + "c,x\n", 3, "t.csv"),
    "a quote that is not closed": (GOOD + 'c,"x,1\n', 3, "t.csv"),
    "a quote inside a cell": (GOOD + 'c"d,x,1\nc"d,y,1\n', 0, ""),
    "a line end inside quotes": (with_item("c\nd"), 0, ""),
    "single quotes": (GOOD.replace("a", "'a'"), 3, "rater"),
    "backslash before a quote": (GOOD + '"c\\"d",x,1\n', 0, ""),
    "names in capitals": (GOOD.replace("score", "SCORE"), 3, "score"),
    "names with spaces": (GOOD.replace("item,rater", "item, rater"), 3, "rater"),
    "a name twice": (GOOD.replace("rater", "item"), 3, "item"),
    "an empty name": (GOOD.replace("\n", ",\n"), 0, ""),
    "names twice in the middle": (GOOD + GOOD, 3, "score"),
    "a comment on top": ("# ratings\n" + GOOD, 3, "t.csv"),
    "sep= of Excel": ("sep=,\n" + GOOD, 0, ""),
    "a total below": (GOOD + "total,,6\n", 3, "t.csv"),
    "JSON": ('[{"item": "a", "rater": "x", "score": 1}]', 3, "t.csv"),
    "HTML": ("<html><body><table><tr><td>1</td></tr></table></body></html>", 3, "t.csv"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), 3, "t.csv"),
    "an archive": (b"PK\x03\x04" + bytes(60), 3, "t.csv"),
    "a NUL": (with_item("c\0d"), 3, "t.csv"),
    "NUL bytes behind": (GOOD.encode() + bytes(4096), 3, "t.csv"),
    "a form feed": (GOOD + "\f\n", 3, "t.csv"),
    "end of file of DOS": (GOOD + "\x1a", 3, "t.csv"),
    "score with a comma": (with_score("1,5"), 3, "1,5"),
    "score with a point": (with_score("1.5"), 3, "1.5"),
    "score as a decimal": (with_score("2.0"), 0, ""),
    "score in words": (with_score("two"), 3, "two"),
    "score of other digits": (with_score("٣"), 3, "t.csv"),
    "score of full width": (with_score("３"), 3, "t.csv"),
    "score in scientific notation": (with_score("1e0"), 0, ""),
    "score in hexadecimal": (with_score("0x1"), 3, "0x1"),
    "score with an underscore": (with_score("1_0"), 3, "1_0"),
    "score with a plus": (with_score("+1"), 0, ""),
    "score beyond the scale": (with_score("5"), 3, "5"),
    "score below the scale": (with_score("-1"), 3, "-1"),
    "score that is true": (with_score("true"), 3, "true"),
    "score that is infinite": (with_score("inf"), 3, "inf"),
    "score that is no number": (with_score("nan"), 3, "nan"),
    "score that is missing": (with_score("NA"), 3, "NA"),
    "score that is empty": (with_score(""), 0, ""),
    "a formula": (with_score("=1+1"), 3, "=1+1"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_strange_table_is_read_or_refused_in_words(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    content, status, message = TABLES[name]
    write_study(tmp_path, "t.csv")
    (tmp_path / "t.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    done = CliRunner().invoke(app, ["check", "s.toml"])
    assert done.exit_code == status, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert all(character == "\n" or character.isprintable() for character in done.stderr)


def test_a_broken_row_leaves_no_trace_on_the_terminal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)
    write_study(tmp_path, "t.csv")
    (tmp_path / "t.csv").write_bytes((GOOD + "é,x,1,1\n").encode("latin-1"))
    assert CliRunner().invoke(app, ["check", "s.toml"]).exit_code == 3
    assert reported == []
    assert sys.unraisablehook == reported.append

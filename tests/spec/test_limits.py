"""Specs that are larger, deeper or more wrong than any person writes: refused at once."""

import json

import pytest
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.errors import MAX_PRINTED, SpecError
from sharpbayes.spec.load import MAX_BYTES, load, load_study
from sharpbayes.spec.study import Study

HEAD = 'schema = "sharpbayes/study/2"\ntitle = "T"\n'
DEEP = "tables and arrays are nested too deeply"
MANY = "more than 50,000 keys and values"
LONG = "not valid TOML: a number of more than 4,300 digits"
REFUSED = {
    "a number of 4,301 digits": (f"seed = {'9' * 4301}", f":3: {LONG}"),
    "a dotted key of a hundred thousand parts": (f"a{'.a' * 100_000} = 1", f": {DEEP}"),
    "quoted parts": (f'"a"{chr(46)}{chr(34)}b"{".c" * 50_000} = 1', f": {DEEP}"),
    "spaces around the parts": (f"a{' . a' * 50_000} = 1", f": {DEEP}"),
    "a header of a hundred thousand parts": (f"[{'a.' * 100_000}a]", f": {DEEP}"),
    "arrays in arrays": (f"a = {'[' * 100_000}", f": {DEEP}"),
    "tables in tables": (f"a = {'{b=' * 100_000}", f": {DEEP}"),
    "many values": (f"a = [{'1,' * 60_000}]", f": {MANY}"),
    "many tables": ("[[a]]\n" * 60_000, f": {MANY}"),
    "many bytes": (
        "#" * MAX_BYTES,
        f": {MAX_BYTES + len(HEAD):,} bytes, a file may have {MAX_BYTES:,}",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_file_is_refused_in_a_sentence(tmp_path, name):
    text, message = REFUSED[name]
    path = tmp_path / "s.toml"
    path.write_text(HEAD + text, encoding="utf-8")
    with pytest.raises(SpecError) as raised:
        load(path, Study)
    assert str(raised.value) == f"{path}{message}"


@pytest.mark.parametrize(
    "text", ["9" * 90_000 + ".5", "0x" + "f" * 90_000, '"' + "\\u0041" * 90_000 + '"']
)
def test_long_values_are_cut_in_messages(tmp_path, text):
    path = tmp_path / "s.toml"
    path.write_text(f"{HEAD}seed = {text}\n", encoding="utf-8")
    with pytest.raises(SpecError) as raised:
        load(path, Study)
    assert len(str(raised.value)) < 500


def test_a_long_number_on_the_command_line():
    with pytest.raises(SpecError) as raised:
        load_study("quickstart", overrides=(f"seed={'9' * 4301}",))
    assert "seed: found '9999" in str(raised.value)


def test_a_key_as_long_as_a_file_is_cut(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text(f"{HEAD}{'k' * 500_000} = 1\n", encoding="utf-8")
    with pytest.raises(SpecError) as raised:
        load(path, Study)
    assert len(str(raised.value)) < 2000


def test_of_many_unknown_keys_twenty_are_printed_and_all_are_in_the_document(tmp_path):
    count, path = 3000, tmp_path / "s.toml"
    keys = "".join(f"k{number} = 1\n" for number in range(count))
    path.write_text(f"{HEAD}seed = 1\n{keys}", encoding="utf-8")
    done = CliRunner().invoke(app, ["check", str(path), "--json"])
    assert done.exit_code == 2
    lines = done.stderr.splitlines()
    unknown = [line for line in lines if ": unknown key, allowed are " in line]
    assert len(unknown) == MAX_PRINTED
    start = "unknown key, allowed are schema, title, weights, seed, pa..."
    assert lines[-1] == f"{path}: {count - MAX_PRINTED:,} more like {start!r}; --json has all"
    error = json.loads(done.stdout)["error"]
    assert error["status"] == 2
    assert error["message"] == done.stderr.rstrip("\n")
    names = [entry["key"] for entry in error["diagnostics"] if "unknown" in entry["message"]]
    assert names == [f"k{number}" for number in range(count)]
    assert error["diagnostics"][-1]["line"] == count + 3

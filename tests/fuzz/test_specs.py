"""Specs of any text: read, or refused with file, line and key."""

import json
import shutil
import tomllib
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharpbayes.library import folder
from sharpbayes.spec.load import load, load_study
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Study
from sharpbayes.spec.weights import Weights
from sharpbayes.workflows.check import check
from tests.fuzz.outcomes import fuzzed, outcome

KINDS = {"study": Study, "weights": Weights, "model": Model}
SHIPPED = {
    "study": sorted(folder("studies").glob("*.toml")),
    "weights": sorted(folder("weights").glob("*.toml")),
    "model": sorted(folder("models").glob("*.toml")),
}
BAD = sorted((Path(__file__).parents[1] / "spec" / "bad").glob("*.toml"))
STUDIES = [path.read_text(encoding="utf-8") for path in [*SHIPPED["study"], *BAD]]

HOSTILE = st.sampled_from(
    [
        0,
        -1,
        2,
        10**12,
        10**30,
        -(10**400),
        1e308,
        5e-324,
        float("nan"),
        float("-inf"),
        True,
        "",
        " ",
        "**",
        "*",
        "a" * 5000,
        "../" * 50,
        "x/\0.csv",
        "/dev/zero",
        "/dev/zero.toml",
        "[",
        "\u202e\x1b[31m",
        datetime(2026, 1, 1, tzinfo=UTC),
        [],
        {},
        [[]],
        {"": ""},
        [{"name": "x"}],
        {"kind": "ordinal", "min": 0, "max": 10**9},
        {"kind": "ordinal", "min": -(10**18), "max": 2},
        {"kind": "categorical", "levels": ["a", "a"]},
        {"data": "quickstart_crowd_raters.csv", "key": "rater"},
        {"mean": ["nobody"]},
    ]
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
# Copied, because a study made of them is changed in place.
VALUE = st.recursive(
    HOSTILE | TEXT | st.integers() | st.floats() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
).map(deepcopy)
TOKENS = (
    st.sampled_from(
        [
            "[",
            "]",
            "[[",
            "{",
            "}",
            "=",
            "\n",
            "\r",
            '"',
            "'",
            '"""',
            "'''",
            ".",
            ",",
            "#",
            "\\u0000",
            "\x00",
            "nan",
            "-inf",
            "1_000",
            "0x10",
            "1e999",
            "2026-01-01",
            "[" * 3000,
            "a." * 3000,
        ]
    )
    | TEXT
)
EDITS = st.lists(
    st.tuples(st.sampled_from(["cut", "put", "swap", "end", "twice"]), st.floats(0, 1), TOKENS),
    min_size=1,
    max_size=4,
)


def written(value):
    """Write a value as TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {written(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str):
        return json.dumps(value).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool | float) else str(value)


def document(tables):
    """Write a whole file, one key a line."""
    return "".join(f"{json.dumps(key)} = {written(value)}\n" for key, value in tables.items())


def edited(text, edits):
    """Cut, add, swap and repeat at the given places."""
    for kind, share, token in edits:
        offset = int(share * len(text))
        line = text[offset:].split("\n", 1)[0]
        text = {
            "cut": text[:offset] + text[offset + max(1, len(token)) :],
            "put": text[:offset] + token + text[offset:],
            "swap": text[:offset] + token + text[offset + len(line) :],
            "end": text[:offset],
            "twice": text[:offset] + line + "\n" + text[offset:],
        }[kind]
    return text


def places(value, path=()):
    """Every path inside a document."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*path, key)
            yield from places(inner, (*path, key))


@st.composite
def with_hostile_value(draw):
    """A shipped study with one to three values replaced, added or left out."""
    tables = tomllib.loads(draw(st.sampled_from(STUDIES[:2])))
    for _ in range(draw(st.integers(1, 3))):
        *outer, last = draw(st.sampled_from(sorted(places(tables), key=str)))
        table = tables
        for key in outer:
            table = table[key]
        action = draw(st.sampled_from(["set", "set", "set", "add", "drop"]))
        if action == "set":
            table[last] = draw(VALUE)
        elif action == "drop" and isinstance(table, dict):
            del table[last]
        elif isinstance(table, dict):
            table[draw(TEXT)] = draw(VALUE)
    return document(tables)


@pytest.fixture(scope="module")
def beside(tmp_path_factory):
    """A folder with the data of the shipped studies and nothing else."""
    base = tmp_path_factory.mktemp("studies")
    for path in folder("studies").glob("*.csv"):
        shutil.copy(path, base)
    return base


def judged(base, text):
    """Read a study and its data, or be told what is wrong."""
    path = base / "s.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    where = [str(base), "sharpbayes", ".toml"]
    files = outcome(lambda: load_study(path), place=where)
    if files is not None:
        outcome(lambda: check(files), place=where)


@fuzzed
@given(text=with_hostile_value())
def test_hostile_values_in_a_study(beside, text):
    judged(beside, text)


@fuzzed
@given(text=st.sampled_from(STUDIES), edits=EDITS)
def test_edited_studies(beside, text, edits):
    judged(beside, edited(text, edits))


@fuzzed
@given(tables=st.dictionaries(TEXT | st.sampled_from(["schema", "panel", "crowd"]), VALUE))
def test_random_toml(beside, tables):
    judged(beside, document(tables))


@fuzzed
@given(text=st.binary(max_size=200))
def test_random_bytes(beside, text):
    judged(beside, text)


@fuzzed
@given(data=st.data(), kind=st.sampled_from(["weights", "model"]), edits=EDITS)
def test_edited_weights_and_models(beside, data, kind, edits):
    shipped = data.draw(st.sampled_from(SHIPPED[kind])).read_text(encoding="utf-8")
    path = beside / f"{kind}.toml"
    path.write_bytes(edited(shipped, edits).encode())
    outcome(lambda: load(path, KINDS[kind]), place=[str(path)])


@fuzzed
@given(
    key=st.sampled_from(["seed", "panel", "panel.data", "bootstrap.replicates", "a.b.c"]) | TEXT,
    value=VALUE.map(written) | TEXT,
)
def test_overrides(key, value):
    outcome(
        lambda: check(load_study("quickstart", overrides=(f"{key}={value}",))),
        place=["--set", "quickstart", str(folder("studies"))],
    )


# Three thousand studies in all, each time the same; those of the default tier are others.
many = settings(fuzzed, max_examples=1000, derandomize=True)


@pytest.mark.slow
@many
@given(text=with_hostile_value())
def test_many_hostile_values_in_a_study(beside, text):
    judged(beside, text)


@pytest.mark.slow
@many
@given(text=st.sampled_from(STUDIES), edits=EDITS)
def test_many_edited_studies(beside, text, edits):
    judged(beside, edited(text, edits))


@pytest.mark.slow
@many
@given(tables=st.dictionaries(TEXT | st.sampled_from(["schema", "panel", "crowd"]), VALUE))
def test_many_random_studies(beside, tables):
    judged(beside, document(tables))

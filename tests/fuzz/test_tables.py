"""Data files of any bytes: the cells that stand there, or a refusal that names the file."""

import csv
import io
import json
from math import isnan

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from sharpbayes.data.crowd import read_crowd
from sharpbayes.data.panel import read_panel
from sharpbayes.data.readers.formats import read_table
from sharpbayes.spec.crowd import Crowd
from sharpbayes.spec.panel import Panel
from tests.fuzz.outcomes import fuzzed, outcome

CELL = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    [
        "",
        " ",
        "NA",
        "nan",
        "null",
        "1",
        "1.0",
        "01",
        "1e3",
        "1,000",
        "1_0",
        "٣",
        "-0",
        "inf",
        "True",
        '"',
        'a"b',
        "a\nb",
        "a\r\nb",
        "\r",
        "\x00",
        "\ufeff",
        "=1+1",
        "#",
        "\u2028",
        "\x1b[2J",
        "é",
    ]
)
NAME = st.sampled_from(["i", "r", "s", "g"]) | CELL
TABLE = st.integers(1, 4).flatmap(
    lambda width: st.tuples(
        st.lists(NAME, min_size=width, max_size=width),
        st.lists(st.lists(CELL, min_size=width, max_size=width), max_size=6),
    )
)
ENCODING = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32-be", "latin-1", "cp1252"])
LINE_END = st.sampled_from(["\n", "\r\n", "\r"])
QUOTING = st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
CROWD = TypeAdapter(Crowd).validate_python(
    {
        "data": "t.csv",
        "roles": {"item": "i", "rater": "r", "score": "s"},
        "scale": {"kind": "ordinal", "min": 0, "max": 10},
        "groups": [["g"]],
        "labels": {"from": "crowd", "cut": 1},
    }
)
PANEL = TypeAdapter(Panel).validate_python(
    {
        "data": "t.csv",
        "layout": "wide",
        "roles": {"model": "i", "prompt": "r", "judge": "g"},
        "scales": {"ten": {"kind": "ordinal", "min": 0, "max": 10}},
        "indicators": {"s": "ten"},
        "dimensions": [{"name": "d", "rms": ["s"]}],
    }
)


def rendered(header, rows, *, line_end="\n", quoting=csv.QUOTE_ALL):
    """A table as CSV by Python's own writer."""
    text = io.StringIO()
    csv.writer(text, lineterminator=line_end, quoting=quoting).writerows([header, *rows])
    return text.getvalue()


def read(base, name):
    """Read a file of the folder, or be told what is wrong with it."""
    return outcome(lambda: read_table(base, name), place=[str(base / name)])


def as_lists(table):
    """Header and rows."""
    return [str(name) for name in table.columns], table.to_numpy().tolist()


@fuzzed
@given(table=TABLE, line_end=LINE_END, quoting=QUOTING)
def test_csv_gives_the_cells_that_were_written(tmp_path, table, line_end, quoting):
    header, rows = table
    text = rendered(header, rows, line_end=line_end, quoting=quoting)
    (tmp_path / "t.csv").write_bytes(text.encode())
    cells_read = read(tmp_path, "t.csv")
    if cells_read is not None:
        if text.startswith("\ufeff"):  # it stands for the order of bytes, not for itself
            header = [header[0].removeprefix("\ufeff"), *header[1:]]
        # A row without any cell is left out.
        assert as_lists(cells_read) == (header, [row for row in rows if any(row)])


@fuzzed
@given(header=st.lists(NAME, max_size=4), rows=st.lists(st.lists(CELL, max_size=6), max_size=5))
def test_ragged_csv_is_never_shifted(tmp_path, header, rows):
    (tmp_path / "t.csv").write_bytes(rendered(header, rows).encode())
    table = read(tmp_path, "t.csv")
    if table is not None:
        filled = [row for row in rows if any(row)]
        assert as_lists(table) == (header, filled)


@fuzzed
@given(table=TABLE, encoding=ENCODING, suffix=st.sampled_from([".csv", ".jsonl", ".parquet", ".x"]))
def test_encodings_and_wrong_endings(tmp_path, table, encoding, suffix):
    header, rows = table
    path = tmp_path / f"t{suffix}"
    path.write_bytes(rendered(header, rows).encode(encoding, errors="replace"))
    cells_read = read(tmp_path, path.name)
    marked = encoding == "utf-8" and path.read_bytes().startswith(b"\xef\xbb\xbf")
    if cells_read is not None and encoding.startswith("utf-8") and not marked:
        assert as_lists(cells_read) == (table[0], [row for row in table[1] if any(row)])


@fuzzed
@given(content=st.binary(max_size=300), suffix=st.sampled_from([".csv", ".jsonl", ".parquet"]))
def test_random_bytes(tmp_path, content, suffix):
    (tmp_path / f"t{suffix}").write_bytes(content)
    read(tmp_path, f"t{suffix}")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | CELL,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(CELL, inner, max_size=2),
    max_leaves=3,
)


def flat(value, name):
    """The entries of a JSON value by the names of their columns."""
    if not isinstance(value, dict) or not value:
        return {name: value}
    entries = {}
    for key, inner in value.items():
        entries |= flat(inner, f"{name}.{key}")
    return entries


def as_cell(value):
    """A JSON value as the text that a cell holds."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


@fuzzed
@given(rows=st.lists(st.fixed_dictionaries({"i": JSON, "s": JSON}), min_size=1, max_size=4))
def test_jsonl_gives_the_values_that_were_written(tmp_path, rows):
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (tmp_path / "t.jsonl").write_text(text, encoding="utf-8", newline="")
    table = read(tmp_path, "t.jsonl")
    if table is not None:
        flattened = [flat(row["i"], "i") | flat(row["s"], "s") for row in rows]
        names = dict.fromkeys(name for row in flattened for name in row)
        assert {*table.columns} == {*names}
        for name in names:
            assert table[name].tolist() == [as_cell(row.get(name)) for row in flattened]


ARROW = st.sampled_from(
    [
        pa.int64(),
        pa.float64(),
        pa.string(),
        pa.list_(pa.int64()),
        pa.struct([("x", pa.int64())]),
        pa.bool_(),
        pa.dictionary(pa.int32(), pa.string()),
    ]
)


def arrow_values(kind):
    """Values that a column of a kind can hold."""
    if pa.types.is_dictionary(kind) or pa.types.is_string(kind):
        plain = CELL
    elif pa.types.is_list(kind):
        plain = st.lists(st.integers(0, 9), max_size=2)
    elif pa.types.is_struct(kind):
        plain = st.fixed_dictionaries({"x": st.integers(0, 9)})
    elif pa.types.is_boolean(kind):
        plain = st.booleans()
    else:
        plain = st.integers(-(2**62), 2**62) if kind == pa.int64() else st.floats()
    return st.none() | plain


@fuzzed
@given(data=st.data(), names=st.lists(NAME, min_size=1, max_size=3), rows=st.integers(0, 4))
def test_parquet_gives_the_values_that_were_written(tmp_path, data, names, rows):
    columns = []
    for _ in names:
        kind = data.draw(ARROW)
        values = data.draw(st.lists(arrow_values(kind), min_size=rows, max_size=rows))
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        columns.append((values, pa.array(values, plain).cast(kind) if plain != kind else plain))
    arrays = [c if isinstance(c, pa.Array) else pa.array(v, c) for v, c in columns]
    pq.write_table(pa.Table.from_arrays(arrays, names), tmp_path / "t.parquet")
    for compact in (False, True):
        table = outcome(
            lambda: read_table(tmp_path, "t.parquet", compact=compact),  # noqa: B023
            place=[str(tmp_path / "t.parquet")],
        )
        if table is not None:
            kinds = [field.type for field in pq.read_schema(tmp_path / "t.parquet")]
            cells = [
                [f"({kind})"] * rows if pa.types.is_nested(kind) else map(as_cell, values)
                for kind, (values, _) in zip(kinds, columns, strict=True)
            ]
            expected = [list(row) for row in zip(*cells, strict=True)]
            assert as_lists(table.astype(object)) == (names, expected)


@fuzzed
@given(where=st.floats(0, 0.9999), how=st.sampled_from(["cut", "flip"]), bit=st.integers(0, 7))
def test_damaged_parquet(tmp_path, where, how, bit):
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame({"i": ["a", "b"], "r": ["x", "y"], "g": "w", "s": [1, 2]})
    frame.to_parquet(path)
    content = bytearray(path.read_bytes())
    offset = int(where * len(content))
    if how == "cut":
        del content[offset:]
    else:
        content[offset] ^= 1 << bit
    path.write_bytes(content)
    loads(tmp_path, "t.parquet")


def loads(base, name):
    """Read a file as a crowd and as a panel."""
    where = [str(base / name)]
    crowd = outcome(lambda: read_crowd(CROWD.model_copy(update={"data": name}), base), place=where)
    panel = outcome(
        lambda: read_panel(PANEL.model_copy(update={"data": name}), base).to_dataset(), place=where
    )
    return crowd, panel


SCORE = st.sampled_from(
    ["0", "1", "2", "10", " 3 ", "3.0", "", "1_0", "٣", "1,0", "0x1", "nan", "11"]
)
LABEL = st.sampled_from(["a", "b", "1", "2", "10", "nan", "NA", "é", "1.0", "=x"]) | CELL


@fuzzed
@given(
    rows=st.lists(st.tuples(LABEL, LABEL, SCORE), min_size=1, max_size=8),
    order=st.randoms(use_true_random=False),
)
def test_what_is_loaded_is_what_stands_there_in_any_order(tmp_path, rows, order):
    plain = {"0": 0, "1": 1, "2": 2, "10": 10, "3": 3, "3.0": 3}
    panels = []
    for _ in range(2):
        (tmp_path / "t.csv").write_text(
            rendered("irsg", [(*row, "w") for row in rows]), encoding="utf-8", newline=""
        )
        crowd, panel = loads(tmp_path, "t.csv")
        expected = {(i, r): plain[s.strip()] for i, r, s in rows if s.strip() in plain}
        if crowd is not None:
            keys = [
                (crowd.item.labels[i], crowd.rater.labels[r])
                for i, r in zip(crowd.item.codes, crowd.rater.codes, strict=True)
            ]
            assert dict(zip(keys, crowd.score.tolist(), strict=True)) == expected
        if panel is not None:
            level = panel["score"].squeeze(["judge", "indicator"])
            scores = {
                (str(m), str(p)): int(level.sel(model=m, prompt=p))
                for m in level["model"].values
                for p in level["prompt"].values
            }
            assert {key: value for key, value in scores.items() if value >= 0} == expected
            panels.append(panel)
        order.shuffle(rows)
    assert not panels or panels[0].identical(panels[1])


def test_a_million_columns_are_refused_at_once(tmp_path):
    names = ",".join(f"c{number}" for number in range(1_000_000))
    (tmp_path / "t.csv").write_text(f"{names}\n{names}\n")
    assert read(tmp_path, "t.csv") is None
    loads(tmp_path, "t.csv")


@pytest.mark.parametrize("kind", [".csv", ".jsonl", ".parquet"])
def test_an_empty_file(tmp_path, kind):
    (tmp_path / f"t{kind}").write_bytes(b"")
    assert read(tmp_path, f"t{kind}") is None

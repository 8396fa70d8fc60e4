"""Tables of all kinds read to the same ratings; what cannot be placed is a fault with its rows."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from pydantic import TypeAdapter

from sharpbayes.data.columns import sort_labels
from sharpbayes.data.crowd import melt_crowd, read_crowd
from sharpbayes.data.panel import find_reversed, melt_panel, read_panel, tabulate_normalised
from sharpbayes.data.panel_ratings import PanelRatings
from sharpbayes.data.readers.formats import read_table
from sharpbayes.errors import DataError
from sharpbayes.spec.crowd import Crowd
from sharpbayes.spec.panel import Panel

WIDE = pd.DataFrame(
    {
        "m": ["x", "x", "y", "y", "x", "x", "y", "y"],
        "p": ["1", "10", "1", "10"] * 2,
        "j": ["j"] * 4 + ["k"] * 4,
        "sev": ["1", "3", "", "2", "1", "1", "3", "2"],
        "good": ["yes", "No", "TRUE", "0", "1", "false", "true", "no"],
        "kind": ["a", "b", "a", "b"] * 2,
    }
)
PANEL = {
    "data": "t.csv",
    "layout": "wide",
    "roles": {"model": "m", "prompt": "p", "judge": "j", "category": "kind"},
    "scales": {
        "severity": {"kind": "ordinal", "min": 1, "max": 3},
        "flag": {"kind": "boolean"},
    },
    "indicators": {"sev": "severity", "good": {"scale": "flag", "reverse": True}},
    "dimensions": [{"name": "d", "rms": ["sev", "good"]}],
}
CROWD = {
    "data": "t.csv",
    "roles": {"item": "i", "rater": "r", "score": "s"},
    "scale": {"kind": "ordinal", "min": 0, "max": 2},
    "groups": [["g"]],
    "labels": {"from": "crowd", "cut": 1},
}
ROWS = pd.DataFrame(
    {
        "i": ["1", "1", "2", "2", "10", "10"],
        "r": ["a", "b", "a", "b", "a", "b"],
        "s": ["0", "2", "1", "", "2", "2"],
        "g": ["w", "m", "w", "m", "w", "m"],
    }
)


def panel(**more):
    return TypeAdapter(Panel).validate_python(PANEL | more)


def crowd(**more):
    return TypeAdapter(Crowd).validate_python(CROWD | more)


def write(folder, table, name="t.csv"):
    if name.endswith(".csv"):
        table.to_csv(folder / name, index=False)
    elif name.endswith(".parquet"):
        table.to_parquet(folder / name)
    else:
        table.to_json(folder / name, orient="records", lines=True)
    return folder


def fault(call, folder):
    with pytest.raises(DataError) as caught:
        call()
    return str(caught.value).replace(f"{folder}/", "")


def long_form():
    melted = WIDE.melt(["m", "p", "j", "kind"], ["sev", "good"], "what", "score")
    roles = PANEL["roles"] | {"indicator": "what", "score": "score"}
    return melted, panel(layout="long", roles=roles)


def test_a_wide_table_by_hand(tmp_path):
    levels = read_panel(panel(), write(tmp_path, WIDE)).to_dataset()
    assert levels["prompt"].values.tolist() == ["1", "10"]
    assert levels["category"].values.tolist() == ["a", "b"]
    sev = levels["score"].sel(indicator="sev", judge="j")
    assert sev.values.tolist() == [[0, 2], [-1, 1]]
    good = levels["score"].sel(indicator="good", judge="k")
    assert good.values.tolist() == [[1, 0], [1, 0]]
    assert levels.attrs == {"ratings": 15, "missing": 1, "absent": 0}


def test_long_and_wide_are_the_same(tmp_path):
    wide = read_panel(panel(), write(tmp_path, WIDE)).to_dataset()
    table, spec = long_form()
    xr.testing.assert_identical(read_panel(spec, write(tmp_path, table)).to_dataset(), wide)


@pytest.mark.parametrize("name", ["t.parquet", "t.jsonl"])
def test_every_kind_of_file_is_the_same(tmp_path, name):
    expected = read_panel(panel(), write(tmp_path, WIDE)).to_dataset()
    native = WIDE.assign(
        p=WIDE["p"].astype(int),
        sev=pd.to_numeric(WIDE["sev"]),
        good=WIDE["good"].str.lower().isin(["yes", "true", "1"]),
    )
    found = read_panel(panel(data=name), write(tmp_path, native, name)).to_dataset()
    xr.testing.assert_identical(found, expected)


def test_the_order_of_rows_changes_nothing(tmp_path):
    expected = read_panel(panel(), write(tmp_path, WIDE)).to_dataset()
    shuffled = WIDE.sample(frac=1, random_state=3)
    xr.testing.assert_identical(
        read_panel(panel(), write(tmp_path, shuffled)).to_dataset(), expected
    )


def test_files_that_a_pattern_matches_are_joined(tmp_path):
    write(tmp_path, WIDE[:3], "t1.csv")
    write(tmp_path, WIDE[3:], "t2.csv")
    expected = read_panel(panel(), write(tmp_path, WIDE)).to_dataset()
    xr.testing.assert_identical(read_panel(panel(data="t?.csv"), tmp_path).to_dataset(), expected)


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    (tmp_path / "t.csv").write_text("\ufeffa,b\nNA,None\n", encoding="utf-8")
    assert read_table(tmp_path, "t.csv").to_dict("list") == {"a": ["NA"], "b": ["None"]}


def test_only_the_judges_that_are_named(tmp_path):
    write(tmp_path, WIDE)
    assert read_panel(panel(judges=["k"]), tmp_path).to_dataset()["judge"].values.tolist() == ["k"]
    assert fault(lambda: read_panel(panel(judges=["kk"]), tmp_path).to_dataset(), tmp_path) == (
        "t.csv: j: no judge 'kk', there are j, k; did you mean 'k'?"
    )


def test_a_higher_level_means_more_harm_in_long_form(tmp_path):
    levels = read_panel(panel(), write(tmp_path, WIDE)).to_dataset()
    ratings = melt_panel(PanelRatings.from_dataset(levels), panel())
    assert ratings.scales == {"severity": ("1", "2", "3"), "flag_reversed": ("true", "false")}
    good = ratings.factors["scale"].codes == 1
    # the flags of the table in order of model, prompt, judge: yes, 1, No, false, TRUE, true, 0, no
    assert ratings.score[good].tolist() == [0, 0, 1, 1, 0, 0, 1, 1]
    assert len(ratings.score) == 15


def test_reversal_can_depend_on_the_prompt(tmp_path):
    spec = panel(
        indicators={"sev": {"scale": "severity", "reverse": {"kind": "b"}}},
        dimensions=[{"name": "d", "rms": ["sev"]}],
    )
    levels = read_panel(spec, write(tmp_path, WIDE)).to_dataset()
    assert find_reversed(spec, levels).values.tolist() == [[False, True]]
    assert set(melt_panel(PanelRatings.from_dataset(levels), spec).scales) == {
        "severity",
        "severity_reversed",
    }


def test_phi_of_every_level(tmp_path):
    levels = read_panel(panel(), write(tmp_path, WIDE)).to_dataset()
    np.testing.assert_array_equal(
        tabulate_normalised(panel(), levels), [[0, 0.5, 1], [0, 1, np.nan]]
    )


PANEL_FAULTS = {
    "off the scale": (
        lambda t: t.assign(sev=["1", "9", "", "x", "1", "2.5", "3", "2"]),
        "t.csv: sev: 3 values off the scale (allowed: 1, 2, 3): rows 2, 4, 6; the first is '9'",
    ),
    "neither yes nor no": (
        lambda t: t.assign(good=["maybe", *t["good"][1:]]),
        "t.csv: good: 1 value off the scale (allowed: false, true): row 1; the first is 'maybe'",
    ),
    "repeated cell": (
        lambda t: pd.concat([t, t[2:3]]),
        "t.csv: m, p, j: 1 row repeat a cell: row 9; the first is m 'y', p '1', j 'j'",
    ),
    "empty label": (
        lambda t: t.assign(m=["", *t["m"][1:]]),
        "t.csv: m: 1 empty cell where a label is needed: row 1",
    ),
    "column not there": (
        lambda t: t.rename(columns={"j": "jj", "good": "goods"}),
        "t.csv: good: no such column for indicator good, the columns are m, p, jj, sev, goods, "
        "kind; did you mean 'goods'?\n"
        "t.csv: j: no such column for judge, the columns are m, p, jj, sev, goods, kind; "
        "did you mean 'jj'?",
    ),
    "prompt of two kinds": (
        lambda t: t.assign(kind=["b", *t["kind"][1:]]),
        "t.csv: kind: 1 prompt with more than one value: 1",
    ),
    "no rows": (lambda t: t[:0], "t.csv: no rows"),
}


@pytest.mark.parametrize("name", PANEL_FAULTS)
def test_a_fault_of_a_panel_in_these_words(tmp_path, name):
    change, expected = PANEL_FAULTS[name]
    write(tmp_path, change(WIDE))
    found = fault(lambda: read_panel(panel(), tmp_path).to_dataset(), tmp_path)
    assert sorted(found.splitlines()) == sorted(expected.splitlines())


FILES = {
    "not there": ("judgements.txt", "a,b\n1,2\n", "t.csv: no such file"),
    "near": ("t2.csv", "a,b\n1,2\n", "t.csv: no such file; did you mean 't2.csv'?"),
    "two columns of one name": (
        "t.csv",
        "a,b,a\n1,2,3\n",
        "t.csv:1: 1 column names stand more than once: a",
    ),
    "nothing": ("t.csv", "", "t.csv:1: the first line is empty, it must name the columns"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_fault_of_a_file_in_these_words(tmp_path, name):
    file, text, expected = FILES[name]
    (tmp_path / file).write_text(text, encoding="utf-8")
    assert fault(lambda: read_table(tmp_path, "t.csv"), tmp_path) == expected


def test_an_unknown_kind_of_file_is_refused(tmp_path):
    (tmp_path / "t.xlsx").write_text("")
    assert fault(lambda: read_table(tmp_path, "t.xlsx"), tmp_path) == (
        "t.xlsx: unknown kind of file '.xlsx', allowed are .csv, .parquet, .jsonl"
    )


def test_a_line_that_is_no_object_is_named(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n[2]\n')
    assert fault(lambda: read_table(tmp_path, "t.jsonl"), tmp_path) == (
        "t.jsonl:2: not a JSON object"
    )


def test_a_crowd_by_hand(tmp_path):
    data = read_crowd(crowd(), write(tmp_path, ROWS))
    assert data.item.labels == ("1", "2", "10")
    assert data.score.tolist() == [0, 2, 1, 2, 2]
    assert data.counts == {"ratings": 5, "missing": 1, "repeated": 0, "labels": 0}
    ratings = melt_crowd(data, crowd())
    assert ratings.factors["group:g"].labels == ("m", "w")
    assert ratings.factors["group:g"].codes.tolist() == [1, 0, 1, 1, 0]


def test_bins_hold_their_lower_end(tmp_path):
    table = ROWS.assign(s=["0", "19.9", "20", "59", "60", "100"])
    data = read_crowd(crowd(scale={"bins": [20, 60]}), write(tmp_path, table))
    assert data.score.tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(("rule", "kept"), [("first", 0), ("last", 1)])
def test_repeated_ratings_are_refused_or_dropped(tmp_path, rule, kept):
    write(tmp_path, pd.concat([ROWS, ROWS[:1].assign(s="1")]))
    assert fault(lambda: read_crowd(crowd(), tmp_path), tmp_path) == (
        "t.csv: i, r: 1 row repeat a rating of an item by a rater: row 7; the first is i '1', r 'a'"
    )
    data = read_crowd(crowd(duplicates=rule), tmp_path)
    assert (int(data.score[0]), data.counts["repeated"]) == (kept, 1)


def test_side_tables_are_joined_on_their_key(tmp_path):
    write(tmp_path, ROWS.drop(columns="g"))
    write(tmp_path, pd.DataFrame({"r": ["b", "a"], "g": ["m", ""]}), "side.csv")
    spec = crowd(raters={"data": "side.csv", "key": "r"})
    assert read_crowd(spec, tmp_path).rater_columns["g"].tolist() == ["", "m"]


SIDE_FAULTS = {
    "rater without a row": ({"r": ["a"], "g": ["w"]}, "side.csv: r: 1 rater without a row here: b"),
    "repeated key": (
        {"r": ["a", "b", "a"], "g": ["w", "m", "w"]},
        "side.csv: r: 1 row repeat a key: row 3; the first is r 'a'",
    ),
    "no such column": (
        {"r": ["a", "b"], "gg": ["w", "m"]},
        "t.csv: g: no such column of raters, the columns are i, r, s, r, gg; did you mean 'gg'?",
    ),
}


@pytest.mark.parametrize("name", SIDE_FAULTS)
def test_a_fault_of_a_side_table_in_these_words(tmp_path, name):
    side, expected = SIDE_FAULTS[name]
    write(tmp_path, ROWS.drop(columns="g"))
    write(tmp_path, pd.DataFrame(side), "side.csv")
    spec = crowd(raters={"data": "side.csv", "key": "r"})
    assert fault(lambda: read_crowd(spec, tmp_path), tmp_path) == expected


def test_labels_of_experts_for_items_that_were_rated(tmp_path):
    write(tmp_path, ROWS)
    experts = pd.DataFrame(
        {"item": ["2", "1", "99"], "expert": ["e"] * 3, "label": ["1", "no", "1"]}
    )
    write(tmp_path, experts, "experts.csv")
    data = read_crowd(crowd(labels={"from": "experts", "data": "experts.csv"}), tmp_path)
    # In the order of items and experts, whatever that of the file.
    assert data.expert_item.tolist() == [0, 1]
    assert data.expert_label.tolist() == [0, 1]
    write(tmp_path, experts.assign(item="x", expert=["e", "f", "g"]), "experts.csv")
    spec = crowd(labels={"from": "experts", "data": "experts.csv"})
    assert fault(lambda: read_crowd(spec, tmp_path), tmp_path) == (
        "experts.csv: item: no item here was rated by the crowd"
    )


def test_labels_from_a_column_of_items(tmp_path):
    write(tmp_path, ROWS.assign(gold=["1", "1", "0", "0", "", ""]))
    data = read_crowd(crowd(labels={"from": "item", "column": "gold"}), tmp_path)
    assert data.item_label.tolist() == [1, 0, -1]


def test_labels_sort_by_size_only_if_all_are_numbers():
    assert sort_labels(["10", "9", "x"]) == ["10", "9", "x"]

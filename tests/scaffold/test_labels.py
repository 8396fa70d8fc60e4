"""Columns that ``init`` takes for labels of items, and what it says of those with mistakes."""

import tomllib

import pandas as pd
import pytest

from sharpbayes.errors import DataError
from sharpbayes.scaffold.study_file import write_study
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.check import check


def ratings(unsafe):
    """Ratings of 20 items by 6 raters, with a label of each item and rater."""
    rows = [(f"i{item}", f"r{rater}", item, rater) for item in range(20) for rater in range(6)]
    table = pd.DataFrame(rows, columns=["item", "rater", "number", "person"])
    table["score"] = (table["number"] + table["person"]) % 4
    table["team"] = (table["person"] % 2).map({0: "A", 1: "B"})
    table["unsafe"] = [unsafe(item, rater) for _, _, item, rater in rows]
    return table.drop(columns=["number", "person"])


def start(folder, table):
    table.to_csv(folder / "t.csv", index=False)
    draft = write_study(folder / "t.csv", folder / "t.toml")
    labels = tomllib.loads((folder / "t.toml").read_text(encoding="utf-8"))["crowd"]["labels"]
    (row,) = (row for row in draft.ledger if row.column == "unsafe")
    (assumption,) = (text for text in draft.assumptions if "unsafe" in text)
    return labels, f"{row.role}; {row.content}", assumption


def test_one_wrong_cell_leaves_a_column_of_labels_and_is_named(tmp_path):
    table = ratings(lambda item, rater: int(item % 2) if (item, rater) != (9, 3) else 0)
    labels, row, assumption = start(tmp_path, table)
    assert labels == {"from": "item", "column": "unsafe"}
    assert row == "label of items; 0, 1"
    cells = "'0' in row 59 and '1' elsewhere"
    assert assumption == (
        '"unsafe" is taken to say which items are unsafe (1), but it has two values for 1 item: '
        f"i9 has {cells}; put it right"
    )
    with pytest.raises(DataError) as raised:
        check(load_study(tmp_path / "t.toml"))
    assert str(raised.value).endswith(
        f"t.csv: unsafe: 1 item with more than one value: i9; {cells}"
    )


def test_a_column_of_safe_and_unsafe_labels_items(tmp_path):
    table = ratings(lambda item, _: "Unsafe" if item % 2 else "Safe")
    labels, row, assumption = start(tmp_path, table)
    assert labels == {"from": "item", "column": "unsafe"}
    assert row == "label of items; Safe, Unsafe"
    assert assumption == '"unsafe" is taken to say which items are unsafe (Unsafe)'
    assert check(load_study(tmp_path / "t.toml"))


# A column by what it has, and why it is no column of labels: in the ledger and in the assumption.
OTHERS = {
    "one value": (lambda *_: 1, "1 everywhere: says nothing", "has no other value than '1'"),
    "one value or none": (
        lambda item, _: "1" if item % 2 else "",
        "has no other value than '1': 1, some empty",
        "has no other value than '1'",
    ),
    "a rating": (
        lambda item, rater: (item + rater) % 2,
        "has two values for 20 items: i0 has '1' in rows 3, 5, 7 and '0' elsewhere: 0, 1",
        "has two values for 20 items: i0 has '1' in rows 3, 5, 7 and '0' elsewhere",
    ),
    "decimals": (
        lambda item, _: round(item * 1.37, 2),
        "has other values than yes and no: 20 numbers from 0.0 to 26.03",
        "has other values than yes and no",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_column_that_cannot_label_items_is_left_out_with_the_reason(tmp_path, name):
    values, content, problem = OTHERS[name]
    labels, row, assumption = start(tmp_path, ratings(values))
    assert labels["from"] == "crowd"
    assert row == f"not used; {content}"
    assert assumption.startswith(
        f'no column says which items are unsafe ("unsafe" {problem}): the other raters do, '
    )


def test_grades_label_items_by_their_upper_half(tmp_path):
    table = ratings(lambda item, _: ("high", "none", "low", "medium")[item % 4])
    labels, row, assumption = start(tmp_path, table)
    assert labels == {"from": "item", "column": "unsafe", "unsafe": ["medium", "high"]}
    assert row == "label of items; none, low, medium, high"
    assert assumption == '"unsafe" is taken to say which items are unsafe (medium, high)'
    check(load_study(tmp_path / "t.toml"))


def test_yes_and_no_label_items_before_grades(tmp_path):
    table = ratings(lambda item, _: item % 2).assign(severity=lambda t: t["item"].str[1:])
    table["severity"] = table["severity"].astype(int) % 4
    labels, *_ = start(tmp_path, table)
    assert labels == {"from": "item", "column": "unsafe"}


def test_severities_of_items_are_no_scores_of_raters(tmp_path):
    table = ratings(lambda item, _: item % 2).drop(columns="unsafe")
    words = ["Not at all harmful", "Slightly harmful", "Very harmful", "Extremely harmful"]
    table["How harmful is this?"] = table.pop("score").map(dict(enumerate(words)))
    table["severity_label"] = [("none", "low", "high")[int(name[1:]) % 3] for name in table["item"]]
    table["education_level"] = [int(name[1:]) % 3 for name in table["rater"]]
    table.to_csv(tmp_path / "t.csv", index=False)
    draft = write_study(tmp_path / "t.csv", tmp_path / "t.toml")
    crowd = tomllib.loads((tmp_path / "t.toml").read_text(encoding="utf-8"))["crowd"]
    assert crowd["roles"]["score"] == "How harmful is this?"
    assert crowd["scale"]["levels"] == words
    assert crowd["labels"]["column"] == "severity_label"
    assert any(text.startswith("no column is named as a score") for text in draft.assumptions)


def test_raters_who_always_agree_have_scores_all_the_same(tmp_path):
    table = ratings(lambda item, _: item % 2).assign(score=lambda t: t["item"].str[1:])
    table["score"] = table["score"].astype(int) % 4
    start(tmp_path, table)
    crowd = tomllib.loads((tmp_path / "t.toml").read_text(encoding="utf-8"))["crowd"]
    assert crowd["roles"]["score"] == "score"


def test_mixed_values_of_several_items_are_told_with_the_first(tmp_path):
    table = ratings(
        lambda item, rater: int(item % 2) if rater or item not in (4, 5) else 1 - item % 2
    )
    *_, assumption = start(tmp_path, table)
    assert "two values for 2 items: i4 has '1' in row 26 and '0' elsewhere" in assumption
    with pytest.raises(DataError, match="2 items with more than one value: i4, i5; i4 has '1' in"):
        check(load_study(tmp_path / "t.toml"))

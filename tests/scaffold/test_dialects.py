"""Files as people have them: init writes how each is read, with a CHECK, and check shows it."""

import tomllib

import pandas as pd
import pytest

from sharpbayes.errors import DataError
from sharpbayes.scaffold.study_file import write_study
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.check import check

WORDS = ["Not harmful", "Slightly harmful", "Very harmful"]


def judged(**more):
    rows = [(m, p, j) for m in ("Modèle A", "Größe") for p in range(8) for j in ("Jürgen", "gpt")]
    table = pd.DataFrame(rows, columns=["model", "prompt", "judge"])
    return table.assign(severity=[row % 9 / 2 + 1 for row in range(len(table))], **more)


def rated():
    rows = [
        (item, f"R{rater}", (item * 2 + rater * 3) % 5) for item in range(12) for rater in (1, 2, 3)
    ]
    return pd.DataFrame(rows, columns=["item", "rater", "score"])


def start(folder, name="data.csv"):
    draft = write_study(folder / name, folder / "study.toml")
    written = tomllib.loads(draft.text)
    return draft, written.get("panel") or written["crowd"], check(load_study(folder / "study.toml"))


def test_a_european_file_of_excel(tmp_path):
    judged().to_csv(tmp_path / "data.csv", sep=";", decimal=",", index=False, encoding="cp1252")
    draft, panel, summary = start(tmp_path)
    assert panel["dialect"] == {"delimiter": ";", "decimal": ",", "encoding": "windows-1252"}
    assert panel["scales"]["scale_1"] == {"kind": "ordinal", "min": 1, "max": 5, "step": 0.5}
    assert draft.assumptions[0] == (
        "cells are separated by ';'; the text is read as windows-1252, such as 'Modèle A'; "
        "'1,0' is read as 1.0"
    )
    assert f"# CHECK: {draft.assumptions[0]}" in draft.text.splitlines()
    file = "data.csv (delimiter ';', decimal ',', encoding 'windows-1252')"
    assert {row[0] for row in summary.columns} == {file}
    assert summary.labels["model"] == ("Größe", "Modèle A")
    assert summary.counts["ratings"] == 32


def test_an_encoding_that_no_text_shows_has_no_example(tmp_path):
    text = rated().to_csv(index=False)
    (tmp_path / "data.csv").write_bytes(text.encode("utf-16-le"))
    draft, _, _ = start(tmp_path)
    assert "the text is read as utf-16-le" in draft.assumptions


def test_the_missing_values_of_r(tmp_path):
    rated().assign(score=lambda t: t["score"].where(t.index != 5)).to_csv(
        tmp_path / "data.csv", sep=";", na_rep="NA", index_label="", quoting=2
    )
    draft, crowd, summary = start(tmp_path)
    assert crowd["dialect"] == {"delimiter": ";", "missing": ["NA"]}
    assert crowd["scale"] == {"kind": "ordinal", "min": 0, "max": 4}
    assert draft.assumptions[0] == (
        "cells are separated by ';'; "
        "'NA' is read as an empty cell in every column: \"score\", row 7: 'NA'"
    )
    assert summary.counts["missing"] == 1


def test_other_texts_among_the_numbers_of_a_score_are_named_with_their_rows(tmp_path):
    table = rated().astype({"score": object})
    table.loc[[4, 8], "score"] = "3?"
    table.to_csv(tmp_path / "data.csv", index=False)
    draft, crowd, _ = start(tmp_path)
    assert crowd["dialect"] == {"missing": ["3?"]}
    assert draft.assumptions[0] == (
        "'3?' is read as an empty cell in every column: \"score\", rows 6, 10: '3?'"
    )


@pytest.mark.parametrize("column", ["score", "bias"])
def test_numbers_without_end_among_scores_are_asked_about(tmp_path, column):
    texts = [str(row % 5) for row in range(32)]
    texts[5:8] = ["Infinity", "inf", "NaN"]
    table = judged().drop(columns="severity").assign(**{column: texts})
    table.to_csv(tmp_path / "data.csv", index=False)
    draft, panel, summary = start(tmp_path)
    assert panel["scales"]["scale_1"] == {"kind": "ordinal", "min": 0, "max": 4}
    assert panel["dialect"] == {"missing": ["Infinity", "inf", "NaN"]}
    assert draft.assumptions[0] == (
        "'Infinity', 'inf', 'NaN' is read as an empty cell in every column: "
        f"\"{column}\", row 7: 'Infinity'; row 8: 'inf'; row 9: 'NaN'"
    )
    assert summary.counts["missing"] == 3


def test_words_that_look_alike_are_one_level(tmp_path):
    words = [WORDS[row % 3] for row in range(32)]
    words[5:8] = ["not harmful", "Very  harmful ", "N/A"]
    judged().assign(severity=words).to_csv(tmp_path / "data.csv", index=False)
    _, panel, summary = start(tmp_path)
    assert panel["scales"]["scale_1"]["levels"] == WORDS
    assert panel["dialect"] == {"missing": ["N/A"]}
    assert (summary.counts["ratings"], summary.counts["missing"]) == (31, 1)


def test_none_is_a_severity_where_the_words_have_an_order(tmp_path):
    words = [("none", "mild", "severe")[row % 3] for row in range(32)]
    judged().assign(severity=words).to_csv(tmp_path / "data.csv", index=False)
    _, panel, _ = start(tmp_path)
    assert "dialect" not in panel
    assert panel["scales"]["scale_1"]["levels"] == ["none", "mild", "severe"]


def test_none_is_a_severity_where_other_words_have_two_spellings(tmp_path):
    words = [("None", "low", "Low", "High", "none")[row % 5] for row in range(32)]
    judged().assign(severity=words).to_csv(tmp_path / "data.csv", index=False)
    _, panel, summary = start(tmp_path)
    assert "dialect" not in panel
    assert panel["scales"]["scale_1"]["levels"] == ["None", "low", "High"]
    assert (summary.counts["ratings"], summary.counts["missing"]) == (32, 0)


def test_a_copy_with_added_columns_is_plain_csv(tmp_path):
    judged().drop(columns="judge").iloc[::2].to_csv(
        tmp_path / "data.csv", sep=";", decimal=",", index=False, encoding="utf-16"
    )
    _, panel, summary = start(tmp_path)
    assert (panel["data"], "dialect" in panel) == ("study.data.csv", False)
    assert summary.labels["model"] == ("Größe", "Modèle A")


def test_a_neighbour_that_cannot_be_read_is_left_out_and_told(tmp_path):
    rated().to_csv(tmp_path / "x_ratings.csv", index=False)
    (tmp_path / "x_old.csv").write_bytes(b"a,b\n1\n")
    (tmp_path / "x_book.xlsx").write_bytes(b"no zip")
    (tmp_path / "~$x_book.xlsx").write_bytes(b"a lock")
    draft, _, _ = start(tmp_path, "x_ratings.csv")
    assumptions = [text for text in draft.assumptions if "left out" in text]
    assert [text.split(": ")[1] for text in assumptions] == [
        str(tmp_path / "x_book.xlsx"),
        str(tmp_path / "x_old.csv"),
    ]


def test_the_sheets_of_a_workbook_are_its_tables(tmp_path):
    raters = pd.DataFrame({"rater": ["R1", "R2", "R3"], "gender": ["f", "m", "f"]})
    with pd.ExcelWriter(tmp_path / "data.xlsx") as book:
        raters.to_excel(book, sheet_name="Raters", index=False)
        rated().to_excel(book, sheet_name="Ratings", index=False)
        pd.DataFrame().to_excel(book, sheet_name="Empty", index=False)
    draft, crowd, summary = start(tmp_path, "data.xlsx")
    assert (crowd["data"], crowd["dialect"]) == ("data.xlsx", {"sheet": "Ratings"})
    side = {"data": "data.xlsx", "dialect": {"sheet": "Raters"}, "key": "rater"}
    assert (crowd["raters"], crowd["groups"]) == (side, [["gender"]])
    assert (
        '"data.xlsx: Raters" holds no ratings; they are in "data.xlsx: Ratings"'
        in draft.assumptions
    )
    assert summary.counts["group:gender"] == 2


def write_book(path, **sheets):
    with pd.ExcelWriter(path) as book:
        for name, rows in sheets.items():
            pd.DataFrame(rows).to_excel(book, sheet_name=name, index=False, header=False)


COVER = [["Chat models, March 2026"], ["Contact: eval team"]]


def test_a_cover_is_passed_over_for_the_widest_sheet(tmp_path):
    """The title of a cover was the only column, and nothing said that there was a second sheet."""
    rows = [["prompt", "gpt-4o", "claude"], *([f"p{n}", n % 5, n % 3] for n in range(20))]
    codes = [["score", "meaning"], [0, "harmless"], [4, "harmful"]]
    write_book(tmp_path / "data.xlsx", About=COVER, Codes=codes, Scores=rows)
    draft = write_study(tmp_path / "data.xlsx", tmp_path / "study.toml")
    text = '"data.xlsx: About" holds no ratings; they are in "data.xlsx: Scores"'
    assert text in draft.assumptions
    assert check(load_study(tmp_path / "study.toml")).labels["model"] == ("claude", "gpt-4o")


def test_errors_say_which_sheet_they_are_about_and_why_others_were_not_read(tmp_path):
    path = tmp_path / "data.xlsx"
    heads = [["", "", "GPT-4o", ""], ["Prompt", "Category", "Harm", "Harm"], ["P1", "x", 0, 1]]
    write_book(path, About=COVER, Ratings=heads)
    with pytest.raises(DataError) as caught:
        write_study(path, tmp_path / "study.toml")
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("data.xlsx: About: item: no column found for it among Chat models")
    assert lines[-2:] == [
        f"{path}: Ratings:1: 2 columns without a name; name them, or remove them if empty",
        f'{path}: this is about sheet "About", there is also "Ratings"; where the ratings are in '
        "another sheet, move it to the front, or save it as CSV",
    ]
    write_book(path, Ratings=heads, About=COVER)
    with pytest.raises(DataError) as caught:
        write_study(path, tmp_path / "study.toml")
    assert str(caught.value).splitlines() == [
        f"{path}: Ratings:1: 2 columns without a name; name them, or remove them if empty",
        f'{path}: this is about sheet "Ratings", there is also "About"; where the ratings are in '
        "another sheet, move it to the front, or save it as CSV",
    ]


WIDE_NAMES = {
    "numbered": {"R1": "R1", "R2": "R2", "R3": "R3"},
    "two raters": {"R1": "rater 1", "R2": "rater 2"},
    "people": {"R1": "Ann", "R2": "Bob", "R3": "Eve"},
}


@pytest.mark.parametrize("name", WIDE_NAMES)
def test_a_column_per_rater(tmp_path, name):
    names = WIDE_NAMES[name]
    ratings = rated()[lambda t: t["rater"].isin(names)].assign(
        rater=lambda t: t["rater"].map(names)
    )
    wide = ratings.pivot_table("score", "item", "rater").reset_index()
    wide.insert(1, "topic", ["one", "two"] * 6)
    wide.loc[3, names["R1"]] = None
    wide.to_csv(tmp_path / "data.csv", index=False)
    draft, crowd, summary = start(tmp_path)
    raters = [*names.values()]
    assert (crowd["layout"], crowd["roles"]) == ("wide", {"item": "item", "rater": raters})
    assert (crowd["scale"]["kind"], crowd["by"]) == ("ordinal", ["topic"])
    assert f"each of these columns is taken as a rater: {', '.join(raters)}" in draft.assumptions
    assert {row.column: row.role for row in draft.ledger} == {
        "item": "item",
        "topic": "column of items",
    } | dict.fromkeys(raters, "rater")
    assert summary.labels["rater"] == tuple(raters)
    assert summary.counts["missing"] == 1
    roles = {column: role for _, column, role in summary.columns}
    assert roles[raters[0]] == "rater"

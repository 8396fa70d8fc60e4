"""Cells with objects or lists, sheets of models, models by name, and other languages."""

import json
import tomllib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sharpbayes.errors import DataError
from sharpbayes.scaffold.column_names import find_model, infer_roles
from sharpbayes.scaffold.logs import LogTable
from sharpbayes.scaffold.nested_cells import unfold_cells
from sharpbayes.scaffold.score_columns import name_sheets
from sharpbayes.scaffold.study_file import write_study
from sharpbayes.spec.dialect import Dialect
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.check import check

MODELS = ("gpt-4o", "claude-3-5-sonnet", "llama-3-70b")
RNG = np.random.default_rng(11)


def panel(**columns):
    """A row for each of 30 prompts and three models, with further columns by their values."""
    rows = [(f"Question {n}?", model) for n in range(30) for model in MODELS]
    table = pd.DataFrame(rows, columns=["prompt", "model"])
    return table.assign(**{name: [value(n) for n in range(90)] for name, value in columns.items()})


def start(path):
    """Write a study of a file, check it, and return its assumptions and its table."""
    draft = write_study(path, path.with_name("study.toml"))
    study = tomllib.loads((path.parent / "study.toml").read_text(encoding="utf-8"))
    check(load_study(path.parent / "study.toml"))
    return draft.assumptions, study.get("panel") or study["crowd"]


@pytest.mark.parametrize("write", [json.dumps, str])
def test_objects_in_cells_become_columns(tmp_path, write):
    scores = [{"hate": int(x), "fraud": int(y)} for x, y in RNG.integers(0, 5, (90, 2))]
    table = panel(scores=lambda n: write(scores[n]), inputs=lambda n: write({"q": f"{n // 3}?"}))
    table.drop(columns="prompt").to_csv(tmp_path / "t.csv", index=False)
    assumptions, study = start(tmp_path / "t.csv")
    assert set(study["indicators"]) == {"scores.hate", "scores.fraud"}
    assert study["roles"]["prompt"] == "inputs.q"
    assert 'objects in "scores", "inputs" are split: each entry has a column of its own' in (
        assumptions
    )
    copy = pd.read_csv(tmp_path / study["data"])
    assert copy["scores.hate"].tolist() == [score["hate"] for score in scores]


def ratings(write):
    """Three raters for each of 40 items, in cells, and the same as pairs."""
    raters = [RNG.choice(8, 3, replace=False) for _ in range(40)]
    pairs = [[(f"r{r}", int(RNG.integers(0, 5))) for r in of_item] for of_item in raters]
    return [write(of_item) for of_item in pairs], [pair for of_item in pairs for pair in of_item]


@pytest.mark.parametrize("ending", [".jsonl", ".csv"])
def test_lists_of_what_raters_scored_become_rows(tmp_path, ending):
    cells, pairs = ratings(lambda x: [{"annotator": r, "score": s, "at": None} for r, s in x])
    path = tmp_path / f"t{ending}"
    table = pd.DataFrame({"comment_id": [f"c{n}" for n in range(40)], "annotations": cells})
    if ending == ".jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        table.assign(annotations=table["annotations"].map(json.dumps)).to_csv(path, index=False)
    assumptions, study = start(path)
    assert study["roles"] == {
        "item": "comment_id",
        "rater": "annotations.annotator",
        "score": "annotations.score",
    }
    assert 'lists in "annotations" are turned into rows, one for each rater' in assumptions
    copy = pd.read_csv(tmp_path / study["data"])
    names = ["annotations.annotator", "annotations.score"]
    assert [*copy[names].itertuples(index=False, name=None)] == pairs
    assert copy["comment_id"].tolist() == [f"c{n}" for n in range(40) for _ in range(3)]


def test_lists_of_the_same_lengths_become_rows_together(tmp_path):
    cells, pairs = ratings(lambda x: {"annotators": [r for r, _ in x], "labels": [s for _, s in x]})
    rows = [{"id": f"c{n}", "tokens": ["a", "b"], **cell} for n, cell in enumerate(cells)]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    _, study = start(path)
    assert study["roles"] == {"item": "id", "rater": "annotators", "score": "labels"}
    copy = pd.read_csv(tmp_path / study["data"])
    assert [*copy[["annotators", "labels"]].itertuples(index=False, name=None)] == pairs
    assert set(copy["tokens"]) == {'["a", "b"]'} or set(copy["tokens"]) == {"['a', 'b']"}


@pytest.mark.parametrize(
    "cell",
    [
        "[{'role': 'user', 'content': 'Hi'}]",  # a conversation
        "[1, 2]",
        "{not an object}",
        "{'a': 1",
        "[" * 100_000,
        "{" + ", ".join(f"'k{n}': {n}" for n in range(51)) + "}",  # no row of scores
    ],
)
def test_other_lists_and_texts_stay_as_they_are(cell):
    table = LogTable("t.csv", pd.DataFrame({"prompt": ["p1", "p2"], "messages": [cell, ""]}))
    assert unfold_cells(table) is table


def test_a_column_with_one_text_of_another_kind_stays_as_it_is():
    cells = ['{"hate": 1}', "{hate}", ""]
    table = LogTable("t.csv", pd.DataFrame({"prompt": ["p1", "p2", "p3"], "scores": cells}))
    assert unfold_cells(table) is table


@pytest.mark.parametrize(("entry", "is_unfolded"), [("['a']", True), ("[]", False)])
def test_lists_may_have_one_entry_each_but_not_all_none(entry, is_unfolded):
    columns = {"item": ["i", "j"], "raters": [entry] * 2, "scores": [entry] * 2}
    table = LogTable("t.csv", pd.DataFrame(columns))
    assert (unfold_cells(table) is not table) == is_unfolded


def test_an_entry_with_the_name_of_a_column_leaves_both_as_they_are():
    columns = {"scores": ['{"hate": 1}', '{"hate": 2}'], "scores.hate": ["3", "4"]}
    table = LogTable("t.csv", pd.DataFrame(columns))
    assert unfold_cells(table) is table


def test_rows_without_a_list_keep_their_place():
    cells = ['[{"rater": "a", "score": 1}]', "", "[]"]
    table = LogTable("t.csv", pd.DataFrame({"item": ["i", "j", "k"], "by": cells}))
    data = unfold_cells(table).data
    assert data.to_dict("list") == {
        "item": ["i", "j", "k"],
        "by.rater": ["a", "", ""],
        "by.score": ["1", "", ""],
    }


def test_lists_with_a_score_for_each_model_become_rows(tmp_path):
    table = panel(harm=lambda n: n % 5)
    rows = [
        {"prompt": prompt, "responses": rows.drop(columns="prompt").to_dict("records")}
        for prompt, rows in table.groupby("prompt", sort=False)
    ]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assumptions, study = start(path)
    assert 'lists in "responses" are turned into rows, one for each model' in assumptions
    assert study["roles"]["model"] == "responses.model"
    copy = pd.read_csv(tmp_path / study["data"])
    assert copy["responses.harm"].tolist() == table["harm"].tolist()


def test_lists_by_model_are_a_table_with_the_model(tmp_path):
    table = panel(harm=lambda n: n % 5)
    content = {
        m: rows.drop(columns="model").to_dict("records") for m, rows in table.groupby("model")
    }
    (tmp_path / "t.json").write_text(json.dumps(content), encoding="utf-8")
    _, study = start(tmp_path / "t.json")
    assert study["roles"]["model"] == "key"


def test_objects_by_item_are_a_table_of_items(tmp_path):
    cells, pairs = ratings(lambda x: [{"annotator_id": r, "label": s} for r, s in x])
    content = {f"{n}_post": {"annotators": cell, "tokens": ["a"]} for n, cell in enumerate(cells)}
    (tmp_path / "t.json").write_text(json.dumps(content), encoding="utf-8")
    _, study = start(tmp_path / "t.json")
    copy = pd.read_csv(tmp_path / study["data"])
    assert len(copy) == len(pairs)


def test_a_column_without_cells_has_no_role():
    table = pd.DataFrame({"Task ID": ["1", "2"], "Worker": ["a", "b"], "Comments": ["", " "]})
    assert infer_roles(table, ("item", "rater"), {}) == {"item": "Task ID", "rater": "Worker"}


def test_the_only_list_of_an_object_of_json_is_the_table(tmp_path):
    rows = panel(harm=lambda n: n % 5).drop(columns="model").to_dict("records")
    content = {"model": "gpt-4o", "config": {"n": 1}, "errors": [], "results": rows}
    (tmp_path / "t.json").write_text(json.dumps(content), encoding="utf-8")
    _, study = start(tmp_path / "t.json")
    copy = pd.read_csv(tmp_path / study["data"])
    assert set(copy["model"]) == {"gpt-4o"}
    assert copy["harm"].tolist() == [row["harm"] for row in rows]


def test_sheets_that_are_named_after_models_are_joined(tmp_path):
    path, table = tmp_path / "t.xlsx", panel(harm=lambda n: n % 5)
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"note": ["About."]}).to_excel(book, sheet_name="About", index=False)
        for model, rows in table.groupby("model"):
            rows.drop(columns="model").to_excel(book, sheet_name=str(model), index=False)
    assumptions, study = start(path)
    names = ", ".join(f'"{model}"' for model in sorted(MODELS))
    assert f"the sheets {names} are taken as the scores of one model each, and joined" in (
        assumptions
    )
    copy = pd.read_csv(tmp_path / study["data"])
    scores = [copy.sort_values(["model", "prompt"]), table.sort_values(["model", "prompt"])]
    assert scores[0]["harm"].tolist() == scores[1]["harm"].tolist()


def test_sheets_with_other_columns_are_not_joined():
    sheets = [
        LogTable("t.xlsx", panel(**{name: str}), dialect=Dialect(sheet=model))
        for name, model in zip(("harm", "harm", "bias"), MODELS, strict=True)
    ]
    sheets = [replace(sheet, data=sheet.data.drop(columns="model")) for sheet in sheets]
    assert name_sheets(sheets) is None
    joined = name_sheets(sheets[:2])
    assert joined.data["model"].tolist() == [MODELS[0]] * 90 + [MODELS[1]] * 90
    assert name_sheets(sheets[:1]) is None


def test_a_sheet_of_notes_is_not_the_table(tmp_path):
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        pd.DataFrame({"note": ["See below."]}).to_excel(book, sheet_name="README", index=False)
        panel(harm=lambda n: n % 5).to_excel(book, sheet_name="scores", index=False)
    assumptions, study = start(tmp_path / "t.xlsx")
    assert set(study["indicators"]) == {"harm"}
    assert '"t.xlsx: README" holds no ratings; they are in "t.xlsx: scores"' in assumptions


def test_a_column_of_names_of_models_is_the_model(tmp_path):
    table = panel(harm=lambda n: n % 5, judge=lambda _: "gpt-4o").rename(
        columns={"model": "target"}
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    assumptions, study = start(tmp_path / "t.csv")
    assert study["roles"]["model"] == "target"
    text = '"target" is taken as the model, because its values begin as names of models do'
    assert text in assumptions


@pytest.mark.parametrize(
    "changes",
    [
        {"model": ["gpt-4o"] * 3 + ["alpha"] * 87},  # names that begin otherwise
        {"model": ["gpt-4o"] * 90},  # the same everywhere
        {"other": ["qwen", "gemma"] * 45},  # which of the two?
    ],
)
def test_other_columns_are_no_model(changes):
    table = panel(harm=lambda n: n % 5).assign(**changes).rename(columns={"model": "target"})
    assert find_model(table, {}) == {}


def test_models_that_annotate_are_raters():
    table = panel(harm=lambda n: n % 5).rename(columns={"model": "annotator"})
    assert find_model(table, {}) == {}


@pytest.mark.parametrize(
    ("names", "roles"),
    [
        (("Frage", "Modell", "Prüfer", "Schweregrad"), ("prompt", "model", "judge", "score")),
        (("invite", "modèle", "juge", "gravité"), ("prompt", "model", "judge", "score")),
        (("pregunta", "Modelo", "evaluador", "daño"), ("prompt", "model", "judge", "score")),
        (("pergunta", "modelo", "avaliador", "pontuação"), ("prompt", "model", "judge", "score")),
        (("domanda", "modello", "giudice", "punteggio"), ("prompt", "model", "judge", "score")),
        (("Beitrag", "Bewerter", "Bewertung"), ("item", "rater", "score")),
    ],
)
def test_names_of_columns_may_be_of_other_languages(names, roles):
    table = pd.DataFrame([["x"] * len(names), ["y"] * len(names)], columns=names)
    assert infer_roles(table, roles, {}) == dict(zip(roles, names, strict=True))


def test_answers_that_are_compared_in_pairs_are_refused(tmp_path):
    pairs = {"prompt": ["p1", "p2"], "model_a": MODELS[:2], "model_b": MODELS[1:]}
    pd.DataFrame(pairs | {"winner": ["a", "b"]}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match='"winner" says which of two answers is better'):
        write_study(tmp_path / "t.csv", tmp_path / "study.toml")


def test_numbered_questions_are_no_pair_of_answers(tmp_path):
    survey = pd.DataFrame({f"Q{n}": RNG.integers(0, 3, 9) for n in range(1, 6)})
    survey.insert(0, "participant", [f"r{n}" for n in range(9)])
    survey.assign(better="yes").to_csv(tmp_path / "t.csv", index=False)
    assert start(tmp_path / "t.csv")[1]["roles"]["rater"] == "participant"


def test_a_preference_beside_scores_is_no_reason_to_refuse_them(tmp_path):
    table = panel(harm_score=lambda n: n % 5, answer_a=str, answer_b=str, preferred=str)
    table.to_csv(tmp_path / "t.csv", index=False)
    assert start(tmp_path / "t.csv")[1]["roles"]["score"] == "harm_score"

"""What ``init`` tells: every column with its role, and assumptions that are open."""

import json
import tomllib

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.errors import DataError
from sharpbayes.report.document import document
from sharpbayes.report.page import page_text
from sharpbayes.report.summary import remarks
from sharpbayes.scaffold.study_file import write_study
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.check import check
from sharpbayes.workflows.measure import measure


def judged():
    rows = [
        (model, prompt, judge, persona)
        for model in ("alpha", "beta")
        for prompt in range(12)
        for judge in ("gpt", "claude")
        for persona in ("teacher", "nurse")
    ]
    table = pd.DataFrame(rows, columns=["Model", "Prompt ID", "LLM judge", "persona"])
    table["Harm score"] = [7 * row % 101 for row in range(len(table))]
    return table.assign(reasoning=[f"because {row}" for row in range(len(table))])


def crowd(words):
    rows = [(item, rater) for item in range(12) for rater in range(6)]
    table = pd.DataFrame(rows, columns=["item", "rater"])
    table["severity"] = [words[(item + rater) % len(words)] for item, rater in rows]
    return table.assign(age=table["rater"] + 20, gender=np.where(table["rater"] % 2, "f", "m"))


def start(folder, table):
    table.to_csv(folder / "data.csv", index=False)
    draft = write_study(folder / "data.csv", folder / "study.toml")
    return draft, tomllib.loads((folder / "study.toml").read_text(encoding="utf-8"))


def test_a_judge_and_a_persona_are_no_harm(tmp_path):
    draft, study = start(tmp_path, judged())
    assert study["panel"]["roles"]["judge"] == "LLM judge"
    assert study["panel"]["scales"] == {"scale_1": {"kind": "ordinal", "min": 0, "max": 100}}
    assert study["panel"]["indicators"] == {"Harm score": "scale_1"}
    assert draft.assumptions == [
        'some cells are rated more than once, once for each "persona"; the repeats are numbered; '
        "where they are versions to compare, add them to the name of the model",
        "numbers between 0 and 100 are taken to lie on a scale from 0 to 100, wherever those in "
        "the data end; write the ends of another scale",
        "a high score is taken as harm; where it is good, write { scale = ..., reverse = true }",
        "all indicators are one dimension of harm; split it into those you mean",
    ]


def test_words_of_a_wide_panel_are_harm_only_in_a_list_of_severities(tmp_path):
    table = judged().drop(columns=["Harm score", "reasoning"]).query("persona == 'nurse'")
    table["persona"] = ["teacher", "nurse", "pilot"] * 16
    table["verdict"] = ["Severe", "none", "Mild"] * 16
    draft, study = start(tmp_path, table)
    assert study["panel"]["indicators"] == {"verdict": "scale_1"}
    assert study["panel"]["scales"]["scale_1"]["levels"] == ["none", "Mild", "Severe"]
    assert 'words are harm only where you name them; left out: "persona"' in draft.assumptions


@pytest.mark.parametrize(
    ("words", "levels", "assumption"),
    [
        (
            ["Critical", "High", "Low", "Medium"],
            ["Low", "Medium", "High", "Critical"],
            'the order of "severity" is taken from the words, least harm first: '
            "Low, Medium, High, Critical",
        ),
        (
            ["Tier 2", "Tier 10", "Tier 1"],
            ["Tier 1", "Tier 2", "Tier 10"],
            'the order of "severity" is taken from the numbers in the words, least harm first: '
            "Tier 1, Tier 2, Tier 10",
        ),
        (
            ["spicy", "hot", "fine"],
            ["spicy", "hot", "fine"],
            'the order of "severity" is not known: spicy, hot, fine is how they first appear; put '
            "the least harm first",
        ),
    ],
)
def test_a_scale_of_words_never_stands_in_the_order_of_the_alphabet(
    tmp_path, words, levels, assumption
):
    draft, study = start(tmp_path, crowd(words))
    assert study["crowd"]["scale"]["levels"] == levels
    assert draft.assumptions[0] == assumption
    assert f"# CHECK: {assumption}\n" in (tmp_path / "study.toml").read_text(encoding="utf-8")


def test_every_column_stands_in_the_ledger(tmp_path):
    draft, _ = start(tmp_path, judged())
    assert [(row.column, row.role, row.content) for row in draft.ledger] == [
        ("Model", "model", "alpha, beta"),
        ("Prompt ID", "prompt", "12 numbers from 0 to 11"),
        ("LLM judge", "judge", "claude, gpt"),
        ("persona", "not used", "words of no known severity: nurse, teacher"),
        ("Harm score", "score", "96 numbers from 0 to 100"),
        ("reasoning", "not used", "no scale: 96 texts: because 0, because 1 and 94 more"),
        ("sample", "sample", "1, 2"),
    ]
    lines = (tmp_path / "study.toml").read_text(encoding="utf-8").splitlines()
    assert '# Columns of "study.data.csv":' in lines
    assert "#   LLM judge   judge     claude, gpt" in lines


def test_groups_of_raters_and_unused_columns_stand_in_the_ledger(tmp_path):
    draft, _ = start(tmp_path, crowd(["Low", "High"]))
    assert [(row.column, row.role) for row in draft.ledger] == [
        ("item", "item"),
        ("rater", "rater"),
        ("severity", "score"),
        ("age", "not used"),
        ("gender", "rater group"),
    ]


def test_a_column_of_one_value_an_item_is_not_said_to_vary_within_items(tmp_path):
    table = crowd(["Low", "High"])
    texts = {
        "message": [f"m{item}" for item in table["item"]],
        "page": np.resize(list("vwxyz"), 72),
    }
    draft, _ = start(tmp_path, table.assign(**texts))
    contents = {row.column: row.content for row in draft.ledger}
    assert contents["message"] == "more than 11 different words: 12 texts: m0, m1 and 10 more"
    assert contents["page"] == "it varies within raters and items: v, w, x, y, z"


def test_examples_of_texts_differ_in_what_is_shown(tmp_path):
    """Two texts of a long list were shown as "American Indian, Ala, American Indian, Ala"."""
    start_of_all = "American Indian, Alaska Native"
    texts = [
        start_of_all,
        f"{start_of_all}, White",
        *(f"{letter} and others" for letter in "BCDEFGH"),
    ]
    draft, _ = start(tmp_path, crowd(["Low", "High"]).assign(origin=np.resize(texts, 72)))
    contents = {row.column: row.content for row in draft.ledger}
    assert contents["origin"].endswith("9 texts: American Indian, Ala, B and others and 7 more")


def test_a_column_without_a_name_is_shown_by_its_place(tmp_path):
    table = judged().rename(columns={"persona": ""})
    draft, _ = start(tmp_path, table)
    assert [row.column for row in draft.ledger][3] == "column 4 without a name"
    assert any("once for each (the column without a name); the" in x for x in draft.assumptions)
    with pytest.raises(DataError) as caught:
        write_study(tmp_path / "data.csv", tmp_path / "b.toml", roles={"judge": "grader"})
    assert "the columns are Model, Prompt ID, LLM judge, column 4 without a name, " in str(caught)


def test_check_tells_what_is_left_out_and_what_is_open(tmp_path):
    start(tmp_path, judged())
    done = CliRunner().invoke(app, ["check", str(tmp_path / "study.toml")])
    assert done.exit_code == 0
    assert "Columns of the data that the study does not use: persona, reasoning." in done.stdout
    assert done.stdout.endswith(
        "study.toml: no error found\n"
        "4 assumptions of the study are not confirmed (lines marked CHECK): (1) some cells are "
        'rated more than once, once for each "persona"; the repeats are numbered; where they are '
        "versions to compare, add them to the name of the model (2) numbers between "
        "0 and 100 are taken to lie on a scale from 0 to 100, wherever those in the data end; "
        "write the ends of another scale (3) a high score is "
        "taken as harm; where it is good, write { scale = ..., reverse = true } (4) all indicators "
        "are one dimension of harm; split it into those you mean.\n"
    )


@pytest.mark.usefixtures("without_figures")
def test_open_assumptions_stand_with_the_answer_until_their_comment_goes(tmp_path):
    start(tmp_path, crowd(["Critical", "High", "Low"]))
    path = tmp_path / "study.toml"
    few = ("bootstrap.replicates=20", "crowd.permutations=0")
    results = measure(load_study(path, overrides=few))
    sentence = (
        "2 assumptions of the study are not confirmed (lines marked CHECK): (1) the order of "
        '"severity" is taken from the words, least harm first: Low, High, Critical (2) no column '
        "says which items are unsafe: the other raters do, by a score of High or worse, so that "
        "groups are not compared with each other; experts' labels are better."
    )
    assert len(json.loads(results.attrs["open_checks"])) == 2
    assert sentence in remarks(results)
    assert sentence in document(results, path=path)["remarks"]
    assert "2 assumptions of the study are not confirmed" in page_text(results)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "# CHECK" not in line), encoding="utf-8")
    assert check(load_study(path)).open_checks == ()
    assert remarks(measure(load_study(path, overrides=few)))[1:] == remarks(results)[2:]


def test_measure_counts_open_assumptions_on_the_terminal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    start(tmp_path, crowd(["safe", "unsafe"]))
    options = ["--set", "bootstrap.replicates=20", "--set", "crowd.permutations=0"]
    done = CliRunner().invoke(app, ["measure", "study.toml", *options])
    printed = " ".join(done.stdout.split())
    assert "2 assumptions of the study are not confirmed (lines marked CHECK): (1) " in printed


def test_labels_beside_the_ratings_are_used_with_the_model_that_knows_them(tmp_path):
    table = crowd(["Low", "High"])
    table.to_csv(tmp_path / "x_ratings.csv", index=False)
    rows = [{"item": item, "gold_unsafe": item % 2} for item in range(12)]
    items = pd.DataFrame(rows)
    items.to_csv(tmp_path / "x_items.csv", index=False)
    write_study(tmp_path / "x_ratings.csv", tmp_path / "items.toml")
    text = (tmp_path / "items.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text)["crowd"]["labels"] == {"from": "item", "column": "gold_unsafe"}
    assert '# fit = "crowd_and_labels"' in text.splitlines()
    experts = pd.concat([items.assign(expert=name) for name in "ab"])
    experts.to_csv(tmp_path / "x_experts.csv", index=False)
    draft = write_study(tmp_path / "x_ratings.csv", tmp_path / "experts.toml")
    text = (tmp_path / "experts.toml").read_text(encoding="utf-8")
    roles = {"item": "item", "expert": "expert", "label": "gold_unsafe"}
    labels = {"from": "experts", "data": "x_experts.csv", "roles": roles}
    assert tomllib.loads(text)["crowd"]["labels"] == labels
    assert '# fit = "crowd_and_experts"' in text.splitlines()
    assumption = '"gold_unsafe" of "x_experts.csv" is taken as what each expert says: 1 is unsafe'
    assert assumption in draft.assumptions
    assert check(load_study(tmp_path / "experts.toml")).counts["labels"] == 24
    (tmp_path / "x_items.csv").unlink()
    experts[:12].replace({0: False, 1: True}).to_csv(tmp_path / "x_experts.csv", index=False)
    write_study(tmp_path / "x_ratings.csv", tmp_path / "one.toml")
    study = tomllib.loads((tmp_path / "one.toml").read_text(encoding="utf-8"))
    assert (study["crowd"]["by"], "items" in study["crowd"]) == ([], False)


def cut_score(folder, numbers):
    """The scale that is proposed for the score of judges, and what is to be checked of scales."""
    table = judged()
    table["Harm score"] = [numbers[row % len(numbers)] for row in range(len(table))]
    draft, study = start(folder, table)
    assert check(load_study(folder / "study.toml")).counts["ratings"] == len(table)
    assumptions = [
        text for text in draft.assumptions if any(w in text for w in ("bins", "are cut", "code"))
    ]
    return study["panel"]["scales"]["scale_1"]["bins"], assumptions


OVER = 'scores of "Harm score" are cut into 5 bins of one width over the range of the data,'
CODE = (
    '-99.0 looks like a code of a missing score among the numbers of "Harm score" and is counted '
    'in the bin at that end; where it is one, write dialect = { missing = ["-99.0"] }; where it is '
    "a score, write the ends of the scale"
)


# All in one of twenty bins.
NARROWER = [f"{OVER} from 0.012 to 0.0421"]


@pytest.mark.parametrize(
    ("numbers", "bins", "assumptions"),
    [
        (
            [0.0137, 0.4912, 0.93311],
            [0.2, 0.4, 0.6, 0.8],
            ['scores from 0 to 1 are cut into five: "Harm score"'],
        ),
        (
            [0.012, 0.0315, 0.112],
            [round(0.05 * n, 2) for n in range(1, 20)],
            ['scores from 0 to 1 are cut into 20, because they span little of it: "Harm score"'],
        ),
        ([0.012, 0.0315, 0.0421], [0.01802, 0.02404, 0.03006, 0.03608], NARROWER),
        ([1.375, 4.111, 11.375], [3.375, 5.375, 7.375, 9.375], [f"{OVER} from 1.375 to 11.375"]),
        (
            [-99, 0.0003, 0.25, 1.0003],
            [0.2003, 0.4003, 0.6003, 0.8003],
            [f"{OVER} from 0.0003 to 1.0003", CODE],
        ),
    ],
)
def test_decimals_of_a_score_are_cut_into_bins(tmp_path, numbers, bins, assumptions):
    assert cut_score(tmp_path, numbers) == (bins, assumptions)


def test_decimals_that_are_named_as_no_score_are_refused_with_what_to_do(tmp_path):
    table = judged().rename(columns={"Harm score": "bias"})
    table["bias"] /= 137
    with pytest.raises(DataError) as raised:
        start(tmp_path, table)
    assert str(raised.value) == (
        "data.csv: no column of scores found: persona (words of no known severity), bias (numbers "
        "with decimals that are named as no score), reasoning (no scale); name one with --role "
        "score=COLUMN"
    )
    table.to_csv(tmp_path / "data.csv", index=False)
    write_study(tmp_path / "data.csv", tmp_path / "study.toml", roles={"score": "bias"})
    assert check(load_study(tmp_path / "study.toml")).counts["ratings"] == len(table)

"""Values that are easily misread: codes of no answer, decimals, words beside a scale, names."""

import json
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sharpbayes.errors import DataError
from sharpbayes.scaffold.inference import infer_grades
from sharpbayes.scaffold.study_file import write_study
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.check import check

SHIPPED = Path(__file__).parents[2] / "specs" / "studies"


def judged(scores, *, name="severity", prompts=61):
    """A panel of two models and one judge, with scores that repeat."""
    rows = [(model, f"p{n}", "x") for model in ("alpha", "beta") for n in range(prompts)]
    table = pd.DataFrame(rows, columns=["model", "prompt", "judge"])
    return table.assign(**{name: np.resize(np.array(scores, dtype=object), len(table))})


def rated(scores, **columns):
    """A crowd of six raters who all rate thirty items."""
    rows = [(f"i{n}", f"r{rater}") for n in range(30) for rater in range(6)]
    table = pd.DataFrame(rows, columns=["item", "rater"]).assign(**columns)
    return table.assign(score=np.resize(np.array(scores, dtype=object), len(table)))


def start(folder, table, **roles):
    table.to_csv(folder / "data.csv", index=False)
    draft = write_study(folder / "data.csv", folder / "study.toml", roles=roles)
    study = tomllib.loads(draft.text)
    return draft.assumptions, study.get("panel") or study["crowd"]


def find_scale(panel):
    [scale] = panel["scales"].values()
    return scale


@pytest.mark.parametrize(
    ("scores", "ends", "codes"),
    [
        ([1, 2, 3, 4, 5, -1], (1, 5), ["-1"]),
        ([0, 1, 2, 3, -9, -1], (0, 3), ["-9", "-1"]),
        ([1, 2, 3, 4, 5, 9], (1, 5), ["9"]),
        ([1, 2, 3, 4, 5, 98, 99], (1, 5), ["98", "99"]),
        ([0, 1, 2, 3, 4, -1, 99], (0, 4), ["-1", "99"]),
        ([1.5, 2, 2.5, 3, 8], (1.5, 3), ["8"]),
    ],
)
def test_codes_of_no_answer_are_on_no_scale(tmp_path, scores, ends, codes):
    """-1 was the least harm of 1 to 5, and 9 the most."""
    assumptions, panel = start(tmp_path, judged(scores))
    scale = find_scale(panel)
    assert (scale["min"], scale["max"]) == ends
    listed = ", ".join(f'"{code}"' for code in codes)
    assert any(f"write dialect = {{ missing = [{listed}] }};" in text for text in assumptions)
    with pytest.raises(DataError, match="off the scale"):
        check(load_study(tmp_path / "study.toml"))
    text = (tmp_path / "study.toml").read_text("utf-8")
    text = text.replace('layout = "wide"', f'layout = "wide"\ndialect = {{ missing = [{listed}] }}')
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    assert check(load_study(tmp_path / "study.toml")).counts["missing"] > 0


@pytest.mark.parametrize(
    "scores",
    [
        *([-1, 0, 1], [-2, -1, 0, 1, 2], [1, 2, 3, 5], [0, 2, 4, 8], [1, 2, 3, 4, 5, 6, 8]),
        [0.0, 0.02, 0.12, 0.9, 1.0],
    ],
)
def test_ends_of_a_scale_are_no_codes(tmp_path, scores):
    assumptions, panel = start(tmp_path, judged(scores))
    scale = find_scale(panel)
    assert (scale["min"], scale["max"]) == (min(scores), max(scores))
    assert not [text for text in assumptions if "code" in text]


@pytest.mark.parametrize("codes", [[], [-1]])
def test_a_share_is_no_code_however_far_from_the_others(tmp_path, codes):
    """A toxicity of 0.9 among those from 0 to 0.12 was left out of a scale that ends at 1."""
    shares = [*(n / 100 for n in range(13)), 0.9]
    assumptions, panel = start(tmp_path, judged([*shares, *codes], name="toxicity"))
    assert find_scale(panel) == {"kind": "ordinal", "min": 0, "max": 1, "step": 0.01}
    named = [text.split(" ")[0] for text in assumptions if "a code of a missing score" in text]
    assert named == [str(code) for code in codes]


def test_two_codes_are_named_in_one_sentence_with_the_texts_that_are_read_as_empty(tmp_path):
    assumptions, _ = start(tmp_path, rated([0, 1, 2, 3, 4, -1, 99, "N/A", *range(5), *range(5)]))
    assert (
        '-1 and 99 look like codes of missing scores among the numbers of "score" and are left '
        'out of the scale; where they are, write dialect = { missing = ["N/A", "-1", "99"] }; '
        "where they are scores, write the ends of the scale"
    ) in assumptions


def test_decimals_between_0_and_1_run_to_1(tmp_path):
    """The highest score that was seen, 0.43, counted as the most harm: the order was reversed."""
    scores = np.round(np.linspace(0, 0.43, 44), 2)
    assumptions, panel = start(tmp_path, judged(scores, name="toxicity"))
    assert find_scale(panel) == {"kind": "ordinal", "min": 0, "max": 1, "step": 0.01}
    assert (
        "decimals between 0 and 1 are taken to lie on a scale from 0 to 1 in steps of 0.01, "
        "wherever those in the data end; write the ends of another scale"
    ) in assumptions
    assert check(load_study(tmp_path / "study.toml")).counts["ratings"] == 122


def test_narrow_bins_are_shared_with_a_column_that_spans_more(tmp_path):
    table = judged([0.0123, 0.0812, 0.3127], name="score_a")
    table["score_b"] = np.resize([0.0123, 0.9712], len(table))
    _, panel = start(tmp_path, table)
    assert find_scale(panel) == {"bins": [0.2, 0.4, 0.6, 0.8]}


def test_the_order_of_inspect_grades_is_to_be_checked(tmp_path):
    """Evaluations in which C means that the model did harm came out reversed, without a word."""
    assert infer_grades(pd.Series(["C", "I"])).order == (
        "is that of Inspect's grades, in which C (correct) is no harm; where C says that the model "
        "did harm, turn the levels round"
    )
    table = judged(["C", "I", "P", "C"], name="score_model_graded_qa")
    assumptions, panel = start(tmp_path, table)
    assert find_scale(panel)["levels"] == ["C", "P", "I"]
    assert (
        'the order of "score_model_graded_qa" is taken from the words, least harm first: C, P, I'
    ) in assumptions


def test_logs_that_a_shell_listed_are_one_pattern(tmp_path):
    paths = [tmp_path / name for name in ("petri_alpha.eval", "petri_beta.eval")]
    for path in paths:
        shutil.copy(SHIPPED / path.name, path)
    write_study(paths[0], tmp_path / "study.toml", others=paths[1:])
    panel = tomllib.loads((tmp_path / "study.toml").read_text("utf-8"))["panel"]
    assert panel["data"] == "petri_*.eval"
    shutil.copy(paths[0], tmp_path / "petri_gamma.eval")
    with pytest.raises(DataError, match=r'in quotation marks \("logs/\*\.eval"\)'):
        write_study(paths[0], tmp_path / "other.toml", others=paths[1:])


@pytest.mark.parametrize(
    ("words", "levels", "missing"),
    [
        (["None", "Low", "Medium", "High", "N/A"], ["None", "Low", "Medium", "High"], ["N/A"]),
        (["Low", "Medium", "High", "None", "-"], ["None", "Low", "Medium", "High"], ["-"]),
        (
            ["Agree", "Disagree", "Neutral", "Don't know", "Prefer not to answer"],
            ["Disagree", "Neutral", "Agree"],
            ["Don't know", "Prefer not to answer"],
        ),
        (["Agree", "Disagree", "Unsure"], ["Disagree", "Unsure", "Agree"], None),
    ],
)
def test_words_beside_a_scale_are_no_answers_and_its_steps_stay(tmp_path, words, levels, missing):
    """All harmless answers were left out with the cells of `N/A`; `Don't know` hid a scale."""
    _, panel = start(tmp_path, judged(words, name="risk"))
    assert find_scale(panel)["levels"] == levels
    assert panel.get("dialect", {}).get("missing") == missing


def test_yes_and_no_in_several_spellings_are_one_scale(tmp_path):
    _, panel = start(tmp_path, judged(["Yes", "no", "Y", "No"], name="harmful"))
    assert find_scale(panel) == {"kind": "boolean"}
    assert check(load_study(tmp_path / "study.toml")).counts["ratings"] == 122


def test_a_percent_sign_is_named(tmp_path):
    scores = [f"{n}%" for n in range(40)]
    with pytest.raises(DataError, match=r"percentages such as '.*%'; write the numbers without"):
        start(tmp_path, judged(scores, name="score"))


@pytest.mark.parametrize("gold", ["gold", "ground_truth", "unsafe", "final_score", "consensus"])
def test_what_was_settled_of_an_item_is_no_rater(tmp_path, gold):
    table = pd.DataFrame({"item_id": range(40)})
    for place, name in enumerate(("Anna", "Bob", "Carol")):
        table[name] = np.resize([0, 1, 2, 3, 3, 1][place:], 40)
    table[gold] = np.resize([0, 1], 40)
    assumptions, crowd = start(tmp_path, table)
    assert crowd["roles"]["rater"] == ["Anna", "Bob", "Carol"]
    assert "each of these columns is taken as a rater: Anna, Bob, Carol" in assumptions


def test_lists_of_raters_name_the_judge(tmp_path):
    """Three raters of an answer were repeated answers, scored by one judge without a name."""
    rows = []
    for model in ("alpha", "beta"):
        for n in range(12):
            values = [
                {"user_id": f"u{k}", "values": {"harm": {"value": 1 + (n + k) % 5}}}
                for k in range(3)
            ]
            rows.append({"model": model, "prompt": f"p{n}", "responses": values})
    text = "\n".join(json.dumps(row) for row in rows)
    (tmp_path / "data.jsonl").write_text(text, encoding="utf-8")
    draft = write_study(tmp_path / "data.jsonl", tmp_path / "study.toml")
    panel = tomllib.loads(draft.text)["panel"]
    assert panel["roles"]["judge"] == "responses.user_id"
    data = pd.read_csv(tmp_path / panel["data"])
    assert sorted(data["responses.user_id"].unique()) == ["u0", "u1", "u2"]
    assert check(load_study(tmp_path / "study.toml")).counts["ratings"] == len(data)


def test_a_group_with_two_values_of_one_rater_is_said(tmp_path):
    """The column was left out of the groups without a word in what is to be checked."""
    table = rated(range(5))
    table["gender"] = np.where(table["rater"] < "r3", "F", "M")
    table.loc[3, "gender"] = "F"
    assumptions, crowd = start(tmp_path, table)
    assert crowd["groups"] == []
    assert (
        "\"gender\" is no group of raters, because it has several values for 1 rater: r3 has 'F' "
        "in row 5 and 'M' elsewhere; where these are mistakes, correct the data"
    ) in assumptions


def test_a_table_of_another_study_is_to_be_checked(tmp_path):
    """Labels came from another release, whose file has the same first word in its name."""
    table = rated(range(5)).assign(item=lambda x: x["item"].str[1:])
    items = pd.DataFrame({"item": range(30), "expert_unsafe": np.resize([0, 1], 30)})
    items.to_csv(tmp_path / "data_2023.csv", index=False)
    table.to_csv(tmp_path / "data_2024.csv", index=False)
    draft = write_study(tmp_path / "data_2024.csv", tmp_path / "study.toml")
    assert (
        '"data_2023.csv" lies beside the data, is named alike and is joined; where it belongs to '
        "another study, take it out of this one"
    ) in draft.assumptions
    (tmp_path / "data_2023.csv").rename(tmp_path / "data_items.csv")
    draft = write_study(tmp_path / "data_2024.csv", tmp_path / "other.toml")
    assert not [text for text in draft.assumptions if "named alike" in text]


def test_a_role_of_panels_alone_makes_a_panel(tmp_path):
    table = judged([0, 1, 2]).rename(columns={"model": "a", "prompt": "b", "judge": "c"})
    _, panel = start(tmp_path, table[table["a"] == "alpha"], prompt="b", score="severity")
    assert panel["roles"]["prompt"] == "b"
    assert panel["roles"]["score"] == "severity"


def test_items_of_a_batch_of_mechanical_turk_are_its_hits(tmp_path):
    table = rated(range(5)).rename(
        columns={"item": "HITId", "rater": "WorkerId", "score": "Answer.rating"}
    )
    _, crowd = start(tmp_path, table.assign(**{"Input.image_url": table["HITId"]}))
    assert crowd["roles"]["item"] == "HITId"


def test_a_table_with_ratings_of_its_own_is_to_be_checked_whatever_its_name(tmp_path):
    """The items of one study were labelled by another one, because its file ended in "rater"."""
    ratings = rated(range(5))
    items = pd.DataFrame({"item": [f"i{n}" for n in range(30)], "rater": "ann", "score": 1})
    items.assign(expert_label=np.resize([0, 1], 30)).to_csv(tmp_path / "one_rater.csv", index=False)
    ratings.to_csv(tmp_path / "one_item.csv", index=False)
    draft = write_study(tmp_path / "one_item.csv", tmp_path / "study.toml")
    assert (
        '"one_rater.csv" lies beside the data, is named alike and is joined; where it belongs to '
        "another study, take it out of this one"
    ) in draft.assumptions
    assert (
        '"expert_label" of "one_rater.csv" is taken to say which items are unsafe (1)'
    ) in draft.assumptions


@pytest.mark.parametrize(
    ("scores", "ends"),
    [
        ([*range(4, 96)], (0, 100)),
        ([0, 10, 25, 50, 75, 95], (0, 100)),
        ([n / 2 for n in range(150)], (0, 100)),
        ([*range(10)], (0, 9)),
        ([0, 5, 10, 15, 20], (0, 20)),
        ([1, 7, 30, 60], (1, 60)),
        ([*range(10, 130, 5)], (10, 125)),
    ],
)
def test_percentages_run_to_100(tmp_path, scores, ends):
    """The worst of scores from 0 to 95 was the end of the scale, with an infinite log-risk."""
    assumptions, panel = start(tmp_path, judged(scores, name="risk_score", prompts=100))
    scale = find_scale(panel)
    assert (scale["min"], scale["max"]) == ends
    assumption = (
        "numbers between 0 and 100 are taken to lie on a scale from 0 to 100, wherever those in "
        "the data end; write the ends of another scale"
    )
    assert (assumption in assumptions) == (ends == (0, 100))
    assert any("numbers run over those in the data" in x for x in assumptions) != (ends == (0, 100))

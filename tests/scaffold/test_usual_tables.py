"""Tables as other tools write them: what `init` reads from the names of their columns."""

import tomllib

import numpy as np
import pandas as pd
import pytest

from sharpbayes.errors import DataError
from sharpbayes.scaffold.study_file import write_study

PROMPTS = 40
RNG = np.random.default_rng(5)
SIZE = 3 * PROMPTS
KINDS = {
    "model": np.repeat(["alpha", "beta", "gamma"], PROMPTS),
    "prompt": np.tile([f"How do I {n}?" for n in range(PROMPTS)], 3),
    "number": np.tile(np.arange(PROMPTS), 3),
    "row": np.arange(SIZE),
    "text": [f"text {n}" for n in range(SIZE)],
    "score": RNG.integers(0, 6, SIZE),
    "flag": RNG.integers(0, 2, SIZE),
    "words": RNG.choice(["low", "medium", "high"], SIZE),
    "verdict": RNG.choice(["PASS", "FAIL"], SIZE),
    "judge": ["gpt"] * SIZE,
    "decimal": RNG.random(SIZE).round(3),
}


def start(folder, **columns):
    table = pd.DataFrame({name: KINDS[kind] for name, kind in columns.items()})
    table.to_csv(folder / "data.csv", index=False)
    draft = write_study(folder / "data.csv", folder / "study.toml")
    study = tomllib.loads((folder / "study.toml").read_text(encoding="utf-8"))
    return draft.assumptions, study["panel"]


@pytest.mark.parametrize(
    ("columns", "roles"),
    [
        (
            {"Model": "model", "Behavior": "prompt", "Generation": "text", "Label": "flag"},
            {"model": "Model", "prompt": "Behavior"},
        ),
        (
            {"target_model": "model", "judge_model": "judge", "goal": "prompt", "harm": "score"},
            {"model": "target_model", "judge": "judge_model", "prompt": "goal"},
        ),
        ({"model": "model", "id": "number", "harm": "score"}, {"model": "model", "prompt": "id"}),
        ({"engine": "model", "query": "prompt", "level": "words"}, {"model": "engine"}),
        (
            {"llm": "model", "test_case": "number", "result": "verdict", "evaluator": "judge"},
            {"model": "llm", "prompt": "test_case", "judge": "evaluator"},
        ),
    ],
)
def test_columns_of_usual_names_have_their_roles(tmp_path, columns, roles):
    assumed, panel = start(tmp_path, **columns)
    assert {role: panel["roles"].get(role) for role in roles} == roles
    assert not any(text.startswith("no column names the prompt") for text in assumed)
    assert len(panel["indicators"]) == 1


def test_a_number_of_each_row_is_no_prompt_and_a_generated_text_no_repeat(tmp_path):
    assumed, panel = start(tmp_path, model="model", id="row", generation="text", harm="score")
    assert panel["roles"] == {"model": "model", "prompt": "prompt", "judge": "judge"}
    assert assumed[0] == "no column names the prompt: every row counts as its own prompt"


def test_a_refusal_beside_a_score_is_an_indicator_too(tmp_path):
    columns = {"model": "model", "prompt": "prompt", "risk_score": "score", "refusal": "flag"}
    _, panel = start(tmp_path, **columns, confidence="decimal")
    assert panel["layout"] == "wide"
    assert panel["indicators"]["refusal"]["refusal"]
    assert panel["dimensions"] == [{"name": "harm", "rms": ["risk_score"]}]


def test_beside_other_flags_the_score_stays_the_only_one(tmp_path):
    columns = {"model": "model", "prompt": "prompt", "risk_score": "score", "refusal": "flag"}
    assumed, panel = start(tmp_path, **columns, is_long="flag")
    assert panel["layout"] == "long"
    assert 'only "risk_score" is taken as the score; "refusal", "is_long" could be' in assumed


@pytest.mark.parametrize(
    ("names", "is_asked"),
    [
        (("gpt4_harm", "claude_harm"), True),
        (("expert_1_label", "expert_2_label"), True),
        (("human_harm", "human_bias"), False),
        (("toxicity", "insult"), False),
    ],
)
def test_columns_named_after_judges_are_asked_about(tmp_path, names, is_asked):
    columns = {"model": "model", "prompt": "prompt"} | dict.fromkeys(names, "score")
    assumed, panel = start(tmp_path, **columns)
    assert [*panel["indicators"]] == [*names]
    asked = [text for text in assumed if "indicators of one judge" in text]
    question = (
        f'"{names[0]}" and "{names[1]}" are taken as indicators of one judge; where each has the '
        "scores of one judge, give every judge rows of their own (pandas.melt)"
    )
    assert asked == [question] * is_asked


def crowd(folder, *, item="item", rater="rater", **columns):
    """A crowd of six raters on twelve items; columns are functions of item and rater."""
    rows = [(i, r) for i in range(12) for r in range(6)]
    table = pd.DataFrame(rows, columns=[item, rater]).assign(age=[20 + r for _, r in rows])
    table["race"] = [("Black", "White", "Asian")[r % 3] for _, r in rows]
    for name, value in columns.items():
        table[name] = [value(i, r) for i, r in rows]
    table.to_csv(folder / "data.csv", index=False)
    draft = write_study(folder / "data.csv", folder / "study.toml")
    return draft.assumptions, tomllib.loads((folder / "study.toml").read_text("utf-8"))["crowd"]


def agree(i, r):
    return ("No", "Unsure", "Yes")[(i * 5 + r) % 3]


@pytest.mark.parametrize(
    ("item", "rater"),
    [("item_id", "rater_id"), ("stimulus", "participant"), ("sample_id", "labeler")],
)
def test_the_only_column_that_can_be_a_score_of_a_crowd_is_it(tmp_path, item, rater):
    seconds = {"answer_time_ms": lambda i, r: i * 7 + r}
    assumed, study = crowd(tmp_path, item=item, rater=rater, Q_overall=agree, **seconds)
    assert study["roles"] == {"item": item, "rater": rater, "score": "Q_overall"}
    assert study["scale"]["levels"] == ["No", "Unsure", "Yes"]
    assert study["groups"] == [["race"]]
    assert assumed[0] == (
        'no column is named as a score; "Q_overall" is taken as it, the only one that differs '
        "between the raters of an item and between the items of a rater"
    )


def test_flags_of_safety_have_the_good_one_first(tmp_path):
    _, study = crowd(tmp_path, is_safe=lambda i, r: ("No", "Yes")[(i + r) % 2])
    assert study["scale"] == {"kind": "categorical", "levels": ["Yes", "No"]}


def test_of_two_columns_none_is_taken_as_the_score(tmp_path):
    both = {"hatespeech": agree, "respect": lambda i, r: (i + r) % 5}
    with pytest.raises(DataError, match="score: no column found for it among item, rater"):
        crowd(tmp_path, **both)

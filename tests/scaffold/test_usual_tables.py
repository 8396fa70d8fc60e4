"""Tables as other tools write them: what `init` reads from the names of their columns."""

import json
import tomllib

import numpy as np
import pandas as pd
import pytest

import sharpbayes
from sharpbayes.errors import DataError, SpecError, join_names
from sharpbayes.scaffold.column_names import quote
from sharpbayes.scaffold.logs import LogTable
from sharpbayes.scaffold.merged_cells import fill_merged
from sharpbayes.scaffold.prompts import find_prompt
from sharpbayes.scaffold.raters import melt_items
from sharpbayes.scaffold.score_columns import melt_scores
from sharpbayes.scaffold.study_file import write_study
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.check import check

PROMPTS = 40
RNG = np.random.default_rng(5)
SIZE = 3 * PROMPTS
KINDS = {
    "model": np.repeat(["alpha", "beta", "gamma"], PROMPTS),
    "prompt": np.tile([f"How do I {n}?" for n in range(PROMPTS)], 3),
    "number": np.tile(np.arange(PROMPTS), 3),
    "story": np.tile([f"story {n // 4}" for n in range(PROMPTS)], 3),
    "constant": ["the only one"] * SIZE,
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
        (
            {"release": "model", "prompt.text": "prompt", "harm": "score"},
            {"model": "release", "prompt": "prompt.text"},
        ),
        (
            {
                "Which model?": "model",
                "Which prompt?": "prompt",
                "Your name": "judge",
                "h": "score",
            },
            {"model": "Which model?", "prompt": "Which prompt?", "judge": "Your name"},
        ),
        (
            {"model": "model", "id": "number", "n_judges": "judge", "scored by": "judge"}
            | {"harm": "score"},
            {"model": "model", "prompt": "id", "judge": "scored by"},
        ),
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
        (("gpt4_harm", "claude_harm", "claude_bias"), True),
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
        f"{join_names([quote(name) for name in names])} are taken as indicators of one judge; "
        "where each has the scores of one judge, give every judge rows of their own (pandas.melt)"
    )
    assert asked == [question] * is_asked


def copied(folder):
    return pd.read_csv(folder / "study.data.csv")


@pytest.mark.parametrize(
    ("names", "judges", "indicators"),
    [
        (["gpt4_judge", "claude_judge", "human"], ["gpt4_judge", "claude_judge", "human"], []),
        (["gpt-4o_score", "claude-3_score"], ["gpt-4o", "claude-3"], []),
        (["judge_1", "judge_2", "judge_3"], ["judge_1", "judge_2", "judge_3"], []),
        (["expert_1_label", "expert_2_label"], ["expert_1", "expert_2"], ["label"]),
        (["harm (GPT-4)", "harm (Llama 3 8B)"], ["GPT-4", "Llama 3 8B"], ["harm"]),
        (["human_label", "classifier_label"], ["human", "classifier"], ["label"]),
        (
            ["gpt4_harm", "gpt4_bias", "claude_harm", "claude_bias"],
            ["gpt4", "claude"],
            ["harm", "bias"],
        ),
    ],
)
def test_columns_of_judges_are_turned_into_rows(tmp_path, names, judges, indicators):
    columns = {"model": "model", "prompt": "prompt"} | dict.fromkeys(names, "score")
    columns |= {"gpt_tokens": "row", "gpt4_reason": "text"}
    assumed, panel = start(tmp_path, **columns)
    table, data = pd.read_csv(tmp_path / "data.csv"), copied(tmp_path)
    assert data["judge"].tolist() == judges * SIZE
    assert data["model"].tolist() == [model for model in table["model"] for _ in judges]
    of_judge = data[data["judge"] == judges[-1]]
    score = (indicators or ["score"])[-1]
    assert of_judge[score].tolist() == table[names[-1]].tolist()
    assert panel["data"] == "study.data.csv"
    assert panel["layout"] == ("long" if len(indicators) < 2 and score == "score" else "wide")
    assert assumed[0].endswith("are taken as the scores of one judge each, and turned into rows")
    assert check(load_study(tmp_path / "study.toml"))


@pytest.mark.parametrize(
    ("names", "judges", "indicators"),
    [
        (
            ["human_toxicity", "judge_toxicity", "human_bias", "judge_bias"],
            ["human", "judge"],
            ["toxicity", "bias"],
        ),
        (["human_expert", "llm_judge"], ["human_expert", "llm_judge"], ["score"]),
        (["human_score", "gpt4_score"], ["human", "gpt4"], ["score"]),
    ],
)
def test_columns_of_judges_of_one_model_are_turned_into_rows(tmp_path, names, judges, indicators):
    table = pd.DataFrame({"prompt": KINDS["prompt"][:PROMPTS], "response": KINDS["text"][:PROMPTS]})
    table[names] = RNG.integers(0, 5, (PROMPTS, len(names)))
    table.to_csv(tmp_path / "data.csv", index=False)
    draft = write_study(tmp_path / "data.csv", tmp_path / "study.toml")
    data = copied(tmp_path)
    assert data["judge"].tolist() == judges * PROMPTS
    assert data["model"].unique().tolist() == ["unnamed"]
    of_judge = data[data["judge"] == judges[-1]]
    assert of_judge[indicators[-1]].tolist() == table[names[-1]].tolist()
    listed = [f'"{name}"' for judge in judges for name in names if name.startswith(judge)]
    assert draft.assumptions[0] == (
        f"{', '.join(listed)} are taken as the scores of one judge each, and turned into rows"
    )
    counts = check(load_study(tmp_path / "study.toml")).counts
    assert (counts["judge"], counts["ratings"]) == (2, len(names) * PROMPTS)


@pytest.mark.parametrize("item", ["text", "prompt", "case"])
@pytest.mark.parametrize(
    "names",
    [
        ["annotator_1_score", "annotator_2_score", "annotator_3_score"],
        ["Rater A: harmful?", "Rater B: harmful?", "Rater C: harmful?"],
        ["reviewer1", "reviewer2"],
    ],
)
def test_columns_that_number_raters_are_raters(tmp_path, item, names):
    table = pd.DataFrame({item: KINDS["prompt"][:PROMPTS], "item_size": range(PROMPTS)})
    table[names] = RNG.integers(0, 5, (PROMPTS, len(names)))
    table.to_csv(tmp_path / "data.csv", index=False)
    write_study(tmp_path / "data.csv", tmp_path / "study.toml")
    crowd = tomllib.loads((tmp_path / "study.toml").read_text(encoding="utf-8"))["crowd"]
    assert crowd["roles"] == {"item": item, "rater": names}
    counts = check(load_study(tmp_path / "study.toml")).counts
    assert (counts["rater"], counts["ratings"]) == (len(names), len(names) * PROMPTS)


@pytest.mark.parametrize("suffix", ["", "_score", " (score)"])
def test_columns_of_models_are_turned_into_rows(tmp_path, suffix):
    names = [f"{name}{suffix}" for name in ("gpt-4o", "claude-3-opus", "Llama 3 8B")]
    columns = {"prompt": "prompt"} | dict.fromkeys(names, "score") | {"judge": "judge"}
    table = pd.DataFrame({name: KINDS[kind][:PROMPTS] for name, kind in columns.items()})
    table.to_csv(tmp_path / "data.csv", index=False)
    draft = write_study(tmp_path / "data.csv", tmp_path / "study.toml")
    data = copied(tmp_path)
    assert data["model"].tolist() == ["gpt-4o", "claude-3-opus", "Llama 3 8B"] * PROMPTS
    assert data["judge"].unique().tolist() == ["gpt"]
    assert draft.assumptions[0].endswith("scores of one model each, and turned into rows")
    assert check(load_study(tmp_path / "study.toml"))


@pytest.mark.parametrize(
    "columns",
    [
        {"comment": "prompt", "gpt-4o": "score", "claude-3": "score", "human": "score"},
        {"model": "model", "prompt": "prompt", "annotator": "number", "human_score": "score"},
        {
            "model": "model",
            "prompt": "prompt",
            "judge": "judge",
            "gpt4_x": "score",
            "claude_y": "score",
        },
        {
            "model": "model",
            "prompt": "prompt",
            "harm": "score",
            "gpt4_bias": "score",
            "claude_harm": "score",
        },
    ],
)
def test_other_columns_named_after_models_stay_columns(columns):
    table = pd.DataFrame({name: KINDS[kind][:PROMPTS] for name, kind in columns.items()})
    table = LogTable("data.csv", table.astype(str))
    assert melt_scores(table, {}) is table


def test_labels_above_merged_cells_are_filled_down(tmp_path):
    rows = [(p if m == "a" else "", m, p % 5, (p + 1) % 5) for p in range(PROMPTS) for m in "ab"]
    table = pd.DataFrame(rows, columns=["Prompt", "Model", "Rater 1", "Rater 2"])
    table.to_csv(tmp_path / "data.csv", index=False)
    draft = write_study(tmp_path / "data.csv", tmp_path / "study.toml")
    assert draft.assumptions[0] == (
        'cells of "Prompt" that are empty (40) have the label above, as below merged cells'
    )
    assert copied(tmp_path)["Prompt"].tolist() == [p for p in range(PROMPTS) for _ in range(4)]
    assert check(load_study(tmp_path / "study.toml")).counts["ratings"] == 4 * PROMPTS
    study = sharpbayes.study(table.replace("", None))
    assert study.check().counts["ratings"] == 4 * PROMPTS


def test_a_crowd_below_merged_cells_keeps_its_columns_of_raters(tmp_path):
    table = pd.DataFrame({"comment": [f"text {n}" for n in range(PROMPTS)], "topic": ""})
    table.loc[::4, "topic"] = [f"t{n}" for n in range(PROMPTS // 4)]
    for rater in ("ann", "bob", "cem"):
        table[rater] = RNG.integers(0, 5, PROMPTS)
    table.to_csv(tmp_path / "data.csv", index=False)
    write_study(tmp_path / "data.csv", tmp_path / "study.toml")
    crowd = tomllib.loads((tmp_path / "study.toml").read_text(encoding="utf-8"))["crowd"]
    assert crowd["roles"] == {"item": "comment", "rater": ["ann", "bob", "cem"]}
    assert check(load_study(tmp_path / "study.toml")).counts["ratings"] == 3 * PROMPTS


@pytest.mark.parametrize(
    "labels",
    [
        ["", "a", "", "b"],  # nothing above the first
        ["a", "a", "", ""],  # written twice in a row
        ["a", "b", "c", "d", "e", "f", "g", ""],  # few, such as in a row of totals
    ],
)
def test_other_empty_labels_stay_empty(labels):
    log = LogTable("data.csv", pd.DataFrame({"prompt": labels}))
    assert fill_merged(log, {}) is log


def test_data_frames_of_inspect_have_their_roles(tmp_path):
    columns = {
        "model": "model",
        "task_name": "judge",
        "sample_id": "text",
        "id": "number",
        "input": "prompt",
        "score_refusal_free": "quarter",
        "score_explanation": "text",
        "total_tokens": "row",
    }
    kinds = KINDS | {"quarter": RNG.choice([0, 0.25, 0.5, 0.75, 1.0], SIZE)}
    table = pd.DataFrame({name: kinds[kind] for name, kind in columns.items()})
    table.to_csv(tmp_path / "data.csv", index=False)
    write_study(tmp_path / "data.csv", tmp_path / "study.toml")
    panel = tomllib.loads((tmp_path / "study.toml").read_text(encoding="utf-8"))["panel"]
    assert panel["roles"]["prompt"] == "id"
    assert [*panel["indicators"]] == ["score_refusal_free"]


def test_a_column_that_pairs_models_is_the_prompt_where_none_is_named_so(tmp_path):
    columns = {"model": "model", "Was gefragt wurde": "prompt", "Antwort": "text", "harm": "score"}
    assumed, panel = start(tmp_path, **columns)
    assert panel["roles"]["prompt"] == "Was gefragt wurde"
    assert assumed[0] == (
        'no column is named as the prompt; "Was gefragt wurde" is taken as it, because each model '
        "has one row for each of its values"
    )
    assert check(load_study(tmp_path / "study.toml")).counts["prompt"] == PROMPTS


@pytest.mark.parametrize(
    ("columns", "judges"),
    [
        ({"asked": "prompt"}, 2),  # each judge has a row of its own, which no column names
        ({"answer": "text"}, 1),  # no value is that of several models
        ({"position": "number"}, 1),  # a number of rows by its name
    ],
)
def test_other_columns_are_no_prompts(columns, judges):
    table = {"model": KINDS["model"]} | {name: KINDS[kind] for name, kind in columns.items()}
    table = pd.concat([pd.DataFrame(table).astype(str)] * judges)
    assert find_prompt(table, {"model": "model"}) == ""


def test_judges_have_rows_of_their_own_for_a_prompt():
    table = pd.DataFrame({"model": KINDS["model"], "asked": KINDS["prompt"]})
    table = pd.concat([table.assign(judge=judge) for judge in "jk"])
    assert find_prompt(table, {"model": "model", "judge": "judge"}) == "asked"
    assert find_prompt(table.replace("How do I 3?", ""), {"model": "model"}) == ""


def test_people_among_the_judges_are_asked_about(tmp_path):
    names = ("gpt4_judge", "claude_judge", "human")
    columns = {"model": "model", "prompt": "prompt"} | dict.fromkeys(names, "score")
    assumed, _ = start(tmp_path, **columns)
    assert (
        '"human" is pooled with the other judges; where people are the truth that judges are '
        "compared with, write `reference`"
    ) in assumed


def test_a_frame_of_columns_of_judges_is_turned_into_rows():
    names = ("gpt4_judge", "claude_judge")
    columns = {"model": "model", "prompt": "prompt"} | dict.fromkeys(names, "score")
    study = sharpbayes.study(pd.DataFrame({name: KINDS[kind] for name, kind in columns.items()}))
    assert study.check().labels["judge"] == ("claude_judge", "gpt4_judge")


def test_decimals_of_moderation_scores_have_one_scale(tmp_path):
    scores = {"hate": KINDS["decimal"], "self-harm": KINDS["decimal"] * 0.4137}
    rows = [
        {"model": m, "prompt": p, "category_scores": dict(zip(scores, pair, strict=True))}
        for m, p, *pair in zip(KINDS["model"], KINDS["prompt"], *scores.values(), strict=True)
    ]
    text = "\n".join(json.dumps(row) for row in rows)
    (tmp_path / "data.jsonl").write_text(text, encoding="utf-8")
    write_study(tmp_path / "data.jsonl", tmp_path / "study.toml")
    panel = tomllib.loads((tmp_path / "study.toml").read_text(encoding="utf-8"))["panel"]
    assert panel["scales"] == {"scale_1": {"bins": [0.2, 0.4, 0.6, 0.8]}}
    assert [*panel["indicators"]] == ["category_scores.hate", "category_scores.self-harm"]


@pytest.mark.parametrize(("name", "least_harm"), [("harm", "0/10"), ("safety", "10/10")])
def test_scores_out_of_ten_are_ordered_by_their_numbers(tmp_path, name, least_harm):
    table = pd.DataFrame({"model": KINDS["model"], "prompt": KINDS["number"], "judge": "j"})
    table[f"{name} score"] = [f"{n % 11}/10" for n in range(SIZE)]
    table.to_csv(tmp_path / "data.csv", index=False)
    write_study(tmp_path / "data.csv", tmp_path / "study.toml")
    panel = tomllib.loads((tmp_path / "study.toml").read_text(encoding="utf-8"))["panel"]
    levels = panel["scales"]["scale_1"]["levels"]
    assert (len(levels), levels[0]) == (11, least_harm)


def test_errors_among_verdicts_are_empty_cells(tmp_path):
    verdict = np.where(np.arange(SIZE) % 9, KINDS["verdict"], "parse_error")
    table = pd.DataFrame({"model": KINDS["model"], "test": KINDS["number"], "result": verdict})
    table.to_csv(tmp_path / "data.csv", index=False)
    draft = write_study(tmp_path / "data.csv", tmp_path / "study.toml")
    assert "'parse_error' is read as an empty cell" in draft.assumptions[0]
    panel = tomllib.loads((tmp_path / "study.toml").read_text(encoding="utf-8"))["panel"]
    assert panel["roles"]["prompt"] == "test"
    assert panel["scales"]["scale_1"]["levels"] == ["PASS", "FAIL"]
    # Which end of words is harm is said with their order, and not once more.
    assert not any(text.startswith("a high score is taken as harm") for text in draft.assumptions)


def test_cells_that_were_scored_again_are_trials(tmp_path):
    """Ten cells have a second row with another score: the score names no version of an answer."""
    table = pd.DataFrame({"model": KINDS["model"], "prompt": KINDS["number"], "judge": "j"})
    table["harm"] = np.arange(len(table)) % 6
    again = table.head(10).assign(harm=(table["harm"].head(10) + 2) % 6)
    pd.concat([table, again]).to_csv(tmp_path / "data.csv", index=False)
    write_study(tmp_path / "data.csv", tmp_path / "study.toml")
    roles = tomllib.loads((tmp_path / "study.toml").read_text(encoding="utf-8"))["panel"]["roles"]
    assert roles.get("trial") is True
    assert "sample" not in roles


def test_numbers_of_repeats_are_no_scores(tmp_path):
    table = pd.DataFrame({"model": KINDS["model"], "prompt": KINDS["number"], "judge": "j"})
    table = pd.concat([table.assign(sample=s, temperature=t) for s in (0, 1, 2) for t in (0, 1)])
    table["harm_score"] = np.arange(len(table)) % 6
    table.to_csv(tmp_path / "data.csv", index=False)
    draft = write_study(tmp_path / "data.csv", tmp_path / "study.toml")
    assert draft.assumptions[0] == (
        'some cells are rated more than once, once for each "temperature"; the repeats are '
        "numbered; where they are versions to compare, add them to the name of the model"
    )
    assert not any("could be" in text for text in draft.assumptions)


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


def images(folder, **columns):
    """The study of a crowd that scores three images made from each of ten prompts."""
    rows = [
        (f"p{n}", f"i{3 * n + k}", f"r{r}") for n in range(10) for k in range(3) for r in range(4)
    ]
    table = pd.DataFrame(rows, columns=["prompt", "image", "rater"])
    table["score"] = [(len(p) + 3 * int(i[1:]) + int(r[1:])) % 5 for p, i, r in rows]
    for name, value in columns.items():
        table[name] = [value(*row) for row in rows]
    table.to_csv(folder / "data.csv", index=False)
    draft = write_study(folder / "data.csv", folder / "study.toml")
    return draft.assumptions, tomllib.loads((folder / "study.toml").read_text("utf-8"))["crowd"]


def test_images_of_a_prompt_are_the_items_and_the_prompt_is_their_cluster(tmp_path):
    """A prompt that raters repeat is no item; two thirds of the scores would be left out."""
    assumed, crowd = images(tmp_path, unsafe=lambda _prompt, image, _rater: int(image[1:]) % 2)
    roles = {"item": "image", "rater": "rater", "score": "score", "cluster": "prompt"}
    assert crowd["roles"] == roles
    assert crowd["labels"] == {"from": "item", "column": "unsafe"}
    assert "duplicates" not in crowd
    assert any('items with the same "prompt" are resampled together' in x for x in assumed)
    assert check(load_study(tmp_path / "study.toml")).counts["ratings"] == 120


@pytest.mark.parametrize(
    "column",
    [
        {
            "image": lambda _prompt, image, rater: image + rater
        },  # a row of its own, scored by nobody else
        {
            "image": lambda _prompt, image, _rater: f"{int(image[1:]) % 3}"
        },  # as many as a rater saw of a prompt
        {"image": lambda _prompt, image, _rater: image if image > "i1" else ""},
    ],
)
def test_what_raters_do_not_share_is_no_finer_item(tmp_path, column):
    _, crowd = images(tmp_path, **column)
    assert crowd["roles"]["item"] == "prompt"
    assert crowd["duplicates"] == "first"


def test_every_role_of_a_crowd_can_be_declared_and_no_other(tmp_path):
    """A role that `init` does not look for was left out in silence."""
    images(tmp_path, kind=lambda _prompt, image, _rater: f"k{int(image[1:]) // 6}")
    roles = {"cluster": "kind", "time": "score"}
    write_study(tmp_path / "data.csv", tmp_path / "declared.toml", roles=roles)
    crowd = tomllib.loads((tmp_path / "declared.toml").read_text("utf-8"))["crowd"]
    assert crowd["roles"].items() >= roles.items()
    write_study(tmp_path / "data.csv", tmp_path / "coarse.toml", roles={"item": "prompt"})
    crowd = tomllib.loads((tmp_path / "coarse.toml").read_text("utf-8"))["crowd"]
    assert (crowd["roles"]["item"], crowd["duplicates"]) == ("prompt", "first")
    message = "category: this table is taken as a crowd, which has no such role; its roles are item"
    with pytest.raises(SpecError, match=message):
        write_study(tmp_path / "data.csv", tmp_path / "x.toml", roles={"category": "kind"})


def test_a_column_that_groups_no_items_is_no_cluster(tmp_path):
    threads = {"thread": lambda _prompt, image, _rater: f"t of {image}"}
    _, crowd = images(tmp_path, prompt=lambda _prompt, _image, _rater: "the same", **threads)
    assert crowd["roles"] == {"item": "image", "rater": "rater", "score": "score"}


def test_tables_of_mechanical_turk_have_their_roles(tmp_path):
    columns = {"Answer.harm": lambda i, r: (i + r) % 5, "HITId": lambda i, r: f"h{i}{r}"}
    _, study = crowd(tmp_path, item="Input.text", rater="WorkerId", **columns)
    assert study["roles"] == {"item": "Input.text", "rater": "WorkerId", "score": "Answer.harm"}


def test_flags_of_safety_have_the_good_one_first(tmp_path):
    _, study = crowd(tmp_path, is_safe=lambda i, r: ("No", "Yes")[(i + r) % 2])
    assert study["scale"] == {"kind": "categorical", "levels": ["Yes", "No"]}


HARM = ["Not at all harmful", "Slightly harmful", "Very harmful", "Extremely harmful"]


def survey(folder, *, questions=False, **columns):
    """A survey with a row for each rater, a column for each of 12 items, and a table of items."""
    table = pd.DataFrame({"ResponseId": [f"R_{n}" for n in range(8)], "Gender": ["f", "m"] * 4})
    table = table.assign(**columns)
    for item in range(1, 13):
        table[f"Q{item}"] = [HARM[(item + rater) % 4] for rater in range(8)]
    if questions:
        texts = {name: [f"text of {name}", f'{{"ImportId":"QID{name}"}}'] for name in table}
        table = pd.concat([pd.DataFrame(texts), table])
    table.to_csv(folder / "data_survey.csv", index=False)
    items = {"item": [f"Q{item}" for item in range(1, 13)], "unsafe": [0, 1] * 6}
    pd.DataFrame(items).to_csv(folder / "data_items.csv", index=False)
    draft = write_study(folder / "data_survey.csv", folder / "study.toml")
    return draft.assumptions, tomllib.loads((folder / "study.toml").read_text("utf-8"))["crowd"]


@pytest.mark.parametrize("questions", [False, True])
def test_a_survey_is_turned_into_ratings(tmp_path, questions):
    assumed, crowd = survey(tmp_path, questions=questions, Started="today")
    data = copied(tmp_path)
    assert data.groupby(["ResponseId", "item"]).size().tolist() == [1] * 8 * 12
    first = data[(data["ResponseId"] == "R_3") & (data["item"] == "Q7")]
    assert first["score"].tolist() == [HARM[(7 + 3) % 4]]
    assert crowd["roles"] == {"item": "item", "rater": "ResponseId", "score": "score"}
    assert crowd["scale"]["levels"] == HARM
    assert (crowd["groups"], crowd["items"]["data"]) == ([["Gender"]], "data_items.csv")
    assert assumed[0] == (
        "each of these columns is taken as an item, and turned into rows: Q1, Q2, Q3, Q4, Q5 "
        "and 7 more"
    )
    assert check(load_study(tmp_path / "study.toml"))


def test_a_frame_of_a_survey_is_turned_into_ratings(tmp_path):
    survey(tmp_path)
    study = sharpbayes.crowd(pd.read_csv(tmp_path / "data_survey.csv"))
    assert study.check().counts["ratings"] == 8 * 12


@pytest.mark.parametrize(
    "columns",
    [
        {"Q3": ["3", "1"], "score": ["1", "2"]},
        {"Q3": ["3", "1"], "item": ["i1", "i2"]},
        {"Q3": ["every day", "on Sundays"]},
        {"Q3": ["3", "1"], "ResponseId": ["a", "a"]},
        {},
    ],
)
def test_other_numbered_columns_are_no_items(columns):
    table = {"ResponseId": ["a", "b"], "Q1": ["1", "2"], "Q2": ["2", "4"]} | columns
    log = LogTable("data.csv", pd.DataFrame(table))
    assert melt_items(log, {}) is log


def test_of_two_columns_none_is_taken_as_the_score(tmp_path):
    both = {"hatespeech": agree, "respect": lambda i, r: (i + r) % 5}
    with pytest.raises(DataError, match="score: no column found for it among item, rater"):
        crowd(tmp_path, **both)


@pytest.mark.parametrize(
    ("name", "kind", "is_cluster"),
    [
        ("scenario", "story", True),
        ("behavior_id", "story", True),
        ("template", "story", False),
        ("goal", "prompt", False),
        ("scenario", "constant", False),
        ("scenario", "words", False),
    ],
)
def test_a_column_that_groups_prompts_is_their_cluster(tmp_path, name, kind, is_cluster):
    columns = {"model": "model", "prompt": "prompt", "judge": "judge", "harm": "score"}
    assumptions, panel = start(tmp_path, **columns, **{name: kind})
    assert panel["roles"].get("cluster") == (name if is_cluster else None)
    assert ("are resampled together, as a cluster" in str(assumptions)) == is_cluster

"""Tables of public repositories of evaluations, rebuilt: what `init` takes as what."""

import json
import tomllib

import numpy as np
import pandas as pd
import pytest

from sharpbayes.data.readers.json_text import read_json_list
from sharpbayes.errors import DataError
from sharpbayes.scaffold.indicators import is_match
from sharpbayes.scaffold.logs import LogTable
from sharpbayes.scaffold.nested_cells import unfold_cells
from sharpbayes.scaffold.score_columns import melt_scores
from sharpbayes.scaffold.study_file import find_crowd, write_study
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.check import check

RNG = np.random.default_rng(12)
SIZE = 120
SCORES = RNG.integers(0, 5, SIZE)
FLAGS = RNG.integers(0, 2, SIZE)
PROMPTS = np.tile([f"p{n}" for n in range(40)], 3)


def panel(**columns):
    """Answers of three models to 40 prompts, with columns of a value for each row."""
    models = np.repeat(["alpha", "beta", "gamma"], 40)
    return pd.DataFrame({"model": models, "prompt": PROMPTS}).assign(**columns)


def start(folder, table, **options):
    """Write and check the study of a table; return its assumptions and its panel or crowd."""
    table.to_csv(folder / "data.csv", index=False)
    draft = write_study(folder / "data.csv", folder / "study.toml", **options)
    study = tomllib.loads((folder / "study.toml").read_text(encoding="utf-8"))
    check(load_study(folder / "study.toml"))
    return draft.assumptions, study.get("panel") or study["crowd"]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("n_ratings", SCORES),
        ("num_scores", SCORES),
        ("expected_label", RNG.choice(["safe", "unsafe"], SIZE)),
        ("gold_score", SCORES),
        ("ground_truth_label", FLAGS),
        ("match_harm", FLAGS),
        ("parse_ok", FLAGS),
        ("rep", [1] * SIZE),
        ("max_round", SCORES),
        ("harm_diff", SCORES),
        ("scores", ["[1, 2]", "[0]", "[3, 3, 3]"] * 40),
    ],
)
def test_what_is_no_score_by_its_name_is_no_indicator(tmp_path, name, values):
    _, study = start(tmp_path, panel(harm=SCORES, **{name: values}))
    assert [*study["indicators"]] == ["harm"]
    assert not {"score", "trial", "sample"} & {*study["roles"]}


def test_what_should_have_been_said_is_not_the_score_of_a_row(tmp_path):
    _, study = start(tmp_path, panel(clarity=SCORES, gold_score=FLAGS))
    assert [*study["indicators"]] == ["clarity"]
    assert "score" not in study["roles"]


def test_truth_is_a_dimension_that_judges_score(tmp_path):
    _, study = start(tmp_path, panel(harm=SCORES, truth=FLAGS))
    assert [*study["indicators"]] == ["harm", "truth"]


def test_a_column_is_a_match_of_another_column_only():
    assert is_match("match_harm", ["judge_harm", "match_harm"])
    assert not is_match("exact_match", ["harm", "exact_match"])
    assert not is_match("answer_harm", ["harm", "answer_harm"])


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("rep", "trial"),
        ("iteration", "trial"),
        ("call_index", "trial"),
        ("run_index", "sample"),
    ],
)
def test_numbers_of_repeats_have_roles(tmp_path, name, role):
    table = pd.concat([panel(harm=SCORES), panel(harm=SCORES[::-1])])
    _, study = start(tmp_path, table.assign(**{name: np.repeat([0, 1], SIZE)}))
    assert study["roles"][role] == name


@pytest.mark.parametrize("name", ["document_id", "segment", "passage"])
def test_prompts_have_further_names(tmp_path, name):
    _, study = start(tmp_path, panel(harm=SCORES).rename(columns={"prompt": name}))
    assert study["roles"]["prompt"] == name


def test_what_generates_is_a_model(tmp_path):
    _, study = start(tmp_path, panel(harm=SCORES).rename(columns={"model": "generator"}))
    assert study["roles"]["model"] == "generator"


@pytest.mark.parametrize("name", ["llm_response_id", "document_id", "video"])
def test_items_have_further_names(tmp_path, name):
    table = pd.DataFrame({name: PROMPTS, "reviewer": np.repeat([*"abc"], 40), "score": SCORES})
    _, study = start(tmp_path, table)
    assert study["roles"] == {"item": name, "rater": "reviewer", "score": "score"}


def test_long_texts_name_no_model(tmp_path):
    texts = [f"Sure, here is how {n}. " * 20 for n in range(SIZE)]
    table = panel(harm=SCORES, assistant=texts).rename(columns={"model": "target_model"})
    _, study = start(tmp_path, table)
    assert study["roles"]["model"] == "target_model"


def test_not_applicable_is_an_empty_cell(tmp_path):
    words = RNG.choice(["low", "high", "not_applicable"], SIZE)
    assumptions, study = start(tmp_path, panel(safety_risk=words))
    copy = pd.read_csv(tmp_path / study["data"])
    assert copy["safety_risk"].isna().sum() == (words == "not_applicable").sum()
    assert study["scales"]["scale_1"]["levels"] == ["low", "high"]
    assert assumptions[0].startswith("'not_applicable' is read as an empty cell in every column")


def test_the_prompt_is_the_column_that_models_share_where_the_named_one_repeats(tmp_path):
    behaviours = np.tile(np.repeat(["theft", "fraud", "arson", "spam"], 10), 3)
    table = panel(harm=SCORES).rename(columns={"prompt": "cell_id"})
    assumptions, study = start(tmp_path, table.assign(target_behavior=behaviours))
    assert study["roles"]["prompt"] == "cell_id"
    assert study["roles"]["cluster"] == "target_behavior"
    assert '"cell_id" is taken as the prompt' in str(assumptions)
    cases = table.rename(columns={"cell_id": "test_case"}).assign(target_behavior=behaviours)
    (tmp_path / "cases").mkdir()
    assumptions, _ = start(tmp_path / "cases", cases.rename(columns={"target_behavior": "goal"}))
    assert '"test_case" is taken as the prompt' in str(assumptions)
    _, study = start_again(tmp_path, table.assign(target_behavior=behaviours))
    assert study["roles"]["prompt"] == "target_behavior"


def test_a_column_across_the_named_prompt_is_no_finer_one(tmp_path):
    """The first place is of another behaviour in each model."""
    behaviours = np.tile(np.repeat([*"abcd"], 10), 3)
    places = np.concatenate([np.roll(np.arange(40), 10 * n) for n in range(3)])
    table = panel(harm=SCORES).drop(columns="prompt")
    _, study = start(tmp_path, table.assign(behavior=behaviours, place=places))
    assert study["roles"]["prompt"] == "behavior"


def start_again(folder, table):
    """Name the prompt, in a folder of its own."""
    (folder / "named").mkdir()
    return start(folder / "named", table, roles={"prompt": "target_behavior"})


def test_one_model_shares_prompts_with_its_repeats(tmp_path):
    table = pd.DataFrame(
        {
            "model_key": "qwen3",
            "cell_id": PROMPTS,
            "behavior": np.tile(np.repeat(["a", "b"], 20), 3),
            "rep": np.repeat([0, 1, 2], 40),
            "harm": SCORES,
        }
    )
    _, study = start(tmp_path, table)
    assert study["roles"]["prompt"] == "cell_id"


def test_a_column_that_few_rows_fill_is_no_prompt(tmp_path):
    table = panel(harm=SCORES, case_id=["c1", "", "", ""] * 30)
    _, study = start(tmp_path, table.rename(columns={"prompt": "asked"}))
    assert study["roles"]["prompt"] == "asked"


def test_texts_of_prompts_are_no_indicators(tmp_path):
    table = panel(score=SCORES, question=[f"How do I {name}?" for name in PROMPTS])
    _, study = start(tmp_path, table)
    assert "indicator" not in study["roles"]


@pytest.mark.parametrize("name", ["dimension", "metric", "aspect"])
def test_what_each_prompt_has_one_value_of_is_its_category(tmp_path, name):
    """A suite of tests has prompts of each dimension: no answer has a score of every one."""
    kinds = np.tile(np.repeat(["bias", "toxicity", "privacy", "fraud"], 10), 3)
    assumptions, written = start(tmp_path, panel(**{name: kinds, "final_score": SCORES}))
    assert written["roles"]["category"] == name
    assert "indicator" not in written["roles"]
    assert assumptions[0] == (
        f'"{name}" is taken as the category of the prompts and not as what is scored, because each '
        "prompt has one of its values"
    )
    assert [*written["indicators"]] == ["final_score"]
    (tmp_path / "study.toml").unlink()
    (tmp_path / "study.data.csv").unlink()
    with pytest.raises(DataError, match="every answer has no score of some indicator"):
        start(tmp_path, panel(**{name: kinds, "final_score": SCORES}), roles={"indicator": name})


def test_indicators_of_every_answer_stay_what_is_scored(tmp_path):
    table = pd.concat([panel(metric=m, score=RNG.integers(0, 5, SIZE)) for m in ("bias", "fraud")])
    assumptions, written = start(tmp_path, table)
    assert written["roles"]["indicator"] == "metric"
    assert "category" not in written["roles"]
    assert not [text for text in assumptions if "as the category of the prompts" in text]


def test_answers_that_a_column_names_are_generations(tmp_path):
    """Each judge scored every one of them: they are no repeated judgements."""
    answer = panel().assign(answer_number=1)
    table = pd.concat([answer, answer.assign(answer_number=2)], ignore_index=True)
    table["uid"] = table["model"] + "|" + table["prompt"] + "|" + table["answer_number"].astype(str)
    table = pd.concat([table.assign(judge=judge) for judge in ("x", "y", "z")], ignore_index=True)
    table["harm"] = RNG.integers(0, 5, len(table))
    table = table.drop(columns="answer_number").sample(frac=1, random_state=1)
    assumptions, written = start(tmp_path, table)
    assert written["roles"]["sample"] == "sample"
    assert (
        'each model answered a prompt several times; "uid" names its answers, which are numbered'
    ) in assumptions
    copy = pd.read_csv(tmp_path / written["data"])
    assert sorted(copy["sample"].unique()) == [1, 2]
    assert not copy[["uid", "sample"]].drop_duplicates()["uid"].duplicated().any()
    assert "trial" not in written["roles"]


def test_rows_without_a_model_are_left_out_and_counted(tmp_path):
    table = panel(harm=SCORES)
    table.loc[::5, "model"] = ""
    assumptions, study = start(tmp_path, table)
    assert '24 rows without a label in "model" left out' in str(assumptions)
    assert len(pd.read_csv(tmp_path / study["data"])) == SIZE - 24


def test_a_table_that_mostly_lacks_models_is_refused(tmp_path):
    table = panel(harm=SCORES)
    table.loc[table.index % 5 < 3, "model"] = ""
    with pytest.raises(DataError, match="72 empty cells where a label is needed"):
        start(tmp_path, table)


def test_columns_that_judges_are_named_after_are_judges_of_models_by_value():
    columns = {"qwen2-5-7b-instruct": FLAGS, "gemma-2-9b-it": FLAGS, "mistral-7b": FLAGS}
    table = panel(**columns).rename(columns={"model": "split"})
    table["split"] = table["split"].map({"alpha": "gpt-4", "beta": "claude", "gamma": "gpt-5"})
    melted = melt_scores(LogTable("t.csv", table.astype(str)), {})
    assert melted.data["judge"].unique().tolist() == [*columns]
    assert melted.data.columns.tolist() == ["split", "prompt", "judge", "score"]


@pytest.mark.parametrize(
    "values", [["A>B", "B>A"], ["A>>B", "B>A", "tie"], ["[A=B]", "[A<B]"], ["a > b", "b > a"]]
)
def test_verdicts_on_two_answers_are_refused(tmp_path, values):
    table = panel(label=(values * SIZE)[:SIZE], correct=FLAGS)
    with pytest.raises(DataError, match='"label" says which of two answers is better'):
        start(tmp_path, table)


def test_verdicts_beside_scores_are_not_refused(tmp_path):
    _, study = start(tmp_path, panel(winner=["A>B", "B>A"] * 60, harm_score=SCORES))
    assert "harm_score" in str(study["roles"]) or "harm_score" in study["indicators"]


def test_percentages_are_indicators_where_nothing_else_is(tmp_path):
    numbers = {"clarity": RNG.integers(3, 99, SIZE), "depth": RNG.integers(0, 101, SIZE)}
    assumptions, study = start(tmp_path, panel(**numbers))
    assert [*study["indicators"]] == [*numbers]
    assert '"clarity", "depth" are taken as indicators, because' in str(assumptions)


def test_percentages_beside_scores_and_larger_numbers_are_none(tmp_path):
    _, study = start(tmp_path, panel(clarity=RNG.integers(3, 99, SIZE), harm=SCORES))
    assert [*study["indicators"]] == ["harm"]
    (tmp_path / "large").mkdir()
    with pytest.raises(DataError, match="no column of scores found: area"):
        start(tmp_path / "large", panel(area=RNG.integers(0, 400, SIZE)))


def test_prompts_of_one_row_are_answers_of_one_model(tmp_path):
    table = pd.DataFrame({"id": range(40), "answer_text": "x", "harmful": FLAGS[:40]})
    table.to_csv(tmp_path / "answers_claude-3.csv", index=False)
    draft = write_study(tmp_path / "answers_claude-3.csv", tmp_path / "study.toml")
    study = tomllib.loads((tmp_path / "study.toml").read_text(encoding="utf-8"))["panel"]
    assert study["roles"] == {"prompt": "id", "model": "model", "judge": "judge"}
    assert 'all rows are taken as answers of one, "claude-3"' in draft.assumptions[0]
    check(load_study(tmp_path / "study.toml"))


def test_texts_without_scores_are_refused_by_what_they_lack(tmp_path):
    table = pd.DataFrame({"id": range(40), "response": [f"text {n}" for n in range(40)]})
    with pytest.raises(DataError, match="rater: no column found for it among id, response"):
        start(tmp_path, table)


def test_judges_of_unnamed_models_are_raters(tmp_path):
    table = pd.DataFrame({"prompt": range(40), "judge": [*"ab"] * 20, "harmful": FLAGS[:40]})
    _, study = start(tmp_path, table.rename(columns={"harmful": "score"}))
    assert study["roles"] == {"item": "prompt", "rater": "judge", "score": "score"}


def test_items_of_several_rows_are_of_a_crowd_without_a_rater(tmp_path):
    table = pd.DataFrame({"item": PROMPTS, "harmful": FLAGS, "n_words": SCORES})
    with pytest.raises(DataError) as raised:
        start(tmp_path, table)
    assert "rater: no column found for it among item, harmful, n_words" in str(raised.value)
    assert "or give a file for each model" in str(raised.value)
    score = str(raised.value).splitlines()[1]
    assert score.endswith('name it with --role score=COLUMN, such as "harmful"')


def test_raters_who_score_one_item_each_are_nobody(tmp_path):
    table = pd.DataFrame({"text": [f"t{n}" for n in range(40)], "response_id": range(40)})
    main = find_crowd(LogTable("t.csv", table.astype(str).assign(score="1")), {})
    assert "rater" not in main.roles


def test_whether_an_expert_scored_is_no_rater():
    table = pd.DataFrame({"item": PROMPTS, "expert_annotator": "false", "score": SCORES})
    assert "rater" not in find_crowd(LogTable("t.csv", table.astype(str)), {}).roles


def test_questions_of_a_crowd_are_not_called_models(tmp_path):
    rows = [(p, j, q) for p in range(20) for j in "ab" for q in ("clarity", "harm")]
    table = pd.DataFrame(rows, columns=["document_id", "judge", "criterion"])
    assumptions, _ = start(tmp_path, table.assign(score=SCORES[:80]))
    assert assumptions[0].startswith('"criterion" names what is scored')
    assert "--role model=COLUMN" in assumptions[0]


def test_columns_of_aspects_are_no_raters(tmp_path):
    numbers = dict.fromkeys(("sycophancy_rate", "bias", "political_effect"), SCORES[:40])
    _, study = start(tmp_path, pd.DataFrame({"item_id": range(40)}).assign(**numbers))
    assert study["roles"]["prompt"] == "item_id"
    assert [*study["indicators"]] == [*numbers]


def test_long_lists_of_scores_are_of_one_rater_a_place():
    lists = [json.dumps([int(x) for x in RNG.integers(0, 2, 12)]) for _ in range(5)]
    table = unfold_cells(LogTable("t.csv", pd.DataFrame({"item": [*"abcde"], "scores": lists})))
    assert table.data["rater"].tolist() == [f"rater_{n}" for n in range(1, 13)] * 5
    assert table.data["scores"].tolist() == [str(x) for text in lists for x in json.loads(text)]
    assert "one place of all lists" in table.assumptions[0]


@pytest.mark.parametrize("lists", [["[1, 0]", "[1, 1]"], ["[1" + ", 0" * 11 + "]", "[1]"]])
def test_short_and_uneven_lists_stay(lists):
    table = LogTable("t.csv", pd.DataFrame({"item": [*"ab"], "scores": lists}))
    assert unfold_cells(table) is table


def test_lists_of_one_entry_are_their_entry():
    table = LogTable("t.csv", pd.DataFrame({"item": [*"abc"], "tags": ["[1]", "[]", "[3]"]}))
    unfolded = unfold_cells(table)
    assert unfolded.data["tags"].tolist() == ["1", "", "3"]
    assert unfolded.assumptions == ('lists in "tags" have one entry each, which is the value',)


def test_lists_that_say_no_rater_are_named(tmp_path):
    table = pd.DataFrame({"item": PROMPTS, "scores": ["[1, 2]", "[0]", "[3, 3, 3]"] * 40})
    with pytest.raises(DataError, match='lists in "scores" do not say whose scores they are'):
        start(tmp_path, table)


@pytest.mark.parametrize(("others", "is_read"), [(1, True), (5, True), (6, False)])
def test_of_several_lists_of_json_the_rows_are_the_much_longer_one(tmp_path, others, is_read):
    rows = [{"prompt": n, "harm": n % 3} for n in range(25)]
    content = {"model": "a", "metrics": [{"name": "x"}] * others, "rows": rows}
    (tmp_path / "data.json").write_text(json.dumps(content))
    if not is_read:
        with pytest.raises(DataError, match="no list of JSON objects"):
            read_json_list(tmp_path / "data.json")
        return
    table = read_json_list(tmp_path / "data.json")
    assert table["prompt"].tolist() == [str(n) for n in range(25)]
    assert set(table["model"]) == {"a"}


def test_many_indicators_are_described_at_once(tmp_path):
    """It once took minutes for a few hundred of them."""
    rows = pd.concat([panel(score=SCORES).assign(metric=f"m{n}") for n in range(60)])
    _, study = start(tmp_path, rows)
    assert len(study["indicators"]) == 60


def test_tables_beside_a_panel_are_not_read(tmp_path):
    (tmp_path / "data_raters.csv").write_bytes(b"a,b\n1\n")
    panel(harm=SCORES).to_csv(tmp_path / "data_ratings.csv", index=False)
    draft = write_study(tmp_path / "data_ratings.csv", tmp_path / "study.toml")
    assert not [text for text in draft.assumptions if "alongside" in text]

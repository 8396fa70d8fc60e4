"""Whether a high score is harm or good: by names where they say it, and asked in any case."""

import tomllib

import numpy as np
import pandas as pd
import pytest

from sharpbayes.report.screen import answer_text
from sharpbayes.report.summary import answer
from sharpbayes.scaffold.column_names import infer_roles
from sharpbayes.scaffold.frame import draft_frame
from sharpbayes.scaffold.harm import describe_crowd_direction, says_good
from sharpbayes.scaffold.study_file import write_study
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.measure import measure


def start(folder, table):
    table.to_csv(folder / "data.csv", index=False)
    draft = write_study(folder / "data.csv", folder / "study.toml")
    return draft.assumptions, tomllib.loads((folder / "study.toml").read_text(encoding="utf-8"))


def panel(**columns):
    rows = [(model, prompt) for model in ("better", "worse") for prompt in range(40)]
    table = pd.DataFrame(rows, columns=["model", "prompt"]).assign(judge="j")
    return table.assign(**columns)


def crowd(name, scores=(1, 2, 3, 4, 5)):
    rows = [(item, rater) for item in range(12) for rater in range(6)]
    table = pd.DataFrame(rows, columns=["item", "rater"])
    table["country"] = np.where(table["rater"] % 2, "f", "m")
    return table.assign(**{name: [scores[(i + r) % len(scores)] for i, r in rows]})


@pytest.mark.parametrize(
    ("name", "good"),
    [
        *((name, True) for name in ("safety", "Safety score", "isSafe", "response_quality")),
        *((name, True) for name in ("helpfulness_rating", "fairness", "level of honesty")),
        *((name, False) for name in ("unsafe", "not_safe", "safety_violation", "quality issue")),
        *((name, False) for name in ("score", "harm", "lack_of_fairness", "score_1", "")),
    ],
)
def test_a_name_says_good_by_its_last_word_unless_it_is_denied(name, good):
    assert says_good(name) == good


def test_a_score_of_safety_does_not_make_the_safest_model_the_worst(tmp_path):
    scores = [4 + n % 2 for n in range(40)] + [1 + n % 3 for n in range(40)]
    assumed, study = start(tmp_path, panel(safety_score=scores))
    assert study["panel"]["indicators"] == {"safety_score": {"scale": "scale_1", "reverse": True}}
    assert assumed[1] == (
        '"safety_score" says by its name that a high score is good (`reverse = true`); where it is '
        "harm, leave out `reverse`"
    )
    few = ("bootstrap.replicates=20",)
    results = measure(load_study(tmp_path / "study.toml", overrides=few))
    assert results["profile/mean"].to_series().idxmin() == "better"
    first, *others = answer_text(results, width=300).splitlines()
    assert first == "Under 3 unconfirmed assumptions, see below:"
    assert any("better has the lowest mean log-risk" in text for text in others)


def test_indicators_of_both_directions_are_told_apart_by_their_names(tmp_path):
    scores = [n**2 % 7 % 5 + 1 for n in range(80)]
    flags = [bool(n % 3) for n in range(80)]
    assumed, study = start(tmp_path, panel(harm=scores, Quality=scores, is_safe=flags))
    indicators = study["panel"]["indicators"]
    assert indicators["harm"] == "scale_1"
    assert indicators["Quality"] == {"scale": "scale_1", "reverse": True}
    assert indicators["is_safe"] == {"scale": "scale_2", "reverse": True}
    assert any(text.startswith('"Quality", "is_safe" say') for text in assumed)
    assert any(text.startswith('a high score of "harm" is taken as harm') for text in assumed)


def test_criteria_of_a_long_table_have_directions_too(tmp_path):
    table = panel(score=[n % 5 + 1 for n in range(80)])
    table = pd.concat([table.assign(criterion=name) for name in ("toxicity", "helpfulness")])
    _, study = start(tmp_path, table)
    assert study["panel"]["indicators"] == {
        "helpfulness": {"scale": "scale_1", "reverse": True},
        "toxicity": "scale_1",
    }


def test_words_keep_the_order_that_a_list_gives_them(tmp_path):
    words = ["None", "Mild", "Severe"]
    _, study = start(tmp_path, panel(safety=[words[n % 3] for n in range(80)]))
    assert study["panel"]["indicators"] == {"safety": "scale_1"}


@pytest.mark.parametrize(("decided", "reverse"), [({}, True), ({"reverse": False}, False)])
def test_what_is_decided_of_an_indicator_stands(decided, reverse):
    table = panel(safety=[n % 5 + 1 for n in range(80)])
    text, _ = draft_frame(table, "panel", {"seed": 1, "indicators": {"safety": decided}})
    expected = {"safety": {"scale": "scale_1", "reverse": reverse}}
    assert tomllib.loads(text)["panel"]["indicators"] == expected


def test_a_crowd_that_rates_safety_has_its_levels_from_the_highest(tmp_path):
    assumed, study = start(tmp_path, crowd("safety_rating"))
    assert study["crowd"]["scale"] == {
        "kind": "categorical",
        "levels": ["5", "4", "3", "2", "1"],
    }
    assert assumed[0] == (
        'the order of "safety_rating" is taken from its name, by which a high score is good: the '
        "highest is the least harm"
    )
    assert describe_crowd_direction({}) not in assumed


def test_a_crowd_that_labels_for_itself_is_asked_which_end_is_harm(tmp_path, tmp_path_factory):
    assumed, study = start(tmp_path, crowd("rating"))
    assert study["crowd"]["scale"]["kind"] == "ordinal"
    assert describe_crowd_direction({}) in assumed
    labelled = crowd("rating").assign(gold_unsafe=lambda x: x["item"] % 2)
    assert (
        describe_crowd_direction({}) not in start(tmp_path_factory.mktemp("labelled"), labelled)[0]
    )


def test_a_version_of_a_model_names_it_where_nothing_else_does():
    table = pd.DataFrame(columns=["model_version", "prompt", "grader", "is_harmful"])
    assert infer_roles(table, ["model"], {}) == {"model": "model_version"}
    both = pd.DataFrame(columns=["model_version", "model_name", "prompt_version"])
    assert infer_roles(both, ["model", "prompt"], {})["model"] == "model_name"
    assert "prompt" not in infer_roles(both, ["model", "prompt"], {})


AGREEMENT = ["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"]


def test_agreement_that_an_answer_is_good_is_the_least_harm(tmp_path):
    safer = [AGREEMENT[2 + n % 3] for n in range(40)] + [AGREEMENT[n % 3] for n in range(40)]
    harm = [AGREEMENT[n % 7 % 5] for n in range(80)]
    columns = {"The answer is helpful": safer, "The answer is harmful": harm}
    assumed, study = start(tmp_path, panel(**columns))
    scales = study["panel"]["scales"]
    levels = {name: scales[key]["levels"] for name, key in study["panel"]["indicators"].items()}
    assert levels == {
        "The answer is helpful": AGREEMENT[::-1],
        "The answer is harmful": AGREEMENT,
    }
    assert (
        'the order of "The answer is helpful" is taken from the words and its name, by which '
        "agreement is good, least harm first: Strongly agree, Agree, Neutral, Disagree, Strongly "
        "disagree"
    ) in assumed


def test_a_crowd_that_agrees_that_an_item_is_safe_rates_it_harmless(tmp_path):
    words = ["No", "Partial", "Yes"]
    assumed, study = start(tmp_path, crowd("The response is safe", words))
    assert study["crowd"]["scale"]["levels"] == ["Yes", "Partial", "No"]
    assert any("by which agreement is good, least harm first: Yes, Partial" in x for x in assumed)


def test_refusals_that_are_all_that_is_scored_are_named_as_the_harm(tmp_path):
    assumed, study = start(tmp_path, panel(refused=[bool(n % 3) for n in range(80)]))
    assert study["panel"]["indicators"] == {"refused": "scale_1"}
    assert assumed[-2] == (
        '"refused" says by its name that a model refused, and nothing else is scored: a refusal is '
        "taken as harm; where it is good, write { scale = ..., reverse = true }"
    )


@pytest.mark.parametrize("make", [panel, crowd])
def test_an_answer_by_words_of_no_known_order_begins_with_that(tmp_path, make):
    words = ["spicy", "hot", "bland"]
    table = panel(score=[words[n % 7 % 3] for n in range(80)])
    _, study = start(tmp_path, table if make is panel else crowd("score", words))
    few = [f"{key}={n}" for key, n in (("bootstrap.replicates", 20), ("crowd.permutations", 0))]
    files = load_study(tmp_path / "study.toml", overrides=tuple(few[: 1 + ("crowd" in study)]))
    assert answer(measure(files))[0] == (
        'No number below can be read as harm yet: the order of "score" is not known: spicy, hot, '
        "bland is how they first appear; put the least harm first."
    )


@pytest.mark.parametrize(
    ("values", "decided"),
    [
        (pd.Categorical(AGREEMENT * 16, AGREEMENT, ordered=True), {}),
        (AGREEMENT * 16, {"reverse": True}),
    ],
)
def test_a_stated_order_and_a_decided_direction_of_agreement_stand(values, decided):
    table = panel(is_safe=values)
    text, _ = draft_frame(table, "panel", {"seed": 1, "indicators": {"is_safe": decided}})
    assert tomllib.loads(text)["panel"]["scales"]["scale_1"]["levels"] == AGREEMENT

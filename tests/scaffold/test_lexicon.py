"""Scales of text in the order of their words, and roles by the words of names."""

import pandas as pd
import pytest

from sharpbayes.scaffold.column_names import infer_roles
from sharpbayes.scaffold.lexicon import order_by_number, order_levels

SCALES = (
    "None < Low < Minor < Mild < Moderate < Medium < Serious < High < Severe < Critical < Extreme",
    "safe < unsafe",
    "safe < unsure < unsafe",
    "no < maybe < yes",
    "never < rarely < sometimes < often < always",
    "Strongly disagree < Disagree < Neither agree nor disagree < Agree < Strongly agree",
    "harmless < harmful",
    "acceptable < borderline < unacceptable",
    "not harmful < slightly harmful < harmful < very harmful < extremely harmful",
    "Not at all toxic < Somewhat toxic < Very toxic",
    "1_full_refusal < 2_partial_refusal < 3_full_compliance",
    "2_full_refusal < 3_partial_refusal < 1_full_compliance",
    "pass < fail",
    "Excellent < Good < Fair < Poor",
    "normal < offensive < hatespeech",
    "neither < offensive language < hate speech",
    "Safe < Controversial < Unsafe",
    "unharmful < harmful",
    "low risk < medium risk < high risk",
    "No Risk < Low Risk < Moderate Risk < Critical Risk",
    "no violation < minor violation < major violation",
    "no hate < implicit hate < explicit hate",
    "no harm < harm",
    "REFUSE < COMPLY",
    "Acceptable < Needs improvement < Unacceptable",
    "aligned < partially aligned < misaligned",
    "allow < warn < block",
    "attack_failure < attack_success",
    "No < Partial < Yes",
    "Green < Amber < Red",
    "green < yellow < orange < red",
    "Minimal < Limited < High < Unacceptable",
    "Minimal risk < Limited risk < High risk < Prohibited",
    "None < LOW < Low < low < Medium < High < high",
)


@pytest.mark.parametrize("scale", SCALES)
def test_words_stand_in_the_order_of_their_harm(scale):
    levels = scale.split(" < ")
    for texts in (sorted(levels), levels[::-1]):
        assert order_levels(texts) == levels


@pytest.mark.parametrize(
    "texts",
    [["teacher", "nurse"], ["High", "high"], ["low", "spicy"], ["no"], ["risk", "harm"]],
)
def test_words_without_a_known_order_have_none(texts):
    assert order_levels(texts) is None


def test_numbers_in_words_order_them():
    assert order_by_number(["Tier 10", "Tier 9"]) == ["Tier 9", "Tier 10"]
    assert order_by_number(["Tier 1", "1st"]) is None
    assert order_by_number(["Tier 1", "Tier"]) is None
    assert order_by_number(["2 of 4", "10 of 4"]) == ["2 of 4", "10 of 4"]
    assert order_by_number(["1/4", "0/4", "4/4"]) == ["0/4", "1/4", "4/4"]
    assert order_by_number(["1/4", "1/2"]) is None
    assert order_by_number(["1/4", "1"]) is None


@pytest.mark.parametrize(
    ("column", "role"),
    [
        ("LLM judge", "judge"),
        ("judge_model", "judge"),
        ("graderModel", "judge"),
        ("LLM", "model"),
        ("Model ID", "model"),
        ("modelname", "model"),
        ("Prompt-ID", "prompt"),
        ("sample_id", "prompt"),
        ("sampleid", "prompt"),
        ("prompt category", "category"),
        ("Harm ratings", "score"),
        ("trial", "trial"),
        ("attempt_no", "sample"),
        ("Repetition", "trial"),
        ("replicates", "trial"),
        ("scorer_epoch", "trial"),
        ("judge run", "trial"),
        ("grading_attempt", "trial"),
        ("graded_by", "judge"),
        ("graded_by_model", "judge"),
        ("answered_by_model", "model"),
        ("epoch", "sample"),
        ("run_id", "sample"),
        ("persona", None),
        ("prompt text", None),
        ("judge rationale", None),
        ("model response", None),
    ],
)
def test_the_last_word_of_a_name_says_its_role(column, role):
    wanted = ("model", "prompt", "judge", "indicator", "score", "trial", "sample", "category")
    assert infer_roles(pd.DataFrame(columns=[column]), wanted, {}) == (
        {role: column} if role else {}
    )


def test_an_id_and_a_plain_name_come_first():
    table = pd.DataFrame(columns=["harm score", "score", "prompt", "prompt_id", "judge model"])
    roles = infer_roles(table, ("model", "prompt", "judge", "score"), {})
    assert roles == {"prompt": "prompt_id", "judge": "judge model", "score": "score"}

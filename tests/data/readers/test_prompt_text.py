"""Texts of prompts in the logs of other programs."""

import json
from pathlib import Path

import pandas as pd
import pytest

from sharpbayes.data.panel import read_panel
from sharpbayes.data.readers.formats import read_table
from sharpbayes.data.readers.inspect_log import read_json_log
from sharpbayes.data.readers.prompt_text import clip_log_text, join_messages, keep_one_text
from sharpbayes.spec.panel import Panel

LOGS = Path(__file__).parents[1] / "logs"
ASKED = {
    "probe_*": ("inspect", "p1", "Question 1?"),
    "lm_eval/*/samples_say_*.jsonl": ("lm-eval", "0", "Is fire hot?"),
    "promptfoo.json": ("promptfoo", "One?", "One?"),
    "every_eval_ever/*_samples.jsonl": ("every-eval-ever", "p1", "Question 1?"),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_log_says_what_was_asked(name):
    layout, prompt, text = ASKED[name]
    table = read_table(LOGS, name, layout)
    assert set(table.loc[table["prompt"] == prompt, "text"]) == {text}


def test_the_text_of_a_long_input_of_deepeval_is_not_its_label(tmp_path):
    run = json.loads((LOGS / "deepeval/test_run_alpha.json").read_text(encoding="utf-8"))
    run["testCases"][0]["input"] = asked = "Is it safe? " * 20
    (tmp_path / "test_run_x.json").write_text(json.dumps(run), encoding="utf-8")
    table = read_table(tmp_path, "test_run_x.json", "deepeval")
    assert asked.strip() in set(table["text"])
    assert asked.strip() not in set(table["prompt"])


def inspect_text(folder, **sample):
    """The text that is read from the first sample of a log of Inspect with other content."""
    log = json.loads((LOGS / "probe_gamma.json").read_text(encoding="utf-8"))
    log["samples"][0] |= sample
    (folder / "log.json").write_text(json.dumps(log), encoding="utf-8")
    return read_json_log(folder / "log.json").samples[0].text


@pytest.mark.parametrize(
    ("sample", "text"),
    [
        ({"input": "Why?"}, "Why?"),
        (
            {
                "input": [
                    {"role": "system", "content": "Be kind."},
                    {"role": "user", "content": "?"},
                ]
            },
            "?",
        ),
        ({"input": [{"role": "system", "content": "Be kind."}]}, "Be kind."),
        (
            {
                "input": [
                    {"role": "user", "content": [{"type": "text", "text": "See"}, {"image": "x"}]}
                ]
            },
            "See",
        ),
        ({"input": "attachment://a1", "attachments": {"a1": "A long text."}}, "A long text."),
        ({"input": "attachment://a2", "attachments": {"a1": "A long text."}}, ""),
        ({"input": "attachment://a2", "attachments": None}, ""),
        ({"input": 3}, ""),
        ({"input": None}, ""),
    ],
)
def test_the_input_of_a_sample_is_a_text_or_a_chat(tmp_path, sample, text):
    assert inspect_text(tmp_path, **sample) == text


def test_texts_are_shortened_and_can_be_written():
    assert clip_log_text("a\0b\ud800c") == "a\ufffdb\ufffdc"
    assert clip_log_text("Example. " * 90 + "Asked?", keep_end=True).endswith("Example. Asked?")
    assert clip_log_text("Asked? " + "More. " * 90).startswith("Asked? More.")
    assert {len(clip_log_text("x" * 900, keep_end=end)) for end in (True, False)} == {500}
    assert join_messages({"role": "user"}) == ""


def test_a_prompt_has_the_first_text_that_is_not_empty():
    table = pd.DataFrame({"prompt": ["p", "q", "p", "p"], "text": ["", "Q?", "P?", "p?"]})
    assert keep_one_text(table)["text"].tolist() == ["P?", "Q?", "P?", "P?"]


def panel_of_lm_eval(**roles):
    """A panel of the logs of lm-evaluation-harness."""
    return Panel.model_validate(
        {
            "data": "lm_eval/*/samples_say_*.jsonl",
            "layout": "lm-eval",
            "roles": roles,
            "scales": {"right": {"kind": "boolean"}},
            "indicators": {"exact_match": {"scale": "right", "reverse": True}},
            "dimensions": [{"name": "wrong", "mean": ["exact_match"]}],
        }
    )


def test_a_panel_of_logs_has_the_texts_of_its_prompts():
    data = read_panel(panel_of_lm_eval(), LOGS)
    texts = dict(zip(data.labels["prompt"], data.prompt_text.tolist(), strict=True))
    assert (texts["0"], texts["1"]) == ("Is fire hot?", "Is ice hot?")


def test_another_column_of_prompts_has_no_text_unless_the_study_names_one():
    data = read_panel(panel_of_lm_eval(prompt="doc.question"), LOGS)
    assert data.prompt_text.size == 0
    data = read_panel(panel_of_lm_eval(prompt="doc.question", text="doc.said"), LOGS)
    assert set(data.prompt_text.tolist()) == {"lo", "lol"}

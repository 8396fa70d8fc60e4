"""Judges who contradict each other, from scores to the answer."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import sharpbayes
from sharpbayes.metrics.panel.concordance import MAX_TAU
from sharpbayes.report.summary import answer

PROMPTS, JUDGES = 25, 5


def measure_scores(latent, **roles):
    """Results of one model, of latent severities over (answer, judge) in five steps.

    Every answer is to a prompt of its own, or to the one that ``roles`` name.
    """
    answers, judges = latent.shape
    columns = {"prompt": [f"p{n:03d}" for n in range(answers)], **roles}
    table = pd.DataFrame(
        {
            "model": "acme",
            "judge": [f"j{n}" for n in range(judges)] * answers,
            "harm": np.searchsorted([-0.5, 0.2, 0.8, 1.5], latent).ravel(),
        }
        | {name: np.repeat(values, judges) for name, values in columns.items()}
    )
    return sharpbayes.study(
        table,
        indicators={"harm": "s"},
        scales={"s": {"kind": "ordinal", "min": 0, "max": 4}},
        bootstrap={"replicates": 100},
        **{role: role for role in columns},
    ).measure()


def contradictions(results):
    """Sentences on judges who contradict each other."""
    return [text for text in answer(results) if text.startswith("Judges contradict")]


def test_judges_who_have_nothing_in_common_do_not_contradict_each_other():
    """One of ten pairs has a tau-b of less than -0.3, as in a third of such studies."""
    results = measure_scores(np.random.default_rng(0).normal(size=(PROMPTS, JUDGES)))
    assert float(results["judges"]["concordance_mean"].min()) <= MAX_TAU
    assert not contradictions(results)


def test_a_judge_who_reads_the_scale_from_the_other_end_is_named():
    rng = np.random.default_rng(5)
    latent = rng.normal(size=(PROMPTS, 1)) + 0.7 * rng.normal(size=(PROMPTS, JUDGES))
    latent[:, -1] *= -1
    [sentence] = contradictions(measure_scores(latent))
    named = "j0 vs j4, j1 vs j4, j2 vs j4 and j3 vs j4"
    assert sentence.startswith(f"Judges contradict each other beyond chance ({named}): ")
    assert "5%, corrected for 10 comparisons" in sentence


@pytest.mark.parametrize("role", ["sample", "cluster"])
def test_answers_to_one_prompt_and_variants_of_a_scenario_count_as_one(role):
    """Four times the same scores of 30 prompts have the p value of the 30, nearly."""
    latent = np.random.default_rng(9).normal(size=(30, 2))
    scenarios = np.repeat([f"s{n:02d}" for n in range(30)], 4)
    roles = {"cluster": scenarios}
    if role == "sample":
        roles = {"prompt": scenarios, "sample": np.resize(list("abcd"), 120)}
    studies = measure_scores(latent), measure_scores(np.repeat(latent, 4, axis=0), **roles)
    z = [float(norm.ppf(results["judges"]["concordance_p"].squeeze())) for results in studies]
    assert z[1] == pytest.approx(z[0], rel=0.05)

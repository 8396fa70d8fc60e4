"""Prompts that tie at the edge of the tail: CVaR is then not that of the worst."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import sharpbayes
from sharpbayes.analysis.gate_evidence import TIED_TAIL
from sharpbayes.metrics.panel.evidence import is_wide_tail, tail_mass
from sharpbayes.report.gate import gate_answer
from sharpbayes.report.summary import summary
from tests.references.ties_at_var import WEIGHTS, measure

TOLERANCE = """
[tolerance]
dimension = {{ harm = 0.95 }}
"""
PROMPTS = 120


def scored(**levels):
    """A row for each model and prompt: so many prompts at 2, so many at 1, all others at 0."""
    shares = {model: {2: severe, 1: middle} for model, (severe, middle) in levels.items()}
    return scored_at(PROMPTS, **shares)


def scored_at(prompts, **numbers):
    """A row for each model and prompt: so many prompts at each score, all others at 0."""
    parts = [
        pd.DataFrame(
            {
                "model": model,
                "prompt": [f"p{number:04d}" for number in range(prompts)],
                "judge": "ann",
                "harm": np.repeat(
                    [*of_model, 0], [*of_model.values(), prompts - sum(of_model.values())]
                ),
            }
        )
        for model, of_model in numbers.items()
    ]
    return pd.concat(parts)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Measure a table by an estimator."""

    def measure_table(table, estimator="inclusive", top=2, limit="0.95"):
        folder = tmp_path_factory.mktemp("weights")
        text = WEIGHTS + TOLERANCE.replace("0.95", limit)
        return measure(folder, estimator, table, seed=1, top=top, text=text, replicates=200)

    return measure_table


@pytest.fixture(scope="module")
def rarely_severe(measured):
    """One model is at 1 in a third of the prompts, the other at 2 in three and else at 0."""
    return measured(scored(often=(0, 40), rarely=(3, 0)))


def test_a_mean_of_nearly_all_prompts_is_not_called_the_lowest_tail(rarely_severe):
    assert rarely_severe["profile"]["cvar"].idxmin("model").item() == "rarely"
    evidence = rarely_severe["evidence"]
    assert evidence["wide_tail"].values.tolist() == [False, True]
    assert "lowest" not in json.loads(evidence.attrs["carried"])
    [text, _] = [t for t in json.loads(evidence.attrs["limits"]) if "Prompts tie" in t]
    assert text == (
        "This study cannot tell which model has the lowest CVaR 95. Prompts tie at the edge of the "
        "tail: CVaR 95 of rarely is the mean of 120 of 120 prompts (100%), not of the worst 5%. "
        'With `tail.estimator = "rockafellar-uryasev"` in the weights it is that of the worst 5%. '
        "The policy score can be compared."
    )
    assert text not in json.loads(evidence.attrs["remarks"])
    assert not any("has the lowest tail risk" in line for line in summary(rarely_severe).answer)


def test_where_ties_are_divided_the_order_is_that_of_the_worst(measured):
    results = measured(scored(often=(0, 40), rarely=(3, 0)), "rockafellar-uryasev")
    assert results["profile"]["cvar"].idxmin("model").item() == "often"
    assert not results["evidence"]["wide_tail"].any()


def test_ties_of_another_model_leave_the_lowest_one_standing(measured):
    # 30 prompts of the higher model share its VaR: by the worst 5% it is higher still.
    results = measured(scored(low=(0, 7), high=(2, 30)))
    assert results["evidence"]["wide_tail"].values.tolist() == [True, False]  # high, low
    [text, _] = [t for t in json.loads(results["evidence"].attrs["limits"]) if "Prompts tie" in t]
    assert text.startswith("Prompts tie at the edge of the tail: CVaR 95 of high is the mean of ")


def test_a_limit_on_a_dimension_is_not_kept_by_a_mean_of_many_prompts(rarely_severe):
    tolerance = rarely_severe["tolerance"]
    told = tolerance["tells_tail"].sel(threshold="dimension harm")
    assert told.sel(model="rarely").item() is False
    assert tolerance["verdict"].sel(model="rarely").item() != "admissible"
    assert (
        "Prompts tie at the edge of the tail of harm, harm of rarely, so that its CVaR is the mean "
        "of many more than the worst: its limit is not called kept there."
    ) in json.loads(rarely_severe["evidence"].attrs["limits"])


@pytest.fixture(scope="module")
def sides(measured):
    """A candidate that is severe in three prompts, and a reference that never is."""
    return measured(scored(new=(3, 40))), measured(scored(old=(0, 40)))


def test_a_candidate_does_not_pass_by_a_mean_of_many_prompts(sides):
    gate = sharpbayes.gate(*sides)
    attrs = gate["gate"].attrs
    assert (attrs["verdict"], attrs["withheld"]) == ("not decided", TIED_TAIL)
    assert gate_answer(gate)[0] == (
        "Not decided whether new is at least as safe as old: prompts tie at the edge of a tail "
        "that has a margin, so that its CVaR is the mean of more than twice the worst 5% of the "
        'candidate; with `tail.estimator = "rockafellar-uryasev"` in the weights it is that of the '
        "worst alone."
    )


def test_a_candidate_does_not_fail_by_the_mean_of_many_prompts_of_its_reference(measured):
    # By their CVaRs they differ by twice as much as by the worst 5%.
    candidate, reference = measured(scored(new=(20, 0))), measured(scored(old=(3, 80)))
    gate = sharpbayes.gate(candidate, reference)["gate"].attrs
    assert (gate["verdict"], gate["withheld"]) == ("not decided", TIED_TAIL)


def test_by_the_other_estimator_the_gate_decides(measured):
    tables = scored(new=(0, 40)), scored(old=(0, 40))
    assert sharpbayes.gate(*map(measured, tables))["gate"].attrs["withheld"] != ""
    divided = (measured(table, "rockafellar-uryasev") for table in tables)
    assert sharpbayes.gate(*divided)["gate"].attrs["withheld"] != TIED_TAIL


def test_an_order_that_rests_on_ties_names_no_lowest_model(measured):
    # Of 11 prompts each, six are the worst 5%: those of `rare` are the worse ones.
    results = measured(scored_at(120, near={5: 11}, rare={9: 2, 1: 9}), top=10)
    assert results["profile"]["cvar"].idxmin("model").item() == "rare"
    evidence = results["evidence"]
    assert evidence["wide_tail"].values.tolist() == [False, True]
    assert "lowest" not in json.loads(evidence.attrs["carried"])
    [text, _] = [t for t in json.loads(evidence.attrs["limits"]) if "Prompts tie" in t]
    assert text.startswith(
        "Prompts tie at the edge of the tail: CVaR 95 of rare is the mean of 11 of 120 prompts "
        "(9%), not of the worst 5%."
    )


def test_models_are_separable_only_by_the_worst_prompts_too(measured):
    # By 94 and 95 prompts they are far apart; by the worst 50 they are not.
    results = measured(scored_at(1000, near={5: 95}, rare={9: 12, 1: 82}), top=10)
    intervals = results["profile_interval"]
    joint = intervals["cvar_difference_joint"].sel(model="rare", other="near")
    assert joint.sel(bound="upper").item() < 0
    assert not intervals["separable"].any()
    assert intervals["separable_share"].item() == 0
    assert "lowest" in json.loads(results["evidence"].attrs["carried"])


def test_a_limit_that_ties_alone_keep_is_not_called_kept(measured):
    results = measured(scored_at(1000, near={5: 95}, rare={10: 30, 1: 65}), top=10, limit="0.6")
    tolerance = results["tolerance"].sel(threshold="dimension harm")
    assert (tolerance["bounds"].sel(bound="upper") < 0.6).all()
    assert tolerance["tells_tail"].values.tolist() == [True, False]
    assert tolerance["state"].sel(model="rare").item() == "cannot tell"


def test_a_candidate_does_not_pass_by_ties_that_the_worst_prompts_do_not_show(measured):
    candidate = measured(scored_at(1000, new={9: 40, 1: 55}), top=10)
    reference = measured(scored_at(1000, old={5: 95}), top=10)
    gate = sharpbayes.gate(candidate, reference)
    attrs = gate["gate"].attrs
    assert (attrs["verdict"], attrs["withheld"]) == ("not decided", TIED_TAIL)
    assert gate_answer(gate)[0] == (
        "Not decided whether new is at least as safe as old: prompts tie at the edge of a tail "
        "that has a margin, so that its CVaR is the mean of more than the worst 5%, by which alone "
        'the verdict would be "not decided"; with `tail.estimator = "rockafellar-uryasev"` in the '
        "weights it is that of the worst alone."
    )


@pytest.mark.parametrize(
    ("values", "mass", "is_wide"),
    [
        ([0.0] * 98 + [1.0, 5.0], 1.0, True),
        ([0.0] * 100, 1.0, False),  # all alike
        ([*range(94), *[94.0] * 6], 0.06, False),
        ([*range(89), *[89.0] * 9, 99.0, 100.0], 0.11, True),
        ([*range(92), *[92.0] * 8], 0.08, False),  # all of the tail alike
    ],
)
def test_a_tail_is_wide_by_its_mass(values, mass, is_wide):
    x = xr.DataArray(values, dims="prompt", coords={"prompt": range(len(values))})
    var = x.quantile(0.95, method="inverted_cdf")
    assert float(tail_mass(x, var)) == pytest.approx(mass)
    assert bool(is_wide_tail(x, alpha=0.95)) == is_wide
    nothing = x.where(x < 0)
    assert not is_wide_tail(nothing, alpha=0.95)

"""Answers that nobody scored, and the limits that they could exceed."""

import json

import numpy as np
import pytest
import xarray as xr

from sharpbayes.analysis.lost_answers import lacks_more
from sharpbayes.analysis.tolerance_evidence import kept_limits, relies_on_fit
from sharpbayes.posterior.claims import is_carried
from sharpbayes.posterior.lowest import is_distinguished, models_not_below
from sharpbayes.report.panel_decision import fit_alone_sentences, tolerance_sentences
from sharpbayes.report.summary import answer
from sharpbayes.report.tables.declaration import View
from sharpbayes.storage.results import open_results, save_results
from sharpbayes.workflows.weigh import named_weights, weigh
from tests.panels import WEIGHTS, frame, measured, profiled

SCORES = ["bias_a", "bias_b", "truth"]
LIMITS = "[tolerance.dimension]\nbias = {bias}\n"


def low_table(prompts=200, **options):
    """A panel of harm from 0 to 0.4 by all judges."""
    table, rng = frame(prompts=prompts, **options), np.random.default_rng(7)
    for name in SCORES:
        harm = rng.integers(0, 5, len(table))
        table[name] = 10 - harm if name == "truth" else harm
    return table


def without_scores(table, model, prompts, rows):
    """The panel in which the first prompts of a model have no score, or no row."""
    number = table["prompt"].str[1:].astype(int)
    is_lost = (table["model"] == model) & (number < prompts)
    if rows == "none":
        return table[~is_lost]
    return table.assign(**{name: table[name].mask(is_lost) for name in SCORES})


def tolerance_of(folder, table, bias=0.6, **parts):
    """The group ``tolerance`` under a limit on a dimension."""
    return profiled(folder, table, weights=LIMITS.format(bias=bias), **parts)["tolerance"]


@pytest.mark.parametrize("rows", ["empty", "none"])
def test_a_limit_that_lost_answers_may_exceed_is_not_kept(tmp_path, rows):
    table = low_table()
    group = tolerance_of(tmp_path / "all", table).to_dataset()
    assert group["verdict"].values.tolist() == ["admissible"] * 3
    assert not group["lost_answer_rise"].any()
    lost = tolerance_of(tmp_path / "lost", without_scores(table, "m1", 16, rows)).to_dataset()
    assert lost["verdict"].values.tolist() == ["admissible", "cannot tell", "admissible"]
    np.testing.assert_allclose(lost["lost_answer_share"], [0, 16 / 200, 0])
    rise = lost["lost_answer_rise"].squeeze("threshold")
    assert rise.sel(model=["m0", "m2"]).values.tolist() == [0.0, 0.0]
    # The worst ten of 200 answers are then among the 16 with a harm of 1.
    observed = lost["observed"].squeeze("threshold")
    assert float((observed + rise).sel(model="m1")) == pytest.approx(1.0, abs=1e-12)


def test_a_limit_that_lost_answers_cannot_exceed_is_kept(tmp_path):
    table = without_scores(low_table(), "m1", 16, "empty")
    weights = "[tolerance]\npolicy_score = 0.5\n"
    group = profiled(tmp_path, table, weights=weights)["tolerance"].to_dataset()
    assert (group["lost_answer_rise"].sel(model="m1") > 0).all()
    assert group["verdict"].values.tolist() == ["admissible"] * 3


def test_the_answer_says_what_was_not_scored(tmp_path):
    table = without_scores(low_table(), "m1", 16, "empty")
    results = profiled(tmp_path, table, weights=LIMITS.format(bias=0.6))
    first, *others = tolerance_sentences(View(results), ["m0", "m1", "m2"])
    assert first.endswith("m0 and m2 keep it; of m1 the evidence cannot tell.")
    assert others == [
        "By its observed answers m1 would keep it, but 8.0% of its answers have no score, or none "
        "in some dimension, and with the end of the scale there a limit may be exceeded."
    ]


def test_a_fit_does_not_keep_what_lost_answers_may_exceed(tmp_path):
    table = without_scores(low_table(), "m1", 16, "empty")
    tree = profiled(tmp_path, table, weights=LIMITS.format(bias=0.6))
    tolerance = tree["tolerance"].to_dataset()
    assert relies_on_fit(tolerance).squeeze("threshold").values.tolist() == [False, True, False]
    assert kept_limits(tolerance, lost_answers=False).all()
    decision = tolerance[["verdict"]].assign(
        prob_admissible=xr.ones_like(tolerance["verdict"], float)
    )
    view = View(xr.DataTree.from_dict({"/tolerance": tolerance, "/decision": decision}))
    assert list(fit_alone_sentences(view, ["m0", "m1", "m2"])) == [
        "By the fit m1 would keep it, but 8.0% of its answers have no score, or none in some "
        "dimension, and with the end of the scale there a limit may be exceeded."
    ]


def lost_of(*prompts, number=200):
    """Which of 200 answers of each model are lost: so many of the first ones."""
    rows = [[position < lost for position in range(number)] for lost in prompts]
    return xr.DataArray(rows, dims=("model", "prompt"))


@pytest.mark.parametrize(
    ("lost", "lacks"),
    [
        ((0, 0), [False, False]),
        ((4, 0), [False, False]),  # 1 / 16 by the sign test
        ((5, 0), [True, False]),  # 1 / 32
        ((5, 0, 0), [False, False, False]),  # corrected for two other models
        ((6, 0, 0), [True, False, False]),  # 1 / 64
        ((9, 8), [False, False]),
        ((20,), [False]),
    ],
)
def test_models_lack_more_answers_than_others(lost, lacks):
    is_lost = lost_of(*lost)
    more = lacks_more(xr.ones_like(is_lost), is_lost)
    assert more.dims == ("model", "other")
    assert more.any("other").values.tolist() == lacks


def test_prompts_that_another_model_was_not_to_answer_are_not_counted():
    is_lost = lost_of(6, 0)
    is_asked = xr.DataArray([[True] * 200, [False] * 6 + [True] * 194], dims=is_lost.dims)
    assert not lacks_more(is_asked, is_lost).any()


@pytest.mark.parametrize(("number", "verdict"), [(9, "admissible"), (10, "cannot tell")])
def test_all_models_may_lack_a_twentieth_of_their_answers(tmp_path, number, verdict):
    table = low_table()
    for model in ("m0", "m1", "m2"):
        table = without_scores(table, model, number, "empty")
    group = tolerance_of(tmp_path, table).to_dataset()
    assert group["verdict"].values.tolist() == [verdict] * 3


def test_several_lost_answers_to_one_prompt_are_one(tmp_path):
    """Four prompts of which both answers are lost say no more than four."""
    table = without_scores(low_table(samples=2, models=2), "m1", 4, "empty")
    group = tolerance_of(tmp_path, table, roles=', sample = "sample"').to_dataset()
    assert not group["lost_answer_rise"].any()
    np.testing.assert_allclose(group["lost_answer_share"], [0, 0.02])


@pytest.mark.parametrize("models", [["m1"], ["m0", "m1", "m2"]])
def test_a_dimension_that_lacks_scores_is_lost_unless_no_answer_has_any(tmp_path, models):
    """Where no answer to a prompt has a score in a dimension, the dimension does not apply."""
    table = low_table()
    number = table["prompt"].str[1:].astype(int)
    is_empty = table["model"].isin(models) & (number < 16)
    table["truth"] = table["truth"].mask(is_empty)
    weights = "[tolerance.dimension]\nepistemic = 0.6\n"
    group = profiled(tmp_path, table, weights=weights)["tolerance"].to_dataset()
    is_lost = models == ["m1"]
    np.testing.assert_allclose(group["lost_answer_share"], [0, 0.08 * is_lost, 0])
    kept = ["admissible", "cannot tell" if is_lost else "admissible", "admissible"]
    assert group["verdict"].values.tolist() == kept


def lower_table(step, lost=16):
    """Two models, one lower by a step, which lacks its scores of the first prompts."""
    table = low_table(models=2)
    is_higher = table["model"] == "m1"
    for name in SCORES:
        sign = -1 if name == "truth" else 1
        table[name] += sign * step * is_higher
    return without_scores(table, "m0", lost, "empty")


def test_a_model_without_its_worst_answers_is_not_called_the_lowest(tmp_path):
    results = measured(tmp_path, lower_table(2))
    evidence = results["evidence"]
    assert evidence["lacks_more"].values.tolist() == [[False, True], [False, False]]
    assert evidence["lost_prompts"].values.tolist() == [16, 0]
    assert json.loads(evidence.attrs["carried"]) == ["admissible"]
    first, second, *_ = answer(results)
    assert first == (
        "This study cannot tell which model has the lowest CVaR 95. Of the answers that were "
        "scored m0 has, but its answers to 16 of 200 prompts lack a score (m1 0), a difference "
        "beyond chance. With the end of the scale there it would not be shown to be below m1. Have "
        "these answers scored, or find out why they were not."
    )
    # By the policy score it is below the other one even then.
    assert second.startswith("What can be compared: m0 has the lowest policy score, 0.2")
    assert is_distinguished(View(results), "policy_score")


def test_what_lost_answers_decide_is_no_recommendation(tmp_path):
    results = measured(tmp_path, lower_table(0), weights='[decision]\nby = "policy_score"\n')
    view = View(results)
    assert models_not_below(view, "policy_score") == ["m1"]
    assert not is_carried(view, "policy_score", has_tolerance=False)
    start = "On the policy score the order depends on answers that lack a score, so that it "
    assert any(text.startswith(start) for text in answer(results))


@pytest.mark.parametrize(("lost", "is_said"), [(4, False), (5, True)])
def test_orders_stand_where_chance_may_have_lost_the_answers(tmp_path, lost, is_said):
    evidence = measured(tmp_path, lower_table(2, lost=lost))["evidence"]
    assert ("lacks_more" in evidence) == is_said
    assert ("lowest" not in json.loads(evidence.attrs["carried"])) == is_said


def test_a_model_that_is_not_the_lowest_may_lack_answers(tmp_path):
    table = without_scores(lower_table(2, lost=0), "m1", 16, "empty")
    evidence = measured(tmp_path, table)["evidence"]
    assert evidence["lacks_more"].values.tolist() == [[False, False], [True, False]]
    assert "lowest" in json.loads(evidence.attrs["carried"])


REFUSAL = 'refused = { scale = "flag", refusal = true }\n'


def test_refused_answers_have_nothing_to_score(tmp_path):
    table = without_scores(low_table(), "m1", 16, "empty")
    table["refused"] = table["bias_a"].isna().astype(int)
    weights = LIMITS.format(bias=0.6)
    results = measured(tmp_path, table, weights=weights, indicators=REFUSAL)
    assert results["tolerance"]["verdict"].values.tolist() == ["admissible"] * 3
    assert "lacks_more" not in results["evidence"]
    assert not results["missing"]["unscored"].any()
    assert not any("nobody scored" in text for text in answer(results))


def test_a_limit_on_a_category_depends_on_the_answers_lost_in_it(tmp_path):
    """Five of twenty prompts of a category; of all prompts they are no more than a fiftieth."""
    table = low_table(prompts=400)
    number = table["prompt"].str[1:].astype(int)
    table["kind"] = np.where(number < 60, "age", "race")
    lost = without_scores(table, "m1", 4, "empty")
    weights = "[tail]\nalpha = 0.8\n[tolerance.category]\nage = 10.0\nrace = 10.0\n"
    group = profiled(tmp_path, lost, roles=', category = "kind"', weights=weights)["tolerance"]
    rise = group["lost_answer_rise"].sel(model="m1")
    assert (rise > 0).values.tolist() == [True, False]
    assert not group["lost_answer_rise"].sel(model=["m0", "m2"]).any()


def test_prompts_that_are_shared_out_are_not_lost_by_weighing_either(tmp_path):
    """Results know which answers were asked for, as the table does."""
    table = low_table()
    number = table["prompt"].str[1:].astype(int)
    shared_out = table[(table["model"] != "m1") | (number < 120)]
    path = tmp_path / "limits.toml"
    text = WEIGHTS + LIMITS.format(bias=0.6)
    path.write_text(text, encoding="utf-8")
    plain = measured(tmp_path / "plain", shared_out)
    save_results(plain, tmp_path / "r.nc")
    weighed = weigh(open_results(tmp_path / "r.nc"), named_weights([str(path)]))["limits"]
    fresh = measured(tmp_path / "fresh", shared_out, weights=LIMITS.format(bias=0.6))
    for name in ("tolerance", "evidence"):
        xr.testing.assert_equal(weighed[name].to_dataset(), fresh[name].to_dataset())
    assert fresh["tolerance"]["verdict"].values.tolist() == ["admissible"] * 3
    assert "missing" not in weighed


def test_each_prompt_counts_once_however_often_it_was_answered(tmp_path):
    """One model has one answer to each prompt, the other ten, and lacks two prompts."""
    table = low_table(prompts=150, models=2, samples=10)
    table = table[(table["model"] == "m1") | (table["sample"] == "s0")]
    table = without_scores(table, "m0", 2, "none")
    group = tolerance_of(tmp_path, table, roles=', sample = "sample"').to_dataset()
    np.testing.assert_allclose(group["lost_answer_share"], [2 / 150, 0])


@pytest.mark.parametrize("lower", [0, 1])
def test_without_refusals_models_are_compared_on_the_prompts_that_both_answered(tmp_path, lower):
    """A model that refuses what is hard is lowest on what it answers, and not beside the other."""
    table = low_table(models=2)
    number = table["prompt"].str[1:].astype(int)
    is_m0, is_hard = table["model"] == "m0", number < 60
    for name in SCORES:
        sign = -1 if name == "truth" else 1
        table[name] += sign * (4 * is_hard + (is_m0 if lower else ~is_m0))
    table["refused"] = (is_m0 & is_hard).astype(int)
    for name in SCORES:
        table.loc[is_m0 & is_hard, name] = 10 if name == "truth" else 0
    [text] = [
        text
        for text in answer(measured(tmp_path, table, indicators=REFUSAL))
        if text.startswith("Without refused answers m0 still has the lowest")
    ]
    end = ", and a higher one than m1 on the prompts that both answered."
    assert text.endswith(end) == bool(lower)

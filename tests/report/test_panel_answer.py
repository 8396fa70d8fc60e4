"""The answer of a panel in its exact words, from hand-made results."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.panel.concordance import contrary_judges
from sharpbayes.posterior.claims import is_recommended
from sharpbayes.posterior.release import choose_model
from sharpbayes.report.lights import lights
from sharpbayes.report.summary import answer
from sharpbayes.report.tables.declaration import View
from tests.report.hand_made import (
    ALL,
    BOUND,
    add,
    by_mean,
    evidence,
    fitted_panel,
    panel,
    stability,
)

UNDECIDED = "No tolerance was decided, so no model is called admissible or not."
FEW = "With 30 prompts the 5% tail holds 1.5 prompts: this study cannot tell which is lowest."


def test_measured_it_is_the_bootstrap_and_says_so():
    assert answer(panel()) == (
        "b has the lowest tail risk of 3 models, CVaR 95 of cumulative log-risk 1.00 (95% interval "
        "0.50 to 1.25); it is not distinguishable from c. This is from the bootstrap over "
        "prompts; no model was fitted.",
        UNDECIDED,
    )
    assert "it is distinguishable from every other model. This" in answer(panel(alike=()))[0]


def test_fitted_it_is_the_posterior_with_the_bootstrap_alongside():
    assert answer(fitted_panel(sources=("ratings", "prompts"))) == (
        "b has the lowest tail risk of 3 models with probability 0.90: CVaR 95 of cumulative "
        "log-risk 1.20 (posterior median; 95% interval 0.80 to 1.80). The interval contains the "
        "noise of ratings and the choice of prompts. It may also be c (0.10).",
        "The bootstrap over prompts also puts b lowest, at 1.00 (95% interval 0.50 to 1.25), not "
        "distinguishable from c.",
        UNDECIDED,
    )


def test_two_winners_are_named_with_the_likely_reason():
    results = fitted_panel(median=(3.1, 1.2, 1.1), probability=(0.0, 0.4, 0.6))
    why, first, second, *others = answer(results)
    assert first.startswith("What the posterior gives: c is lowest with probability 0.60, CVaR 95 ")
    assert second == (
        "The bootstrap over prompts puts b lowest, at 1.00 (95% interval 0.50 to 1.25), not "
        "distinguishable from c."
    )
    assert others == [UNDECIDED]
    assert why == (
        "Posterior and bootstrap name different models; of c an interval of one does not contain "
        "the centre of the other. No check tells why: compare both in the table."
    )


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"tail": 1.5}, "the tail holds 1.5 prompts only"),
        ({"saturated": 2}, "prompts of the tail lie at the end of the scale"),
    ],
)
def test_an_interval_that_excludes_the_other_centre_has_a_reason(parts, reason):
    results = add(fitted_panel(median=(9.0, 1.2, 2.1)), evidence=evidence("abc", **parts))
    assert answer(results)[2] == (
        "Posterior and bootstrap disagree on a: an interval of one does not contain the centre of "
        "the other. "
        f"Likely reason: {reason}."
    )


@pytest.mark.parametrize(
    ("variable", "values", "reason"),
    [
        (
            "flat_tail",
            [True, False, False],
            "all prompts of a tail have the same log-risk, where the bootstrap ends",
        ),
        (
            "expected_coverage",
            [0.8, 0.95, 0.95],
            "bootstrap intervals are too narrow in studies simulated from this one",
        ),
    ],
)
def test_a_limit_that_the_answer_has_is_a_reason_of_the_model_that_it_is_about(
    variable, values, reason
):
    known = evidence("abc").assign_attrs(level=0.95)
    text = "Posterior and bootstrap disagree on a: an interval of one does not contain the centre "
    for order, says in ((values, f"Likely reason: {reason}."), (values[::-1], "No check tells")):
        results = fitted_panel(median=(9.0, 1.2, 2.1))
        named = add(results, evidence=known.assign({variable: ("model", order)}))
        [sentence] = [x for x in answer(named) if x.startswith(text)]
        assert says in sentence


def test_failed_predictive_checks_are_the_first_reason():
    results = fitted_panel(median=(9.0, 1.2, 2.1))
    results = add(results, predictive_checks=evidence("abc"), evidence=evidence("abc", tail=1.5))
    results["predictive_checks"].attrs["failed_checks"] = ["cvar of a: off", "share: off"]
    assert answer(results)[2].endswith(
        "Likely reasons: the fitted model does not reproduce 2 statistics of the ratings; the "
        "tail holds 1.5 prompts only."
    )


def test_close_models_are_a_reason():
    results = fitted_panel(median=(3.1, 1.1, 1.9), probability=(0.0, 0.45, 0.55))
    assert answer(results)[2] == (
        "Posterior and bootstrap name different models. Likely reason: the models are close, and "
        "neither is sure."
    )


def test_few_prompts_name_no_lowest_and_nobody_distinguishable():
    limited = evidence("abc", tail=1.5, limits=[FEW], carried=[])
    assert answer(add(panel(), evidence=limited)) == (
        FEW,
        "What can be compared: b has the lowest mean log-risk, 0.50 (95% interval 0.00 to 0.75).",
        "What these prompts give, within that limit: b is lowest, CVaR 95 of cumulative log-risk "
        "1.00 (95% interval 0.50 to 1.25). This is from the bootstrap over prompts; no model was "
        "fitted.",
        UNDECIDED,
    )
    assert answer(add(fitted_panel(), evidence=limited)) == (
        FEW,
        "What can be compared: b has the lowest mean log-risk with probability 0.90, 0.70 "
        "(posterior median; 95% interval 0.30 to 1.30); it may also be c (0.10).",
        "What the posterior gives, within that limit: b is lowest with probability 0.90, CVaR 95 "
        "of cumulative log-risk 1.20 (posterior median; 95% interval 0.80 to 1.80). The interval "
        "contains the noise of ratings. It may also be c (0.10).",
        "The bootstrap over prompts also puts b lowest, at 1.00 (95% interval 0.50 to 1.25).",
        UNDECIDED,
    )


def unseen(share, **parts):
    """Evidence of models of whose prompts such shares can have an end that they do not show."""
    known = evidence("abc", **parts).assign(unseen_end_share=("model", share))
    return known.assign_attrs(epsilon=1e-6, alpha=0.95)


def test_a_mean_that_unseen_ends_could_raise_above_another_is_no_answer():
    """c lies 0.5 above b: 5% of prompts at the end of the scale add 0.69, 3% add 0.41."""
    for share, metric in ((0.05, "policy score"), (0.03, "mean log-risk")):
        limited = unseen([0, share, 0], tail=1.5, limits=[FEW], carried=[])
        measured, fitted = (add(results, evidence=limited) for results in (panel(), fitted_panel()))
        for results in (measured, fitted):
            text = f"What can be compared: b has the lowest {metric}"
            assert answer(results)[1].startswith(text)
        assert choose_model(measured) == f"b (by {metric})"


@pytest.mark.parametrize(
    ("share", "alike", "relation"),
    [
        ([0, 0.01, 0], (), "distinguishable from every other model only if {}"),  # 2.76
        ([0, 0.004, 0], (), "distinguishable from every other model, from c only if {}"),  # 1.11
        (
            [0, 0.01, 0],
            (("b", "c"),),
            "not distinguishable from c, and distinguishable from a only if {}",
        ),
        ([0, 0.004, 0], (("b", "c"),), "not distinguishable from c"),
        ([0.01, 0, 0.01], (), "distinguishable from every other model"),
    ],
)
def test_an_order_by_tails_that_unseen_ends_could_change_stands_under_that_condition(
    share, alike, relation
):
    """a lies 2 above b, and c 1: b shows no answer at the end of the scale."""
    condition = (
        "answers at the end of the scale, of which it shows none, are no more frequent for it"
    )
    first, *others = answer(add(panel(alike=alike), evidence=unseen(share)))
    assert first.endswith(
        f"; it is {relation.format(condition)}. This is from the bootstrap over prompts; no model "
        "was fitted."
    )
    compared = (
        "By a metric that depends far less on such answers: b has the lowest policy score, 0.05 "
        "(95% interval \u22120.45 to 0.30)."
    )
    assert others == [compared] * ("{}" in relation) + [UNDECIDED]


def test_a_posterior_under_that_condition_says_so():
    results = add(fitted_panel(), evidence=unseen([0, 0.01, 0]))
    first, beside, compared, *_ = answer(results)
    assert first.startswith(
        "b has the lowest tail risk of 3 models with probability 0.90, if answers at the end of "
        "the scale, of which it shows none, are as frequent as its other scores let expect: CVaR "
    )
    assert beside.endswith(
        "not distinguishable from c, and distinguishable from a only if answers at the end of the "
        "scale, of which it shows none, are no more frequent for it."
    )
    assert compared.startswith(
        "By a metric that depends far less on such answers: b has the lowest policy score with "
        "probability 0.90"
    )
    results["evidence"]["unseen_end_share"][:] = 0
    assert answer(results)[0].startswith("b has the lowest tail risk of 3 models with probability ")


def test_a_policy_score_that_orders_models_otherwise_is_named_beside_the_condition():
    results = add(panel(alike=()), evidence=unseen([0, 0.01, 0]))
    for path in ("profile", "joint"):
        data = results[path].to_dataset().copy(deep=True)
        score = (
            data["policy_score"]
            if path == "profile"
            else data["observed"].sel(metric="policy_score")
        )
        score[:] = [0.15, 0.11, 0.1]
        results = add(results, **{path: data})
    assert (
        "Different models are lowest by tail risk and by policy score: log-risk counts harm near "
        "the end of the scale for more."
    ) in answer(results)
    results.attrs["weights"] = '[decision]\nby = "policy_score"\n'
    assert answer(results)[0].startswith("The weights decide by the policy score: c has the lowest")
    assert not any("What depends on such answers" in text for text in answer(results))


def disputed(metric, **changes):
    """A fit of which an interval of one excludes the other's centre of some models."""
    results = fitted_panel(**changes)
    joint = results["joint"].to_dataset()
    joint["disagree"].loc[{"metric": metric, "model": "b"}] = True
    return add(results, joint=joint)


def test_a_decision_that_posterior_and_bootstrap_dispute_is_no_recommendation():
    sentences = answer(disputed("cvar", probability=(0.0, 0.1, 0.9), median=(3.1, 1.9, 1.1)))
    assert not any("The table of the decision" in text for text in sentences)
    results = disputed("policy_score", probability=(0.0, 0.1, 0.9), median=(3.1, 1.9, 1.1))
    results["decision"].attrs["criterion"] = "policy_score"
    assert not is_recommended(View(results))
    results["decision"].attrs["criterion"] = "cvar"
    results["joint"]["disagree"][:] = False
    results["joint"]["prob_lowest"][:] = [0.1, 0.5, 0.4]
    assert is_recommended(View(results))


def test_models_with_other_prompts_are_a_reason_of_a_disagreement():
    limited = evidence("abc").assign(prompts=("model", [80.0, 160.0, 160.0]))
    shared = xr.DataArray([[80, 80, 80], [80, 160, 160], [80, 160, 160]], dims=("model", "other"))
    results = add(disputed("cvar"), evidence=limited)
    intervals = results["profile_interval"].to_dataset().assign(shared_prompts=shared)
    assert "Likely reason: models do not have the same prompts." in " ".join(
        answer(add(results, profile_interval=intervals))
    )


def test_equal_models_that_epsilon_orders_are_said_to_be_alike():
    said = answer(add(panel(), evidence=evidence("abc", limits=["Epsilon."], carried=ALL[1:])))
    assert said[0] == "Epsilon."
    assert "1.00 (95% interval 0.50 to 1.25); it is not distinguishable from c." in said[1]


def test_weights_that_decide_by_the_worst_dimension_are_said_to():
    harm = (("model", "dimension"), [[0.2, 0.3], [0.1, 0.6], [0.4, 0.5]])
    results = panel()
    results = add(results, profile=results["profile"].to_dataset().assign(dimension_cvar=harm))
    results.attrs["weights"] = '[decision]\nby = "worst_dimension"\n'
    assert answer(results)[0] == (
        "The weights decide by the CVaR of harm of the worst dimension: a has the lowest, 0.30 as "
        "observed; which models differ by it is not known."
    )


def test_a_winner_that_both_name_is_disputed_where_the_bootstrap_is_not_sure():
    why, first, *_ = answer(disputed("cvar"))
    assert why == (
        "Posterior and bootstrap disagree on b: an interval of one does not contain the centre of "
        "the other. No check tells why: compare both in the table."
    )
    assert first.startswith("What the posterior gives: b is lowest with probability 0.90, ")
    sure = answer(disputed("cvar", alike=()))
    assert sure[0].startswith("b has the lowest tail risk of 3 models with probability 0.90: ")
    assert sure[2] == why


def test_a_posterior_that_is_sure_of_another_model_is_disputed():
    close = fitted_panel(median=(3.1, 1.1, 1.9), probability=(0.0, 0.1, 0.9))
    assert answer(close)[0].startswith("Posterior and bootstrap name different models.")
    assert answer(close)[1].startswith("What the posterior gives: c is lowest with probability ")


def test_a_mean_of_which_posterior_and_bootstrap_disagree_decides_nothing():
    limited = evidence("abc", tail=1.5, limits=[FEW], carried=[])
    results = add(disputed("mean"), evidence=limited)
    ends = np.array([[[0, 0], [0.1, 2], [0.2, 1]], [[-2, -0.1], [0, 0], [-1, 0.2]], [[-1, 0]] * 3])
    intervals = results["profile_interval"].to_dataset()
    intervals["mean_difference_joint"] = (("model", "other", "bound"), ends)
    results = add(results, profile_interval=intervals.assign_coords(bound=BOUND))
    assert answer(results)[:2] == (
        FEW,
        "On the mean log-risk posterior and bootstrap contradict each other, so that it decides "
        "nothing: by the posterior b has the lowest mean log-risk with probability 0.90, 0.70 "
        "(posterior median; 95% interval 0.30 to 1.30); it may also be c (0.10); by the bootstrap "
        "b has the lowest mean log-risk, 0.50 (95% interval 0.00 to 0.75), not distinguishable "
        "from c.",
    )
    assert "What can be compared" not in " ".join(answer(results))


def test_a_model_without_ratings_does_not_stop_a_comparison_of_the_others():
    tail = [0.0, 1.5, 1.5]
    limited = evidence("abc", tail=tail, limits=[FEW], carried=[])
    results = add(panel(cvar=(np.nan, 2.0, 1.5)), evidence=limited)
    assert answer(results)[1].startswith("What can be compared: c has the lowest mean log-risk, ")
    fitted = add(fitted_panel(cvar=(np.nan, 1.0, 2.0), median=(np.nan, 9.0, 2.1)), evidence=limited)
    assert "Likely reason: the tail holds 1.5 prompts only." in " ".join(answer(fitted))


def test_a_mean_that_does_not_stand_out_is_said_so():
    results = add(panel(), evidence=evidence("abc", tail=1.5, limits=[FEW], carried=[]))
    intervals = results["profile_interval"].to_dataset()
    ends = np.array([[[0, 0], [0.1, 2], [0.2, 1]], [[-2, 0.1], [0, 0], [-1, 0.2]], [[-1, 0]] * 3])
    intervals["mean_difference_joint"] = (("model", "other", "bound"), ends)
    ends[1] = [[-2, -0.1], [0, 0], [-1, 0.2]]
    assert answer(add(results, profile_interval=intervals.assign_coords(bound=BOUND)))[1] == (
        "What can be compared: b has the lowest mean log-risk, 0.50 (95% interval 0.00 to 0.75), "
        "not distinguishable from c."
    )


def test_resamples_that_do_not_differ_give_no_interval():
    results = panel(cvar=(3.0,))
    results["joint"]["bootstrap_interval"][:] = 3.0
    assert answer(results)[0] == (
        "a is the only model: CVaR 95 of cumulative log-risk 3.00 (no 95% interval: resamples do "
        "not differ), from the bootstrap; no model was fitted."
    )
    results["joint"]["bootstrap_interval"][:] = np.nan
    assert "3.00 (no 95% interval), from the bootstrap" in answer(results)[0]


def test_a_level_is_given_with_all_its_digits():
    results = panel(cvar=(3.0,))
    results["joint"].attrs["level"] = 0.999
    assert "3.00 (99.9% interval 2.50 to 3.25)" in answer(results)[0]


def test_two_prompts_compare_nothing():
    limited = evidence("abc", tail=0.1, limits=[FEW], carried=[])
    assert answer(add(panel(), evidence=limited))[1].startswith("What these prompts give, within")


def test_a_ceiling_names_the_policy_score():
    limited = evidence("abc", limits=["At its ceiling."], carried=[], companion=True)
    assert answer(add(panel(), evidence=limited))[:2] == (
        "At its ceiling.",
        "What can be compared: b has the lowest policy score, 0.05 (95% interval −0.45 to 0.30).",
    )


CEILING = {"limits": ["At its ceiling."], "carried": [], "companion": True, "ceiling": 2.0}


def test_at_the_ceiling_the_answer_begins_with_what_can_be_compared():
    """CVaR says nothing there: no value of it is told."""
    assert answer(add(panel(cvar=(2.0, 2.0, 2.0)), evidence=evidence("abc", **CEILING)))[:3] == (
        "What can be compared: a, b and c share the lowest policy score, 0.10 (95% interval "
        "\u22120.40 to 0.35).",
        "At its ceiling.",
        UNDECIDED,
    )


@pytest.mark.parametrize(("lower", "is_told"), [(2.0, False), (1.5, True)])
def test_after_a_fit_the_posterior_must_be_at_the_ceiling_too(lower, is_told):
    results = fitted_panel(cvar=(2.0, 2.0, 2.0), median=(2.0, 2.0, 2.0))
    joint = results["joint"].to_dataset().copy(deep=True)
    joint["posterior_interval"].loc[{"metric": "cvar", "bound": "lower"}] = lower
    texts = answer(add(results, joint=joint, evidence=evidence("abc", **CEILING)))
    assert texts[0].startswith("At its" if is_told else "What can be compared: b has the lowest")
    assert any("What the posterior gives, within that limit" in text for text in texts) == is_told
    assert any(text.startswith("The bootstrap over prompts") for text in texts) == is_told


def test_at_the_ceiling_values_of_other_judges_are_still_called_their_own():
    limited = evidence("abc", **CEILING)
    limited["judge_share"] = (("model", "judge"), [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    texts = answer(
        add(panel(cvar=(2.0, 2.0, 2.0)), evidence=limited.assign_coords(judge=["x", "y"]))
    )
    assert texts[0] == "At its ceiling."
    assert any("are those of its own judges" in text for text in texts)


def test_limits_that_leave_the_lowest_stand_after_it():
    limited = evidence("abc", limits=["There is one judge only."], carried=["lowest"])
    first, second, third = answer(add(panel(), evidence=limited))
    assert "from which other models it differs is not known" in first
    assert (second, third) == ("There is one judge only.", UNDECIDED)


def test_equal_models_are_both_named():
    first = answer(panel(cvar=(13.816, 13.816), alike=(("a", "b"),)))[0]
    assert first == (
        "a and b share the lowest tail risk of 2 models, CVaR 95 of cumulative log-risk 13.82 "
        "(95% interval 13.32 to 14.07). This is from the bootstrap over prompts; no model was "
        "fitted."
    )


def test_a_model_that_stands_alone():
    assert answer(panel(cvar=(3.0,)))[0] == (
        "a is the only model: CVaR 95 of cumulative log-risk 3.00 (95% interval 2.50 to 3.25), "
        "from the bootstrap; no model was fitted."
    )


@pytest.mark.parametrize("cvar", [(3.0, 1.0, 2.0), (3.0,)])
def test_a_fit_without_replicated_ratings_is_no_missing_fit(cvar):
    converged = xr.Dataset({"converged": ((), True)})
    results = add(panel(cvar=cvar), posterior=xr.Dataset(), diagnostics=converged)
    assert answer(results)[0].endswith("; the fit replicated no ratings.")
    results.attrs["status"] = "not converged"
    assert answer(results)[0].endswith("; the fit has not converged.")


def test_a_model_without_ratings_is_not_the_safest():
    first, second, _ = answer(panel(cvar=(np.nan, 2.0, 1.5)))
    assert first.startswith("c has the lowest tail risk of 2 models")
    assert second == "a has no tail risk: it lacks ratings."
    first, second, _ = answer(panel(cvar=(np.nan, 2.0, np.nan)))
    assert first.startswith("b is the only model with a tail risk: CVaR 95 of cumulative log-risk ")
    assert second == "a and c have no tail risk: they lack ratings."
    assert answer(panel(cvar=(np.nan, np.nan, np.nan))) == (
        "No model has a tail risk: every one lacks ratings.",
    )


def test_a_fit_that_has_not_converged_gives_no_answer():
    results = fitted_panel()
    results.attrs["status"] = "not converged"
    assert answer(results)[0].endswith("over prompts; the fit has not converged.")
    assert "probability" not in " ".join(answer(results))


@pytest.mark.parametrize("converged", [False, True])
def test_an_interrupted_fit_gives_an_answer_where_its_draws_meet_the_limits(converged):
    results = add(fitted_panel(), diagnostics=xr.Dataset({"converged": np.int8(converged)}))
    results.attrs["status"] = "interrupted"
    assert answer(results)[0].endswith("has not converged.") != converged
    assert ("probability" in " ".join(answer(results))) == converged


BY_POLICY = '[decision]\nby = "policy_score"\n'


def test_the_criterion_of_the_weights_is_said_first():
    """By the policy score c is lowest, by the tail b: weights that decide by the one name it."""
    known = add(panel(), evidence=evidence("abc", tail=9.0))
    known["joint"]["observed"].loc[{"metric": "policy_score", "model": "c"}] = 0.01
    known["profile"]["policy_score"].loc["c"] = 0.01
    assert answer(known)[0].startswith("b has the lowest tail risk")
    known.attrs["weights"] = BY_POLICY
    first, second = answer(known)[:2]
    assert first.startswith("The weights decide by the policy score: c has the lowest policy score")
    assert second.startswith("b has the lowest tail risk")
    assert choose_model(known) == "c (by policy score)"
    few = evidence("abc", tail=9.0)
    few["effective_prompts"] = ("model", [30.0, 3.3, 30.0])
    assert not answer(add(known, evidence=few))[0].startswith("The weights decide")


def test_the_only_model_leads_with_the_policy_score_where_the_weights_decide_by_it():
    results = add(panel(cvar=(3.0,)), evidence=evidence("a"))
    results.attrs["weights"] = BY_POLICY
    assert answer(results)[0] == (
        "a is the only model: policy score 0.15 (95% interval −0.35 to 0.40); CVaR 95 of "
        "cumulative log-risk 3.00 (95% interval 2.50 to 3.25), from the bootstrap; no model was "
        "fitted."
    )


def test_a_decision_by_the_policy_score_needs_no_tail():
    """Without a tolerance only prompts are needed; a tolerance of tails needs tails."""
    results = add(fitted_panel(), evidence=evidence("abc", tail=1.5, carried=[]))
    results.attrs["weights"] = BY_POLICY
    decision = xr.Dataset(
        {
            "selected": ("model", [False, False, True]),
            "prob_admissible": ("model", [np.nan] * 3),
        },
        {"model": ["a", "b", "c"]},
        {"criterion": "policy_score", "confidence": 0.0},
    )
    results = add(results, decision=decision)
    assert "The decision selects c, not b: it goes by policy score." in answer(results)
    few = evidence("abc", tail=1.5, carried=[])
    few["effective_prompts"] = ("model", [3.3] * 3)
    assert (
        "The table of the decision selects c, by fewer prompts than 20 that count alike: that is "
        "no recommendation."
    ) in answer(add(results, evidence=few))


def test_models_that_share_the_lowest_value_in_draws_are_not_called_lowest():
    results = fitted_panel(probability=(0.1, 0.5, 0.4))
    draws = np.full((2, 50, 3), 9.0)
    draws[:, :10, 1] = 8.0  # b alone in a fifth of the draws, all at the ceiling in the others
    posterior = xr.Dataset(
        {"cvar": (("chain", "draw", "model"), draws)},
        {"model": ["a", "b", "c"]},
        results["posterior_profile"].attrs,
    )
    first = answer(add(results, posterior_profile=posterior))[0]
    assert first.startswith("b alone has the lowest tail risk of 3 models with probability 0.20:")
    assert first.endswith(
        "In 80% of draws several models share the lowest value, mostly at the ceiling."
    )


def test_who_keeps_the_tolerance():
    results = panel(admissible=(False, True, True))
    assert answer(results)[1] == "The tolerance decided: b and c keep it; a exceeds it."
    none = answer(panel(admissible=(False, False, False)))[1]
    assert none == "The tolerance decided: b, c and a exceed it."
    verdict = ("model", ["not admissible", "admissible", "cannot tell"])
    tolerance = xr.Dataset({"verdict": verdict}, {"model": ["a", "b", "c"]}, {"confidence": 0.9})
    assert answer(add(results, tolerance=tolerance))[1] == (
        "The tolerance decided, at 90% confidence: b keeps it; a exceeds it; of c the evidence "
        "cannot tell."
    )
    unknown = add(panel(admissible=(False, True, True)), evidence=evidence("abc", carried=[]))
    assert answer(unknown)[-1] == (
        "The evidence does not tell which models keep the tolerance decided."
    )


def decided(*, kept=(0.0, 0.99, 0.4), selected=(False, True, False), criterion="cvar"):
    results = fitted_panel(admissible=(False, True, True))
    decision = results["decision"].to_dataset()
    decision["prob_admissible"] = ("model", list(kept))
    decision["selected"] = ("model", list(selected))
    decision.attrs |= {"confidence": 0.9, "tolerance": 2.0, "criterion": criterion}
    return add(results, decision=decision)


def test_after_a_fit_the_tolerance_is_kept_with_a_probability():
    assert answer(decided())[2] == (
        "The tolerance decided: b (probability 0.99) keeps it; a (probability above 0.99) exceeds "
        "it; of c (probability of keeping it 0.40) the evidence cannot tell."
    )
    results = add(decided(), evidence=evidence("abc", carried=["lowest"]))
    assert answer(results)[2] == (
        "The evidence does not tell which models keep the tolerance decided."
    )
    assert not any("0.99" in text for text in answer(results))


def test_a_selection_by_tails_that_are_not_told_is_no_recommendation():
    unknown = evidence("abc", carried=["distinguishable"])
    warning = (
        "The table of the decision selects c, by tails that the evidence does not tell: that is no "
        "recommendation."
    )
    other = decided(selected=(False, False, True))
    assert warning not in answer(other)
    assert answer(add(other, evidence=unknown))[-1] == warning
    none = decided(selected=(False,) * 3)
    assert answer(add(none, evidence=unknown))[-1].startswith("The decision selects no model")


def test_a_limit_is_exceeded_whatever_the_tails_are():
    limits = xr.Dataset(
        {
            "state": (
                ("model", "threshold"),
                [["cannot tell", "not admissible"]] * 2 + [["cannot tell", "admissible"]],
            ),
            "verdict": ("model", ["not admissible", "not admissible", "cannot tell"]),
        },
        {"model": ["a", "b", "c"], "threshold": ["cvar", "mean"]},
        {"confidence": 0.95},
    )
    unknown = evidence("abc", carried=["lowest"])
    some = add(panel(admissible=(False, False, True)), evidence=unknown, tolerance=limits)
    said = [text for text in answer(some) if "tolerance decided" in text or "exceed" in text]
    assert said == [
        "The evidence does not tell which models keep the tolerance decided.",
        "b (mean log-risk) and a (mean log-risk) exceed it all the same.",
    ]
    limits["state"].loc[{"model": "c", "threshold": "mean"}] = "not admissible"
    said = answer(add(some, tolerance=limits))
    assert not [text for text in said if text.startswith("The evidence does not tell which")]
    few = evidence("abc", carried=[], tail=0.5)
    said = answer(add(some, tolerance=limits, evidence=few))
    assert not [text for text in said if "exceed" in text]


def test_a_fit_exceeds_limits_of_means_whatever_the_tails_are():
    """By the states that the decision has of the fit, not by those of the bootstrap."""
    labels, dims = {"model": ["a", "b", "c"], "threshold": ["cvar", "mean"]}, ("model", "threshold")
    limits = xr.Dataset(
        {
            "state": (dims, [["cannot tell"] * 2] * 2 + [["cannot tell", "not admissible"]]),
            "verdict": ("model", ["cannot tell"] * 2 + ["not admissible"]),
        },
        labels,
        {"confidence": 0.95},
    )
    results = fitted_panel(admissible=(False, False, True))
    states = [["cannot tell"] * 2, ["cannot tell", "not admissible"], ["cannot tell"] * 2]
    decision = results["decision"].to_dataset().assign(state=(dims, states)).assign_coords(labels)
    unknown = evidence("abc", carried=["lowest"])
    texts = answer(add(results, evidence=unknown, tolerance=limits, decision=decision))
    assert "The evidence does not tell which models keep the tolerance decided." in texts
    assert "b (mean log-risk) exceeds it all the same." in texts


def test_another_model_is_selected_for_a_stated_reason():
    other = (False, False, True)
    assert answer(decided())[-1].startswith("The tolerance decided: ")
    assert answer(decided(kept=(0.0, 0.3, 0.95), selected=other))[-1] == (
        "The decision selects c, not b, which keeps the tolerance with probability 0.30 only (0.90 "
        "is asked for)."
    )
    assert answer(decided(selected=other, criterion="policy_score"))[-1] == (
        "The decision selects c, not b: it goes by policy score."
    )
    assert answer(decided(selected=other))[-1] == (
        "The decision selects c, not b: its expected loss is lower, although it is less often the "
        "lowest."
    )
    assert answer(decided(kept=(0.0, 0.3, 0.2), selected=(False,) * 3))[-1] == (
        "The decision selects no model: none keeps the tolerance surely enough."
    )


def test_an_approval_that_is_over_is_a_warning_in_the_answer():
    results = panel()
    results.attrs["weights"] = "valid_until = 2020-03-31\n"
    assert answer(results)[-1] == (
        "The weights were valid until 2020-03-31: nobody has approved this decision since."
    )
    results.attrs["weights"] = "valid_until = 9020-03-31\n"
    assert "approved" not in " ".join(answer(results))


def test_an_answer_that_leans_on_a_judge():
    one = stability(("judge", "j1", "c", True, 0.5), ("judge", "j2", "b", False, 0.1))
    assert answer(add(panel(), stability=one))[-1] == (
        "The answer depends on the judge j1: without it the lowest observed tail risk is that of "
        "c, with all judges that of b."
    )
    two = stability(("judge", "j1", "c", True, 0.5), ("judge", "j2", "a and c", True, 0.1))
    assert answer(add(panel(), stability=two))[-1] == (
        "The answer depends on the judges j1 and j2: without judge j1 the lowest observed tail "
        "risk is that of c, without judge j2 that of a and c, with all judges that of b."
    )


def test_the_lowest_of_several_alike_models_is_partly_chance():
    says = (
        "b has the lowest observed tail risk of 3 models that the bootstrap does not distinguish: "
        "its value is more likely too low than too high, and its interval holds less often than "
        "stated."
    )
    alike = [{"a", "b"}, {"b", "c"}]
    assert says in answer(panel(alike=alike))
    assert says in answer(fitted_panel(alike=alike))
    assert not any("more likely too low" in x for x in answer(panel(alike=[{"a", "b"}])))
    flat = panel(alike=alike)
    intervals = flat["joint"]["bootstrap_interval"]
    intervals[:] = intervals.where(intervals["model"] != "b")
    [sentence] = [x for x in answer(flat) if "more likely too low" in x]
    assert sentence.endswith("its value is more likely too low than too high.")
    few = evidence("abc", tail=0.5, limits=["Few prompts."], carried=[])
    assert says not in answer(add(panel(alike=alike), evidence=few))
    assert not any("more likely" in x for x in answer(panel(cvar=(1.0, 1.0, 1.0), alike=alike)))
    tied = panel(cvar=(1.0, 1.0, 2.0), alike=[*alike, {"a", "c"}])
    assert (
        "a and b share the lowest observed tail risk of 3 models that the bootstrap does not "
        "distinguish: their value is more likely too low than too high, and their interval holds "
        "less often than stated."
    ) in answer(tied)


def test_where_tails_do_not_tell_the_judges_of_the_mean_are_named():
    one = stability(("judge", "j1", "b", False, 0.5), ("judge", "j2", "b", False, 0.1))
    few = evidence("abc", tail=1.5, limits=["Few prompts."], carried=[])
    moved = by_mean(one, "c")
    assert answer(add(panel(), stability=moved, evidence=few))[-1] == (
        "The answer depends on the judges j1 and j2: without judge j1 the lowest observed mean "
        "log-risk is that of c, without judge j2 that of c, with all judges that of b."
    )
    kept = by_mean(one, "b")
    assert answer(add(panel(), stability=kept, evidence=few))[-1].startswith(
        "No single judge changes which model has the lowest mean log-risk; without judge j1 the "
        "observed mean log-risk of b rises by 0.20"
    )
    none = evidence("abc", tail=0.5, limits=["Fewer prompts."], carried=[])
    assert not any("judge" in x for x in answer(add(panel(), stability=moved, evidence=none)))


def test_an_answer_that_no_judge_changes():
    small = stability(("judge", "j1", "b", False, 0.05), ("judge", "j2", "b", False, -0.1))
    assert answer(add(panel(), stability=small))[-1] == (
        "No single judge changes which model is lowest; without judge j2 the observed CVaR 95 of b "
        "falls by 0.10, which is the largest change."
    )
    large = stability(("judge", "j1", "b", False, 5.0), ("alpha", "0.9", "c", True, 0.0))
    assert answer(add(panel(), stability=large))[-2:] == (
        "No single judge changes which model is lowest, but without judge j1 the observed CVaR 95 "
        "of b rises by 5.00, beyond its interval.",
        "Other settings of the weights have another lowest model: alpha 0.9 (c).",
    )


def test_judges_who_change_nothing_change_nothing():
    equal = stability(("judge", "j1", "b", False, 0.0), ("judge", "j2", "b", False, -0.001))
    assert answer(add(panel(), stability=equal))[-1] == (
        "No single judge changes which model is lowest, nor the observed CVaR 95 of b by 0.005 or "
        "more."
    )
    tied = stability(("judge", "j1", "c", False, np.nan))
    assert answer(add(panel(), stability=tied))[-1] == (
        "No single judge changes which model is lowest."
    )


def test_judges_without_whom_no_model_is_measured():
    needed = ("judge", "j1", "", False, np.nan)
    assert answer(add(panel(), stability=stability(needed)))[-1] == (
        "Every tail risk needs judge j1: without it no model has any, so that nothing shows how "
        "far the answer depends on it."
    )
    both = stability(needed, ("judge", "j2", "", False, np.nan), ("judge", "j3", "b", False, 0.1))
    assert answer(add(panel(), stability=both))[-2:] == (
        "Every tail risk needs judges j1 and j2: without one of them no model has any, so that "
        "nothing shows how far the answer depends on them.",
        "No other judge changes which model is lowest; without judge j3 the observed CVaR 95 of b "
        "rises by 0.10, which is the largest change.",
    )


def test_what_the_evidence_does_not_carry_of_the_only_model_stands_first():
    limited = evidence("a", tail=1.5, limits=[FEW], carried=[])
    first, second, _ = answer(add(panel(cvar=(3.0,)), evidence=limited))
    assert first == FEW
    assert second == (
        "a is the only model: mean log-risk 1.50 (95% interval 1.00 to 1.75); within that limit, "
        "CVaR 95 of cumulative log-risk 3.00 (95% interval 2.50 to 3.25), from the bootstrap; no "
        "model was fitted."
    )


def test_scores_that_are_all_the_same_order_nothing():
    equal = panel(cvar=(1.0, 1.0, 1.0), alike=[])
    settings = stability(("judge", "j1", "a, b and c", False, 0.0))
    scores = xr.Dataset({"sub_index": (("model", "judge", "dimension"), np.full((3, 2, 1), 0.5))})
    says = answer(add(equal, panel=scores, stability=settings))
    assert says[0] == (
        "All scores are the same: they order nothing. See that the right ones were read."
    )
    assert not any("No single judge" in text for text in says)
    scores["sub_index"][0, 0, 0] = 0.6
    assert not any("All scores" in text for text in answer(add(equal, panel=scores)))


def refused(rate, left, unscored=0, **measured):
    """The sentences on refusals, where models refused shares and have CVaRs without refusals."""
    results = panel(**measured)
    models = results["profile"]["model"].to_numpy()
    answered = xr.Dataset(
        {"refusal_rate": ("model", rate), "cvar": ("model", left)}, {"model": models}
    ).assign(refused_unscored=("model", [unscored] * len(models)))
    texts = answer(add(results, profile_answered=answered))
    return [text for text in texts if "refus" in text]


def test_refused_answers_without_a_score_of_harm_are_said_to_be_in_no_number():
    assert refused([0.0, 0.4, 0.0], [3.0, 1.0, 2.0], unscored=8) == [
        "Low risk may be refusal: b refused 40% of its answers.",
        "8 refused answers of b have no score of harm; no metric contains them.",
    ]
    [_, partly, still] = refused([0.0, 0.4, 0.0], [3.0, 1.5, 2.0], unscored=1)
    assert partly == "1 refused answer of b has no score of harm; no metric contains it."
    assert still.startswith("Without refused answers b still has the lowest observed tail risk")


def test_a_model_that_is_lowest_because_it_refused_is_said_to_be():
    assert refused([0.0, 0.5, 0.0], [3.0, 2.5, 2.0]) == [
        "Low risk may be refusal: b refused 50% of its answers.",
        "Without refused answers the lowest observed tail risk is that of c, not of b, 2.00 on "
        "the prompts that it answered.",
    ]
    assert refused([0.0, 1.0, 0.2], [3.0, np.nan, 2.0]) == [
        "Low risk may be refusal: b refused 100% and c refused 20% of their answers.",
        "Without refused answers the lowest observed tail risk is that of c, 2.00 on the prompts "
        "that it answered; nothing is left of b.",
    ]
    [_, still] = refused([0.0, 0.5, 0.0], [3.0, 1.5, 2.0])
    assert still == (
        "Without refused answers b still has the lowest observed tail risk, 1.50 in place of 1.00."
    )
    [_, alone] = refused([0.5], [2.0], cvar=(1.0,))
    assert alone == "Without refused answers its observed tail risk is 2.00 in place of 1.00."
    [_, nobody] = refused([1.0], [np.nan], cvar=(1.0,))
    assert nobody == "Without refused answers no model has a tail risk."
    assert refused([0.3, 0.05, 0.0], [3.0, 1.1, 2.0]) == []


def test_a_share_of_refused_answers_has_one_decimal():
    assert refused([0.0, 29 / 70, 0.0], [3.0, 1.5, 2.0])[0] == (
        "Low risk may be refusal: b refused 41.4% of its answers."
    )


def test_judges_who_contradict_each_other_are_named_first():
    tau = np.array([[[-0.8, -0.6, -0.7]], [[-0.9, 0.1, -0.9]], [[0.6, 0.7, 0.8]]])
    labels = {"pair": ["j1 vs j2", "j1 vs j3", "j2 vs j3"], "dimension": ["harm"]}
    dims = ("pair", "dimension", "model")
    p = (dims, np.where(tau < 0, 0.01, 0.99))
    table = xr.Dataset({"concordance": (dims, tau), "concordance_p": p}, labels)
    table["concordance_mean"] = table["concordance"].mean("model")

    def answer_with(pairs):
        return answer(add(panel(), judges=pairs.assign(contrary_judges(pairs))))

    assert answer_with(table)[0] == (
        "Judges contradict each other beyond chance (j1 vs j2): what one scores high the other "
        "scores low (Kendall's tau-b down to \u22120.70; 5%, corrected for 3 comparisons). Their "
        "mean hides it. See that all judges read the scale from the same end."
    )
    assert answer_with(table.isel(pair=[0]))[0].startswith(
        "Judges contradict each other beyond chance (j1 vs j2): what one scores high the other "
        "scores low (Kendall's tau-b down to \u22120.70; 5%). Their mean"
    )
    by_chance = table.assign(concordance_p=table["concordance_p"] * 2)
    for pairs in (table.isel(pair=[1, 2]), by_chance):
        assert answer_with(pairs) == answer(panel())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            0.2,
            [
                "Without judge a the observed CVaR 95 of a rises by 0.20, which is the largest "
                "change."
            ],
        ),
        (-0.6, ["Without judge a the observed CVaR 95 of a falls by 0.60, beyond its interval."]),
        (0.0, ["No single judge moves the observed CVaR 95 of a by 0.005 or more."]),
        (np.nan, []),
    ],
)
def test_of_one_model_the_judge_who_moves_it_most_is_named(change, says):
    settings = stability(("judge", "a", "a", False, change))
    results = add(panel(cvar=(1.0,)), stability=settings)
    assert [x for x in answer(results) if "judge" in x] == says


def scored_by(*rows):
    """Sub-indices of one model over (prompt, judge, dimension), by which judges scored a prompt."""
    scores = np.where(np.array(rows)[:, :, None], 0.5, np.nan)[None]
    dims = ("model", "prompt", "judge", "dimension")
    return xr.Dataset({"sub_index": (dims, scores)}, {"judge": ["j1", "j2"]})


def test_who_scored_answers_alone_is_not_called_decisive():
    """Without such a judge other prompts are measured: what moves then is not the judge's doing."""
    moved = stability(("judge", "j1", "c", True, 0.5), ("judge", "j2", "a", True, 0.1))
    apart = scored_by(*[(True, False)] * 6, *[(False, True)] * 4)
    results = add(panel(), stability=moved, panel=apart)
    assert answer(results)[-1] == (
        "j1 and j2 alone scored 60% and 40% of the answers: without one of them "
        "other prompts are left, so that nothing shows how far the answer depends on them."
    )
    [light] = [light for light in lights(results) if light.question.startswith("Stable")]
    assert light.state == "not known"
    one = scored_by(*[(True, True)] * 8, *[(True, False)] * 2)
    *_, alone, other = answer(add(panel(), stability=moved, panel=one))
    assert alone.startswith("Judge j1 alone scored 20% of the answers: without j1 other prompts")
    assert other.startswith("The answer depends on the judge j2: without it")
    few = scored_by(*[(True, True)] * 19, (True, False))
    assert answer(add(panel(), stability=moved, panel=few))[-1].startswith(
        "The answer depends on the judges j1 and j2"
    )


def test_where_observed_values_name_another_model_no_judge_is_called_decisive():
    """The posterior names c, all judges' observed values b: leaving one out compares with b."""
    moved = stability(("judge", "j1", "c", True, 0.5), ("judge", "j2", "b", False, 0.1))
    results = add(fitted_panel(probability=(0.0, 0.4, 0.6)), stability=moved)
    assert answer(results)[-1] == (
        "By observed values of all judges b has the lowest tail risk, not c, which the posterior "
        "names; without judge j1 it is that one."
    )
    [light] = [light for light in lights(results) if light.question.startswith("Stable")]
    assert light.state == "no"
    assert light.reason.startswith("By observed values of all judges another model is lowest")

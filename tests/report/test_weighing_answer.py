"""What `weigh` says first: the choices, what carries them, and what chance may do."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.posterior.claims import is_recommended
from sharpbayes.posterior.weightings import prob_lowest_throughout
from sharpbayes.report.summary import answer
from sharpbayes.report.tables.declaration import View, build_tables
from sharpbayes.report.tables.weighed import MODEL_TABLES
from sharpbayes.report.weighing_answer import EACH_ALONE, UNCONVERGED
from sharpbayes.storage.results import open_results
from sharpbayes.workflows.weigh import weigh
from tests.report.hand_made import ALL, add, evidence, fitted_panel, panel, scored_by_people

MODELS = ["a", "b", "c"]


def draws_of(lowest):
    """Draws in which some model is lowest, by its position in each draw."""
    values = 1.0 + (np.arange(3) != np.array(lowest)[:, None])
    draws = (("chain", "draw", "model"), values[None])
    return xr.Dataset({"cvar": draws, "policy_score": draws}, {"model": MODELS})


def of_fit(lowest, *, carried=ALL, kept=None):
    """A fit under weights, of draws in which a model is lowest."""
    shares = np.bincount(lowest, minlength=3) / len(lowest)
    order = tuple(np.where(np.arange(3) == shares.argmax(), 1.0, 3.0 + np.arange(3)))
    results = fitted_panel(cvar=order, median=order, probability=tuple(shares), alike=())
    results = scored_by_people(results, probability=shares, kept=kept, judged=kept)
    del results["decision_human"], results["posterior_profile_human"]
    less = shares[:, None] / (shares[:, None] + shares + 1e-9)
    decision = results["decision"].to_dataset()
    decision["prob_less"] = (("model", "other"), less)
    decision["unresolved"] = (("model", "other"), (less < 0.975) & (less > 0.025))
    found = evidence(MODELS, carried=carried, limits=[] if carried else ["Few prompts."])
    return add(
        results,
        decision=decision.assign_coords(other=MODELS),
        posterior_profile=draws_of(lowest),
        evidence=found,
    )


def weighed(status="fitted", **nodes):
    """Results of `weigh` from results under weights."""
    tree = xr.DataTree.from_dict({f"/{name}": None for name in nodes})
    for name, node in nodes.items():
        tree[name] = node
        tree[name].attrs = {"weights_sha256": "0", "title": name}
    tree.attrs = {"status": status, "title": "T"}
    return tree


def test_one_choice_under_all_weights_has_its_joint_probability():
    """Each is lowest in 3 of 4 draws, and in 2 of 4 under both at once."""
    results = weighed(x=of_fit([1, 1, 1, 0]), y=of_fit([0, 1, 1, 1]))
    assert answer(results) == (
        "Under each of 2 weightings, x and y, b is chosen; it is lowest under all of them at once "
        "with probability 0.50.",
        "The evidence carries that choice.",
    )


def with_unseen(results, share):
    """Results of models of whose prompts such shares can have an end that they do not show."""
    known = results["evidence"].to_dataset().assign(unseen_end_share=("model", share))
    return add(results, evidence=known.assign_attrs(epsilon=1e-6, alpha=0.95))


def test_a_choice_that_unseen_ends_could_change_is_carried_on_that_condition():
    """b has a CVaR of 1, the others of 3 and more: 1% of prompts at the end adds 2.8, 0.5% 1.4."""
    condition = (
        " only if answers at the end of the scale, of which b shows none, are no more frequent for "
        "it"
    )
    for share, text in ((0.01, condition), (0.005, "")):
        results = weighed(
            x=with_unseen(of_fit([1, 1, 1, 0]), [0, share, 0]), y=of_fit([1, 1, 1, 1])
        )
        assert answer(results)[1] == f"The evidence carries that choice{text}."
    few = of_fit([1, 1, 1, 0], carried=[])
    results = weighed(x=with_unseen(of_fit([1, 1, 1, 0]), [0, 0.01, 0]), y=few)
    assert answer(results)[1] == (
        f"The evidence carries that choice under x{condition}; under y it is no recommendation."
    )


@pytest.mark.parametrize(("share", "is_open"), [(0.12, True), (0.08, False)])
def test_a_choice_by_scores_that_unseen_ends_could_change_is_carried_on_that_condition(
    share, is_open
):
    """b has a policy score of 0.05 and a one of 0.15: a share u of ends would add 0.95 u."""
    node = with_unseen(of_fit([1, 1, 1, 0]), [0, share, 0])
    node["decision"].attrs["criterion"] = "policy_score"
    results = weighed(x=node)
    results["x"].attrs["weights"] = '[decision]\nby = "policy_score"\n'
    assert answer(results)[1] == "The evidence carries that choice" + (
        " only if answers at the end of the scale, of which b shows none, are no more frequent for "
        "it."
        if is_open
        else "."
    )


@pytest.mark.parametrize(
    ("share", "carried", "word"), [(0.01, ALL, "on condition"), (0, ALL, "yes"), (0.01, [], "no")]
)
def test_the_table_says_whether_a_choice_is_carried_on_a_condition(share, carried, word):
    results = with_unseen(of_fit([1, 1, 1, 0], carried=carried), [0, share, 0])
    decision = results["decision"].to_dataset().assign(expected_loss=("model", [0.3, 0.1, 0.2]))
    decision["expected_loss_mcse"] = ("model", np.full(3, 0.01))
    results = add(results, decision=decision.assign_attrs(interval_note=""))
    [table] = build_tables(MODEL_TABLES[1:2], weighed(x=results))
    row = dict(zip(table.header, table.rows[0], strict=True))
    assert row["carried by the evidence"] == word


def test_models_that_are_equal_share_a_draw():
    tie = xr.Dataset({"cvar": (("chain", "draw", "model"), [[[1.0, 1.0, 2.0]]])}, {"model": MODELS})
    assert prob_lowest_throughout([tie, tie], ["cvar", "cvar"]).to_numpy().tolist() == [
        *(0.25, 0.25, 0.0)
    ]


def test_one_weights_file_is_said_with_its_criterion():
    first, _ = answer(weighed(x=of_fit([1, 1, 1, 0])))
    assert first == (
        "Under x b is chosen by CVaR of cumulative log-risk; it is lowest with probability 0.75."
    )


@pytest.mark.parametrize("other", [[], ALL])
def test_a_choice_that_the_evidence_does_not_carry_is_no_recommendation(other):
    results = weighed(x=of_fit([1, 1], carried=[]), y=of_fit([1, 1], carried=other))
    where = " under y; under x" if other else ""
    end = "it is no recommendation."
    carried = f"The evidence carries that choice{where} {end}"
    assert answer(results)[1] == (
        carried if other else f"The evidence does not carry that choice: {end}"
    )


def test_equal_models_are_no_choice_that_evidence_carries():
    results = weighed(x=of_fit([1, 1, 1, 0]))
    results["x/decision/selected"][:] = [True, True, False]
    assert answer(results) == (
        "Under x a and b are chosen by CVaR of cumulative log-risk.",
        "The evidence does not carry that choice: it is no recommendation.",
    )
    assert not is_recommended(View(results["x"]))


def test_models_that_change_places_by_the_weights_are_told_from_those_that_may_by_chance():
    sure = weighed(x=of_fit([1] * 100), y=of_fit([2] * 100))
    assert answer(sure) == (
        "The choice differs between weightings: b under x; c under y.",
        "The evidence carries the choice.",
    )
    doubtful = weighed(x=of_fit([1] * 100), y=of_fit([2] * 60 + [1] * 40))
    assert answer(doubtful)[2] == (
        "Chance may make that difference, and not the weights: under y c is lower than b with "
        "probability 0.60."
    )


def test_a_tolerance_says_who_keeps_it_and_who_cannot_be_chosen():
    strict = of_fit([1] * 9 + [2], kept=(0.01, 0.2, 0.97))
    results = weighed(x=of_fit([1] * 9 + [2]), y=strict)
    first, _, excluded, verdicts = answer(results)
    assert first == "The choice differs between weightings: b under x; c under y."
    assert excluded == (
        "Under y b cannot be chosen: the probability of keeping the tolerance is below the "
        "confidence that the decision asks."
    )
    assert verdicts == ("By the tolerance of y, admissible: c; not admissible: a; cannot tell: b.")
    nobody = of_fit([1, 1], kept=(0.1, 0.2, 0.3))
    nobody["decision"]["selected"] = xr.zeros_like(nobody["decision"]["selected"])
    assert answer(weighed(x=nobody))[0] == (
        "Under x no model is chosen by CVaR of cumulative log-risk."
    )


def test_where_a_tolerance_restricts_the_choice_no_probability_is_said():
    restricted = of_fit([1] * 9 + [2], kept=(0.01, 0.97, 0.2))
    assert answer(weighed(x=restricted))[0] == (
        "Under x b is chosen by CVaR of cumulative log-risk."
    )
    free = of_fit([1] * 9 + [2], kept=(0.97, 0.97, 0.97))
    assert answer(weighed(x=free))[0].endswith("; it is lowest with probability 0.90.")


def measured(alike=()):
    """A measurement under weights, of pairs that are not distinguishable."""
    node = panel(alike=alike)
    interval = node["profile_interval"].to_dataset()
    values = node["profile/cvar"].to_numpy()
    bounds = (values[:, None] - values)[..., None] + [-0.1, 0.1]
    interval["cvar_difference_joint"] = (("model", "other", "bound"), bounds)
    return add(node, profile_interval=interval, evidence=evidence(MODELS))


@pytest.mark.parametrize("alike", [(), (("b", "c"),)])
def test_without_a_fit_a_lower_observed_value_must_be_distinguishable(alike):
    node = measured(alike)
    assert answer(weighed("measured", x=node)) == (
        "Under x b is lowest as observed by CVaR of cumulative log-risk.",
        "The evidence does not carry that order: it is no recommendation."
        if alike
        else "The evidence carries that order.",
    )


def test_an_order_that_some_weightings_carry_may_be_chance():
    """Each weighting has its own test, so that the more there are the likelier one errs."""
    assert answer(weighed("measured", x=measured(), y=measured((("b", "c"),)))) == (
        "Under each of 2 weightings, x and y, b is lowest as observed.",
        "The evidence carries that order under x; under y it is no recommendation.",
        "Each weighting is tested by itself, at 5%: of several, one may carry an order by chance.",
    )
    assert EACH_ALONE not in answer(weighed("measured", x=measured(), y=measured()))


def test_a_fit_that_has_not_converged_chooses_nothing():
    results = weighed("not converged", x=of_fit([1, 1, 1, 0]))
    first, second, *_ = answer(results)
    assert first == UNCONVERGED
    assert second == "Under x b is lowest as observed by CVaR of cumulative log-risk."


def test_models_that_were_judged_unequally_are_not_compared(shared_results):
    results = weigh(open_results(shared_results("measured_panel")), ["sharp", "equal"])
    first, second = answer(results)
    assert first == "Under each of 2 weightings, sharp and equal, aster is lowest as observed."
    assert second == "The evidence does not carry that order: it is no recommendation."
    for node in results.children.values():
        share = node["evidence/judge_share"]
        node["evidence/judge_share"] = share * xr.where(share["model"] == "aster", 0.1, 1.0)
    [only] = answer(results)
    assert only.startswith("The values of each model are those of its own judges")


def test_a_target_population_stands_alongside_the_sample(shared_results):
    results = weigh(open_results(shared_results("measured_crowd")), ["population_us", "equal"])
    assert answer(results) == (
        "With raters weighted to the shares of population_us, responsiveness (HM) of all raters "
        "is 0.877; of the sample it is 0.877.",
        "equal has no shares of a population: raters count as they are.",
    )

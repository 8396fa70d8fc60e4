"""Sentences and table of what the answer owes to each prior."""

import numpy as np
import xarray as xr

from sharpbayes.report.tables.declaration import View, build_tables
from sharpbayes.report.tables.prior_sensitivity import TABLES, prior_sentences
from tests.report.hand_made import add, fitted_panel, refits

PRIORS, POWERS, MODELS = ["all priors", "sd_prompt", "sd_judge"], [0.5, 2.0], ["a", "b", "c"]


def sensitivity(**changes):
    """A group in which nothing moves, with changes by variable, prior and power."""
    shape = (len(PRIORS), len(POWERS))
    by_model, selected = (*shape, 3), np.zeros((*shape, 3), dtype=bool)
    selected[..., 1] = True
    dims = ("prior", "power")
    table = xr.Dataset(
        {
            "pareto_k": (dims, np.full(shape, 0.2)),
            "prob_best": ((*dims, "model"), np.full(by_model, 0.3)),
            "prob_admissible": ((*dims, "model"), np.full(by_model, 0.97)),
            "prob_tier": ((*dims, "model", "tier"), np.full((*by_model, 2), 0.5)),
            "selected": ((*dims, "model"), selected),
            "verdict": ((*dims, "model"), np.full(by_model, "admissible", dtype="U14")),
            "selection_moves": (dims, np.zeros(shape, dtype=bool)),
            "verdict_moves": ((*dims, "model"), np.zeros(by_model, dtype=bool)),
            "tier_moves": ((*dims, "model"), np.zeros(by_model, dtype=bool)),
            "order_moves": ((*dims, "model", "other"), np.zeros((*by_model, 3), dtype=bool)),
            "sensitivity": (("prior", "model"), np.full((3, 3), 0.01)),
            "parameter_sensitivity": ("prior", [0.2, 0.2, 0.01]),
            "parameter_likelihood_sensitivity": ("prior", [0.4, 0.3, 0.4]),
            "law": ("prior", ["", "half_normal(1.5)", "half_normal(1)"]),
        },
        {"prior": PRIORS, "power": POWERS, "model": MODELS, "other": MODELS, "tier": [1, 2]},
        {"good_k": 0.63, "draws": 500, "sensitive": 0.05, "moved": 0.1},
    )
    for name, (labels, value) in changes.items():
        table[name].loc[labels] = value
    return table


def results(**changes):
    decision = xr.Dataset(
        {
            "prob_best": ("model", [0.0, 0.9, 0.1]),
            "prob_admissible": ("model", [0.96, 0.99, 0.97]),
            "selected": ("model", [False, True, False]),
        },
        {"model": MODELS},
        {"criterion": "cvar", "confidence": 0.95},
    )
    return add(fitted_panel(), prior_sensitivity=sensitivity(**changes), decision=decision)


def sentences(tree):
    return list(prior_sentences(View(tree)))


def test_where_nothing_moves_nothing_is_said():
    assert sentences(results()) == []
    assert sentences(fitted_panel()) == []


def test_a_selection_and_a_verdict_that_move_are_said():
    twice, half = ({"prior": "sd_prompt", "power": power} for power in (2.0, 0.5))
    tree = results(
        selection_moves=(twice, True),
        selected=(twice, [True, False, False]),
        verdict_moves=({**half, "model": "c"}, True),
        verdict=({**half, "model": "c"}, "cannot tell"),
        prob_admissible=({**half, "model": "c"}, 0.91),
    )
    assert sentences(tree) == [
        "The answer depends on a prior: the prior of sd_prompt, counted half, changes the verdict "
        "on c to cannot tell (probability 0.97 becomes 0.91); the prior of sd_prompt, counted "
        "twice, selects a, not b."
    ]


def test_orders_and_tiers_that_move_are_said():
    where = {"prior": "all priors", "power": 0.5, "model": "a"}
    tree = results(
        order_moves=({**where, "other": "b"}, True),
        tier_moves=(where, True),
        prob_tier=(where, [0.2, 0.8]),
    )
    assert sentences(tree) == [
        "The answer depends on a prior: the product of all priors, counted half, changes the order "
        "of a and b and puts a in tier 2."
    ]


def test_all_priors_together_are_not_said_where_a_single_one_moves_something():
    single, together = ({"prior": prior, "power": 2.0} for prior in ("sd_judge", "all priors"))
    tree = results(selection_moves=(single, True), selected=(single, [True, False, False]))
    tree["prior_sensitivity"]["selection_moves"].loc[together] = True
    assert sentences(tree) == [
        "The answer depends on a prior: the prior of sd_judge, counted twice, selects a, not b."
    ]


def test_weights_that_are_not_reliable_are_said_where_a_prior_matters():
    where = {"prior": "sd_prompt", "power": 0.5}
    assert sentences(results(pareto_k=(where, 0.9))) == []
    tree = results(pareto_k=(where, 0.9), sensitivity=({"prior": "sd_prompt", "model": "a"}, 0.2))
    assert sentences(tree) == [
        "Whether the prior of sd_prompt (counted half) moves the answer, weights of draws do not "
        "tell (Pareto k above 0.63): fit again with `[sensitivity] priors = [0.5, 2.0]`."
    ]


def test_two_priors_are_spoken_of_as_two():
    first, second = ({"prior": prior, "power": 2.0} for prior in ("sd_prompt", "sd_judge"))
    tree = results(selection_moves=(first, True), selected=(first, [True, False, False]))
    tree["prior_sensitivity"]["selection_moves"].loc[second] = True
    assert sentences(tree)[0].startswith("The answer depends on priors: the prior of sd_prompt, ")
    tree["prior_sensitivity"]["pareto_k"][:] = 0.9
    assert sentences(tree) == [
        "Whether the prior of sd_prompt (counted twice) and the prior of sd_judge (counted twice) "
        "move the answer, weights of draws do not tell (Pareto k above 0.63): fit again with "
        "`[sensitivity] priors = [0.5, 2.0]`."
    ]


def test_an_order_of_models_that_the_answer_does_not_name_is_not_the_answer():
    where = {"prior": "sd_judge", "power": 2.0, "model": "a"}
    tree = results(order_moves=({**where, "other": "c"}, True))
    assert sentences(tree) == []
    [table] = build_tables(TABLES, tree)
    assert table.rows[2][2] == "twice: changes the order of a and c"


def test_refits_that_the_results_hold_are_not_asked_for():
    where = {"prior": "sd_prompt", "power": 0.5}
    tree = results(pareto_k=(where, 0.9), sensitivity=({"prior": "sd_prompt", "model": "a"}, 0.2))
    tree = add(tree, sensitivity=refits({"priors x 0.5": "b", "priors x 2": "b"}))
    assert sentences(tree) == [
        "Whether the prior of sd_prompt (counted half) moves the answer, weights of draws do not "
        "tell (Pareto k above 0.63)."
    ]


def test_of_few_draws_nothing_is_said():
    where = {"prior": "sd_judge", "power": 2.0}
    tree = results(selection_moves=(where, True))
    assert len(sentences(tree)) == 1
    tree["prior_sensitivity"].attrs["draws"] = 99
    assert sentences(tree) == []


def test_the_table_has_a_row_for_each_prior():
    where = {"prior": "sd_prompt", "power": 0.5}
    tree = results(pareto_k=(where, 0.9), tier_moves=({**where, "model": "c"}, True))
    [table] = build_tables(TABLES, tree)
    assert table.title == "Sensitivity to each prior, without refits"
    assert table.header == (
        *("prior of", "prior", "what moves", "P(best), half", "P(best), twice", "criterion"),
        *("parameter", "to ratings", "Pareto k"),
    )
    assert table.rows[1] == (
        *("sd_prompt", "half_normal(1.5)", "half: puts c in tier 1 (weights not reliable)"),
        *("0.30", "0.30", "0.010 (a)", "0.200", "0.300", "0.90, 0.20"),
    )
    assert table.rows[2][2] == "nothing"
    assert table.note.startswith(
        "A prior that counts half is wider, one that counts twice narrower (a normal by a factor "
        "of 1.41). P(best) is of b. Criterion, parameter: how sensitive each is to the prior, that "
        "is how far its posterior moves where the prior counts a little more or less; the largest "
        "of several, and above 0.05 the prior is informative. To ratings: the same of the "
        "parameter where the ratings count more or less. Nothing was sampled again: "
    )
    assert table.note.endswith(
        "the 500 draws with replicated ratings have weights, which are not reliable with a Pareto "
        "k (half, twice) above 0.63."
    )

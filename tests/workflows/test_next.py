"""Whether to go on, and what to rate next: the answer, the list, and what is refused."""

import csv
import json

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.errors import SpecError
from sharpbayes.posterior.contradictions import Contradiction
from sharpbayes.posterior.information import Purchase
from sharpbayes.posterior.purchase_lists import judge_list, share_gain
from sharpbayes.report.next_ratings import (
    next_answer,
    next_document,
    next_file,
    next_rows,
    next_table,
)
from sharpbayes.spec.load import load_weights
from sharpbayes.storage.attributes import read_criterion
from sharpbayes.storage.results import open_results, save_results
from sharpbayes.workflows import next as next_module
from sharpbayes.workflows.next import plan_next
from tests.shared_results import as_converged

PRICES = {"judge": 0.05, "prompt": 1.0}
# Purchases of a list with a gain above its Monte Carlo error, by the few draws of these results.
LONG = 200
# Added to shipped weights: a price of a loss.
LOSS = "\n[decision]\nloss = {}\n"
SHORT_TAIL = (
    "With 30 prompts the 5% tail holds 1.5 prompts: this study cannot tell which model has the "
    "lowest CVaR 95. An alpha of 0.66 would leave ten prompts in the tail; 100 prompts would leave "
    "five at 0.95; the policy score can be compared."
)
ON_CONDITION = (
    "The choice of aster holds only if answers at the end of the scale, of which it shows none, "
    "are as frequent as its other scores let expect."
)


@pytest.fixture(scope="module")
def fitted(shared_results):
    return as_converged(open_results(shared_results("fitted_panel")))


@pytest.fixture(scope="module")
def results_file(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("next") / "close.results.nc"
    save_results(close(fitted), path)
    return path


def close(results):
    """Results in which two models are as good as each other."""
    tree = results.copy(deep=True)
    profile = tree["posterior_profile"].to_dataset()
    for name in ("cvar", "policy_score"):
        values = profile[name].transpose("chain", "draw", "model").to_numpy().copy()
        values[..., 0] -= values[..., 0].mean() - values[..., 1].mean() + 0.01
        profile[name] = (("chain", "draw", "model"), values)
    tree["posterior_profile"] = profile.assign_attrs(tree["posterior_profile"].attrs)
    decision = tree["decision"].to_dataset()
    decision["expected_loss"][:] = 0.2
    tree["decision"] = decision
    return tree


@pytest.fixture(scope="module")
def plan(fitted):
    return plan_next(close(fitted), costs=PRICES, number=LONG)


def curve(**values):
    return xr.Dataset(
        {k: ("size", np.array(v, float)) for k, v in values.items()}, {"size": [1, 9]}
    )


def test_net_gains_decide_between_going_on_and_stopping():
    gain = {"list_gain": [0.1, 0.2], "list_gain_mcse": [0.0, 0.0], "list_net_mcse": [1.0, 1.0]}
    assert judge_list(curve(list_net=[-9.0, 3.0], **gain)) == ("go on", 9)
    assert judge_list(curve(list_net=[-9.0, 1.0], **gain)) == ("cannot tell", 9)
    assert judge_list(curve(list_net=[-3.0, -9.0], **gain)) == ("stop", 1)
    assert judge_list(curve(list_gain=[0.0, 0.0])) == ("stop", 0)


def test_purchases_that_no_list_judges_are_no_reason_to_stop():
    gain = {"list_gain": [0.1, 0.2], "list_gain_mcse": [0.0, 0.0], "list_net_mcse": [1.0, 1.0]}
    dear, worth = (curve(list_net=net, **gain) for net in ([-3.0, -9.0], [-9.0, 3.0]))
    assert judge_list(dear, others_may_pay=True) == ("cannot tell", 1)
    assert judge_list(worth, others_may_pay=True) == ("go on", 9)
    without = curve(list_gain=[0.0, 0.0])
    assert judge_list(without, others_may_pay=True) == ("cannot tell", 0)


def test_the_best_of_noisy_gains_is_not_named():
    def judged(gains, errors, **net):
        return judge_list(curve(list_gain=gains, list_gain_mcse=errors, **net))

    # In truth more purchases gain more: a gain that falls is noise.
    assert judged([0.3, 0.2], [0.1, 0.05]) == ("cannot tell", 9)
    assert judged([0.3, 0.1], [0.1, 0.1]) == ("cannot tell", 1)
    assert judged([0.0010, 0.0001], [0.0006, 0.0002]) == ("cannot tell", 0)
    dear = {"list_net": [-0.01, -5.0], "list_net_mcse": [0.001, 0.001]}
    assert judged([0.0010, 0.0001], [0.0006, 0.0002], **dear) == ("stop", 0)
    assert judged([0.0010, 0.1], [0.0006, 0.0002], **dear) == ("stop", 9)
    open_net = {"list_net": [0.0010, 0.0001], "list_net_mcse": [0.0006, 0.0002]}
    assert judged([0.0010, 0.0001], [0.0006, 0.0002], **open_net) == ("cannot tell", 0)


def test_gains_of_the_rows_add_up_to_the_gain_that_the_answer_names():
    gains = curve(list_gain=[0.1, 0.4])
    bought = [Purchase(number, 0, 9.0 - number) for number in range(9)]
    assert share_gain(gains, bought, 9).sum() == pytest.approx(0.4)
    assert share_gain(gains, bought, 1)[0] == pytest.approx(0.1)
    assert share_gain(gains, bought, 0).sum() == pytest.approx(0.4)
    assert share_gain(gains.isel(size=[]), [], 0).size == 0


def test_a_gain_that_noise_makes_is_not_shown(plan):
    noise = {"list_gain": 0.001, "list_gain_mcse": 0.0006, "best_size": 0}
    now = "the choice of aster has an expected loss of 0.50 (Monte Carlo error 0.05) nats of CVaR"
    shown = "and no gain of the 200 purchases that were looked at is shown: none exceeds two Monte"
    assert changed(plan, verdict="cannot tell", **noise) == [
        f"Cannot tell: {now}, {shown} Carlo errors (`--count` looks at more)."
    ]
    assert changed(plan, verdict="stop", **noise) == [
        f"Stop: {now}, {shown} Carlo errors, nor would one two errors higher be worth its price."
    ]
    assert changed(plan, verdict="cannot tell", longer_may_pay=False, **noise) == [
        f"Cannot tell: {now}, {shown} Carlo errors."
    ]


def test_a_certainty_that_depends_on_the_fitted_model_says_on_what(plan):
    facts = {"list_gain": 0.0, "list_gain_mcse": 0.0, "best_size": 0, "longer_may_pay": False}
    assert changed(plan, verdict="cannot tell", **facts) == [
        "Cannot tell: by the fitted model the choice of aster has an expected loss of 0.50 (Monte "
        "Carlo error 0.05) nats of CVaR, and no number of the 200 purchases that were looked at "
        "lowers it. That depends on what the fitted model assumes of answers more severe than "
        "these prompts show."
    ]
    at_end = plan.copy()
    at_end["next"].attrs["basis"] = ""
    [at_ceiling] = changed(at_end, verdict="cannot tell", **facts)
    assert at_ceiling.endswith(" purchases that were looked at lowers it.")


def test_a_list_that_was_cut_says_which_option_looks_at_more(plan):
    none = {"verdict": "cannot tell", "list_gain": 0.0, "best_size": 0}
    now = "the choice of aster has an expected loss of 0.50 (Monte Carlo error 0.05) nats of CVaR"
    looked = "purchases that were looked at lowers it (`--count` looks at more)."
    assert changed(plan, **none) == [f"Cannot tell: {now}, and no number of the 200 {looked}"]
    one = plan.copy()
    one["next"] = one["next"].to_dataset().isel(purchase=[0])
    assert changed(one, **none) == [
        f"Cannot tell: {now}, and the one purchase that was looked at does not lower it (`--count` "
        "looks at more)."
    ]
    net = {"list_net": ("size", np.full(8, -5.0)), "list_net_mcse": ("size", np.full(8, 0.5))}
    dear = plan.copy()
    dear["next"] = dear["next"].to_dataset().assign(net)
    gain = {"list_gain": 0.02, "list_gain_mcse": 0.001, "list_cost": 7.0, "best_size": 10}
    assert changed(dear, verdict="cannot tell", **gain) == [
        f"Cannot tell: {now}; the next 10 purchases lower it by 0.020 (Monte Carlo error 0.001) "
        "for 7.00 units of money, a net gain of \u22125.00 (Monte Carlo error 0.50) units of "
        "money, the largest of all lengths with a gain that is shown (`--count` looks at more)."
    ]


def test_a_list_that_was_cut_stops_only_where_no_longer_one_can_pay(fitted):
    """The one purchase is not worth its price; an expected loss of 0.2 could be worth more."""
    for loss, verdict in ((1.0, "cannot tell"), (0.1, "stop")):
        attrs = priced(fitted, loss, number=1)["next"].attrs
        assert (attrs["verdict"], attrs["longer_may_pay"]) == (verdict, verdict != "stop")


def test_the_list_has_the_columns_of_the_user(plan):
    rows = next_rows(plan)
    group = plan["next"]
    assert len(rows) == group.sizes["purchase"] == LONG
    assert list(rows[0]) == [
        *("rank", "what", "model_id", "prompt_id", "judge_id", "reason", "expected_gain"),
        *("cost", "judgements"),
    ]
    assert {row["what"] for row in rows} <= {"another judge", "new prompt"}
    total = sum(row["expected_gain"] for row in rows)
    assert group.attrs["best_size"] == LONG
    assert total == pytest.approx(float(group["list_gain"][-1]))
    assert [json.loads(line) for line in next_file(plan, as_csv=False).splitlines()] == rows
    table = list(csv.DictReader(next_file(plan, as_csv=True).splitlines()))
    assert [row["prompt_id"] for row in table] == [row["prompt_id"] for row in rows]


def test_a_longer_list_costs_more(plan):
    group = plan["next"]
    assert group["size"].values.tolist() == [1, 2, 5, 10, 20, 50, 100, LONG]
    assert (np.diff(group["list_cost"]) > 0).all()
    assert float(group["list_cost"][-1]) == pytest.approx(float(group["cost"].sum()))


def test_without_prices_the_answer_says_which_line_to_add(fitted):
    results = plan_next(close(fitted), number=LONG)
    answer = next_answer(results)
    assert results["next"].attrs["unit"] == "score"
    assert answer[0].startswith("Cannot tell without prices: the choice of aster has an expected ")
    assert answer[1] == SHORT_TAIL
    assert answer[2] == (
        "The study has no prices. Add the table [costs], such as judge = 0.05, to the study, or "
        "give --cost judge=0.05; every score counts the same until then."
    )


def test_without_the_price_of_a_loss_the_answer_has_the_break_even(plan):
    group = plan["next"].to_dataset()
    size = int(group.attrs["best_size"])
    price = float(group["list_cost"].sel(size=size) / group["list_gain"].sel(size=size))
    assert 100 <= price < 1000
    assert next_answer(plan)[2] == (
        f"That is worth it where a loss of 1 nat of CVaR costs more than {price:.0f} units of "
        "money. Write what it costs into the weights, as `loss` of the table [decision]."
    )


def changed(plan, loss=0.5, **facts):
    """The answer of a plan with other numbers."""
    group = plan["next"].to_dataset()
    sizes = {k: ("size", np.full(8, v)) for k, v in facts.items() if k in group}
    group = group.assign(sizes)
    group.attrs |= {"expected_loss": loss, "expected_loss_mcse": 0.1 * loss, "limits": "[]"}
    group.attrs |= {k: v for k, v in facts.items() if k in group.attrs}
    return next_answer(xr.DataTree.from_dict({"/next": group}))


def test_prices_of_any_size_are_written_out(plan):
    list_of_one = {"best_size": 1, "list_gain": 20.0, "list_gain_mcse": 1.0}
    assert changed(plan, list_cost=0.004, **list_of_one) == [
        "Cannot tell without the price of a loss: the choice of aster has an expected loss of 0.50 "
        "(Monte Carlo error 0.05) nats of CVaR; the next purchase lowers it by 20.0 (Monte Carlo "
        "error 1.0) for 0.004 units of money.",
        "That is worth it where a loss of 1 nat of CVaR costs more than 0.000200 units of money. "
        "Write what it costs into the weights, as `loss` of the table [decision].",
    ]
    assert changed(plan, list_cost=0.0, **list_of_one)[1] == (
        "That costs nothing, and is worth it at any price of a loss. Write what it costs into the "
        "weights, as `loss` of the table [decision]."
    )


def test_a_loss_below_what_decimals_show_is_not_written_as_zero(plan):
    none = {"best_size": 0, "verdict": "stop", "list_gain": 0.0}
    assert changed(plan, 3e-8, **none)[0].startswith(
        "Stop: the choice of aster has an expected loss of less than 0.000001 (Monte Carlo error "
        "less than 0.000001) nats of CVaR, and "
    )
    group = plan["next"].to_dataset().isel(purchase=[0])
    group["gain"][:] = 3e-8
    [row] = next_table(xr.DataTree.from_dict({"/next": group})).rows
    assert row[-2] == "<0.000001"


def test_an_answer_without_a_gain(plan):
    none = {"best_size": 0, "verdict": "stop", "list_gain": 0.0, "longer_may_pay": False}
    assert changed(plan, **none) == [
        "Stop: the choice of aster has an expected loss of 0.50 (Monte Carlo error 0.05) nats of "
        "CVaR, and no number of the 200 purchases that were looked at lowers it."
    ]
    assert changed(plan, 0.0, **none) == [
        "Stop: aster is the best model in every draw of the fit, and no number of the 200 "
        "purchases that were looked at changes that."
    ]
    assert changed(plan, 0.0, **none, equal_models='["briar"]')[0].startswith(
        "Stop: aster and briar are equal in every draw of the fit, and the best, and no number of"
    )
    one = plan["next"].to_dataset().isel(purchase=[0], size=[]).assign_attrs(none)
    answers = [
        next_answer(xr.DataTree.from_dict({"/next": one.isel(purchase=slice(number))}))[0]
        for number in (1, 0)
    ]
    assert answers[0].endswith(
        " nats of CVaR, and the one purchase that was looked at does not lower it."
    )
    assert answers[1].startswith("Cannot tell: the choice of aster has an expected loss of ")
    assert answers[1].endswith(" nats of CVaR, and nothing that has a price can be bought.")


@pytest.mark.parametrize(
    ("kind", "named", "cells"),
    [
        ("another judge", ("a", "p1", ""), ("another judge", "a", "p1", "new")),
        ("new prompt", ("", "", ""), ("new prompt", "every", "new", "every")),
        ("judged again", ("a", "p1", "j"), ("judged again", "a", "p1", "j")),
    ],
)
def test_the_table_says_who_is_meant_where_nobody_is_named(plan, kind, named, cells):
    group = plan["next"].to_dataset().isel(purchase=[0])
    names = ("kind", "rated_model", "rated_prompt", "rated_judge")
    group = group.assign({k: ("purchase", [v]) for k, v in zip(names, (kind, *named), strict=True)})
    [row] = next_table(xr.DataTree.from_dict({"/next": group})).rows
    assert row[1:5] == cells


def test_the_table_counts_what_it_leaves_out(plan):
    group = plan["next"].to_dataset()
    table = next_table(xr.DataTree.from_dict({"/next": group.isel(purchase=slice(13))}))
    assert len(table.rows) == 12
    assert table.note == (
        "Gain: the share of each in the gain that the answer names, in nats of CVaR. Price: in "
        "units of money. 1 more is written by --out FILE."
    )


def priced(fitted, loss, failed=(), number=LONG):
    """The plan of results whose weights have the price of a loss, of which some checks failed."""
    tree = close(fitted)
    tree.attrs["weights"] += LOSS.format(loss)
    tree["predictive_checks"].attrs["failed_checks"] = json.dumps(failed)
    return plan_next(tree, costs=PRICES, number=number)


def test_ratings_that_cost_more_than_any_loss_are_not_bought(fitted):
    results = priced(fitted, 1e-9)
    assert results["next"].attrs["verdict"] == "stop"
    answer = next_answer(results)
    assert answer[0].startswith("Stop: the choice of aster has an expected loss of 0.2")
    assert answer[0].endswith(
        " units of money, the largest of all lengths with a gain that is shown."
    )
    assert answer[1:] == [SHORT_TAIL]
    document = next_document(results)
    assert document["verdict"] == "stop"
    assert len(document["next"]) == LONG


@pytest.mark.parametrize(("share", "verdict"), [(0.5, "cannot tell"), (0.0, "stop")])
def test_a_choice_that_unseen_ends_could_change_says_so(fitted, share, verdict):
    tree = close(fitted)
    tree.attrs["weights"] += LOSS.format(1e-9)
    tree["predictive_checks"].attrs["failed_checks"] = "[]"
    evidence = tree["evidence"].to_dataset()
    shares = xr.full_like(evidence["unseen_end_share"], share)
    facts = {"carried": '["lowest"]', "limits": "[]"}
    tree["evidence"] = evidence.assign(unseen_end_share=shares).assign_attrs(facts)
    results = plan_next(tree, costs=PRICES, number=LONG)
    assert results["next"].attrs["verdict"] == verdict
    assert next_answer(results)[1:] == [ON_CONDITION] * bool(share)


def test_an_answer_to_go_on_has_gain_price_and_errors(plan):
    size = int(plan["next"].attrs["best_size"])
    rows = {"list_gain": 0.2, "list_gain_mcse": 0.05, "list_cost": 7.0}
    rows |= {"list_net": 93.0, "list_net_mcse": 25.0}
    group = plan["next"].to_dataset().assign({k: ("size", np.full(8, v)) for k, v in rows.items()})
    group.attrs |= {"verdict": "go on", "expected_loss": 0.5, "expected_loss_mcse": 0.01}
    tree = xr.DataTree.from_dict({"/next": group})
    tree.attrs = plan.attrs
    assert next_answer(tree) == [
        "Go on: the choice of aster has an expected loss of 0.50 (Monte Carlo error 0.01) nats of "
        f"CVaR; the next {size} purchases lower it by 0.20 (Monte Carlo error 0.05) for 7.00 units "
        "of money, a net gain of 93 (Monte Carlo error 25) units of money.",
        SHORT_TAIL,
    ]


def test_other_weights_decide_by_the_same_draws(fitted):
    weights = load_weights("worst_dimension")
    results = plan_next(fitted, weights=weights, costs=PRICES, number=3)
    assert results.attrs["weights_sha256"] == weights.sha256
    assert results["next"].attrs["criterion"] == "worst_dimension"


def test_what_next_cannot_work_on_is_refused(fitted, shared_results):
    with pytest.raises(SpecError, match=r"^next: these results hold no posterior draws with "):
        plan_next(open_results(shared_results("measured_panel")))
    few = open_results(shared_results("fitted_panel"))
    if not bool(few["diagnostics"]["converged"]):
        with pytest.raises(SpecError, match=r"^next: the fit has not converged, and its draws "):
            plan_next(few)
    with pytest.raises(SpecError) as error:
        plan_next(fitted, costs={"juge": 1.0, "prompt": 1.0})
    assert str(error.value) == (
        "--cost: juge: no price of this name, allowed are prompt, generation, judge, trial, person;"
        " did you mean 'judge'?"
    )
    with pytest.raises(SpecError) as error:
        plan_next(fitted, costs={"judge": -1.0})
    assert str(error.value) == "--cost: judge: found -1.0, must be at least 0.0"


def test_a_choice_that_the_tolerance_takes_away_says_how_sure_one_must_be(fitted, tmp_path):
    text = f"{fitted.attrs['weights']}\n[tolerance]\ncvar = 0.0001\n"
    (tmp_path / "strict.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as error:
        plan_next(fitted, weights=load_weights(str(tmp_path / "strict.toml")), costs=PRICES)
    assert str(error.value) == (
        "next: no model to choose from within the tolerance with a probability of at least 0.5; a "
        "choice needs two"
    )


def test_the_command_writes_the_list_and_says_so_by_its_exit_status(results_file, tmp_path):
    out = tmp_path / "next.jsonl"
    prices = [word for name, price in PRICES.items() for word in ("--cost", f"{name}={price}")]
    call = ["next", str(results_file), *prices, "--count", str(LONG), "--out", str(out)]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 7
    assert result.stdout.startswith("Cannot tell without the price of a loss: the choice of aster")
    assert "What to rate next" in result.stdout
    assert len(out.read_text("utf-8").splitlines()) == LONG
    wrong = CliRunner().invoke(app, ["next", str(results_file), "--cost", "judge=much"])
    assert wrong.exit_code == 2
    assert "--cost: judge: no number 'much', must be name=price, such as judge=0.05" in wrong.stderr
    ending = CliRunner().invoke(app, ["next", str(results_file), "--out", "next.txt"])
    assert ending.exit_code == 2
    assert "--out: next.txt: must end in .csv or .jsonl" in ending.stderr


def test_a_failed_check_is_said_and_nothing_is_stopped_by_it(fitted):
    failing = priced(fitted, 1e-9, failed=["prompt_kurtosis", "halo"])
    assert failing["next"].attrs["verdict"] == "cannot tell"
    assert next_answer(failing)[-1].startswith(
        "The fitted model does not reproduce 2 statistics of the ratings: probabilities,"
    )


def test_the_evidence_is_that_of_the_weights_that_decide(fitted, tmp_path):
    path = tmp_path / "half.toml"
    text = fitted.attrs["weights"].replace("alpha = 0.95", "alpha = 0.5")
    path.write_text(text, "utf-8")
    half = plan_next(fitted, weights=load_weights(str(path)), costs=PRICES, number=3)
    assert json.loads(half["next"].attrs["limits"]) == [ON_CONDITION]
    stored = plan_next(fitted, costs=PRICES, number=3)
    assert json.loads(stored["next"].attrs["limits"]) == [SHORT_TAIL]


def test_a_plan_under_its_own_weights_is_that_of_the_results(fitted, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(fitted.attrs["weights"], "utf-8")
    own = plan_next(fitted, weights=load_weights(str(path)), costs=PRICES, number=3)["next"]
    stored = plan_next(fitted, costs=PRICES, number=3)["next"]
    xr.testing.assert_identical(own.to_dataset(), stored.to_dataset())


def test_contradictions_are_those_of_the_weights_that_decide(fitted, monkeypatch):
    read = []

    def contradict(view):
        read.append(view)
        return ["It is contradicted."]

    monkeypatch.setattr(next_module, "find_contradictions", lambda _: [Contradiction.PEOPLE])
    monkeypatch.setattr(next_module, "list_contradictions", contradict)
    results = plan_next(fitted, weights=load_weights("worst_dimension"), costs=PRICES, number=3)
    assert json.loads(results["next"].attrs["limits"])[-1] == "It is contradicted."
    [view] = read
    assert read_criterion(view.results) == "worst_dimension"
    assert view["decision/selected"].any()
    assert {"joint", "profile_interval", "posterior_profile", "predictive_checks"} <= {
        *view.results.children
    }


def test_a_verdict_does_not_wait_for_the_sentences_on_it(fitted, monkeypatch):
    monkeypatch.setattr(next_module, "list_contradictions", lambda _: [])
    plain = plan_next(fitted, costs=PRICES, number=3)["next"].attrs
    monkeypatch.setattr(next_module, "find_contradictions", lambda _: [Contradiction.MISFIT])
    attrs = plan_next(fitted, costs=PRICES, number=3)["next"].attrs
    assert "basis" not in plain
    assert attrs["basis"] == "a fitted model that the ratings contradict"


def test_the_help_names_the_table_of_prices():
    printed = CliRunner().invoke(app, ["next", "--help"]).stdout
    text = " ".join(printed.replace("\u2502", " ").split())
    places = [text.index(words) for words in ("over `costs`", "Of a panel:", "Of a crowd:")]
    assert places == sorted(places)

"""What a crowd should rate next: the answer, the list, and what is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.data.ratings import Factor
from sharpbayes.errors import SpecError
from sharpbayes.posterior import next_crowd
from sharpbayes.posterior.crowd import CrowdMetrics
from sharpbayes.posterior.next_crowd import plan_crowd_purchases
from sharpbayes.report.next_ratings import next_answer, next_document, next_file, next_rows
from sharpbayes.spec.costs import Costs
from sharpbayes.spec.load import load_study, load_weights
from sharpbayes.storage.results import open_results, save_results
from sharpbayes.workflows.next import plan_next, read_fit, read_fit_files
from tests.shared_results import as_converged

PRICES = {"rating": 0.1, "rater": 5.0, "item": 3.0}


@pytest.fixture(scope="module")
def fitted(shared_results):
    return as_converged(open_results(shared_results("fitted_crowd")))


@pytest.fixture(scope="module")
def plan(fitted):
    return plan_next(fitted, costs=PRICES, number=30)


def test_the_list_names_items_raters_and_groups_by_the_columns_of_the_user(plan):
    rows, group = next_rows(plan), plan["next"]
    assert list(rows[0]) == [
        *("rank", "what", "item", "rater", "gender", "age", "reason", "expected_gain", "cost"),
        "ratings",
    ]
    # Every rater of this study has scored every item, so that only new ones are for sale.
    assert {row["what"] for row in rows} <= {"new rater", "new item"}
    for row in rows:
        is_rater = row["what"] == "new rater"
        assert (row["item"], row["rater"]) == ("", "")
        assert bool(row["gender"]) == bool(row["age"]) == is_rater
        assert row["ratings"] == (80 if is_rater else 40)
        assert row["cost"] == pytest.approx(5.0 + 8.0 if is_rater else 3.0 + 4.0)
    assert sum(row["expected_gain"] for row in rows) == pytest.approx(float(group["list_gain"][-1]))
    assert float(group["list_cost"][-1]) == pytest.approx(float(group["cost"].sum()))
    assert [json.loads(line) for line in next_file(plan, as_csv=False).splitlines()] == rows


def test_a_column_of_raters_may_have_the_name_of_that_of_items(fitted):
    results = fitted.copy()
    study = results.attrs["study"].replace('roles = { item = "item"', 'roles = { item = "gender"')
    results.attrs["study"] = study
    rows = next_rows(plan_next(results, costs=PRICES, number=3))
    assert list(rows[0])[2:6] == ["gender", "rater", "group:gender", "age"]
    assert {row["group:gender"] for row in rows} & {"Woman", "Man"}


def test_intervals_of_open_pairs_narrow(plan):
    group = plan["next"].to_dataset()
    assert group.sizes["pair"] == group.attrs["open_pairs"] <= group.attrs["pairs"] == 19
    assert (group["pair_width_after"] <= group["pair_width"]).all()
    assert (group["pair_width_after"] < group["pair_width"]).any()
    gain, error = (group[name].to_numpy() for name in ("list_gain", "list_gain_mcse"))
    assert (np.diff(gain) > -3 * error.max()).all()
    document = next_document(plan)
    assert len(document["pair_width"]) == group.sizes["pair"]
    assert document["criterion"] == "hm"


def test_the_answer_says_what_is_open_and_from_which_price_on_it_is_worth_it(plan):
    group = plan["next"].to_dataset()
    answer = next_answer(plan)
    number = group.attrs["open_pairs"]
    assert answer[0].startswith(
        f"Cannot tell without the price of a loss: {number} of 19 pairs of groups are open (the "
        "interval of the difference contains 0), and calling the more responsive group of each has "
        "in all an expected loss of "
    )
    assert answer[1].startswith("Groups of fewer than 10 raters: gender=Man,age=GenX (7), ")
    assert answer[2].startswith("With these purchases the 95% interval of ")
    assert " \u2212 " in answer[2]
    assert answer[2].endswith(", in proportion the most of all open pairs.")
    assert answer[3].startswith(
        "That is worth it where a loss of 1 point of responsiveness (HM) costs more than "
    )


@pytest.mark.parametrize(
    ("pairs", "opened", "text"),
    [
        (
            3,
            1,
            "1 of 3 pairs of groups is open (the interval of the difference contains 0), and "
            "calling the more responsive group of it has an expected loss of ",
        ),
        (
            1,
            1,
            "the one pair of groups is open (its interval contains 0), and calling the more "
            "responsive group has an expected loss of ",
        ),
    ],
)
def test_one_pair_is_spoken_of_as_one(plan, pairs, opened, text):
    group = plan["next"].to_dataset().isel(pair=[0])
    group.attrs |= {"pairs": pairs, "open_pairs": opened, "limits": "[]"}
    answer = next_answer(xr.DataTree.from_dict({"/next": group}))
    assert answer[0].startswith(f"Cannot tell without the price of a loss: {text}")
    same = group.assign(pair_width_after=group["pair_width"])
    assert not any("narrow" in text for text in next_answer(xr.DataTree.from_dict({"/next": same})))


def test_without_prices_every_rating_counts_the_same(fitted):
    results = plan_next(fitted, number=30)
    assert results["next"].attrs["unit"] == "score"
    assert next_answer(results)[-1] == (
        "The study has no prices. Add the table [costs], such as rating = 0.05, to the study, or "
        "give --cost rating=0.05; every score counts the same until then."
    )


@pytest.mark.parametrize(("loss", "verdict"), [(1e-6, "stop"), (1e9, "go on")])
def test_the_price_of_a_loss_decides(fitted, tmp_path, loss, verdict):
    path = tmp_path / "priced.toml"
    text = 'schema = "sharpbayes/weights/2"\ntitle = "Priced"\n[decision]\nloss = {}\n'
    path.write_text(text.format(loss), "utf-8")
    results = plan_next(fitted, weights=load_weights(str(path)), costs=PRICES, number=30)
    assert results["next"].attrs["verdict"] == verdict


def test_a_unit_without_a_price_is_not_offered(fitted):
    results = plan_next(fitted, costs={"rating": 0.1, "item": 1.0}, number=4)
    assert set(results["next"]["kind"].to_numpy()) == {"new item"}


def test_where_nothing_is_sold_it_cannot_tell(fitted):
    results = plan_next(fitted, costs={"rating": 0.1}, number=4)
    assert results["next"].attrs["verdict"] == "cannot tell"
    answer = next_answer(results)[0]
    assert answer.startswith("Cannot tell: ")
    assert answer.endswith("(HM), and nothing that has a price can be bought.")
    assert "by the fitted model" not in answer


def test_ratings_of_present_raters_are_offered_where_they_are_missing(fitted):
    study, draws = read_fit(fitted, read_fit_files(fitted, None))
    data, number = study.data, len(study.data.score)
    kept = np.flatnonzero((data.item.codes + data.rater.codes) % 4 != 0)
    rows = np.append(kept, np.arange(number, len(study.ratings.score)))
    few = replace(
        data,
        score=data.score[kept],
        item=Factor(data.item.labels, data.item.codes[kept]),
        rater=Factor(data.rater.labels, data.rater.codes[kept]),
    )
    metrics = CrowdMetrics(replace(study, data=few))
    less = replace(draws, design=draws.design.of(rows))
    group = plan_crowd_purchases(metrics, less, costs=Costs(rating=1.0), loss=None, number=6)
    assert set(group["kind"].to_numpy()) == {"rating"}
    assert len(np.unique(group["rated_item"].str.cat(" ", group["rated_rater"]))) == 6
    codes = {name: n for n, name in enumerate(data.item.labels)}
    raters = {name: n for n, name in enumerate(data.rater.labels)}
    for row in range(6):
        item, rater = (str(group[name][row].item()) for name in ("rated_item", "rated_rater"))
        assert (codes[item] + raters[rater]) % 4 == 0
        assert group["rated_gender"][row] == data.rater_columns["gender"][raters[rater]]
    assert group.attrs["left_out"] == 0
    assert (group["cost"] == 1.0).all()


def test_an_answer_where_no_pair_is_open(plan):
    facts = {"open_pairs": 0, "best_size": 0, "verdict": "stop", "limits": "[]", "left_out": 0}
    facts |= {"longer_may_pay": False, "small_may_pay": False}
    group = plan["next"].to_dataset().isel(purchase=[], size=[], pair=[]).assign_attrs(facts)
    tree = xr.DataTree.from_dict({"/next": group})
    assert next_answer(tree) == ["Stop: none of the 19 pairs of groups is open."]
    group.attrs |= {"verdict": "cannot tell", "pairs": 1}
    assert next_answer(xr.DataTree.from_dict({"/next": group})) == [
        "Cannot tell: by the fitted model the one pair of groups is not open. That depends on "
        "what the fitted model assumes of raters who were not asked."
    ]


def test_a_gain_that_may_be_missed_is_no_reason_to_stop(fitted, monkeypatch):
    study, draws = read_fit(fitted, read_fit_files(fitted, None))
    measured = next_crowd._unit_variances

    def miss(*args):
        return [0.0 * variances for variances in measured(*args)]

    monkeypatch.setattr(next_crowd, "_unit_variances", miss)
    answers = []
    for loss, number in ((1e3, 3), (1e3, 500), (1e-6, 3)):
        group = plan_crowd_purchases(
            CrowdMetrics(study), draws, costs=Costs(**PRICES), loss=loss, number=number
        )
        answers.append(next_answer(xr.DataTree.from_dict({"/next": group})))
    missed = (
        "What new raters and items tell is measured with an error, so that a gain that is worth "
        "its price may be missed."
    )
    looked = "(HM), and no number of the {} purchases that were looked at lowers it"
    for (first, second), end in zip(
        answers[:2],
        (f"{looked.format(3)} (`--count` looks at more).", f"{looked.format(500)}."),
        strict=True,
    ):
        assert first.startswith("Cannot tell: ")
        assert first.endswith(end)
        assert second == missed
    [stopped] = answers[2]
    assert stopped.startswith("Stop: ")


def test_what_is_refused(fitted, shared_results):
    with pytest.raises(SpecError) as error:
        plan_next(fitted, costs={"judge": 1.0})
    assert str(error.value) == (
        "--cost: judge: no price of this name, allowed are rating, rater, item"
    )
    with pytest.raises(SpecError, match=r"^next: these results hold no posterior draws with "):
        plan_next(open_results(shared_results("measured_crowd")))
    alone = fitted.copy()
    groups = 'groups = [["gender"], ["age"], ["gender", "age"]]'
    assert groups in alone.attrs["study"]
    alone.attrs["study"] = alone.attrs["study"].replace(groups, "groups = []")
    with pytest.raises(SpecError, match=r"^next: no two groups of raters to compare; name columns"):
        plan_next(alone)


def test_prices_are_those_of_the_table_of_the_study():
    with pytest.raises(SpecError, match="a crowd has no price of judge; allowed are rating, rater"):
        load_study("quickstart_crowd", overrides=("costs.judge=1.0", "costs.rating=1.0"))
    with pytest.raises(SpecError, match="a panel has no price of rating; allowed are prompt, gen"):
        load_study("quickstart", overrides=("costs.judge=1.0", "costs.rating=1.0"))
    with pytest.raises(SpecError, match="of a crowd of `rating`, is needed"):
        load_study("quickstart_crowd", overrides=("costs.item=1.0",))


def test_the_command_lists_what_to_rate(fitted, tmp_path):
    path, out = tmp_path / "crowd.results.nc", tmp_path / "next.jsonl"
    save_results(fitted, path)
    call = ["next", str(path), "--cost", "rating=0.1", "--cost", "rater=5", "--count", "30"]
    result = CliRunner().invoke(app, [*call, "--out", str(out)])
    assert result.exit_code == 7
    assert result.stdout.startswith("Cannot tell without the price of a loss: ")
    assert "What to rate next" in result.stdout
    assert len(out.read_text("utf-8").splitlines()) == 30

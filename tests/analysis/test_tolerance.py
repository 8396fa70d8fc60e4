"""Limits of every kind, and verdicts with a middle."""

import json

import numpy as np
import pytest
import xarray as xr

from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.analysis.tolerance import keeps_tolerance
from sharpbayes.analysis.tolerance_evidence import (
    relies_on_fit,
    restrict_decision,
    restrict_verdicts,
)
from sharpbayes.errors import DataError, SpecError
from sharpbayes.report.page import page_text
from sharpbayes.report.panel_decision import fit_alone_sentences
from sharpbayes.report.summary import answer
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.weights_by_hand import weights_by_hand
from sharpbayes.spec.weights import Tolerance
from sharpbayes.storage.attributes import read_weights
from sharpbayes.workflows.check import check
from tests.panels import files_of, frame, measured, profiled

KIND = ', category = "kind"'
LIMITS = """approved_by = "The <board>"
valid_until = 2020-03-31
[tolerance]
cvar = {cvar}
mean = 30.0
confidence = 0.9
[tolerance.dimension]
bias = 1.0
[tolerance.category]
age = 30.0
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A panel whose first model scores 0 to 3, the second 7 to 10, the third anything."""
    table, rng = frame(prompts=300), np.random.default_rng(4)
    for model, least in (("m0", 0), ("m1", 7)):
        rows = table["model"] == model
        for name in ("bias_a", "bias_b", "truth"):
            harm = least + rng.integers(0, 4, rows.sum())
            table.loc[rows, name] = 10 - harm if name == "truth" else harm
    folder = tmp_path_factory.mktemp("tolerance")
    observed = profiled(folder / "one", table)["profile"]["cvar"].sel(model="m2")
    weights = LIMITS.format(cvar=float(observed))
    return measured(folder / "two", table, roles=KIND, weights=weights)


def test_a_verdict_has_a_middle(results):
    group = results["tolerance"].to_dataset()
    assert group["threshold"].values.tolist() == ["cvar", "mean", "dimension bias", "category age"]
    verdicts = group["verdict"].sel(model=["m0", "m1", "m2"]).values.tolist()
    assert verdicts == ["admissible", "not admissible", "cannot tell"]
    assert group["state"].sel(model="m2").values.tolist()[0] == "cannot tell"
    assert group["state"].sel(model="m0").values.tolist() == ["admissible"] * 4


def test_bounds_are_one_sided_and_the_lower_ones_corrected(results):
    group = results["tolerance"].to_dataset()
    lower, upper = group["bounds"].sel(model="m2", threshold="mean")
    interval = results["profile_interval"]["mean"].sel(model="m2")
    # Four limits at 90%: the lower bound is at 97.5%, that of the study's 95% interval.
    np.testing.assert_allclose(lower, interval.sel(bound="lower"))
    assert float(upper) < float(interval.sel(bound="upper"))


def test_equal_prompts_keep_a_limit_only_beyond_what_they_can_miss(tmp_path):
    """Of 30 prompts without harm one in ten can be harmful: 1 - 0.05^(1/30) is 0.095."""
    table = frame(prompts=30)
    rows = table["model"] == "m0"
    table.loc[rows, ["bias_a", "bias_b", "truth"]] = 0, 0, 10
    limits = "[tolerance]\npolicy_score = {}\nmean = 2.0\nconfidence = 0.95\n"
    for limit, state in ((0.09, "cannot tell"), (0.1, "admissible")):
        weights = limits.format(limit)
        group = profiled(tmp_path / str(limit), table, weights=weights)["tolerance"].to_dataset()
        group = group.sel(model="m0")
        bounds = group["bounds"].sel(threshold="policy_score")
        np.testing.assert_allclose(bounds, [0.0, 1 - 0.05 ** (1 / 30)], atol=1e-6)
        assert group["state"].sel(threshold="policy_score").item() == state
        assert group["state"].sel(threshold="mean").item() == "cannot tell"
        assert group["verdict"].item() == "cannot tell"


@pytest.mark.parametrize(("population", "alike"), [("", 400), ("age = 0.5\nrace = 0.5\n", 80)])
def test_what_a_tail_can_miss_follows_from_the_prompts_that_weigh_most(tmp_path, population, alike):
    """Half of the population is of 40 prompts without harm: as if there were 80 of all 400.

    Where 7.2% of answers to such prompts are harmful, 40 show none in 5% of studies. 3.6% of the
    population are harmful then, most of a tail of 5%.
    """
    table = frame(prompts=400)
    of_age = table["prompt"].isin(sorted(set(table["prompt"]))[:40])
    table["kind"] = np.where(of_age, "age", "race")
    table.loc[table["model"] == "m0", ["bias_a", "bias_b", "truth"]] = 0, 0, 10
    weights = "[tolerance]\ncvar = 30.0\nconfidence = 0.95\n"
    if population:
        weights += f"[population.category]\n{population}"
    results = profiled(tmp_path / "one", table, roles=KIND, weights=weights)
    ceiling = -results["profile"].sizes["dimension"] * np.log(1e-6)
    share_of_tail = (1 - 0.05 ** (1 / alike)) / 0.05
    upper = results["tolerance"]["bounds"].sel(model="m0", threshold="cvar", bound="upper")
    np.testing.assert_allclose(upper, share_of_tail * ceiling, rtol=1e-4)
    assert (float(upper) < (1 - 0.05 ** (1 / 40)) / 2 / 0.05 * ceiling) == (alike == 400)


@pytest.mark.parametrize("ends", [0, 12])
def test_a_limit_on_a_tail_is_kept_only_beyond_ends_that_prompts_can_miss(tmp_path, ends):
    """Of 300 prompts that show no end 1% can have one (1 - 0.05^(1/300))."""
    table = frame(models=2, prompts=300)
    harms = np.random.default_rng(2).integers(0, 7, len(table))
    for name in ("bias_a", "bias_b"):
        table[name] = harms
    table["truth"] = 10 - harms
    at_end = (table["model"] == "m0") & (table["prompt"].isin(sorted(set(table["prompt"]))[:ends]))
    table.loc[at_end, "truth"] = 0
    share = (1 - 0.05 ** (1 / 300)) * (ends == 0)
    weights = "[tolerance]\ncvar = {}\nconfidence = 0.95\n"
    first = profiled(tmp_path / "one", table, weights=weights.format(5.0))["tolerance"]
    group = first.to_dataset().sel(model="m0", threshold="cvar")
    np.testing.assert_allclose(group["unseen_end_share"], share, rtol=1e-6)
    upper, rise = float(group["bounds"].sel(bound="upper")), float(group["unseen_end_rise"])
    # As large as that share allows, less what the bound for it falls short of that of 95%.
    assert 0.5 * share / 0.05 * np.log(1e6) <= rise <= share / 0.05 * np.log(1e6)
    for limit, state in ((upper + rise - 0.01, "cannot tell"), (upper + rise + 0.01, "admissible")):
        results = measured(tmp_path / state, table, weights=weights.format(limit))
        group = results["tolerance"].to_dataset().sel(model="m0", threshold="cvar")
        assert group["state"].item() == state
        told = [text for text in answer(results) if "would keep it" in text]
        assert bool(told) == (ends == 0 and state == "cannot tell")
        if told:
            needed = int(group["prompts_without_end"])
            assert 300 < needed < 304
            assert told[0].endswith(
                "would show that it is kept, if none of them leads to one either."
            )
            assert f"{needed} prompts that count alike" in told[0]


def test_a_category_is_measured_by_its_own_prompts(results):
    cvar = results["profile"]["category_cvar"].sel(tolerated_category="age")
    of_age = results["profile_category"]["cvar"].sel(category="age")
    np.testing.assert_allclose(cvar, of_age)
    np.testing.assert_allclose(
        results["tolerance"]["observed"].sel(threshold="category age"), of_age
    )


def test_the_answer_and_tables_say_the_three_verdicts(results):
    [sentence] = [text for text in answer(results) if "tolerance decided" in text]
    assert sentence == (
        "The tolerance decided, at 90% confidence: m0 keeps it; m1 exceeds it; of m2 the evidence "
        "cannot tell."
    )
    tables = {table.title: table for table in report_tables(results)}
    verdict = tables["Verdict on each model under the tolerance"]
    assert verdict.header == ("model", "by the bootstrap")
    assert verdict.rows == (
        *(("m0", "admissible"), ("m2", "cannot tell"), ("m1", "not admissible")),
    )
    limits = tables["The tolerance limit by limit"]
    columns = ("limit on", "limit", "observed", "ends add", "by the bootstrap")
    assert limits.header == ("model", *columns)
    assert [row[1] for row in limits.rows[:4]] == [
        *("CVaR of log-risk", "mean log-risk", "CVaR of harm, bias", "CVaR of log-risk, age"),
    ]


def test_a_short_tail_has_no_verdict_but_that_of_the_mean(results):
    """The same verdicts with evidence of a study of 40 prompts: its tail tells nothing."""
    evidence = results["evidence"].to_dataset()
    evidence = evidence.assign(tail_prompts=evidence["tail_prompts"] / 5)
    evidence = evidence.assign_attrs(carried="[]")
    group = restrict_verdicts(results["tolerance"].to_dataset(), evidence)
    verdicts = group["verdict"].sel(model=["m0", "m1", "m2"]).values.tolist()
    assert verdicts == ["cannot tell", "not admissible", "cannot tell"]
    state = group["state"].sel(model="m0")
    assert state.sel(threshold="mean").item() == "admissible"
    assert set(state.drop_sel(threshold="mean").values.tolist()) == {"cannot tell"}
    few = evidence.assign(prompts=evidence["prompts"] / 25)
    group = restrict_verdicts(results["tolerance"].to_dataset(), few)
    assert set(group["state"].values.ravel().tolist()) == {"cannot tell"}


CATEGORIES = "[tolerance.category]\nage = 30.0\nrace = 0.1\n"


def test_a_category_whose_prompts_do_not_tell_its_tail_is_never_kept(tmp_path):
    """All 150 prompts tell their tail, the 50 of a category do not tell its own."""
    table = frame(models=2, prompts=150)
    table["kind"] = np.where(table["prompt"].str[1:].astype(int) < 50, "age", "race")
    results = measured(tmp_path, table, roles=KIND, weights=CATEGORIES)
    assert "admissible" in json.loads(results["evidence"].attrs["carried"])
    group = results["tolerance"].to_dataset()
    age = group.sel(threshold="category age")
    assert (age["bounds"].sel(bound="upper") <= age["limit"]).all()
    assert not age["tells_tail"].any()
    assert set(age["state"].values.tolist()) == {"cannot tell"}
    # A lower bound beyond a limit shows what it did.
    assert set(group["state"].sel(threshold="category race").values.tolist()) == {"not admissible"}
    assert set(group["verdict"].values.tolist()) == {"not admissible"}
    told = "The prompts of age do not tell its tail: its limit is not called kept."
    assert told in json.loads(results["evidence"].attrs["remarks"])
    assert told in answer(results)


def test_a_fit_does_not_keep_the_limit_of_a_category_that_its_prompts_do_not_tell(results):
    """Of m0 and m1 the fit is sure of every limit; the prompts of m0 tell no tail of age."""
    carried = results["evidence"].to_dataset().assign_attrs(carried='["admissible"]')
    tolerance = results["tolerance"].to_dataset()
    is_of_m0 = (tolerance["model"] == "m0") & (tolerance["threshold"] == "category age")
    state = tolerance["state"].where(~is_of_m0, "cannot tell")
    tolerance = tolerance.assign(
        tells_tail=~is_of_m0,
        state=state,
        bounds=xr.zeros_like(tolerance["bounds"]),
        prob_within=xr.ones_like(tolerance["observed"]),
    )
    decision = tolerance[["verdict"]].where(False, "admissible")
    decided = restrict_decision(decision, tolerance, carried)
    verdicts = decided["verdict"].sel(model=["m0", "m1"]).values.tolist()
    assert verdicts == ["cannot tell", "admissible"]
    states = decided["state"].sel(model="m0").values.tolist()
    assert states == ["admissible", "admissible", "admissible", "cannot tell"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, ""),
        ({"unseen_end_rise": 2.0}, "no observed answer is at the end of the scale"),
        ({"bounds": 3.0}, "its observed answers do not show it"),
        ({"bounds": 3.0, "observed": 2.5}, "its observed value exceeds a limit"),
    ],
)
def test_a_fit_alone_does_not_keep_a_limit_on_log_risk(results, change, told):
    """It takes from other scores how rare answers at the end of the scale are."""
    evidence = results["evidence"].to_dataset().assign_attrs(carried='["admissible"]')
    tolerance = results["tolerance"].to_dataset()
    values = {"observed": 0.5, "bounds": 1.0, "unseen_end_rise": 0.5, "limit": 2.0} | change
    tolerance = tolerance.assign(
        {name: xr.full_like(tolerance[name], value) for name, value in values.items()}
    ).assign(prob_within=xr.ones_like(tolerance["observed"]))
    decision = tolerance[["verdict"]].where(False, "admissible")
    decision = decision.assign(prob_admissible=tolerance["prob_within"].isel(threshold=0))
    decided = restrict_decision(decision, tolerance, evidence)
    state = decided["state"].sel(model="m0", drop=True)
    verdicts = dict(zip(state["threshold"].values.tolist(), state.values.tolist(), strict=True))
    verdict = "cannot tell" if told else "admissible"
    raised = dict.fromkeys(("cvar", "mean", "category age"), verdict)
    assert verdicts == raised | {"dimension bias": "admissible"}
    assert decided["verdict"].sel(model="m0").item() == verdict
    view = View(xr.DataTree.from_dict({"/tolerance": tolerance, "/decision": decided}))
    sentences = list(fit_alone_sentences(view, ["m0"]))
    assert len(sentences) == bool(told)
    assert not told or sentences[0].startswith(f"By the fit m0 would keep it, but {told}")


@pytest.mark.parametrize(
    ("label", "relies"), [("policy_score", True), ("mean", True), ("dimension truth", False)]
)
def test_limits_that_severe_answers_exceed_rely_on_a_fit(results, label, relies):
    tolerance = results["tolerance"].to_dataset().sel(threshold=["mean"])
    tolerance = tolerance.assign_coords(threshold=[label])
    beyond = tolerance["bounds"] * 0.0 + tolerance["limit"] + 1.0
    of_models = relies_on_fit(tolerance.assign(bounds=beyond.transpose(*tolerance["bounds"].dims)))
    assert of_models.values.tolist() == [[relies]] * tolerance.sizes["model"]
    within = tolerance.assign(bounds=tolerance["bounds"] * 0.0 - 1.0)
    assert not relies_on_fit(within).any()


def test_own_prompts_are_no_reason_where_a_category_does_not_tell_its_tail(tmp_path):
    table = frame(models=2, prompts=150)
    table["kind"] = np.where(table["prompt"].str[1:].astype(int) < 50, "age", "race")
    weights = "[tolerance.category]\nage = 30.0\n"
    sentences = answer(measured(tmp_path, table, roles=KIND, weights=weights))
    [verdict] = [text for text in sentences if text.startswith("The tolerance decided")]
    assert verdict.endswith("confidence: of m0 and m1 the evidence cannot tell.")
    assert not any("own prompts" in text for text in sentences)


def test_a_fit_decides_limits_of_means_where_the_tail_tells_nothing(results):
    """m2 keeps no limit of the mean by the fit; what it says of tails does not count."""
    evidence = results["evidence"].to_dataset()
    evidence = evidence.assign(tail_prompts=evidence["tail_prompts"] / 5)
    evidence = evidence.assign_attrs(carried="[]")
    tolerance = results["tolerance"].to_dataset()
    chance = xr.ones_like(tolerance["limit"] * tolerance["observed"])
    chance.loc[{"model": "m2", "threshold": "mean"}] = 0.04
    chance.loc[{"model": "m0", "threshold": "cvar"}] = 0.0
    decision = tolerance[["verdict"]].copy()
    decided = restrict_decision(decision, tolerance.assign(prob_within=chance), evidence)
    verdicts = decided["verdict"].sel(model=["m0", "m1", "m2"]).values.tolist()
    assert verdicts == ["cannot tell", "not admissible", "not admissible"]
    # Of a tail the bootstrap shows what it did; a limit of the mean is that of the fit.
    assert decided["state"].sel(model="m2", threshold="mean").item() == "not admissible"
    assert decided["state"].sel(model="m0", threshold="cvar").item() == "cannot tell"
    plain = restrict_decision(decision, tolerance, evidence)
    assert plain["verdict"].sel(model="m2").item() == "cannot tell"
    assert "state" not in plain
    told = results["evidence"].to_dataset().assign_attrs(carried='["admissible"]')
    xr.testing.assert_identical(restrict_decision(decision, tolerance, told), decision)
    by_fit = restrict_decision(decision, tolerance.assign(prob_within=chance), told)
    assert by_fit["verdict"].equals(decision["verdict"])
    assert by_fit["state"].sel(model="m0", threshold="cvar").item() == "not admissible"


@pytest.mark.usefixtures("without_figures")
def test_the_page_shows_every_limit_and_who_approved(results):
    text = page_text(results)
    limits = ", ".join(f"{name} {value:g}" for name, value in spec_of(results).limits.items())
    assert f"<dt>Tolerance</dt><dd>{limits}</dd>" in text
    assert "<dt>Approved by</dt><dd>The &lt;board&gt;</dd>" in text
    assert "<dt>Valid until</dt><dd>2020-03-31</dd>" in text
    assert (
        "The weights were valid until 2020-03-31: nobody has approved this decision since" in text
    )
    left_out = "these limits of the study are left out: mean, dimension bias, category age"
    assert left_out in text
    # What a reader sets by hand was approved by nobody.
    by_hand = weights_by_hand(results)
    assert "approved_by" not in by_hand.data["toml"]
    assert "valid_until" not in by_hand.data["toml"]


def spec_of(results):
    """The tolerance of results."""
    return Tolerance.model_validate(read_weights(results)["tolerance"])


def test_draws_keep_a_tolerance_one_by_one():
    profile = xr.Dataset(
        {
            "cvar": (("draw", "model"), [[1.0, 3.0], [2.0, 1.0]]),
            "mean": (("draw", "model"), [[1.0, 1.0], [np.nan, 1.0]]),
        },
        {"model": ["a", "b"]},
    )
    kept = keeps_tolerance(profile, Tolerance(cvar=2.0, mean=1.5))
    assert kept.transpose("draw", "model").values.tolist() == [[True, False], [False, True]]


def test_names_that_the_study_lacks_are_refused(tmp_path):
    weights = "[tolerance.dimension]\nbiass = 0.5\n[tolerance.category]\nage = 3.0\n"
    with pytest.raises(SpecError) as error:
        files_of(tmp_path, frame(), weights=weights)
    path = tmp_path / "weights.toml"
    assert str(error.value) == (
        f"{path}:4: tolerance.dimension.biass: no dimension 'biass', declared are bias, epistemic; "
        "did you mean 'bias'?\n"
        f"{path}:5: tolerance.category: limits of prompt categories need a role `category` in the "
        "study"
    )
    limits = "[tolerance.category]\nagee = 3.0\n"
    with pytest.raises(DataError) as missing:
        check(files_of(tmp_path, frame(), roles=KIND, weights=limits))
    with pytest.raises(DataError, match="no prompt has the category 'agee'"):
        profiled(tmp_path, frame(), roles=KIND, weights=limits)
    assert str(missing.value) == (
        f"{path}:4: tolerance.category.agee: no prompt has the category 'agee', there are age, "
        "race; did you mean 'age'?"
    )


def test_check_names_shares_and_limits_of_categories_that_are_not_there(tmp_path):
    weights = "[population.category]\nage = 0.5\nlaw = 0.5\n[tolerance.category]\nlaw = 3.0\n"
    path = tmp_path / "weights.toml"
    with pytest.raises(DataError) as raised:
        check(files_of(tmp_path, frame(), roles=KIND, weights=weights))
    assert str(raised.value) == (
        f"{path}:3: population.category: no prompt has the category 'law', there are age, race\n"
        f"{path}:3: population.category: no share of 'race'; every category in the data needs one\n"
        f"{path}:7: tolerance.category.law: no prompt has the category 'law', there are age, race"
    )


def test_the_plan_of_a_category_is_made_once(tmp_path, monkeypatch):
    names, of_category = [], ProfilePlan.of_category
    monkeypatch.setattr(
        ProfilePlan,
        "of_category",
        lambda self, name: (names.append(name), of_category(self, name))[1],
    )
    profiled(tmp_path, frame(prompts=30), roles=KIND, weights=LIMITS.format(cvar=30.0))
    assert names == ["age"]

"""A candidate against its reference: which prompts and judges count, and what the verdict is."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import norm
from typer.testing import CliRunner

from sharpbayes.analysis.gate_margins import compared_metrics
from sharpbayes.cli.commands import app
from sharpbayes.errors import SpecError, StorageError
from sharpbayes.library import find
from sharpbayes.metrics.panel.non_inferiority import (
    difference_bounds,
    gate_verdict,
    operating_characteristics,
    upper_difference_bounds,
)
from sharpbayes.posterior.gate import posterior_gate
from sharpbayes.report.gate import gate_answer, gate_document
from sharpbayes.report.gate_files import gate_junit, gate_markdown
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.report.tables.format import number
from sharpbayes.spec.load import load, reload_study
from sharpbayes.spec.model import Model
from sharpbayes.spec.weights import Gate
from sharpbayes.storage.results import save_results
from sharpbayes.workflows.gate import gate
from tests.panels import frame, measured, unmeasured

MARGINS = "[gate]\nmean = 0.8\npolicy_score = 0.1\n"
SCORES = ["bias_a", "bias_b", "truth"]


def release(seed, *, worse=0, prompts=60, judges=("ann", "bob", "cat"), model="new"):
    """Ratings of one model; those of one seed are alike but for ``worse``, and ``new`` answers.

    Of these the first six prompts have each other's scores, so that not all are those of a copy.
    """
    table = frame(models=1, prompts=prompts, judges=judges, seed=seed).assign(model=model)
    rng = np.random.default_rng(seed)
    base = rng.integers(2, 5, prompts).repeat(len(judges)) + rng.integers(0, 2, len(table))
    if model == "new":
        first = slice(0, 6 * len(judges))
        base[first] = np.roll(base[first], len(judges))
    for name in SCORES:
        harm = np.minimum(base + worse, 10)
        table[name] = 10 - harm if name == "truth" else harm
    return table


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Keep ratings once for each name, with metrics of their own where a test reads them."""
    known = {}

    def results(name, table=None, weights=MARGINS, make=unmeasured, **parts):
        if name not in known:
            known[name] = make(tmp_path_factory.mktemp(name), table, weights=weights, **parts)
        return known[name]

    return results


@pytest.fixture(scope="module")
def old(store):
    return store("old", release(1, model="old"))


@pytest.fixture(scope="module")
def compare_once(store, old):
    """Give the gate of a release against the old one, asked once; tests change copies of it."""
    asked = {}

    def compare(name, **parts):
        if name not in asked:
            asked[name] = gate(store(name, release(1, **parts)), old)
        return asked[name].copy(deep=True)

    return compare


def test_an_unchanged_release_passes_and_a_worse_one_does_not(compare_once):
    same = compare_once("same")
    assert same["gate"].attrs["verdict"] == "at least as safe"
    np.testing.assert_allclose(same["gate"]["difference"], 0.0, atol=1e-12)
    worse = compare_once("worse", worse=4)
    assert worse["gate"].attrs["verdict"] == "not as safe"
    assert float(worse["gate"]["difference"].sel(metric="mean")) > 0.5
    answer = gate_answer(worse)
    assert answer[0].startswith("new is not as safe as old, at 95% confidence: mean log-risk ")
    assert answer[2:5] == [
        "60 prompts, the same for both, paired.",
        "The same 3 judges scored both: ann, bob, cat.",
        "Whether judges have become stricter is not measured: the candidate's study has no answers "
        "of old judged again.",
    ]


@pytest.mark.parametrize(
    ("bounds", "text"),
    [([0.01, 0.04], "0.03 (0.01 to 0.04)"), ([0.004, 0.05], "0.030 (0.004 to 0.050)")],
)
def test_a_candidate_that_passes_and_is_worse_within_the_margins_is_called_worse(
    compare_once, bounds, text
):
    results = compare_once("same")
    assert "worse" not in gate_answer(results)[0]
    assert gate_document(results)["worse_within_margins"] == []
    assert ET.fromstring(gate_junit(results)).find("testcase/system-out") is None
    group = results["gate"].to_dataset().copy(deep=True)
    for name, value in (("bounds", bounds), ("difference", 0.03)):
        group[name].loc[{"metric": "policy_score"}] = value
    results["gate"] = xr.DataTree(group)
    sentence = (
        "new is at least as safe as old, by the margins declared, at 95% confidence; it is worse "
        f"than old by less than the margins: policy score {text}."
    )
    assert gate_answer(results)[0] == sentence
    assert f"\u2705 {sentence}" in gate_markdown(results)
    assert gate_document(results)["worse_within_margins"] == ["policy_score"]
    suite = ET.fromstring(gate_junit(results))
    cases = {case.attrib["name"]: case.findtext("system-out") for case in suite.iter("testcase")}
    assert cases["verdict"] == sentence
    assert cases["policy score"].startswith("policy score differs by 0.03")
    assert cases["mean log-risk"] is None


def test_the_difference_is_that_of_the_profiles(store):
    old = store("measured old", release(1, model="old"), make=measured)
    new = store("measured worse", release(1, worse=4), make=measured)
    group = gate(new, old)["gate"].to_dataset()
    for name in ("mean", "policy_score"):
        expected = float(new["profile"][name][0] - old["profile"][name][0])
        assert float(group["difference"].sel(metric=name)) == pytest.approx(expected)
        value = float(group["value"].sel(side="candidate", metric=name))
        assert value == pytest.approx(float(new["profile"][name][0]))


def test_prompts_of_one_study_alone_are_left_out_and_said(store, old):
    table = release(1)
    table["prompt"] = [f"q{p[1:]}" if int(p[1:]) < 30 else p for p in table["prompt"]]
    results = gate(store("replaced", table), old)
    attrs = results["gate"].attrs
    assert [attrs[f"{x}_prompts"] for x in ("shared", "candidate", "reference")] == [30, 30, 30]
    assert gate_answer(results)[2] == (
        "30 shared prompts, paired; 30 prompts of the candidate and 30 of the reference have no "
        "counterpart and are left out."
    )
    np.testing.assert_allclose(results["gate"]["difference"], 0.0, atol=1e-12)


def test_with_few_shared_prompts_all_are_compared(store, old):
    table = release(1)
    table["prompt"] = [f"q{p[1:]}" if int(p[1:]) < 50 else p for p in table["prompt"]]
    results = gate(store("few", table), old)
    assert gate_answer(results)[2] == (
        "10 shared prompts; 50 prompts of the candidate and 50 of the reference have no "
        "counterpart, and all are compared, as samples of the same kind of prompts."
    )


def test_of_samples_the_answers_that_nobody_scored_are_counted(store, old):
    table = release(1)
    table["prompt"] = [f"q{p[1:]}" for p in table["prompt"]]
    table.loc[table["prompt"] >= "q57", SCORES] = np.nan
    results = gate(store("unscored", table, make=measured), old)
    assert gate_answer(results)[2] == (
        "0 shared prompts; 57 prompts of the candidate and 60 of the reference have no "
        "counterpart, and all are compared, as samples of the same kind of prompts. 3 answers of "
        "the candidate have no score by any judge; if that is because answers are bad, this gate "
        "does not see it."
    )
    one = results.copy()
    one["gate"].attrs["candidate_unscored"] = 1
    assert "prompts. 1 answer of the candidate has no score by any judge; if" in gate_answer(one)[2]


def test_judges_that_changed_are_left_out_without_anchors(store, old):
    table = release(1, judges=("ann", "bob", "dee"))
    table.loc[table["judge"] == "dee", SCORES[:2]] = 10
    results = gate(store("judges", table), old)
    assert gate_answer(results)[3] == (
        "Judges of both: ann, bob. Judges of the candidate alone: dee; of the reference alone: "
        "cat; they are left out."
    )
    assert results["gate"]["difference_without"].sizes["judge_out"] == 2


def test_without_a_judge_of_both_and_anchors_nothing_is_compared(store, old):
    other = store("others", release(1, judges=("dee", "eve")))
    with pytest.raises(SpecError) as error:
        gate(other, old)
    assert str(error.value) == (
        "gate: no judge scored both: dee, eve scored candidate, ann, bob, cat scored reference; "
        "let the judges of the first score answers of the reference again, in the same study, as "
        "anchors"
    )


def test_anchors_measure_what_judges_score_higher(store, old):
    stricter = release(1, worse=3, judges=("dee", "eve", "fay"))
    anchors = release(1, worse=3, judges=("dee", "eve", "fay"), model="old")
    table = pd.concat([stricter, anchors[anchors["prompt"] < "p40"]])
    results = gate(store("anchored", table), old, model="new")
    group = results["gate"].to_dataset()
    assert group.attrs["anchors"] == 40
    assert float(group["drift"].sel(metric="mean")) > 0.2
    naive = group["value"].sel(side="candidate") - group["value"].sel(side="reference")
    np.testing.assert_allclose(group["difference"], naive - group["drift"])
    assert group.attrs["verdict"] == "at least as safe"
    assert gate_answer(results)[4].startswith("Judges score 40 answers of old ")
    assert "higher in mean log-risk" in gate_answer(results)[4]
    results["gate"]["drift"][:] = -0.71
    assert "40 answers of old 0.71 lower in mean log-risk" in gate_answer(results)[4]


def test_what_is_missing_is_said(store, old):
    plain = store("plain", release(2), weights="")
    margins = (
        "these weights declare no margins; add the table `[gate]` to a copy of them, with lines "
        "such as `mean = 0.5` and `policy_score = 0.05`, and name the copy by --weights"
    )
    with pytest.raises(
        SpecError,
        match=re.escape(f"gate: {margins}"),
    ):
        gate(plain, old)
    with pytest.raises(SpecError) as error:
        gate(store("same", release(1)), old, model="newer")
    assert str(error.value) == (
        "candidate: --model: no model 'newer', there are new; did you mean 'new'?"
    )
    with pytest.raises(SpecError) as error:
        gate(old)
    assert str(error.value) == (
        "candidate: --against-model: 'old' is the candidate already; name another model of this "
        "study, or the file of the reference by --against"
    )
    opened = old.copy()
    opened.encoding["source"] = "releases/old.nc"
    with pytest.raises(SpecError, match=r"^releases/old.nc: --against-model: 'old' is the cand"):
        gate(opened)
    bare = old.copy()
    del bare["ratings"]
    with pytest.raises(StorageError, match="reference: these results hold no ratings"):
        gate(store("same", release(1)), bare)


def test_a_bad_reference_is_reported_under_its_own_title(store, old):
    spoiled = old.copy()
    spoiled.attrs["title"] = "Last year"
    spoiled["ratings"] = old["ratings"].to_dataset().drop_vars("score")
    with pytest.raises(StorageError) as error:
        gate(store("same", release(1)), spoiled)
    assert str(error.value).startswith(
        "results of 'Last year': a part is missing or has another form (KeyError: "
    )


def test_only_what_margins_are_about_is_computed():
    labels = ["mean", "dimension bias", "worst_dimension"]
    margin = xr.DataArray([0.5, 0.1, 0.1], {"metric": labels}, "metric")
    assert compared_metrics(margin) == {"mean", "dimension_cvar"}


def test_bounds_are_wider_with_fewer_prompts_in_the_tail():
    rng = np.random.default_rng(1)
    x = xr.DataArray(rng.normal(size=(2000, 1)), dims=("replicate", "metric"))
    d = xr.DataArray([0.0], dims="metric")
    few, many = (difference_bounds(d, x, confidence=0.95, freedom=n) for n in (3.0, np.inf))
    assert float(few[0, 1]) > float(many[0, 1]) == pytest.approx(1.645, abs=0.1)
    missing = few.where(few["bound"] == "lower")
    assert gate_verdict(missing, d + 1.0) == "not decided"


def test_bounds_of_a_tail_know_that_its_error_varies():
    rng = np.random.default_rng(1)
    x = xr.DataArray(rng.normal(size=(2000, 2)), dims=("replicate", "metric"))
    d, error = xr.DataArray([0.0, 0.0], dims="metric"), xr.DataArray([1.0, np.nan], dims="metric")
    # Resamples with small differences are those that missed the tail, and their error is small.
    errors = abs(x) * [0.2, np.nan]
    given = {"confidence": 0.95, "freedom": np.inf}
    plain = difference_bounds(d, x, **given)
    bounds = difference_bounds(d, x, **given, errors=errors, error=error)
    # |x - d| / errors is 5 everywhere, and the scale is 1.
    np.testing.assert_allclose(bounds[0, 1], 5.0, rtol=0.05)
    np.testing.assert_allclose(bounds[0, 0], -bounds[0, 1], rtol=0.05)
    xr.testing.assert_allclose(bounds[1], plain[1])


def test_upper_bounds_at_an_error_rate_are_those_of_its_confidence():
    rng = np.random.default_rng(1)
    x = xr.DataArray(rng.normal(size=(2000, 1)), dims=("replicate", "metric"))
    d = xr.DataArray([0.0], dims="metric")
    rates = xr.DataArray([0.05, 0.5, 0.8], {"error_rate": [0.05, 0.5, 0.8]}, "error_rate")
    upper = upper_difference_bounds(d, x, rates, freedom=5.0)
    bounds = [difference_bounds(d, x, confidence=level, freedom=5.0) for level in (0.95, 0.8)]
    assert float(upper[0, 0]) == pytest.approx(float(bounds[0][0, 1]))
    assert float(upper[1, 0]) == pytest.approx(0.0, abs=0.05)
    assert float(upper[2, 0]) == pytest.approx(float(bounds[1][0, 0]))


def test_margins_on_tails_have_errors(store, old):
    results = store(
        "tails", release(1, worse=1), "[gate]\nmean = 0.5\ncvar = 0.5\nworst_dimension = 0.1\n"
    )
    group = gate(results, old)["gate"].to_dataset()
    assert np.isfinite(group["bounds"]).all()


@pytest.mark.parametrize(("metric", "height"), [("mean", -np.log(1e-6)), ("policy_score", 1.0)])
def test_margins_on_means_hold_whatever_ends_are_unseen(store, old, metric, height):
    """By hand: the largest bound over shares of prompts with an answer at the end of the scale."""
    margins = "[gate]\nmean = 0.8\ncvar = 30.0\npolicy_score = 0.1\n"
    group = gate(store("unseen ends", release(1), margins), old)["gate"].to_dataset()
    assert group.attrs["unseen_end_share"] == pytest.approx(1 - 0.05 ** (1 / 60))
    upper, rise = group["bounds"].sel(bound="upper"), group["unseen_end_rise"]
    # An unchanged release: bounds of differences are symmetric about 0.
    seen = float((upper - rise).sel(metric=metric))
    shares = np.linspace(0.0, 1 - 0.05 ** (1 / 60), 500)[:-1]
    errors = 0.05 / (1 - shares) ** 60
    by_hand = (height * shares + seen * norm.isf(errors) / norm.isf(0.05)).max()
    assert float(upper.sel(metric=metric)) == pytest.approx(by_hand, rel=0.05)
    assert float(rise.sel(metric="cvar")) > 5 * float(rise.sel(metric="mean")) > 0


@pytest.mark.parametrize(("margin", "verdict"), [(0.4, "not decided"), (0.8, "at least as safe")])
def test_ends_that_no_answer_showed_are_said_where_they_keep_a_margin_open(
    store, old, margin, verdict
):
    weights = f"[gate]\nmean = {margin}\n"
    results = gate(store(f"unseen mean {margin}", release(1), weights), old)
    group = results["gate"].to_dataset()
    assert group.attrs["verdict"] == verdict
    needed = float(group["prompts_to_decide"].item())
    assert (needed > 60) == (verdict == "not decided")
    # With as many prompts the bound is on the margin.
    ratio = 60 / needed
    share = 1 - (1 - group.attrs["unseen_end_share"]) ** ratio
    shares = np.linspace(0.0, share, 500)[:-1]
    seen = float((group["bounds"].sel(bound="upper") - group["unseen_end_rise"]).item())
    errors = 0.05 / (1 - shares) ** needed
    reach = seen * ratio**0.5 * norm.isf(errors) / norm.isf(0.05)
    assert (-np.log(1e-6) * shares + reach).max() == pytest.approx(margin, rel=0.05)
    sentence = (
        "By the answers seen, mean log-risk would be within its margin. None of those of new is at "
        "the end of the scale by all of its judges. 60 prompts can show none although up to 4.9% "
        "of all prompts lead to one (at 95% confidence), and with these the candidate may be "
        "beyond its margin."
    )
    assert (sentence in gate_answer(results)) == (verdict == "not decided")


def test_a_posterior_does_not_say_how_rare_ends_are_that_no_answer_showed(store):
    """Its draws are within the margin with certainty, and not with what prompts can miss."""
    results = measured_pair(store)
    names = {"model": "new", "against_model": "old"}
    profile, _ = shifted_profile(0.0)
    for margin, verdict in ((0.4, "not decided"), (0.8, "at least as safe")):
        weights = margins_of(results, mean=margin, policy_score=0.3)
        measured_group = gate(results, weights=weights, **names)["gate"].to_dataset()
        for metric in ("mean", "policy_score"):
            measured_group["difference"].loc[{"metric": metric}] = 0.0
        group = posterior_gate(measured_group, profile, weights, candidate="new", reference="old")
        assert float(group["prob_within"].sel(metric="mean")) > 0.99
        assert (group.attrs["verdict"], group["state"].sel(metric="mean").item()) == (verdict,) * 2
        assert float(group["prompts_to_decide"].sel(metric="policy_score")) == 20
        assert (float(group["prompts_to_decide"].sel(metric="mean")) > 60) == (margin == 0.4)
        said = " ".join(gate_answer(gate_tree(group, results)))
        assert ("By the answers seen, mean log-risk would be within" in said) == (margin == 0.4)
        assert "By the fit" not in said


@pytest.mark.parametrize(
    ("metric", "wide", "verdict"),
    [
        ("mean", 0.6, "not decided"),
        ("mean", np.nan, "not decided"),
        ("mean", 0.4, "at least as safe"),
        ("policy_score", 0.6, "not decided"),
        ("policy_score", 0.08, "at least as safe"),
    ],
)
def test_what_ends_raise_must_be_within_its_margin_by_the_bootstrap_too(
    store, monkeypatch, metric, wide, verdict
):
    """The fit is sure of both margins, and takes from other scores how rare severe answers are."""
    results = measured_pair(store)
    measured_group = gate(results, model="new", against_model="old")["gate"].to_dataset()
    profile, _ = shifted_profile(0.0)
    for name in ("mean", "policy_score"):
        measured_group["difference"].loc[{"metric": name}] = 0.0
        reach = wide if name == metric else 0.05
        measured_group["bounds"].loc[{"metric": name}] = [-reach, reach]
    measured_group["unseen_end_rise"] *= 0.0
    measured_group["margin"].loc[{"metric": "mean"}] = 0.5
    weights = margins_of(results, mean=0.5, policy_score=0.1)
    group = posterior_gate(measured_group, profile, weights, candidate="new", reference="old")
    assert group.attrs["verdict"] == verdict
    assert group["state"].sel(metric=metric).item() == verdict
    assert float(group["prob_within"].min()) > 0.95
    shares = group["outcome_share"]
    np.testing.assert_allclose(shares.sum("outcome"), 1.0)
    monkeypatch.setattr("sharpbayes.posterior.gate.is_raised_by_ends", lambda labels: labels == "")
    by_fit = posterior_gate(measured_group, profile, weights, candidate="new", reference="old")
    for of_gate in (measured_group, by_fit):
        most = of_gate["outcome_share"].sel(outcome="at least as safe")
        assert bool((shares.sel(outcome="at least as safe") <= most + 1e-12).all())
    name, margin = {"mean": ("mean log-risk", 0.5), "policy_score": ("policy score", 0.1)}[metric]
    sentence = (
        f"By the fit, {name} (upper bound {number(wide, 2)}, margin {number(margin, 2)}) would be "
        "within its margin, but the resamples of observed answers do not show it."
    )
    assert (sentence in gate_answer(gate_tree(group, results))) == (verdict == "not decided")


@pytest.mark.parametrize(("by_bootstrap", "verdict"), [(3.0, "not as safe"), (0.45, "not decided")])
def test_a_no_of_both_stands_although_they_dispute_by_how_much(store, by_bootstrap, verdict):
    """The posterior has 1 with bounds of 0.23 and a margin of 0.5."""
    results = measured_pair(store)
    measured_group = gate(results, model="new", against_model="old")["gate"].to_dataset()
    measured_group["unseen_end_rise"] *= 0.0
    measured_group["margin"].loc[{"metric": "mean"}] = 0.5
    for metric, value in (("mean", by_bootstrap), ("policy_score", 0.1)):
        measured_group["difference"].loc[{"metric": metric}] = value
        measured_group["bounds"].loc[{"metric": metric}] = [value - 0.2, value + 0.2]
    beyond = by_bootstrap - 0.2 > 0.5
    measured_group["state"].loc[{"metric": "mean"}] = "not as safe" if beyond else "not decided"
    measured_group.attrs["verdict"] = "not as safe" if beyond else "not decided"
    profile, _ = shifted_profile(1.0)
    weights = margins_of(results, mean=0.5, policy_score=0.1)
    group = posterior_gate(measured_group, profile, weights, candidate="new", reference="old")
    assert json.loads(group.attrs["disputed"]) == ["mean"]
    assert group.attrs["verdict"] == verdict
    assert group["state"].sel(metric="mean").item() == verdict
    said = " ".join(gate_answer(gate_tree(group, results)))
    assert ("By both the candidate is not as safe." in said) == beyond
    assert ("Nothing is decided until" in said) != beyond


def gate_tree(group, results):
    """Results of a gate of one fit."""
    facts = {name: results.attrs[name] for name in ("weights", "weights_path", "study")}
    names = {"candidate": "new", "reference": "old"}
    tree = xr.DataTree.from_dict({"/gate": group.assign_attrs(names)})
    tree.attrs = facts | {"title": "new against old"}
    return tree


def margins_of(results, **margins):
    """The weights of results with other margins."""
    weights = reload_study(results.attrs).weights
    return replace(weights, spec=weights.spec.model_copy(update={"gate": Gate(**margins)}))


def test_an_answer_at_the_end_of_the_scale_is_in_the_tail_already(store, old):
    table = release(1)
    table.loc[table["prompt"] == table["prompt"].iloc[0], SCORES] = [10, 10, 0]
    results = gate(store("seen", table, "[gate]\ncvar = 500.0\n"), old)
    # The one answer at the end is the tail of nearly all resamples, whose errors are nothing:
    # their bounds are as far out as two models can differ.
    ceiling = -2 * np.log(1e-6)
    np.testing.assert_allclose(results["gate"]["bounds"], [[-ceiling, ceiling]])
    assert results["gate"].attrs["unseen_end_share"] == 0.0
    assert float(results["gate"]["unseen_end_rise"].item()) == 0.0
    assert not [text for text in gate_answer(results) if text.startswith("By the answers seen")]


def test_a_gate_of_known_power():
    # Errors are standard normal, bounds 1.645 away: power of a z test, at margins of 3.
    rng = np.random.default_rng(1)
    x = xr.DataArray(rng.normal(size=(20_000, 1)), dims=("replicate", "metric"))
    d = xr.DataArray([0.0], dims="metric")
    bounds = difference_bounds(d, x, confidence=0.95, freedom=np.inf)
    table = operating_characteristics(d, x, bounds, d + 3.0, regression=2.0)
    no_change, at_margin, regressed = table["outcome_share"].to_numpy()
    np.testing.assert_allclose(no_change, [0.912, 0.088, 0.0], atol=0.01)
    np.testing.assert_allclose(at_margin, [0.05, 0.90, 0.05], atol=0.01)
    np.testing.assert_allclose(regressed, [0.0, 0.088, 0.912], atol=0.01)
    np.testing.assert_allclose(table["power"], [1.0], atol=0.001)


@pytest.mark.parametrize(
    ("shift", "verdict"),
    [(0.0, "at least as safe"), (0.45, "not decided"), (2.0, "not as safe")],
)
def test_the_posterior_of_one_fit_decides_by_its_probability(store, old, shift, verdict):
    results = measured_pair(store)
    measured_group = gate(results, model="new", against_model="old")["gate"].to_dataset()
    profile, draws = shifted_profile(shift)
    scale = xr.DataArray([1.0, 0.1], measured_group["metric"].coords, "metric")
    agreeing = shift * scale
    measured_group["difference"] = agreeing
    spread = xr.DataArray([-0.4, 0.4], measured_group["bound"].coords, "bound")
    measured_group["bounds"] = (agreeing + spread * scale).transpose("metric", "bound")
    measured_group["margin"].loc[{"metric": "mean"}] = 0.5
    measured_group["unseen_end_rise"] *= 0.0
    weights = margins_of(results, mean=0.5, policy_score=0.1)
    names = {"candidate": "new", "reference": "old"}
    group = posterior_gate(measured_group, profile, weights, **names)
    assert group.attrs["verdict"] == verdict
    assert group.attrs["disputed"] == "[]"
    # So many prompts as were compared, of which two studies may share none.
    assert measured_group.attrs["prompts"] == 60
    apart = measured_group.assign_attrs(shared_prompts=0)
    needed = posterior_gate(apart, profile, weights, **names)["prompts_to_decide"]
    xr.testing.assert_equal(needed, group["prompts_to_decide"])
    within = (draws[..., 0] - draws[..., 1] <= 0.5).mean()
    assert float(group["prob_within"].sel(metric="mean")) == pytest.approx(within)
    assert group.attrs["prob_all"] <= within


def shifted_profile(shift):
    """A posterior profile of which the new model is higher, and its draws."""
    draws = np.random.default_rng(1).normal(0, 0.1, (2, 200, 2)) + np.array([shift, 0.0])
    variables = {
        name: (("chain", "draw", "model"), draws * scale)
        for name, scale in (("mean", 1.0), ("policy_score", 0.1))
    }
    return xr.Dataset(variables, {"model": ["new", "old"]}), draws


@pytest.mark.parametrize(
    ("centre", "width", "disputed"),
    [(0.0, 0.4, "[]"), (0.3, 0.4, '["mean"]'), (-0.1, 0.05, '["mean"]')],
)
def test_a_difference_that_the_bootstrap_disputes_decides_nothing(store, centre, width, disputed):
    """The posterior has 0 with bounds of 0.23: it disputes a centre of 0.3, bounds of -0.15."""
    results = measured_pair(store)
    measured_group = gate(results, model="new", against_model="old")["gate"].to_dataset()
    for metric in ("mean", "policy_score"):
        value, reach = (centre, width) if metric == "mean" else (0.0, 0.05)
        measured_group["difference"].loc[{"metric": metric}] = value
        measured_group["bounds"].loc[{"metric": metric}] = [value - reach, value + reach]
    profile, _ = shifted_profile(0.0)
    measured_group["unseen_end_rise"] *= 0.0
    weights = margins_of(results, mean=0.5, policy_score=0.1)
    names = {"candidate": "new", "reference": "old"}
    group = posterior_gate(measured_group, profile, weights, **names)
    assert group.attrs["disputed"] == disputed
    decided = disputed == "[]"
    assert group.attrs["verdict"] == ("at least as safe" if decided else "not decided")
    assert (str(group["state"].sel(metric="mean").item()) == "at least as safe") == decided
    assert str(group["state"].sel(metric="policy_score").item()) == "at least as safe"
    said = " ".join(gate_answer(gate_tree(group, results)))
    assert gate_document(gate_tree(group, results))["disputed"] == json.loads(disputed)
    sentence = (
        "Posterior and bootstrap contradict each other on the difference of mean log-risk "
        f"({number(group['difference'].sel(metric='mean'), 2)} by the posterior, "
        f"{number(centre, 2)} by the bootstrap): one lies outside the other's bounds. Nothing is "
        "decided until a fit agrees with the ratings, or more prompts do."
    )
    assert (sentence in said) == (not decided)
    assert decided or "would decide" not in said


def test_a_side_without_a_value_decides_nothing(store, old):
    results = measured_pair(store)
    measured_group = gate(results, model="new", against_model="old")["gate"]
    draws = np.zeros((2, 200, 2)) + np.array([np.nan, 0.0])
    names = ("mean", "policy_score")
    variables = dict.fromkeys(names, (("chain", "draw", "model"), draws))
    profile = xr.Dataset(variables, {"model": ["new", "old"]})
    weights = margins_of(results, mean=0.5, policy_score=0.1)
    group = posterior_gate(
        measured_group.to_dataset(), profile, weights, candidate="new", reference="old"
    )
    assert group.attrs["verdict"] == "not decided"
    assert np.isnan(group.attrs["prob_all"])
    assert np.isnan(group["prob_within"]).all()


def test_margins_are_named_by_their_file(old, tmp_path, store):
    path = tmp_path / "release.toml"
    path.write_text(str(old.attrs["weights"]), encoding="utf-8")
    named = gate(store("same", release(1, worse=0)), old, weights=path)
    assert str(named.attrs["weights_path"]) == str(path)


def measured_pair(store):
    """Both models in one study."""
    return store("pair", pd.concat([release(1), release(1, model="old")]))


def test_the_command_exits_by_the_verdict_and_writes_what_servers_read(store, old, tmp_path):
    save_results(old, tmp_path / "old.nc")
    for name, worse, status in (("same", 0, 0), ("worse", 4, 6)):
        save_results(store(name, release(1, worse=worse)), tmp_path / f"{name}.nc")
        files = {"--markdown": tmp_path / "gate.md", "--junit": tmp_path / "gate.xml"}
        asked = ["gate", str(tmp_path / f"{name}.nc"), "--against", str(tmp_path / "old.nc")]
        asked += [str(x) for pair in files.items() for x in pair]
        done = CliRunner().invoke(app, asked)
        assert done.exit_code == status, done.stderr
        assert max(map(len, done.stdout.splitlines())) <= 80
        suite = ET.fromstring(files["--junit"].read_text("utf-8"))
        assert suite.attrib["tests"] == "3"
        assert (int(suite.attrib["failures"]) > 0) == (status == 6)
        [verdict] = [case for case in suite.iter("testcase") if case.attrib["name"] == "verdict"]
        assert (verdict.find("failure") is not None) == (status == 6)
    start = "<!-- sharpbayes gate -->\n### \u274c new is not as safe as old"
    assert files["--markdown"].read_text("utf-8").startswith(start)
    document = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)
    assert document["verdict"] == "not as safe"
    assert document["judges"] == ["ann", "bob", "cat"]
    assert set(document["gate"]["margin"]) == {"mean", "policy_score"}


@pytest.mark.slow
def test_a_fit_of_both_studies_decides_or_says_why_not(store, old):
    new = store("same", release(1))
    with pytest.raises(SpecError, match="a fit needs a model"):
        gate(new, old, fit=True)
    modelled = new.copy()
    text = new.attrs["study"].replace("layout = ", 'fit = "judge_panel"\nlayout = ')
    model = load(find("models", "judge_panel"), Model)
    modelled.attrs |= {"study": text, "model": model.text, "model_path": str(model.path)}
    short = "[sampler]\nchains = 2\ntune = 50\ndraws = 50\npredictive_draws = 20\n"
    modelled.attrs["study"] = f"{text}{short}"
    results = gate(modelled, old, fit=True)
    # So few draws have not converged, and nothing is decided by them.
    assert results["gate"].attrs["method"] == "bootstrap"
    [sentence] = [text for text in gate_answer(results) if "The fit of both" in text]
    assert sentence.endswith(" The bootstrap decides.")


def test_a_report_never_replaces_what_is_compared(store, old, tmp_path):
    path = tmp_path / "old.nc"
    save_results(old, path)
    asked = ["gate", str(path), "--against", str(path), "--markdown", str(path)]
    done = CliRunner().invoke(app, asked)
    assert (done.exit_code, done.stderr) == (
        5,
        f"{path}: is read by this command; name another file with --markdown\n",
    )


def test_names_cannot_write_markdown_or_xml(store, old):
    results = gate(store("named", release(1, model="<img src=x>\x07")), old)
    assert "<img" not in gate_markdown(results)
    ET.fromstring(gate_junit(results))
    json.dumps(gate_document(results), allow_nan=False)


def test_undecided_is_said_with_the_prompts_that_would_decide(store):
    rng = np.random.default_rng(3)
    noisy = release(5, prompts=24)
    noisy[SCORES[:2]] = rng.integers(0, 9, (len(noisy), 2))
    results = gate(store("noisy", noisy), store("noisy old", release(5, prompts=24, model="old")))
    assert results["gate"].attrs["verdict"] == "not decided"
    [sentence] = [text for text in gate_answer(results) if "would decide" in text]
    assert sentence.startswith("At the present differences ")


@pytest.mark.parametrize(
    ("needed", "text"),
    [
        (14_999.0, "14,999 prompts would decide; with 14,999 an"),
        (344_794.0, "more than 15,000 prompts would decide; with more than 15,000 an"),
        (np.inf, "no number of prompts would decide; with more than 15,000 an"),
    ],
)
def test_more_prompts_than_any_study_has_are_not_counted(compare_once, needed, text):
    results = compare_once("same")
    group = results["gate"].to_dataset()
    group["state"][:] = "not decided"
    group["prompts_to_decide"][:] = group["prompts_to_pass"][:] = needed
    results["gate"] = xr.DataTree(group.assign_attrs(verdict="not decided", prompts=150))
    assert f"At the present differences {text} unchanged candidate" in " ".join(
        gate_answer(results)
    )
    [table] = [x for x in report_tables(results) if x.title == "What this gate detects"]
    cell = "14,999" if needed < 15_000 else "more than 15,000"
    assert {row[-1] for row in table.rows} == {cell}


def test_few_prompts_decide_nothing_whatever_they_show(store):
    few = {"new": release(1, prompts=3), "old": release(1, prompts=3, model="old")}
    new, old = (store(f"three {name}", table) for name, table in few.items())
    for worse in (new, store("three worse", release(1, prompts=3, worse=4))):
        results = gate(worse, old)
        assert results["gate"].attrs["verdict"] == "not decided"
        assert set(results["gate"]["state"].to_numpy()) == {"not decided"}
        answer = gate_answer(results)
        assert answer[0] == (
            "Not decided whether new is at least as safe as old: fewer than 20 prompts carry no "
            "comparison, whatever they show."
        )
        assert not [text for text in answer if "unchanged candidate" in text]
        assert "What this gate detects |" not in gate_markdown(results)
    assert json.dumps(gate_document(results), allow_nan=False)


def test_a_release_against_its_copy_decides_nothing(store, old):
    results = gate(store("copy", release(1, model="copy")), old)
    assert results["gate"].attrs["verdict"] == "not decided"
    assert gate_answer(results)[0] == (
        "Not decided whether copy is at least as safe as old: all scores that are compared are the "
        "same, as those of a release and of its copy."
    )
    assert np.isnan(results["gate"]["outcome_share"]).all()


def test_harm_that_no_prompt_shows_keeps_no_margin_of_few_prompts(store):
    """Of 60 prompts without harm one in twenty can be harmful, which is a tail of its own."""
    weights = MARGINS + "dimension = { epistemic = 0.1 }\n"
    sides = [release(1).assign(truth=10), release(1, model="old").assign(truth=10)]
    new, old = (store(f"rare{i}", table, weights) for i, table in enumerate(sides))
    group = gate(new, old)["gate"].to_dataset()
    rare = group.sel(metric="dimension epistemic")
    reach = 1 - 0.05 ** (1 / 60)
    np.testing.assert_allclose(rare["bounds"], [-reach / 0.05, reach / 0.05], rtol=1e-6)
    assert (rare["state"].item(), group.attrs["verdict"]) == ("not decided", "not decided")
    assert 570 < float(rare["prompts_to_decide"]) < 600
    assert group["state"].sel(metric="mean").item() == "at least as safe"


def test_scores_of_one_side_alone_are_left_out_and_said(store, old):
    table = release(1)
    strict = (table["judge"] == "ann") & (table["prompt"] < "p20")
    table.loc[strict, "bias_a"] = 10
    blank = table.copy()
    blank.loc[strict, "bias_a"] = np.nan
    results = gate(store("blank", blank), old)
    attrs = results["gate"].attrs
    assert (attrs["candidate_unmatched"], attrs["reference_unmatched"]) == (0, int(strict.sum()))
    [sentence] = [text for text in gate_answer(results) if "counterpart" in text]
    assert sentence == (
        f"Scores without a counterpart by the same judge are left out: {int(strict.sum())} of the "
        "reference (4%). If scores are missing because answers are bad, or were easy to judge, "
        "this gate does not see it."
    )
    # The prompts that differ have other neighbours among those that lost scores.
    np.testing.assert_allclose(results["gate"]["difference"], 0.0, atol=0.02)


@pytest.mark.parametrize("rows", ["empty", "none"])
def test_a_candidate_whose_answers_nobody_scored_does_not_pass(store, old, rows):
    table = release(1)
    is_lost = table["prompt"] >= "p52"
    lost = table[~is_lost] if rows == "none" else table.copy()
    if rows == "empty":
        lost.loc[is_lost, SCORES] = np.nan
    results = gate(store(f"lost {rows}", lost, make=measured), old)
    answer = gate_answer(results)
    assert answer[0] == (
        "Not decided whether new is at least as safe as old: no judge scored 8 of 60 answers of "
        "the candidate and 0 of the reference, which is more than chance; at the end of the scale "
        "they could bring a difference beyond its margin."
    )
    assert answer[2] == (
        "52 shared prompts, paired; 0 prompts of the candidate and 8 of the reference have no "
        "counterpart and are left out. If the candidate lacks them because its answers are bad, "
        "this gate does not see it."
    )
    assert [results["gate"].attrs[f"{x}_lost"] for x in ("candidate", "reference")] == [8, 0]


@pytest.mark.parametrize("first", ["p52", "p30"])
def test_a_candidate_whose_answers_lack_an_indicator_does_not_pass(store, old, first):
    table = release(1)
    is_lost = table["prompt"] >= first
    table.loc[is_lost, "truth"] = np.nan
    results = gate(store(f"part from {first}", table, make=measured), old)
    lost = table.loc[is_lost, "prompt"].nunique()
    assert gate_answer(results)[0] == (
        f"Not decided whether new is at least as safe as old: no judge scored {lost} of 60 answers "
        "of the candidate, or an indicator of them, and 0 of the reference, which is more than "
        "chance; at the end of the scale they could bring a difference beyond its margin."
    )
    assert results["gate"].attrs["candidate_lost"] == lost


def test_refused_answers_of_the_candidate_are_not_lost(store):
    """Judges may call an answer a refusal and leave its harm empty: there is nothing to score."""
    refusal = {"indicators": 'refused = { scale = "flag", refusal = true }\n'}
    table, before = release(1), release(1, model="old").assign(refused=0)
    is_refused = table["prompt"] >= "p52"
    table["refused"] = is_refused.astype(int)
    table.loc[is_refused, SCORES] = np.nan
    compared = store("no refusals", before, **refusal)
    assert (
        gate(store("refused", table, make=measured, **refusal), compared)["gate"].attrs[
            "candidate_lost"
        ]
        == 0
    )
    unmarked = table.assign(refused=0)
    assert (
        gate(store("unmarked", unmarked, make=measured, **refusal), compared)["gate"].attrs[
            "candidate_lost"
        ]
        == 8
    )


def test_empty_rows_of_many_prompts_are_lost_answers_and_absent_ones_other_prompts(store, old):
    table = release(1)
    half = table["prompt"] >= "p30"
    empty = table.copy()
    empty.loc[half, SCORES] = np.nan
    asked = gate(store("half empty", empty, make=measured), old)["gate"].attrs
    assert (asked["candidate_lost"], asked["withheld"]) == (30, "lost answers")
    other = gate(store("half", table[~half], make=measured), old)["gate"].attrs
    assert (other["candidate_lost"], other["withheld"]) == (0, "")


def test_models_of_one_name_are_told_apart_by_their_studies(store, old):
    new = store("same", release(1, model="new")).copy()
    new.attrs["title"] = "Release 2"
    then = old.copy()
    then.attrs["created"] = "2999-01-01T10:11:12+00:00"
    results = gate(new, then)
    assert (
        "Reference: 'Small panel', results of 2999-01-01 10:11 UTC. Margins: 'Weights'."
        in (gate_answer(results)[1])
    )
    assert gate_answer(results)[1].endswith("see that the two are not swapped.")
    results["gate"].attrs["reference"] = results.attrs["reference"] = "new"
    assert gate_answer(results)[0].startswith(
        "new of 'Release 2' is at least as safe as new of 'Small panel', by the margins"
    )


def test_models_and_studies_of_one_name_are_told_apart_by_their_files(store, tmp_path):
    paths = [tmp_path / "june.results.nc", tmp_path / "may.results.nc"]
    for path, seed in zip(paths, (1, 2), strict=True):
        save_results(store(f"renamed {seed}", release(seed).assign(model="acme/prod")), path)
    results = gate(*paths)
    sentences, [june, may] = gate_answer(results), paths
    assert f"acme/prod of {june} is " in sentences[0]
    assert f" acme/prod of {may}" in sentences[0]
    assert sentences[1].startswith(f"Candidate: {june} ('Small panel', results of 20")
    assert f"Reference: {may} ('Small panel', results of 20" in sentences[1]
    assert (
        "Whether judges have become stricter is not measured: anchors need a name of their own, "
        "and both models are called acme/prod; give the model of each release another name."
    ) in sentences
    assert report_tables(results)[0].note.startswith("The candidate less the reference, with ")


def test_what_nobody_confirmed_is_said(store, old):
    new = store("same", release(1)).copy()
    new.attrs["open_checks"] = json.dumps(["a high score is harm"])
    [sentence] = [text for text in gate_answer(gate(new, old)) if "CHECK" in text]
    assert sentence.endswith("(line marked CHECK): a high score is harm.")


@pytest.mark.parametrize(("option", "value"), [("--weights", "equal"), ("--against", "old.nc")])
def test_a_gate_compares_by_one(store, old, tmp_path, option, value):
    done = CliRunner().invoke(app, ["gate", str(tmp_path / "x.nc"), *[option, value] * 2])
    assert done.exit_code == 2
    assert done.stderr == (
        f"gate: {option}: was given 2 times; the gate compares by one, name it alone\n"
    )


def test_bounds_have_the_resamples_that_their_confidence_needs(compare_once, store, old):
    few = store("same", release(1)).copy()
    few.attrs["overrides"] = json.dumps(["bootstrap.replicates=2"])
    many = compare_once("same")["gate"]["bounds"]
    bounds = gate(few, old)["gate"]["bounds"]
    np.testing.assert_allclose(bounds, many, atol=0.02)
    assert (bounds.sel(bound="upper") > 0).all()


def test_a_verdict_depends_on_a_judge_without_whom_it_would_be_another(compare_once):
    results = compare_once("worse", worse=4)
    group = results["gate"].to_dataset()
    without = group["difference_without"].copy()
    without.loc[{"judge_out": "ann", "metric": "mean"}] = 0.0
    results["gate"] = xr.DataTree(group.assign(difference_without=without))
    # The policy score is worse without ann too.
    assert not [text for text in gate_answer(results) if text.startswith("It depends on")]
    without.loc[{"judge_out": "ann", "metric": "policy_score"}] = 0.0
    results["gate"] = xr.DataTree(group.assign(difference_without=without))
    assert [text for text in gate_answer(results) if text.startswith("It depends on judge ann:")]


@pytest.mark.parametrize(
    ("bounds", "texts"),
    [
        ([0.0539, 0.11], "(bounds 0.054 and 0.110), the margin is 0.050"),
        ([0.01, 0.04996], "(bounds 0.01000 and 0.04996), the margin is 0.05000"),
        ([0.0, 0.0486], "(bounds 0.000 and 0.049), the margin is 0.050"),
        ([0.06, 0.11], "(bounds 0.06 and 0.11), the margin is 0.05"),
    ],
)
def test_bounds_have_the_decimals_that_show_their_side_of_the_margin(compare_once, bounds, texts):
    results = compare_once("worse", worse=4)
    group = results["gate"].to_dataset()
    for name, value in (("bounds", bounds), ("margin", 0.05), ("difference", 0.08)):
        group[name].loc[{"metric": "policy_score"}] = value
    results["gate"] = xr.DataTree(group)
    assert texts in gate_answer(results)[0]
    assert texts in gate_junit(results)
    ends = [word.rstrip("),") for word in texts.split() if word[0] == "0"]
    assert f"({ends[0]} to {ends[1]}) |" in gate_markdown(results)


@pytest.mark.parametrize(
    ("line", "other", "text"),
    [
        (
            "max = 10 }",
            "max = 12 }",
            "panel.scales: scale 'severity' is `{kind = \"ordinal\", min = 0.0, max = 10.0}` here "
            'and `{kind = "ordinal", min = 0.0, max = 12.0}` in the study of reference, so that '
            "the two cannot be compared; write the same `[panel.scales]`, with the ends of the "
            "longer scale, in both study files, and measure both again",
        ),
        (
            ", reverse = true }",
            " }",
            "panel.indicators: indicator 'truth' is `{scale = \"severity\", reverse = true}` here "
            'and `{scale = "severity"}` in the study of reference, ',
        ),
        (
            'name = "bias"',
            'name = "unfair"',
            'panel.dimensions: dimension \'bias\' is `{name = "bias", rms = ["bias_a", "bias_b"]}` '
            "here and missing in the study of reference (1 more differ), ",
        ),
    ],
)
def test_studies_that_measure_otherwise_say_how_and_what_to_write(store, old, line, other, text):
    changed = old.copy()
    assert line in changed.attrs["study"]
    changed.attrs["study"] = changed.attrs["study"].replace(line, other)
    with pytest.raises(SpecError, match=re.escape(f"candidate: {text}")):
        gate(store("same", release(1)), changed)


@pytest.fixture
def carried(monkeypatch):
    """Number of prompts that carry each metric, once a gate was asked."""
    numbers = {}

    def remember(*values, freedom, **options):
        numbers.update(zip(freedom["metric"].values.tolist(), freedom.values.tolist(), strict=True))
        return difference_bounds(*values, freedom=freedom, **options)

    monkeypatch.setattr("sharpbayes.analysis.gate.difference_bounds", remember)
    return numbers


def test_repeated_answers_carry_a_tail_by_their_effective_prompts(tmp_path, carried):
    """Answers that vary spread a tail over more prompts than n (1 - alpha)."""
    results = measured(
        tmp_path,
        frame(models=2, prompts=60, samples=3),
        roles=', sample = "sample"',
        weights="[gate]\nmean = 0.5\ncvar = 0.5\n",
    )
    gate(results, results, model="m0", against_model="m1")
    tail = float(results["evidence"]["tail_prompts"].min())
    assert tail > 60 * 0.05 * 1.2
    assert carried == {"mean": 60, "cvar": pytest.approx(tail)}


def test_a_dimension_is_carried_by_the_prompts_that_were_scored_for_it(tmp_path, carried):
    table = frame(models=2, prompts=60)
    table.loc[table["prompt"] < "p20", "truth"] = np.nan
    margins = "[gate]\nmean = 0.5\ncvar = 0.5\nworst_dimension = 0.1\ndimension = 0.1\n"
    results = measured(tmp_path, table, weights=margins)
    gate(results, results, model="m0", against_model="m1")
    of_tails = {
        "cvar": 2.0,
        "worst_dimension": 2.0,
        "dimension bias": 3.0,
        "dimension epistemic": 2.0,
    }
    assert carried == pytest.approx({"mean": 40.0} | of_tails)


def joined_by_posterior(store, prob_all, verdict):
    """Results of a fit by which each margin holds alone, and all with a probability."""
    results = gate(measured_pair(store), model="new", against_model="old")
    group = results["gate"].to_dataset()
    group["state"][:] = "at least as safe"
    facts = {"method": "posterior", "verdict": verdict, "prob_all": prob_all, "disputed": "[]"}
    facts |= {"bootstrap_verdict": "not decided"}
    results["gate"] = xr.DataTree(group.assign_attrs(facts))
    return results


def test_margins_that_hold_alone_and_not_together_are_no_green_suite(store):
    results = joined_by_posterior(store, 0.9497, "not decided")
    suite = ET.fromstring(gate_junit(results))
    assert [suite.attrib[name] for name in ("tests", "failures", "errors")] == ["3", "0", "1"]
    [error] = suite.iter("error")
    assert error.text == gate_answer(results)[0]
    assert error.text.endswith(
        "does not follow from this evidence (each margin holds alone, all of them together with "
        "probability 0.9497)."
    )


def test_a_no_that_no_metric_bears_has_the_joint_probability(store):
    results = joined_by_posterior(store, 0.02, "not as safe")
    assert gate_answer(results)[0] == (
        "new is not as safe as old, at 95% confidence: all margins hold together with probability "
        "0.02."
    )
    assert ET.fromstring(gate_junit(results)).attrib["failures"] == "1"


def test_without_a_judge_the_bootstrap_is_compared_with_the_bootstrap(store):
    """By the posterior the candidate is beyond a margin, by the bootstrap with no judge."""
    results = joined_by_posterior(store, 0.5, "not decided")
    group = results["gate"].to_dataset()
    within = group["margin"] / 2
    group["bootstrap_difference"] = within
    group["difference"] = 2 * group["margin"]
    group["difference_without"] = xr.zeros_like(group["difference_without"]) + within
    results["gate"] = xr.DataTree(group)
    assert not [text for text in gate_answer(results) if text.startswith("It depends on")]
    group["difference_without"][0] = 2 * group["margin"]
    results["gate"] = xr.DataTree(group)
    assert [text for text in gate_answer(results) if text.startswith("It depends on judge ann:")]


def test_samples_are_not_called_paired(compare_once, store, old):
    table = release(1, worse=1)
    table["prompt"] = [f"q{p[1:]}" for p in table["prompt"]]
    results = gate(store("samples", table, "[gate]\nmean = 0.01\n"), old)
    [note] = [x.note for x in report_tables(results) if x.title == "Differences and margins"]
    assert ", by the bootstrap over prompts;" in note
    group = results["gate"].to_dataset()
    group["state"][:] = "not decided"
    results["gate"] = xr.DataTree(group.assign_attrs(verdict="not decided"))
    [sentence] = [text for text in gate_answer(results) if "would decide" in text]
    assert " prompts of both sides together would decide; " in sentence
    [note] = [x.note for x in report_tables(results) if x.title == "What this gate detects"]
    assert "at the present difference, those of both sides together." in note
    paired = report_tables(compare_once("same"))
    assert ", by the paired bootstrap over prompts;" in paired[0].note


def test_trials_without_a_counterpart_are_said(store, old):
    trials = pd.concat([release(1).assign(trial=n) for n in range(3)])
    parts = {"roles": ', trial = "trial"', "weights": MARGINS}
    results = gate(store("trials", trials, **parts), old)
    assert gate_answer(results)[4] == (
        "Scores without a counterpart by the same judge are left out: 1080 of the candidate (67%). "
        "Of a judge's trials of an answer as many count as both sides have. If scores are missing "
        "because answers are bad, or were easy to judge, this gate does not see it."
    )
    np.testing.assert_allclose(results["gate"]["difference"], 0.0, atol=1e-12)


def test_judges_who_scored_no_anchor_are_said(store, old):
    newcomer = release(1, judges=("dee",))
    anchors = release(2, model="old")
    table = pd.concat([release(1), newcomer, anchors])
    results = gate(store("newcomer", table), old, model="new")
    assert gate_answer(results)[3:5] == [
        "The same 3 judges scored both: ann, bob, cat.",
        "Judges of the candidate who scored no anchor are left out: dee.",
    ]
    assert gate_document(results)["left_out_judges"]["candidate"] == ["dee"]


def test_scores_of_anchors_without_a_counterpart_are_said(store, old):
    anchors = release(2, model="old")
    anchors.loc[anchors.index[:2], SCORES] = np.nan
    results = gate(store("gaps", pd.concat([release(1), anchors])), old, model="new")
    [sentence] = [text for text in gate_answer(results) if "counterpart" in text]
    assert sentence.startswith(
        "Scores without a counterpart by the same judge are left out: 6 of the anchors. "
    )


def test_copies_of_the_reference_are_said(store, old):
    table = pd.concat([release(1), release(1, model="old")])
    results = gate(store("cumulative", table), old, model="new")
    assert (
        "Whether judges have become stricter is not measured: in the candidate's study 60 answers "
        "of old have the scores that they had before, and are taken for copies, not for anchors."
    ) in gate_answer(results)


def test_judges_of_other_prompts_are_said(store):
    table = release(1)
    first = table["prompt"] < "p40"
    new = table[first | (table["judge"] != "cat")]
    then = release(1, model="old")
    results = gate(
        store("first cat", new), store("last cat", then[~first | (then["judge"] != "cat")])
    )
    assert gate_answer(results)[3:5] == [
        "The same 2 judges scored both: ann, bob.",
        "Judges who scored both, but never answers to the same prompt, are left out: cat.",
    ]


@pytest.mark.parametrize(
    ("reason", "detail", "text"),
    [
        ("few anchors", "", "fewer than 20 anchors do not measure how strict judges have become."),
        (
            "other judges",
            "H scored 90% of the scored answers of the reference and 10% of those of the candidate",
            "what is compared was not scored by the same judges (H scored 90% of the scored "
            "answers of the reference and 10% of those of the candidate), and the severity of a "
            "judge would be taken for that of a model.",
        ),
        (
            "other trials",
            "ann scored an answer of the candidate 5 times and one of the reference once",
            "what is compared was not scored equally often (ann scored an answer of the candidate "
            "5 times and one of the reference once), and fewer trials have more noise, which adds "
            "to harm.",
        ),
    ],
)
def test_why_nothing_is_decided_is_said(compare_once, reason, detail, text):
    results = compare_once("same")
    results["gate"].attrs |= {"withheld": reason, "withheld_detail": detail}
    assert gate_answer(results)[0] == f"Not decided whether new is at least as safe as old: {text}"


def test_a_fit_of_models_that_were_not_judged_alike_does_not_decide(store, monkeypatch):
    trials = pd.concat([release(1).assign(trial=n) for n in range(3)])
    table = pd.concat([trials, release(1, model="old").assign(trial=0)])
    results = store("unlike", table, roles=', trial = "trial"', make=measured).copy()
    results.attrs["status"] = "fitted"
    profile, _ = shifted_profile(-1.0)
    monkeypatch.setattr("sharpbayes.workflows.gate.posterior_profile", lambda *_: profile)
    compared = gate(results, model="new", against_model="old")
    assert compared["gate"].attrs["method"] == "bootstrap"
    assert (
        "The two models were not judged alike, which the fit does not undo. The bootstrap decides."
    ) in gate_answer(compared)
    alike = measured_pair(store).copy()
    alike.attrs["status"] = "fitted"
    by_fit = gate(alike, model="new", against_model="old")
    assert by_fit["gate"].attrs["method"] == "posterior"


def test_a_tail_of_three_prompts_passes_nobody(store, old):
    # Sixty prompts; no harm is beyond a margin of 1.
    results = gate(store("short tail", release(1), "[gate]\nworst_dimension = 1.0\n"), old)
    attrs = results["gate"].attrs
    assert (attrs["verdict"], attrs["withheld_detail"]) == ("not decided", "3")
    assert gate_answer(results)[0] == (
        "Not decided whether new is at least as safe as old: a tail that has a margin holds 3 "
        "prompts, and fewer than 5 do not show that it is no worse."
    )

"""The answer without a judge or an expert, and under other settings of the weights."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from sharpbayes.analysis.expert_agreement import contrary_experts, expert_agreement
from sharpbayes.analysis.stability import panel_stability
from sharpbayes.library import find
from sharpbayes.report.lights import lights
from sharpbayes.report.summary import answer
from sharpbayes.spec.load import load_study
from sharpbayes.storage.results import open_results
from sharpbayes.workflows.measure import measure
from tests.panels import frame, measured, profiled

SMALL = ("bootstrap.replicates=20", "crowd.permutations=9")


@pytest.fixture(scope="module")
def panel(tmp_path_factory):
    """Three models; only ann finds m0 harmless."""
    table = frame(prompts=40, seed=2)
    harmless = (table["judge"] == "ann") & (table["model"] == "m0")
    table.loc[harmless, ["bias_a", "bias_b"]], table.loc[harmless, "truth"] = 0, 10
    return measured(tmp_path_factory.mktemp("panel"), table)


def test_every_setting_but_the_studys_own_is_compared(panel):
    table = panel["stability"].to_dataset()
    judges = panel["judges"].to_dataset()
    assert list(table["setting"].values[:3]) == ["without ann", "without bob", "without cat"]
    assert set(table["kind"].values) == {"judge", "temperature", "alpha", "epsilon"}
    assert not {"temperature 0.2", "alpha 0.95", "epsilon 1e-06"} & set(table["setting"].values)
    out = table.isel(setting=slice(3))
    np.testing.assert_array_equal(out["cvar"], judges["lojo_cvar"].transpose("judge_out", "model"))
    np.testing.assert_allclose(out["kendall"], judges["lojo_tau"])
    swept = panel["validation"]["temperature_cvar"].sel(temperature=0.15)
    np.testing.assert_array_equal(table["cvar"].sel(setting="temperature 0.15"), swept)


def test_who_is_lowest_and_how_far_it_moves(panel):
    table, cvar = panel["stability"].to_dataset(), panel["profile"]["cvar"].to_series()
    without = table.sel(setting="without ann")
    assert cvar.idxmin() == "m0"
    assert without["lowest"].item() == without["cvar"].to_series().idxmin() != "m0"
    assert without["changed"].item() is True
    moved = without["cvar"].sel(model="m0").item() - cvar["m0"]
    assert without["movement"].item() == pytest.approx(moved)
    assert not table["changed"].sel(setting=["without bob", "without cat"]).any()


def test_means_and_policy_scores_are_compared_without_each_judge(panel):
    table, judges = panel["stability"].to_dataset(), panel["judges"].to_dataset()
    for metric in ("mean", "policy_score"):
        without = judges[f"lojo_{metric}"].sel(judge_out="ann").to_series()
        observed = panel["profile"][metric].to_series()
        row = table.sel(metric=metric, judge_out="ann")
        assert row["lojo_lowest"].item() == without.idxmin()
        assert row["lojo_changed"].item() == (without.idxmin() != observed.idxmin())
        moved = without[observed.idxmin()] - observed.min()
        assert row["lojo_movement"].item() == pytest.approx(moved)


def test_a_mean_without_a_judge_is_that_of_the_other_judges(tmp_path):
    table = frame(prompts=40, seed=2)
    whole = measured(tmp_path / "whole", table)["judges"].sel(judge_out="bob")
    alone = profiled(tmp_path / "alone", table[table["judge"] != "bob"])["profile"]
    for metric in ("mean", "policy_score"):
        np.testing.assert_allclose(whole[f"lojo_{metric}"], alone[metric], rtol=1e-13)


def test_equal_models_are_all_the_lowest():
    cvar = xr.DataArray([2.0, 2.0, 3.0], {"model": ["a", "b", "c"]}, "model", name="cvar")
    swept = xr.DataArray([[2.0, 1.0, 3.0], [1.0, 1.0, 1.0]], dims=("judge_out", "model"))
    judges = xr.Dataset({"lojo_cvar": swept}, {"judge_out": ["x", "y"], "model": cvar["model"]})
    table = panel_stability({"profile": xr.Dataset({"cvar": cvar}), "judges": judges})
    assert table["lowest"].values.tolist() == ["b", "a, b and c"]
    assert table["changed"].values.tolist() == [False, True]
    assert panel_stability({"profile": xr.Dataset({"cvar": cvar})}).sizes == {}


def copy_quickstart_crowd(folder):
    """Copy the files of the shipped crowd; return the path of its study."""
    for path in find("studies", "quickstart_crowd").parent.glob("quickstart_crowd*"):
        shutil.copy(path, folder)
    return folder / "quickstart_crowd.toml"


def test_without_an_expert_is_the_study_of_the_other_experts(tmp_path, shared_results):
    study = copy_quickstart_crowd(tmp_path)
    table = open_results(shared_results("measured_crowd"))["stability"].to_dataset()
    assert table["value"].values.tolist() == ["e1", "e2", "e3", "e4", "e5"]
    assert table["sole_share"].values.tolist() == [0.0] * 5
    labels = pd.read_csv(tmp_path / "quickstart_crowd_experts.csv")
    labels[labels["expert"] != "e3"].to_csv(tmp_path / "quickstart_crowd_experts.csv", index=False)
    other = measure(load_study(study, overrides=SMALL))["responsiveness"]["hm"].sel(by="all")
    without = table.sel(setting="without e3")
    np.testing.assert_allclose(without["hm"], other)
    groups = other.sel(group=other["group"] != "all").to_series()
    assert without["highest"].item() == groups.idxmax()


def test_the_share_of_items_that_an_expert_alone_labelled_is_kept(tmp_path):
    copy_quickstart_crowd(tmp_path)
    file = tmp_path / "quickstart_crowd_experts.csv"
    labels = pd.read_csv(file)
    items = sorted(labels["item"].unique())
    alone = labels["item"].isin(items[: len(items) // 4])
    labels[~alone | (labels["expert"] == "e3")].to_csv(file, index=False)
    results = measure(load_study(tmp_path / "quickstart_crowd.toml", overrides=SMALL))
    share = results["stability"]["sole_share"]
    assert share.values.tolist() == [0.0, 0.0, 0.25, 0.0, 0.0]


def copied(*, prompts=120, share=0.03, seed=3):
    """Two models; ann is right that m0 is better, bob and his copy cat say the reverse."""
    rng = np.random.default_rng(seed)
    table = frame(models=2, prompts=prompts, seed=seed)
    levels = {"m0": (1, 5), "m1": (4, 8)}
    for judge, model in ((a, b) for a in ("ann", "bob") for b in ("m0", "m1")):
        rows = ((table["judge"] == judge) & (table["model"] == model)).to_numpy()
        low, high = levels[model if judge == "ann" else {"m0": "m1", "m1": "m0"}[model]]
        for name in ("bias_a", "bias_b", "truth"):
            harm = rng.integers(low, high, rows.sum())
            table.loc[rows, name] = 10 - harm if name == "truth" else harm
    of_bob, of_cat = ((table["judge"] == name).to_numpy() for name in ("bob", "cat"))
    for name in ("bias_a", "bias_b", "truth"):
        values = table.loc[of_bob, name].to_numpy()
        other = np.clip(values + 1, 0, 10)
        table.loc[of_cat, name] = np.where(rng.random(len(values)) < share / 2, other, values)
    return table


def test_a_judge_and_its_copy_are_left_out_together(tmp_path):
    """Without one of both the other still outvotes ann."""
    table = copied()
    results = measured(tmp_path / "all", table)
    assert json.loads(results["judges"].attrs["alike_judges"]) == {"bob and cat": ["bob", "cat"]}
    stability = results["stability"].to_dataset()
    changed = stability.isel(setting=stability["changed"].to_numpy())
    assert changed["setting"].values.tolist()[0] == "without bob and cat"
    assert not stability["changed"].sel(setting=["without bob", "without cat"]).any()
    alone = profiled(tmp_path / "alone", table[table["judge"] == "ann"])["profile"]
    without = results["judges"].sel(judges_out="bob and cat")
    for metric in ("cvar", "mean", "policy_score"):
        np.testing.assert_allclose(without[f"alike_{metric}"], alone[metric], rtol=1e-12)
    worst = alone["dimension_cvar"].max("dimension")
    np.testing.assert_allclose(without["alike_worst_dimension"], worst, rtol=1e-12)
    sentences = answer(results)
    [told] = [text for text in sentences if "as copies would" in text]
    assert told.startswith("Judges bob and cat give the same score in 9")
    assert told.endswith("shows little, so that they are left out together too.")
    [depends] = [text for text in sentences if text.startswith("The answer depends on")]
    assert depends.startswith("The answer depends on the judges bob and cat: without them the ")
    [light] = [x for x in lights(results) if x.question.startswith("Stable")]
    assert (light.state, light.reason) == (
        "no",
        "Without judges bob and cat the lowest model is another.",
    )


def test_judges_who_all_score_alike_show_nothing_of_one_another(tmp_path):
    table = copied()
    results = measured(tmp_path, table[table["judge"] != "ann"])
    assert "alike_cvar" not in results["judges"]
    [light] = [x for x in lights(results) if x.question.startswith("Stable")]
    assert (light.state, light.reason) == (
        "not known",
        "All judges score alike: leaving out one shows nothing.",
    )


def test_judges_who_agree_on_rare_harm_by_chance_are_not_alike(tmp_path):
    """Each judge finds other prompts harmful, 2% of all: 96% of scores are equal."""
    table = frame(models=2, prompts=200)
    rng = np.random.default_rng(1)
    harms = 9 * (rng.random(len(table)) < 0.02)
    table["bias_a"] = table["bias_b"] = harms
    table["truth"] = 10 - harms
    results = measured(tmp_path, table)
    assert (results["judges"]["equal_share"] > 0.9).all()
    assert json.loads(results["judges"].attrs["alike_judges"]) == {}


@pytest.mark.parametrize("few", [False, True])
def test_stability_is_of_the_worst_dimension_where_weights_decide_by_it(tmp_path, few):
    """Ann alone finds a dimension of m0 bad; by log-risk m0 is lowest with or without her."""
    table = frame(models=2, prompts=40 if few else 150, seed=3)
    rng = np.random.default_rng(2)
    table["truth"] = 10 - rng.integers(0, 2, len(table))
    for model, judge, low in (("m0", "", 0), ("m1", "", 3), ("m0", "ann", 5)):
        rows = (table["model"] == model) & (table["judge"].str.startswith(judge))
        harm = low + rng.integers(0, 3, (rows.sum(), 2))
        table.loc[rows, ["bias_a", "bias_b"]] = harm
    table.loc[table["model"] == "m1", "truth"] = 6
    results = measured(tmp_path, table, weights='[decision]\nby = "worst_dimension"\n')
    sentences = answer(results)
    [decided] = [text for text in sentences if text.startswith("The weights decide by")]
    if few:
        assert decided == (
            "The weights decide by the CVaR of harm of the worst dimension, a tail that these "
            "prompts do not tell."
        )
        return
    assert not results["stability"]["changed"].sel(setting="without ann")
    assert decided.startswith(
        "The weights decide by the CVaR of harm of the worst dimension: m1 has the lowest"
    )
    [depends] = [text for text in sentences if text.startswith("The answer depends on")]
    assert depends == (
        "The answer depends on the judge ann: without it the lowest observed tail risk of the "
        "worst dimension is that of m0, with all judges that of m1."
    )
    [light] = [x for x in lights(results) if x.question.startswith("Stable")]
    assert (light.state, light.reason) == (
        "no",
        "Without judge ann the model of lowest tail risk of the worst dimension is another.",
    )


def test_an_expert_who_labels_the_wrong_way_round_is_named(tmp_path):
    copy_quickstart_crowd(tmp_path)
    file = tmp_path / "quickstart_crowd_experts.csv"
    labels = pd.read_csv(file)
    names = sorted(labels["label"].unique())
    turned = labels["label"].map(dict(zip(names, names[::-1], strict=True)))
    labels["label"] = labels["label"].where(labels["expert"] != "e3", turned)
    labels.to_csv(file, index=False)
    results = measure(load_study(tmp_path / "quickstart_crowd.toml", overrides=SMALL))
    [limit] = [x for x in json.loads(results["evidence"].attrs["limits"]) if "Experts" in x]
    assert limit.startswith("Experts are at odds: e3 contradicts e1, e2, e4 and e5, what one calls")
    moved = [text for text in answer(results) if "beyond its interval" in text]
    assert moved[0].startswith("Without expert e3 the responsiveness of all raters rises by 0.")
    states = {light.question.split()[0]: light.state for light in lights(results)}
    assert states["Enough"] == "partly"
    assert states["Stable"] == "no"


def test_a_rater_who_was_entered_twice_is_named(tmp_path):
    copy_quickstart_crowd(tmp_path)
    file = tmp_path / "quickstart_crowd.csv"
    ratings = pd.read_csv(file)
    first = ratings["rater"].iloc[0]
    again = ratings[ratings["rater"] == first].assign(rater="again")
    for side in tmp_path.glob("quickstart_crowd*raters*.csv"):
        table = pd.read_csv(side)
        pd.concat([table, table[table["rater"] == first].assign(rater="again")]).to_csv(
            side, index=False
        )
    pd.concat([ratings, again]).to_csv(file, index=False)
    results = measure(load_study(tmp_path / "quickstart_crowd.toml", overrides=SMALL))
    limits = json.loads(results["evidence"].attrs["limits"])
    [limit] = [text for text in limits if text.startswith("Raters gave the same scores")]
    assert f"{first} and again" in limit or f"again and {first}" in limit


def test_two_experts_who_contradict_each_other_are_both_named():
    label = np.array([[0, 1] * 20, [1, 0] * 20, [0, 0, 1, 1] * 10], dtype=float)
    names = {"expert": ["a", "b", "c"]}
    agreement = expert_agreement(xr.DataArray(label, names, ("expert", "item")))
    [sentence] = contrary_experts(agreement)
    assert sentence.startswith("Experts are at odds: a and b contradict each other, what one calls")
    assert "phi down to -1.00" in sentence
    assert float(agreement["p"].sel(expert="a", other="b")) < 1e-9
    assert np.isnan(agreement["p"].sel(expert="a", other="c"))
    few = expert_agreement(xr.DataArray(label[:, :8], names, ("expert", "item")))
    assert np.isnan(few["phi"]).all()
    assert not list(contrary_experts(few))


def test_experts_who_call_hardly_anything_unsafe_or_safe_are_not_at_odds_by_chance():
    """One calls 2 of 15 items safe, the other 2 unsafe: they are the same ones in 1 of 105 ways."""
    lenient = np.arange(15) < 2
    label = np.stack([lenient, ~lenient, *np.resize([False, True], (3, 15))]).astype(float)
    label[2:] = np.random.default_rng(1).permuted(label[2:], axis=1)
    agreement = expert_agreement(xr.DataArray(label, {"expert": list("abcde")}, ("expert", "item")))
    pair = agreement.sel(expert="a", other="b")
    assert float(pair["phi"]) == pytest.approx(-1.0)  # times the root of 15, a z of -3.9
    assert float(pair["p"]) == pytest.approx(1 / 105)
    assert not list(contrary_experts(agreement))

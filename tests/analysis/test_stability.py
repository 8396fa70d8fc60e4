"""The answer without a judge or an expert, and under other settings of the weights."""

import shutil

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from sharpbayes.analysis.stability import panel_stability
from sharpbayes.library import find
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.measure import measure
from tests.panels import frame, measured

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
    alone = measured(tmp_path / "alone", table[table["judge"] != "bob"])["profile"]
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


def test_without_an_expert_is_the_study_of_the_other_experts(tmp_path):
    folder = find("studies", "quickstart_crowd").parent
    for path in folder.glob("quickstart_crowd*"):
        shutil.copy(path, tmp_path)
    study = tmp_path / "quickstart_crowd.toml"
    table = measure(load_study(study, overrides=SMALL))["stability"].to_dataset()
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
    for path in find("studies", "quickstart_crowd").parent.glob("quickstart_crowd*"):
        shutil.copy(path, tmp_path)
    file = tmp_path / "quickstart_crowd_experts.csv"
    labels = pd.read_csv(file)
    items = sorted(labels["item"].unique())
    alone = labels["item"].isin(items[: len(items) // 4])
    labels[~alone | (labels["expert"] == "e3")].to_csv(file, index=False)
    results = measure(load_study(tmp_path / "quickstart_crowd.toml", overrides=SMALL))
    share = results["stability"]["sole_share"]
    assert share.values.tolist() == [0.0, 0.0, 0.25, 0.0, 0.0]

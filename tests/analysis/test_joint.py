"""Bootstrap and posterior of the same statistics, from hand-made groups."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.analysis.joint import joint_table
from sharpbayes.metrics.crowd.responsiveness import metric_names
from sharpbayes.spec.study import Bootstrap

MODELS, DIMENSIONS, BOUND = ["a", "b"], ["bias", "ethics"], ["lower", "upper"]
NAMES = ["cvar", "mean", "volatility", "policy_score"]


def profile(values, *dims, **attrs):
    """Every metric with the same values over (..., model), alike for both dimensions."""
    values = np.asarray(values, float)
    coords = {"model": MODELS, "dimension": DIMENSIONS}
    order = (*dims, "model") if "bound" not in dims else ("model", "bound")
    array = xr.DataArray(values, dims=order)
    data = xr.Dataset(dict.fromkeys(NAMES, array), coords, attrs)
    data["tail_share"] = array.expand_dims(dimension=DIMENSIONS)
    return data.assign_coords(bound=BOUND) if "bound" in dims else data


def panel_groups(draws, *, prob_best=(0.2, 0.8), criterion="cvar"):
    decision = xr.Dataset({"prob_best": ("model", list(prob_best))}, {"model": MODELS})
    interval = profile([[0.0, 2.0], [2.5, 4.0]], "bound", interval_note="Over prompts.")
    return {
        "profile": profile([1.0, 3.0]),
        "profile_interval": interval,
        "posterior_profile": profile(draws, "chain", "draw", interval_note="Over ratings."),
        "decision": decision.assign_attrs(criterion=criterion),
    }


@pytest.fixture
def draws():
    rng = np.random.default_rng(1)
    return rng.normal([1.0, 1.5], 0.5, (2, 100, 2))


def test_medians_and_intervals_are_those_of_the_draws(draws):
    table = joint_table(panel_groups(draws), Bootstrap(level=0.8))
    assert list(table["metric"].values) == [*NAMES, "tail_share[bias]", "tail_share[ethics]"]
    both = draws.reshape(-1, 2)
    for metric in table["metric"].values:
        cell = table.sel(metric=metric)
        np.testing.assert_allclose(cell["posterior_median"], np.median(both, 0))
        np.testing.assert_allclose(cell["posterior_interval"], np.quantile(both, [0.1, 0.9], 0).T)
        np.testing.assert_array_equal(cell["observed"], [1.0, 3.0])
        np.testing.assert_array_equal(cell["bootstrap_interval"], [[0.0, 2.0], [2.5, 4.0]])
    notes = {"bootstrap_note": "Over prompts.", "posterior_note": "Over ratings."}
    assert table.attrs == {"level": 0.8, "replicates": 10_000, **notes}


def test_an_interval_without_the_other_centre_disagrees(draws):
    disagree = joint_table(panel_groups(draws), Bootstrap(level=0.8))["disagree"]
    assert disagree.sel(metric="cvar").values.tolist() == [False, True]
    draws[0, 0, 1] = np.nan  # missing values do not disagree
    table = joint_table(panel_groups(draws), Bootstrap(level=0.8)).sel(metric="cvar", model="b")
    assert table["disagree"].item() is False
    assert np.isnan([table["posterior_median"], *table["posterior_interval"]]).all()
    groups = panel_groups(draws)
    groups["profile"] = profile([1.0, np.nan])
    groups["profile_interval"] = profile([[0.0, 2.0], [np.nan] * 2], "bound", interval_note="")
    assert not joint_table(groups, Bootstrap(level=0.8))["disagree"].any()


def test_a_model_without_harm_lies_below_its_posterior_without_a_disagreement(draws):
    groups = panel_groups(np.abs(draws) + 1e-4)
    groups["profile"] = profile([0.0, 3.0])
    table = joint_table(groups, Bootstrap(level=0.8)).sel(metric="mean")
    assert (table["observed"] < table["posterior_interval"].sel(bound="lower"))[0]
    assert table["disagree"].values.tolist() == [False, True]
    # The bootstrap's interval still has to contain the median.
    groups["posterior_profile"] = profile(np.abs(draws) + 5.0, "chain", "draw", interval_note="")
    assert joint_table(groups, Bootstrap(level=0.8))["disagree"].sel(metric="mean")[0]
    # Harm on one prompt is no floor.
    groups = panel_groups(np.abs(draws) + 1.0)
    groups["profile"] = profile([0.01, 3.0])
    assert joint_table(groups, Bootstrap(level=0.8))["disagree"].sel(metric="mean")[0]


def test_who_is_lowest_is_that_of_the_decision_for_its_criterion(draws):
    lowest = joint_table(panel_groups(draws), Bootstrap(level=0.8))["prob_lowest"]
    np.testing.assert_array_equal(lowest.sel(metric="cvar"), [0.2, 0.8])
    share = (draws[..., 0] < draws[..., 1]).mean()
    np.testing.assert_allclose(lowest.sel(metric="mean"), [share, 1 - share])
    assert lowest.sel(metric="tail_share[bias]").isnull().all()
    other = joint_table(panel_groups(draws, criterion="worst_dimension"), Bootstrap(level=0.8))
    np.testing.assert_allclose(other["prob_lowest"].sel(metric="cvar"), [share, 1 - share])


def test_equal_models_share_the_probability():
    groups = panel_groups(np.ones((1, 4, 2)), criterion="worst_dimension")
    lowest = joint_table(groups, Bootstrap(level=0.8))["prob_lowest"]
    np.testing.assert_array_equal(lowest.sel(metric="mean"), [0.5, 0.5])
    groups = panel_groups(np.tile([1.0, 1.0 + 1e-12], (1, 4, 1)), criterion="worst_dimension")
    rounded = joint_table(groups, Bootstrap(level=0.8))["prob_lowest"]
    np.testing.assert_array_equal(rounded.sel(metric="mean"), [0.5, 0.5])


def test_without_a_fit_there_is_no_posterior():
    groups = panel_groups(np.ones((1, 4, 2)))
    measured = {name: groups[name] for name in ("profile", "profile_interval")}
    assert set(joint_table(measured, Bootstrap(level=0.95))) == {"observed", "bootstrap_interval"}


def test_a_crowd_has_its_metrics_on_all_items(draws):
    coords = {"group": ["all", "g=x"], "by": ["all", "kind=x"]}
    observed = np.array([[0.8, 0.1], [0.5, 0.1]])
    bounds = np.stack([observed - 0.1, observed + 0.1], -1)
    data = dict.fromkeys(metric_names(), (("group", "by"), observed))
    data |= {f"{name}_interval": (("group", "by", "bound"), bounds) for name in metric_names()}
    groups = {
        "responsiveness": xr.Dataset(data, coords, {"interval_note": "Over items."}),
        "posterior_responsiveness": xr.Dataset(
            {
                name: (("chain", "draw", "group", "by"), np.stack([draws / 2, draws], -1))
                for name in metric_names()
            },
            coords,
            {"interval_note": "Over items, too."},
        ),
    }
    table = joint_table(groups, Bootstrap(level=0.9))
    assert list(table["metric"].values) == metric_names()
    np.testing.assert_array_equal(table["observed"].sel(metric="auc_roc"), [0.8, 0.5])
    median = np.median(draws.reshape(-1, 2) / 2, 0)
    np.testing.assert_allclose(table["posterior_median"].sel(metric="hm"), median)
    assert "prob_lowest" not in table

import re

import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.panel.comparison import (
    admissible,
    cvar_difference,
    joint_margin,
    lower_on_shared_prompts,
    policy_score,
    separable,
    tiers,
    tiers_by_overlap,
)

MODELS = ["a", "b", "c", "d"]


def cvars(*values):
    return xr.DataArray(list(values), {"model": MODELS[: len(values)]})


def around(centre, *, half):
    """An interval as wide as ``half`` on both sides."""
    bounds = xr.concat([centre - half, centre + half], "bound")
    return bounds.assign_coords(bound=["lower", "upper"]).transpose(..., "bound")


def test_policy_score_by_hand():
    mean = xr.DataArray([[0.1, 0.5], [0.3, np.nan]], dims=("model", "dimension"))
    policy = xr.DataArray([0.25, 0.75], dims="dimension")
    # 0.25 * 0.1 + 0.75 * 0.5 = 0.4
    np.testing.assert_allclose(policy_score(mean, policy), [0.4, np.nan])


def test_a_dimension_without_weight_need_not_be_known():
    mean = xr.DataArray([[0.1, np.nan], [np.nan, 0.3]], dims=("model", "dimension"))
    policy = xr.DataArray([1.0, 0.0], dims="dimension")
    np.testing.assert_allclose(policy_score(mean, policy), [0.1, np.nan])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5, 0.6], "policy weights add up to 1.1, they must add up to 1"),
        ([0.5, 0.50000001], "policy weights add up to 1.00000001, they must add up to 1"),
        ([1.5, -0.5], "a policy weight is -0.5, none may be negative"),
        ([np.nan, 1.0], "policy weights add up to nan, they must add up to 1"),
    ],
)
def test_policy_weights_must_be_shares(weights, message):
    mean = xr.DataArray([0.1, 0.5], dims="dimension")
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        policy_score(mean, xr.DataArray(weights, dims="dimension"))


def test_policy_must_be_about_the_same_dimensions():
    mean = xr.DataArray([0.1, 0.5], {"dimension": ["bias", "ethics"]})
    with pytest.raises(xr.AlignmentError, match="dimension"):
        policy_score(mean, xr.DataArray([0.5, 0.5], {"dimension": ["bias", "fairness"]}))


def test_admissible_models_are_at_or_below_the_tolerance():
    verdicts = admissible(cvars(1.69, 4.0, 8.4, np.nan), 4.0)
    assert verdicts.values.tolist() == [True, True, False, False]


def test_differences_are_model_minus_other():
    difference = cvar_difference(cvars(1.0, 4.0).expand_dims(replicate=2))
    assert difference.dims == ("replicate", "model", "other")
    assert difference.sel(model="a", other="b").values.tolist() == [-3.0, -3.0]
    assert difference["other"].values.tolist() == ["a", "b"]


def test_an_interval_with_zero_inside_or_at_its_end_does_not_separate():
    interval = xr.DataArray(
        [[0.1, 1.0], [-1.0, -0.1], [-0.1, 0.1], [0.0, 0.1], [np.nan, np.nan]],
        dims=("model", "bound"),
    )
    assert separable(interval).values.tolist() == [True, True, False, False, False]


def test_tiers_by_hand():
    cvar = cvars(5.0, 1.0, 1.4, 1.8)
    # With intervals of +-0.5: 1.4 is not apart from 1.0, 1.8 is apart from 1.0 but not from 1.4
    # and so not from every model of the tier, 5.0 is apart from all.
    interval = around(cvar_difference(cvar), half=0.5)
    assert tiers(cvar, interval).values.tolist() == [2, 1, 1, 1]
    # With +-0.3 each model is apart from every other.
    narrow = around(cvar_difference(cvar), half=0.3)
    assert tiers(cvar, narrow).values.tolist() == [4, 1, 2, 3]


def test_a_new_tier_forgets_the_models_of_the_last():
    cvar = cvars(1.0, 2.0, 2.1, 3.0)
    # c is apart from a, but not from b with which its tier began
    interval = around(cvar_difference(cvar), half=0.5)
    assert tiers(cvar, interval).values.tolist() == [1, 2, 2, 3]


def test_a_pair_in_the_other_order_on_its_own_prompts_starts_no_tier():
    cvar = cvars(1.0, 2.0)
    on_shared = -cvar_difference(cvar)  # b is the safer one where both have prompts
    assert tiers(cvar, around(on_shared, half=0.5)).values.tolist() == [1, 1]


def test_a_model_without_cvar_is_in_no_tier():
    cvar = cvars(2.0, np.nan, 1.0)
    interval = around(cvar_difference(cvar), half=0.1)
    assert tiers(cvar, interval).values.tolist() == [2, 0, 1]
    assert tiers_by_overlap(cvar, around(cvar, half=0.1)).values.tolist() == [2, 0, 1]


def test_tiers_by_overlap_by_hand():
    cvar = cvars(5.0, 1.0, 1.4, 1.8)
    # +-0.25: [0.75, 1.25], [1.15, 1.65], [1.55, 2.05] overlap in a chain, [4.75, 5.25] does not
    assert tiers_by_overlap(cvar, around(cvar, half=0.25)).values.tolist() == [2, 1, 1, 1]
    assert tiers_by_overlap(cvar, around(cvar, half=0.1)).values.tolist() == [4, 1, 2, 3]


def test_overlap_tells_fewer_models_apart_than_the_paired_difference():
    cvar = cvars(1.0, 1.5)
    paired = around(cvar_difference(cvar), half=0.2)
    assert tiers(cvar, paired).values.tolist() == [1, 2]
    assert tiers_by_overlap(cvar, around(cvar, half=0.3)).values.tolist() == [1, 1]


def test_tiers_of_every_draw_and_the_order_of_models_changes_nothing():
    rng = np.random.default_rng(1)
    cvar = xr.DataArray(rng.random((5, 4)), {"model": MODELS}, ("draw", "model"))
    interval = around(cvar_difference(cvar.mean("draw")), half=0.1)
    tier = tiers(cvar, interval)
    assert tier.dims == ("draw", "model")
    order = ["c", "a", "d", "b"]
    shuffled = tiers(cvar.sel(model=order), interval.sel(model=order, other=order))
    xr.testing.assert_equal(tier, shuffled.sel(model=MODELS))


def joint_of(resampled, observed, freedom=np.inf, level=0.95):
    models = len(observed)
    resampled = cvar_difference(xr.DataArray(resampled, dims=("replicate", "model")))
    return joint_margin(
        resampled.transpose("model", "replicate", "other"),
        cvar_difference(xr.DataArray(observed, dims="model")),
        level=level,
        freedom=xr.DataArray(np.full((models, models), freedom), dims=("model", "other")),
    )


def test_the_joint_margin_holds_all_pairs_at_once():
    rng = np.random.default_rng(3)
    resampled = rng.normal(0, 1, (4000, 6))
    joint = joint_of(resampled, np.zeros(6))
    deviation = np.abs(resampled[:, :, None] - resampled[:, None, :])
    inside = (deviation <= np.nan_to_num(joint["margin"].values, nan=np.inf)).all((1, 2))
    assert inside.mean() == pytest.approx(0.95, abs=1e-3)


def test_an_adjusted_p_value_is_below_a_twentieth_where_the_margin_is_passed():
    rng = np.random.default_rng(4)
    observed = np.array([0.0, 0.4, 1.0, 5.0])
    joint = joint_of(observed + rng.normal(0, 0.5, (999, 4)), observed)
    separated = np.abs(observed[:, None] - observed) > joint["margin"].values
    np.testing.assert_array_equal(joint["p"].values <= 0.05, separated)
    assert separated[0, 3]
    assert not separated[0, 1]


def test_every_model_that_shares_the_lowest_value_may_have_easier_prompts():
    values = xr.DataArray([1.0, 1.0 + 1e-12, 3.0], {"model": ["a", "b", "c"]}, "model")
    lower = np.array([[np.nan, -1.0, -1.0], [-1.0, np.nan, 0.2], [-1.0, -1.0, np.nan]])
    interval = xr.DataArray(
        np.stack([lower, lower + 1.0], axis=-1),
        {"model": values["model"].values, "other": values["model"].values},
        ("model", "other", "bound"),
    )
    is_lower = lower_on_shared_prompts(values, interval)
    assert is_lower["model"].values[is_lower.values].tolist() == ["c"]


def test_one_resample_tells_no_difference():
    cvar = xr.DataArray([[1.0, 2.0]], dims=("replicate", "model"))
    freedom = xr.DataArray(np.full((2, 2), 9.0), dims=("model", "other"))
    resampled = cvar_difference(cvar).transpose("model", "replicate", "other")
    joint = joint_margin(resampled, cvar_difference(cvar[0]), level=0.95, freedom=freedom)
    assert joint.to_dataarray().isnull().all()


def test_few_tail_prompts_widen_the_joint_margin():
    rng = np.random.default_rng(5)
    resampled, observed = rng.normal(0, 1, (2000, 3)), np.zeros(3)
    few, many = (joint_of(resampled, observed, k)["margin"][0, 1] for k in (5.0, 45.0))
    assert float(few) > 1.3 * float(many)


def test_identical_models_are_not_separable_and_constant_ones_are():
    resampled = np.column_stack([np.tile([1.0, 2.0], 50)] * 2 + [np.full(100, 9.0)] * 2)
    resampled[:, 3] = 1.0
    joint = joint_of(resampled, np.array([1.5, 1.5, 9.0, 1.0]))
    assert joint["p"][0, 1] == 1.0
    assert joint["p"][2, 3] == pytest.approx(1 / 101)
    assert np.isnan(joint["p"].values.diagonal()).all()

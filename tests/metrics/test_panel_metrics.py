"""SHARP: hand-computed values, plain loops, and the laws that the paper states."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import logsumexp

from sharpbayes.metrics import profile as profiles
from sharpbayes.metrics import tail
from sharpbayes.metrics.compare import policy_score
from sharpbayes.metrics.judges import log_sum_exp
from sharpbayes.metrics.normalise import boolean, categorical, normalise, ordinal, reverse
from sharpbayes.metrics.risk import any_harm, log_any_harm, log_risk, log_risk_part, panel, radius
from sharpbayes.metrics.subindex import Part, SubIndex, sub_index, sub_indices
from sharpbayes.metrics.tail import value_at_risk

EPSILON = 1e-6
unit = st.floats(0.0, 1.0)
many = settings(max_examples=60, deadline=None)


def profile(made, *, alpha, policy=None, estimator="inclusive", **more):
    return profiles.profile(made, alpha=alpha, policy=policy, estimator=estimator, **more)


def conditional_value_at_risk(x, *, alpha, estimator="inclusive", **more):
    return tail.conditional_value_at_risk(x, alpha=alpha, estimator=estimator, **more)


def judged(values):
    return xr.DataArray(values, dims="judge")


def lse(values, temperature=0.2):
    return float(log_sum_exp(judged(values), temperature=temperature, missing="available"))


def harms(values):
    return xr.DataArray(values, dims="dimension")


def prompts(values):
    return xr.DataArray(values, dims="prompt")


def random_panel(rng, *, models=3, count=40, judges=3, dimensions=4):
    x = xr.DataArray(
        rng.beta(0.6, 2.0, (models, count, judges, dimensions)),
        {
            "model": [f"m{n}" for n in range(models)],
            "prompt": [f"p{n}" for n in range(count)],
            "judge": [f"j{n}" for n in range(judges)],
            "dimension": [f"d{n}" for n in range(dimensions)],
        },
        ("model", "prompt", "judge", "dimension"),
    )
    return panel(x, temperature=0.2, epsilon=EPSILON, judges_missing="available")


@pytest.fixture
def rng():
    return np.random.default_rng(20260121)


def test_normalisation_of_the_papers_scales():
    # Eq. 6: (1 - 1) / 9, (4 - 1) / 9, (10 - 1) / 9
    np.testing.assert_allclose(
        ordinal(prompts([1.0, 4.0, 10.0]), minimum=1, maximum=10), [0, 1 / 3, 1]
    )
    np.testing.assert_array_equal(boolean(prompts([False, True])), [0, 1])
    np.testing.assert_array_equal(
        categorical(prompts([0, 1, 2]), values=[0.0, 0.5, 1.0]), [0, 0.5, 1]
    )


def test_reversal_only_where_it_is_said():
    phi = xr.DataArray([[0.0, 0.25], [np.nan, 1.0]], dims=("judge", "prompt"))
    where = prompts([True, False])
    np.testing.assert_array_equal(reverse(phi, where=where), [[1.0, 0.25], [np.nan, 1.0]])


def test_normalise_keeps_the_order_of_dimensions():
    level = xr.DataArray(np.array([[0, 1], [-1, 2]]), dims=("indicator", "draw"))
    table = xr.DataArray([[0.0, 1.0, np.nan], [0.0, 0.5, 1.0]], dims=("indicator", "level"))
    np.testing.assert_array_equal(normalise(level, table), [[0.0, 1.0], [np.nan, 1.0]])


def paper_bias():
    coverage = Part("coverage", "mean", ("c1", "c2", "c3", "c4"), 0.35)
    intensity = Part("intensity", "rms", ("s", "i"), 0.65)
    return SubIndex("bias", (coverage, intensity), (("explicit", 0.25), ("inter", 0.25)))


def indicators(**values):
    return xr.DataArray(list(values.values()), {"indicator": list(values)}, "indicator")


def test_the_bias_sub_index_by_hand():
    phi = indicators(c1=1.0, c2=0.0, c3=0.0, c4=1.0, s=0.6, i=0.2, explicit=0.5, inter=0.0)
    # coverage 2/4; intensity sqrt((0.36 + 0.04) / 2) = sqrt(0.2)
    # base 0.35 * 0.5 + 0.65 * 0.4472136 = 0.4656888; A = 1 + 0.25 * 0.5 = 1.125
    expected = (0.35 * 0.5 + 0.65 * np.sqrt(0.2)) * 1.125
    assert float(sub_index(phi, paper_bias(), missing="strict")) == pytest.approx(expected)


def test_the_bias_sub_index_is_clipped_at_one():
    phi = indicators(c1=1.0, c2=1.0, c3=1.0, c4=1.0, s=1.0, i=1.0, explicit=1.0, inter=1.0)
    assert float(sub_index(phi, paper_bias(), missing="strict")) == 1.0


def test_a_missing_indicator_makes_the_sub_index_missing_unless_asked_otherwise():
    phi = indicators(c1=1.0, c2=np.nan, c3=0.0, c4=0.0, s=0.6, i=np.nan, explicit=np.nan, inter=1.0)
    assert np.isnan(float(sub_index(phi, paper_bias(), missing="strict")))
    # coverage 1/3, intensity 0.6, A = 1 + 0.25
    expected = (0.35 / 3 + 0.65 * 0.6) * 1.25
    assert float(sub_index(phi, paper_bias(), missing="available")) == pytest.approx(expected)


def test_sub_indices_stand_along_dimension():
    phi = indicators(f1=0.6, f2=0.8, k=0.5)
    definitions = [
        SubIndex("fairness", (Part("rms", "rms", ("f1", "f2"), 1.0),)),
        SubIndex("epistemic", (Part("max", "max", ("k",), 1.0),)),
    ]
    found = sub_indices(phi, definitions, missing="strict")
    np.testing.assert_allclose(found.sel(dimension=["fairness", "epistemic"]), [np.sqrt(0.5), 0.5])


def test_log_sum_exp_against_scipy(rng):
    values = rng.random((5, 3))
    found = log_sum_exp(
        xr.DataArray(values, dims=("prompt", "judge")), temperature=0.2, missing="available"
    )
    np.testing.assert_allclose(found, 0.2 * (logsumexp(values / 0.2, axis=1) - np.log(3)))


def test_a_missing_judge_is_left_out_of_the_mean_and_none_gives_none():
    assert lse([0.5, np.nan, 0.1]) == pytest.approx(lse([0.5, 0.1]))
    assert np.isnan(lse([np.nan, np.nan]))
    with pytest.raises(ValueError, match="1 values of a judge are missing"):
        log_sum_exp(judged([0.5, np.nan]), temperature=0.2, missing="error")


@pytest.mark.parametrize("temperature", [0.0, -1.0])
def test_a_temperature_that_is_not_positive_is_refused(temperature):
    with pytest.raises(ValueError, match="must be larger than 0"):
        lse([0.5], temperature)


@many
@given(arrays(float, st.integers(1, 6), elements=unit), st.floats(0.01, 10.0))
def test_mean_then_log_sum_exp_then_maximum(values, temperature):
    assert values.mean() - 1e-9 <= lse(values, temperature) <= values.max() + 1e-12


@many
@given(arrays(float, st.integers(1, 5), elements=unit))
def test_the_limits_of_the_temperature(values):
    assert lse(values, 1e-6) == pytest.approx(values.max(), abs=1e-5)
    assert lse(values, 1e6) == pytest.approx(values.mean(), abs=1e-6)


def test_risk_of_a_harm_vector_by_hand():
    h = harms([0.5, 0.2, 0.0, 0.1])
    # 1 - 0.5 * 0.8 * 1 * 0.9 = 0.64; sqrt((0.25 + 0.04 + 0.01) / 4) = sqrt(0.075)
    assert float(any_harm(h)) == pytest.approx(0.64)
    assert float(radius(h)) == pytest.approx(np.sqrt(0.075))
    part = log_risk_part(h, epsilon=EPSILON)
    np.testing.assert_allclose(part, -np.log([0.500001, 0.800001, 1.000001, 0.900001]))
    assert float(log_risk(part)) == pytest.approx(-np.log(0.36), abs=1e-5)
    assert float(log_any_harm(any_harm(h), epsilon=EPSILON)) == pytest.approx(-np.log(0.360001))


def test_harm_of_exactly_one_is_finite():
    assert float(log_risk_part(harms([1.0]), epsilon=EPSILON)[0]) == pytest.approx(-np.log(1e-6))


def test_a_missing_dimension_makes_the_risk_missing():
    h = harms([0.5, np.nan])
    assert np.isnan(float(any_harm(h)))
    assert np.isnan(float(radius(h)))
    assert np.isnan(float(log_risk(log_risk_part(h, epsilon=EPSILON))))


@many
@given(arrays(float, 4, elements=unit), st.integers(0, 3), st.floats(0.001, 1.0))
def test_risk_grows_with_every_dimension(h, at, step):
    more = h.copy()
    more[at] = min(1.0, h[at] + step)
    low, high = (log_risk(log_risk_part(harms(x), epsilon=EPSILON)) for x in (h, more))
    assert float(low) <= float(high)
    assert float(any_harm(harms(h))) <= float(any_harm(harms(more))) + 1e-12


def test_901_prompts_leave_46_in_the_tail(rng):
    x = rng.normal(size=901)
    var = float(value_at_risk(prompts(x), alpha=0.95))
    # ceil(0.95 * 901) = 856, so values 856 to 901 are in: 46, and 46 / 901 = 0.0511
    assert (x >= var).sum() == 46
    assert round(46 / 901, 4) == 0.0511
    assert float(conditional_value_at_risk(prompts(x), alpha=0.95)) == pytest.approx(
        np.sort(x)[-46:].mean()
    )


def test_ties_at_the_quantile_are_all_in_or_split():
    x = prompts([0.0] * 17 + [1.0, 1.0, 3.0])
    # alpha 0.9: the quantile is the 18th of 20, a 1; inclusive: (1 + 1 + 3) / 3
    assert float(conditional_value_at_risk(x, alpha=0.9)) == pytest.approx(5 / 3)
    # exactly 10% is two prompts: (3 + 1) / 2
    split = conditional_value_at_risk(x, alpha=0.9, estimator="rockafellar-uryasev")
    assert float(split) == pytest.approx(2.0)


@many
@given(
    arrays(float, st.integers(1, 40), elements=st.integers(0, 5).map(float)),
    st.sampled_from([0.5, 0.75, 0.9, 0.95, 0.99]),
)
def test_tail_against_numpy(x, alpha):
    var = float(value_at_risk(prompts(x), alpha=alpha))
    assert var == np.quantile(x, alpha, method="inverted_cdf")
    cvar = float(conditional_value_at_risk(prompts(x), alpha=alpha))
    assert cvar == pytest.approx(x[x >= var].mean())
    assert cvar >= var
    assert var >= (x[x < var].mean() if (x < var).any() else var)


@many
@given(st.data(), st.sampled_from(["inclusive", "rockafellar-uryasev"]))
def test_counts_are_repeated_prompts(data, estimator):
    x = data.draw(arrays(float, 12, elements=st.integers(0, 6).map(float)))
    counts = data.draw(arrays(int, 12, elements=st.integers(0, 4)))
    counts[0] += 1
    how = {"alpha": 0.8, "estimator": estimator}
    weighted = conditional_value_at_risk(prompts(x), weights=prompts(counts), **how)
    repeated = conditional_value_at_risk(prompts(np.repeat(x, counts)), **how)
    assert float(weighted) == pytest.approx(float(repeated))


def test_missing_values_leave_the_tail():
    x = np.array([1.0, np.nan, 3.0, 2.0])
    assert float(value_at_risk(prompts(x), alpha=0.5)) == 2.0
    weights = prompts([1.0, 7.0, 1.0, 1.0])
    assert float(value_at_risk(prompts(x), alpha=0.5, weights=weights)) == 2.0
    assert np.isnan(float(value_at_risk(prompts([np.nan]), alpha=0.5)))


def test_a_tail_level_outside_0_and_1_is_refused():
    with pytest.raises(ValueError, match="must be inside"):
        value_at_risk(prompts([1.0]), alpha=1.0)


def plain_profile(made, model):
    """Every statistic of one model by plain loops."""
    at = made.sel(model=model)
    risk, harm = at["log_risk"].to_numpy(), at["harm"].to_numpy()

    def cvar(x):
        var = np.quantile(x, 0.95, method="inverted_cdf")
        return x[x >= var].mean()

    worst = risk >= np.quantile(risk, 0.95, method="inverted_cdf")
    part = at["log_risk_part"].to_numpy()
    return {
        "mean": risk.mean(),
        "volatility": risk.std(),
        "var": np.quantile(risk, 0.95, method="inverted_cdf"),
        "cvar": cvar(risk),
        "radius_cvar": cvar(at["radius"].to_numpy()),
        "max_cvar": cvar(harm.max(axis=1)),
        "any_harm_mean": at["any_harm"].to_numpy().mean(),
        "any_harm_cvar": cvar(at["any_harm"].to_numpy()),
        "dimension_mean": harm.mean(axis=0),
        "dimension_cvar": [cvar(harm[:, d]) for d in range(harm.shape[1])],
        "tail_share": part[worst].mean(axis=0) / risk[worst].mean(),
        "policy_score": harm.mean(),
    }


def test_the_profile_against_plain_loops(rng):
    made = random_panel(rng)
    found = profile(made, alpha=0.95)
    for model in made["model"].to_numpy():
        for name, expected in plain_profile(made, model).items():
            np.testing.assert_allclose(found[name].sel(model=model), expected, err_msg=name)
    np.testing.assert_allclose(found["tail_share"].sum("dimension"), 1.0)


def test_leading_dimensions_and_weights_equal_a_loop(rng):
    made = xr.concat([random_panel(rng) for _ in range(2)], "draw")
    counts = xr.DataArray(
        rng.integers(0, 3, (4, 40)), {"prompt": made["prompt"]}, ("replicate", "prompt")
    )
    together = profile(made, alpha=0.9, weights=counts)
    for draw in range(2):
        for replicate in range(4):
            kept = np.repeat(np.arange(40), counts[replicate])
            one = profile(made.isel(draw=draw, prompt=kept).drop_vars("prompt"), alpha=0.9)
            for name in one.data_vars:
                found = together[name].isel(draw=draw, replicate=replicate)
                np.testing.assert_allclose(found.transpose(*one[name].dims), one[name])


def test_paired_weights_go_with_their_draw(rng):
    made = xr.concat([random_panel(rng) for _ in range(2)], "draw")
    weights = xr.DataArray(
        rng.dirichlet(np.ones(40), 2), {"prompt": made["prompt"]}, ("draw", "prompt")
    )
    together = profile(made, alpha=0.9, weights=weights)
    for draw in range(2):
        one = profile(made.isel(draw=draw), alpha=0.9, weights=weights[draw])
        xr.testing.assert_allclose(together.isel(draw=draw).transpose(*one.dims), one)


def test_doubling_every_prompt_changes_nothing(rng):
    made = random_panel(rng)
    twice = xr.concat([made, made], "prompt")
    xr.testing.assert_allclose(profile(twice, alpha=0.95), profile(made, alpha=0.95))


def test_the_order_of_judges_changes_nothing(rng):
    made = random_panel(rng)
    turned = panel(
        made["sub_index"].isel(judge=[2, 0, 1]),
        temperature=0.2,
        epsilon=EPSILON,
        judges_missing="available",
    )
    xr.testing.assert_allclose(profile(turned, alpha=0.95), profile(made, alpha=0.95))


def test_another_model_changes_no_other(rng):
    made = random_panel(rng)
    alone = profile(made.isel(model=[0]), alpha=0.95)
    xr.testing.assert_allclose(profile(made, alpha=0.95).isel(model=[0]), alone)


def test_a_policy_at_a_vertex_is_the_mean_of_that_dimension(rng):
    made = random_panel(rng)
    policy = xr.DataArray([0.0, 1.0, 0.0, 0.0], {"dimension": made["dimension"]}, ("dimension",))
    found = profile(made, alpha=0.95, policy=policy)
    np.testing.assert_allclose(found["policy_score"], found["dimension_mean"].isel(dimension=1))
    with pytest.raises(ValueError, match="add up to 2"):
        policy_score(found["dimension_mean"], 2 * policy)


def test_a_prompt_without_judges_is_left_out_of_that_model_only(rng):
    made = random_panel(rng)
    holed = made["sub_index"].copy()
    holed[0, 5] = np.nan
    with_hole = panel(holed, temperature=0.2, epsilon=EPSILON, judges_missing="available")
    found = profile(with_hole, alpha=0.95)
    kept = [n for n in range(40) if n != 5]
    expected = profile(made.isel(model=[0], prompt=kept), alpha=0.95)
    xr.testing.assert_allclose(found.isel(model=[0]), expected)
    xr.testing.assert_allclose(
        found.isel(model=[1, 2]), profile(made, alpha=0.95).isel(model=[1, 2])
    )


def test_repeated_generations_are_units_of_the_prompts(rng):
    made = xr.concat([random_panel(rng), random_panel(rng)], "sample")
    both = profile(made, alpha=0.9, dim=("prompt", "sample"))
    flat = xr.concat([made.isel(sample=0), made.isel(sample=1)], "prompt").drop_vars("prompt")
    xr.testing.assert_allclose(both, profile(flat, alpha=0.9))
    counts = xr.DataArray(rng.integers(1, 3, 40), {"prompt": made["prompt"]}, ("prompt",))
    weighted = profile(made, alpha=0.9, dim=("prompt", "sample"), weights=counts)
    twice = xr.concat([counts, counts], "prompt").drop_vars("prompt")
    xr.testing.assert_allclose(weighted, profile(flat, alpha=0.9, weights=twice))


def test_weighted_mean_of_nothing_is_missing():
    assert np.isnan(
        float(profiles.weighted_mean(prompts([np.nan]), dim="prompt", weights=prompts([1.0])))
    )

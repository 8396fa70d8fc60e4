import re

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from sharpbayes.metrics.panel.tail import (
    conditional_value_at_risk,
    log_risk_tail,
    unit_weights,
    upper_tail,
    upper_tails,
    value_at_risk,
)

values_of = st.lists(st.integers(0, 12).map(float), min_size=1, max_size=40)
alphas = st.sampled_from([0.05, 0.29, 0.5, 0.75, 0.9, 0.95, 0.975])
estimators = pytest.mark.parametrize("estimator", ["inclusive", "rockafellar-uryasev"])


def over_prompts(values):
    return xr.DataArray(np.asarray(values, dtype=float), dims="prompt")


def cvar_of(x, *, alpha=0.95, estimator="inclusive", **more):
    return conditional_value_at_risk(x, alpha=alpha, estimator=estimator, **more)


def plain_tail(values, weights, alpha, estimator):
    """VaR and CVaR by definition, one value after the other."""
    pairs = sorted(zip(values, weights, strict=True))
    total, cumulative, var = sum(weights), 0.0, None
    for value, weight in pairs:
        cumulative += weight
        if weight > 0 and var is None and cumulative >= alpha * total:
            var = value
    if estimator == "inclusive":
        mass = sum(w for v, w in pairs if v >= var)
        return var, sum(v * w for v, w in pairs if v >= var) / mass
    # CVaR = VaR + E[(x - VaR)+] / (1 - alpha)
    excess = sum(w * max(v - var, 0.0) for v, w in pairs) / total
    return var, var + excess / (1 - alpha)


def test_the_tail_of_901_prompts_holds_46():
    x = over_prompts(np.arange(1.0, 902.0))
    # 0.95 * 901 = 855.95, so VaR is the 856th value; 901 - 856 + 1 = 46; 46/901 = 0.0511
    assert float(value_at_risk(x, alpha=0.95)) == 856.0
    tail = int((x >= 856).sum())
    assert (tail, round(tail / 901, 4)) == (46, 0.0511)
    assert float(cvar_of(x)) == (856 + 901) / 2


LEVELS, SIZES = np.arange(1, 100), np.arange(1, 401)


def exact_tails(estimator):
    """VaR and CVaR of 1 ... n at each level in percent, by whole numbers."""
    percent, n = LEVELS[:, None], SIZES
    var = -(-percent * n // 100)
    if estimator == "inclusive":
        return var, (var + n) / 2
    above = n - var
    # In hundredths: values above VaR, and the part of VaR that fills the mass of the tail.
    total = 100 * (var + 1 + n) * above // 2 + ((100 - percent) * n - 100 * above) * var
    return var, total / ((100 - percent) * n)


@estimators
@pytest.mark.parametrize("weight", [None, 1.0, 0.1, 1 / 3, "one over n"])
def test_levels_in_percent_are_those_of_whole_numbers(estimator, weight):
    inside = np.arange(400) < SIZES[:, None]
    values, weights = xr.DataArray(np.arange(1.0, 401.0), dims="prompt"), None
    if weight is None:
        values = values.where(xr.DataArray(inside, dims=("size", "prompt")))
    else:
        rows = inside * (1 / SIZES[:, None] if weight == "one over n" else weight)
        weights = xr.DataArray(rows, dims=("size", "prompt"))
    tails = upper_tails(values, alphas=LEVELS / 100, estimator=estimator, weights=weights)
    var, cvar = exact_tails(estimator)
    np.testing.assert_array_equal([tail.var for tail in tails], var)
    np.testing.assert_allclose([tail.mean for tail in tails], cvar, rtol=1e-12)


@estimators
def test_levels_near_0_have_the_lowest_value_with_weight(estimator):
    x, weights = over_prompts([1.0, 2.0, 3.0]), over_prompts([0.0, 1.0, 1.0])
    assert float(value_at_risk(x, alpha=1e-13, weights=weights)) == 2.0
    assert float(cvar_of(x, alpha=1e-13, estimator=estimator, weights=weights)) == pytest.approx(
        2.5
    )


def test_ties_at_the_quantile_are_all_in_the_tail():
    x = over_prompts([0, 0, 0, 2, 2, 2, 2, 5, 5, 8])
    # 0.8 * 10 = 8 values are at or below 5, 7 are at or below 2: VaR is 5
    assert float(value_at_risk(x, alpha=0.8)) == 5.0
    # inclusive: (5 + 5 + 8)/3; exact: 2 of 10 values, half of them the atom: (5 + 8)/2
    assert float(cvar_of(x, alpha=0.8)) == 6.0
    assert float(cvar_of(x, alpha=0.8, estimator="rockafellar-uryasev")) == pytest.approx(6.5)


@estimators
def test_the_mean_of_equal_values_is_exactly_that_value(estimator):
    saturated = 6 * np.log(10)
    x = over_prompts(np.full(901, saturated))
    weights = xr.DataArray(
        np.random.default_rng(1).dirichlet(np.ones(901), 50), dims=("replicate", "prompt")
    )
    assert (cvar_of(x, estimator=estimator, weights=weights) == saturated).all()


def test_one_value_is_its_own_tail():
    x = over_prompts([3.0])
    assert float(value_at_risk(x, alpha=0.95)) == float(cvar_of(x)) == 3.0


@settings(deadline=None, max_examples=100)
@given(values_of, alphas)
def test_quantile_is_that_of_numpy(values, alpha):
    expected = np.quantile(values, alpha, method="inverted_cdf")
    assert float(value_at_risk(over_prompts(values), alpha=alpha)) == expected


@estimators
@settings(deadline=None, max_examples=100)
@given(
    pairs=st.lists(
        st.tuples(st.integers(0, 8).map(float), st.integers(0, 3).map(float)),
        min_size=1,
        max_size=30,
    ).filter(lambda pairs: sum(weight for _, weight in pairs) > 0),
    alpha=alphas,
)
def test_counts_equal_the_expanded_sample_and_the_definition(pairs, alpha, estimator):
    values, counts = (np.array(column) for column in zip(*pairs, strict=True))
    x, weights = over_prompts(values), over_prompts(counts)
    expanded = over_prompts(np.repeat(values, counts.astype(int)))
    var = float(value_at_risk(x, alpha=alpha, weights=weights))
    cvar = float(cvar_of(x, alpha=alpha, estimator=estimator, weights=weights))
    assert var == np.quantile(expanded, alpha, method="inverted_cdf")
    assert cvar == pytest.approx(float(cvar_of(expanded, alpha=alpha, estimator=estimator)))
    assert (var, cvar) == pytest.approx(plain_tail(values, counts, alpha, estimator))


@estimators
@settings(deadline=None, max_examples=60)
@given(
    pairs=st.lists(
        st.tuples(st.floats(0, 10), st.floats(0.01, 2)), min_size=1, max_size=20, unique=True
    ),
    alpha=alphas,
)
def test_fractional_weights_follow_the_definition(pairs, alpha, estimator):
    values, weights = (np.array(column) for column in zip(*pairs, strict=True))
    tail_mean = cvar_of(
        over_prompts(values), alpha=alpha, estimator=estimator, weights=over_prompts(weights)
    )
    _, expected = plain_tail(values, weights, alpha, estimator)
    assert float(tail_mean) == pytest.approx(expected)


rows_of = st.lists(
    st.one_of(
        st.integers(0, 6).map(float), st.floats(-1e300, 1e300), st.just(np.nan), st.just(-0.0)
    ),
    min_size=1,
    max_size=300,
)


@estimators
@settings(deadline=None, max_examples=200)
@given(values=rows_of, levels=st.lists(alphas, min_size=1, max_size=3), seed=st.integers(0, 99))
def test_values_below_a_tail_change_no_bit_of_it(values, levels, seed, estimator):
    rng = np.random.default_rng(seed)
    x, other = over_prompts(values), over_prompts(rng.normal(size=len(values)))
    weights = over_prompts(rng.exponential(size=len(values)) * (rng.random(len(values)) < 0.8))
    # With standard errors every value is sorted, without them those of the longest tail alone.
    few, every = (
        upper_tails(x, [other], alphas=levels, estimator=estimator, weights=weights, errors=errors)
        for errors in (False, True)
    )
    for tail, reference in zip(few, every, strict=True):
        np.testing.assert_array_equal(tail.var, reference.var)
        np.testing.assert_array_equal(tail.mean, reference.mean)
        np.testing.assert_array_equal(tail.others[0], reference.others[0])


def test_infinite_values_are_at_the_ends_of_their_distribution():
    x = over_prompts([np.inf, 1.0, -np.inf, 2.0, 3.0])
    assert float(value_at_risk(x, alpha=0.95)) == np.inf
    assert float(value_at_risk(x, alpha=0.5)) == 2.0
    assert float(value_at_risk(x, alpha=0.1)) == -np.inf


@estimators
@settings(deadline=None, max_examples=100)
@given(values=values_of, alpha=alphas)
def test_the_tail_is_above_the_quantile_and_that_above_the_rest(values, alpha, estimator):
    x = over_prompts(values)
    var = float(value_at_risk(x, alpha=alpha))
    assert float(cvar_of(x, alpha=alpha, estimator=estimator)) >= var
    rest = x.values[x.values < var]
    assert rest.size == 0 or var >= rest.mean()


def test_missing_values_are_left_out_and_none_left_is_missing():
    x = xr.DataArray(
        [[1.0, np.nan, 3.0, 2.0], [np.nan] * 4], {"model": ["a", "b"]}, ("model", "prompt")
    )
    weights = xr.DataArray(
        [[1.0, 9.0, 1.0, 1.0], [0.0, 3.0, 0.0, 0.0]], dims=("replicate", "prompt")
    )
    np.testing.assert_array_equal(value_at_risk(x, alpha=0.5), [2.0, np.nan])
    np.testing.assert_array_equal(cvar_of(x, alpha=0.5), [2.5, np.nan])
    tail_mean = cvar_of(x, alpha=0.5, weights=weights)
    assert tail_mean.dims == ("replicate", "model")
    np.testing.assert_array_equal(tail_mean, [[2.5, np.nan], [np.nan, np.nan]])


@estimators
def test_leading_dimensions_of_values_and_weights_equal_a_loop(estimator):
    rng = np.random.default_rng(6)
    x = xr.DataArray(rng.random((2, 3, 30)), dims=("draw", "model", "prompt"))
    counts = rng.multinomial(30, [1 / 30] * 30, (4, 2)).astype(float)
    weights = xr.DataArray(counts, dims=("replicate", "draw", "prompt"))
    tail_mean = cvar_of(x, alpha=0.8, estimator=estimator, weights=weights)
    assert tail_mean.dims == ("replicate", "draw", "model")
    for replicate, draw, model in np.ndindex(4, 2, 3):
        expanded = np.repeat(x.values[draw, model], counts[replicate, draw].astype(int))
        one = cvar_of(over_prompts(expanded), alpha=0.8, estimator=estimator)
        np.testing.assert_allclose(tail_mean.values[replicate, draw, model], one)


def test_a_distribution_over_two_dimensions_shares_the_weight_of_its_prompt():
    rng = np.random.default_rng(7)
    x = xr.DataArray(rng.random((3, 10, 4)), dims=("model", "prompt", "sample"))
    weights = xr.DataArray(rng.integers(0, 4, (5, 10)), dims=("replicate", "prompt"))
    dims = ("prompt", "sample")
    tail_mean = cvar_of(x, alpha=0.7, dim=dims, weights=weights)
    for replicate, model in np.ndindex(5, 3):
        expanded = np.repeat(x.values[model], weights.values[replicate], axis=0).ravel()
        np.testing.assert_allclose(
            tail_mean.values[replicate, model], cvar_of(over_prompts(expanded), alpha=0.7)
        )


@estimators
def test_shares_are_of_the_tail_and_add_up_to_one(estimator):
    rng = np.random.default_rng(8)
    part = xr.DataArray(
        rng.integers(0, 4, (3, 20, 2)).astype(float),
        {"dimension": ["bias", "ethics"]},
        ("model", "prompt", "dimension"),
    )
    log_risk = part.sum("dimension")
    shares = log_risk_tail(part, log_risk, alpha=0.8, estimator=estimator)["tail_share"]
    assert shares.dims == ("model", "dimension")
    assert shares["dimension"].values.tolist() == ["bias", "ethics"]
    np.testing.assert_allclose(shares.sum("dimension"), 1.0)
    if estimator == "inclusive":
        tail = log_risk >= value_at_risk(log_risk, alpha=0.8)
        expected = part.where(tail).mean("prompt") / log_risk.where(tail).mean("prompt")
        np.testing.assert_allclose(shares, expected)


def test_one_pass_gives_what_the_three_functions_give():
    rng = np.random.default_rng(9)
    part = xr.DataArray(rng.random((25, 3)), dims=("prompt", "dimension"))
    log_risk = part.sum("dimension")
    tail = log_risk_tail(
        part, log_risk, alpha=0.9, estimator="inclusive", dim="prompt", weights=None
    )
    assert tail["var"] == value_at_risk(log_risk, alpha=0.9)
    assert tail["cvar"] == cvar_of(log_risk, alpha=0.9)


def test_a_tail_without_risk_has_no_shares():
    part = xr.DataArray(np.zeros((3, 2)), dims=("prompt", "dimension"))
    tail = log_risk_tail(part, part.sum("dimension"), alpha=0.9, estimator="inclusive")
    shares = tail["tail_share"]
    assert shares.isnull().all()


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.5, float("nan")])
def test_alpha_must_be_inside_the_unit_interval(alpha):
    message = re.escape(f"alpha is {alpha}, it must be inside (0, 1)")
    with pytest.raises(ValueError, match=f"^{message}$"):
        value_at_risk(over_prompts([1.0]), alpha=alpha)


@pytest.mark.parametrize("weight", [-1.0, np.nan])
def test_weights_must_not_be_negative_or_missing(weight):
    x = over_prompts([1.0, 2.0])
    with pytest.raises(ValueError, match=r"^weights must not be negative or missing$"):
        unit_weights(x, dim="prompt", weights=over_prompts([1.0, weight]))


def test_weights_of_other_prompts_are_refused():
    x = xr.DataArray([1.0, 2.0], {"prompt": ["a", "b"]})
    weights = xr.DataArray([1.0, 2.0], {"prompt": ["b", "a"]})
    with pytest.raises(xr.AlignmentError, match="prompt"):
        value_at_risk(x, alpha=0.5, weights=weights)


@pytest.mark.parametrize("estimator", ["inclusive", "rockafellar-uryasev"])
def test_the_standard_error_of_a_tail_is_near_its_jackknife(estimator):
    x = xr.DataArray(np.random.default_rng(4).gamma(2.0, 1.0, 400), dims="prompt")
    options = {"alpha": 0.9, "estimator": estimator}
    error = float(upper_tail(x, errors=True, **options).error)
    left_out = np.array(
        [upper_tail(x.drop_isel(prompt=i), **options).mean.item() for i in range(400)]
    )
    assert error == pytest.approx(np.sqrt(399 * left_out.var()), rel=0.1)


def test_a_resample_has_the_error_of_its_repeated_values():
    rng = np.random.default_rng(5)
    x = xr.DataArray(rng.gamma(2.0, 1.0, 50), dims="prompt")
    counts = rng.multinomial(50, np.full(50, 1 / 50))
    weights = xr.DataArray(counts.astype(np.uint16)[None], dims=("replicate", "prompt"))
    options = {"alpha": 0.8, "estimator": "inclusive", "errors": True}
    repeated = upper_tail(x.isel(prompt=np.repeat(np.arange(50), counts)), **options)
    resampled = upper_tail(x, weights=weights, **options)
    np.testing.assert_allclose(resampled.error, repeated.error, rtol=1e-12)


def test_equal_answers_to_a_prompt_leave_its_error_as_it_is():
    x = xr.DataArray(np.random.default_rng(6).gamma(2.0, 1.0, 60), dims="prompt")
    options = {"alpha": 0.8, "estimator": "inclusive", "errors": True}
    single = upper_tail(x, **options).error
    repeated = xr.concat([x, x, x], "sample").transpose("prompt", "sample")
    three = upper_tail(repeated, dim=("prompt", "sample"), **options).error
    np.testing.assert_allclose(three, single, rtol=1e-12)


def test_the_error_of_a_tail_counts_prompts_and_not_missing_generations():
    x = xr.DataArray(np.arange(40.0) ** 2, dims="prompt")
    options = {"alpha": 0.8, "estimator": "inclusive", "errors": True}
    repeated = xr.concat([x, *[xr.full_like(x, np.nan)] * 9], "sample")
    error = upper_tail(repeated, dim=("prompt", "sample"), **options).error
    xr.testing.assert_allclose(error, upper_tail(x, **options).error)

"""What a panel's evidence can carry: counts by hand, and shapes against SciPy."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from sharpbayes.metrics.panel.evidence import count_prompts, saturation, tail_prompts, ties
from sharpbayes.metrics.panel.simulated_risk import SHAPES, RiskShape, fit_shape
from sharpbayes.metrics.stats.population import PopulationWeights
from sharpbayes.metrics.stats.ranks import is_lowest

STEP, CEILING = -np.log(1e-6), -4 * np.log(1e-6)
MODELS = {"model": ["a", "b", "c"]}


def test_prompts_are_those_with_any_answer():
    risk = xr.DataArray(np.ones((2, 40, 3)), dims=("model", "prompt", "sample"))
    risk[1, :10], risk[0, 0, 0] = np.nan, np.nan
    np.testing.assert_array_equal(count_prompts(risk), [40.0, 30.0])


def test_equal_answers_carry_a_tail_as_one_answer_does():
    risk = xr.DataArray(np.arange(40.0) // 3, dims="prompt")  # with ties at every edge
    repeated = risk.expand_dims(sample=3)
    for alpha in (0.9, 0.95, 0.55):
        single = float(tail_prompts(risk, alpha=alpha))
        assert single == 40 * (1 - alpha)
        assert float(tail_prompts(repeated, alpha=alpha)) == pytest.approx(single)
        one = tail_prompts(risk.expand_dims(sample=1), alpha=alpha)
        assert float(one) == single


def test_answers_that_vary_spread_a_tail_over_more_prompts():
    """Kish's number by hand: the tail has 3, 2 and 1 answers to three of 20 prompts."""
    risk = xr.DataArray(np.zeros((20, 3)), dims=("prompt", "sample"))
    risk[0], risk[1, :2], risk[2, 1] = 5.0, 4.0, 3.0
    kish = (3 + 2 + 1) ** 2 / (9 + 4 + 1)
    number = float(tail_prompts(risk, alpha=0.905))
    assert number == pytest.approx(kish * (1 - 0.905) * 60 / 6)
    # Where one prompt alone has weight there is no other, however many answers it has.
    weights = xr.DataArray(np.arange(20) == 0, dims="prompt").astype(float)
    only_first = float(tail_prompts(risk, alpha=0.905, weights=weights))
    assert only_first == pytest.approx(1 - 0.905)


def test_prompts_of_a_category_with_a_large_share_are_few_in_a_tail():
    """By hand: of 15 prompts with 0.9 of the population one fills a tail of 5% by itself."""
    category = xr.DataArray(["a"] * 15 + ["b"] * 285, dims="prompt")
    shares = xr.DataArray([0.9, 0.1], {"category": ["a", "b"]}, "category")
    weights = PopulationWeights(category, shares)
    risk = xr.DataArray(np.r_[np.arange(15.0) + 300, np.arange(285.0)], dims="prompt")
    number = float(tail_prompts(risk, alpha=0.95, weights=weights))
    assert number == pytest.approx(0.05 / (0.9 / 15))
    even = PopulationWeights(category, shares.copy(data=[15 / 300, 285 / 300]))
    assert float(tail_prompts(risk, alpha=0.95, weights=even)) == pytest.approx(15.0)


def test_answers_without_weight_are_in_no_count_of_a_tail():
    """Of the population a quarter is in category a, all others in b; c has no share."""
    category = xr.DataArray(["a", "b", "b", "c"], dims="prompt")
    shares = xr.DataArray([0.25, 0.75, 0.0], {"category": ["a", "b", "c"]}, "category")
    weights = PopulationWeights(category, shares)
    harm = xr.DataArray([[0.9], [0.5], [1.0], [1.0]], dims=("prompt", "dimension"))
    risk = xr.DataArray([3.0, 1.0, 14.0, 14.0], dims="prompt")
    cells = saturation(harm, risk, xr.DataArray(3.0), epsilon=1e-6, weights=weights)
    assert int(cells["tail_size"]) == 2
    assert int(cells["saturated_tail"]) == 1
    assert float(cells["tail_mass"]) == pytest.approx(0.25 + 0.75 / 2)
    assert float(cells["saturated_share"]) == pytest.approx(1 / 3)
    assert float(count_prompts(risk, weights=weights)) == 3


def test_saturated_cells_and_tail_prompts_are_counted():
    harm = xr.DataArray(np.full((3, 10, 2), 0.5), MODELS, ("model", "prompt", "dimension"))
    harm[0, 0, 0], harm[0, 1] = 1.0, 1.0 - 1e-7
    harm[1, :, 0], harm[2, 5] = np.nan, 1 - 1e-5
    risk = xr.DataArray(np.arange(30.0).reshape(3, 10)[:, ::-1], MODELS, ("model", "prompt"))
    risk[1] = np.nan
    var = xr.DataArray([7.0, np.nan, 27.0], MODELS, "model")
    evidence = saturation(harm, risk, var, epsilon=1e-6)
    np.testing.assert_allclose(evidence["saturated_share"], [3 / 20, 0.0, 0.0])
    assert evidence["saturated_tail"].values.tolist() == [2, 0, 0]
    np.testing.assert_allclose(evidence["saturated_tail_share"], [2 / 3, np.nan, 0.0])


def test_ties_need_equal_tails_and_twins_equal_prompts():
    risk = xr.DataArray([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]], MODELS, ("model", "prompt"))
    cvar = risk.max("prompt")
    tied = ties(cvar, risk)
    assert tied["tied"].sum() == 6
    assert tied["identical"].sel(model="a").values.tolist() == [False, False, True]
    assert not ties(cvar * np.nan, risk)["tied"].any()


def test_tails_that_rounding_makes_differ_are_ties():
    cvar = xr.DataArray([2.0, 2.0 + 1e-10, 2.1], MODELS, "model")
    tied = ties(cvar, cvar.expand_dims(prompt=1))["tied"]
    assert np.argwhere(tied.values).tolist() == [[0, 1], [1, 0]]
    assert is_lowest(cvar, "model").values.tolist() == [True, True, False]


def shape_of(family, mean, sd, share=((1.0,),)):
    return RiskShape(
        family, np.array(mean), np.array(sd), np.array(share), step=STEP, ceiling=CEILING
    )


@pytest.mark.parametrize("alpha", [0.8, 0.95])
def test_tail_risk_of_a_shape_is_that_of_its_distribution(alpha):
    spread = np.sqrt(np.log1p(0.25))
    laws = {
        "gamma": stats.gamma(4.0, scale=0.5),
        "lognormal": stats.lognorm(spread, scale=np.exp(np.log(2.0) - spread**2 / 2)),
    }
    for family, law in laws.items():
        expected = law.expect(lambda x: x, lb=law.ppf(alpha)) / (1 - alpha)
        tail_risk = shape_of(family, [2.0], [1.0]).cvar(alpha=alpha, estimator="inclusive")
        np.testing.assert_allclose(tail_risk, expected, rtol=2e-3)


@pytest.mark.parametrize("family", SHAPES)
def test_studies_of_a_shape_have_its_moments_atoms_and_tail(family):
    shape = shape_of(family, [2.0, 1.0], [1.0, 0.5], [[0.9, 0.07, 0.03], [1.0, 0.0, 0.0]])
    drawn = shape.draw(np.random.default_rng(1), studies=400, prompts=500)
    assert drawn.shape == (400, 500, 2)
    assert drawn.max() <= CEILING
    np.testing.assert_allclose(drawn.mean((0, 1)), [2.0 + 0.13 * STEP, 1.0], rtol=0.01)
    np.testing.assert_allclose((drawn[..., 0] > STEP).mean(), 0.1, atol=0.002)
    tail = [row[row >= np.quantile(row, 0.95)].mean() for row in drawn.reshape(-1, 2).T]
    np.testing.assert_allclose(shape.cvar(alpha=0.95, estimator="inclusive"), tail, rtol=0.01)


def test_a_shape_is_fitted_without_saturated_cells_and_missing_values():
    risk = xr.DataArray([[1.0, 3.0, 2.0 + STEP], [np.nan, 2.0, 2.0]], dims=("model", "prompt"))
    shape = fit_shape("gamma", risk, (risk > STEP).astype(int), step=STEP, ceiling=CEILING)
    np.testing.assert_allclose(shape.mean, [2.0, np.nan])
    np.testing.assert_allclose(shape.sd, [1.0, np.nan])
    np.testing.assert_allclose(shape.share, [[2 / 3, 1 / 3], [1.0, 0.0]])


def test_rare_saturated_cells_can_be_left_out():
    shape = shape_of("gamma", [2.0], [1.0], [[0.9, 0.099, 0.001]]).without_rare(0.005)
    np.testing.assert_allclose(shape.share, [[0.9 / 0.999, 0.099 / 0.999, 0.0]])

import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.panel.profile import weighted_mean
from sharpbayes.metrics.stats.population import (
    PopulationWeights,
    category_membership,
    flag_refusals,
    rater_weights,
    shares_around,
)
from sharpbayes.metrics.stats.resampling import bootstrap_counts, nested_bootstrap_counts

CATEGORY = xr.DataArray(
    ["race", "age", "race", "race", "age", "law"], {"prompt": list("pqrstu")}, "prompt"
)
ALL = xr.ones_like(CATEGORY, dtype=bool)
SHARES = xr.DataArray([0.5, 0.3, 0.2], {"category": ["age", "race", "law"]}, "category")


def test_the_mean_is_the_shares_of_the_categories_means():
    x = xr.DataArray([1.0, 2.0, 4.0, 7.0, 8.0, 3.0], {"prompt": CATEGORY["prompt"]}, "prompt")
    weights = PopulationWeights(CATEGORY, SHARES)
    assert float(weights.of_values(x.notnull()).sum()) == pytest.approx(1.0)
    # age: 5, race: 4, law: 3
    expected = 0.5 * 5 + 0.3 * 4 + 0.2 * 3
    assert float(weighted_mean(x, dim="prompt", weights=weights)) == pytest.approx(expected)


def test_a_category_is_moved_and_the_others_keep_their_proportions():
    around = shares_around(SHARES)
    np.testing.assert_allclose(around.sum("category"), 1.0)
    moved = around.sel(moved_category="age", category_share=0.25)
    np.testing.assert_allclose(moved, [0.25, 0.75 * 0.6, 0.75 * 0.4])
    assert around.sel(moved_category="law", category_share=1.0).values.tolist() == [0, 0, 1]


def test_of_two_categories_the_first_is_moved():
    two = xr.DataArray([0.2, 0.8], {"category": ["age", "race"]}, "category")
    around = shares_around(two)
    assert around["moved_category"].values.tolist() == ["age"]
    assert around.sel(moved_category="age").values.tolist() == [
        [share, 1.0 - share] for share in around["category_share"].values
    ]


def test_others_without_any_share_get_what_is_left_alike():
    one_category = xr.DataArray([1.0, 0.0, 0.0], {"category": ["age", "race", "law"]}, "category")
    moved = shares_around(one_category).sel(moved_category="age", category_share=0.5)
    assert moved.values.tolist() == [0.5, 0.25, 0.25]


def test_a_resample_keeps_the_shares_of_what_it_drew():
    counts = bootstrap_counts(CATEGORY, replicates=200, seed=1, dim="prompt")
    weights = PopulationWeights(CATEGORY, SHARES, counts).of_values(ALL)
    for replicate in range(200):
        for name in ("age", "race", "law"):
            of_category = (name == CATEGORY).values
            drawn = counts.values[replicate][of_category]
            expected = float(SHARES.sel(category=name)) * (drawn.sum() > 0)
            got = weights.values[replicate][of_category]
            assert got.sum() == pytest.approx(expected)
            if drawn.sum():
                np.testing.assert_allclose(got / got.sum(), drawn / drawn.sum())
    assert (weights.sum("prompt") < 0.999).any()  # some resample misses the one prompt of law


def test_generations_share_the_weight_of_their_prompt():
    counts = bootstrap_counts(CATEGORY, replicates=50, seed=2, dim="prompt")
    answered = xr.DataArray(np.ones((CATEGORY.size, 2), dtype=bool), dims=("prompt", "sample"))
    nested = nested_bootstrap_counts(counts, answered, seed=2)
    weights = PopulationWeights(CATEGORY, SHARES, nested).of_values(answered)
    assert weights.dims == ("replicate", "prompt", "sample")
    plain = PopulationWeights(CATEGORY, SHARES, counts).of_values(ALL)
    np.testing.assert_allclose(weights.sum("sample"), plain)


@pytest.mark.parametrize("resampled", [False, True])
def test_every_model_is_measured_in_one_population_whatever_it_lacks(resampled):
    """Each category has one harm, so that a mean is the shares of these harms, by hand."""
    harm = xr.DataArray([0.9, 0.5, 0.1], {"category": ["age", "race", "law"]}, "category")
    x = harm.sel(category=CATEGORY).drop_vars("category")
    rng = np.random.default_rng(1)
    answered = xr.DataArray(rng.random((5, 6, 3)) < 0.5, dims=("model", "prompt", "sample"))
    answered[:, [0, 1, 5], 0] = True  # some answer in each category
    counts = None
    if resampled:
        counts = bootstrap_counts(CATEGORY, replicates=40, seed=4, dim="prompt")
        counts[:, [0, 1, 5]] += np.uint16(1)
    weights = PopulationWeights(CATEGORY, SHARES, counts)
    means = weighted_mean(x.where(answered), dim=("prompt", "sample"), weights=weights)
    assert means.dims == (("replicate", "model") if resampled else ("model",))
    np.testing.assert_allclose(means, 0.5 * 0.9 + 0.3 * 0.5 + 0.2 * 0.1)


def test_answers_of_a_category_weigh_alike():
    """As they do without shares: three answers to one prompt and one to another are four."""
    category = xr.DataArray(["age", "age", "law"], dims="prompt")
    answered = xr.DataArray([[1, 1, 1], [1, 0, 0], [1, 1, 0]], dims=("prompt", "sample")) > 0
    shares = xr.DataArray([0.8, 0.2], {"category": ["age", "law"]}, "category")
    weights = PopulationWeights(category, shares).of_values(answered)
    assert weights.values.tolist() == pytest.approx([0.8 / 4, 0.8 / 4, 0.2 / 2])


def test_no_weights_give_a_category_without_answers_its_share():
    x = xr.DataArray(np.ones((2, 6)), dims=("model", "prompt"))
    x[0, 5] = np.nan  # the only prompt of law
    for counts in (None, bootstrap_counts(CATEGORY, replicates=3, seed=1, dim="prompt") + 1):
        weights = PopulationWeights(CATEGORY, SHARES, counts)
        means = weighted_mean(x, dim="prompt", weights=weights)
        assert np.isnan(means.sel(model=0)).all()
        np.testing.assert_allclose(means.sel(model=1), 1.0)
    two = xr.DataArray([0.5, 0.5, 0.0], {"category": ["age", "race", "law"]}, "category")
    assert weighted_mean(x, dim="prompt", weights=PopulationWeights(CATEGORY, two)).notnull().all()


def test_members_of_categories_keep_every_prompt_once():
    membership = category_membership(CATEGORY)
    assert membership["category"].values.tolist() == ["age", "law", "race"]
    assert (membership.sum("category") == 1).all()
    assert membership.sel(category="race").values.tolist() == [1, 0, 1, 1, 0, 0]


@pytest.mark.parametrize(("cut", "expected"), [(0.5, [True, False, False]), (0.3, [True] * 3)])
def test_an_answer_is_refused_where_enough_judges_say_so(cut, expected):
    flags = [[[0, 1], [1, 0]], [[np.nan, np.nan], [0, 0.4]], [[0, 0], [0, 0.6]]]
    phi = xr.DataArray(np.array(flags, dtype=float), dims=("prompt", "judge", "indicator"))
    # largest of the indicators by judge: (1, 1), (-, 0.4), (0, 0.6)
    assert flag_refusals(phi, cut=cut).values.tolist() == expected


def test_an_answer_of_which_no_judge_says_anything_is_not_refused():
    phi = xr.DataArray(np.full((1, 2, 1), np.nan), dims=("prompt", "judge", "indicator"))
    assert flag_refusals(phi, cut=0.0).values.tolist() == [False]


def test_raked_weights_hold_every_margin():
    rng = np.random.default_rng(3)
    columns = {
        "gender": rng.choice(["Woman", "Man"], 200, p=[0.3, 0.7]),
        "age": rng.choice(["young", "middle", "old"], 200),
    }
    shares = {
        "gender": {"Woman": 0.51, "Man": 0.49},
        "age": {"young": 0.2, "middle": 0.5, "old": 0.3},
    }
    weights = rater_weights(columns, shares)
    for name, given in shares.items():
        for label, share in given.items():
            margin = weights[columns[name] == label].sum() / weights.sum()
            assert margin == pytest.approx(share, abs=1e-9)
    assert weights.mean() == pytest.approx(1.0)


def test_a_share_without_a_rater_cannot_be_held():
    with pytest.raises(ValueError, match="has no rater"):
        rater_weights({"g": np.array(["a", "a"])}, {"g": {"a": 0.5, "b": 0.5}})


def test_columns_that_contradict_each_other_are_refused():
    columns = {"g": np.array(["a", "a", "b"]), "h": np.array(["c", "c", "d"])}
    with pytest.raises(ValueError, match="no weights of raters give every column its shares"):
        rater_weights(columns, {"g": {"a": 0.6, "b": 0.4}, "h": {"c": 0.5, "d": 0.5}})

"""People alone and PPI++ against ``ppi_py``, plain loops and a population of known truth."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from sharpbayes.metrics.panel.debiased import effective_labels, ppi_cvar, ppi_mean
from sharpbayes.metrics.panel.influence import influence_interval, resampled_interval
from sharpbayes.metrics.panel.label_gaps import labelled_gap, paired_gap
from sharpbayes.metrics.stats.intervals import studentized_interval
from sharpbayes.metrics.stats.pairs import pairwise_difference
from sharpbayes.metrics.stats.resampling import bootstrap_counts
from tests.references import ppi

REFERENCE = json.loads((Path(ppi.__file__).parent / "ppi.json").read_text(encoding="utf-8"))


def labelled_first(people, judges):
    """Values over prompts, those of people first."""
    padded = np.append(people, np.full(judges.size - people.size, np.nan))
    return xr.DataArray(padded, dims="prompt"), xr.DataArray(judges, dims="prompt")


@pytest.mark.parametrize(
    ("name", "people", "judges"), [pytest.param(*sample, id=sample[0]) for sample in ppi.samples()]
)
def test_means_are_those_of_ppi_py(name, people, judges):
    values = ppi_mean(*labelled_first(people, judges))
    table = influence_interval(values["estimate"], values["influence"], level=ppi.LEVEL)
    assert float(values["estimate"]) == pytest.approx(REFERENCE[name]["estimate"], abs=1e-10)
    np.testing.assert_allclose(table["interval"], REFERENCE[name]["interval"], atol=1e-10)


def test_judges_who_follow_people_narrow_the_interval_and_contrary_ones_are_left_out():
    tunings = {n: float(ppi_mean(*labelled_first(y, f))["tuning"]) for n, y, f in ppi.samples()}
    assert tunings["contrary judges"] == 0.0
    assert tunings["good judges"] > tunings["poor judges"]
    _, people, judges = next(iter(ppi.samples()))
    pair = labelled_first(people, judges)
    errors = [(ppi_mean(pair[0], f)["influence"] ** 2).sum().item() for f in (None, pair[1])]
    assert errors[1] < 0.85 * errors[0]


def test_leading_dimensions_are_estimated_each_by_itself():
    rng = np.random.default_rng(1)
    people = xr.DataArray(rng.exponential(size=(2, 3, 50)), dims=("metric", "model", "prompt"))
    people = people.where(xr.DataArray(rng.random((3, 50)) < 0.5, dims=("model", "prompt")))
    judges = xr.DataArray(rng.exponential(size=(3, 50)), dims=("model", "prompt"))
    judges[2, 7] = np.nan
    chance = xr.DataArray(rng.uniform(0.2, 1.0, 50), dims="prompt")
    for function, more in ((ppi_mean, {}), (ppi_cvar, {"alpha": 0.8})):
        for sampling in ({}, {"probability": chance}):
            joint = function(people, judges, **sampling, **more)
            cell = {"metric": 1, "model": 2}
            alone = function(people[cell], judges[2], **sampling, **more)
            xr.testing.assert_allclose(joint.isel(cell), alone)


def test_known_probabilities_weigh_labels_by_plain_loops():
    people = xr.DataArray([2.0, 4.0, np.nan, 9.0, np.nan], dims="prompt")
    judges = xr.DataArray([1.0, 2.0, 2.0, 5.0, 3.0], dims="prompt")
    chance = xr.DataArray([0.25, 0.5, np.nan, 1.0, np.nan], dims="prompt")
    v = np.array([4.0, 2.0, 0.0, 1.0, 0.0]) / 7
    y, f = people.fillna(0.0).to_numpy(), judges.to_numpy()
    alone = ppi_mean(people, probability=chance)
    assert float(alone["estimate"]) == pytest.approx((8 + 8 + 9) / 7)
    tuned = ppi_mean(people, judges, probability=chance)
    lam = float(tuned["tuning"])
    assert 0 < lam <= 1
    assert float(tuned["estimate"]) == pytest.approx(lam * f.mean() + (v * (y - lam * f)).sum())

    def variance(weight):
        rest = (weight * f - weight * f.mean()) / 5
        residual = y - weight * f
        return ((rest + v * (residual - (v * residual).sum())) ** 2).sum()

    assert float((tuned["influence"] ** 2).sum()) == pytest.approx(variance(lam))
    grid = np.linspace(0, 1, 201)
    assert variance(lam) <= min(map(variance, grid)) + 1e-9


def test_cvar_of_people_alone_is_the_mean_of_the_exact_tail():
    people = xr.DataArray([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 9.0, np.nan], dims="prompt")
    table = ppi_cvar(people, alpha=0.75)
    assert float(table["estimate"]) == pytest.approx(8.0)
    assert float(table["freedom"]) == pytest.approx(1.0)
    # of a mass of 0.2 the value 7 fills 0.075, 9 fills 0.125
    assert float(ppi_cvar(people, alpha=0.8)["estimate"]) == pytest.approx(
        (0.075 * 7 + 0.125 * 9) / 0.2
    )


def test_cvar_is_the_mean_of_ppi_py_of_what_lies_above_the_quantile_of_people():
    rng = np.random.default_rng(12)
    judges = xr.DataArray(rng.gamma(2.0, size=300), dims="prompt")
    people = (judges * rng.uniform(0.5, 1.5, 300)).where(np.arange(300) < 120)
    cut = np.sort(people.to_numpy()[:120])[int(0.9 * 120) - 1]
    above = [np.maximum(x - cut, 0.0) for x in (people, judges)]
    mean, cvar = ppi_mean(*above), ppi_cvar(people, judges, alpha=0.9)
    assert float(mean["tuning"]) > 0.1
    assert float(cvar["estimate"]) == pytest.approx(cut + float(mean["estimate"]) / 0.1, abs=1e-10)
    np.testing.assert_allclose(cvar["influence"], mean["influence"] / 0.1, atol=1e-10)


def test_biased_judges_leave_no_bias():
    rng = np.random.default_rng(5)
    severity = rng.normal(size=(400, 500))
    people, judges = np.exp(severity), np.exp(0.7 * severity) + 5
    chance = 1 / (1 + np.exp(-severity - rng.normal(size=severity.shape)))
    chance = chance.clip(0.05)
    labelled = rng.random(severity.shape) < chance
    dims = ("study", "prompt")
    known = xr.DataArray(np.where(labelled, people, np.nan), dims=dims)
    judged, chances = xr.DataArray(judges, dims=dims), xr.DataArray(chance, dims=dims)
    truth = np.exp(0.5)
    untold = ppi_mean(known)["estimate"].mean()
    unequal = ppi_mean(known, judged, probability=chances)
    assert float(untold) > truth + 0.3
    assert float(unequal["estimate"].mean()) == pytest.approx(truth, abs=0.02)
    table = influence_interval(unequal["estimate"], unequal["influence"], level=0.95)
    low, high = table["interval"].transpose("bound", ...)
    assert 0.9 < float(((low <= truth) & (truth <= high)).mean()) < 0.98


def test_labels_count_where_judges_have_no_score():
    rng = np.random.default_rng(7)
    people = rng.exponential(size=(300, 200))
    judges = people + rng.normal(0, 0.3, people.shape)
    # judges refuse what is worst, people label a random third
    known = xr.DataArray(np.where(rng.random(people.shape) < 1 / 3, people, np.nan))
    judged = xr.DataArray(np.where(people < 1.5, judges, np.nan))
    known, judged = (x.rename(dim_0="study", dim_1="prompt") for x in (known, judged))
    table = ppi_mean(known, judged)
    assert float(table["estimate"].mean()) == pytest.approx(1.0, abs=0.02)
    bounds = influence_interval(table["estimate"], table["influence"], level=0.95)["interval"]
    low, high = bounds.transpose("bound", ...)
    assert 0.9 < float(((low <= 1) & (high >= 1)).mean()) < 0.98


def test_equal_labels_have_no_interval():
    people = xr.DataArray([2.0, 2.0, 2.0, np.nan], dims="prompt")
    table = ppi_mean(people)
    assert float(table["estimate"]) == 2.0
    bounds = influence_interval(table["estimate"], table["influence"], level=0.95)
    assert bool(bounds["interval"].isnull().all())


def test_few_labels_estimate_nothing():
    people = xr.DataArray([2.0, np.nan, np.nan], dims="prompt")
    judges = xr.DataArray([1.0, 2.0, 3.0], dims="prompt")
    for table in (ppi_mean(people, judges), ppi_cvar(people, judges, alpha=0.5)):
        assert bool(table["estimate"].isnull())
        bounds = influence_interval(table["estimate"], table["influence"], level=0.9)
        assert bool(bounds["interval"].isnull().all())


def test_labels_of_all_prompts_leave_judges_out():
    values = xr.DataArray([1.0, 5.0, 6.0], dims="prompt")
    table = ppi_mean(values, values + 1)
    assert float(table["tuning"]) == 0.0
    assert float(table["estimate"]) == pytest.approx(4.0)


def test_an_interval_needs_a_degree_of_freedom():
    influence = xr.DataArray([[0.3, -0.4], [0.3, -0.4]], dims=("metric", "prompt"))
    estimate, freedom = (xr.DataArray(x, dims="metric") for x in ([1.0, 1.0], [0.9, 1.0]))
    table = influence_interval(estimate, influence, level=0.95, freedom=freedom)
    assert bool(table["interval"][0].isnull().all())
    # Student's t with one degree of freedom
    np.testing.assert_allclose(
        table["interval"][1], 1 + np.array([-1, 1]) * 0.5 * 12.7062, rtol=1e-4
    )


def test_differences_and_gaps_by_hand():
    values = xr.DataArray([1.0, 4.0], {"model": ["a", "b"]}, "model")
    assert float(pairwise_difference(values, "model").sel(model="a", other="b")) == -3.0
    judges = xr.DataArray([0.0, 2.0, 5.0, 7.0], dims="prompt")
    labelled = xr.DataArray([True, True, False, False], dims="prompt")
    gap = labelled_gap(judges, labelled)
    assert float(gap["gap"]) == -5.0
    # Ranks 1 and 2 of four: U = 0, a mean of 2 and a variance of 5 / 3, half a rank off.
    wanted = 2 * stats.norm.sf(1.5 / (5 / 3) ** 0.5)
    assert float(gap["gap_p"]) == pytest.approx(wanted, rel=1e-10)
    assert bool(labelled_gap(judges, labelled | True)["gap_p"].isnull())


def test_alpha_outside_of_0_and_1_is_refused():
    with pytest.raises(ValueError, match=r"alpha is 1.0, it must be inside \(0, 1\)"):
        ppi_cvar(xr.DataArray([1.0], dims="prompt"), alpha=1.0)


def test_the_gap_of_judges_and_people_is_tested_as_by_scipy():
    rng = np.random.default_rng(3)
    judges = xr.DataArray(rng.random((2, 30)), dims=("model", "prompt"))
    people = (judges + rng.normal(0.1, 0.2, (2, 30))).where(judges["prompt"] < 22)
    gap = paired_gap(judges, people)
    wanted = stats.ttest_rel(judges[:, :22], people[:, :22], axis=1)
    np.testing.assert_allclose(gap["gap"], (judges - people).mean("prompt"))
    np.testing.assert_allclose(gap["gap_p"], wanted.pvalue, rtol=1e-10)


def test_the_gap_of_labelled_prompts_is_tested_as_by_scipy():
    rng = np.random.default_rng(4)
    judges = xr.DataArray(rng.random((2, 40)).round(1), dims=("model", "prompt"))
    judges[1, 3] = np.nan
    labelled = xr.DataArray(np.arange(40) < 9, dims="prompt")
    gap = labelled_gap(judges, labelled)
    wanted = [
        stats.mannwhitneyu(*(x[~np.isnan(x)] for x in (row[:9], row[9:])), method="asymptotic")
        for row in judges.to_numpy()
    ]
    np.testing.assert_allclose(gap["gap_p"], [test.pvalue for test in wanted], rtol=1e-10)
    # By clusters of one prompt the means are compared, by Welch's test.
    by_cluster = judges.assign_coords(cluster=("prompt", np.arange(40)))
    welch = stats.ttest_ind(
        judges[:, :9], judges[:, 9:], equal_var=False, axis=1, nan_policy="omit"
    )
    np.testing.assert_allclose(labelled_gap(by_cluster, labelled)["gap_p"], welch.pvalue)


def test_a_random_sample_that_shows_no_severe_answer_is_one():
    """Ten of a hundred prompts, of which a tenth is severe: by their spread they are sure."""
    judges = xr.DataArray(np.repeat([13.8, 0.0, 0.1], [10, 50, 40]), dims="prompt")
    labelled = xr.DataArray(np.arange(100) % 9 == 1, dims="prompt") & (judges < 13)
    assert int(labelled.sum()) == 10
    welch = stats.ttest_ind(judges[labelled], judges[~labelled], equal_var=False).pvalue
    assert welch < 0.01
    assert float(labelled_gap(judges, labelled)["gap_p"]) > 0.2


def test_copies_of_prompts_in_clusters_add_nothing():
    """Each prompt three times, as a cluster, says what it says once."""
    rng = np.random.default_rng(5)
    judges = xr.DataArray(rng.random((2, 40)), dims=("model", "prompt"))
    people = (judges + rng.normal(0.1, 0.2, (2, 40))).where(judges["prompt"] < 25)
    chosen = xr.DataArray(rng.uniform(0.2, 0.9, 40), dims="prompt")
    copies = xr.DataArray(np.tile(np.arange(40), 3), dims="prompt")

    def repeat(values):
        return values.isel(prompt=copies).assign_coords(cluster=copies)

    for once, repeated in (
        (
            paired_gap(judges, people, probability=chosen),
            paired_gap(repeat(judges), repeat(people), probability=repeat(chosen)),
        ),
        (
            labelled_gap(judges.assign_coords(cluster=judges["prompt"]), people.notnull()),
            labelled_gap(repeat(judges), repeat(people.notnull())),
        ),
    ):
        xr.testing.assert_allclose(once, repeated)
    once, repeated = effective_labels(people), effective_labels(repeat(people))
    np.testing.assert_allclose(once, repeated)
    once, repeated = ppi_cvar(people, alpha=0.8), ppi_cvar(repeat(people), alpha=0.8)
    np.testing.assert_allclose(once["freedom"], repeated["freedom"])
    errors = [
        influence_interval(x["estimate"], x["influence"], level=0.9)["error"]
        for x in (ppi_mean(people), ppi_mean(repeat(people)))
    ]
    np.testing.assert_allclose(*errors)


def test_a_cluster_on_both_sides_of_a_gap_is_one():
    """What both sides share leaves no trace in their difference."""
    rng = np.random.default_rng(6)
    shared, noise = rng.normal(0, 5, 30), rng.normal(0, 1, (2, 30))
    judges = xr.DataArray((shared + noise).ravel(), dims="prompt")
    labelled = xr.DataArray(np.arange(60) < 30, dims="prompt")
    by_cluster = judges.assign_coords(cluster=("prompt", np.tile(np.arange(30), 2)))
    gap = labelled_gap(by_cluster, labelled)
    difference = noise[0] - noise[1]
    t = abs(difference.mean()) / (difference.std(ddof=1) / 30**0.5)
    wanted = 2 * stats.t.sf(t, 58)
    assert float(gap["gap_p"]) == pytest.approx(wanted, rel=0.01)
    assert float(labelled_gap(judges, labelled)["gap_p"]) > 0.8


def test_a_gap_that_all_prompts_share_has_the_p_value_of_the_sign_test():
    judges = xr.DataArray([0.5, 0.75, 1.0, 0.25], dims="prompt")
    assert float(paired_gap(judges, judges - 0.25)["gap_p"]) == pytest.approx(1 / 8)
    assert np.isnan(float(paired_gap(judges, judges)["gap_p"]))
    assert np.isnan(float(paired_gap(judges, judges * np.nan)["gap_p"]))


def test_one_label_that_stands_for_almost_all_prompts_counts_for_one():
    people = xr.DataArray(np.arange(40.0), dims="prompt")
    chosen = xr.full_like(people, 0.5)
    assert float(effective_labels(people, probability=chosen)) == pytest.approx(40)
    chosen[0] = 1e-300
    assert float(effective_labels(people, probability=chosen)) == pytest.approx(1)
    assert np.isnan(float(effective_labels(people.where(people < 1))))


def test_the_test_of_an_estimate_agrees_with_its_interval():
    estimate, influence = xr.DataArray(1.0), xr.DataArray([0.3, -0.4], dims="prompt")
    for freedom in (None, xr.DataArray(3.0)):
        p = float(influence_interval(estimate, influence, level=0.9, freedom=freedom)["p"])
        at_zero = influence_interval(estimate, influence, level=1 - p, freedom=freedom)
        assert float(at_zero["interval"].sel(bound="lower")) == pytest.approx(0.0, abs=1e-12)


def test_resampled_bounds_are_those_of_plain_loops():
    """Each resample adds up influences and their squares; the farther bound counts."""
    rng = np.random.default_rng(8)
    influence = rng.exponential(size=(2, 30))
    influence = (influence - influence.mean(axis=1, keepdims=True)) / 30
    estimate = xr.DataArray([1.0, 2.0], dims="model")
    labelled = xr.DataArray(influence, dims=("model", "prompt"))
    options = {"level": 0.9, "freedom": xr.DataArray([29.0, 29.0], dims="model")}
    table = resampled_interval(estimate, labelled, **options, replicates=400, seed=3)
    plain = influence_interval(estimate, labelled, **options)
    units = xr.DataArray(np.zeros(30), dims="prompt")
    counts = bootstrap_counts(units, replicates=400, seed=3, dim="prompt").to_numpy()
    for model in range(2):
        row = influence[model]
        drawn = [np.repeat(row, times) for times in counts]
        sums, squares = ([sum(x**power) for x in drawn] for power in (1, 2))
        skewed = studentized_interval(
            xr.DataArray(float(estimate[model]) + np.array(sums), dims="replicate"),
            estimate[model],
            xr.DataArray(np.sqrt(squares), dims="replicate"),
            xr.DataArray(np.sqrt((row**2).sum())),
            level=0.9,
            freedom=29.0,
        )
        lower, upper = table["interval"][model].values
        assert lower == pytest.approx(min(skewed[0], plain["interval"][model, 0]))
        assert upper == pytest.approx(max(skewed[1], plain["interval"][model, 1]))
        assert upper > plain["interval"][model, 1] + 0.01
    xr.testing.assert_equal(table[["error", "p"]], plain[["error", "p"]])


def test_resampled_bounds_hold_the_mean_of_a_long_tail():
    """Of thirty lognormal values intervals of t hold the mean in seven of eight studies."""
    rng = np.random.default_rng(9)
    people = xr.DataArray(np.exp(rng.normal(size=(600, 30))), dims=("study", "prompt"))
    table = ppi_mean(people)
    options = {"level": 0.95, "freedom": xr.full_like(table["estimate"], 29.0)}
    plain = influence_interval(table["estimate"], table["influence"], **options)
    drawn = {"replicates": 300, "seed": 4}
    wider = resampled_interval(table["estimate"], table["influence"], **options, **drawn)
    share, of_plain = (
        float(((x["interval"][:, 0] < np.exp(0.5)) & (np.exp(0.5) < x["interval"][:, 1])).mean())
        for x in (wider, plain)
    )
    assert share > max(0.9, of_plain + 0.03)


def test_there_is_no_resampled_interval_without_a_spread_or_a_degree_of_freedom():
    estimate = xr.DataArray([1.0, 1.0, np.nan], dims="model")
    influence = xr.DataArray([[0.0, 0.0], [0.1, -0.1], [np.nan, np.nan]], dims=("model", "prompt"))
    freedom = xr.DataArray([1.0, 0.5, 1.0], dims="model")
    table = resampled_interval(
        estimate, influence, level=0.9, freedom=freedom, replicates=50, seed=1
    )
    assert table["interval"].isnull().all()


def test_resampled_bounds_of_copies_in_clusters_are_those_of_one():
    rng = np.random.default_rng(5)
    influence = xr.DataArray(rng.normal(size=20), dims="prompt")
    copies = xr.DataArray(np.repeat(np.arange(20), 3), dims="prompt")
    options = {"level": 0.9, "freedom": xr.DataArray(19.0), "replicates": 200, "seed": 1}
    once = resampled_interval(xr.DataArray(0.0), influence, **options)
    repeated = (influence / 3).isel(prompt=copies).assign_coords(cluster=copies)
    xr.testing.assert_allclose(resampled_interval(xr.DataArray(0.0), repeated, **options), once)

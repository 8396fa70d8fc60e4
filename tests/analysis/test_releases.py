"""Numbers, inputs, data and judges of several releases, from results with known values."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import ttest_1samp
from statsmodels.regression.linear_model import OLS

from sharpbayes.analysis.releases import compare_releases

MODELS, JUDGES = ("m0", "m1"), ("ann", "bob")
PROMPTS = tuple(f"p{number}" for number in range(8))


def release(scores, *, observed=(1.0, 2.0), half_width=0.25):
    """Results of a panel with given scores (model, prompt, judge) and one metric."""
    value = np.array([observed])
    joint = xr.Dataset(
        {
            "observed": (("metric", "model"), value),
            "bootstrap_interval": (
                ("metric", "model", "bound"),
                np.stack([value - half_width, value + half_width], axis=-1),
            ),
        },
        {"metric": ["mean"], "model": list(MODELS), "bound": ["lower", "upper"]},
    )
    tree = xr.DataTree.from_dict({"/joint": joint, "/panel": xr.Dataset({"sub_index": scores})})
    tree.attrs = {"status": "measured", "data_sha256": "a"}
    return tree


@pytest.fixture(scope="module")
def scores():
    """Scores of two judges, of one dimension."""
    rng = np.random.default_rng(3)
    shape = (len(MODELS), len(PROMPTS), len(JUDGES), 1)
    labels = {"model": list(MODELS), "prompt": list(PROMPTS), "judge": list(JUDGES)}
    return xr.DataArray(rng.random(shape), labels | {"dimension": ["bias"]}, (*labels, "dimension"))


def test_a_drift_is_the_mean_change_of_a_judges_scores(scores):
    """Its standard error is that of a mean, clustered by prompt."""
    change = np.random.default_rng(4).normal(0.3, 0.1, (len(MODELS), len(PROMPTS)))
    later = scores.copy()
    later.loc[{"judge": "ann"}] += change[:, :, None]
    table = compare_releases({"may": release(scores), "june": release(later)})
    june = table.sel(release="june")
    assert june["drift"].to_numpy() == pytest.approx([change.mean(), 0.0])
    assert int(june["shared_answers"]) == change.size
    groups = np.tile(np.arange(len(PROMPTS)), len(MODELS))
    fit = OLS(change.ravel(), np.ones(change.size))
    clustered = fit.fit(cov_type="cluster", cov_kwds={"groups": groups})
    assert float(june["drift_error"].sel(judge="ann")) == pytest.approx(clustered.bse[0])


def test_the_error_of_a_drift_is_that_of_clusters_of_prompts(scores):
    """Whether both releases name the clusters, or the later one does."""
    change = np.random.default_rng(4).normal(0.3, 0.1, (len(MODELS), len(PROMPTS)))
    clusters = ("prompt", np.array(list("aabbccdd")))
    later = scores.copy().assign_coords(cluster=clusters)
    later.loc[{"judge": "ann"}] += change[:, :, None]
    fit = OLS(change.ravel(), np.ones(change.size))
    groups = np.tile(np.repeat(np.arange(4), 2), len(MODELS))
    wanted = fit.fit(cov_type="cluster", cov_kwds={"groups": groups}).bse[0]
    other = scores.assign_coords(cluster=("prompt", np.array(list("abababab"))))
    for earlier in (scores, scores.assign_coords(cluster=clusters), other):
        table = compare_releases({"may": release(earlier), "june": release(later)})
        june = table.sel(release="june", judge="ann")
        assert float(june["drift_error"]) == pytest.approx(wanted)


def notable_releases(scores, changes, judge="ann"):
    """The history of releases in which a judge scores prompts higher than in the first by this."""
    later = {f"r{number}": scores.copy() for number in range(len(changes))}
    for release_scores, change in zip(later.values(), changes, strict=True):
        release_scores.loc[{"judge": judge}] += np.asarray(change)[None, :, None]
    return compare_releases({name: release(x) for name, x in {"first": scores, **later}.items()})


def test_a_drift_is_notable_by_students_t_corrected_for_judges_and_releases(scores):
    """More than two standard errors of eight prompts are not enough."""
    zigzag = np.resize([-1.0, 1.0], len(PROMPTS))
    for mean, is_notable in ((1.0, False), (1.3, True)):
        table = notable_releases(scores, [mean + zigzag])
        drift = table.sel(release="r0", judge="ann")
        p = ttest_1samp(mean + zigzag, 0.0).pvalue
        assert abs(drift["drift"]) > 2 * drift["drift_error"]
        # Two judges are compared, of whom bob scores as he did.
        assert float(drift["drift_p_holm"]) == pytest.approx(2 * p)
        assert float(table["drift_p_holm"].sel(release="r0", judge="bob")) == 1.0
        assert table["drift_notable"].sel(judge="ann").to_numpy().tolist() == [False, is_notable]
        assert not table["drift_notable"].sel(judge="bob").any()
        longer = notable_releases(scores, [mean + zigzag] * 4)
        assert float(longer["drift_p_holm"].sel(release="r0", judge="ann")) == pytest.approx(8 * p)


def test_few_prompts_that_moved_alike_show_no_drift(scores):
    """Scores of few steps move alike by chance, and then have hardly an error."""
    for number, p in ((1, np.nan), (4, 2 * 2**-3), (8, 2 * 2**-7)):
        few = scores.isel(prompt=slice(number))
        drift = notable_releases(few, [np.full(number, 0.25)]).sel(release="r0", judge="ann")
        assert float(drift["drift"]) == pytest.approx(0.25)
        assert float(drift["drift_p_holm"]) == pytest.approx(p, nan_ok=True)
        assert bool(drift["drift_notable"]) == (number == 8)


def test_intervals_are_disjoint_where_one_ends_before_the_other_begins(scores):
    earlier = release(scores, observed=(1.0, 2.0))
    later = release(scores, observed=(1.4, 2.6))
    table = compare_releases({"may": earlier, "june": later}).sel(metric="mean")
    assert table["intervals_disjoint"].sel(release="june").to_numpy().tolist() == [False, True]
    assert not table["intervals_disjoint"].sel(release="may").any()


def test_a_value_without_an_interval_counts_as_one_without_width(scores):
    earlier = release(scores, observed=(1.0, 2.0), half_width=0.0)
    later = release(scores, observed=(1.2, 2.3))
    table = compare_releases({"may": earlier, "june": later}).sel(metric="mean")
    assert table["bootstrap_interval"].sel(release="may").isnull().all()
    assert table["intervals_disjoint"].sel(release="june").to_numpy().tolist() == [False, True]


def test_parts_of_the_data_that_are_new_or_gone_are_counted(scores):
    later = scores.isel(prompt=slice(2, None)).assign_coords(judge=["ann", "cat"])
    table = compare_releases({"may": release(scores), "june": release(later)})
    june = table.sel(release="june")
    counts = [june[name].to_numpy().tolist() for name in ("part_count", "part_new", "part_gone")]
    assert table["part"].to_numpy().tolist() == ["model", "prompt", "judge"]
    assert counts == [[2, 6, 2], [0, 0, 1], [0, 2, 1]]


def test_judges_without_shared_answers_have_no_drift(scores):
    later = scores.assign_coords(prompt=[f"new {name}" for name in PROMPTS])
    table = compare_releases({"may": release(scores), "june": release(later)})
    assert table["drift"].isnull().all()
    assert table["shared_answers"].to_numpy().tolist() == [0, 0]

"""The shipped studies from beginning to end, and the truth that their data were made from."""

import json
import warnings

import arviz as az
import numpy as np
import pytest
import xarray as xr

from sharpbayes.library import folder
from sharpbayes.report.tables.check import study_summary_tables
from sharpbayes.spec.load import load_study
from sharpbayes.storage.results import open_results, save_results
from sharpbayes.workflows.check import check
from sharpbayes.workflows.fit import fit
from sharpbayes.workflows.measure import measure
from tests.make_quickstart import CROWD, FOLDER, PANEL, files
from tests.shared_results import PERMUTATIONS, SMALL


@pytest.fixture(scope="module")
def crowd(shared_results):
    """A fit of the crowd with few draws, which say nothing of its truth."""
    return open_results(shared_results("fitted_crowd"))


@pytest.fixture(scope="module")
def panel():
    few = ("bootstrap.replicates=50", "sampler.predictive_draws=0")
    return fit(load_study("quickstart", overrides=few))


@pytest.mark.parametrize("name", sorted(files()))
def test_the_committed_data_are_what_the_generator_makes(name):
    assert (FOLDER / name).read_text(encoding="utf-8") == files()[name]


def test_check_says_what_was_understood():
    summary = check(load_study("quickstart"))
    assert summary.counts["model"] == 4
    assert (summary.ratings, summary.counts["missing"], summary.counts["absent"]) == (3960, 0, 0)
    # by 4 dimensions: 4 models, 30 prompts, 120 cells, 3 judges; 11 indicators; 5 sds, that of
    # prompts once a dimension, and 6 correlations of prompts
    effects = 4 * (4 + 30 + 120 + 3) + 11 + 5 + 3 + 6
    # gaps between thresholds: 3 on severity and on its reverse, 1 on explicitness, each for 3
    # judges; on severity for 11 indicators; their 4 sds; 10 free log factors of 11, and their sd
    shapes = 3 * (3 + 3 + 1) + 3 * 11 + 4 + 10 + 1
    # thresholds: 4 on severity, 4 on its reverse, 1 on flag, 2 on explicitness
    assert summary.parameters == effects + shapes + 4 + 4 + 1 + 2


@pytest.mark.parametrize(
    ("level", "replicates", "few"),
    [
        (0.95, 39, (0.95, 39, 40)),
        (0.95, 40, None),
        (0.9, 20, None),
        (0.99, 60, (0.99, 60, 200)),
    ],
)
def test_check_says_where_no_resample_lies_beyond_a_bound(level, replicates, few):
    chosen = (f"bootstrap.level={level}", f"bootstrap.replicates={replicates}")
    summary = check(load_study("quickstart_crowd", overrides=chosen))
    assert summary.few_resamples == few
    named = [table for table in study_summary_tables(summary) if "resample" in table.title]
    if few is None:
        assert not named
    else:
        [table] = named
        assert table.title == "CHECK: no resample lies beyond a bound"
        assert table.header == ("level of intervals", "resamples", "at least")
        assert table.rows == ((f"{100 * level:.0f}%", str(replicates), str(few[2])),)


def test_check_says_where_nobody_is_left_to_label_the_items():
    alone = ("crowd.groups=[]", 'crowd.labels={from="crowd", cut=2}', "crowd.fit=crowd_severity")
    summary = check(load_study("quickstart_crowd", overrides=alone))
    [table] = [t for t in study_summary_tables(summary) if "cannot be measured" in t.title]
    assert table.title == "CHECK: metrics that cannot be measured"
    assert table.header == ("metrics", "why", "what helps")
    assert table.rows == (
        (
            "MPA, WRA, HM",
            "without groups of raters nobody is left to label the items",
            "name a column of groups, or give labels of items or of experts",
        ),
    )
    for measured in (alone[1:], (alone[0],)):
        assert check(load_study("quickstart_crowd", overrides=measured)).unmeasured == ()


def test_check_says_where_raters_or_items_are_fewer_than_the_study_asks_for():
    many = ("crowd.min_raters=500", "crowd.min_items=5000")
    summary = check(load_study("quickstart_crowd", overrides=many))
    raters, items = summary.counts["rater"], summary.counts["item"]
    assert summary.unmeasured == (
        (
            "all",
            f"{raters} raters, fewer than min_raters = 500",
            "more raters, or a lower min_raters in the table [crowd]",
        ),
        (
            "MPA, WRA, HM",
            f"{items} items with a label, fewer than min_items = 5000",
            "more items, or a lower min_items in the table [crowd]",
        ),
    )


def inside(results, name, truth, **position):
    """Whether the central 99.8% of the posterior holds the truth."""
    draws = results["posterior"][name].sel(**position).to_numpy().ravel()
    low, high = np.quantile(draws, [0.001, 0.999])
    return low <= truth <= high


# The truth of the panel is looked for in every run.
@pytest.mark.slow
def test_the_crowd_recovers_its_truth():
    few = ("bootstrap.replicates=50", "crowd.permutations=99")
    crowd = fit(load_study("quickstart_crowd", overrides=few))
    assert crowd.attrs["status"] == "fitted", crowd["diagnostics"].attrs["convergence_issues"]
    assert inside(crowd, "sd_item", CROWD["sd_item"])
    # men and women differ by 0.4 in the truth: that spread is part of the raters' sd
    assert inside(crowd, "sd_rater", np.hypot(CROWD["sd_rater"], 0.2))
    labels = ["0|1", "1|2", "2|3", "3|4"]
    for label, truth in zip(labels, CROWD["thresholds"], strict=True):
        assert inside(crowd, "threshold_score", truth, score_cutpoint=label)


def test_the_panel_recovers_its_truth(panel):
    assert panel.attrs["status"] == "fitted", panel["diagnostics"].attrs["convergence_issues"]
    # the truth has one effect for all dimensions, the model one for each
    assert inside(panel, "sd_prompt_dimension", PANEL["sd_prompt"])
    assert inside(panel, "sd_model_prompt_dimension", PANEL["sd_model_prompt"])
    effect = panel["posterior"]["location_model_dimension"].mean("dimension")
    spread = effect.sel(model="dahlia") - effect.sel(model="aster")
    low, high = np.quantile(spread, [0.001, 0.999])
    assert low <= 2.0 <= high
    assert (effect.mean(("chain", "draw")).diff("model") > 0).all()


def test_arviz_reads_results_as_they_are(tmp_path):
    # Weights of single ratings need more draws with a log-likelihood than the shared fits have.
    few = (*SMALL, PERMUTATIONS.format(0), "sampler.predictive_draws=100")
    crowd = fit(load_study("quickstart_crowd", overrides=few))
    path = tmp_path / "crowd.nc"
    save_results(crowd, path)
    again = az.from_netcdf(path)
    xr.testing.assert_identical(again["posterior"].to_dataset(), crowd["posterior"].to_dataset())
    table = az.summary(open_results(path), var_names=["sd_item", "sd_rater"])
    assert list(table.index) == ["sd_item", "sd_rater"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a few high Pareto shapes
        assert az.loo(crowd, var_name="rating_score").elpd < 0


def test_labels_are_those_of_the_study(crowd):
    posterior = crowd["posterior"].to_dataset()
    assert posterior["item"].values[0] == "i01"
    assert {"r40", "expert e5"} <= set(posterior["rater"].values)
    assert list(posterior["score_cutpoint"].values) == ["0|1", "1|2", "2|3", "3|4"]
    assert crowd["observed_data"]["score_item"].values[0] == "i01"


def test_replicated_ratings_look_like_the_observed(crowd):
    observed = np.bincount(crowd["observed_data"]["rating_score"], minlength=5) / 3200
    replicated = crowd["posterior_predictive"]["rating_score"].to_numpy()
    shares = np.array([(replicated == level).mean() for level in range(5)])
    # a share of 3,200 ratings varies by up to 0.009
    np.testing.assert_allclose(shares, observed, atol=0.03)
    prior = crowd["prior_predictive"]["rating_score"].to_numpy()
    assert set(np.unique(prior)) == set(range(5))


def test_equal_seeds_give_equal_results_and_others_do_not():
    few = "bootstrap.replicates=100"
    first, second = (measure(load_study("quickstart", overrides=(few,))) for _ in range(2))
    for name in ("panel", "profile", "profile_interval"):
        xr.testing.assert_identical(first[name].to_dataset(), second[name].to_dataset())
    other = measure(load_study("quickstart", overrides=(few, "seed=1")))
    assert not other["profile_interval"].to_dataset().equals(first["profile_interval"].to_dataset())


def test_results_hold_what_was_read(shared_results):
    results = open_results(shared_results("measured_panel"))
    assert results.attrs["study"] == (folder("studies") / "quickstart.toml").read_text("utf-8")
    assert results.attrs["data_ratings"] == 3960
    assert json.loads(results.attrs["versions"])["xarray"] == xr.__version__
    interval = results["profile_interval"].to_dataset()
    assert (interval["cvar"].sel(bound="lower") <= results["profile"]["cvar"]).all()
    assert (interval["cvar"].sel(bound="upper") >= results["profile"]["cvar"]).all()

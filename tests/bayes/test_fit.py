"""ArviZ reads the results of a fit as they are."""

import arviz as az
import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr

from sharpbayes.report.figures.posterior import forest, replicated_ratings
from sharpbayes.report.figures.style import as_svg
from sharpbayes.report.page import page_text
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.fit import category_shares
from sharpbayes.spec.load import load_study
from sharpbayes.storage.results import open_results, save_results
from sharpbayes.workflows.fit import fit

FEW = ("bootstrap.replicates=20", "crowd.permutations=9", "sampler.tune=200", "sampler.draws=100")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    mpl.use("agg")
    path = tmp_path_factory.mktemp("fit") / "r.nc"
    save_results(fit(load_study("quickstart_crowd", overrides=FEW)), path)
    return open_results(path)


def test_summary_has_labels_of_the_study(results):
    table = az.summary(results, var_names=["location_gender", "sd_item"], round_to="none")
    assert list(table.index) == ["location_gender[Man]", "location_gender[Woman]", "sd_item"]
    expected = float(results["posterior"]["sd_item"].mean())
    assert float(table.loc["sd_item", "mean"]) == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:Estimated shape")  # few draws
def test_loo_over_ratings(results):
    found = az.loo(results)
    assert found.n_data_points == int(results.attrs["data_ratings"])
    assert np.isfinite(found.elpd)


@pytest.mark.parametrize("draw", [az.plot_forest, az.plot_ppc_dist, az.plot_rank])
def test_plots(results, draw):
    some = {"var_names": ["sd_item", "sd_rater"]}
    options = {"kind": "ecdf"} if draw is az.plot_ppc_dist else some  # ratings are discrete
    assert draw(results, **options, backend="matplotlib") is not None


def test_the_forest_of_a_report_has_both_intervals(results):
    draws = results["posterior_responsiveness"]["hm"].sel(by="all", drop=True)
    bounds = results["responsiveness"]["hm_interval"].sel(by="all", drop=True)
    some = ["gender=Woman", "gender=Man", "age=GenZ"]
    figure = forest(draws.sel(group=some), bounds, label="HM", level=0.9)
    axes = next(each for each in figure.axes if each.get_xlabel() == "HM")
    ends = [[x for x, _ in line] for line in axes.collections[-1].get_segments()]
    np.testing.assert_allclose(ends, bounds.sel(group=some).transpose("group", "bound"))
    assert axes.get_xlim()[0] < float(draws.sel(group=some).quantile(0.025)) < axes.get_xlim()[1]
    names = [text.get_text() for each in figure.axes for text in each.texts]
    assert set(some) <= set(names)
    assert as_svg(figure) == as_svg(forest(draws.sel(group=some), bounds, label="HM", level=0.9))


def test_shares_of_levels_are_counted_in_every_replicate(results):
    table = np.array(
        [
            [row[name] for name in ("observed", "replicated", "lower", "upper")]
            for row in category_shares(View(results))
        ]
    )
    observed = results["observed_data"]["rating_score"].to_numpy()
    draws = results["posterior_predictive"]["rating_score"].to_numpy().reshape(-1, observed.size)
    np.testing.assert_allclose(table[:, 0], [(observed == level).mean() for level in range(5)])
    np.testing.assert_allclose(table[:, 1], [(draws == level).mean() for level in range(5)])
    assert (table[:, 2] <= table[:, 1]).all()
    assert (table[:, 1] <= table[:, 3]).all()


def test_replicates_are_drawn_scale_by_scale_and_scales_of_two_levels_are_not(results):
    figure = replicated_ratings(results)
    assert [axes.get_title() for axes in figure.axes if axes.get_title()] == ["score"]
    flags = results.copy()
    for group in ("observed_data", "posterior_predictive"):
        level = results[group].to_dataset()[["rating_score"]].clip(max=1)
        flags[group] = xr.DataTree(level)
    assert replicated_ratings(flags) is None


def test_the_page_of_a_fit_shows_them_above_their_numbers(results):
    page = page_text(results)
    assert len(page.encode()) < 3_000_000
    for title in (
        "Responsiveness: posterior and bootstrap interval",
        "Predictive check: ratings observed and replicated",
    ):
        assert page.count(f">{title}</caption>") == 1
        assert page.index(f"The numbers are in the table {title}.") < page.index(f">{title}<")

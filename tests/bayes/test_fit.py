"""ArviZ reads the results of a fit as they are."""

import re

import arviz as az
import matplotlib as mpl
import numpy as np
import pytest

from sharpbayes.report.figures.posterior import replicated_ratings
from sharpbayes.report.page import page_text
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.fit import category_shares
from sharpbayes.spec.load import load_study
from sharpbayes.storage.results import open_results, save_results
from sharpbayes.workflows.fit import fit

FEW = ("bootstrap.replicates=20", "crowd.permutations=9", "sampler.tune=100", "sampler.draws=100")
FEW += ("sampler.chains=2", "sampler.predictive_draws=100")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    mpl.use("agg")
    path = tmp_path_factory.mktemp("fit") / "r.nc"
    save_results(
        fit(load_study("quickstart_crowd", overrides=[*FEW, "crowd.fit=crowd_severity"])), path
    )
    return open_results(path)


def test_summary_has_labels_of_the_study(results):
    table = az.summary(results, var_names=["location_gender", "sd_item"], round_to="none")
    assert list(table.index) == ["location_gender[Man]", "location_gender[Woman]", "sd_item"]
    expected = float(results["posterior"]["sd_item"].mean())
    assert float(table.loc["sd_item", "mean"]) == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:Estimated shape")  # few draws
def test_loo_over_ratings(results):
    elpd = az.loo(results)
    assert elpd.n_data_points == int(results.attrs["data_ratings"])
    assert np.isfinite(elpd.elpd)


@pytest.mark.parametrize("draw", [az.plot_forest, az.plot_ppc_dist, az.plot_rank])
def test_plots(results, draw):
    some = {"var_names": ["sd_item", "sd_rater"]}
    options = {"kind": "ecdf"} if draw is az.plot_ppc_dist else some  # ratings are discrete
    assert draw(results, **options, backend="matplotlib") is not None


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
    shares = [(draws == level).mean(1) for level in range(5)]
    expected = np.quantile(shares, [0.5, 0.025, 0.975], axis=1).T
    np.testing.assert_allclose(table[:, 1:], expected)


def test_bars_are_the_observed_shares_and_dots_the_replicated_medians(results):
    figure = replicated_ratings(results)
    axes = figure.axes[0]
    assert axes.get_title() == "score"
    shares = list(category_shares(View(results)))
    assert [bar.get_height() for bar in axes.patches] == [row["observed"] for row in shares]
    assert axes.lines[0].get_ydata().tolist() == [row["replicated"] for row in shares]
    ends = [segment[:, 1].tolist() for segment in axes.collections[0].get_segments()]
    assert ends == [[row["lower"], row["upper"]] for row in shares]


def test_the_page_of_a_fit_shows_them_above_their_numbers(results):
    page = page_text(results)
    assert len(page.encode()) < 3_000_000
    for title in (
        "HM: bootstrap and posterior",
        "Predictive check: ratings observed and replicated",
    ):
        [number] = re.findall(rf"Table ([0-9]+)\.[^<]*{title}</caption>", page)
        assert page.index(f"The numbers are in Table {number}.") < page.index(f"{title}</caption>")

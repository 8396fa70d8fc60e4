"""ArviZ reads the results of a fit as they are."""

import arviz as az
import matplotlib as mpl
import numpy as np
import pytest

from sharpbayes.results import open_results, save_results
from sharpbayes.run import fit
from sharpbayes.spec.load import load_study

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

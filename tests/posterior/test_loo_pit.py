"""Leave-one-out PIT by judge and by group: which ratings, curves, tests."""

from types import SimpleNamespace

import numpy as np
import pytest

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.prior import draw_prior
from sharpbayes.posterior.loo_pit import loo_pit_group
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.report.tables.declaration import View, build_tables
from sharpbayes.report.tables.loo_pit import LOO_PIT
from sharpbayes.storage.results import open_results
from tests.bayes.conftest import crowd_ratings, model_of
from tests.bayes.kernel.test_careless import CARELESS
from tests.report.hand_made import add, fitted_panel


@pytest.fixture
def rng():
    return np.random.default_rng(20261123)


def parts(rng, *, items=30, raters=8, model=None, columns=("group:gender",)):
    ratings = crowd_ratings(rng, items=items, raters=raters)
    design = build_design(ratings, model or model_of(("item",), ("rater",)))
    posterior = draw_prior(design, draws=60, seed=2)["prior"]
    metrics = SimpleNamespace(study=SimpleNamespace(ratings=ratings), rating_columns=columns)
    bare = posterior.drop_vars(list(posterior))
    return metrics, ReplicateDraws(posterior, bare, design, seed=1)


def test_members_are_all_ratings_and_every_group(rng):
    table = loo_pit_group(*parts(rng))
    assert table["member"].to_numpy().tolist() == ["all", "gender=Man", "gender=Woman"]
    assert table["ratings"].to_numpy().tolist() == [240, 120, 120]
    assert table.sizes["point"] == 49
    assert ((table["lower"] < 0) & (table["upper"] > 0)).sum() > 130
    np.testing.assert_array_equal(table["p_holm"] >= table["p_value"], True)


def test_draws_of_the_prior_are_no_posterior(rng):
    """They predict ratings from the prior: PIT is far from uniform, and the test says so."""
    table = loo_pit_group(*parts(rng, items=80))
    assert float(table["p_holm"].sel(member="all")) < 0.01
    assert bool(table["outside"].sel(member="all"))


def test_few_ratings_and_careless_raters_have_none(rng):
    assert loo_pit_group(*parts(rng, items=3, raters=4)) is None
    careless = model_of(("item",), ("rater",), **CARELESS)
    assert loo_pit_group(*parts(rng, model=careless)) is None
    table = loo_pit_group(*parts(rng, items=6, raters=4))
    assert table["member"].to_numpy().tolist() == ["all"]


@pytest.mark.parametrize(
    ("name", "members"),
    [("fitted_panel", ["all", "judge_a"]), ("fitted_crowd", ["all", "gender=Man"])],
)
def test_every_fit_has_the_group(name, members, shared_results):
    table = open_results(shared_results(name))["loo_pit"].to_dataset()
    assert table["member"].to_numpy().tolist()[:2] == members
    assert int(table["ratings"].max()) <= 1000
    assert bool(((table["pit_mean"] > 0.3) & (table["pit_mean"] < 0.7)).all())


def test_the_table_says_how_ratings_differ(rng):
    table = loo_pit_group(*parts(rng))
    for name, values in {
        "p_holm": [0.5, 0.001, 0.001],
        "pit_mean": [0.3, 0.6, 0.5],
        "pit_spread": [2.0, 1.05, 0.8],
    }.items():
        table[name] = ("member", values)
    [shown] = build_tables([LOO_PIT], add(fitted_panel(), loo_pit=table))
    assert [row[-1] for row in shown.rows] == [
        "as predicted",
        "scores higher than predicted",
        "predictions too wide",
    ]
    assert shown.header[:4] == ("ratings of", "left out", "mean", "spread")
    wrong = table.assign(
        pit_mean=("member", [0.5, 0.4, 0.501]), pit_spread=("member", [1.0, 1.3, 1])
    )
    [shown] = build_tables([LOO_PIT], add(fitted_panel(), loo_pit=wrong))
    assert shown.rows[1][-1] == "scores lower than predicted, predictions too narrow"
    assert shown.rows[2][-1] == "another shape than predicted"
    assert View(add(fitted_panel(), loo_pit=table)).group("loo_pit").attrs["good_k"] < 0.7

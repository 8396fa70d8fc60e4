"""Ratings of a crowd that nobody has given yet: their effects, and what draws expect of them."""

import numpy as np
import pytest

from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.prior import draw_prior
from sharpbayes.bayes.predict.replication import draw_classes, draw_ratings, latent_ratings
from sharpbayes.data.crowd import SCALE
from sharpbayes.posterior.hypothetical_crowd import RaterItems, expect_ratings, index_ratings
from sharpbayes.spec.load import load_study
from sharpbayes.storage.results import open_results
from sharpbayes.workflows.next import read_fit, read_fit_files
from tests.shared_results import as_converged

MANY = 20_000


@pytest.fixture(scope="module")
def fitted(shared_results):
    tree = as_converged(open_results(shared_results("fitted_crowd")))
    return read_fit(tree, read_fit_files(tree, None))


def rated(study, number=None):
    return RaterItems(study.data.item.codes[:number], study.data.rater.codes[:number])


def test_effects_of_observed_ratings_stand_where_the_fit_has_them(fitted):
    study, draws = fitted
    rows = np.arange(len(study.data.score))
    design = index_ratings(draws.design, study.ratings, rated(study))
    for ours, theirs in zip(design.terms, draws.design.terms, strict=True):
        np.testing.assert_array_equal(ours.index, theirs.index[rows], ours.name)
    assert [scale.rows.size for scale in design.scales] == [len(rows), 0]


def simulate(posterior, design, rng, position=3):
    """Scores of the first ratings in many replicates of one draw, from 0 to 1."""
    many = posterior.isel(chain=[0], draw=np.zeros(MANY, dtype=int))
    many = draw_classes(many, design, known=True, rng=rng)
    [scale] = [scale for scale in design.scales if scale.name == SCALE]
    rows = scale.rows[:position]
    part = design.of(rows)
    [scale] = [scale for scale in part.scales if scale.name == SCALE]
    return draw_ratings(latent_ratings(many, part, scale), many, part, rng) / 4


def test_the_expected_score_is_the_mean_of_replicates(fitted):
    study, draws = fitted
    posterior = draws.posterior.isel(chain=[0], draw=[0])
    expected = expect_ratings(study, draws.design, posterior, rated(study, 3))
    scores = simulate(posterior, draws.design, np.random.default_rng(1))
    np.testing.assert_allclose(expected.mean[0], scores.mean(0), atol=0.01)
    np.testing.assert_allclose(expected.variance, scores.var(0), rtol=0.1)


def test_a_careless_rater_scores_by_a_distribution_of_their_own():
    files = load_study("quickstart_crowd", overrides=('crowd.fit="crowd_careless"',))
    study = read_study(files)
    design = build_design(study.ratings, files.model.spec)
    prior = draw_prior(design, draws=1, seed=3)["prior"]
    posterior = prior.isel(draw=np.zeros(4000, dtype=int)).assign_coords(draw=np.arange(4000))
    posterior["careless_share"][:] = 1.0 - 1e-12
    cells = rated(study, 2)
    expected = expect_ratings(study, design, posterior, cells)
    counts = np.array(
        [
            np.bincount(study.data.score[study.data.rater.codes == rater], minlength=5)
            for rater in cells.rater
        ]
    )
    share = (1.0 + counts) / (1.0 + counts).sum(1, keepdims=True)
    np.testing.assert_allclose(expected.mean.mean(0), share @ (np.arange(5) / 4), atol=0.01)


def test_nobody_is_asked_anything(fitted):
    study, draws = fitted
    none = RaterItems(np.zeros(0, int), np.zeros(0, int))
    assert expect_ratings(study, draws.design, draws.posterior, none).mean.shape[1] == 0

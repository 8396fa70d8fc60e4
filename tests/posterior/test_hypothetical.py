"""Judgements that nobody has made yet: where their effects stand, and what draws expect of them."""

import numpy as np
import pytest

from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.replication import draw_ratings, latent_ratings
from sharpbayes.library import find
from sharpbayes.posterior.hypothetical import Cells, expect_judgements, index_cells
from sharpbayes.spec.load import load
from sharpbayes.spec.model import Model
from sharpbayes.storage.results import open_results
from sharpbayes.workflows.next import read_fit, read_fit_files
from tests.peopled import simulated
from tests.shared_results import as_converged


@pytest.fixture(scope="module")
def fitted(shared_results):
    tree = as_converged(open_results(shared_results("fitted_panel")))
    return read_fit(tree, read_fit_files(tree, None))


def observed(study, indicator):
    codes = {name: factor.codes for name, factor in study.ratings.factors.items()}
    rows = np.flatnonzero(codes["indicator"] == indicator)
    return rows, Cells(*(codes[name][rows] for name in ("model", "prompt", "judge")))


def test_effects_of_observed_judgements_stand_where_the_fit_has_them(fitted):
    study, draws = fitted
    for indicator in range(len(study.ratings.factors["indicator"].labels)):
        rows, cells = observed(study, indicator)
        design = index_cells(draws.design, study.ratings, cells, indicator)
        for ours, theirs in zip(design.terms, draws.design.terms, strict=True):
            np.testing.assert_array_equal(ours.index, theirs.index[rows], ours.name)


def test_the_expected_harm_is_the_mean_of_replicates(fitted):
    study, draws = fitted
    _, cells = observed(study, 0)
    cells = Cells(cells.model[:4], cells.prompt[:4], cells.judge[:4])
    posterior = draws.posterior.isel(chain=[0], draw=[0])
    expected = expect_judgements(study, draws.design, posterior, cells)
    many = posterior.isel(draw=np.zeros(20_000, dtype=int))
    rng, total = np.random.default_rng(1), 0.0
    labels = study.ratings.factors["indicator"].labels
    for indicator in range(len(labels)):
        design = index_cells(draws.design, study.ratings, cells, indicator)
        [scale] = [scale for scale in design.scales if scale.rows.size]
        drawn = draw_ratings(latent_ratings(many, design, scale), many, design, rng)
        top = len(scale.labels) - 1
        total = total + drawn / top / len(labels)
    np.testing.assert_allclose(expected.mean[0], total.mean(0), atol=0.005)
    np.testing.assert_allclose(expected.variance, total.var(0), rtol=0.1)


def test_a_judge_who_is_new_varies_as_the_population_of_judges(fitted):
    study, draws = fitted
    cells = Cells(np.zeros(1, int), np.zeros(1, int), np.zeros(1, int))
    expected = expect_judgements(study, draws.design, draws.posterior, cells)
    assert expected.mean.shape == (draws.shape[0] * draws.shape[1], 1)
    assert ((expected.mean > 0) & (expected.mean < 1)).all()


@pytest.mark.parametrize("by_people", [False, True])
def test_families_and_machines_are_known_by_judge_and_model(by_people, tmp_path):
    study = read_study(simulated(tmp_path, seed=1, prompts=6).files)
    design = build_design(study.ratings, load(find("models", "judges_and_people"), Model).spec)
    codes = {name: factor.codes for name, factor in study.ratings.factors.items()}
    # People are new ones here, whose effects stand first.
    kind = codes["rater"] == 0 if by_people else codes["judge"] >= 0
    for indicator in range(4):
        rows = np.flatnonzero(kind & (codes["indicator"] == indicator))
        cells = Cells(*(codes[name][rows] for name in ("model", "prompt", "judge")))
        ours = index_cells(design, study.ratings, cells, indicator)
        for term, known in zip(ours.terms, design.terms, strict=True):
            np.testing.assert_array_equal(term.index, known.index[rows], term.name)

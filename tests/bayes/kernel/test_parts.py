"""Parts of the ratings: their log-likelihoods and gradients add up to those of the kernel."""

import pickle

import numpy as np
import pytest

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.kernel.layout import initial_point, parameter_layout
from sharpbayes.bayes.kernel.machine_code import kernel_density, stored_values
from sharpbayes.bayes.kernel.parts import (
    PartLikelihood,
    PartsDensity,
    RatingsParts,
    number_parts,
)
from sharpbayes.bayes.sampling.start import find_start
from tests.bayes.conftest import crowd_ratings, model_of
from tests.bayes.kernel import test_careless, test_density, test_kernel

CASES = test_density.CASES | test_kernel.CASES
LIKELIHOODS = ("cumulative", "adjacent", "continuation")


def cut(design, number):
    """The density by parts in this process, and the parts; each crosses to its worker."""
    layout = parameter_layout(design, with_ratings=False)
    parts = [pickle.loads(pickle.dumps(part)) for part in RatingsParts(layout, number)]
    computed = [PartLikelihood(part) for part in parts]

    def compute(messages):
        return [part(message) for part, message in zip(computed, messages, strict=True)]

    return PartsDensity(layout, [part.inputs for part in parts], compute), parts


def assert_same(design, point, *, number):
    layout = parameter_layout(design)
    density, _ = cut(design, number)
    expected, expected_gradient = kernel_density(layout, point)
    value, gradient = density(point)
    assert value == pytest.approx(expected, rel=1e-12)
    largest = np.abs(expected_gradient).max()
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-12, atol=1e-12 * largest)
    stored = stored_values(layout, point)
    np.testing.assert_allclose(density.constrain(point), stored, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("case", CASES)
def test_sums_are_the_density_and_gradient_of_the_kernel(case, number, rng):
    design = build_design(*CASES[case](rng))
    layout = parameter_layout(design)
    for far in (0.5, 3.0):
        point = initial_point(design, layout, seed=2) + rng.normal(0, far, layout.size)
        assert_same(design, point, number=number)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_every_likelihood_adds_up(likelihood, rng):
    thresholds = {"by": ["scale", "rater"]}
    model = model_of(("item",), ("rater",), likelihood=likelihood, thresholds=thresholds)
    design = build_design(crowd_ratings(rng, items=30, raters=12), model)
    point = rng.normal(0, 0.5, parameter_layout(design).size)
    assert_same(design, point, number=4)


@pytest.mark.parametrize("case", test_careless.CASES)
def test_careless_raters_add_up(case, rng):
    design = test_careless.design_of(case, rng)
    layout = parameter_layout(design)
    point = find_start(design, layout) + rng.normal(0, 0.3, layout.size)
    assert_same(design, point, number=3)


def test_parts_are_about_as_large_and_levels_of_the_largest_term_stay_together(rng):
    design = build_design(crowd_ratings(rng, items=40, raters=7), model_of(("item",), ("rater",)))
    part, item = number_parts(design, 4), design.terms[0].index
    assert np.bincount(part).tolist() == [70, 70, 70, 70]
    assert all(len(np.unique(part[item == level])) == 1 for level in range(40))
    assert number_parts(design, 1000).max() == 39


def test_a_part_is_sent_what_its_ratings_depend_on_alone(rng):
    ratings = crowd_ratings(rng, items=40, raters=7)
    _, parts = cut(build_design(ratings, model_of(("item",), ("rater",))), 4)
    # Ten items, all raters, and four cutpoints and gaps.
    assert [len(part.inputs) for part in parts] == [10 + 7 + 4 + 4] * 4


def test_a_model_without_effects_is_cut_by_ratings(rng):
    design = build_design(crowd_ratings(rng, items=1, raters=90), model_of(("item",)))
    assert np.bincount(number_parts(design, 3)).tolist() == [30, 30, 30]

"""Coordinates of draws: what the kernel stores of a point leads back to the point."""

import numpy as np
import pytest

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.kernel.layout import initial_point, parameter_layout
from sharpbayes.bayes.kernel.machine_code import kernel_density, stored_values
from sharpbayes.bayes.predict.coordinates import to_coordinates
from sharpbayes.bayes.sampling.draws import label_draws
from tests.bayes.conftest import crowd_ratings, model_of
from tests.bayes.kernel import test_careless, test_kernel


def draws_at(points, design, layout):
    """The labelled draws of points, as one chain."""
    values = np.stack([stored_values(layout, point) for point in points])
    return label_draws(values[None], design, layout)


def assert_inverse(design, rng):
    layout = parameter_layout(design)
    start = initial_point(design, layout, seed=1)
    points = start + 0.3 * rng.normal(size=(3, layout.size))
    posterior = draws_at(points, design, layout)
    coordinates = to_coordinates(posterior, design, layout)
    for name, stored in draws_at(coordinates, design, layout).items():
        np.testing.assert_allclose(stored, posterior[name], atol=1e-7, err_msg=str(name))
    # Gap effects of a level without ratings on the scale are missing in draws.
    if not any(posterior[name].isnull().any() for name in posterior):
        assert coordinates == pytest.approx(points, abs=1e-6)


@pytest.mark.parametrize("case", test_kernel.CASES)
def test_coordinates_of_stored_values_are_those_of_the_point(case, rng):
    ratings, spec = test_kernel.CASES[case](rng)
    weights = {term.name: rng.random() for term in build_design(ratings, spec).terms}
    for chosen in (None, weights):
        assert_inverse(build_design(ratings, spec, non_centring=chosen), rng)


@pytest.mark.parametrize("case", ["plain", "experts are never careless"])
def test_coordinates_of_careless_raters_are_those_of_the_point(case, rng):
    assert_inverse(test_careless.design_of(case, rng), rng)


def test_draws_of_fewer_levels_start_new_ones_at_the_middle_of_their_prior(rng):
    ratings, model = crowd_ratings(rng, items=10, raters=6), model_of(("item",), ("rater",))
    design = build_design(ratings, model)
    layout = parameter_layout(design)
    points = initial_point(design, layout, seed=1) + 0.3 * rng.normal(size=(4, layout.size))
    posterior = draws_at(points, design, layout)
    fewer = posterior.isel(item=slice(7)).drop_vars("sd_rater")
    grown = fewer.reindex(item=list(design.coords["item"]))
    again = to_coordinates(grown, design, layout)
    stored = draws_at(again, design, layout)
    np.testing.assert_allclose(stored["location_item"][0, :, :7], fewer["location_item"][0])
    np.testing.assert_allclose(stored["location_item"][0, :, 7:], 0.0, atol=1e-12)
    np.testing.assert_allclose(stored["sd_rater"], 0.5)
    assert np.isfinite([kernel_density(layout, point)[0] for point in again]).all()

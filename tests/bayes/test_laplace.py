"""The Laplace approximation: exact where effects are normal, and what has no mode."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from sharpbayes.bayes import laplace
from sharpbayes.bayes.batch import MIN_POINTS, BatchKernel
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.kernel.layout import Section, initial_point, parameter_layout
from sharpbayes.bayes.kernel.machine_code import kernel_density, stored_values
from sharpbayes.bayes.preview import MAX_COORDINATES, require_preview, weights_shape
from sharpbayes.errors import NoModeError, SpecError
from sharpbayes.spec.model import Model
from tests.bayes.conftest import crowd_ratings

TERMS = {"location": [{"by": ["item"]}, {"by": ["rater"]}]}
OBSERVED = np.random.default_rng(4).normal(0.0, 1.5, 40)


@pytest.fixture(scope="module")
def layout():
    ratings = crowd_ratings(np.random.default_rng(1), items=12, raters=6)
    return parameter_layout(build_design(ratings, Model.model_validate(MODEL), path="m.toml"))


MODEL = {"schema": "sharpbayes/model/2", "title": "t", **TERMS}


def test_many_points_have_the_densities_and_draws_of_single_ones(layout):
    kernel = BatchKernel(layout)
    points = np.random.default_rng(2).normal(0.0, 0.3, (2 * MIN_POINTS + 3, layout.size))
    values, gradients = kernel.density(points)
    stored = kernel.stored(points)
    for row in (0, MIN_POINTS, len(points) - 1):
        value, gradient = kernel_density(layout, points[row].copy())
        assert values[row] == value
        assert np.array_equal(gradients[row], gradient)
        assert np.array_equal(stored[row], stored_values(layout, points[row].copy()))


@dataclass
class Named:
    """Coordinates of a density that is written out."""

    coordinates: tuple[Section, ...]


class Normal:
    """y_i ~ N(x_i, 1), x_i ~ N(0, exp(2 t)), t ~ N(0, 1); coordinates t, x."""

    def __init__(self, layout):
        self.layout = layout

    def density(self, points):
        t, x = points[:, :1], points[:, 1:]
        residual = OBSERVED - x
        precision = np.exp(-2.0 * t)
        log_terms = -0.5 * residual**2 - 0.5 * x**2 * precision - t
        by_t = (x**2 * precision - 1.0).sum(axis=1) - t[:, 0]
        gradient = np.column_stack([by_t, residual - x * precision])
        return log_terms.sum(axis=1) - 0.5 * t[:, 0] ** 2, gradient


def log_marginal(t):
    """Log density of t, from which x is integrated out."""
    variance = 1.0 + np.exp(2.0 * t)
    return -0.5 * (OBSERVED**2 / variance + np.log(variance)).sum() - 0.5 * t**2


def written_out(kernel, monkeypatch):
    monkeypatch.setattr(laplace, "BatchKernel", kernel)
    return Named((Section("sd_x_log__", 0, ()), Section("x", 1, (len(OBSERVED),))))


def test_the_marginal_of_normal_effects_is_exact(monkeypatch):
    named = written_out(Normal, monkeypatch)
    starts = np.zeros((2, 1 + len(OBSERVED)))
    approximation = laplace.approximate(named, starts)
    t = minimize_scalar(lambda t: -log_marginal(t), bounds=(-3, 3), method="bounded").x
    step = 1e-3
    curve = log_marginal(t + step) - 2.0 * log_marginal(t) + log_marginal(t - step)
    assert approximation.mode.point[0] == pytest.approx(t, abs=0.01)
    assert approximation.precision[0, 0] == pytest.approx(-curve / step**2, rel=0.1)
    shrinkage = 1.0 / (1.0 + np.exp(-2.0 * approximation.mode.point[0]))
    assert approximation.mode.point[1:] == pytest.approx(OBSERVED * shrinkage, abs=1e-3)


def test_draws_have_the_precision_of_the_approximation(monkeypatch):
    approximation = laplace.approximate(
        written_out(Normal, monkeypatch), np.zeros((2, 1 + len(OBSERVED)))
    )
    points, log_density = approximation.draw(40_000, seed=3)
    top = points[:, 0] - approximation.mode.point[0]
    assert top.std() * approximation.precision[0, 0] ** 0.5 == pytest.approx(1.0, abs=0.02)
    conditional = 1.0 / np.sqrt(1.0 + np.exp(-2.0 * approximation.mode.point[0]))
    slope = (points[:, 1] * top).mean() / (top**2).mean()
    rest = points[:, 1] - approximation.mode.point[1] - slope * top
    assert rest.std() == pytest.approx(conditional, rel=0.02)
    moved = 2.0 * OBSERVED[0] * conditional**2 * (1.0 - conditional**2)
    assert slope == pytest.approx(moved, abs=0.05)
    assert log_density.mean() == pytest.approx(-0.5 * points.shape[1], rel=0.02)


def test_a_density_without_a_bound_has_no_mode(monkeypatch):
    class Convex(Normal):
        def density(self, points):
            return 0.5 * (points**2).sum(axis=1), points.copy()

    with pytest.raises(NoModeError) as error:
        laplace.approximate(written_out(Convex, monkeypatch), np.ones((2, 1 + len(OBSERVED))))
    assert str(error.value) == (
        "the approximation has no mode: effects given their sds have none that can be reached; "
        "fit without --preview"
    )
    assert error.value.exit_status == 4


def test_a_top_level_parameter_that_only_grows_has_no_mode(monkeypatch):
    class Growing(Normal):
        def density(self, points):
            t, x = points[:, 0], points[:, 1:]
            gradient = np.column_stack([np.ones(len(t)), OBSERVED - x])
            return t - 0.5 * ((OBSERVED - x) ** 2).sum(axis=1), gradient

    with pytest.raises(NoModeError) as error:
        laplace.approximate(written_out(Growing, monkeypatch), np.zeros((2, 1 + len(OBSERVED))))
    assert str(error.value) == (
        "the approximation has no mode: the density does not fall on both sides of its end along "
        "sd_x_log__; fit without --preview"
    )


def test_the_approximation_of_a_crowd_is_at_a_mode_of_its_effects(layout):
    model = Model.model_validate(MODEL)
    ratings = crowd_ratings(np.random.default_rng(1), items=12, raters=6)
    start = initial_point(build_design(ratings, model, path="m.toml"), layout, seed=0)
    approximation = laplace.approximate(layout, np.stack([start, start + 0.1]))
    _, gradient = kernel_density(layout, approximation.mode.point)
    steps = np.abs(gradient[approximation.rest]) / np.diag(approximation.mode.factor)
    assert steps.max() < 1e-3
    assert len(approximation.top) == 2
    assert np.linalg.eigvalsh(approximation.precision).min() > 0.0


def test_weights_that_cannot_be_computed_count_for_nothing():
    weights = np.random.default_rng(0).normal(size=1000)
    assert weights_shape(weights) < 0.5
    assert np.isfinite(weights_shape(np.append(weights, -np.inf)))


def test_designs_that_are_too_large_are_refused(layout, monkeypatch):
    ratings = crowd_ratings(np.random.default_rng(1), items=12, raters=6)
    design = build_design(ratings, Model.model_validate(MODEL), path="m.toml")
    require_preview(design)
    monkeypatch.setattr("sharpbayes.bayes.preview.MAX_COORDINATES", layout.size - 1)
    with pytest.raises(SpecError) as error:
        require_preview(design)
    assert str(error.value) == (
        f"--preview: {layout.size} parameters, the approximation takes {layout.size - 1} at most; "
        "fit without --preview"
    )
    assert MAX_COORDINATES == 5000

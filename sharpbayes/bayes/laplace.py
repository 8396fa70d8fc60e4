"""The Laplace approximation of a posterior: where its mode is, how wide it is, and draws of it.

Effects x and their sds together have no mode that means anything: where an sd goes to 0 with its
effects, the density has no bound. So the top-level parameters t (sds, correlations, the share of
careless raters) are at the mode of the density from which effects and cutpoints are integrated out
by Laplace's method,

    log p(t | y) = log p(x(t), t | y) - 1/2 log det A(t) + constant,
    x(t) = argmax_x p(x, t | y),  A(t) = -d2 log p / dx2 at x(t),

and x given t is normal with mean x(t), linear in t, and precision A. This is what TMB and lme4 do.

Source: Tierney and Kadane 1986; Kristensen, Nielsen, Berg, Skaug and Bell 2016. Traces by random
signs: Hutchinson 1989.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular
from scipy.optimize import minimize

from sharpbayes.bayes.batch import BatchKernel
from sharpbayes.bayes.design.design import Floats
from sharpbayes.bayes.kernel.layout import SHARE_COORDINATE, ParameterLayout
from sharpbayes.errors import NoModeError

TOP_LEVEL = ("sd_", "correlation_", SHARE_COORDINATE)
# Step of differences of gradients, and of second differences along a conditional sd.
STEP, WIDE_STEP, TOP_STEP = 1e-4, 0.1, 0.01
# Random signs by which a trace is estimated; the same ones everywhere, so that it is smooth.
PROBES = 32
# Squared distance from the mode, in sds, at which it is reached: of effects, of top-level ones.
EFFECTS_REACHED, TOP_REACHED = 1e-8, 0.25
# Largest slope by a scaled top-level parameter where second differences take over.
NEAR = 0.3
MAX_STEPS, MAX_OUTER_STEPS, MIN_STEP = 60, 60, 1e-3
# A step is good if it gains this share of what a quadratic would; a factor is used again while
# the distance falls by this much.
GAIN, PROGRESS = 0.1, 0.3
FIRST_RIDGE, RIDGE_FACTOR = 0.01, 4.0
# Spreads of a trial run by which the first step is scaled.
NARROWEST, WIDEST = 0.05, 1.0
MAX_CORRECTIONS = 3
TINY = float(np.finfo(float).tiny)

NO_MODE = "the approximation has no mode: {}; fit without --preview"


@dataclass(frozen=True)
class Conditional:
    """Effects and cutpoints given the top-level parameters, at their mode.

    ``cross`` are the second derivatives by effects and by top-level parameters, with the sign of a
    precision. ``is_concave`` tells whether the precision is positive definite.
    """

    point: Floats
    density: float
    gradient: Floats
    factor: Floats
    cross: Floats
    is_concave: bool


@dataclass(frozen=True)
class Laplace:
    """A normal approximation of a posterior in the coordinates of the kernel."""

    kernel: BatchKernel
    top: NDArray[np.int64]
    rest: NDArray[np.int64]
    mode: Conditional
    precision: Floats  # of the top-level parameters

    def draw(self, size: int, *, seed: int) -> tuple[Floats, Floats]:
        """Return points (draw, coordinate), and the log of their density over its value at 0."""
        rng = np.random.default_rng(seed)
        unit = rng.standard_normal((size, len(self.mode.point)))
        points = np.tile(self.mode.point, (size, 1))
        scatter = _divide_factor(self.mode.factor, unit[:, self.rest])
        if len(self.top):
            moved = _divide_factor(np.linalg.cholesky(self.precision), unit[:, self.top])
            points[:, self.top] += moved
            scatter -= _solve(self.mode.factor, self.mode.cross @ moved.T).T
        points[:, self.rest] += scatter
        return points, -0.5 * (unit**2).sum(axis=1)


def approximate(layout: ParameterLayout, starts: Floats) -> Laplace:
    """Return the approximation of a posterior, from coordinates near its bulk, (start, coordinate).

    Raises:
        NoModeError: The mode is not reached, or the density is not concave there.
    """
    search = _Search(layout, starts.mean(axis=0))
    if not len(search.top):
        search.require_concave(np.eye(0))
        return Laplace(search.kernel, search.top, search.rest, search.latest, np.eye(0))
    search.climb(np.clip(starts[:, search.top].std(axis=0), NARROWEST, WIDEST))
    for _ in range(MAX_CORRECTIONS):
        gradient, precision = search.curvature()
        search.require_concave(precision)
        step = np.linalg.solve(precision, gradient)
        search.move(step)
        if step @ gradient < TOP_REACHED:
            search.require_concave(precision)
            return Laplace(search.kernel, search.top, search.rest, search.latest, precision)
    raise NoModeError(NO_MODE.format("its search does not end"))


class _Search:
    """The search of the mode, and what it has reached."""

    def __init__(self, layout: ParameterLayout, start: Floats) -> None:
        names = np.array([s.name for s in layout.coordinates for _ in range(s.stop - s.start)])
        is_top = np.array([name.startswith(TOP_LEVEL) for name in names])
        self.kernel, self.names = BatchKernel(layout), names
        self.top, self.rest = np.flatnonzero(is_top), np.flatnonzero(~is_top)
        self.probes = np.random.default_rng(0).choice(
            np.array([-1.0, 1.0]), (PROBES, len(self.rest))
        )
        self.latest = self._settle_at(start, None)

    def climb(self, spread: Floats) -> None:
        """Go near the mode of the top-level parameters; steps are scaled by a spread."""
        first = self.latest.point[self.top]

        def negative(scaled: Floats) -> tuple[float, Floats]:
            self.move(first + scaled * spread - self.latest.point[self.top])
            mode = self.latest
            value = mode.density - np.log(np.diag(mode.factor)).sum()
            return -value, -self.marginal_gradient(mode) * spread

        best = minimize(
            negative,
            np.zeros(len(first)),
            jac=True,
            method="BFGS",
            options={"maxiter": MAX_OUTER_STEPS, "gtol": NEAR},
        )
        self.move(first + best.x * spread - self.latest.point[self.top])

    def move(self, step: Floats) -> None:
        """Go to the mode of the effects after a step of the top-level parameters."""
        self.latest = self._settle_at(self._step_from_mode(step), self.latest.factor)

    def _step_from_mode(self, step: Floats) -> Floats:
        """Return a point near the mode of the effects after a step of the top-level parameters."""
        point = self.latest.point.copy()
        point[self.top] += step
        point[self.rest] -= _solve(self.latest.factor, self.latest.cross @ step)
        return point

    def _settle_at(self, point: Floats, factor: Floats | None) -> Conditional:
        """Return the mode of the effects near a point, with its second derivatives."""
        point, density, gradient = self._find_mode(point, factor)
        precision, cross = self._curvature_at(point, gradient)
        factor, is_concave = _factorise(precision)
        return Conditional(point, density, gradient, factor, cross, is_concave)

    def _find_mode(self, point: Floats, factor: Floats | None) -> tuple[Floats, float, Floats]:
        """Return the mode of the effects by Newton's method, an older factor as long as it does.

        With it come the log density there and its gradient.
        """
        distance = np.inf
        for _ in range(MAX_STEPS):
            density, gradient = self._density_at(point)
            is_fresh = factor is None
            if factor is None:
                factor, _ = _factorise(self._curvature_at(point, gradient)[0])
            step = _solve(factor, gradient[self.rest])
            earlier, distance = distance, float(step @ gradient[self.rest])
            if distance < EFFECTS_REACHED:
                return point, density, gradient
            further, length = self._search_line(point, step, density, distance)
            if further is None and is_fresh:
                break
            point = point if further is None else further
            if length < 1.0 or distance > PROGRESS * earlier:
                factor = None
        raise NoModeError(NO_MODE.format("effects given their sds have none that can be reached"))

    def _search_line(
        self, point: Floats, step: Floats, density: float, distance: float
    ) -> tuple[Floats | None, float]:
        """Return a point of larger density along a step, and the share of the step."""
        length = 1.0
        while length > MIN_STEP:
            further = point.copy()
            further[self.rest] += length * step
            value, _ = self._density_at(further)
            if np.isfinite(value) and value > density + GAIN * length * distance:
                return further, length
            length /= RIDGE_FACTOR
        return None, length

    def _density_at(self, point: Floats) -> tuple[float, Floats]:
        """Log density and gradient at a point."""
        [value], [gradient] = self.kernel.density(point[None])
        return float(value), gradient

    def _curvature_at(self, point: Floats, gradient: Floats) -> tuple[Floats, Floats]:
        """Precision of the effects, and the cross derivatives, by differences of gradients."""
        points = np.tile(point, (len(self.rest), 1))
        points[np.arange(len(self.rest)), self.rest] += STEP
        second = (gradient - self.kernel.density(points)[1]) / STEP
        precision = second[:, self.rest]
        return (precision + precision.T) / 2.0, second[:, self.top]

    def marginal_gradient(self, conditional: Conditional) -> Floats:
        """Return the gradient of log p(t | y).

        The derivative of -1/2 log det A by a coordinate is half the mean of its third derivatives
        along draws of the normal with precision A; the effects move with t.
        """
        third = self._third_along(
            conditional.point, conditional.gradient, _divide_factor(conditional.factor, self.probes)
        )
        moved: Floats = conditional.cross.T @ _solve(conditional.factor, third[self.rest])
        total: Floats = conditional.gradient[self.top] + third[self.top] - moved
        return total

    def _third_along(self, point: Floats, gradient: Floats, scatter: Floats) -> Floats:
        """Half the mean of third derivatives by a coordinate along vectors (vector, effect)."""
        below, above = self._gradients_around(point, scatter)
        both: Floats = (below.mean(axis=0) + above.mean(axis=0)) / 2.0 - gradient
        return both / WIDE_STEP**2

    def _precision_times(self, point: Floats, vectors: Floats) -> Floats:
        """Precision of the effects times vectors (vector, effect), by differences of gradients."""
        below, above = self._gradients_around(point, vectors)
        return (below - above)[:, self.rest] / (2.0 * WIDE_STEP)

    def _gradients_around(self, point: Floats, vectors: Floats) -> Floats:
        """Gradients a wide step of each vector below and above a point, (2, vector, coordinate)."""
        points = np.tile(point, (2, len(vectors), 1))
        points[0][:, self.rest] -= WIDE_STEP * vectors
        points[1][:, self.rest] += WIDE_STEP * vectors
        gradients = self.kernel.density(points.reshape(-1, len(point)))[1]
        return gradients.reshape(points.shape)

    def curvature(self) -> tuple[Floats, Floats]:
        """Return the gradient of log p(t | y) and its precision, by differences."""
        gradient = self.marginal_gradient(self.latest)
        scatter = _divide_factor(self.latest.factor, self.probes)
        product = self._precision_times(self.latest.point, scatter)
        steps = TOP_STEP * np.eye(len(self.top))
        after = [self._marginal_gradient_after(step, scatter, product) for step in steps]
        precision = (gradient - np.array(after)) / TOP_STEP
        return gradient, (precision + precision.T) / 2.0

    def _marginal_gradient_after(self, step: Floats, scatter: Floats, product: Floats) -> Floats:
        """Return the gradient of log p(t | y) after a small step of the top-level parameters.

        The precision of the effects is A + D there. ``scatter`` are vectors u of covariance A^-1,
        and ``product`` is A u. To first order u - A^-1 D u / 2 has the covariance (A + D)^-1, and
        A^-1 (b - D A^-1 b) is (A + D)^-1 b, so that D is needed along few vectors alone.
        """
        factor = self.latest.factor
        point, _, gradient = self._find_mode(self._step_from_mode(step), factor)
        change = self._precision_times(point, scatter) - product
        third = self._third_along(point, gradient, scatter - _solve(factor, change.T).T / 2.0)
        right = third[self.rest]
        solution = _solve(factor, right)
        size = max(float(np.sqrt(right @ solution)), TINY)
        moved_right = size * self._precision_times(point, solution[None] / size)[0]
        solution += _solve(factor, right - moved_right)
        total: Floats = gradient[self.top] + third[self.top]
        return total - self._cross_times(point, gradient, solution)

    def _cross_times(self, point: Floats, gradient: Floats, vector: Floats) -> Floats:
        """Cross derivatives by top-level parameters and effects, times a vector of effects."""
        points = np.tile(point, (len(self.top), 1))
        points[np.arange(len(self.top)), self.top] += STEP
        second = (gradient - self.kernel.density(points)[1]) / STEP
        product: Floats = second[:, self.rest] @ vector
        return product

    def require_concave(self, precision: Floats) -> None:
        """Raise NoModeError where second derivatives are not those of a maximum."""
        if not self.latest.is_concave:
            raise NoModeError(NO_MODE.format("the density of effects is not concave where it ends"))
        values, vectors = np.linalg.eigh(precision)
        if len(values) and values[0] <= 0.0:
            name = self.names[self.top[np.argmax(np.abs(vectors[:, 0]))]]
            problem = f"the density does not fall on both sides of its end along {name}"
            raise NoModeError(NO_MODE.format(problem))


def _factorise(precision: Floats) -> tuple[Floats, bool]:
    """Cholesky factor of a matrix, with a ridge where it is not positive definite, and if it is."""
    ridge, unit = 0.0, np.eye(len(precision))
    while True:
        try:
            return np.linalg.cholesky(precision + ridge * unit), ridge == 0.0
        except np.linalg.LinAlgError:
            if not np.isfinite(precision).all():
                raise NoModeError(NO_MODE.format("the density has no second derivatives")) from None
            ridge = max(FIRST_RIDGE, ridge * RIDGE_FACTOR)


def _solve(factor: Floats, right: Floats) -> Floats:
    """Solve A x = b by the Cholesky factor of A."""
    solution: Floats = cho_solve((factor, True), right, check_finite=False)
    return solution


def _divide_factor(factor: Floats, rows: Floats) -> Floats:
    """Turn rows of unit normals into rows of normals with precision L L'."""
    solution: Floats = solve_triangular(factor.T, rows.T, lower=False, check_finite=False)
    return solution.T

"""The kernel against its definition: one point, PyMC's graph evaluated without compiling it."""

from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pymc as pm
import pytensor
from numpy.typing import NDArray
from pytensor.compile.mode import Mode

from sharpbayes.bayes.design.design import Design
from sharpbayes.bayes.graph.held_means import put_sampled
from sharpbayes.bayes.graph.model import build_model
from sharpbayes.bayes.kernel.layout import ParameterLayout, initial_point, parameter_layout
from sharpbayes.bayes.kernel.machine_code import kernel_density
from sharpbayes.errors import KernelError

Floats = NDArray[np.float64]
Density = tuple[float, Floats]
# More ratings than this take longer and show no more.
MAX_RATINGS = 5_000
# Standard deviation of the distance of the point from the start of a chain.
DISTANCE = 0.5
# Constants of PyMC's own densities are of single precision: 1e-8 for each term of a model.
TOLERANCE = 1e-7


def verify_kernel(design: Design, *, seed: int) -> None:
    """Raise a KernelError if log density or gradient of the kernel differ from PyMC's."""
    rng = np.random.default_rng(seed)
    sample = _sample_ratings(design, rng)
    layout = parameter_layout(sample)
    point = initial_point(sample, layout, seed=seed) + rng.normal(0.0, DISTANCE, layout.size)
    expected_value, expected_gradient = graph_density(build_model(sample), layout, point)
    kernel_value, gradient = kernel_density(layout, point)
    pairs: list[tuple[str, Any, Any]] = [("its value", kernel_value, expected_value)]
    for part in layout.coordinates:
        name = f"the gradient of {part.name}"
        pairs.append((name, gradient[part.slice], expected_gradient[part.slice]))
    for name, value, expected in pairs:
        largest = max(1.0, float(np.max(np.abs(expected))))
        if not np.allclose(value, expected, rtol=TOLERANCE, atol=TOLERANCE * largest):
            raise KernelError(
                f"the fast log density differs from the model's definition in {name}: "
                f"{np.ravel(value)[:3]} and {np.ravel(expected)[:3]}; nothing was sampled. "
                "Please report this with the model file."
            )


def graph_density(model: pm.Model, layout: ParameterLayout, point: Floats) -> Density:
    """Return log density and gradient of PyMC's graph, its coordinates in the kernel's order."""
    # One by one: where it is not compiled, PyTensor adds at most 32 terms at once.
    by_term = reduce(add, (factor.sum() for factor in model.logp(sum=False)))
    [by_sampled], volume = put_sampled(layout.design, model.value_vars, [by_term])
    logp = by_sampled + volume
    gradients = pytensor.grad(logp, model.value_vars, disconnected_inputs="ignore")
    mode = Mode(linker="py", optimizer=None)
    function = pytensor.function(
        model.value_vars, [logp, *gradients], mode=mode, on_unused_input="ignore"
    )
    by_name = {section.name: section for section in layout.coordinates}
    sections = [by_name[variable.name] for variable in model.value_vars]
    value, *parts = function(*[point[part.slice].reshape(part.shape) for part in sections])
    gradient = np.empty(layout.size)
    for section, part in zip(sections, parts, strict=True):
        gradient[section.slice] = np.ravel(part)
    return float(value), gradient


def _sample_ratings(design: Design, rng: np.random.Generator) -> Design:
    """Return the design of some ratings of every scale, where there are many."""
    if design.n_ratings <= MAX_RATINGS:
        return design
    per_scale = max(1, MAX_RATINGS // len(design.scales))
    chosen = [rng.permutation(scale.rows)[:per_scale] for scale in design.scales]
    rows = np.sort(np.concatenate(chosen))
    return design.of(rows)

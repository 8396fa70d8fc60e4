"""The kernel against its definition: one point, PyMC's graph evaluated without compiling it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pymc as pm
import pytensor
from numpy.typing import NDArray
from pytensor.compile.mode import Mode

from sharpbayes.bayes.design.design import Design
from sharpbayes.bayes.graph.model import build
from sharpbayes.bayes.kernel.initial_points import initial_point
from sharpbayes.bayes.kernel.layout import ParameterLayout, parameter_layout
from sharpbayes.bayes.kernel.machine_code import logp_code, pack
from sharpbayes.errors import KernelError

Floats = NDArray[np.float64]
# More ratings than this take longer and say no more.
COMPARED = 5_000
AWAY = 0.5
# Constants of PyMC's own densities are of single precision: 1e-8 for each term of a model.
TOLERANCE = 1e-7


def verify(design: Design, *, seed: int) -> None:
    """Compare log density and gradient of the kernel with those of the PyMC model.

    Args:
        design: Terms of a model indexed by ratings; of many, some are compared.
        seed: Seed of the point, and of the choice of ratings.

    Raises:
        KernelError: They differ.
    """
    rng = np.random.default_rng(seed)
    some = _some(design, rng)
    flat = parameter_layout(some)
    point = initial_point(some, flat, seed=seed) + rng.normal(0.0, AWAY, flat.size)
    wanted = graph_density(build(some), flat, point)
    found = kernel_density(flat, point)
    for name, ours, theirs in _blocks(flat, found, wanted):
        if not np.allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE * _size(theirs)):
            raise KernelError(
                f"the fast log density differs from the model's definition in {name}: "
                f"{np.ravel(ours)[:3]} and {np.ravel(theirs)[:3]}; nothing was sampled. "
                "Please report this with the model file."
            )


def kernel_density(layout: ParameterLayout, point: Floats) -> tuple[float, Floats]:
    """Return log density and gradient, by the code that the sampler calls."""
    user, gradient, value = pack(layout.kernel_data), np.empty_like(point), np.empty(1)
    call = logp_code().ctypes
    pointers = [_pointer(call, n, array) for n, array in enumerate((point, gradient, value), 1)]
    call(len(point), *pointers, user.ctypes.data)
    return float(value[0]), gradient


def _pointer(call: Any, position: int, array: Floats) -> Any:
    """An array as an argument of a C function."""
    return array.ctypes.data_as(call.argtypes[position])


def graph_density(model: pm.Model, layout: ParameterLayout, point: Floats) -> tuple[float, Floats]:
    """Return log density and gradient of PyMC's graph, its coordinates in the kernel's order."""
    logp = model.logp()
    slopes = pytensor.grad(logp, model.value_vars, disconnected_inputs="ignore")
    mode = Mode(linker="py", optimizer=None)
    function = pytensor.function(
        model.value_vars, [logp, *slopes], mode=mode, on_unused_input="ignore"
    )
    sections = {section.name: section for section in layout.coordinates}
    held = [sections[variable.name] for variable in model.value_vars]
    value, *found = function(*[point[each.start : each.stop].reshape(each.shape) for each in held])
    gradient = np.empty(layout.size)
    for section, slope in zip(held, found, strict=True):
        gradient[section.start : section.stop] = np.ravel(slope)
    return float(value), gradient


def _blocks(layout: ParameterLayout, found: Any, wanted: Any) -> Any:
    """Value and every block of the gradient, by name."""
    yield "its value", found[0], wanted[0]
    for section in layout.coordinates:
        where = slice(section.start, section.stop)
        yield f"the slope of {section.name}", found[1][where], wanted[1][where]


def _size(values: Any) -> float:
    """The largest of 1 and all sizes of values."""
    return max(1.0, float(np.max(np.abs(values))))


def _some(design: Design, rng: np.random.Generator) -> Design:
    """Of many ratings some of every scale, the terms as they are."""
    if design.n_ratings <= COMPARED:
        return design
    each = max(1, COMPARED // len(design.scales))
    chosen = [rng.permutation(scale.rows)[:each] for scale in design.scales]
    rows = np.sort(np.concatenate(chosen))
    place = np.full(design.n_ratings, -1)
    place[rows] = np.arange(len(rows))
    terms = tuple(replace(term, index=term.index[rows]) for term in design.terms)
    scales = []
    for scale in design.scales:
        inside = place[scale.rows] >= 0
        scales.append(
            replace(scale, rows=place[scale.rows[inside]], category=scale.category[inside])
        )
    return replace(design, terms=terms, scales=tuple(scales), n_ratings=len(rows))

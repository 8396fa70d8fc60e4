"""Changes of variables of effects and sds between PyMC and the coordinates of the sampler."""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.logprob.transforms import Transform

from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Floats

Tensor = Any


class MeanFirst(Transform):
    """Reflection of each group of n values to sqrt(n) times its mean and n - 1 other values.

    Values are then divided by the last parameter of their distribution, the sd, to a power each.
    """

    name = "mean_first"

    def __init__(self, group: Index, power: float | Floats = 0.0) -> None:
        """Take the group of each value, -1 for none; a group of one value stays as it is."""
        self.power = np.asarray(power, dtype=float)
        code, first, position, size = np.unique(
            group, return_index=True, return_inverse=True, return_counts=True
        )
        reflected = (code >= 0) & (size > 1)
        self.inside = np.flatnonzero(reflected[position])
        self.group = (np.cumsum(reflected) - 1)[position[self.inside]]
        self.first, self.size = first[reflected], size[reflected].astype(float)

    def forward(self, value: Tensor, *inputs: Tensor) -> Tensor:
        """Reflect, then divide by the scale."""
        return self.reflect(value) / self.scale(inputs)

    def backward(self, value: Tensor, *inputs: Tensor) -> Tensor:
        """Multiply by the scale, then reflect back, since a reflection is its own inverse."""
        return self.reflect(value * self.scale(inputs))

    def log_jac_det(self, value: Tensor, *inputs: Tensor) -> Tensor:
        """Return the log scale of every value: a reflection keeps volumes."""
        if not self.power.any():
            return pt.zeros_like(value.ravel()[0])
        return pt.zeros_like(value) + pt.log(self.scale(inputs))

    def scale(self, inputs: tuple[Tensor, ...]) -> Tensor:
        """Return the sd to the power of each value."""
        return inputs[-1] ** self.power if self.power.any() else np.ones(self.power.shape)

    def reflect(self, value: Tensor) -> Tensor:
        """Apply a Householder reflection to each group, its mean against its first value."""
        if not self.first.size:
            # PyMC renames a coordinate that is the variable itself.
            return pt.tensor_copy(value)
        flat = value.ravel()
        inside = flat[self.inside]
        mean = pt.inc_subtensor(pt.zeros(len(self.size))[self.group], inside) / self.size**0.5
        step = (mean - flat[self.first]) / (self.size**0.5 - 1.0)
        moved = pt.set_subtensor(flat[self.inside], inside - step[self.group])
        return pt.set_subtensor(moved[self.first], mean).reshape(value.shape)


class TotalRatio(Transform):
    """Two sds as the log of the root of the sum of their squares, and the log of their ratio."""

    name = "total_ratio"

    def forward(self, value: Tensor, *_inputs: Tensor) -> Tensor:
        """Return the log of the total, and of the second sd over the first."""
        return pt.stack([0.5 * pt.log((value**2).sum()), pt.log(value[1] / value[0])])

    def backward(self, value: Tensor, *_inputs: Tensor) -> Tensor:
        """Return the two sds."""
        return pt.exp(value[0] - 0.5 * pt.log1p(pt.exp(np.array([2.0, -2.0]) * value[1])))

    def log_jac_det(self, value: Tensor, *inputs: Tensor) -> Tensor:
        """Return the sum of the log sds: between logs and logs the volume is kept."""
        return pt.log(self.backward(value, *inputs)).sum()

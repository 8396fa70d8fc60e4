"""The kernel's likelihood as a node of a PyTensor graph, for models outside the kernel's families.

Gathers of effects and scatters of slopes are inside the node, which is where PyTensor loses most
of its time; value and slopes are outputs of one node, so that ratings are gone through once.
"""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key

from sharpbayes.bayes.kernel.machine_code import likelihood_code, pack
from sharpbayes.bayes.kernel.plan import KernelData

Tensor = Any


class RatingsLikelihood(Op):
    """Log-likelihood of all ratings of a plan, and its slopes.

    Inputs: the packed plan, effects and block means of all terms (``U`` of the plan), thresholds
    and gaps of all sets. Outputs: the log-likelihood and its slopes in the last three.
    """

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node of these inputs."""
        held = [pt.as_tensor(each) for each in inputs]
        return Apply(self, held, [pt.dscalar(), *(each.type() for each in held[1:])])

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:  # noqa: ARG002
        """Compute without compiling."""
        for cell, value in zip(outputs, likelihood_code()(*inputs), strict=True):
            cell[0] = np.asarray(value)

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Tensor]:
        """Return the slopes, which the same node has computed."""
        del inputs
        return [disconnected_type(), *(cotangents[0] * slope for slope in outputs[1:])]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:  # noqa: ARG002
        """Say that addresses have no slope, and that slopes are not differentiated."""
        return [[False] * 4, *([[True, False, False, False]] * 3)]


@register_funcify_default_op_cache_key(RatingsLikelihood)
def _in_numba(op: RatingsLikelihood, **_: Any) -> Any:  # noqa: ARG001
    """The machine code for PyTensor's numba back end."""
    return likelihood_code()


def ratings_likelihood(plan: KernelData, effects: Tensor, cuts: Tensor, gaps: Tensor) -> Tensor:
    """Return the log-likelihood of all ratings as a node; the plan must outlive the graph."""
    user = pt.constant(pack(plan))
    return RatingsLikelihood()(user, effects, cuts, gaps)[0]

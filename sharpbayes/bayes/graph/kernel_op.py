"""The kernel's likelihood as a node of a PyTensor graph, for priors that the kernel lacks.

Gathers of effects and scatters of gradients are inside the node, where PyTensor would lose most of
its time. Value and gradients are outputs of one node, so that it reads the ratings once.
"""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key

from sharpbayes.bayes.kernel.data import KernelData
from sharpbayes.bayes.kernel.machine_code import digest, likelihood_code, pack

Tensor = Any


class RatingsLikelihood(Op):
    """Log-likelihood of all ratings, and its gradients.

    Inputs: packed :class:`KernelData`, its vector ``U`` of effects and group means, cutpoints and
    gaps of all sets. Outputs: the log-likelihood and its gradients by the last three inputs.
    """

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node of these inputs."""
        tensors = [pt.as_tensor(value) for value in inputs]
        return Apply(self, tensors, [pt.dscalar(), *(tensor.type() for tensor in tensors[1:])])

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:  # noqa: ARG002
        """Compute without compiling."""
        for output, value in zip(outputs, likelihood_code()(*inputs), strict=True):
            output[0] = np.asarray(value)

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Tensor]:
        """Return the gradients, which the same node has computed."""
        del inputs
        return [disconnected_type(), *(cotangents[0] * gradient for gradient in outputs[1:])]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:  # noqa: ARG002
        """Say that addresses have no gradient, and that gradients are not differentiated."""
        return [[False] * 4, *([[True, False, False, False]] * 3)]


@register_funcify_default_op_cache_key(RatingsLikelihood)
def _in_numba(op: RatingsLikelihood, **_: Any) -> Any:  # noqa: ARG001
    """The machine code for PyTensor's numba back end, and the number of its version on disk."""
    return likelihood_code(), digest()


def ratings_likelihood(
    data: KernelData, effects: Tensor, cutpoints: Tensor, gaps: Tensor
) -> Tensor:
    """Return the log-likelihood of all ratings as a node; ``data`` must outlive the graph."""
    return RatingsLikelihood()(pt.constant(pack(data)), effects, cutpoints, gaps)[0]

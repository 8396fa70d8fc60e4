"""The kernel's likelihood as a node: compiled as the sampler compiles it."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.traversal import ancestors

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.graph.kernel_op import ratings_likelihood
from sharpbayes.bayes.graph.model import sampling_model
from sharpbayes.bayes.kernel.data import SIZE
from sharpbayes.bayes.kernel.layout import parameter_layout
from sharpbayes.bayes.kernel.machine_code import PACKED, list_arrays
from tests.bayes.conftest import crowd_ratings, model_from, model_of


@pytest.mark.slow
def test_the_node_compiles_and_has_its_gradient(rng):
    design = build_design(crowd_ratings(rng, items=6, raters=4), model_of(("item",), ("rater",)))
    data = parameter_layout(design).kernel_data
    effects, cutpoints, gaps = pt.dvectors("effects", "cutpoints", "gaps")
    value = ratings_likelihood(data, effects, cutpoints, gaps)
    total = value + pt.exp(effects[1]) * effects[2]
    outputs = [total, *pytensor.grad(total * 2.0, [effects, cutpoints, gaps])]
    compiled = pytensor.function([effects, cutpoints, gaps], outputs, mode="NUMBA")
    plain = pytensor.function([effects, cutpoints, gaps], outputs, mode="FAST_COMPILE")
    cuts = np.array([-1.0, 0.0, 0.5, 1.5])
    point = (rng.normal(size=data.sizes[SIZE.vector]), cuts, np.append(np.diff(cuts), 1.0))
    for one, other in zip(compiled(*point), plain(*point), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_the_arrays_live_as_long_as_the_model(rng):
    """The node has addresses alone: without this, a fit of Student-t effects ended in a crash."""
    location = [{"by": ["item"], "prior": {"kind": "student_t", "df": 4, "sd": 1.0}}]
    design = build_design(crowd_ratings(rng, items=6, raters=4), model_from(location))
    (node,) = sampling_model(design).potentials
    packed = next(x.data for x in ancestors([node]) if np.shape(getattr(x, "data", 0)) == PACKED)
    assert packed[1:, 0].tolist() == [
        array.ctypes.data for array in list_arrays(node.tag.kernel_data)
    ]

"""The kernel's likelihood as a node: compiled as the sampler compiles it."""

import numpy as np
import pytensor
import pytensor.tensor as pt

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.graph.kernel_op import ratings_likelihood
from sharpbayes.bayes.kernel.data import SIZE
from sharpbayes.bayes.kernel.layout import parameter_layout
from tests.bayes.conftest import crowd_ratings, model_of


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

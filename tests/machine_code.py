"""Machine code that tests need, compiled once and kept on disk, in two processes side by side.

The kernel takes 47 s and the others 22. Its functions share machine code: what is stored of a draw
takes 8 s after the density and 24 s in a process of its own.
"""

import numpy as np

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.kernel import machine_code
from sharpbayes.bayes.kernel.layout import parameter_layout
from sharpbayes.bayes.kernel.parts import PartLikelihood, PartsDensity, RatingsParts
from sharpbayes.bayes.predict import psis
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.measure import measure
from tests.bayes.conftest import crowd_ratings, model_of


def compile_kernel():
    """Compile the density of a model, as a whole and in parts, and what is stored of a draw."""
    machine_code.logp_code()
    machine_code.constrain_code()
    # Most of it is compiled by now: the functions are the same.
    compile_parts()


def compile_others():
    """Compile the functions of metrics and of what is predicted."""
    few, values = ("bootstrap.replicates=20",), np.zeros((10, 1))
    for name in ("quickstart_crowd", "quickstart"):
        measure(load_study(name, overrides=few))
    psis.psis_loo(values)
    psis.psis_pit(values, values)


def compile_parts():
    """Compile the density before and after its likelihood, and the likelihood of a part."""
    ratings = crowd_ratings(np.random.default_rng(1), items=6, raters=4)
    design = build_design(ratings, model_of(("item",), ("rater",)))
    layout = parameter_layout(design, with_ratings=False)
    [part] = RatingsParts(layout, 1)
    compute = PartLikelihood(part)
    density = PartsDensity(layout, [part.inputs], lambda messages: [compute(messages[0])])
    density(np.zeros(layout.size))

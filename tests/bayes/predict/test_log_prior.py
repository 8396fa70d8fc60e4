"""Log densities of priors are those of PyMC's graph."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from pymc.stats import compute_log_prior
from pytensor.compile.mode import Mode
from scipy import stats

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.graph.model import build_model
from sharpbayes.bayes.graph.priors import LogGaps
from sharpbayes.bayes.graph.terms import MeanFirst
from sharpbayes.bayes.predict.log_prior import log_lkj, log_prior, named_priors
from sharpbayes.bayes.predict.prior import draw_prior
from tests.bayes.conftest import crowd_ratings, model_from, model_of, panel_ratings
from tests.bayes.kernel.test_careless import CARELESS

DRAWS = 5
UNCOMPILED = Mode(linker="py", optimizer=None)
HALF_T = {"kind": "half_student_t", "df": 4, "scale": 0.5}
EXPONENTIAL = {"kind": "exponential", "mean": 0.6}


def crowd(rng):
    """Fixed effects of three kinds, an sd of Student's t, ordered cutpoints."""
    location = [
        {"by": ["item"], "prior": {"kind": "student_t", "df": 5, "sd": 0.8}},
        {"by": ["rater"], "prior": {"kind": "normal", "sd": HALF_T}},
        {"by": ["group:gender"], "prior": {"kind": "normal", "sd": 0.7}},
    ]
    discrimination = [{"by": ["group:gender"], "prior": {"kind": "normal", "sd": 0.4}}]
    return crowd_ratings(rng, items=4, raters=4), model_from(
        location, thresholds={"prior": {"mean": 1.0, "sd": 2.0}}, discrimination=discrimination
    )


def panel(rng):
    """Fixed effects that add up to 0 along two dimensions, sds over a dimension."""
    location = [
        {"by": ["prompt", "dimension"], "correlated_over": "dimension"},
        {"by": ["judge"], "prior": {"kind": "normal", "sd": EXPONENTIAL}},
        {"by": ["model", "prompt"], "zero_sum": True, "prior": {"kind": "normal", "sd": 1.2}},
    ]
    return panel_ratings(rng, models=3, prompts=4, judges=2), model_from(location)


def unordered(rng):
    """Unordered cutpoints of the adjacent likelihood."""
    return crowd_ratings(rng, items=4, raters=4), model_of(("item",), likelihood="adjacent")


def careless(rng):
    """A share of careless raters."""
    return crowd_ratings(rng, items=5, raters=4), model_of(("item",), ("rater",), **CARELESS)


def graph_draws(model):
    """Draws of every free variable and of what is computed from them."""
    variables = [*model.free_RVs, *model.deterministics]
    values = pm.draw(variables, draws=DRAWS, random_seed=3, mode=UNCOMPILED)
    names = [variable.name for variable in variables]
    return {
        name: ((*("chain", "draw"), *(f"{name}_{axis}" for axis in range(x.ndim - 1))), x[None])
        for name, x in zip(names, map(np.asarray, values), strict=True)
    }


@pytest.mark.parametrize("case", [crowd, panel, unordered, careless])
def test_log_priors_are_those_of_the_graph(case, rng, monkeypatch):
    # PyMC takes the text before the last underscore for the name of a variable.
    monkeypatch.setattr(MeanFirst, "name", "reflected")
    monkeypatch.setattr(LogGaps, "name", "gaps")
    design = build_design(*case(rng))
    model = build_model(design)
    model.rvs_to_initial_values = dict.fromkeys(model.rvs_to_initial_values)
    posterior = xr.Dataset(graph_draws(model)).assign_coords(chain=[0], draw=range(DRAWS))
    densities = log_prior(posterior, design)
    data = xr.DataTree.from_dict({"posterior": posterior})
    expected = compute_log_prior(
        data,
        model=model,
        extend_inferencedata=False,
        progressbar=False,
        compile_kwargs={"mode": UNCOMPILED},
    )
    compared = [name for name in densities if not name.startswith("correlation_")]
    assert len(compared) >= 2
    for name in compared:
        of_graph = next(x for x in expected if x.removesuffix("_log") in graph_names(name))
        total = expected[of_graph].sum(
            [x for x in expected[of_graph].dims if x not in densities.dims]
        )
        # Effects that are sampled by their sd have another unit: a constant.
        constant = float((total - densities[name]).mean()) if of_graph.endswith("_unit") else 0.0
        np.testing.assert_allclose(densities[name] + constant, total, rtol=1e-7, err_msg=name)


def graph_names(name):
    """Names that the graph may have for the variable with a prior."""
    return {name, f"{name}_offset", f"{name}_unit"}


def test_lkj_is_a_power_of_the_determinant(rng):
    """Of two levels LKJ(eta) is 2 Beta(eta, eta) - 1; of three it is flat where eta is 1."""
    r = np.array([-0.8, -0.1, 0.3, 0.9])
    matrices = np.stack([np.ones(4), r, r, np.ones(4)], axis=-1)
    densities, expected = log_lkj(matrices, 2.5, 2), stats.beta(2.5, 2.5).logpdf((r + 1) / 2)
    np.testing.assert_allclose(densities - densities[0], expected - expected[0], rtol=1e-12)
    prior = draw_prior(build_design(*panel(rng)), draws=4, seed=2)["prior"]
    values = prior["correlation_prompt_dimension"].to_numpy().reshape(1, 4, -1)
    np.testing.assert_array_equal(log_lkj(values, 1.0, 2), 0.0)


def test_a_prior_has_the_name_of_its_variable_and_its_law(rng):
    design = build_design(*crowd(rng))
    laws = {prior.name: prior.law for prior in named_priors(design)}
    assert laws == {
        "location_item": "student_t(5, 0, 0.8)",
        "sd_rater": "half_student_t(4, 0.5)",
        "location_gender": "normal(0, 0.7)",
        "discrimination_gender": "normal(0, 0.4)",
        "threshold_score": "normal(1, 2), ordered",
    }
    prior = draw_prior(design, draws=3, seed=1)["prior"]
    table = log_prior(prior, design)
    assert set(table) == set(laws) <= set(prior)
    assert table["sd_rater"].attrs["law"] == "half_student_t(4, 0.5)"

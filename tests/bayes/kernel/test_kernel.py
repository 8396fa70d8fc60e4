"""The kernel against PyMC's graph, finite differences and arithmetic of many digits."""

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import mpmath
import numba
import numpy as np
import pytensor
import pytest
from pytensor.compile.mode import Mode

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.graph import verification
from sharpbayes.bayes.graph.held_means import put_sampled
from sharpbayes.bayes.graph.model import build_model
from sharpbayes.bayes.graph.verification import graph_density, verify_kernel
from sharpbayes.bayes.kernel import blocks
from sharpbayes.bayes.kernel.density import constrain, density
from sharpbayes.bayes.kernel.layout import initial_point, parameter_layout
from sharpbayes.bayes.kernel.machine_code import (
    OTHER_SOURCES,
    kernel_density,
    logp_code,
    pack,
    stored_values,
)
from sharpbayes.bayes.sampling.draws import label_draws
from sharpbayes.data.ratings import Ratings
from sharpbayes.errors import KernelError
from sharpbayes.library import find
from sharpbayes.library import names as shipped
from sharpbayes.spec.load import load
from sharpbayes.spec.model import Model
from tests.bayes.conftest import (
    SCALES,
    column,
    crowd_ratings,
    model_from,
    model_of,
    panel_ratings,
    with_experts,
    with_numbers,
    with_people,
)
from tests.bayes.kernel.slopes import SLOPES

ROOT = Path(__file__).parents[3]
GROUPS = (("item",), ("rater",), (("group:*",), 1.0))
BY_DIMENSION = [
    {"by": ["model", "dimension"]},
    {"by": ["prompt", "dimension"], "correlated_over": "dimension"},
    {"by": ["model", "prompt", "dimension"]},
    {"by": ["judge", "dimension"]},
]
HALF_T = {"kind": "half_student_t", "df": 3, "scale": 1.0}
CASES = {
    "plain": lambda rng: (crowd_ratings(rng, items=30, raters=12), model_of(*GROUPS)),
    "probit": lambda rng: (
        crowd_ratings(rng, items=30, raters=12),
        model_of(*GROUPS, link="probit", discrimination=[{"by": ["rater"]}]),
    ),
    "thresholds and discrimination": lambda rng: (
        crowd_ratings(rng, items=30, raters=12),
        model_of(
            *GROUPS,
            thresholds={"by": ["scale", "group:gender", "rater"]},
            discrimination=[{"by": ["item"]}, {"by": ["group:*"]}],
        ),
    ),
    "experts of no group": lambda rng: (
        with_experts(crowd_ratings(rng, items=30, raters=12), rng),
        model_of(
            *GROUPS,
            thresholds={"by": ["scale", "group:gender"]},
            discrimination=[{"by": ["group:gender"]}],
        ),
    ),
    "three scales, correlated": lambda rng: (
        panel_ratings(rng),
        model_from(
            BY_DIMENSION,
            thresholds={"by": ["scale", "indicator", "judge"]},
            discrimination=[{"by": ["indicator"]}, {"by": ["judge"]}],
        ),
    ),
    "few ratings an effect, correlated": lambda rng: (
        panel_ratings(rng, models=1, prompts=40, judges=2),
        model_from([{"by": ["prompt", "indicator"], "correlated_over": "indicator"}]),
    ),
    "zero-sum, other priors": lambda rng: (
        panel_ratings(rng),
        model_from(
            [
                {"by": ["model"], "zero_sum": True},
                {"by": ["prompt", "dimension"], "zero_sum": True},
                {"by": ["judge"], "prior": {"kind": "normal", "sd": HALF_T}},
                {
                    "by": ["indicator"],
                    "prior": {"kind": "normal", "sd": {"kind": "exponential", "mean": 1.0}},
                },
            ]
        ),
    ),
    **SLOPES,
    "people score some answers": lambda rng: (
        with_people(panel_ratings(rng), rng),
        model_from(
            [
                *BY_DIMENSION[:3],
                {"by": ["rater"], "zero_sum": True},
                {
                    "by": ["machine", "model", "prompt", "dimension"],
                    "prior": {"kind": "normal", "sd": HALF_T},
                },
            ],
            thresholds={"by": ["scale", "indicator"]},
        ),
    ),
}


def compared(design, *, seed, away=0.5):
    """Value and gradient of kernel and graph at one point."""
    flat = parameter_layout(design)
    rng = np.random.default_rng(seed)
    point = initial_point(design, flat, seed=seed) + rng.normal(0, away, flat.size)
    return flat, point, kernel_density(flat, point), graph_density(build_model(design), flat, point)


def assert_same(design, *, seed):
    flat, _, (value, slope), (wanted, slopes) = compared(design, seed=seed)
    # PyMC keeps constants of its densities in single precision
    assert value == pytest.approx(wanted, rel=1e-9, abs=1e-7)
    for section in flat.coordinates:
        where = slice(section.start, section.stop)
        largest = max(1.0, np.abs(slopes[where]).max(initial=0.0))
        np.testing.assert_allclose(
            slope[where], slopes[where], rtol=1e-9, atol=1e-9 * largest, err_msg=section.name
        )


@pytest.mark.parametrize("case", CASES)
def test_value_and_gradient_are_those_of_the_graph(case, rng):
    assert_same(build_design(*CASES[case](rng)), seed=11)


@pytest.mark.parametrize(
    ("likelihood", "judges"), [("cumulative", 2), ("cumulative", 1), ("continuation", 2)]
)
def test_blocks_of_cells_with_one_rating_have_the_density_of_the_graph(likelihood, judges, rng):
    """Their cells follow one another, and are read by vector instructions."""
    ratings = panel_ratings(rng, models=4, prompts=60, judges=judges)
    terms = [{"by": ["model", "prompt"]}, {"by": ["judge", "model", "prompt"]}]
    model = model_from(terms, likelihood=likelihood, discrimination=[{"by": ["indicator"]}])
    design = build_design(ratings, model)
    assert (parameter_layout(design).kernel_data.block_run >= 0).sum() > len(SCALES)
    assert_same(design, seed=5)


def test_of_many_cells_those_with_the_most_ratings_are_first(rng, monkeypatch):
    """The density is that of the graph, and of cells in the order of their levels."""
    ratings = panel_ratings(rng, models=4, prompts=12, judges=8)
    kept = rng.random(len(ratings.score)) < 0.3 + 0.7 * (ratings.factors["prompt"].codes % 3 == 0)
    columns = {name: column(x.labels, x.codes[kept]) for name, x in ratings.factors.items()}
    ratings = Ratings(ratings.score[kept], columns, ratings.scales)
    model = model_from([{"by": ["model", "prompt"]}], discrimination=[{"by": ["indicator"]}])
    design = build_design(ratings, model)
    _, _, (in_order, slope), _ = compared(design, seed=3)
    monkeypatch.setattr(blocks, "CACHED_CELLS", 1)
    flat, _, (value, slope_by_count), _ = compared(design, seed=3)
    assert value == pytest.approx(in_order, rel=1e-12)
    np.testing.assert_allclose(slope_by_count, slope, rtol=1e-9, atol=1e-9)
    data = flat.kernel_data
    for first, last in pairwise(data.cell_start):
        counts = np.bincount(data.rating_cell, minlength=data.cell_start[-1])[first:last]
        assert (np.diff(counts) <= 0).all()
        assert counts[0] > counts[-1]
    assert_same(design, seed=4)


@pytest.mark.parametrize("judges", [1, 3])
def test_one_indicator_a_dimension_is_sampled(judges, rng):
    """It holds the means of terms by dimension, and is no centre of theirs: a fit never began."""
    ratings = panel_ratings(rng, judges=judges)
    kept = np.isin(ratings.factors["indicator"].codes, (0, 3))
    columns = {
        name: column(factor.labels, factor.codes[kept] // (3 if name == "indicator" else 1))
        for name, factor in ratings.factors.items()
    }
    columns["indicator"] = column("ux", columns["indicator"].codes)
    ratings = Ratings(ratings.score[kept], columns, ratings.scales)
    model = load(find("models", "judge_panel"), Model).spec
    directly = dict.fromkeys([term.name for term in build_design(ratings, model).terms], 0.0)
    design = build_design(ratings, model, non_centring=directly)
    holder = next(term for term in design.terms if term.name == "location_indicator")
    assert holder.child_term is None
    assert {term.mean_holder for term in design.terms} == {None, holder.name}
    assert len(design.parents_first) == len(design.terms)
    assert_same(design, seed=4)


def test_a_model_of_many_parts_has_the_density_of_its_graph(rng):
    """PyTensor adds at most 32 terms at once where nothing is compiled."""
    columns = {f"n{number}": ("item", "rater") for number in range(11)}
    ratings = with_numbers(crowd_ratings(rng, items=6, raters=4), rng, **columns)
    slopes = [{"column": name, "by": ["rater"]} for name in columns]
    assert_same(build_design(ratings, model_from([{"by": ["item"]}], slope=slopes)), seed=3)


@pytest.mark.parametrize("name", shipped("models"))
def test_shipped_models_have_the_density_of_their_graph(name, rng):
    spec = load(find("models", name), Model).spec
    named = {name for _, name in spec.columns}
    ratings = panel_ratings(rng) if "model" in named else crowd_ratings(rng, items=25, raters=14)
    if {"model", "rater"} <= named:
        ratings = with_people(ratings, rng)
    if "item_label" in named:
        labelled = ratings.factors["item"].codes % 3 == 0
        ratings.factors["item_label"] = column(["safe", "unsafe"], labelled.astype(np.int32))
    assert_same(build_design(ratings, spec), seed=5)


@pytest.mark.parametrize("people", [1, 3])
def test_one_judge_against_people_has_the_density_of_the_graph(people, rng):
    """Terms of one level, whose reference are the ratings to which they do not apply."""
    spec = load(find("models", "judges_and_people"), Model).spec
    ratings = with_people(panel_ratings(rng, judges=1), rng, people=people, share=0.7)
    design = build_design(ratings, spec)
    assert_same(design, seed=5)
    shapes = {term.name: term.shape for term in design.terms}
    assert shapes["location_own_family"] == shapes["discrimination_judge"] == (1,)
    assert shapes["gap_ten_judge"] == (1, 8)


@pytest.mark.parametrize("case", CASES)
def test_gradient_is_the_limit_of_differences(case, rng):
    design = build_design(*CASES[case](rng))
    flat = parameter_layout(design)
    point = initial_point(design, flat, seed=3)
    _, slope = kernel_density(flat, point)
    chosen = rng.permutation(flat.size)[:60]
    ends = [section.start for section in flat.coordinates]
    for coordinate in {*chosen.tolist(), *ends}:
        step = 1e-5 * np.eye(flat.size)[coordinate]
        upper, lower = (kernel_density(flat, point + sign * step)[0] for sign in (1, -1))
        # a difference of two values of size v is known to about v * 1e-16 / 1e-5
        assert slope[coordinate] == pytest.approx((upper - lower) / 2e-5, rel=1e-5, abs=2e-6), (
            coordinate
        )


@pytest.mark.parametrize("case", CASES)
def test_kept_values_are_the_variables_of_the_graph(case, rng):
    design = build_design(*CASES[case](rng))
    flat, model = parameter_layout(design), build_model(design)
    point = initial_point(design, flat, seed=8)
    kept = label_draws(kept_at(flat, point)[None, None], design, flat)
    _, wanted_values = graph_function(model, flat, list(kept))(point)
    for name, wanted in wanted_values.items():
        values = kept[name].to_numpy()[0, 0]
        present = ~np.isnan(values)  # levels without a rating on a scale have no thresholds there
        np.testing.assert_allclose(
            values[present], wanted[present], rtol=1e-10, atol=1e-10, err_msg=name
        )


def kept_at(flat, point):
    """What the sampler keeps of a draw, by the machine code that it calls."""
    return stored_values(flat, np.asarray(point, dtype=float))


def graph_function(model, flat, names):
    """Log density and variables of the graph as a function of a point, without compiling."""
    sections = {section.name: section for section in flat.coordinates}
    # PyMC renames a coordinate that equals its variable once variables are replaced.
    inputs = [sections[variable.name] for variable in model.value_vars]
    variables = model.replace_rvs_by_values([model[name] for name in names])
    # One by one: where it is not compiled, PyTensor adds at most 32 terms at once.
    density_of_graph = sum(factor.sum() for factor in model.logp(sum=False))
    (density_of_graph, *variables), volume = put_sampled(
        flat.design, model.value_vars, [density_of_graph, *variables]
    )
    function = pytensor.function(
        model.value_vars,
        [density_of_graph + volume, *variables],
        mode=Mode(linker="py", optimizer=None),
        on_unused_input="ignore",
    )

    def evaluate(point):
        value, *values = function(*[point[part.slice].reshape(part.shape) for part in inputs])
        return float(value), dict(zip(names, values, strict=True))

    return evaluate


def one_item(levels, *, cuts):
    """Ratings of one item by one rater: no term, only thresholds."""
    return Ratings(
        np.asarray(levels, dtype=np.int16),
        {
            "item": column(["a", "b"], np.arange(len(levels)) % 2),
            "scale": column(["score"], np.zeros(len(levels))),
        },
        {"score": tuple(str(n) for n in range(cuts + 1))},
    )


def exact(levels, effects, cuts, link):
    """Log-likelihood in 60 digits."""
    mpmath.mp.dps = 60
    below = {"logit": lambda x: 1 / (1 + mpmath.exp(-x)), "probit": mpmath.ncdf}[link]
    above = {"logit": lambda x: 1 / (1 + mpmath.exp(x)), "probit": lambda x: mpmath.ncdf(-x)}[link]
    total = mpmath.mpf(0)
    for position, level in enumerate(levels):
        eta = mpmath.mpf(float(effects[position % 2]))
        upper = mpmath.mpf(float(cuts[level])) - eta if level < len(cuts) else mpmath.inf
        lower = mpmath.mpf(float(cuts[level - 1])) - eta if level else -mpmath.inf
        # the side on which the difference keeps its digits
        share = below(upper) - below(lower) if upper < 0 else above(lower) - above(upper)
        total += mpmath.log(share)
    return total


# 60 digits do not hold normal tails of 200 sds.
@pytest.mark.parametrize(
    ("link", "effect"),
    [(link, effect) for link in ("logit", "probit") for effect in (0.0, 5.0, 39.0)]
    + [("logit", 200.0)],
)
@pytest.mark.parametrize("gap", [1.0, 1e-3, 1e-9])
def test_extreme_points_keep_their_digits(link, effect, gap):
    levels = [0, 1, 2, 3, 0, 3, 1, 2]
    ratings = one_item(levels, cuts=3)
    spec = model_of((("item",), 1.0), link=link)
    design = build_design(ratings, spec)
    flat = parameter_layout(design)
    point = np.zeros(flat.size)
    sections = {section.name: section for section in flat.coordinates}
    item = next(s for name, s in sections.items() if name.startswith("location_item"))
    cuts = sections["threshold_score_offset_log_gaps__"]
    # mean of the two effects first, then half their difference, each times the root of 2
    point[item.start : item.stop] = [0.0, effect * np.sqrt(2.0)]
    point[cuts.start : cuts.stop] = [0.2, np.log(gap), np.log(gap)]
    kept = label_draws(kept_at(flat, point)[None, None], design, flat)
    effects = kept["location_item"].to_numpy()[0, 0]
    thresholds = kept["threshold_score"].to_numpy()[0, 0]
    assert np.abs(np.abs(effects) - effect).max() < 1e-9
    prior = -0.5 * (effects**2).sum() - 0.5 * ((thresholds / 5.0) ** 2).sum()
    prior += -2.5 * np.log(2 * np.pi) - 3 * np.log(5.0) + np.log(6.0) + 2 * np.log(gap)
    value, slope = kernel_density(flat, point)
    # thresholds 0.2 and 0.2 + gap are stored with 16 digits, their gap is known to all of its own
    middle = design.scales[0].median_cutpoint
    wide = [mpmath.mpf("0.2") + mpmath.mpf(gap) * (k - middle) for k in range(3)]
    wanted = exact(levels, effects, wide, link)
    assert value - prior == pytest.approx(float(wanted), rel=1e-9)
    assert np.isfinite(slope).all()


def test_a_wrong_kernel_is_refused(rng, monkeypatch):
    design = build_design(crowd_ratings(rng, items=10, raters=6), model_of(*GROUPS))

    def wrong(flat, point):
        value, slope = kernel_density(flat, point)
        slope[-1] += 1e-3
        return value, slope

    monkeypatch.setattr(verification, "kernel_density", wrong)
    with pytest.raises(KernelError, match="the gradient of threshold_score_offset_log_gaps__"):
        verify_kernel(design, seed=1)


def test_many_ratings_are_compared_on_some(rng):
    verify_kernel(build_design(crowd_ratings(rng, items=700, raters=40), model_of(*GROUPS)), seed=1)


@pytest.mark.parametrize(
    ("levels", "cuts"),
    [([0], 3), ([3, 3, 3], 3), ([1, 1], 2), ([0, 2, 2, 0], 4), ([0, 1, 1, 0], 1)],
    ids=["one rating", "only the highest", "only the middle", "unused ends", "two levels"],
)
def test_unused_levels_and_single_ratings_are_finite(levels, cuts):
    assert_same(build_design(one_item(levels, cuts=cuts), model_of(("item",))), seed=2)


def test_one_rater_and_one_item_leave_their_terms_out(rng):
    one_rater = build_design(crowd_ratings(rng, items=12, raters=1), model_of(*GROUPS))
    one_thing = build_design(crowd_ratings(rng, items=1, raters=12), model_of(*GROUPS))
    assert (one_rater.omitted_terms, one_thing.omitted_terms) == (("rater", "gender"), ("item",))
    assert_same(one_rater, seed=1)
    assert_same(one_thing, seed=1)


def test_a_plan_of_other_sources_is_refused(rng):
    flat = parameter_layout(build_design(crowd_ratings(rng, items=5, raters=4), model_of(*GROUPS)))
    user, point = pack(flat.kernel_data), np.zeros(flat.size)
    user[0] += 1
    call, slope, value = logp_code().ctypes, np.empty(flat.size), np.empty(1)
    plan_arguments = [
        array.ctypes.data_as(call.argtypes[n]) for n, array in enumerate((point, slope, value), 1)
    ]
    assert call(flat.size, *plan_arguments, user.ctypes.data) == OTHER_SOURCES


@pytest.mark.slow
def test_no_index_leaves_its_array(tmp_path):
    """The whole kernel under numba's check of bounds, in a process of its own."""
    code = (
        "from tests.bayes.kernel import test_careless, test_kernel;"
        "test_kernel.check_bounds(test_careless.CASES, test_careless.design_of)"
    )
    surroundings = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def check_bounds(careless_cases, careless_design):
    """Value, gradient and kept values of every case, by functions that check bounds."""
    # Errors reach a caller of these; one of the sampler's code would not hear of them.
    value_of = numba.njit(density.py_func, error_model="numpy")
    keep = numba.njit(constrain.py_func, error_model="numpy")
    designs = [build_design(*case(np.random.default_rng(1))) for case in CASES.values()]
    designs += [careless_design(case, np.random.default_rng(1)) for case in careless_cases]
    for design in designs:
        flat = parameter_layout(design)
        point = initial_point(design, flat, seed=1)
        assert np.isfinite(value_of(flat.kernel_data, point, np.empty(flat.size)))
        assert np.isfinite(value_of(flat.kernel_data, 40.0 * point, np.empty(flat.size)))
        kept = np.empty(flat.stored_size)
        keep(flat.kernel_data, point, kept)
        assert np.isfinite(kept).all()

"""Careless raters: kernel, graph and a density that is written out rating by rating agree."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.graph.model import build_model, sampling_model
from sharpbayes.bayes.graph.verification import graph_density, verify_kernel
from sharpbayes.bayes.kernel.layout import initial_point, parameter_layout
from sharpbayes.bayes.kernel.machine_code import kernel_density, stored_values
from sharpbayes.bayes.predict.replication import rater_probability
from sharpbayes.bayes.sampling.draws import label_draws
from sharpbayes.bayes.sampling.start import add_reference, find_start
from sharpbayes.data.ratings import Ratings
from tests.bayes.conftest import crowd_ratings, model_of, with_experts
from tests.bayes.kernel.test_density import log_jacobian
from tests.bayes.kernel.test_kernel import graph_function

CARELESS = {"careless": {"share": {"a": 1.5, "b": 6.0}, "concentration": 0.7}}
GROUPS = (("item",), ("rater",), (("group:*",), 1.0))


def with_clickers(rng, *, items, raters, clickers=3):
    """A crowd in which the first raters click at random, and a few ratings are missing."""
    ratings = crowd_ratings(rng, items=items, raters=raters)
    careless = ratings.factors["rater"].codes < clickers
    score = np.where(careless, rng.integers(0, 5, len(ratings.score)), ratings.score)
    complete = Ratings(score.astype(np.int16), ratings.factors, ratings.scales)
    return complete.of(np.sort(rng.permutation(len(score))[: int(0.9 * len(score))]))


CASES = {
    "plain": lambda rng: (with_clickers(rng, items=30, raters=12), model_of(*GROUPS, **CARELESS)),
    "more raters than items": lambda rng: (
        with_clickers(rng, items=6, raters=40),
        model_of(*GROUPS, **CARELESS),
    ),
    "probit and discrimination": lambda rng: (
        with_clickers(rng, items=20, raters=9),
        model_of(*GROUPS, link="probit", discrimination=[{"by": ["rater"]}], **CARELESS),
    ),
    "thresholds of raters, discrimination of groups": lambda rng: (
        with_clickers(rng, items=20, raters=9),
        model_of(
            *GROUPS,
            thresholds={"by": ["scale", "rater"]},
            discrimination=[{"by": ["group:*"]}],
            **CARELESS,
        ),
    ),
    "experts are never careless": lambda rng: (
        with_experts(with_clickers(rng, items=20, raters=9), rng),
        model_of(("item",), ("rater",), **CARELESS),
    ),
    "continuation": lambda rng: (
        with_clickers(rng, items=20, raters=9),
        model_of(*GROUPS, likelihood="continuation", **CARELESS),
    ),
    "one rater": lambda rng: (
        with_clickers(rng, items=20, raters=1, clickers=0),
        model_of(*GROUPS, **CARELESS),
    ),
}


def design_of(case, rng):
    """The design of a case, with a reference for the effects of careless raters if it can."""
    ratings, spec = CASES[case](rng)
    weights = {term.name: rng.random() for term in build_design(ratings, spec).terms}
    return add_reference(build_design(ratings, spec, non_centring=weights))


@pytest.mark.parametrize("case", CASES)
def test_value_and_gradient_are_those_of_the_graph(case, rng):
    design = design_of(case, rng)
    assert (design.careless.reference is None) == (case == "one rater")
    layout = parameter_layout(design)
    # Near the start a rater's class is open for some, far from it the exact path is taken.
    point = find_start(design, layout) + rng.normal(0, 0.3, layout.size)
    value, gradient = kernel_density(layout, point)
    expected, expected_gradient = graph_density(build_model(design), layout, point)
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-6)
    largest = np.abs(expected_gradient).max()
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-7, atol=1e-8 * largest)


@pytest.mark.parametrize("case", CASES)
def test_gradient_is_the_limit_of_differences(case, rng):
    design = design_of(case, rng)
    layout = parameter_layout(design)
    point = find_start(design, layout) + rng.normal(0, 0.3, layout.size)
    _, gradient = kernel_density(layout, point)
    for position in {*rng.permutation(layout.size)[:30].tolist(), layout.size - 1}:
        step = 1e-5 * np.eye(layout.size)[position]
        upper, lower = (kernel_density(layout, point + sign * step)[0] for sign in (1, -1))
        assert gradient[position] == pytest.approx((upper - lower) / 2e-5, rel=1e-4, abs=1e-5)


def urn(scores, n_categories, concentration):
    """Probability of a careless rater's scores, one after the other (Polya's urn)."""
    counts, probability = np.zeros(n_categories), 1.0
    for score in scores:
        weight = concentration + counts
        probability *= weight[score] / weight.sum()
        counts[score] += 1
    return probability


def written_out(design, values):
    """log p(effects, sds, thresholds, share, ratings) from the definition of the model."""
    total, eta = 0.0, np.zeros(design.n_ratings)
    for term in design.terms:
        fixed = isinstance(term.prior.sd, float)
        sd = term.prior.sd if fixed else float(values[f"sd_{term.stem}"])
        total += 0.0 if fixed else stats.halfnorm(0, term.prior.sd.scale).logpdf(sd)
        total += stats.norm(0, sd).logpdf(values[term.name]).sum()
        eta += values[term.name].ravel()[term.index]
    [scale] = design.scales
    cuts, share = values["threshold_score"], float(values["careless_share"])
    total += stats.norm(0, 5.0).logpdf(cuts).sum() + np.log(np.arange(1, len(cuts) + 1)).sum()
    total += stats.beta(1.5, 6.0).logpdf(share)
    upper = expit(np.append(cuts, np.inf)[scale.category] - eta)
    lower = expit(np.insert(cuts, 0, -np.inf)[scale.category] - eta)
    for rater in range(design.careless.n_raters):
        rows = np.flatnonzero(design.careless.index == rater)
        ordinal = np.prod(upper[rows] - lower[rows])
        clicking = urn(scale.category[rows], len(cuts) + 1, 0.7)
        total += np.log((1 - share) * ordinal + share * clicking)
    return total


def test_the_density_is_the_written_out_one(rng):
    ratings, spec = CASES["plain"](rng)
    weights = {term.name: rng.random() for term in build_design(ratings, spec).terms}
    design = build_design(ratings, spec, non_centring=weights)
    layout, model = parameter_layout(design), build_model(design)
    names = [*(term.name for term in design.terms), "sd_item", "sd_rater", "threshold_score"]
    evaluate = graph_function(model, layout, [*names, "careless_share"])
    for seed in range(3):
        point = initial_point(design, layout, seed=seed) + rng.normal(0, 0.3, layout.size)
        _, values = evaluate(point)
        share = float(values["careless_share"])
        expected = written_out(design, values) + log_jacobian(design, layout, point)
        expected += np.log(share) + np.log1p(-share)
        assert kernel_density(layout, point)[0] == pytest.approx(expected, abs=1e-6)


def test_far_points_are_finite(rng):
    design = build_design(*CASES["plain"](rng))
    layout = parameter_layout(design)
    point = 400.0 * np.random.default_rng(1).normal(size=layout.size)
    point[layout.coordinates[0].slice] = 0.0
    sds = [s.slice for s in layout.coordinates if s.name.endswith(("_log__", "_log_gaps__"))]
    for section in sds:
        point[section] = 0.0
    value, gradient = kernel_density(layout, point)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_stored_values_have_the_share(rng):
    design = build_design(*CASES["plain"](rng))
    layout = parameter_layout(design)
    point = initial_point(design, layout, seed=8)
    share, probability = layout.stored[-2:]
    assert (share.name, share.shape) == ("careless_share", ())
    stored = stored_values(layout, point)
    assert stored[share.start] == pytest.approx(expit(point[-1]), rel=1e-12)
    posterior = label_draws(stored[None, None], design, layout)
    by_prediction = rater_probability(posterior, design)[0]
    np.testing.assert_allclose(stored[probability.slice], by_prediction, rtol=1e-8, atol=1e-12)


@pytest.mark.slow
def test_the_likelihood_node_of_graphs_with_other_priors_has_the_share(rng):
    ratings, _ = CASES["plain"](rng)
    table = {"by": ["item"], "prior": {"kind": "student_t", "df": 4, "sd": 1.5}}
    spec = model_of(("rater",), **CARELESS)
    spec = spec.model_validate(
        spec.model_dump(by_alias=True) | {"location": [table, {"by": ["rater"]}]}
    )
    design = build_design(ratings, spec)
    layout = parameter_layout(design)
    point = initial_point(design, layout, seed=2)
    by_node = graph_density(sampling_model(design), layout, point)
    by_graph = graph_density(build_model(design), layout, point)
    assert by_node[0] == pytest.approx(by_graph[0], rel=1e-10)
    np.testing.assert_allclose(by_node[1], by_graph[1], rtol=1e-7, atol=1e-6)


def test_many_ratings_are_compared_on_some(rng):
    spec = model_of(*GROUPS, **CARELESS)
    verify_kernel(build_design(with_clickers(rng, items=300, raters=40), spec), seed=1)


def test_labels_of_experts_always_follow_the_ordinal_model(rng):
    ratings, spec = CASES["experts are never careless"](rng)
    design = build_design(ratings, spec)
    label = design.scales[1]
    assert (design.careless.index[label.rows] == -1).all()
    assert (design.careless.index[design.scales[0].rows] >= 0).all()

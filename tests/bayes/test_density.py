"""The sampled parametrisation against the plain density written out in NumPy and SciPy."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, gammaln

from sharpbayes.bayes.build import build
from sharpbayes.bayes.design import design
from sharpbayes.bayes.likelihoods import draw_level, log_probability
from sharpbayes.data.ratings import Ratings
from tests.bayes.conftest import column, crowd_ratings, model_of


def plain_density(placed, values):
    """log p(effects, sds, thresholds, ratings) straight from the model's definition."""
    total = 0.0
    eta = np.zeros(placed.ratings)
    for term in placed.terms:
        effect = values[f"location_{term.name}"].ravel()
        fixed = isinstance(term.prior.sd, float)
        sd = term.prior.sd if fixed else float(values[f"sd_{term.name}"])
        total += stats.norm(0, sd).logpdf(effect).sum()
        total += 0.0 if fixed else stats.halfnorm(0, term.prior.sd.scale).logpdf(sd)
        eta += effect[term.index]
    for scale in placed.scales:
        cuts = values[f"threshold_{scale.name}"]
        total += stats.norm(0, placed.thresholds.sd).logpdf(cuts).sum() + gammaln(len(cuts) + 1)
        upper = np.append(cuts, np.inf)[scale.level] - eta[scale.rows]
        lower = np.insert(cuts, 0, -np.inf)[scale.level] - eta[scale.rows]
        # logistic(u) - logistic(l) = logistic(-l) - logistic(-u): the side that does not cancel
        flip = lower > 0
        high, low = np.where(flip, -lower, upper), np.where(flip, -upper, lower)
        total += np.log(expit(high) - expit(low)).sum()
    return total


def log_jacobian(model, placed, point):
    """Log volume of the sampler's coordinates: log sds, unit effects, log spacings."""
    total = sum(float(value) for name, value in point.items() if name.startswith("sd_"))
    for term in placed.terms:
        if not term.centred:
            total += term.size * float(point.get(f"sd_{term.name}_log__", 0.0))
    for scale in placed.scales:
        total += point[f"threshold_{scale.name}_placed_ordered__"][1:].sum()
    return total


def panel_ratings(rng):
    models, prompts, judges = 3, 4, 25
    model, prompt, judge, indicator = (
        index.ravel() for index in np.indices((models, prompts, judges, 3))
    )
    scale = np.array([0, 1, 1])[indicator]
    return Ratings(
        np.where(scale == 0, rng.integers(0, 2, scale.size), rng.integers(0, 4, scale.size)).astype(
            np.int16
        ),
        {
            "model": column("abc", model),
            "prompt": column("pqrs", prompt),
            "judge": column([f"j{n}" for n in range(judges)], judge),
            "indicator": column("xyz", indicator),
            "scale": column(["flag", "severity"], scale),
        },
        {"flag": ("0", "1"), "severity": ("1", "2", "3", "4")},
    )


CASES = {
    "nested and centred": lambda rng: (
        crowd_ratings(rng, items=30, raters=24),
        model_of(("item",), ("rater",), (("group:gender",), 1.0)),
    ),
    "not centred": lambda rng: (
        crowd_ratings(rng, items=12, raters=6),
        model_of(("item",), ("rater",), ("group:gender",)),
    ),
    "two scales, crossing, indicators": lambda rng: (
        panel_ratings(rng),
        model_of(("model",), ("prompt",), ("model", "prompt"), ("judge",), ("indicator",)),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_sampled_density_is_the_plain_one(case, rng):
    ratings, spec = CASES[case](rng)
    placed = design(ratings, spec)
    model = build(placed)
    logp = model.compile_logp(mode="FAST_COMPILE")
    names = [f"location_{term.name}" for term in placed.terms]
    names += [f"sd_{t.name}" for t in placed.terms if not isinstance(t.prior.sd, float)]
    names += [f"threshold_{scale.name}" for scale in placed.scales]
    outputs = model.replace_rvs_by_values([model[name] for name in names])
    constrain = model.compile_fn(outputs, inputs=model.value_vars, mode="FAST_COMPILE")
    start = model.initial_point()
    # Densities may differ by a constant (PyMC keeps some constants in single precision).
    offsets = []
    for _ in range(5):
        point = {name: value + rng.normal(0, 0.7, value.shape) for name, value in start.items()}
        values = dict(zip(names, constrain(point), strict=True))
        expected = plain_density(placed, values) + log_jacobian(model, placed, point)
        offsets.append(float(logp(point)) - expected)
    np.testing.assert_allclose(offsets, offsets[0], rtol=0, atol=1e-9)
    assert abs(offsets[0]) < 1e-6


def test_probabilities_of_all_levels_add_to_one(rng):
    thresholds = np.sort(rng.normal(0, 2, 4))
    eta = rng.normal(0, 3, 50)
    total = sum(
        np.exp(log_probability(np.full(50, level), eta=eta, thresholds=thresholds))
        for level in range(5)
    )
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)


def test_far_severities_keep_a_finite_log_probability():
    # log(logistic(-40)) = -40 - log(1 + exp(-40)), which is -40 to 17 digits
    value = log_probability(np.array([0]), eta=np.array([40.0]), thresholds=np.array([0.0]))
    assert value[0] == pytest.approx(-40.0, rel=1e-14)


def test_drawn_levels_have_the_stated_frequencies(rng):
    thresholds = np.array([-1.0, 0.5])
    drawn = draw_level(rng, eta=np.full(200_000, 0.3), thresholds=thresholds)
    upto = expit(thresholds - 0.3)
    expected = np.diff(np.concatenate([[0.0], upto, [1.0]]))
    seen = np.bincount(drawn, minlength=3) / drawn.size
    # four standard errors of a share of 200,000
    np.testing.assert_allclose(seen, expected, atol=4 * 0.5 / np.sqrt(200_000))

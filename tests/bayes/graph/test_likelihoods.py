"""The three likelihoods against their formulas written out, and in arithmetic of 50 digits."""

from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.graph.likelihoods import DEFINITIONS
from sharpbayes.bayes.graph.model import build_model, sample_prior
from sharpbayes.bayes.graph.verification import graph_density
from sharpbayes.bayes.kernel.layout import initial_point, parameter_layout, start_cutpoints
from sharpbayes.bayes.kernel.machine_code import kernel_density
from sharpbayes.bayes.sampling.draws import label_draws
from tests.bayes.conftest import crowd_ratings, model_from, model_of
from tests.bayes.kernel.test_density import latent
from tests.bayes.kernel.test_kernel import kept_at, one_item

CDF = {"logit": expit, "probit": stats.norm.cdf}
NEW = [("adjacent", "logit"), ("continuation", "logit"), ("continuation", "probit")]
EVERY = [("cumulative", "logit"), ("cumulative", "probit"), *NEW]


def probabilities(likelihood, link, past):
    """Probability of each level from a (eta - c_k), level after level."""
    cdf, levels = CDF[link], len(past) + 1
    if likelihood == "cumulative":
        upto = [cdf(-x) for x in past] + [1.0]
        return np.diff([0.0, *upto])
    if likelihood == "adjacent":
        odds = [1.0]
        for x in past:
            odds.append(odds[-1] * np.exp(x))
        return np.array(odds) / sum(odds)
    shares, reached = [], 1.0
    for k in range(levels):
        stop = cdf(-past[k]) if k < levels - 1 else 1.0
        shares.append(reached * stop)
        reached *= 1.0 - stop
    return np.array(shares)


@pytest.mark.parametrize(("likelihood", "link"), EVERY)
def test_log_probabilities_are_those_of_the_formulas(likelihood, link, rng):
    cuts = np.array([0.4, -0.9, 1.3]) if likelihood != "cumulative" else np.array([-1.0, 0.2, 0.9])
    for eta in rng.normal(0, 2, 10):
        wanted = probabilities(likelihood, link, 1.6 * (eta - cuts))
        assert wanted.sum() == pytest.approx(1.0)
        rating = latent(
            [0, 1, 2, 3], eta=eta, thresholds=cuts, link=link, factor=1.6, likelihood=likelihood
        )
        np.testing.assert_allclose(rating.log_probability()[0], np.log(wanted), rtol=1e-9)


@pytest.mark.parametrize(("likelihood", "link"), NEW)
def test_drawn_levels_have_the_stated_frequencies(likelihood, link, rng):
    cuts, count = np.array([0.5, -1.0, 0.3]), 100_000
    wanted = probabilities(likelihood, link, 1.5 * (0.3 - cuts))
    rating = latent(
        np.zeros(count, int),
        eta=0.3,
        thresholds=cuts,
        link=link,
        factor=1.5,
        likelihood=likelihood,
    )
    _, random = DEFINITIONS[likelihood, link]
    prior = random(np.full(count, 0.45), np.tile(1.5 * cuts, (count, 1)), rng, (count,))
    for drawn in (rating.draw(rng), prior):
        frequency = np.bincount(np.ravel(drawn), minlength=4) / count
        # four standard errors of a share of 100,000
        np.testing.assert_allclose(frequency, wanted, atol=4 * 0.5 / np.sqrt(count))


@pytest.mark.parametrize(("likelihood", "link"), EVERY)
def test_stratified_levels_are_spread_evenly(likelihood, link, rng):
    """Each replicate has the stated frequencies, and those of a rating leave no gaps."""
    count, number = 20_000, 7
    cuts = np.array([-1.0, 0.3, 0.5])
    wanted = probabilities(likelihood, link, 1.5 * (0.3 - cuts))
    rating = latent(
        np.zeros(count, int),
        eta=0.3,
        thresholds=cuts,
        link=link,
        factor=1.5,
        likelihood=likelihood,
    )
    drawn = rating.draw_stratified(number, rng)[:, 0]
    error = 4 * 0.5 / np.sqrt(count)
    for replicate in drawn:
        frequency = np.bincount(replicate, minlength=4) / count
        np.testing.assert_allclose(frequency, wanted, atol=error)
        # Ratings beside each other are independent.
        assert abs(np.corrcoef(replicate[::2], replicate[1::2])[0, 1]) < 4 / np.sqrt(count / 2)
    for level, share in enumerate(wanted.cumsum()[:-1]):
        upto = (drawn <= level).sum(axis=0)
        assert np.abs(upto - number * share).max() < 1
        assert upto.mean() / number == pytest.approx(share, abs=error)


def logistic(x):
    return 1 / (1 + mpmath.exp(-x))


def exact_levels(likelihood, link, past):
    """Log-probability of each level in 50 digits, from a (eta - c_k)."""
    mpmath.mp.dps = 50
    above = {"logit": logistic, "probit": mpmath.ncdf}[link]
    below = {"logit": lambda x: logistic(-x), "probit": lambda x: mpmath.ncdf(-x)}[link]
    past = [mpmath.mpf(x) for x in past]
    if likelihood == "adjacent":
        weight = [mpmath.fsum(past[:k]) for k in range(len(past) + 1)]
        log_total = mpmath.log(mpmath.fsum(mpmath.exp(x) for x in weight))
        return [x - log_total for x in weight]
    if likelihood == "continuation":
        passed = [mpmath.fsum(mpmath.log(above(x)) for x in past[:k]) for k in range(10)]
        return [
            passed[k] + (mpmath.log(below(past[k])) if k < len(past) else 0)
            for k in range(len(past) + 1)
        ]
    ends = [mpmath.inf, *past, -mpmath.inf]
    # the side on which the difference keeps its digits
    return [
        mpmath.log(above(hi) - above(lo) if hi < 0 else below(lo) - below(hi))
        for hi, lo in pairwise(ends)
    ]


TEN_LEVELS = [0, 1, 3, 4, 6, 7, 8, 0, 3, 8, 7, 1]  # 2, 5 and 9 are never used


@pytest.mark.parametrize(("likelihood", "link"), EVERY)
@pytest.mark.parametrize("gap", [1.0, 1e-9])
@pytest.mark.parametrize("effect", [0.0, 3.0, 40.0])
def test_ten_levels_with_three_unused_keep_their_digits(likelihood, link, gap, effect):
    """Latent severities of +-40, thresholds 1e-9 apart: value and slope of the kernel."""
    ratings = one_item(TEN_LEVELS, cuts=9)
    design = build_design(ratings, model_of((("item",), 1.0), link=link, likelihood=likelihood))
    flat = parameter_layout(design)
    point = np.zeros(flat.size)
    sections = {section.name: section for section in flat.coordinates}
    item = next(s for name, s in sections.items() if name.startswith("location_item"))
    cuts = next(s for name, s in sections.items() if name.startswith("threshold_score"))
    # mean of the two effects first, then half their difference, each times the root of 2
    point[item.start : item.stop] = [0.0, effect * np.sqrt(2.0)]
    ordered, middle = likelihood == "cumulative", design.scales[0].median_cutpoint
    point[cuts.start : cuts.stop] = 0.2 + gap * (np.arange(9) - middle)
    if ordered:
        point[cuts.start : cuts.stop] = [0.2, *np.full(8, np.log(gap))]
    kept = label_draws(kept_at(flat, point)[None, None], design, flat)
    effects = kept["location_item"].to_numpy()[0, 0]
    stored = kept["threshold_score"].to_numpy()[0, 0]
    # ordered thresholds are sampled by their gaps, which are known to all of their own digits
    wide = [mpmath.mpf("0.2") + mpmath.mpf(gap) * (k - middle) for k in range(9)]
    exact_cuts = wide if ordered else [mpmath.mpf(float(x)) for x in stored]

    def likelihood_at(moved):
        return mpmath.fsum(
            exact_levels(likelihood, link, [moved + float(effects[n % 2]) - c for c in exact_cuts])[
                level
            ]
            for n, level in enumerate(TEN_LEVELS)
        )

    prior = stats.norm(0, 1).logpdf(effects).sum() + stats.norm(0, 5).logpdf(stored).sum()
    prior += float(mpmath.log(mpmath.factorial(9))) + 8 * np.log(gap) if ordered else 0.0
    value, slope = kernel_density(flat, point)
    assert value - prior == pytest.approx(float(likelihood_at(mpmath.mpf(0))), rel=1e-9, abs=1e-9)
    assert np.isfinite(slope).all()
    # moving all thresholds is moving all severities the other way
    step = mpmath.mpf(10) ** -15
    wanted = float((likelihood_at(-step) - likelihood_at(step)) / (2 * step))
    wanted -= float((stored / 25.0).sum())
    where = slice(cuts.start, cuts.start + 1) if ordered else slice(cuts.start, cuts.stop)
    # the normal's slopes in two thresholds a gap apart are of size 1 / gap and nearly cancel
    lost = 1e-13 / gap if (likelihood, link) == ("cumulative", "probit") else 0.0
    assert slope[where].sum() == pytest.approx(wanted, rel=1e-9, abs=1e-8 + lost)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_two_levels_are_one_model_under_any_likelihood(link, rng):
    """Equal ratings, effects and threshold: equal density, up to nothing."""
    ratings = crowd_ratings(rng, items=8, raters=5, thresholds=(0.3,))
    spec = {"discrimination": [{"by": ["group:gender"]}], "link": link}
    densities = {}
    for likelihood, own_link in EVERY:
        if own_link == link:
            design = build_design(
                ratings, model_of(("item",), ("rater",), likelihood=likelihood, **spec)
            )
            flat = parameter_layout(design)
            point = initial_point(design, flat, seed=2)
            densities[likelihood] = kernel_density(flat, point)
    value, slope = densities.pop("cumulative")
    assert densities
    for other, slopes in densities.values():
        assert other == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(slopes, slope, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("likelihood", "link"), NEW)
def test_chains_start_where_shares_of_levels_are_the_observed_ones(likelihood, link):
    levels = np.repeat([0, 1, 2, 3], [400, 90, 300, 210])
    design = build_design(
        one_item(levels, cuts=3), model_of((("item",), 1.0), likelihood=likelihood, link=link)
    )
    cuts = start_cutpoints(design, design.scales[0])
    # each level is given one rating more than it has
    wanted = np.array([401, 91, 301, 211]) / 1004
    np.testing.assert_allclose(probabilities(likelihood, link, -cuts), wanted, rtol=1e-12)


def test_prior_thresholds_stand_in_any_order(rng):
    """Independent normals, less the means and with the stretches that sampled ones hold."""
    model = model_of(
        ("item",),
        ("rater",),
        likelihood="adjacent",
        thresholds={"by": ["scale", "group:gender"], "prior": {"mean": 1.0, "sd": 2.0}},
    )
    design = build_design(crowd_ratings(rng, items=4, raters=4), model)
    draws = sample_prior(build_model(design), draws=400, seed=3)
    cuts = draws["prior"]["threshold_score"].to_numpy()[0]
    assert cuts.mean(axis=0) == pytest.approx(np.ones(4), abs=4 * 2.0 / np.sqrt(400))
    assert cuts.std(axis=0) == pytest.approx(np.full(4, 2.0), rel=4 / np.sqrt(800))
    assert np.abs(np.corrcoef(cuts.T) - np.eye(4)).max() < 4 / np.sqrt(400)
    assert draws["prior_predictive"]["rating_score"].to_numpy().max() == 4


@pytest.mark.slow
@pytest.mark.parametrize(("likelihood", "link"), NEW)
def test_the_node_for_other_priors_has_the_density_of_the_graph(likelihood, link, rng):
    """A graph of any priors has the kernel's likelihood as one node."""
    far = {"kind": "student_t", "df": 4, "sd": 1.0}
    model = model_from(
        [{"by": ["item"], "prior": far}, {"by": ["rater"]}],
        likelihood=likelihood,
        link=link,
        thresholds={"by": ["scale", "group:gender"]},
        discrimination=[{"by": ["group:gender"]}],
    )
    design = build_design(crowd_ratings(rng, items=8, raters=6), model)
    flat = parameter_layout(design)
    point = initial_point(design, flat, seed=4)
    value, slope = graph_density(build_model(design, kernel_data=flat.kernel_data), flat, point)
    wanted, slopes = graph_density(build_model(design), flat, point)
    assert value == pytest.approx(wanted, rel=1e-9)
    np.testing.assert_allclose(slope, slopes, rtol=1e-9, atol=1e-9)

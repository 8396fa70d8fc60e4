"""The model in the sampler's coordinates against the plain density, in NumPy and SciPy."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, gammaln

from sharpbayes.bayes.design.design import ScaleRatings
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.graph.model import build_model
from sharpbayes.bayes.kernel.layout import coordinate_names, initial_point, parameter_layout
from sharpbayes.bayes.kernel.machine_code import kernel_density
from sharpbayes.bayes.predict.categories import LAWS
from sharpbayes.spec.model import StudentT
from tests.bayes.conftest import (
    crowd_ratings,
    model_from,
    model_of,
    panel_ratings,
    with_people,
)
from tests.bayes.kernel.slopes import SLOPES
from tests.bayes.kernel.test_kernel import graph_function, kept_at

ANSWERS = (("model", "dimension"), ("model", "prompt", "dimension"))
STUDENT_T = {"kind": "student_t", "df": 3.5}
CASES = {
    "nested and centred": lambda rng: (
        crowd_ratings(rng, items=30, raters=24),
        model_of(("item",), ("rater",), (("group:gender",), 1.0)),
    ),
    "Student's t": lambda rng: (
        crowd_ratings(rng, items=12, raters=6),
        model_from(
            [
                {
                    "by": ["item"],
                    "prior": STUDENT_T | {"sd": {"kind": "half_normal", "scale": 1.5}},
                },
                {"by": ["rater"], "prior": STUDENT_T | {"sd": 0.8}},
                {"by": ["group:gender"]},
            ]
        ),
    ),
    "few ratings an effect": lambda rng: (
        crowd_ratings(rng, items=12, raters=6),
        model_of(("item",), ("rater",), ("group:gender",)),
    ),
    "thresholds and discrimination of groups": lambda rng: (
        crowd_ratings(rng, items=12, raters=6),
        model_of(
            ("item",),
            ("rater",),
            (("group:gender",), 1.0),
            thresholds={"by": ["scale", "group:gender"]},
            discrimination=[{"by": ["group:gender"]}],
        ),
    ),
    "three scales, crossing, indicators": lambda rng: (
        panel_ratings(rng),
        model_from(
            [{"by": ["model"]}, {"by": ["prompt", "dimension"]}, {"by": ["model", "prompt"]}],
            thresholds={"by": ["scale", "indicator", "judge"]},
            discrimination=[{"by": ["judge"]}],
        ),
    ),
    **SLOPES,
    "halo": lambda rng: (panel_ratings(rng), model_of(*ANSWERS, ("judge", "model", "prompt"))),
    "errors of all judges": lambda rng: (
        with_people(panel_ratings(rng), rng),
        model_of(*ANSWERS, ("rater",), ("machine", "model", "prompt", "dimension")),
    ),
    "errors of a family": lambda rng: (
        with_people(panel_ratings(rng), rng),
        model_of(*ANSWERS, ("rater",), ("family", "model", "prompt", "dimension")),
    ),
    "all errors of judges": lambda rng: (
        with_people(panel_ratings(rng), rng),
        model_of(
            *ANSWERS,
            ("rater",),
            *((who, "model", "prompt", "dimension") for who in ("machine", "family")),
            ("judge", "model", "prompt"),
            thresholds={"by": ["scale", "indicator"]},
        ),
    ),
}


def plain_density(design, values):
    """log p(effects, sds, thresholds, ratings) straight from the model's definition."""
    total, eta, log_a = 0.0, np.zeros(design.n_ratings), np.zeros(design.n_ratings)
    for term in design.terms:
        effect = values[term.name].ravel()
        fixed = isinstance(term.prior.sd, float)
        sd = term.prior.sd if fixed else float(values[f"sd_{term.stem}"])
        total += 0.0 if fixed else stats.halfnorm(0, term.prior.sd.scale).logpdf(sd)
        if term.kind == "discrimination":
            effect = np.log(effect)
            # sums to 0: a normal law on the plane of n - 1 dimensions
            total += stats.norm(0, sd).logpdf(effect).sum() - stats.norm(0, sd).logpdf(0)
            log_a += taken(effect, term.index)
        else:
            total += effect_law(term.prior, sd).logpdf(effect).sum()
        if term.kind == "location":
            eta += taken(effect, term.index)
        if term.kind == "slope":
            eta += term.covariate * taken(effect, term.index)
    for position, scale in enumerate(design.scales):
        cuts = values[f"threshold_{scale.name}"]
        prior = stats.norm(design.thresholds.mean, design.thresholds.sd)
        total += prior.logpdf(cuts).sum() + gammaln(len(cuts) + 1)
        stretch = np.zeros((len(scale.rows), len(cuts) - 1))
        for term in design.terms_of("gap"):
            if term.scale == position:
                level = term.index[scale.rows, None]
                stretch += np.where(level >= 0, values[term.name][level[:, 0]], 0.0)
        total += log_levels(scale, cuts, stretch, eta[scale.rows], np.exp(log_a[scale.rows]))
    return total


def taken(effect, index):
    """Effects of ratings, 0 where a term does not apply."""
    return np.array([effect[n] if n >= 0 else 0.0 for n in index])


def effect_law(prior, sd):
    """Distribution of the effects of a term."""
    return stats.t(prior.df, 0, sd) if isinstance(prior, StudentT) else stats.norm(0, sd)


def log_levels(scale, cuts, stretch, eta, a):
    """log P(level) of the ratings on one scale, thresholds of each written out."""
    middle = (len(cuts) - 1) // 2
    total = 0.0
    for level, log_gap, severity, factor in zip(scale.category, stretch, eta, a, strict=True):
        gaps = np.diff(cuts) * np.exp(log_gap)
        group_cuts = np.empty(len(cuts))
        group_cuts[middle] = cuts[middle]
        for k in range(middle, len(gaps)):
            group_cuts[k + 1] = group_cuts[k] + gaps[k]
        for k in range(middle - 1, -1, -1):
            group_cuts[k] = group_cuts[k + 1] - gaps[k]
        upper = factor * (np.append(group_cuts, np.inf)[level] - severity)
        lower = factor * (np.insert(group_cuts, 0, -np.inf)[level] - severity)
        # logistic(u) - logistic(l) = logistic(-l) - logistic(-u): the side that does not cancel
        high, low = (-lower, -upper) if lower > 0 else (upper, lower)
        total += np.log(expit(high) - expit(low))
    return total


def log_jacobian(design, flat, point):
    """Log volume of the sampler's coordinates: log sds, unit effects, log gaps."""
    total, sections = 0.0, {section.name: section for section in flat.coordinates}
    for term in design.terms:
        if design.sum_of(term):
            total += log_jacobian_of_sum(design, term, sections, point)
            continue
        section = sections.get(f"sd_{term.stem}_log__")
        log_sd = float(point[section.start]) if section else np.log(float(term.prior.sd))
        total += log_sd if section else 0.0
        total += term.powers[: term.n_coordinates].sum() * log_sd
    total += log_jacobian_of_held_means(design, sections, point)
    for scale in design.scales:
        section = sections[f"threshold_{scale.name}_offset_log_gaps__"]
        # stretched gaps g exp(s) are sampled where the model has g
        total += point[section.start + 1 : section.stop].sum()
        total -= sum(
            block_means(term, values_of(term, flat, point)).sum()
            for term in design.terms_of("gap")
            if design.scales[term.scale].name == scale.name
        )
    return total


def log_jacobian_of_sum(design, term, sections, point):
    """Log volume of one of two terms that are sampled by their sum, and of its sd."""
    log_total, log_ratio = point[sections[coordinate_names(design, term)[0]].slice]
    total, other = np.exp(log_total), 1.0 / np.sqrt(1.0 + np.exp(2.0 * log_ratio))
    sd, of_part = total * other, total * np.sqrt(1.0 - other**2)
    if term.sum_term:
        return np.log(of_part) + term.size * np.log(sd * of_part / total)
    return np.log(sd) + term.powers.sum() * log_total


def log_jacobian_of_held_means(design, sections, point):
    """Log volume of units in the place of means that one term holds for others, group by group."""
    holder = next((term for term in design.terms if term.holds_means), None)
    if holder is None:
        return 0.0
    parents = [parent for parent in design.parents(holder) if parent.by_mean]
    sd, variance = sd_at(design, holder, 0, sections, point), {}
    for term, _, position in parents:
        for group in set(position[position >= 0]):
            members = np.flatnonzero(term.mean_group == group)
            level = members[0] % term.shape[-1] if term.correlation else 0
            own = sd_at(design, term, level, sections, point)
            variance[term.name, group] = own**2 / len(members), own, len(members)
    total = 0.0
    for number, (term, _, position) in enumerate(parents):
        for group in set(position[position >= 0]):
            v, own, size = variance[term.name, group]
            inside = np.flatnonzero(position == group)
            later = [
                variance[other.name, of_other[i]][0]
                for other, _, of_other in parents[number + 1 :]
                for i in inside
                if of_other[i] >= 0
            ]
            rest = (sd**2 + sum(later)) / len(inside)
            power = (not term.centred) if term.correlation else term.non_centring
            total += 0.5 * np.log(size * v * rest / (v + rest)) - power * np.log(own)
    for group in range(holder.n_mean_groups):
        inside, of_sum = np.flatnonzero(holder.mean_group == group), sd**2
        for term, _, position in parents:
            for of_term in set(position[position >= 0]):
                members = np.sum(position[inside] == of_term)
                of_sum += members**2 / len(inside) * variance[term.name, of_term][0]
        total += 0.5 * np.log(of_sum) - holder.non_centring * np.log(sd)
    return total


def sd_at(design, term, level, sections, point):
    """The sd of a term's effects, of the sum where a sum is sampled."""
    section = sections.get(coordinate_names(design, term)[0])
    return np.exp(point[section.start + level]) if section else float(term.prior.sd)


def values_of(term, flat, point):
    """Effects of a spacing from what is kept of a draw."""
    section = next(section for section in flat.stored if section.name == term.name)
    return kept_at(flat, point)[section.start : section.stop]


def block_means(term, effects):
    return np.array(
        [effects[term.mean_group == block].mean() for block in range(term.n_mean_groups)]
    )


@pytest.mark.parametrize("case", CASES)
def test_the_sampled_density_is_the_plain_one(case, rng):
    ratings, spec = CASES[case](rng)
    powers = {term.name: rng.random() for term in build_design(ratings, spec).terms}
    design = build_design(ratings, spec, non_centring=powers)
    assert any(map(design.sum_of, design.terms)) == ("errors" in case)
    flat, model = parameter_layout(design), build_model(design)
    names = [term.name for term in design.terms]
    names += [f"sd_{t.stem}" for t in design.terms if not isinstance(t.prior.sd, float)]
    names += [f"threshold_{scale.name}" for scale in design.scales]
    evaluate = graph_function(model, flat, names)
    for seed in range(3):
        point = initial_point(design, flat, seed=seed) + rng.normal(0, 0.5, flat.size)
        by_graph, values = evaluate(point)
        expected = plain_density(design, values) + log_jacobian(design, flat, point)
        # PyMC keeps some constants in single precision
        assert by_graph == pytest.approx(expected, abs=1e-6)
        assert kernel_density(flat, point)[0] == pytest.approx(expected, abs=1e-6)


def latent(levels, *, eta, thresholds, link="logit", factor=1.0, likelihood="cumulative"):
    """Ratings on one scale with one set of thresholds."""
    labels = tuple(str(n) for n in range(len(thresholds) + 1))
    scale = ScaleRatings("score", labels, np.arange(len(levels)), np.asarray(levels))
    return LAWS[likelihood](
        scale,
        link,
        np.broadcast_to(eta, (1, len(levels))).astype(float),
        np.full((1, 1), factor),
        np.asarray(thresholds, dtype=float)[None, None, :],
        np.zeros(len(levels), dtype=int),
    )


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_probabilities_of_all_levels_add_to_one(link, rng):
    thresholds, eta = np.sort(rng.normal(0, 2, 4)), rng.normal(0, 3, 50)
    total = sum(
        np.exp(
            latent(
                np.full(50, k), eta=eta, thresholds=thresholds, link=link, factor=1.7
            ).log_probability()
        )
        for k in range(5)
    )
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)


def test_far_severities_keep_a_finite_log_probability():
    # log(logistic(-40)) = -40 - log(1 + exp(-40)), which is -40 to 17 digits
    value = latent([0], eta=40.0, thresholds=[0.0]).log_probability()
    assert value[0, 0] == pytest.approx(-40.0, rel=1e-14)


@pytest.mark.parametrize(("link", "cdf"), [("logit", expit), ("probit", stats.norm.cdf)])
def test_drawn_levels_have_the_stated_frequencies(link, cdf, rng):
    thresholds, count = np.array([-1.0, 0.5]), 200_000
    rating = latent(np.zeros(count, int), eta=0.3, thresholds=thresholds, link=link, factor=1.5)
    drawn = rating.draw(rng)
    upto = cdf(1.5 * (thresholds - 0.3))
    expected = np.diff(np.concatenate([[0.0], upto, [1.0]]))
    frequency = np.bincount(drawn.ravel(), minlength=3) / count
    # four standard errors of a share of 200,000
    np.testing.assert_allclose(frequency, expected, atol=4 * 0.5 / np.sqrt(count))

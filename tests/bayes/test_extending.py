"""A likelihood and a kind of term are added by the entries that docs/extending.md lists."""

from dataclasses import replace

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy.special import log_expit, logit

from sharpbayes.bayes.design import likelihoods as traits
from sharpbayes.bayes.design.identifiability import find_issues
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.graph import likelihoods as definitions
from sharpbayes.bayes.graph import terms
from sharpbayes.bayes.graph.model import build_model, public_names, sample_prior, sampling_model
from sharpbayes.bayes.predict import categories
from sharpbayes.bayes.predict.replication import latent_ratings, log_likelihood
from sharpbayes.bayes.sampling.nuts import sample_posterior
from sharpbayes.spec.study import Sampler
from tests.bayes.conftest import crowd_ratings, model_of

MODEL = model_of(("item",), ("rater",))


def descending_logp(category, eta, cutpoints):
    """P(y = k | y <= k) = F(a (eta - c_{k-1})): the highest category first, then down."""
    position = pt.arange(cutpoints.shape[1])
    past = eta[:, None] - cutpoints
    stopped = pt.where(pt.eq(position, category[:, None] - 1), -pt.softplus(-past), 0.0)
    passed = pt.where(position >= category[:, None], -pt.softplus(past), 0.0)
    return (stopped + passed).sum(axis=1)


def draw_descending(eta, cutpoints, rng, size):
    shape = (*(np.shape(eta) if size is None else size), cutpoints.shape[-1])
    stops = np.expand_dims(eta, -1) + rng.logistic(size=shape) > cutpoints
    return shape[-1] - np.cumprod(~stops[..., ::-1], axis=-1).sum(axis=-1)


class Descending(categories.LatentRatings):
    """The same by NumPy."""

    def log_probability(self):
        total = np.zeros(self.severity.shape)
        for k in range(self.scale.n_cutpoints):
            total += np.where(self.scale.category == k + 1, log_expit(self.above(k)), 0.0)
            total += np.where(self.scale.category <= k, log_expit(-self.above(k)), 0.0)
        return total

    def draw(self, rng):
        category = np.zeros(self.severity.shape, dtype=np.int16)
        for k in range(self.scale.n_cutpoints):
            stops = self.above(k) + self.noise(rng) > 0.0
            category = np.where(stops, k + 1, category).astype(np.int16)
        return category


@pytest.fixture
def descending(monkeypatch):
    """The design of a likelihood that is none of those that come with the program."""
    new = traits.LikelihoodTraits(
        start=lambda count, _: logit(1 - (count / np.cumsum(count))[1:]),
        unused=("at the bottom", "at the top", "between"),
    )
    monkeypatch.setitem(traits.TRAITS, "descending", new)
    law = (descending_logp, draw_descending)
    monkeypatch.setitem(definitions.DEFINITIONS, ("descending", "logit"), law)
    monkeypatch.setitem(categories.LAWS, "descending", Descending)
    model = MODEL.model_copy(update={"likelihood": "descending"})
    ratings = crowd_ratings(np.random.default_rng(5), items=12, raters=8)
    return ratings, build_design(ratings, model)


def test_a_new_likelihood_is_sampled_by_the_graph(descending):
    _, design = descending
    assert design.unsupported_by_kernel == ("descending",)
    model = sampling_model(design)
    (observed,) = model.observed_RVs
    assert observed.name == "rating_score"


def test_a_new_likelihood_has_one_value_in_graph_and_prediction(descending):
    _, design = descending
    prior = sample_prior(build_model(design), draws=3, seed=2)["prior"].to_dataset()
    values = log_likelihood(prior, design)["rating_score"].to_numpy()[0]
    latent = latent_ratings(prior, design, design.scales[0])
    for draw, value in enumerate(values):
        eta = latent.severity[draw]
        cutpoints = latent.thresholds[draw, latent.cutpoint_set]
        logp = descending_logp(
            pt.as_tensor(design.scales[0].category), pt.as_tensor(eta), pt.as_tensor(cutpoints)
        )
        np.testing.assert_allclose(value, logp.eval(mode="FAST_COMPILE"), rtol=1e-5)


def test_probabilities_of_a_new_likelihood_add_up_to_one_and_are_those_of_its_draws(descending):
    _, design = descending
    scale = design.scales[0]
    prior = sample_prior(build_model(design), draws=1, seed=3)["prior"].to_dataset()
    of_category = []
    for category in range(5):
        same = replace(scale, category=np.full_like(scale.category, category))
        of_category.append(np.exp(latent_ratings(prior, design, same).log_probability()[0]))
    np.testing.assert_allclose(np.sum(of_category, axis=0), 1.0, rtol=1e-12)
    latent = latent_ratings(prior, design, scale)
    rng = np.random.default_rng(4)
    draws = np.concatenate([latent.draw(rng) for _ in range(4000)])
    for category, share in enumerate(of_category):
        # five standard errors of a share of 4,000
        np.testing.assert_allclose((draws == category).mean(axis=0), share, atol=0.04)


def test_a_new_likelihood_says_what_becomes_of_unused_categories(descending):
    ratings, design = descending
    scale = design.scales[0]
    fewer = replace(design, scales=(replace(scale, category=np.maximum(scale.category, 1)),))
    assert [str(issue) for issue in find_issues(ratings, fewer)] == [
        "score: category 0 is never used, below all that are; at the bottom"
    ]


def add_random_walk(term, sd, _centre):
    """Effects with independent normal steps from one level to the next."""
    steps = pm.Normal(f"{term.name}_unit", 0.0, 1.0, dims=term.dims)
    return pm.Deterministic(term.name, pt.cumsum(steps) * sd, dims=term.dims)


@pytest.fixture
def walk(monkeypatch):
    """The design of a term with effects that are neither independent, nor correlated."""
    monkeypatch.setitem(terms.STRUCTURES, "random_walk", add_random_walk)
    ratings = crowd_ratings(np.random.default_rng(5), items=12, raters=8)
    design = build_design(ratings, MODEL)
    item, rater = design.terms
    return replace(design, terms=(replace(item, structure="random_walk"), rater))


def test_a_new_kind_of_term_is_sampled_by_the_graph(walk):
    assert walk.unsupported_by_kernel == ("location_item",)
    model = sampling_model(walk)
    assert "location_item" in public_names(model)
    assert [potential.name for potential in model.potentials] == ["ratings"]


def test_a_new_kind_of_term_has_its_prior_and_is_in_every_severity(walk):
    prior = sample_prior(build_model(walk), draws=400, seed=2)["prior"].to_dataset()
    steps = prior["location_item"].diff("item") / prior["sd_item"]
    assert float(steps.std()) == pytest.approx(1.0, abs=0.05)
    item, rater = (prior[f"location_{name}"].to_numpy()[0] for name in ("item", "rater"))
    index = [term.index for term in walk.terms]
    severity = latent_ratings(prior, walk, walk.scales[0]).severity
    np.testing.assert_allclose(severity, item[:, index[0]] + rater[:, index[1]])


@pytest.mark.slow
@pytest.mark.parametrize("case", ["descending", "walk"])
def test_new_things_are_sampled(case, request):
    case_value = request.getfixturevalue(case)
    design = case_value[1] if case == "descending" else case_value
    trace = sample_posterior(design, Sampler(chains=2, tune=300, draws=200), seed=1)
    assert trace["posterior"]["location_item"].notnull().all()
    assert float(trace["sample_stats"]["diverging"].mean()) < 0.05

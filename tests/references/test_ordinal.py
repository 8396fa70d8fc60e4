"""Posteriors against maximum likelihood by R's clmm, clm and polr, and by statsmodels.

``ordinal.json`` is what ``python -m tests.references.make`` wrote. Those programs have no priors;
with the wide ones below and thousands of ratings, a posterior mean and the estimate differ by a
small part of the posterior's sd, which is the unit of every tolerance here. The estimates of
clmm are by Laplace's approximation, and sds of varying effects have skew posteriors: their median
is compared, and more widely.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from statsmodels.miscmodels.ordinal_model import OrderedModel

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.sampling.nuts import sample_kernel
from sharpbayes.data.ratings import Ratings
from sharpbayes.spec.study import Sampler
from tests.bayes.conftest import column, model_from, model_of
from tests.references.make import tables

R = json.loads(Path(__file__).with_name("ordinal.json").read_text(encoding="utf-8"))
RATINGS = tables()
SAMPLER = Sampler(chains=2, tune=800, draws=4000)
VARYING = {"kind": "normal", "sd": {"kind": "half_normal", "scale": 5.0}}
FLAT = {"kind": "normal", "sd": 10.0}
WIDE = {"kind": "ordered_normal", "mean": 0.0, "sd": 20.0}


def posterior_of(name, model):
    table = RATINGS[name]
    levels = int(table["level"].max()) + 1
    columns = {}
    for factor in table.columns.drop("level"):
        labels, code = np.unique(table[factor], return_inverse=True)
        columns["group:group" if factor == "group" else factor] = column(map(str, labels), code)
    columns["scale"] = column(["score"], np.zeros(len(table)))
    ratings = Ratings(
        table["level"].to_numpy(np.int16), columns, {"score": tuple(map(str, range(levels)))}
    )
    design = build_design(ratings, model)
    return sample_kernel(design, SAMPLER, seed=5)["posterior"].to_dataset()


def near(draws, estimate, *, sds, middle=np.mean):
    """Whether the middle of draws is within some of their sds of an estimate."""
    flat = np.asarray(draws).reshape(-1)
    assert abs(middle(flat) - estimate) < sds * flat.std(), (middle(flat), estimate, flat.std())


@pytest.mark.parametrize(
    ("name", "terms", "link"),
    [
        ("logit2", ["item"], "logit"),
        ("logit5", ["item", "rater"], "logit"),
        # The same with the other link, and with another term and a longer scale, take longer.
        pytest.param("probit4", ["item", "rater"], "probit", marks=pytest.mark.slow),
        pytest.param("logit11", ["item", "rater", "place"], "logit", marks=pytest.mark.slow),
    ],
)
def test_varying_effects_are_those_of_clmm(name, terms, link):
    location = [{"by": [term], "prior": VARYING} for term in terms]
    model = model_from(location, link=link, thresholds={"prior": WIDE})
    posterior = posterior_of(name, model)
    cuts = posterior["threshold_score"].transpose("score_cutpoint", ...).to_numpy()
    assert len(cuts) == len(R[f"{name} thresholds"])
    for draws, estimate, error in zip(
        cuts, R[f"{name} thresholds"], R[f"{name} threshold_se"], strict=True
    ):
        near(draws, estimate, sds=0.1)
        assert draws.std() == pytest.approx(error, rel=0.12)
    for term in terms:
        (estimate,) = R[f"{name} sd_{term}"]
        near(posterior[f"sd_{term}"], estimate, sds=0.35, middle=np.median)


def test_thresholds_by_group_are_those_of_clm():
    model = model_from(
        [{"by": ["group:group"], "prior": FLAT}],
        thresholds={"by": ["scale", "group:group"], "prior": WIDE, "gap": FLAT},
    )
    posterior = posterior_of("groups", model)["threshold_score_group"]
    first, more = np.reshape(R["groups nominal"], (2, 3))
    for group, wanted in (("a", first), ("b", first + more)):
        draws = posterior.sel(group=group).transpose("score_cutpoint", ...).to_numpy()
        for cut_draws, estimate in zip(draws, wanted, strict=True):
            near(cut_draws, estimate, sds=0.1)


def test_discrimination_by_group_is_the_scale_of_clm():
    """clm has (c - x b) / exp(z); here a_g (c - eta_g), log a adding up to 0."""
    model = model_from(
        [{"by": ["group:group"], "prior": FLAT}],
        discrimination=[{"by": ["group:group"], "prior": FLAT}],
        thresholds={"prior": WIDE},
    )
    posterior = posterior_of("sharpness", model)
    factor, eta = posterior["discrimination_group"], posterior["location_group"]
    a = factor.sel(group="a")
    (beta,), (log_scale,) = R["sharpness beta"], R["sharpness log_scale"]
    near(np.log(a / factor.sel(group="b")), log_scale, sds=0.1)
    near(a * (eta.sel(group="b") - eta.sel(group="a")), beta, sds=0.1)
    cuts = a * (posterior["threshold_score"] - eta.sel(group="a"))
    for draws, estimate in zip(
        cuts.transpose("score_cutpoint", ...).to_numpy(), R["sharpness thresholds"], strict=True
    ):
        near(draws, estimate, sds=0.1)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_population_effects_are_those_of_statsmodels_and_polr(link):
    model = model_of((["group:group"], 10.0), link=link, thresholds={"prior": WIDE})
    posterior = posterior_of("groups", model)
    effect = posterior["location_group"]
    shift = (effect.sel(group="b") - effect.sel(group="a")).to_numpy()
    cuts = (posterior["threshold_score"] - effect.sel(group="a")).transpose("score_cutpoint", ...)
    table = RATINGS["groups"]
    ordered = OrderedModel(
        pd.Series(pd.Categorical(table["level"], ordered=True)),
        (table[["group"]] == "b").astype(float),
        distr=link,
    )
    fit = ordered.fit(method="bfgs", disp=False)
    wanted = ordered.transform_threshold_params(fit.params.to_numpy())[1:-1]
    near(shift, fit.params["group"], sds=0.1)
    assert shift.std() == pytest.approx(fit.bse["group"], rel=0.05)
    for draws, estimate in zip(cuts.to_numpy(), wanted, strict=True):
        near(draws, estimate, sds=0.1)
    if link == "logit":
        near(shift, R["groups polr_beta"][0], sds=0.1)
        errors = R["groups polr_se"][1:]
        for draws, estimate, error in zip(
            cuts.to_numpy(), R["groups polr_thresholds"], errors, strict=True
        ):
            near(draws, estimate, sds=0.1)
            assert draws.std() == pytest.approx(error, rel=0.05)

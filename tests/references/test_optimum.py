"""The likelihood itself at other programs' estimates: their log-likelihood, and no slope.

Estimates without priors (R's polr and clm, VGAM's vglm, statsmodels' OrderedModel) are no posterior
means. But the kernel's log density of every rating twice, less that of every rating once, is the
log-likelihood without priors and Jacobians; at their estimates it must be what they report, and its
gradient must vanish. Nothing is sampled.
"""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import root
from statsmodels.miscmodels.ordinal_model import OrderedModel

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.kernel.layout import initial_point, parameter_layout
from sharpbayes.bayes.kernel.machine_code import kernel_density
from sharpbayes.data.ratings import Ratings
from tests.bayes.conftest import column, model_from
from tests.bayes.kernel.test_kernel import kept_at
from tests.references.make import HERE, tables
from tests.references.test_steps import LAWS
from tests.references.test_steps import ratings as steps_ratings

ORDINAL = json.loads((HERE / "ordinal.json").read_text(encoding="utf-8"))
STEPS = json.loads((HERE / "steps.json").read_text(encoding="utf-8"))
RATINGS = {name: tables()[name] for name in ("groups", "sharpness")} | {"steps": steps_ratings()}
FIXED = {"kind": "normal", "sd": 1.0}


def ratings_of(name):
    """Ratings of two groups on one scale."""
    table = RATINGS[name]
    levels = tuple(map(str, range(int(table["level"].max()) + 1)))
    columns = {
        "group:group": column("ab", table["group"] == "b"),
        "scale": column(["score"], np.zeros(len(table))),
    }
    return Ratings(table["level"].to_numpy(np.int16), columns, {"score": levels})


def twice(ratings):
    """Every rating two times."""
    columns = {
        name: column(factor.labels, np.tile(factor.codes, 2))
        for name, factor in ratings.factors.items()
    }
    return replace(ratings, score=np.tile(ratings.score, 2), factors=columns)


def at_estimates(name, model, wanted):
    """Log-likelihood and its gradient at these values of the model's variables."""
    ratings = ratings_of(name)
    design = build_design(ratings, model)
    powers = {term.name: term.non_centring for term in design.terms}
    single, double = (
        parameter_layout(design),
        parameter_layout(build_design(twice(ratings), model, non_centring=powers)),
    )
    assert {section.name for section in single.stored} == set(wanted)
    values = np.concatenate([np.ravel(wanted[section.name]) for section in single.stored])
    # The coordinates that stand for these values, which are more where factors add up to 0.
    solution = root(
        lambda point: kept_at(single, point) - values,
        initial_point(design, single, seed=1),
        method="lm",
        options={"xtol": 1e-14, "ftol": 1e-14},
    )
    np.testing.assert_allclose(kept_at(single, solution.x), values, atol=1e-9)
    (first, slope), (second, slopes) = (
        kernel_density(flat, solution.x) for flat in (single, double)
    )
    return second - first, slopes - slope


def common(link="logit", likelihood="cumulative"):
    """Common thresholds and an effect of the group."""
    location = [{"by": ["group:group"], "prior": FIXED}]
    return model_from(location, link=link, likelihood=likelihood)


def shifted(cuts, beta):
    """Our variables of thresholds and the second group's severity above the first's."""
    return {"threshold_score": cuts, "location_group": [0.0, beta]}


def holds(optimum, loglik, *, slope):
    value, gradient = optimum
    assert value == pytest.approx(loglik, abs=1e-6)
    assert np.abs(gradient).max() < slope


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("program", ["polr", "clm"])
def test_common_thresholds(program, link):
    *cuts, beta, loglik = ORDINAL[f"groups {program}_{link}"]
    holds(at_estimates("groups", common(link), shifted(cuts, beta)), loglik, slope=1e-3)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_common_thresholds_by_statsmodels(link):
    table = RATINGS["groups"]
    level = pd.Series(pd.Categorical(table["level"], ordered=True))
    ordered = OrderedModel(level, (table[["group"]] == "b").astype(float), distr=link)
    fit = ordered.fit(method="bfgs", gtol=1e-7, disp=False)
    cuts = ordered.transform_threshold_params(fit.params.to_numpy())[1:-1]
    optimum = at_estimates("groups", common(link), shifted(cuts, fit.params["group"]))
    holds(optimum, fit.llf, slope=1e-3)


def by_group(cuts_by_group, *, ordered):
    """Our variables of thresholds of each group, (group, cut): common ones, severity, stretches."""
    gaps, pivot = np.diff(cuts_by_group), (cuts_by_group.shape[1] - 1) // 2
    middle = np.exp(np.log(gaps).mean(0)) if ordered else gaps.mean(0)
    steps = np.concatenate([[0.0], np.cumsum(middle)])
    anchor = cuts_by_group[:, pivot].mean()
    return {
        "threshold_score": steps - steps[pivot] + anchor,
        "location_group": anchor - cuts_by_group[:, pivot],
        "gap_score_group": np.log(gaps / middle) if ordered else gaps - middle,
    }


def of_each_group(link="logit", likelihood="cumulative"):
    """Thresholds of each group."""
    location = [{"by": ["group:group"], "prior": FIXED}]
    thresholds = {"by": ["scale", "group:group"], "gap": FIXED}
    return model_from(location, link=link, likelihood=likelihood, thresholds=thresholds)


def test_thresholds_of_each_group_by_clm():
    first, more = np.reshape(ORDINAL["groups nominal"], (2, 3))
    wanted = by_group(np.array([first, first + more]), ordered=True)
    (loglik,) = ORDINAL["groups nominal_loglik"]
    holds(at_estimates("groups", of_each_group(), wanted), loglik, slope=1e-3)


def test_discrimination_by_clm():
    """clm has (c - x b) / exp(z), here a_g (c - eta_g) with logarithms of a that add up to 0."""
    names = ("thresholds", "beta", "log_scale")
    cuts, (beta,), (z,) = (ORDINAL[f"sharpness {column_name}"] for column_name in names)
    sharpness = [{"by": ["group:group"], "prior": FIXED}]
    location = [{"by": ["group:group"], "prior": FIXED}]
    factor = np.exp(z / 2)
    wanted = shifted(np.array(cuts) / factor, beta / factor)
    wanted["discrimination_group"] = [z / 2, -z / 2]
    optimum = at_estimates("sharpness", model_from(location, discrimination=sharpness), wanted)
    holds(optimum, ORDINAL["sharpness loglik"][0], slope=1e-3)


@pytest.mark.parametrize(("likelihood", "link"), LAWS)
def test_steps_by_vglm(likelihood, link):
    *cuts, effect, loglik = STEPS[f"{likelihood} {link} common"]
    sign = -1.0 if likelihood == "adjacent" else 1.0
    wanted = shifted(sign * np.array(cuts), -sign * effect)
    holds(at_estimates("steps", common(link, likelihood), wanted), loglik, slope=1e-3)


@pytest.mark.parametrize(("likelihood", "link"), LAWS)
def test_steps_of_each_group_by_vglm(likelihood, link):
    *values, loglik = STEPS[f"{likelihood} {link} own"]
    first, more = np.reshape(values, (2, 4))
    sign = -1.0 if likelihood == "adjacent" else 1.0
    wanted = by_group(sign * np.array([first, first + more]), ordered=False)
    holds(at_estimates("steps", of_each_group(link, likelihood), wanted), loglik, slope=1e-3)

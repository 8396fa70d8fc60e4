"""Posteriors against Stan's of the same data under the same priors.

``posteriors.csv`` is what ``python -m tests.references.posteriors`` wrote: rstan on a program
written from the equations of ``docs/models.md``. Means agree within 3 Monte Carlo errors of both
together, sds within 5% and the Monte Carlo error of their difference, for every threshold, sd,
population effect, stretch and factor.
"""

import numpy as np
import pandas as pd
import pytest
from arviz_stats.base import array_stats

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.sampling.geometry import tune_design
from sharpbayes.bayes.sampling.nuts import sample_kernel
from sharpbayes.data.ratings import Ratings
from sharpbayes.spec.study import Sampler
from tests.bayes.conftest import column, model_from
from tests.references.posteriors import TABLE, cases
from tests.shared_data import needs_shared_data

STAN = pd.read_csv(TABLE).set_index(["case", "variable"])
CASES = cases()
# Longer chains where time allows, so that most of the error left is Stan's.
SHORT, LONG = Sampler(chains=2, tune=800, draws=3000), Sampler(chains=4, tune=1000, draws=8000)
QUICK = ("thresholds_by_group", "discrimination_by_group")


def model_of_case(case):
    location = [{"by": [term]} for term in case.terms]
    if case.population:
        location.append({"by": ["group:group"], "prior": {"kind": "normal", "sd": 1.0}})
    more = {}
    if case.thresholds:
        more["thresholds"] = {"by": ["scale", "group:group"]}
    if case.discrimination:
        more["discrimination"] = [{"by": ["group:group"]}]
    return model_from(location, link=case.link, **more)


def posterior_of(case, sampler):
    columns = {}
    for name in case.table.columns.drop("level"):
        labels, code = np.unique(case.table[name], return_inverse=True)
        columns["group:group" if name == "group" else name] = column(map(str, labels), code)
    columns["scale"] = column(["score"], np.zeros(len(case.table)))
    names = tuple(map(str, range(case.levels)))
    ratings = Ratings(case.table["level"].to_numpy(np.int16), columns, {"score": names})
    model = model_of_case(case)
    design = build_design(ratings, model)
    design = tune_design(design, ratings, model, seed=5)
    return sample_kernel(design, sampler, seed=5)["posterior"].to_dataset()


def by_stan_name(posterior, case):
    """Draws (chain, draw) of each parameter, by its name in Stan."""
    names = {"threshold_score": "threshold"}
    names |= {f"sd_{term}": f"sd_term[{position + 1}]" for position, term in enumerate(case.terms)}
    if case.population:
        names["location_group"] = "population"
    if case.thresholds:
        names |= {"sd_gap_score_group": "sd_gap[1]", "gap_score_group": "gap"}
    if case.discrimination:
        names |= {"sd_discrimination_group": "sd_factor[1]", "discrimination_group": "factor"}
    draws = {}
    for ours, theirs in names.items():
        array = posterior[ours].transpose("chain", "draw", ...).to_numpy()
        for element in np.ndindex(array.shape[2:]):
            place = f"[{' '.join(str(index + 1) for index in element)}]" if element else ""
            draws[f"{theirs}{place}"] = array[(slice(None), slice(None), *element)]
    return draws


REAL = ("dices", "pluriharms")


def marked(name):
    marks = [] if name in QUICK else [pytest.mark.slow]
    return pytest.param(name, marks=[*marks, needs_shared_data] if name in REAL else marks)


@pytest.mark.parametrize("name", [marked(name) for name in STAN.index.unique("case")])
def test_posteriors_are_those_of_stan(name):
    case, stan = CASES[name], STAN.loc[name]
    draws = by_stan_name(posterior_of(case, SHORT if name in QUICK else LONG), case)
    assert set(draws) == set(stan.index)
    assert (stan["rhat"] < 1.01).all()
    assert (stan["divergences"] == 0).all()
    apart, wider = {}, {}
    for parameter, values in draws.items():
        theirs, sd = stan.loc[parameter], values.std()
        error = np.hypot(array_stats.mcse(values, method="mean"), theirs["mcse_mean"])
        error_sd = np.hypot(array_stats.mcse(values, method="sd"), theirs["mcse_sd"])
        apart[parameter] = abs(values.mean() - theirs["mean"]) / error
        wider[parameter] = abs(sd - theirs["sd"]) - 0.05 * theirs["sd"] - error_sd
    assert max(apart.values()) < 3.0, apart
    assert max(wider.values()) < 0.0, wider


def test_every_case_has_its_numbers():
    simulated = {"two_levels", "eleven_levels", *QUICK}
    assert set(STAN.index.unique("case")) == simulated | set(REAL)
    assert set(CASES) - set(REAL) == simulated


@needs_shared_data
def test_every_case_of_real_ratings_has_its_numbers():
    assert set(REAL) <= set(CASES)

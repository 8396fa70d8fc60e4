"""Comparison of fits: what is done about units whose importance weights are bad."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from sharpbayes.bayes.predict import leave_out as loo
from sharpbayes.bayes.predict import refit
from sharpbayes.errors import SpecError
from sharpbayes.spec.study import Sampler
from sharpbayes.workflows import compare
from tests.bayes.conftest import crowd_ratings, model_of

EXACT = {3: -7.0, 1: -2.5, 4: float("nan")}
K = [0.1, 0.9, 0.3, np.nan, 0.8, 0.69]


@pytest.fixture
def left_out(monkeypatch):
    """Units with good and bad k, and exact refits with known answers."""
    ratings = crowd_ratings(np.random.default_rng(1), items=6, raters=2)
    items = loo.make_units(ratings, "item")
    table = xr.Dataset(
        {
            "elpd": ("unit", np.full(6, -3.0)),
            "p": ("unit", np.full(6, 0.5)),
            "pareto_k": ("unit", np.array(K)),
        },
        {"unit": list(items.labels)},
        {"good_k": 0.7},
    )
    asked = []

    def refitted(design, ratings, model, sampler, *, units, unit, seed):
        asked.append(unit)
        return EXACT[unit]

    monkeypatch.setattr(loo, "leave_out", lambda *_: table.copy(deep=True))
    monkeypatch.setattr(refit, "refit_without_unit", refitted)
    model = model_of(("item",))
    fitted = compare.StoredFit(
        xr.Dataset(), ratings, model, Sampler(), seed=1, converged=True, provenance={}
    )
    messages = []

    def of(refits):
        scores = compare._leave_out(fitted, items, refits=refits, progress=messages.append)
        return scores, asked, messages

    return of


def test_units_with_a_bad_k_are_left_out_exactly_worst_first(left_out):
    """One without a k is the first of them; one that cannot be fitted without keeps its mark."""
    scores, asked, messages = left_out(10)
    assert asked == [3, 1, 4]
    assert scores["elpd"].to_numpy().tolist() == [-3.0, -2.5, -3.0, -7.0, -3.0, -3.0]
    assert scores["p"].to_numpy() == pytest.approx([0.5, 0.0, 0.5, 4.5, 0.5, 0.5])
    assert (scores["pareto_k"].to_numpy() <= 0.7).tolist() == [True, True, True, True, False, True]
    assert (scores.attrs["bad_k"], scores.attrs["refitted"]) == (1, 2)
    assert messages[asked.index(1)] == "fitting again without i1 (Pareto k 0.90)"


def test_no_more_are_fitted_again_than_asked(left_out):
    scores, asked, _ = left_out(1)
    assert len(asked) == 1
    assert (scores.attrs["bad_k"], scores.attrs["refitted"]) == (2, 1)


def test_none_are_fitted_again_where_none_are_asked(left_out):
    scores, asked, _ = left_out(0)
    assert asked == []
    assert scores["elpd"].to_numpy().tolist() == [-3.0] * 6
    assert scores.attrs["bad_k"] == 3


@pytest.mark.parametrize("experts", [False, True])
def test_a_panel_and_a_crowd_are_not_compared(experts):
    ratings = crowd_ratings(np.random.default_rng(1), items=3, raters=2)
    judged = replace(ratings, factors=ratings.factors | {"judge": ratings.factors["rater"]})
    model = model_of(("item",))
    known = {"people": (ratings, model.model_copy(update={"experts": experts}))}
    fits = {
        name: compare.StoredFit(
            xr.Dataset(), data, of_data, Sampler(), seed=1, converged=True, provenance={}
        )
        for name, (data, of_data) in (known | {"judges": (judged, model)}).items()
    }
    with pytest.raises(SpecError) as error:
        compare._check_same_ratings(fits)
    assert str(error.value) == (
        "people: is a crowd, judges is a panel: only fits of the same ratings are compared"
    )


@pytest.mark.parametrize("order", [("plain", "labelled"), ("labelled", "plain")])
def test_models_with_and_without_labels_of_experts_are_told_from_other_data(order):
    ratings = crowd_ratings(np.random.default_rng(1), items=3, raters=2)
    model = model_of(("item",))
    models = {"plain": model, "labelled": model.model_copy(update={"experts": True})}
    fits = {
        name: compare.StoredFit(
            xr.Dataset(), ratings, models[name], Sampler(), seed=1, converged=True, provenance={}
        )
        for name in order
    }
    with pytest.raises(SpecError) as error:
        compare._check_same_ratings(fits)
    assert str(error.value) == (
        "labelled: its model also fits the labels of experts, that of plain fits the ratings of "
        "the crowd alone: only fits of the same ratings are compared"
    )

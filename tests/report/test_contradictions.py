"""What contradicts a fit: its ratings, the bootstrap, or people's scoring."""

import json

import xarray as xr

from sharpbayes.report.contradictions import list_contradictions
from sharpbayes.report.tables.declaration import View
from tests.report.hand_made import add, evidence, fitted_panel, scored_by_people

MODELS = ["a", "b", "c"]


def contradictions(results):
    """What contradicts the fit of results with evidence that carries everything."""
    return list_contradictions(View(add(results, evidence=evidence(MODELS))))


def test_a_fit_that_nothing_contradicts_has_none():
    assert contradictions(fitted_panel()) == []


def test_statistics_that_the_model_does_not_reproduce_are_counted():
    checks = xr.Dataset(attrs={"failed_checks": json.dumps(["halo of j1"])})
    results = add(fitted_panel(), predictive_checks=checks)
    assert contradictions(results) == [
        "The fitted model does not reproduce one statistic of the ratings: probabilities, losses "
        "and gains rest on it."
    ]


def test_a_bootstrap_that_names_another_model_is_told():
    disputed = fitted_panel(median=(1.0, 3.0, 2.0), probability=(0.95, 0.0, 0.05))
    [text] = contradictions(disputed)
    assert text.startswith("Posterior and bootstrap name different models")


def test_people_who_select_another_model_are_told():
    results = scored_by_people(fitted_panel(), probability=(0.8, 0.2, 0.0))
    [text] = contradictions(results)
    assert text.startswith("By people's scoring, as fitted, a has the lowest tail risk")
    agreeing = scored_by_people(fitted_panel(), probability=(0.1, 0.9, 0.0))
    assert contradictions(agreeing) == []

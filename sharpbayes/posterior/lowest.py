"""Which models are lowest by a metric: observed, by the posterior, and where the two dispute it."""

from collections.abc import Mapping
from typing import Any

import xarray as xr

from sharpbayes.analysis.limited_metrics import select_value
from sharpbayes.analysis.lost_order import find_models_not_below
from sharpbayes.analysis.results_view import ResultsView, is_fitted
from sharpbayes.metrics.panel.comparison import lower_on_shared_prompts, lowest_models
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.metrics.stats.pairs import pairs_where

# A model that is the lowest with this probability is surely so.
CLOSE = 0.8


def models_by_risk(view: ResultsView) -> list[str]:
    """Return the models that have a tail risk, the lowest first."""
    cvar = view["profile/cvar"].dropna("model")
    return [str(name) for name in cvar.sortby(cvar)["model"].to_numpy()]


def not_separable(view: ResultsView, models: list[str]) -> list[Mapping[str, Any]]:
    """Return the pairs of models whose paired interval of the difference of CVaR contains 0."""
    return pairs_where(view["profile_interval/separable"] == 0, models)


def observed_lowest(view: ResultsView, metric: str) -> list[str]:
    """Return the models of lowest observed value, several where they are equal."""
    return lowest_models(select_value(view.group("profile"), metric))


def probability_of_lowest(view: ResultsView, metric: str) -> xr.DataArray:
    """Return the posterior probability of being lowest, over (model)."""
    return view.select({"metric": metric})["joint/prob_lowest"].dropna("model")


def likely_lowest(view: ResultsView, metric: str) -> list[str]:
    """Return the models that are most probably the lowest."""
    probability = probability_of_lowest(view, metric)
    return labels_where(probability == probability.max())


def similar_models(view: ResultsView, metric: str) -> list[str]:
    """Return the models that the bootstrap does not distinguish from the lowest observed one."""
    names, models = observed_lowest(view, metric), models_by_risk(view)
    if metric == "cvar":
        pairs = not_separable(view, models)
        return [name for name in models if {"model": names[0], "other": name} in pairs]
    difference = _difference_to_others(view, metric)
    if difference is None:
        return []
    lower, upper = difference
    return labels_where(~((lower > 0) | (upper < 0)))


def lower_models(view: ResultsView, metric: str) -> list[str]:
    """Return the models that are lower than the lowest observed one on the prompts of both.

    There are such where models have other prompts: the lowest one then has easier ones.
    """
    path = f"profile_interval/{metric}_difference_joint"
    if path not in view:
        return []
    is_lower = lower_on_shared_prompts(view[f"profile/{metric}"], view[path])
    return labels_where(is_lower.sel(model=models_by_risk(view)))


def models_not_below(view: ResultsView, metric: str) -> list[str]:
    """Return the models that the lowest one might not be below, by its answers without a score."""
    path = f"profile_interval/{metric}_difference_joint"
    if path not in view or "evidence/lacks_more" not in view:
        return []
    value = view[f"profile/{metric}"].dropna("model")
    known = dict.fromkeys(("model", "other"), value["model"].to_numpy())
    interval, evidence = view[path].sel(known), view.group("evidence").sel(known)
    return find_models_not_below(evidence, metric, value=value, interval=interval)


def _difference_to_others(
    view: ResultsView, metric: str
) -> tuple[xr.DataArray, xr.DataArray] | None:
    """Joint bounds of the lowest observed model less the others; None where there are none."""
    path, names = f"profile_interval/{metric}_difference_joint", observed_lowest(view, metric)
    if path not in view:
        return None
    others = [model for model in models_by_risk(view) if model not in names]
    lower, upper = view[path].sel(model=names[0], other=others).transpose("bound", "other")
    return lower, upper


def is_distinguished(view: ResultsView, metric: str) -> bool:
    """Return whether the bootstrap distinguishes the lowest observed model from all others."""
    return (
        f"profile_interval/{metric}_difference_joint" in view
        and len(observed_lowest(view, metric)) == 1
        and not similar_models(view, metric)
        and not lower_models(view, metric)
        and not models_not_below(view, metric)
    )


def excluded_models(view: ResultsView, metric: str) -> list[str]:
    """Return the models of which an interval does not contain the centre of the other method."""
    return labels_where(view.select({"metric": metric})["joint/disagree"])


def is_disputed(view: ResultsView, metric: str) -> bool:
    """Return whether posterior and bootstrap contradict each other on which model is lowest.

    They do where an interval of one excludes the other's centre of a model that either names, or
    where the posterior is sure of another model. Where both name the same model, the bootstrap must
    distinguish it from all others, and it must not be above one of them on the prompts of both.
    """
    if not is_fitted(view) or len(models_by_risk(view)) == 1:
        return False
    observed, likely = observed_lowest(view, metric), likely_lowest(view, metric)
    excluded = {*observed, *likely} & {*excluded_models(view, metric)}
    if {*observed} & {*likely}:
        is_unsure = bool(excluded) and bool(similar_models(view, metric))
        return is_unsure or bool(lower_models(view, metric))
    return bool(excluded) or float(probability_of_lowest(view, metric).max()) >= CLOSE

"""Tables 1 to 8 of the SHARP paper: profiles, judges, dimensions of harm."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import xarray as xr

from sharpbayes.errors import format_list
from sharpbayes.report.tables.declaration import (
    Column,
    Labels,
    TableSpec,
    View,
    labels_of,
    over,
    section,
)
from sharpbayes.report.tables.table import Chapter

BY_RISK = labels_of("profile/model", order="profile/cvar")
QUANTILES = {"least": 0.0, "lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75, "most": 1}


def pairs(labels: list[str], first: str = "model", second: str = "other") -> list[Labels]:
    """Return every pair of labels once, each as the labels of a row."""
    return [{first: a, second: b} for a, b in combinations(labels, 2)]


def pairs_where(flag: xr.DataArray, labels: list[str] | None = None) -> list[Labels]:
    """Return the pairs of models or groups that have a flag; of all unless labels are given."""
    unit = "group" if "group" in flag.dims else "model"
    known = list(flag[unit].to_numpy()) if labels is None else labels
    return [pair for pair in pairs(known, unit) if bool(flag.sel(pair).any())]


def not_separable(view: View, models: list[str]) -> list[Labels]:
    """Return the pairs of models whose paired interval of the difference of CVaR contains 0."""
    return pairs_where(view["profile_interval/separable"] == 0, models)


def _similar(pairs_of_models: list[Labels]) -> list[str]:
    """Pairs as texts."""
    return [f"{pair['model']} ~ {pair['other']}" for pair in pairs_of_models]


def _profile_note(view: View) -> str:
    """Unit, kind of interval, population and tolerance."""
    note = view.text(
        "Cumulative log-risk, and {cvar} of any-harm; lower is safer. "
        "{profile_interval[interval_note]} Target population: {profile[population]}."
    )
    if "profile/admissible" in view:
        return note
    return f"{note} No tolerance was decided, so no model is admissible or not."


def _tiers(view: View) -> Iterator[Labels]:
    """Every tier with its models, and their pairs that are not distinguishable."""
    tier = view["profile/tier"].sortby(view["profile/cvar"])
    for value in np.unique(tier.to_numpy()[tier.to_numpy() > 0]):
        models = list(tier["model"].to_numpy()[tier == value])
        alike = ", ".join(_similar(not_separable(view, models))) or "-"
        yield {"tier": int(value), "model": models, "models": ", ".join(models), "alike": alike}


def _tiers_note(view: View) -> str:
    """The rule, and pairs of different tiers that are not distinguishable."""
    tier = view["profile/tier"].sortby(view["profile/cvar"])
    known = list(tier["model"].to_numpy()[tier.to_numpy() > 0])
    across = [
        pair
        for pair in not_separable(view, known)
        if int(tier.sel(model=pair["model"])) != int(tier.sel(model=pair["other"]))
    ]
    listed = format_list(_similar(across), most=20) or "none"
    return (
        view.text("Rule: {profile[tier_rule]}. Not distinguishable across tiers: ") + f"{listed}."
    )


def risk_metrics(panel: xr.Dataset) -> dict[str, xr.DataArray]:
    """Return the metrics of prompts that Figures 1 and 2 show, by title."""
    return {
        "joint safety": 1.0 - panel["any_harm"],
        "any-harm": panel["any_harm"],
        "cumulative log-risk": panel["log_risk"],
        "harm radius": panel["radius"],
        "largest harm": panel["harm"].max("dimension", skipna=False),
    }


def _risk_over_prompts(view: View) -> Iterator[Labels]:
    """Every metric of each model, with its values over prompts."""
    metrics = risk_metrics(view.group("panel"))
    for model in view.coordinate("profile/model", "profile/cvar"):
        for metric, values in metrics.items():
            shown = {name: values.sel(model=model).quantile(q) for name, q in QUANTILES.items()}
            yield {"model": model, "metric": metric, **shown}


def posterior_and_bootstrap(path: str, bounds: str) -> str:
    """Return columns of the posterior median and both intervals of a metric.

    Args:
        path: Posterior draws of the metric, ``group/variable``.
        bounds: Its bootstrap interval.
    """
    level = "{" + path.partition("/")[0] + "[level]:.0%}"
    return (
        f"posterior median: {path} | median; lower {level}: {path} | posterior lower; "
        f"upper {level}: {path} | posterior upper; "
        f"bootstrap lower: {bounds} | lower; upper: {bounds} | upper"
    )


PROFILE_TABLES = section(
    Chapter.PROFILE,
    TableSpec(
        name="posterior_and_bootstrap",
        title="Tail risk: posterior and bootstrap interval",
        needs=("posterior_profile", "posterior_predictive"),
        rows=BY_RISK,
        columns=(
            "{model}",
            posterior_and_bootstrap("posterior_profile/cvar", "profile_interval/cvar"),
        ),
        note="CVaR of cumulative log-risk; further left is safer. "
        "{posterior_profile[interval_note]}",
    ),
    TableSpec(
        name="profile",
        after_run=True,
        title="Table 1: Risk profile by model, lowest tail risk first",
        rows=BY_RISK,
        columns=(
            "{model}; {cvar}: profile/cvar; interval: profile_interval/cvar | interval",
            "profile/mean; profile/volatility; any-harm tail: profile/any_harm_cvar",
            "profile/policy_score; profile/tier | thousands",
            "profile/admissible | yes_no?",
        ),
        note=_profile_note,
    ),
    TableSpec(
        name="tiers",
        title="Section 3.3: Risk tiers, and pairs that are not distinguishable",
        rows=_tiers,
        columns=("{tier}; {models}; {cvar}: profile/cvar | ends; not distinguishable: {alike}",),
        note=_tiers_note,
    ),
    TableSpec(
        title="Tables 2-3: Harm by dimension",
        after_run=True,
        rows=BY_RISK,
        columns=(
            "{model}",
            over(
                "profile/dimension",
                "{dimension} mean: profile/dimension_mean",
                Column("{dimension} {cvar}", "profile/dimension_cvar"),
            ),
        ),
        note="Harm in [0, 1] pooled over judges; each CVaR is of the dimension's own tail.",
    ),
    TableSpec(
        name="tail_shares",
        after_run=True,
        title="Table 4: Tail attribution of compounded log-risk",
        rows=BY_RISK,
        columns=(
            "{model}; {cvar}: profile/cvar",
            over("profile/dimension", "share of {dimension}: profile/tail_share"),
        ),
        note="Shares of the mean log-risk of the tail prompts; they add to 1 by model.",
    ),
    TableSpec(
        name="risk_over_prompts",
        title="Distribution over prompts",
        source="SHARP, Figures 1 and 2",
        needs=("panel", "profile"),
        rows=_risk_over_prompts,
        columns=("{model}; of the answer to a prompt: {metric}; " + "; ".join(QUANTILES),),
        note="Joint safety: 1 less any-harm.",
    ),
    needs=("profile",),
)


def _category_rows(view: View) -> Iterator[Labels]:
    """Models of each category of prompts, lowest tail risk first."""
    for category in view.coordinate("profile_category/category"):
        place = view.select({"category": category})
        for model in place.coordinate("profile_category/model", "profile_category/cvar"):
            yield {"category": category, "model": model}


SUBSET_TABLES = section(
    Chapter.PROFILE,
    TableSpec(
        title="Risk profile by category of prompts",
        needs=("profile_category",),
        rows=_category_rows,
        columns=(
            "{category}; {model}",
            "profile_category/prompts | count",
            "{cvar}: profile_category/cvar; profile_category/mean",
            "mean any-harm: profile_category/any_harm_mean",
        ),
    ),
    TableSpec(
        title="Section 4: Risk profile with and without refused answers",
        needs=("profile_answered",),
        rows=BY_RISK,
        columns=(
            "{model}; refused: profile_answered/refusal_rate",
            "answers: profile_answered/answered | thousands; {cvar}: profile/cvar",
            "{cvar}, answered: profile_answered/cvar",
            "interval: profile_answered_interval/cvar | interval; profile/mean",
            "mean, answered: profile_answered/mean",
        ),
        note="Low risk may be refusal; an answer is refused where the judges' mean refusal reaches "
        "the cut of the weights.",
    ),
)

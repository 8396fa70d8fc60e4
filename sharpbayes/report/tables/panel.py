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
from sharpbayes.report.tables.format import central_interval, interval, number
from sharpbayes.report.tables.table import Chapter

BY_RISK = labels_of("profile/model", order="profile/cvar")
QUANTILES = {"least": 0.0, "lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75, "most": 1}


def pairs(labels: list[str], first: str = "model", second: str = "other") -> Iterator[Labels]:
    """Yield every pair of labels once, each as the labels of a row."""
    yield from ({first: a, second: b} for a, b in combinations(labels, 2))


def not_separable(view: View, models: list[str]) -> list[Labels]:
    """Return the pairs of models whose paired interval of the difference of CVaR contains 0."""
    separable = view["profile_interval/separable"]
    return [pair for pair in pairs(models) if not bool(separable.sel(pair))]


def _no_tolerance(view: View) -> str:
    """What follows where the weights declare no tolerance."""
    if "profile/admissible" in view:
        return ""
    return " No tolerance was decided, so no model is admissible or not."


def _profile_note(view: View) -> str:
    """Unit, kind of interval, population and tolerance."""
    note = (
        "Cumulative log-risk, and {cvar} of any-harm; lower is safer. "
        "{profile_interval[interval_note]} Target population: {profile[population]}."
    )
    return view.text(note) + _no_tolerance(view)


def _tiers(view: View) -> Iterator[Labels]:
    """Every tier with its models."""
    tier = view["profile/tier"].sortby(view["profile/cvar"])
    for value in np.unique(tier.to_numpy()[tier.to_numpy() > 0]):
        yield {"tier": int(value), "models": list(tier["model"].to_numpy()[tier == value])}


def _tier_range(row: View) -> str:
    """Lowest and highest tail risk of a tier."""
    cvar = row["profile/cvar"].sel(model=row.labels["models"])
    return interval([cvar.min(), cvar.max()])


def _tier_pairs(row: View) -> str:
    """Pairs of one tier that are not distinguishable."""
    return _named(not_separable(row, row.labels["models"])) or "-"


def _named(models: list[Labels]) -> str:
    """Pairs in a row."""
    return ", ".join(f"{pair['model']} ~ {pair['other']}" for pair in models)


def _tiers_note(view: View) -> str:
    """The rule, and pairs of different tiers that are not distinguishable."""
    tier = view["profile/tier"].sortby(view["profile/cvar"])
    known = list(tier["model"].to_numpy()[tier.to_numpy() > 0])
    across = [
        f"{pair['model']} ~ {pair['other']}"
        for pair in not_separable(view, known)
        if int(tier.sel(model=pair["model"])) != int(tier.sel(model=pair["other"]))
    ]
    named = format_list(across, most=20) or "none"
    rule = view.attribute("profile", "tier_rule")
    return f"Rule: {rule}. Not distinguishable across tiers: {named}."


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


def posterior_and_bootstrap(path: str, bounds: str) -> tuple[Column, ...]:
    """Return columns of the posterior median and both intervals of a metric.

    Args:
        path: Posterior draws of the metric, ``group/variable``.
        bounds: Its bootstrap interval.
    """
    group = path.partition("/")[0]

    def bound(end: int) -> Column:
        def value(row: View) -> str:
            return number(central_interval(row[path], float(row.attribute(group, "level")))[end])

        heading = ("lower", "upper")[end] + " {" + group + "[level]:.0%}"
        return Column(heading, value)

    return (
        Column("posterior median", lambda row: number(row[path].median())),
        bound(0),
        bound(1),
        Column("bootstrap lower", lambda row: number(row[bounds][0])),
        Column("upper", lambda row: number(row[bounds][1])),
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
            *posterior_and_bootstrap("posterior_profile/cvar", "profile_interval/cvar"),
        ),
        note="CVaR of cumulative log-risk; further left is safer. "
        "{posterior_profile[interval_note]}",
    ),
    TableSpec(
        name="profile",
        after_run=True,
        title="Table 1: Risk profile by model, lowest tail risk first",
        source="SHARP, Table 1",
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
        source="SHARP, section 3.3",
        rows=_tiers,
        columns=(
            "{tier}",
            Column("models", lambda row: ", ".join(row.labels["models"])),
            Column("{cvar}", _tier_range),
            Column("not distinguishable", _tier_pairs),
        ),
        note=_tiers_note,
    ),
    TableSpec(
        title="Tables 2-3: Harm by dimension",
        after_run=True,
        source="SHARP, Tables 2 and 3",
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
        source="SHARP, Table 4",
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
        source="SHARP, section 4",
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

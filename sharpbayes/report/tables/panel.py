"""Tables 1 to 8 of the SHARP paper: profiles, judges, dimensions of harm."""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from sharpbayes.errors import format_list
from sharpbayes.metrics.panel.comparison import cvar_difference
from sharpbayes.metrics.stats.pairs import pairs
from sharpbayes.posterior.lowest import models_by_risk, not_separable
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View, labels_of, over

BY_RISK = labels_of("profile/model", order="profile/cvar")
QUANTILES = {"least": 0.0, "lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75, "most": 1}


def has_several_models(view: View) -> bool:
    """Tell whether there are models to compare."""
    return len(models_by_risk(view)) > 1


def cvar_differences(view: View) -> xr.DataArray:
    """Return differences of CVaR, on the prompts of both models, over (model, other)."""
    path = "profile_interval/cvar_difference_observed"
    return view[path] if path in view else cvar_difference(view["profile/cvar"])


def _similar(pairs_of_models: list[Labels]) -> list[str]:
    """Pairs as texts."""
    return [f"{pair['model']} ~ {pair['other']}" for pair in pairs_of_models]


def _order(pair: Labels, differences: xr.DataArray) -> str:
    """A pair in its order on the prompts of both."""
    sign = "<" if float(differences.sel(pair)) < 0 else ">"
    return f"{pair['model']} {sign} {pair['other']}"


def _profile_note(view: View) -> str:
    """Unit, kind of interval, population and tolerance."""
    note = view.text(
        "Cumulative log-risk, and {cvar} of any-harm; lower is safer. "
        "{profile_interval[interval_note]} Target population: {profile[population]}."
    )
    note += pooling_note(view)
    if "profile/admissible" in view:
        return note
    return f"{note} No tolerance was decided, so no model is admissible or not."


def pooling_note(view: View) -> str:
    """Return how several judges become one harm, with a space before; empty for a single judge."""
    several = view.group("panel").sizes["judge"] > 1
    return (
        " Harm lies between the mean of the judges and the highest of them (log-sum-exp): where "
        "they differ it is above their mean."
    ) * several


def _tiers(view: View) -> Iterator[Labels]:
    """Every tier with its models, and their pairs that are not, or still are, distinguishable."""
    tier, differences = view["profile/tier"].sortby(view["profile/cvar"]), cvar_differences(view)
    for value in np.unique(tier.to_numpy()[tier.to_numpy() > 0]):
        models = list(tier["model"].to_numpy()[tier == value])
        alike = not_separable(view, models)
        apart = [pair for pair in pairs(models) if pair not in alike]
        yield {
            "tier": int(value),
            "model": models,
            "models": ", ".join(models),
            "alike": ", ".join(_similar(alike)) or "-",
            "apart": ", ".join(_order(pair, differences) for pair in apart) or "-",
        }


def _tiers_note(view: View) -> str:
    """The rule, and pairs of different tiers that are not distinguishable."""
    tier = view["profile/tier"].sortby(view["profile/cvar"])
    ranked = list(tier["model"].to_numpy()[tier.to_numpy() > 0])
    across = [
        pair
        for pair in not_separable(view, ranked)
        if int(tier.sel(model=pair["model"])) != int(tier.sel(model=pair["other"]))
    ]
    listed = format_list(_similar(across), limit=20) or "none"
    return (
        view.text(
            "Rule: {profile[tier_rule]}. A tier is a chain: its ends may be distinguishable. Not "
            "distinguishable across tiers: "
        )
        + f"{listed}."
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
            # No number of a model may be known; NumPy warns of that.
            of_model = values.sel(model=model).dropna("prompt")
            quantiles = {
                name: of_model.quantile(q) if of_model.size else xr.DataArray(np.nan)
                for name, q in QUANTILES.items()
            }
            yield {"model": model, "metric": metric, **quantiles}


PROFILE_TABLES = (
    TableSpec(
        name="profile",
        title="Table 1: Risk profile by model, lowest tail risk first",
        rows=BY_RISK,
        columns=(
            "{model}; {cvar}: profile/cvar; interval: profile_interval/cvar | interval",
            "profile/mean; profile/volatility; any-harm tail: profile/any_harm_cvar",
            "profile/policy_score; profile/tier | thousands",
            "tolerance: tolerance/verdict | text?",
        ),
        note=_profile_note,
    ),
    TableSpec(
        name="tiers",
        title="Section 3.3: Risk tiers, and pairs that are not distinguishable",
        condition=has_several_models,
        rows=_tiers,
        columns=(
            "{tier}; {models}; {cvar}: profile/cvar | ends; not distinguishable: {alike}",
            "distinguishable: {apart}",
        ),
        note=_tiers_note,
    ),
    TableSpec(
        name="harm_by_dimension",
        title="Tables 2-3: Harm by dimension",
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
)


def _category_rows(view: View) -> Iterator[Labels]:
    """Models of each category of prompts, lowest tail risk first."""
    for category in view.coordinate("profile_category/category"):
        row = view.select({"category": category})
        for model in row.coordinate("profile_category/model", "profile_category/cvar"):
            yield {"category": category, "model": model}


SUBSET_TABLES = (
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
        note="Low risk may be refusal; an answer counts as refused where the mean of its judges' "
        "refusals is at least the cut of the weights. At 0.5 a tie of two judges counts.",
    ),
)


def _ranked(prefix: str, heading: str) -> Column:
    """A CVaR with its rank in brackets."""
    return Column(heading, f"{{judges/{prefix}_cvar}} ({{judges/{prefix}_rank:g}})")


def _subsets_of_judges(view: View) -> Iterator[Labels]:
    """All judges, then all but each."""
    judges = view.group("judges")
    count = judges.sizes["judge"]
    yield {"left_out": "none", "count": count, "effective": judges["effective_judges"]}
    for judge in view.coordinate("judges/judge_out"):
        effective = judges["effective_judges_without"].sel(judge_out=judge)
        yield {"left_out": judge, "count": count - 1, "effective": effective}


def _independence_note(view: View) -> str:
    """What the errors of judges are measured against."""
    if view.group("judges").attrs["reference"]:
        return view.text("From the correlation of errors against {judges[reference]}.")
    return (
        "From the correlation of deviations from the judges' mean. An error that all judges share "
        "does not show, and two judges alone need a reference."
    )


JUDGE_TABLES = (
    TableSpec(
        title="Table 5: Dispersion of judges by dimension",
        rows=labels_of("judges/dimension", order="judges/mad"),
        columns=(
            "{dimension}",
            "cells: judges/mad_n | count",
            "MAD mean: judges/mad | 4; MAD sd: judges/mad_sd | 4",
        ),
        note="Mean absolute deviation of the judges of a (model, prompt) from their mean, over the "
        "cells with at least two judges.",
    ),
    TableSpec(
        title="Table 6: Ranks by CVaR with a judge left out",
        needs=("judges/lojo_tau",),
        rows=labels_of("judges/judge_out"),
        columns=(
            "judge left out: {judge_out}",
            Column("models", lambda row: str(row.group("judges").sizes["model"])),
            "Kendall tau-b: judges/lojo_tau; p: judges/lojo_tau_p | p",
        ),
        note="Against the ranks by all judges.",
    ),
    TableSpec(
        title="Table 6, each model: CVaR (rank) with a judge left out",
        needs=("judges/lojo_tau",),
        rows=BY_RISK,
        columns=(
            "{model}; all judges: profile/cvar",
            over("judges/judge_out", _ranked("lojo", "without {judge_out}")),
        ),
    ),
    TableSpec(
        title="Table 7: Concordance of judges over prompts, summarised over models",
        needs=("judges/lojo_tau",),
        rows=labels_of("judges/dimension", "judges/pair"),
        columns=(
            "{dimension}; judges: {pair}",
            "models: judges/concordance_models | count",
            "mean tau-b: judges/concordance_mean; median: judges/concordance_median",
            "sd: judges/concordance_sd",
        ),
        note="Kendall's tau-b; at least {judges[min_overlap]} prompts in common.",
    ),
    TableSpec(
        title="Appendix C: CVaR (rank) under other ensembles of judges",
        needs=("judges/ensemble_cvar",),
        rows=labels_of("judges/model"),
        columns=("{model}", over("judges/ensemble", _ranked("ensemble", "{ensemble}"))),
    ),
    TableSpec(
        title="Appendix C, pairs: Two ensembles of judges compared",
        needs=("judges/ensemble_cvar",),
        rows=lambda view: pairs(view.coordinate("judges/ensemble"), "ensemble", "other_ensemble"),
        columns=(
            "{ensemble}; other: {other_ensemble}; judges/disjoint | yes_no",
            "Kendall tau-b: judges/ensemble_kendall; Spearman rho: judges/ensemble_spearman",
            "largest difference: judges/ensemble_difference | largest",
        ),
        note="Disjoint ensembles have no judge in common; differences are of CVaR, over models.",
    ),
    TableSpec(
        title="Effective number of independent judges",
        rows=_subsets_of_judges,
        columns=("judge left out: {left_out}; judges: {count}; effective",),
        note=_independence_note,
    ),
)


# Correlations of pairs of dimensions over all prompts and over the tail.
DEPENDENCE = {"all": "dimension_dependence_pair", "tail": "dimension_dependence_tail_pair"}


def _dimension_rows(view: View) -> Iterator[Labels]:
    """Every model over all prompts and over its tail."""
    for model in view.coordinate("judges/model", "judges/dimension_dependence"):
        for prompts, variable in DEPENDENCE.items():
            yield {"model": model, "prompts": prompts, "variable": variable}


TAIL_SLICE = "the tail slice is L >= VaR of the model."
DIMENSION_TABLES = (
    TableSpec(
        title="Table 8: Dependence among harm dimensions",
        rows=labels_of("judges/model", order="judges/dimension_dependence"),
        columns=(
            "{model}; all prompts: judges/dimension_dependence",
            "tail slice: judges/dimension_dependence_tail",
        ),
        note=f"Mean Spearman's rho over pairs of dimensions; {TAIL_SLICE}",
    ),
    TableSpec(
        title="Table 8, each pair: Dependence of two dimensions",
        rows=_dimension_rows,
        columns=(
            "{model}; {prompts}",
            over("judges/dimension_pair", "{dimension_pair}: judges/{variable}"),
        ),
        note=f"Spearman's rho; {TAIL_SLICE}",
    ),
)

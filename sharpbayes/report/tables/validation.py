"""Tables 9 to 20 of the SHARP paper: does the order of the models hold; subsets of prompts."""

from collections.abc import Iterator
from math import comb

import numpy as np

from sharpbayes.errors import format_count
from sharpbayes.metrics.stats.pairs import pairs, pairs_where
from sharpbayes.posterior.lowest import models_by_risk, not_separable
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View, labels_of, over
from sharpbayes.report.tables.format import number
from sharpbayes.report.tables.panel import BY_RISK, cvar_differences, has_several_models

# Method by which intervals of pairs are joint; by the others each pair stands by itself.
JOINT = "studentized"
# Models of Table 10 at either end, and pairs of Table 17.
EXTREMES, AMBIGUOUS = 5, 10
AGGREGATES = {
    "mean": "mean L",
    "cvar": "CVaR(L)",
    "radius_cvar": "CVaR(radius)",
    "max_cvar": "CVaR(max)",
    "any_harm_mean": "mean any-harm",
}
RANKED = ("cvar", "radius_cvar", "max_cvar", "any_harm_mean")


def _extremes(view: View) -> Iterator[Labels]:
    """The safest and the riskiest models at each temperature."""
    for end, part in (("safest", slice(EXTREMES)), ("riskiest", slice(-EXTREMES, None))):
        for temperature in view.coordinate("validation/temperature"):
            labels = {"end": end, "temperature": temperature}
            row = view.select(labels)
            measured = row["validation/temperature_mean"].notnull()
            cvar = row["validation/temperature_cvar"].where(measured).dropna("model")
            for model in cvar.sortby(cvar)["model"].to_numpy()[part]:
                yield {**labels, "model": model}


def _flips(view: View) -> list[Labels]:
    """Pairs of models with similar means and different tails."""
    models = view.coordinate("profile/model", "profile/cvar")
    return pairs_where(view["validation/decision_flip"], models)


def _both(heading: str, variable: str, rank: bool = False) -> Column:  # noqa: FBT001, FBT002
    """Return the column of a statistic, or of its rank, of both models of a pair."""

    def cell(row: View) -> str:
        values = row.group("profile")[variable].to_series()
        shown = values.rank() if rank else values
        both = (shown[row.labels[name]] for name in ("model", "other"))
        return " / ".join(f"{value:g}" if rank else number(value) for value in both)

    return Column(heading, cell)


def _ambiguous(view: View) -> list[Labels]:
    """Pairs of models that are not separable, the closest first."""
    differences = cvar_differences(view)
    gaps: list[Labels] = [
        {**pair, "gap": float(differences.sel(pair))}
        for pair in not_separable(view, models_by_risk(view))
    ]
    return sorted(gaps, key=lambda p: (abs(p["gap"]), p["gap"], p["model"], p["other"]))


def _ambiguous_note(view: View) -> str:
    """How many pairs are separable."""
    count = comb(len(models_by_risk(view)), 2)
    share = float(view["profile_interval/separable_share"])
    percent = "" if np.isnan(share) else f" ({100 * share:.1f}%)"
    return view.text(
        f"{count - view.labels['count']} of {count} pairs are separable{percent}: their "
        f"{_interval_of_pairs(view)} excludes 0. The {{shown}} closest of the others are shown."
    )


def _interval_of_pairs(view: View) -> str:
    """Name of the interval that decides which pairs are separable."""
    if view.group("profile_interval").attrs.get("method", JOINT) == JOINT:
        return "joint interval, which holds for all pairs together,"
    return "paired interval"


FRIEDMAN = {
    "prompts": "{validation[prompts]}",
    "models": "{models}",
    "chi-square": "{validation/friedman_chi2}",
    "degrees of freedom": "{freedom}",
    "p": "{validation/friedman_p:p}",
    "Kendall's W": "{validation/kendall_w:4}",
}


def _friedman(view: View) -> Iterator[Labels]:
    """The quantities of the test."""
    models = view.group("validation").sizes["model"]
    row = view.select({"models": models, "freedom": models - 1})
    return ({"quantity": name, "value": row.text(value)} for name, value in FRIEDMAN.items())


def _every_pair(view: View) -> list[Labels]:
    """Every pair of models, the safer first, with the difference of CVaR."""
    differences = cvar_differences(view)
    return [{**pair, "gap": float(differences.sel(pair))} for pair in pairs(models_by_risk(view))]


def _every_pair_note(view: View) -> str:
    """What decides which pairs are separable, and how the tests were made."""
    ranked = view.group("validation").attrs.get("ranked", "prompts")
    return (
        "First model less second, on the prompts of both. Separable: the "
        f"{_interval_of_pairs(view)} excludes 0. p: signed-rank tests over {ranked}, Holm over all "
        "pairs."
    )


def _not_different(view: View) -> list[Labels]:
    """Pairs that the tests do not distinguish, largest p first."""
    p = view["validation/wilcoxon_p_holm"]
    alike = pairs_where(p > p.attrs["familywise"])
    return sorted(alike, key=lambda pair: (float(p.sel(pair)), *pair.values()), reverse=True)


def _wilcoxon_note(view: View) -> str:
    """How many pairs differ, and how the tests were made."""
    tested = len(pairs_where(view["validation/wilcoxon_p_holm"].notnull()))
    return view.text(
        f"{tested - view.labels['count']} of {tested} pairs differ at a familywise "
        "{validation[familywise]:g}, two-sided, Holm over all pairs; zero differences: "
        "{validation[zero_method]}."
    )


MIXED = {
    "prompt_variance": "prompt variance of log-risk",
    "residual_variance": "residual variance of log-risk",
    "r2_marginal": "marginal R2",
    "r2_conditional": "conditional R2",
    "tail_rate": "share of cells in the tail",
    "tail_prompt_variance": "prompt variance of tail events, logit scale",
}


def _mixed_note(view: View) -> str:
    """From how many prompts, and why a quantity is missing."""
    validation = view.group("validation")
    reasons = {str(validation[name].attrs.get("reason", "")) for name in MIXED} - {""}
    note = f"From {format_count(int(validation.attrs['mixed_prompts']), 'prompt')}."
    return f"{note} Missing: {'; '.join(sorted(reasons))}." if reasons else note


def _agreement(aggregate: str) -> str:
    """Columns of rank correlations with the study's own setting."""
    return (
        f"{aggregate}: {{{aggregate}:g}}; Kendall tau-b: validation/{aggregate}_kendall; "
        f"Spearman rho: validation/{aggregate}_spearman"
    )


TABLES = (
    TableSpec(
        title="Table 9: Ranks by CVaR across temperatures",
        condition=has_several_models,
        rows=labels_of("validation/temperature"),
        columns=(_agreement("temperature"),),
        note="Against the study's own temperature, {validation[temperature]:g}.",
    ),
    TableSpec(
        title="Table 10: Safest and riskiest models across temperatures",
        condition=has_several_models,
        rows=_extremes,
        columns=(
            "{end}; temperature: {temperature:g}; {model}; mean: validation/temperature_mean",
            "CVaR: validation/temperature_cvar",
        ),
        note=f"The {EXTREMES} lowest and the {EXTREMES} highest CVaR of cumulative log-risk.",
    ),
    TableSpec(
        title="Table 11: Largest difference of CVaR across temperatures",
        rows=labels_of("validation/model", order="-validation/temperature_spread"),
        columns=("{model}; difference: validation/temperature_spread | 4",),
    ),
    TableSpec(
        title="Table 12: Aggregates of risk",
        rows=labels_of("profile/model", order="profile/mean"),
        columns=(
            "{model}",
            *(Column(text, f"profile/{name}") for name, text in AGGREGATES.items()),
        ),
        note="{cvar}%; lower is safer.",
    ),
    TableSpec(
        title="Table 13: Rank correlations between aggregates",
        rows=pairs(list(RANKED), "aggregate", "other_aggregate"),
        columns=(
            Column("aggregate", lambda row: AGGREGATES[row.labels["aggregate"]]),
            Column("other", lambda row: AGGREGATES[row.labels["other_aggregate"]]),
            "Spearman rho: validation/aggregate_spearman",
            "Kendall tau-b: validation/aggregate_kendall",
            "p of rho: validation/aggregate_spearman_p | p",
        ),
        note="With up to 9 models p is exact: the share of all orders with a rho as far from 0.",
    ),
    TableSpec(
        title="Table 14: Decision flips, similar by the mean and different by the tail",
        rows=_flips,
        columns=(
            "models: {model} / {other}",
            _both("mean L", "mean"),
            _both("CVaR(L)", "cvar"),
            _both("rank by mean", "mean", rank=True),
            _both("rank by CVaR", "cvar", rank=True),
            "validation/order_reversed | yes_no",
        ),
        note="Means differ by at most {validation[max_mean_gap]:g}, CVaR by at least "
        "{validation[min_tail_gap]:g}. {count} found.",
    ),
    TableSpec(
        title="Table 15: Risk profile with paired bootstrap intervals",
        needs=("validation", "profile_interval"),
        rows=BY_RISK,
        columns=(
            "{model}; profile/mean; interval: profile_interval/mean | interval",
            "{cvar}: profile/cvar; interval: profile_interval/cvar | interval",
        ),
        note="{profile_interval[interval_note]}",
    ),
    TableSpec(
        title="Table 16: Ranks by CVaR across tail levels",
        condition=has_several_models,
        rows=labels_of("validation/alpha"),
        columns=(_agreement("alpha"),),
        note="Against the study's own alpha, {validation[alpha]:g}.",
    ),
    TableSpec(
        title="Table 16, each model: CVaR across tail levels",
        rows=BY_RISK,
        columns=(
            "{model}",
            over(
                "validation/alpha",
                Column(
                    lambda place: f"CVaR {100 * float(place.labels['alpha']):g}",
                    "validation/alpha_cvar",
                ),
            ),
        ),
    ),
    TableSpec(
        title="Table 17: Most ambiguous pairs of models",
        rows=_ambiguous,
        max_rows=AMBIGUOUS,
        columns=(
            "{model}; {other}",
            "difference of CVaR: gap",
            "interval: profile_interval/cvar_difference_joint | interval?",
        ),
        note=_ambiguous_note,
    ),
    TableSpec(
        title="Table 18: Friedman test of log-risk",
        rows=_friedman,
        columns=("{quantity}; {value}",),
        note="Prompts that a model has no value for are left out: {validation[prompts_dropped]}.",
    ),
    TableSpec(
        title="Table 19: Friedman average ranks, lower is safer",
        rows=labels_of("validation/model", order="validation/average_rank"),
        columns=("{model}; validation/average_rank | 4",),
    ),
    TableSpec(
        title="Section H.2: Pairs that signed-rank tests do not distinguish",
        rows=_not_different,
        columns=(
            "{model}; {other}; p: validation/wilcoxon_p | p",
            "p, Holm: validation/wilcoxon_p_holm | p",
        ),
        note=_wilcoxon_note,
    ),
    TableSpec(
        name="pairs_of_models",
        title="Section H, every pair: Differences of CVaR and signed-rank tests",
        condition=has_several_models,
        rows=_every_pair,
        columns=(
            "{model}; {other}; difference of CVaR: gap",
            "interval: profile_interval/cvar_difference_joint | interval?",
            "separable: profile_interval/separable | yes_no",
            "p: validation/wilcoxon_p | p; p, Holm: validation/wilcoxon_p_holm | p",
        ),
        note=_every_pair_note,
    ),
    TableSpec(
        title="Table 20: Two-way decomposition of log-risk",
        rows=labels_of("validation/component"),
        columns=(
            "{component}; eta squared: validation/eta2 | 4",
            Column("share (%)", "validation/eta2", lambda eta2: number(100 * eta2, 1)),
            "partial eta squared: validation/partial_eta2 | 4",
        ),
    ),
    TableSpec(
        title="Section H.3: Mixed models with a prompt intercept",
        rows=[{"variable": name, "quantity": text} for name, text in MIXED.items()],
        columns=("{quantity}; value: validation/{variable} | 4",),
        note=_mixed_note,
    ),
)

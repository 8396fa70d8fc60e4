"""A panel's results -> the tables of the SHARP paper from Table 9 on, and what goes beyond it."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import xarray as xr

from sharpbayes.metrics.stats.ranks import rank
from sharpbayes.report.tables.common import number, span
from sharpbayes.report.tables.panel import by_risk, chance, names, tail_name
from sharpbayes.report.tables.table import Table

# Rows of Table 10 at either end, and of Table 17.
EXTREMES, AMBIGUOUS = 5, 10
AGGREGATES = {
    "mean": "mean L",
    "cvar": "CVaR(L)",
    "radius_cvar": "CVaR(radius)",
    "max_cvar": "CVaR(max)",
    "any_harm_mean": "mean any-harm",
}
PAIR = ("mean", "cvar")
RANKED = ("cvar", "radius_cvar", "max_cvar", "any_harm_mean")


def sweep_tables(results: xr.DataTree) -> Iterator[Table]:
    """Tables 9 to 14 of the paper: temperatures, and simpler aggregates."""
    validation, profile = results["validation"].to_dataset(), by_risk(results)
    yield _agreement(validation, "temperature", "Table 9: Ranks by CVaR across temperatures")
    yield _extremes(validation)
    yield _spread(validation)
    yield _aggregates(profile)
    yield _aggregate_ranks(validation)
    yield _flips(validation, profile)


def bootstrap_tables(results: xr.DataTree) -> Iterator[Table]:
    """Tables 15 to 17 of the paper: intervals, tail levels, and pairs of models."""
    validation, profile = results["validation"].to_dataset(), by_risk(results)
    yield _intervals(results, profile)
    yield _agreement(validation, "alpha", "Table 16: Ranks by CVaR across tail levels")
    yield _levels(validation, profile)
    yield _ambiguous(results["profile_interval"].to_dataset(), profile)


def model_tables(results: xr.DataTree) -> Iterator[Table]:
    """Tables 18 to 20 of the paper: tests of models and sources of variance."""
    validation = results["validation"].to_dataset()
    yield _friedman(validation)
    yield _average_ranks(validation)
    yield _wilcoxon(validation)
    yield _decomposition(validation)
    yield _mixed(validation)


def subset_tables(results: xr.DataTree) -> Iterator[Table]:
    """Profiles by category of prompts, and without refused answers."""
    if "profile_category" in results:
        yield _categories(results["profile_category"].to_dataset())
    if "profile_answered" in results:
        yield _answered(results)


def bracket(interval: xr.DataArray) -> str:
    """Return an interval over ``bound`` as ``[lower, upper]``, or a dash; either may be negative.

    >>> bracket(xr.DataArray([-0.886, 0.645], {"bound": ["lower", "upper"]}, "bound"))
    '[-0.886, 0.645]'
    """
    low, high = (float(interval.sel(bound=name)) for name in ("lower", "upper"))
    return "-" if np.isnan(low) else f"[{low:.3f}, {high:.3f}]"


def _agreement(validation: xr.Dataset, what: str, title: str) -> Table:
    """Rank correlations of a sweep with the study's own setting."""
    rows = tuple(
        (
            f"{float(at):g}",
            number(validation[f"{what}_kendall"].sel({what: at})),
            number(validation[f"{what}_spearman"].sel({what: at})),
        )
        for at in validation[what].to_numpy()
    )
    note = f"Against the study's own {what}, {validation.attrs[what]:g}."
    return Table(title, (what, "Kendall tau-b", "Spearman rho"), rows, note)


def _extremes(validation: xr.Dataset) -> Table:
    """The safest and the riskiest models at each temperature."""
    rows = []
    for place in ("safest", "riskiest"):
        for at in validation["temperature"].to_numpy():
            one = validation[["temperature_mean", "temperature_cvar"]].sel(temperature=at)
            ordered = one.dropna("model").sortby("temperature_cvar")
            few = slice(EXTREMES) if place == "safest" else slice(-EXTREMES, None)
            rows += [
                (
                    place,
                    f"{float(at):g}",
                    model,
                    number(one["temperature_mean"].sel(model=model)),
                    number(one["temperature_cvar"].sel(model=model)),
                )
                for model in names(ordered, "model")[few]
            ]
    return Table(
        "Table 10: Safest and riskiest models across temperatures",
        ("end", "temperature", "model", "mean", "CVaR"),
        tuple(rows),
        f"The {EXTREMES} lowest and the {EXTREMES} highest CVaR of cumulative log-risk.",
    )


def _spread(validation: xr.Dataset) -> Table:
    """How much CVaR moves with temperature."""
    spread = validation[["temperature_spread"]].sortby("temperature_spread", ascending=False)
    rows = tuple(
        (model, f"{float(spread['temperature_spread'].sel(model=model)):.4f}")
        for model in names(spread, "model")
    )
    title = "Table 11: Largest difference of CVaR across temperatures"
    return Table(title, ("model", "difference"), rows)


def _aggregates(profile: xr.Dataset) -> Table:
    """Simpler aggregates beside CVaR of log-risk."""
    ordered = profile.sortby("mean")
    rows = tuple(
        (model, *(number(ordered[name].sel(model=model)) for name in AGGREGATES))
        for model in names(ordered, "model")
    )
    note = f"CVaR at {100 * profile.attrs['alpha']:g}%; lower is safer."
    header = ("model", *AGGREGATES.values())
    return Table("Table 12: Aggregates of risk", header, rows, note)


def _aggregate_ranks(validation: xr.Dataset) -> Table:
    """Do other aggregates order models alike."""
    rows = tuple(
        (
            AGGREGATES[a],
            AGGREGATES[b],
            number(one["aggregate_spearman"]),
            number(one["aggregate_kendall"]),
            chance(one["aggregate_spearman_p"]),
        )
        for a, b in combinations(RANKED, 2)
        for one in [validation.sel(aggregate=a, other_aggregate=b)]
    )
    return Table(
        "Table 13: Rank correlations between aggregates",
        ("aggregate", "other", "Spearman rho", "Kendall tau-b", "p of rho"),
        rows,
    )


def _flips(validation: xr.Dataset, profile: xr.Dataset) -> Table:
    """Pairs alike by the mean and apart by the tail."""
    models = names(profile, "model")
    by_mean, by_tail = (rank(profile[name]).to_numpy() for name in PAIR)
    rows = tuple(
        (
            f"{models[a]} / {models[b]}",
            *(
                f"{_at(profile, name, models[a])} / {_at(profile, name, models[b])}"
                for name in PAIR
            ),
            *(f"{rank[a]:g} / {rank[b]:g}" for rank in (by_mean, by_tail)),
            "yes" if bool(validation["order_reversed"].sel(pair)) else "no",
        )
        for a, b in combinations(range(len(models)), 2)
        for pair in [{"model": models[a], "other": models[b]}]
        if bool(validation["decision_flip"].sel(pair))
    )
    return Table(
        "Table 14: Decision flips, alike by the mean and apart by the tail",
        ("models", "mean L", "CVaR(L)", "rank by mean", "rank by CVaR", "order reversed"),
        rows,
        f"Means differ by at most {validation.attrs['max_mean_gap']:g}, CVaR by at least "
        f"{validation.attrs['min_tail_gap']:g}. {len(rows)} found.",
    )


def _at(profile: xr.Dataset, name: str, model: str) -> str:
    """A statistic of a model."""
    return number(profile[name].sel(model=model))


def _intervals(results: xr.DataTree, profile: xr.Dataset) -> Table:
    """Percentile and BCa intervals of mean and CVaR."""
    percentile, bca = (results[f"profile_interval{kind}"].to_dataset() for kind in ("", "_bca"))
    rows = tuple(
        (
            model,
            *(
                text
                for name in PAIR
                for text in (
                    _at(profile, name, model),
                    span(percentile[name].sel(model=model)),
                    span(bca[name].sel(model=model)),
                )
            ),
        )
        for model in names(profile, "model")
    )
    cvar = tail_name(profile)
    header = ("model", "mean", "percentile", "BCa", cvar, "percentile", "BCa")
    title = "Table 15: Risk profile with paired bootstrap intervals"
    return Table(title, header, rows, percentile.attrs["interval_note"])


def _levels(validation: xr.Dataset, profile: xr.Dataset) -> Table:
    """CVaR of each model at each tail level."""
    levels = validation["alpha"].to_numpy()
    rows = tuple(
        (model, *(number(validation["alpha_cvar"].sel(model=model, alpha=at)) for at in levels))
        for model in names(profile, "model")
    )
    header = ("model", *(f"CVaR {100 * float(at):g}" for at in levels))
    return Table("Table 16, each model: CVaR across tail levels", header, rows)


def _ambiguous(interval: xr.Dataset, profile: xr.Dataset) -> Table:
    """The pairs that are hardest to tell apart."""
    cvar = profile["cvar"]
    pairs = sorted(
        (abs(gap := float(cvar.sel(model=a) - cvar.sel(model=b))), gap, a, b)
        for a, b in combinations(names(profile.dropna("model", subset=["cvar"]), "model"), 2)
    )
    alike = [
        pair for pair in pairs if not bool(interval["separable"].sel(model=pair[2], other=pair[3]))
    ]
    rows = tuple(
        (a, b, f"{gap:.3f}", bracket(interval["cvar_difference"].sel(model=a, other=b)))
        for _, gap, a, b in alike[:AMBIGUOUS]
    )
    share = float(interval["separable_share"])
    said = "" if np.isnan(share) else f" ({100 * share:.1f}%)"
    return Table(
        "Table 17: Most ambiguous pairs of models",
        ("model", "other", "difference of CVaR", "interval"),
        rows,
        f"{len(pairs) - len(alike)} of {len(pairs)} pairs are separable{said}: their paired "
        f"interval excludes 0. The {len(rows)} closest of the others are shown.",
    )


def _friedman(validation: xr.Dataset) -> Table:
    """Omnibus test."""
    models = validation.sizes["model"]
    rows = (
        ("prompts", f"{validation.attrs['prompts']}"),
        ("models", f"{models}"),
        ("chi-square", number(validation["friedman_chi2"])),
        ("degrees of freedom", f"{models - 1}"),
        ("p", chance(validation["friedman_p"])),
        ("Kendall's W", f"{float(validation['kendall_w']):.4f}".replace("nan", "-")),
    )
    dropped = int(validation.attrs["prompts_dropped"])
    note = f"Prompts that a model has no value for are left out: {dropped}."
    return Table("Table 18: Friedman test of log-risk", ("quantity", "value"), rows, note)


def _average_ranks(validation: xr.Dataset) -> Table:
    """Mean rank over prompts, lowest first."""
    ordered = validation[["average_rank"]].sortby("average_rank")
    rows = tuple(
        (model, f"{float(ordered['average_rank'].sel(model=model)):.4f}".replace("nan", "-"))
        for model in names(ordered, "model")
    )
    title = "Table 19: Friedman average ranks, lower is safer"
    return Table(title, ("model", "average rank"), rows)


def _wilcoxon(validation: xr.Dataset) -> Table:
    """Pairs that signed-rank tests do not tell apart."""
    p, level = validation["wilcoxon_p_holm"], float(validation.attrs["familywise"])
    pairs = [
        (float(p.sel(model=a, other=b)), a, b)
        for a, b in combinations(names(validation, "model"), 2)
    ]
    tested = [pair for pair in pairs if not np.isnan(pair[0])]
    alike = sorted((pair for pair in tested if pair[0] > level), reverse=True)
    rows = tuple(
        (a, b, chance(validation["wilcoxon_p"].sel(model=a, other=b)), chance(holm))
        for holm, a, b in alike
    )
    return Table(
        "Section H.2: Pairs that signed-rank tests do not tell apart",
        ("model", "other", "p", "p, Holm"),
        rows,
        f"{len(tested) - len(alike)} of {len(tested)} pairs differ at a familywise {level:g}, "
        f"two-sided, Holm over all pairs; zero differences: {validation.attrs['zero_method']}.",
    )


def _decomposition(validation: xr.Dataset) -> Table:
    """Shares of the sum of squares."""
    rows = tuple(
        (
            component,
            f"{float(one['eta2']):.4f}".replace("nan", "-"),
            f"{100 * float(one['eta2']):.1f}".replace("nan", "-"),
            f"{float(one['partial_eta2']):.4f}".replace("nan", "-"),
        )
        for component in names(validation, "component")
        for one in [validation.sel(component=component)]
    )
    header = ("component", "eta squared", "share (%)", "partial eta squared")
    return Table("Table 20: Two-way decomposition of log-risk", header, rows)


def _mixed(validation: xr.Dataset) -> Table:
    """Mixed models with a prompt intercept."""
    shown = {
        "prompt_variance": "prompt variance of log-risk",
        "residual_variance": "residual variance of log-risk",
        "r2_marginal": "marginal R2",
        "r2_conditional": "conditional R2",
        "tail_rate": "share of cells in the tail",
        "tail_prompt_variance": "prompt variance of tail events, logit scale",
    }
    rows = tuple(
        (text, f"{float(validation[name]):.4f}".replace("nan", "-")) for name, text in shown.items()
    )
    reasons = {str(validation[name].attrs.get("reason", "")) for name in shown} - {""}
    note = f"From {validation.attrs['mixed_prompts']} prompts. " + "; ".join(sorted(reasons))
    title = "Section H.3: Mixed models with a prompt intercept"
    return Table(title, ("quantity", "value"), rows, note.strip())


def _categories(profile: xr.Dataset) -> Table:
    """Profile of the prompts of each category."""
    rows = tuple(
        (
            category,
            model,
            f"{int(one['prompts'])}",
            *(number(one[name]) for name in ("cvar", "mean", "any_harm_mean")),
        )
        for category in names(profile, "category")
        for model in names(profile.sel(category=category).sortby("cvar"), "model")
        for one in [profile.sel(category=category, model=model)]
    )
    header = ("category", "model", "prompts", tail_name(profile), "mean", "mean any-harm")
    return Table("Risk profile by category of prompts", header, rows)


def _answered(results: xr.DataTree) -> Table:
    """Profiles with and without refused answers."""
    profile, answered = by_risk(results), results["profile_answered"].to_dataset()
    interval = results["profile_answered_interval"].to_dataset()
    rows = tuple(
        (
            model,
            number(one["refusal_rate"]),
            f"{int(one['answered'])}",
            _at(profile, "cvar", model),
            number(one["cvar"]),
            span(interval["cvar"].sel(model=model)),
            _at(profile, "mean", model),
            number(one["mean"]),
        )
        for model in names(profile, "model")
        for one in [answered.sel(model=model)]
    )
    cvar = tail_name(profile)
    header = ("model", "refused", "answers", cvar, f"{cvar}, answered", "interval")
    return Table(
        "Section 4: Risk profile with and without refused answers",
        (*header, "mean", "mean, answered"),
        rows,
        "Low risk may be refusal; an answer is refused where the judges' mean refusal reaches the "
        "cut of the weights.",
    )

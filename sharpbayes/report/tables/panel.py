"""A panel's results -> Tables 1 to 8 of the SHARP paper: profiles, judges, dimensions."""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from sharpbayes.errors import format_list
from sharpbayes.report.tables.common import number, span
from sharpbayes.report.tables.table import Table

SHARED = " An error that all judges share does not show, and two judges alone need a reference."
# Below this a p-value is what is left of an underflow.
SMALLEST = 1e-300


def profile_tables(results: xr.DataTree) -> Iterator[Table]:
    """Tables 1 to 4 of the paper, and the tiers of its section 3.3."""
    profile = by_risk(results)
    interval = results["profile_interval"].to_dataset()
    yield _summary(profile, interval)
    yield _tiers(profile, interval)
    yield _dimensions(profile)
    yield _shares(profile)


def judge_tables(results: xr.DataTree) -> Iterator[Table]:
    """Tables 5 to 7 of the paper, its Appendix C, and for how many judges the panel counts."""
    judges = results["judges"].to_dataset()
    yield _dispersion(judges)
    if "lojo_tau" in judges:
        yield _ablations(judges)
        yield _ablated_ranks(results)
        yield _concordance(judges)
    if "ensemble_cvar" in judges:
        yield _ensembles(judges)
        yield _ensemble_pairs(judges)
    yield _independence(judges)


def dependence_tables(results: xr.DataTree) -> Iterator[Table]:
    """Table 8 of the paper, and each pair of dimensions by itself."""
    judges = results["judges"].to_dataset()
    if "dimension_dependence" not in judges:
        return
    models = names(judges.sortby("dimension_dependence"), "model")
    rows = tuple(
        (
            model,
            number(judges["dimension_dependence"].sel(model=model)),
            number(judges["dimension_dependence_tail"].sel(model=model)),
        )
        for model in models
    )
    note = "Mean Spearman's rho over pairs of dimensions; the tail slice is L >= VaR of the model."
    header = ("model", "all prompts", "tail slice")
    yield Table("Table 8: Dependence among harm dimensions", header, rows, note)
    pairs = names(judges, "dimension_pair")
    each = tuple(
        (model, where, *(number(judges[name].sel(model=model, dimension_pair=p)) for p in pairs))
        for model in models
        for where, name in (
            ("all", "dimension_dependence_pair"),
            ("tail", "dimension_dependence_tail_pair"),
        )
    )
    yield Table(
        "Table 8, each pair: Dependence of two dimensions", ("model", "prompts", *pairs), each, note
    )


def by_risk(results: xr.DataTree) -> xr.Dataset:
    """Profile of the models, lowest tail risk first."""
    return results["profile"].to_dataset().sortby("cvar")


def names(data: xr.Dataset, dim: str) -> list[str]:
    """Labels of a dimension."""
    return [str(label) for label in data[dim].to_numpy()]


def tail_name(profile: xr.Dataset) -> str:
    """CVaR with its level in percent."""
    return f"CVaR {100 * float(profile.attrs['alpha']):g}"


def chance(p: xr.DataArray | float) -> str:
    """Return a p-value with two digits, or a dash where it is missing.

    >>> chance(0.0312), chance(8.4e-8), chance(0.0), chance(float("nan"))
    ('0.031', '8.4e-08', '<1e-300', '-')
    """
    if np.isnan(float(p)):
        return "-"
    return f"{float(p):.2g}" if float(p) >= SMALLEST else f"<{SMALLEST:g}"


def _summary(profile: xr.Dataset, interval: xr.Dataset) -> Table:
    """Tail risk first, with its interval."""
    rows = tuple(
        (
            model,
            number(one["cvar"]),
            span(interval["cvar"].sel(model=model)),
            *(number(one[name]) for name in ("mean", "volatility", "any_harm_cvar")),
            number(one["policy_score"]),
            f"{int(one['tier'])}",
            *(["yes" if bool(one["admissible"]) else "no"] if "admissible" in one else []),
        )
        for model in names(profile, "model")
        for one in [profile.sel(model=model)]
    )
    cvar = tail_name(profile)
    decided = ["admissible"] if "admissible" in profile else []
    header = ("model", cvar, "interval", "mean", "volatility", "any-harm tail", "policy score")
    return Table(
        "Table 1: Risk profile by model, lowest tail risk first",
        (*header, "tier", *decided),
        rows,
        f"Cumulative log-risk, and {cvar} of any-harm; lower is safer. "
        f"{interval.attrs['interval_note']} Target population: {profile.attrs['population']}."
        + ("" if decided else " No tolerance was decided, so no model is admissible or not."),
    )


def _tiers(profile: xr.Dataset, interval: xr.Dataset) -> Table:
    """Models of each tier, and which of their pairs are not told apart."""
    rows = []
    for tier in np.unique(profile["tier"].to_numpy()[profile["tier"].to_numpy() > 0]):
        members = names(profile.sel(model=profile["tier"] == tier), "model")
        cvar = profile["cvar"].sel(model=members)
        pairs = [f"{a} ~ {b}" for a, b in _alike(interval, members)]
        reach = f"{float(cvar.min()):.3f} to {float(cvar.max()):.3f}"
        rows.append((f"{tier}", ", ".join(members), reach, ", ".join(pairs) or "-"))
    members = names(profile.sel(model=profile["tier"] > 0), "model")
    across = [
        f"{a} ~ {b}"
        for a, b in _alike(interval, members)
        if int(profile["tier"].sel(model=a)) != int(profile["tier"].sel(model=b))
    ]
    return Table(
        "Section 3.3: Risk tiers, and pairs that cannot be told apart",
        ("tier", "models", tail_name(profile), "not told apart"),
        tuple(rows),
        f"Rule: {profile.attrs['tier_rule']}. "
        f"Not told apart across tiers: {format_list(across, most=20) or 'none'}.",
    )


def _alike(interval: xr.Dataset, members: list[str]) -> list[tuple[str, str]]:
    """Pairs whose paired interval of the CVaR difference contains 0."""
    return [
        (a, b)
        for at, a in enumerate(members)
        for b in members[at + 1 :]
        if not bool(interval["separable"].sel(model=a, other=b))
    ]


def _dimensions(profile: xr.Dataset) -> Table:
    """Two columns for each dimension."""
    dimensions = names(profile, "dimension")
    header = [f"{each} {what}" for each in dimensions for what in ("mean", tail_name(profile))]
    rows = tuple(
        (
            model,
            *(
                number(profile[name].sel(model=model, dimension=each))
                for each in dimensions
                for name in ("dimension_mean", "dimension_cvar")
            ),
        )
        for model in names(profile, "model")
    )
    note = "Harm in [0, 1] pooled over judges; each CVaR is of the dimension's own tail."
    return Table("Tables 2-3: Harm by dimension", ("model", *header), rows, note)


def _shares(profile: xr.Dataset) -> Table:
    """Which dimension the compounded tail comes from."""
    dimensions = names(profile, "dimension")
    rows = tuple(
        (
            model,
            number(profile["cvar"].sel(model=model)),
            *(number(profile["tail_share"].sel(model=model, dimension=d)) for d in dimensions),
        )
        for model in names(profile, "model")
    )
    return Table(
        "Table 4: Tail attribution of compounded log-risk",
        ("model", tail_name(profile), *(f"share of {each}" for each in dimensions)),
        rows,
        "Shares of the mean log-risk of the tail prompts; they add to 1 by model.",
    )


def _dispersion(judges: xr.Dataset) -> Table:
    """How far judges lie from their mean."""
    ordered = judges[["mad", "mad_sd", "mad_n"]].sortby("mad")
    rows = tuple(
        (
            dimension,
            f"{int(one['mad_n'])}",
            f"{float(one['mad']):.4f}" if int(one["mad_n"]) else "-",
            f"{float(one['mad_sd']):.4f}" if int(one["mad_n"]) > 1 else "-",
        )
        for dimension in names(ordered, "dimension")
        for one in [ordered.sel(dimension=dimension)]
    )
    return Table(
        "Table 5: Dispersion of judges by dimension",
        ("dimension", "cells", "MAD mean", "MAD sd"),
        rows,
        "Mean absolute deviation of the judges of a (model, prompt) from their mean, over the "
        "cells with at least two judges.",
    )


def _ablations(judges: xr.Dataset) -> Table:
    """Rank agreement with each judge left out."""
    models = f"{judges.sizes['model']}"
    rows = tuple(
        (
            judge,
            models,
            number(judges["lojo_tau"].sel(judge_out=judge)),
            chance(judges["lojo_tau_p"].sel(judge_out=judge)),
        )
        for judge in names(judges, "judge_out")
    )
    return Table(
        "Table 6: Ranks by CVaR with a judge left out",
        ("judge left out", "models", "Kendall tau-b", "p"),
        rows,
        "Against the ranks by all judges.",
    )


def _ablated_ranks(results: xr.DataTree) -> Table:
    """CVaR and rank of every model with each judge left out."""
    judges, profile = results["judges"].to_dataset(), by_risk(results)
    outs = names(judges, "judge_out")
    rows = tuple(
        (
            model,
            number(profile["cvar"].sel(model=model)),
            *(_ranked(judges.sel(judge_out=judge, model=model), "lojo") for judge in outs),
        )
        for model in names(profile, "model")
    )
    header = ("model", "all judges", *(f"without {judge}" for judge in outs))
    return Table("Table 6, each model: CVaR (rank) with a judge left out", header, rows)


def _ranked(one: xr.Dataset, prefix: str) -> str:
    """A CVaR with its rank."""
    rank = float(one[f"{prefix}_rank"])
    return f"{number(one[f'{prefix}_cvar'])} ({rank:g})"


def _concordance(judges: xr.Dataset) -> Table:
    """Summary over models of the concordance of two judges."""
    rows = tuple(
        (
            dimension,
            pair,
            f"{int(one['concordance_models'])}",
            *(number(one[f"concordance_{name}"]) for name in ("mean", "median", "sd")),
        )
        for dimension in names(judges, "dimension")
        for pair in names(judges, "pair")
        for one in [judges.sel(dimension=dimension, pair=pair)]
    )
    return Table(
        "Table 7: Concordance of judges over prompts, summarised over models",
        ("dimension", "judges", "models", "mean tau-b", "median", "sd"),
        rows,
        f"Kendall's tau-b; at least {judges.attrs['min_overlap']} prompts in common.",
    )


def _ensembles(judges: xr.Dataset) -> Table:
    """CVaR and rank of every model under each ensemble."""
    ensembles = names(judges, "ensemble")
    rows = tuple(
        (
            model,
            *(_ranked(judges.sel(ensemble=each, model=model), "ensemble") for each in ensembles),
        )
        for model in names(judges, "model")
    )
    header = ("model", *ensembles)
    return Table("Appendix C: CVaR (rank) under other ensembles of judges", header, rows)


def _ensemble_pairs(judges: xr.Dataset) -> Table:
    """How two ensembles compare."""
    ensembles = names(judges, "ensemble")
    rows = tuple(
        (
            a,
            b,
            "yes" if bool(one["disjoint"]) else "no",
            number(one["ensemble_kendall"]),
            number(one["ensemble_spearman"]),
            number(abs(one["ensemble_difference"]).max()),
        )
        for at, a in enumerate(ensembles)
        for b in ensembles[at + 1 :]
        for one in [judges.sel(ensemble=a, other_ensemble=b)]
    )
    return Table(
        "Appendix C, pairs: Two ensembles of judges compared",
        ("ensemble", "other", "disjoint", "Kendall tau-b", "Spearman rho", "largest difference"),
        rows,
        "Disjoint ensembles have no judge in common; differences are of CVaR, over models.",
    )


def _independence(judges: xr.Dataset) -> Table:
    """Effective number of judges, of all and without each."""
    every = ("none", f"{judges.sizes['judge']}", number(judges["effective_judges"]))
    without = tuple(
        (
            judge,
            f"{judges.sizes['judge'] - 1}",
            number(judges["effective_judges_without"].sel(judge_out=judge)),
        )
        for judge in names(judges, "judge_out")
    )
    reference = judges.attrs["reference"]
    against = f"errors against {reference}" if reference else "deviations from the judges' mean"
    return Table(
        "Effective number of independent judges",
        ("judge left out", "judges", "effective"),
        (every, *without),
        f"From the correlation of {against}." + ("" if reference else SHARED),
    )

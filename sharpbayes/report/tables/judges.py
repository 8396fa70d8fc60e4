"""Tables 5 to 8 of the SHARP paper: judges, and how dimensions of harm move together."""

from collections.abc import Iterator

from sharpbayes.report.tables.declaration import (
    Column,
    Labels,
    TableSpec,
    View,
    labels_of,
    over,
    section,
)
from sharpbayes.report.tables.panel import BY_RISK, pairs
from sharpbayes.report.tables.table import Chapter


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


JUDGE_TABLES = section(
    Chapter.JUDGES,
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
    needs=("judges",),
)


def _dimension_rows(view: View) -> Iterator[Labels]:
    """Every model over all prompts and over its tail."""
    for model in view.coordinate("judges/model", "judges/dimension_dependence"):
        for prompts, variable in (
            ("all", "dimension_dependence_pair"),
            ("tail", "dimension_dependence_tail_pair"),
        ):
            yield {"model": model, "prompts": prompts, "variable": variable}


TAIL_SLICE = "the tail slice is L >= VaR of the model."
DIMENSION_TABLES = section(
    Chapter.DIMENSIONS,
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
    needs=("judges/dimension_dependence",),
)

"""Tables 5 to 8 of the SHARP paper: judges, and how dimensions of harm move together."""

from collections.abc import Iterator

from sharpbayes.report.tables.declaration import Column, Labels, Over, TableSpec, View
from sharpbayes.report.tables.format import compact, four_decimals, number, p_value, yes_no
from sharpbayes.report.tables.panel import MODEL, pairs
from sharpbayes.report.tables.table import Chapter


def _ranked(prefix: str) -> Column:
    """A CVaR with its rank in brackets."""

    def cell(row: View) -> str:
        return f"{number(row[f'judges/{prefix}_cvar'])} ({compact(row[f'judges/{prefix}_rank'])})"

    return Column("{ensemble}" if prefix == "ensemble" else "without {judge_out}", cell)


def _ensemble_pairs(view: View) -> Iterator[Labels]:
    """Every pair of ensembles."""
    return pairs(view.coordinate("judges/ensemble"), "ensemble", "other_ensemble")


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
    reference = view.attribute("judges", "reference")
    if reference:
        return f"From the correlation of errors against {reference}."
    return (
        "From the correlation of deviations from the judges' mean. An error that all judges share "
        "does not show, and two judges alone need a reference."
    )


JUDGE_TABLES = (
    TableSpec(
        name="judge_dispersion",
        title="Table 5: Dispersion of judges by dimension",
        source="SHARP, Table 5",
        chapter=Chapter.JUDGES,
        needs=("judges",),
        rows=("judges/dimension",),
        order="judges/mad",
        columns=(
            Column("dimension", "{dimension}"),
            Column("cells", lambda row: str(int(row["judges/mad_n"]))),
            Column("MAD mean", "judges/mad", four_decimals),
            Column("MAD sd", "judges/mad_sd", four_decimals),
        ),
        note="Mean absolute deviation of the judges of a (model, prompt) from their mean, over the "
        "cells with at least two judges.",
    ),
    TableSpec(
        name="judge_left_out",
        title="Table 6: Ranks by CVaR with a judge left out",
        source="SHARP, Table 6",
        chapter=Chapter.JUDGES,
        needs=("judges/lojo_tau",),
        rows=("judges/judge_out",),
        columns=(
            Column("judge left out", "{judge_out}"),
            Column("models", lambda row: str(row.group("judges").sizes["model"])),
            Column("Kendall tau-b", "judges/lojo_tau"),
            Column("p", "judges/lojo_tau_p", p_value),
        ),
        note="Against the ranks by all judges.",
    ),
    TableSpec(
        name="judge_left_out_models",
        title="Table 6, each model: CVaR (rank) with a judge left out",
        source="SHARP, Table 6",
        chapter=Chapter.JUDGES,
        needs=("judges/lojo_tau",),
        rows=("profile/model",),
        order="profile/cvar",
        columns=(
            MODEL,
            Column("all judges", "profile/cvar"),
            Over("judges/judge_out", (_ranked("lojo"),)),
        ),
    ),
    TableSpec(
        name="judge_concordance",
        title="Table 7: Concordance of judges over prompts, summarised over models",
        source="SHARP, Table 7",
        chapter=Chapter.JUDGES,
        needs=("judges/lojo_tau",),
        rows=("judges/dimension", "judges/pair"),
        columns=(
            Column("dimension", "{dimension}"),
            Column("judges", "{pair}"),
            Column("models", lambda row: str(int(row["judges/concordance_models"]))),
            Column("mean tau-b", "judges/concordance_mean"),
            Column("median", "judges/concordance_median"),
            Column("sd", "judges/concordance_sd"),
        ),
        note="Kendall's tau-b; at least {judges[min_overlap]} prompts in common.",
    ),
    TableSpec(
        name="ensembles",
        title="Appendix C: CVaR (rank) under other ensembles of judges",
        source="SHARP, Appendix C",
        chapter=Chapter.JUDGES,
        needs=("judges/ensemble_cvar",),
        rows=("judges/model",),
        columns=(MODEL, Over("judges/ensemble", (_ranked("ensemble"),))),
    ),
    TableSpec(
        name="ensemble_pairs",
        title="Appendix C, pairs: Two ensembles of judges compared",
        source="SHARP, Appendix C",
        chapter=Chapter.JUDGES,
        needs=("judges/ensemble_cvar",),
        rows=_ensemble_pairs,
        columns=(
            Column("ensemble", "{ensemble}"),
            Column("other", "{other_ensemble}"),
            Column("disjoint", "judges/disjoint", yes_no),
            Column("Kendall tau-b", "judges/ensemble_kendall"),
            Column("Spearman rho", "judges/ensemble_spearman"),
            Column(
                "largest difference",
                lambda row: number(abs(row["judges/ensemble_difference"]).max()),
            ),
        ),
        note="Disjoint ensembles have no judge in common; differences are of CVaR, over models.",
    ),
    TableSpec(
        name="effective_judges",
        title="Effective number of independent judges",
        chapter=Chapter.JUDGES,
        needs=("judges",),
        rows=_subsets_of_judges,
        columns=(
            Column("judge left out", "{left_out}"),
            Column("judges", "{count}"),
            Column("effective", lambda row: number(row.labels["effective"])),
        ),
        note=_independence_note,
    ),
)


def _dimension_rows(view: View) -> Iterator[Labels]:
    """Every model over all prompts and over its tail."""
    for model in view.coordinate("judges/model", "judges/dimension_dependence"):
        for prompts, variable in (
            ("all", "dimension_dependence_pair"),
            ("tail", "dimension_dependence_tail_pair"),
        ):
            yield {"model": model, "prompts": prompts, "variable": f"judges/{variable}"}


TAIL_SLICE = "the tail slice is L >= VaR of the model."
DIMENSION_TABLES = (
    TableSpec(
        name="dimension_dependence",
        title="Table 8: Dependence among harm dimensions",
        source="SHARP, Table 8",
        chapter=Chapter.DIMENSIONS,
        needs=("judges/dimension_dependence",),
        rows=("judges/model",),
        order="judges/dimension_dependence",
        columns=(
            MODEL,
            Column("all prompts", "judges/dimension_dependence"),
            Column("tail slice", "judges/dimension_dependence_tail"),
        ),
        note=f"Mean Spearman's rho over pairs of dimensions; {TAIL_SLICE}",
    ),
    TableSpec(
        name="dimension_pairs",
        title="Table 8, each pair: Dependence of two dimensions",
        source="SHARP, Table 8",
        chapter=Chapter.DIMENSIONS,
        needs=("judges/dimension_dependence",),
        rows=_dimension_rows,
        columns=(
            MODEL,
            Column("prompts", "{prompts}"),
            Over(
                "judges/dimension_pair",
                (Column("{dimension_pair}", lambda row: number(row[row.labels["variable"]])),),
            ),
        ),
        note=f"Spearman's rho; {TAIL_SLICE}",
    ),
)

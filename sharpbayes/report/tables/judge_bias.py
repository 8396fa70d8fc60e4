"""Judges against people: tables of a fit, and the sentences of its summary."""

from collections.abc import Iterator

import xarray as xr

from sharpbayes.report.tables.declaration import Column, TableSpec, View, labels_of, over, section
from sharpbayes.report.tables.format import estimate, number
from sharpbayes.report.tables.table import Chapter

# The values of people: no effect, and discrimination by a factor of one.
NEUTRAL = {
    "severity": 0.0,
    "differential_severity": 0.0,
    "discrimination": 1.0,
    "self_preference": 0.0,
}
HUMAN = "posterior_profile_human"


def _estimate(row: View, name: str) -> str:
    """Mean and interval of an effect; a dash where the fit has no such effect."""
    if f"judge_bias/{name}_mean" not in row:
        return "-"
    return estimate(row[f"judge_bias/{name}_mean"], row[f"judge_bias/{name}_interval"])


def _column(heading: str, name: str) -> Column:
    """Column of an effect with its interval."""
    return Column(heading, lambda row: _estimate(row, name))


def _by_dimension(view: View) -> bool:
    """Whether there are several dimensions."""
    return view.group("judge_bias").sizes["dimension"] > 1


def _human_order(view: View) -> list[dict[str, str]]:
    """Models by growing tail risk of the human-scored profile."""
    cvar = view[f"{HUMAN}/cvar"].mean(["chain", "draw"])
    return [{"model": model} for model in cvar.sortby(cvar)["model"].to_numpy()]


JUDGE_BIAS_TABLES = section(
    Chapter.JUDGE_BIAS,
    TableSpec(
        title="Judges against people",
        needs=("judge_bias/severity",),
        rows=labels_of("judge_bias/judge"),
        columns=(
            "{judge}",
            "judge_bias/shared | count",
            _column("severity", "severity"),
            "P(above people): judge_bias/severity_probability",
            _column("discrimination", "discrimination"),
        ),
        note="Severity in {judge_bias[link]}s of the latent severity; 0 is the mean of the people "
        "who scored, and a judge above 0 sees more harm. Discrimination is a factor; people have "
        "1, and a judge below 1 follows severity less sharply. Shared: ratings of cells that "
        "people scored too. {judge_bias[interval_note]}",
    ),
    TableSpec(
        title="Judges against people: differential severity by dimension",
        needs=("judge_bias/differential_severity",),
        condition=_by_dimension,
        rows=labels_of("judge_bias/judge"),
        columns=(
            "{judge}",
            over("judge_bias/dimension", _column("{dimension}", "differential_severity")),
        ),
        note="How much more harm a judge sees in a dimension than in all, against people, in "
        "{judge_bias[link]}s; the values of a judge add up to 0. {judge_bias[interval_note]}",
    ),
    TableSpec(
        title="Self-preference of judges",
        needs=("judge_bias/self_preference",),
        rows=lambda _: ({},),
        columns=(
            _column("effect of the own family", "self_preference"),
            Column(
                "P(favours)",
                lambda row: number(1 - float(row["judge_bias/self_preference_probability"])),
            ),
            "P(disfavours): judge_bias/self_preference_probability",
        ),
        note="How much more harm judges see in models of their own family than in others, in "
        "{judge_bias[link]}s; negative where they favour them. {judge_bias[interval_note]}",
    ),
    TableSpec(
        title="Human-scored profile: human raters in place of the judges",
        needs=(HUMAN,),
        rows=_human_order,
        columns=(
            "{model}",
            "{cvar}, people: posterior_profile_human/cvar | posterior",
            "{cvar}, judges: posterior_profile/cvar | posterior",
            f"mean, people: {HUMAN}/mean | posterior",
            "mean, judges: posterior_profile/mean | posterior",
            "P(adm.), people: decision_human/prob_admissible",
        ),
        note="Cumulative log-risk of ratings replicated for the cells that judges scored: once by "
        "the judges, once by as many human raters. {posterior_profile_human[interval_note]}",
    ),
)


def departures(results: xr.DataTree) -> Iterator[str]:
    """Yield a sentence for each judge and effect that differs from people beyond its interval."""
    view = View(results)
    if "judge_bias" not in view:
        return
    yield from _judges(view, "severity", "sees less harm than people", "sees more harm than people")
    yield from _judges(
        view,
        "discrimination",
        "separates levels of harm less sharply than people",
        "separates levels of harm more sharply than people",
    )
    yield from _dimensions(view)
    if _differs(view, "self_preference"):
        what = "less" if float(view["judge_bias/self_preference_mean"]) < 0 else "more"
        text = _estimate(view, "self_preference")
        yield f"Judges see {what} harm in models of their own family ({text})."


def _judges(view: View, name: str, low: str, high: str) -> Iterator[str]:
    """Judges that differ from people in severity or discrimination."""
    for judge in view.coordinate("judge_bias/judge"):
        row = view.select({"judge": judge})
        if _differs(row, name):
            above = float(row[f"judge_bias/{name}_mean"]) > NEUTRAL[name]
            yield f"Judge {judge} {high if above else low} ({name} {_estimate(row, name)})."


def _dimensions(view: View) -> Iterator[str]:
    """Judges that see more or less harm in one dimension than in the others."""
    name = "differential_severity"
    if f"judge_bias/{name}" not in view or not _by_dimension(view):
        return
    for judge in view.coordinate("judge_bias/judge"):
        for dimension in view.coordinate("judge_bias/dimension"):
            row = view.select({"judge": judge, "dimension": dimension})
            if _differs(row, name):
                what = "more" if float(row[f"judge_bias/{name}_mean"]) > 0 else "less"
                yield (
                    f"Judge {judge} sees {what} harm of {dimension} than of other dimensions, "
                    f"against people ({name.replace('_', ' ')} {_estimate(row, name)})."
                )


def _differs(row: View, name: str) -> bool:
    """Whether an interval excludes the value of people."""
    if f"judge_bias/{name}" not in row:
        return False
    low, high = row[f"judge_bias/{name}_interval"].to_numpy()
    return bool(low > NEUTRAL[name] or high < NEUTRAL[name])

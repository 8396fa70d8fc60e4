"""Judges against people: tables of a fit, and the sentences of its summary."""

from collections.abc import Iterator

import xarray as xr

from sharpbayes.metrics.crowd.least_numbers import FEW_RATERS
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View, labels_of, over
from sharpbayes.report.tables.format import estimate, number

# The values of people: no effect, and discrimination by a factor of one.
NEUTRAL = {
    "severity": 0.0,
    "differential_severity": 0.0,
    "differential_model_severity": 0.0,
    "discrimination": 1.0,
    "self_preference": 0.0,
}
ERRORS = {
    "shared_sd": "shared by all model judges, sd",
    "family_sd": "shared by the judges of a family, sd",
    "halo_sd": "of one judge in all indicators (halo), sd",
    "effective_judges": "effective number of judges",
}
HUMAN, SELF_PREFERENCE = "posterior_profile_human", "judge_bias/self_preference"


def _column(name: str, heading: str = "") -> Column:
    """Column of an effect with its interval."""
    return Column(heading or name, lambda row: _estimate(row, name))


def _by_dimension(view: View) -> bool:
    """Whether there are several dimensions."""
    return view.group("judge_bias").sizes["dimension"] > 1


def _human_order(view: View) -> list[dict[str, str]]:
    """Models by growing tail risk of the human-scored profile."""
    cvar = view[f"{HUMAN}/cvar"].mean(["chain", "draw"])
    return [{"model": model} for model in cvar.sortby(cvar)["model"].to_numpy()]


def _errors(view: View) -> list[dict[str, str]]:
    """What a fit estimates of the errors of judges about single answers."""
    return [
        {"what": label, "estimate": estimate(view[f"{path}_mean"], view[f"{path}_interval"])}
        for name, label in ERRORS.items()
        if (path := f"judge_errors/{name}") + "_mean" in view
    ]


TABLES = (
    TableSpec(
        title="Judges against people",
        needs=("judge_bias/severity",),
        rows=labels_of("judge_bias/judge"),
        columns=(
            "{judge}",
            "judge_bias/shared | count",
            _column("severity"),
            "P(above people): judge_bias/severity_probability",
            _column("discrimination"),
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
            over("judge_bias/dimension", _column("differential_severity", "{dimension}")),
        ),
        note="How much more harm a judge sees in a dimension than in all, against people, in "
        "{judge_bias[link]}s; the values of a judge add up to 0. {judge_bias[interval_note]}",
    ),
    TableSpec(
        title="Judges against people: severity by model",
        needs=("judge_bias/model_severity",),
        rows=labels_of("judge_bias/judge"),
        columns=("{judge}", over("judge_bias/model", _column("model_severity", "{model}"))),
        note="How much more harm a judge sees in a model than people do, self-preference apart, in "
        "{judge_bias[link]}s; a judge who sees all models alike has its severity everywhere. "
        "{judge_bias[interval_note]}",
    ),
    TableSpec(
        title="Errors of judges about an answer",
        needs=("judge_errors",),
        rows=_errors,
        columns=("error: {what}; {estimate}",),
        note="Standard deviations in {judge_errors[link]}s of the latent severity. Effective "
        "number of judges: so many with independent errors would err as much in their mean about "
        "an answer in a dimension; it needs ratings by people. {judge_errors[interval_note]}",
    ),
    TableSpec(
        title="Self-preference of judges",
        needs=("judge_bias/self_preference",),
        rows=[{}],
        columns=(
            _column("self_preference", "effect of the own family"),
            Column("P(favours)", f"{SELF_PREFERENCE}_probability", lambda p: number(1 - float(p))),
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
            "P(best), people: decision_human/prob_best | probability?",
            "P(adm.), people: decision_human/prob_admissible | probability?",
        ),
        note="Cumulative log-risk of ratings replicated for the cells that judges scored: once by "
        "the judges, once by as many human raters. {posterior_profile_human[interval_note]}",
    ),
)


# What a judge does who is above or below people in an effect.
DEPARTURES = {
    "severity": "sees {more} harm than {reference}",
    "discrimination": "separates levels of harm {more} sharply than {reference}",
    "differential_severity": "sees {more} harm of {dimension} than of other dimensions, "
    "against {reference}",
}
FEW_PEOPLE = "Other people may score otherwise: so few do not show how people differ."


def departures(results: xr.DataTree) -> Iterator[str]:
    """Yield a sentence for each judge and effect that differs from people beyond its interval."""
    view = View(results)
    if "judge_bias" not in view:
        return
    view = view.select({"reference": _name_people(view)})
    yield from _against_people(view)
    for labels in _departing(view, "self_preference"):
        text = f"in models of their own family ({_estimate(view, 'self_preference')})."
        yield f"Judges see {labels['more']} harm {text}"


def _name_people(view: View) -> str:
    """The people with whom judges are compared; without their number in earlier results."""
    return str(view.group("judge_bias").attrs.get("reference", "people"))


def _against_people(view: View) -> list[str]:
    """What judges do otherwise than people, and that so few people are not all."""
    sentences = [*_unlike_models(view), *_unlike_people(view)]
    people = int(view.group("judge_bias").attrs.get("people", FEW_RATERS))
    return [*sentences, FEW_PEOPLE] if sentences and 0 < people < FEW_RATERS else sentences


def _unlike_people(view: View) -> Iterator[str]:
    """Yield a sentence for each judge and effect that differs from people beyond its interval."""
    for name, does in DEPARTURES.items():
        for row in map(view.select, _departing(view, name)):
            effect = f"{name.replace('_', ' ')} {_estimate(row, name)}"
            yield row.text(f"Judge {{judge}} {does} ({effect}).")


def _unlike_models(view: View) -> Iterator[str]:
    """Yield a sentence for each judge who does not see all models alike, against people.

    Its severity over all models hides it: the sentence has the models of lowest and highest.
    """
    names = dict.fromkeys(x["judge"] for x in _departing(view, "differential_model_severity"))
    for judge in names:
        row = view.select({"judge": judge})
        means = row["judge_bias/model_severity_mean"]
        ends = [str(x.item()) for x in (means.idxmin("model"), means.idxmax("model"))]
        low, high = (
            f"{_estimate(row.select({'model': model}), 'model_severity')} in {model}"
            for model in ends
        )
        yield (
            f"Judge {judge} does not see all models alike, against {view.labels['reference']}: "
            f"severity {low}, {high}."
        )


def _departing(view: View, name: str) -> Iterator[Labels]:
    """Labels at which the interval of an effect excludes the value of people."""
    by_dimension = name == "differential_severity"
    if f"judge_bias/{name}" not in view or (by_dimension and not _by_dimension(view)):
        return
    dims = [
        dim for dim in ("judge", "dimension", "model") if dim in view[f"judge_bias/{name}"].dims
    ]
    for labels in labels_of(*(f"judge_bias/{dim}" for dim in dims))(view):
        row = view.select(labels)
        low, high = row[f"judge_bias/{name}_interval"].to_numpy()
        if low > NEUTRAL[name] or high < NEUTRAL[name]:
            above = float(row[f"judge_bias/{name}_mean"]) > NEUTRAL[name]
            yield {**labels, "more": "more" if above else "less"}


def _estimate(row: View, name: str) -> str:
    """Mean and interval of an effect; a dash where the fit has no such effect."""
    if f"judge_bias/{name}_mean" not in row:
        return "-"
    return estimate(row[f"judge_bias/{name}_mean"], row[f"judge_bias/{name}_interval"])

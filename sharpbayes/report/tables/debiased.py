"""People alone, PPI++ and the posterior of people's scores: tables, and sentences of the answer."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import xarray as xr

from sharpbayes.analysis.metric_names import METRICS
from sharpbayes.analysis.unequal_judges import (
    labelled_by_others,
    name_other_people,
    name_unequal_people,
)
from sharpbayes.analysis.unseen_order import describe_near, near_lowest
from sharpbayes.data.ratings import name_people
from sharpbayes.errors import format_count, format_percent, join_names
from sharpbayes.metrics.panel.comparison import lowest_models
from sharpbayes.metrics.panel.evidence import has_tail
from sharpbayes.metrics.panel.least_numbers import MIN_PROMPTS
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View, over
from sharpbayes.report.tables.format import MISSING, estimate, number, p_value, value_and_interval
from sharpbayes.storage.attributes import has_converged

HEADINGS = {"people": "people alone", "ppi": "PPI++", "posterior": "posterior"}
BY = HEADINGS | {"posterior": "the human-scored posterior"}
# Decimals of an effective number of labels that are no rounding error.
ROUNDING = 6
NOTE = (
    "What people would score on all prompts. People alone: the labelled prompts by themselves. "
    "PPI++: judges' scores of all prompts, corrected by their errors on the labelled ones. "
    "{debiased[assumption]} {level} intervals over prompts."
)


def name_metric(view: View, metric: str) -> str:
    """The name of a metric as readers know it."""
    if metric == "cvar":
        return view.text("{cvar}")
    dimension = metric.removeprefix("dimension_mean[").removesuffix("]")
    return METRICS.get(metric, f"mean harm of {dimension}")


def _estimators(view: View) -> list[Labels]:
    """The estimators with their headings."""
    names = map(str, view.coordinate("debiased/estimator"))
    return [{"estimator": name, "heading": HEADINGS[name]} for name in names]


def _metrics(view: View) -> list[Labels]:
    """The metrics with their names; a single dimension is no metric of its own."""
    metrics = [str(name) for name in view.coordinate("debiased/metric")]
    dimensions = [name for name in metrics if name.startswith("dimension_mean[")]
    if len(dimensions) == 1:
        metrics = [name for name in metrics if name not in dimensions]
    return [{"metric": name, "name": name_metric(view, name)} for name in metrics]


def _order(view: View) -> list[Labels]:
    """Models by growing estimate of PPI++."""
    values = view.select({"estimator": "ppi"})["debiased/estimate"]
    return [{"model": model} for model in values.sortby(values)["model"].to_numpy()]


def _pairs(view: View) -> list[Labels]:
    """Every two models once that the same people labelled."""
    models = [row["model"] for row in _order(view)]
    by_others = _labelled_by_others(view)
    return [
        {"model": a, "other": b}
        for a, b in combinations(models, 2)
        if not bool(by_others.sel(model=a, other=b))
    ]


def _labelled_by_others(view: View) -> xr.DataArray:
    """Which two models other people labelled."""
    return labelled_by_others(_people_share(view), _effective_labels(view))


def _has_pairs(view: View) -> bool:
    """Whether the same people labelled two models."""
    is_compared = ~_labelled_by_others(view)
    return int(is_compared.sum()) > is_compared.sizes["model"]  # with itself every model is


def estimate_text(row: View) -> str:
    """An estimate with its interval, which few labels leave missing; a star where it disagrees."""
    value, bounds = row["debiased/estimate"], row["debiased/interval"]
    text, interval = value_and_interval(value, bounds)
    starred = row.labels["estimator"] == "posterior" and bool(row["debiased/disagree"])
    return text + f" ({interval})" * (interval != MISSING) + " *" * starred


def _difference(row: View) -> str:
    """A difference with its interval."""
    return estimate(row["debiased/difference"], row["debiased/difference_interval"])


def _note(view: View) -> str:
    """What the columns are, and what they assume."""
    level = format_percent(float(view.results["debiased"].attrs["level"]))
    parts = [view.select({"level": level}).text(NOTE)]
    if "debiased/disagree" in view:
        parts.append(
            "Posterior: ratings that as many people as usual would give to every prompt, as the "
            "model was fitted."
        )
        if bool(view["debiased/disagree"].any()):
            parts.append("* It differs from PPI++ beyond the errors of both.")
    if view.labels.get("metric") == "cvar":
        parts.append(
            "{cvar} as Rockafellar and Uryasev define it; without an interval where fewer than two "
            "labelled {prompts} lie in the tail.".replace("{cvar}", view.text("{cvar}")).replace(
                "{prompts}", _name_units(view) or "prompts"
            )
        )
    return " ".join(parts)


TABLES = (
    TableSpec(
        title="By people's labels: {name}",
        needs=("debiased",),
        repeat=_metrics,
        rows=_order,
        columns=(
            "{model}; labelled: debiased/labelled | count",
            over(_estimators, Column("{heading}", estimate_text)),
            Column("weight of judges", "debiased/tuning", lambda value: number(value, 2)),
        ),
        note=_note,
    ),
    TableSpec(
        title="By people's labels: differences of models, {name}",
        needs=("debiased",),
        repeat=lambda view: _metrics(view)[:2],
        condition=lambda view: _has_pairs(view) and not [*_name_unequal(view)],
        rows=_pairs,
        columns=(
            Column("models", "{model} less {other}"),
            over(_estimators, Column("{heading}", _difference)),
        ),
        note="Differences over the same prompts, each with its own interval; the answer corrects "
        "for the number of pairs. {debiased[assumption]}",
    ),
)


def people_sentences(view: View) -> Iterator[str]:
    """Yield what people's labels say of the lowest model, what that assumes, and if judges differ.

    With fewer labelled prompts of a model than carry a comparison of means they say nothing, and
    with fewer than carry a tail they compare means. Labels of unequal weight count for fewer.
    Models are not compared where far more people labelled an answer of one than of another, nor
    the lowest one where other people labelled it.
    """
    if "debiased" not in view:
        return
    if scarce := labels_where(_effective_labels(view) < MIN_PROMPTS):
        counts = [_count_labels(view.select({"model": name}), name) for name in scarce]
        yield (
            f"People labelled {join_names(counts)}: fewer than {MIN_PROMPTS} carry no comparison "
            "by their labels."
        )
        return
    unequal = [*_name_unequal(view)]
    yield from unequal or _lowest_by_labels(view)
    yield from _compare_raters(view)


def _effective_labels(view: View) -> xr.DataArray:
    """How many labelled prompts that count alike say as much; earlier versions count all alike."""
    name = "effective_labels" if "debiased/effective_labels" in view else "labelled"
    # A reciprocal of squares misses a whole number by its rounding.
    return view[f"debiased/{name}"].round(ROUNDING)


def _count_labels(row: View, name: str) -> str:
    """How many prompts of a model people labelled, and for how many these count."""
    labelled, effective = int(row["debiased/labelled"]), float(_effective_labels(row))
    counted = f"{effective:.1f} {_name_units(row)}".rstrip()
    return f"{labelled} prompts of {name}" + f" (an effective {counted})" * (effective < labelled)


def _name_units(view: View) -> str:
    """What effective numbers count besides prompts: clusters of them, or nothing else."""
    return str(view.results["debiased"].attrs.get("effective_units", ""))


def _name_unequal(view: View) -> Iterator[str]:
    """That people labelled models unequally often; nothing of results of earlier versions."""
    if "debiased/people_per_answer" in view:
        yield from name_unequal_people(view["debiased/people_per_answer"])


def _people_share(view: View) -> xr.DataArray:
    """The share of each person in a model's labels; one person's in results of earlier versions."""
    if "debiased/people_share" in view:
        return view["debiased/people_share"]
    return xr.ones_like(view["debiased/labelled"], dtype=float).expand_dims(rater=["people"])


def _lowest_by_labels(view: View) -> Iterator[str]:
    """The model that is lowest by PPI++, with its values and what they assume.

    Log-risk orders no models where answers at the end of the scale that the labels of the lowest
    one can miss would change the order: the policy score does.
    """
    ppi = view.select({"estimator": "ppi"})
    tail = _effective_labels(view) * (1.0 - float(view.results["profile"].attrs["alpha"]))
    compared = ("cvar", "mean") if bool(has_tail(tail).all()) else ("mean",)
    metrics = [name for name in compared if _has_intervals(ppi.select({"metric": name}))]
    near = {name: _describe_near(view, name) for name in metrics or ["mean"]}
    metric = next((name for name, text in near.items() if not text), "policy_score")
    names = lowest_models(ppi.select({"metric": metric})["debiased/estimate"])
    if not names:
        return
    if by_others := [
        *name_other_people(_people_share(view), _effective_labels(view), str(names[0]))
    ]:
        yield from by_others
        return
    row = view.select({"metric": metric, "model": names[0]})
    usable = has_converged(view.results)
    texts = [
        f"{estimate_text(row.select(labels)).removesuffix(' *')} by {BY[str(labels['estimator'])]}"
        for labels in _estimators(view)
        if usable or labels["estimator"] != "posterior"
    ]
    level = format_percent(float(view.results["debiased"].attrs["level"]))
    has_interval = bool(row.select({"estimator": "ppi"})["debiased/interval"].notnull().all())
    kind = f"{level} intervals" if has_interval else f"no {level} interval: labels do not differ"
    count, others = (int(row[f"debiased/{name}"]) for name in ("labelled", "unlabelled"))
    yield (
        f"By people's labels of {count} of {count + others} prompts "
        f"{join_names(names)} {'is' if len(names) == 1 else 'are'} lowest in "
        f"{name_metric(view, metric)}{_not_separable(row, names)}: {', '.join(texts)} ({kind}). "
        f"{view.results['debiased'].attrs['assumption']}"
    )
    if metric == "policy_score":
        yield [*near.values()][-1]


def _describe_near(view: View, metric: str) -> str:
    """Which models lie nearer to the lowest one than what its labels can miss would raise it.

    Nothing where none does, or where results of earlier versions do not tell.
    """
    table = view.results["debiased"].to_dataset()
    if "unseen_end_share" not in table:
        return ""
    values = table["estimate"].sel(estimator="ppi", metric=metric, drop=True)
    labelled = table[["unseen_end_share"]].assign({metric: values})
    others, rise = near_lowest(labelled, metric)
    if not others:
        return ""
    return (
        f"By PPI++ {values.idxmin('model').item()} has the lowest {name_metric(view, metric)}, but "
        "no label shows an answer of it at the end of the scale. "
        f"{describe_near(others, rise, units='labels')}"
    )


def _compare_raters(view: View) -> Iterator[str]:
    """That pooled values depend on the number of raters, and models in which judges see other harm.

    Nothing of results of earlier versions, which do not compare raters.
    """
    if "debiased/judge_gap" not in view:
        return
    judges, people = (int(view[f"debiased/{name}"]) for name in ("judges", "raters"))
    if judges != people:
        persons = "1 person" if people == 1 else f"{people} people"
        yield (
            f"A labelled answer usually has {format_count(judges, 'judge')} and {persons}: values "
            "by judges alone and by people's labels cannot be compared, because pooled harm "
            "depends on how many are pooled."
        )
    names = labels_where(view["debiased/judges_differ"])
    if names:
        gaps = [_describe_gap(view.select({"model": name}), name) for name in names]
        yield (
            f"Judges and {_name_people(view)} differ: the mean harm that a judge sees in labelled "
            f"answers, less that of a person, is {join_names(gaps)}, with p after Holm's "
            "correction."
        )


def _name_people(view: View) -> str:
    """Who labelled; without their number in results of earlier versions."""
    if "debiased/people_share" not in view:
        return "people"
    return name_people([*map(str, view.coordinate("debiased/rater"))], action="labelled")


def _describe_gap(row: View, name: str) -> str:
    """How much more harm a judge sees in the answers of a model than a person."""
    gap = row["debiased/judge_gap"]
    return (
        f"{'+' * bool(gap > 0)}{number(gap, 2)} for {name} "
        f"(p = {p_value(row['debiased/judge_gap_p_holm'])})"
    )


def _not_separable(row: View, names: Sequence[str]) -> str:
    """The models besides some that PPI++ does not distinguish from that of a row.

    All of them in results of earlier versions, which do not correct for the number of pairs.
    """
    if "debiased/separable" in row:
        separable = row["debiased/separable"].astype(bool)
    else:
        separable = xr.zeros_like(row["debiased/difference"].isel(estimator=0, drop=True), bool)
    similar = labels_where(~separable.drop_sel(other=list(names)))
    return f", by PPI++ not distinguishable from {join_names(similar)}" if similar else ""


def _has_intervals(view: View) -> bool:
    """Whether every model has an interval."""
    return bool(view["debiased/interval"].notnull().all())

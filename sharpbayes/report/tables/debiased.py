"""People alone, PPI++ and the posterior of people's scores: tables, and sentences of the answer."""

from collections.abc import Iterator, Sequence

from sharpbayes.errors import format_percent, join_names
from sharpbayes.metrics.panel.evidence import MIN_PROMPTS, has_tail
from sharpbayes.metrics.stats.intervals import is_outside
from sharpbayes.report.layout import has_converged
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View, over
from sharpbayes.report.tables.format import MISSING, estimate, number, value_and_interval
from sharpbayes.report.tables.panel import labels_where, lowest_models

HEADINGS = {"people": "people alone", "ppi": "PPI++", "posterior": "posterior"}
BY = HEADINGS | {"posterior": "the human-scored posterior"}
NAMES = {"mean": "mean log-risk", "policy_score": "policy score"}
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
    return NAMES.get(metric, f"mean harm of {dimension}")


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
    """Every two models once."""
    models = [row["model"] for row in _order(view)]
    return [{"model": a, "other": b} for k, a in enumerate(models) for b in models[k + 1 :]]


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
            "labelled prompts lie in the tail.".replace("{cvar}", view.text("{cvar}"))
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
        condition=lambda view: view.group("debiased").sizes["model"] > 1,
        rows=_pairs,
        columns=(
            Column("models", "{model} less {other}"),
            over(_estimators, Column("{heading}", _difference)),
        ),
        note="Differences over the same prompts. {debiased[assumption]}",
    ),
)


def people_sentences(view: View) -> Iterator[str]:
    """Yield what people's labels say of the lowest model, what that assumes, and if judges differ.

    With fewer labelled prompts of a model than carry a comparison of means they say nothing, and
    with fewer than carry a tail they compare means.
    """
    if "debiased" not in view:
        return
    labelled, unlabelled = (view[f"debiased/{name}"] for name in ("labelled", "unlabelled"))
    scarce = labels_where(labelled < MIN_PROMPTS)
    if scarce:
        counts = [f"{int(labelled.sel(model=name))} prompts of {name}" for name in scarce]
        yield (
            f"People labelled {join_names(counts)}: fewer than {MIN_PROMPTS} carry no comparison "
            "by their labels."
        )
        return
    ppi = view.select({"estimator": "ppi"})
    tail = labelled * (1.0 - float(view.results["profile"].attrs["alpha"]))
    compared = ("cvar", "mean") if bool(has_tail(tail).all()) else ("mean",)
    metrics = [name for name in compared if _has_intervals(ppi.select({"metric": name}))]
    metric = next(iter(metrics), "mean")
    names = lowest_models(ppi.select({"metric": metric})["debiased/estimate"])
    if not names:
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
    count = int(labelled.sel(model=names[0]))
    yield (
        f"By people's labels of {count} of {count + int(unlabelled.sel(model=names[0]))} prompts "
        f"{join_names(names)} {'is' if len(names) == 1 else 'are'} lowest in "
        f"{name_metric(view, metric)}{_not_separable(row, names)}: {', '.join(texts)} ({kind}). "
        f"{view.results['debiased'].attrs['assumption']}"
    )
    yield from _judges_otherwise(ppi.select({"metric": "mean"}))


def _judges_otherwise(ppi: View) -> Iterator[str]:
    """Models whose mean log-risk by judges alone lies outside of its interval by PPI++."""
    if "profile/mean" not in ppi:
        return
    judged, bounds = ppi["profile/mean"], ppi["debiased/interval"]
    names = labels_where(is_outside(judged, bounds))
    if names:
        values = [
            f"{name} {number(judged.sel(model=name), 2)} (interval "
            f"{value_and_interval(judged.sel(model=name), bounds.sel(model=name))[1]})"
            for name in names
        ]
        yield (
            "Judges and people differ: by judges alone mean log-risk lies outside of its interval "
            f"by PPI++, for {join_names(values)}."
        )


def _not_separable(row: View, names: Sequence[str]) -> str:
    """The models besides some that PPI++ does not distinguish from that of a row."""
    pairs = row.select({"estimator": "ppi"})["debiased/difference_interval"]
    others = pairs.drop_sel(other=list(names))
    excludes_zero = (others.sel(bound="lower") > 0) | (others.sel(bound="upper") < 0)
    similar = labels_where(~excludes_zero)
    return f", by PPI++ not distinguishable from {join_names(similar)}" if similar else ""


def _has_intervals(view: View) -> bool:
    """Whether every model has an interval."""
    return bool(view["debiased/interval"].notnull().all())

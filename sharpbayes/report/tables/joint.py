"""Bootstrap and posterior of the same statistics alongside each other, and how stable they are."""

from collections.abc import Callable, Iterator
from functools import partial

from sharpbayes.errors import format_percent, join_names
from sharpbayes.metrics.crowd.responsiveness import METRICS, metric_names
from sharpbayes.metrics.stats.pairs import pairs
from sharpbayes.posterior.claims import has_other_judges
from sharpbayes.posterior.lowest import models_by_risk
from sharpbayes.report.metric_names import HEADINGS
from sharpbayes.report.tables.crowd import HEADLINE, bias_of_model
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View, labels_of, over
from sharpbayes.report.tables.format import estimate
from sharpbayes.report.tables.panel import has_several_models, pooling_note
from sharpbayes.report.wording import contained_sources, resampled_units


def _name_metric(view: View, metric: str) -> str:
    """The name of a metric as readers know it."""
    return view.text("{cvar}") if metric == "cvar" else HEADINGS.get(metric, metric)


def _titled(text: str) -> Callable[[View], str]:
    """Return the title of a table, with the estimates that it has."""
    return lambda view: f"{view.text(text)}: bootstrap{' and posterior' * len(_fitted(view))}"


def _models(view: View) -> list[Labels]:
    """Models, lowest tail risk first."""
    return [{"model": model} for model in models_by_risk(view)]


def _models_by_metric(view: View) -> list[Labels]:
    """Models, the lowest observed value of the metric first."""
    observed = view["joint/observed"]
    return sorted(_models(view), key=lambda row: float(observed.sel(row)))


def _panel_metrics(view: View, *, names: tuple[str, ...]) -> list[Labels]:
    """Metrics of models that the results have, with what readers call them."""
    stored = set(view.coordinate("joint/metric"))
    return [{"metric": x, "name": _name_metric(view, x)} for x in names if x in stored]


def _shares(view: View) -> list[str]:
    """The tail shares of dimensions among the metrics."""
    return [m for m in map(str, view.coordinate("joint/metric")) if m.startswith("tail_share[")]


def _shares_of_models(view: View) -> Iterator[Labels]:
    """Models by dimension, lowest tail risk first."""
    for metric in _shares(view):
        yield from ({**row, "metric": metric} for row in _models(view))


def _crowd_metrics(view: View, *, names: tuple[str, ...]) -> list[Labels]:
    """Metrics that some group has, with what readers call them."""
    known = view["joint/observed"].notnull().any("group")
    return [
        {"metric": x, "name": _name_metric(view, x)} for x in names if bool(known.sel(metric=x))
    ]


def _group_rows(view: View) -> list[Labels]:
    """Groups that have a value of the metric, with the number of their raters."""
    raters = view.select({"by": "all"})["responsiveness/raters"]
    groups = view["joint/observed"].dropna("group")["group"].to_numpy()
    return [{"group": group, "raters": int(raters.sel(group=group))} for group in groups]


def _note(view: View, *, unit: str) -> str:
    """The unit, what both intervals contain, and what a star means."""
    level = format_percent(view.results["joint"].attrs["level"])
    resampled = join_names(resampled_units(view.results))
    parts = [unit, f"Bootstrap: observed, {level} interval over {resampled}."]
    if "joint/posterior_median" in view:
        group = "posterior_profile" if "profile" in view else "posterior_responsiveness"
        contained = contained_sources(view, group)
        parts.append(f"Posterior: median, {level} interval with {contained}.")
        if bool(view["joint/disagree"].any()):
            parts.append("* An interval does not contain the centre of the other.")
    pooling = pooling_note(view) if view.labels.get("metric") == "policy_score" else ""
    return " ".join(filter(None, [*parts, _bias(view)])) + pooling


def _note_of_crowd(view: View) -> str:
    """The note of a metric of groups, with its own range."""
    return _note(view, unit=UNITS[view.labels["metric"]])


def _bias(view: View) -> str:
    """What is known to bias the posterior of MPA, WRA and HM; empty for other metrics."""
    return bias_of_model(view) if view.labels.get("metric") in HEADLINE else ""


def _bootstrap(row: View) -> str:
    """The observed value with its bootstrap interval."""
    return estimate(row["joint/observed"], row["joint/bootstrap_interval"])


def _posterior(row: View) -> str:
    """The posterior median with its interval, starred where it disagrees with the bootstrap."""
    text = estimate(row["joint/posterior_median"], row["joint/posterior_interval"])
    return text + " *" * bool(row["joint/disagree"])


def _dimension(row: View) -> str:
    """The dimension of a tail share."""
    return str(row.labels["metric"]).removeprefix("tail_share[").removesuffix("]")


def _fitted(view: View) -> list[Labels]:
    """One set of columns where a model was fitted, else none."""
    return [{}] if "joint/posterior_median" in view else []


def _can_compare(view: View) -> bool:
    """Whether there are models that can be compared."""
    return has_several_models(view) and not has_other_judges(view.results)


def _compared(view: View) -> list[Labels]:
    """One set of columns where models were fitted that can be compared, else none."""
    return _fitted(view) if _can_compare(view) else []


def _pairs(view: View) -> list[Labels]:
    """Pairs of models, in the order of their tail risk."""
    named = pairs(models_by_risk(view))
    return [{**pair, "pair": " \u2212 ".join(pair.values())} for pair in named]


def _difference(metric: str) -> Callable[[View], str]:
    """Return what writes the observed difference of a pair with its joint interval."""
    paths = [f"profile_interval/{metric}_difference_{end}" for end in ("observed", "joint")]
    return lambda row: estimate(*(row[path] for path in paths))


def _note_of_differences(view: View) -> str:
    """What a difference is of, and what its interval holds for."""
    level = format_percent(view.results["joint"].attrs["level"])
    return (
        "Observed, on the prompts of both models; first less second. Bootstrap interval that holds "
        f"for all pairs jointly with {level}: where it contains 0, the pair is not distinguishable."
    )


# Metrics of a crowd besides HM, which the first screen shows.
FURTHER = tuple(name for name in metric_names() if name != "hm")
# Differences that can be compared where those of tails cannot.
DIFFERENCES = ("mean", "policy_score")
NATS = "Nats; lower is safer."
UNITS = {
    metric.name: f"From {'\u22121' if metric.range == '[-1, 1]' else '0'} to 1; higher is more "
    "responsive."
    for metric in METRICS
} | {"hm": "Responsiveness, from 0 to 1 (best)."}
VALUES = (Column("bootstrap", _bootstrap), over(_fitted, Column("posterior", _posterior)))
CHANCE = over(_compared, "P(lowest): joint/prob_lowest | probability")
TABLES = (
    *(
        TableSpec(
            name=name,
            title=_titled("{name}"),
            needs=("joint", "profile"),
            after_run=after_run,
            repeat=partial(_panel_metrics, names=(metric,)),
            rows=_models_by_metric,
            columns=("{model}", *VALUES, CHANCE),
            note=partial(_note, unit=unit),
        )
        for name, metric, after_run, unit in (
            ("tail_risk", "cvar", True, NATS),
            ("mean_risk", "mean", True, NATS),
            ("", "volatility", False, NATS),
            (
                "policy_score",
                "policy_score",
                False,
                "Weighted mean harm, from 0 to 1; lower is safer.",
            ),
        )
    ),
    TableSpec(
        title="Differences of models: bootstrap",
        needs=tuple(f"profile_interval/{name}_difference_joint" for name in DIFFERENCES),
        condition=_can_compare,
        rows=_pairs,
        columns=("{pair}", *(Column(HEADINGS[name], _difference(name)) for name in DIFFERENCES)),
        note=_note_of_differences,
    ),
    TableSpec(
        title=_titled("Tail shares of dimensions"),
        needs=("joint", "profile"),
        condition=lambda view: len(_shares(view)) != 1,  # the share of a single one is 1
        rows=_shares_of_models,
        columns=(Column("dimension", _dimension), "{model}", *VALUES),
        note=partial(_note, unit="Shares of the log-risk of the tail; they sum to 1."),
    ),
    *(
        TableSpec(
            name="responsiveness_hm" if names == ("hm",) else "",
            title=_titled("{name}"),
            needs=("joint", "responsiveness"),
            after_run=names == ("hm",),
            repeat=partial(_crowd_metrics, names=names),
            rows=_group_rows,
            columns=("{group}; {raters}", *VALUES),
            note=_note_of_crowd,
        )
        for names in (("hm",), FURTHER)
    ),
    TableSpec(
        title="Stability: the order of models without each judge and under other settings",
        needs=("stability/lowest",),
        rows=labels_of("stability/setting"),
        columns=(
            "{setting}; lowest {cvar}: stability/lowest | text",
            "changed: stability/changed | changed; Kendall tau-b: stability/kendall",
            "movement of {cvar}: stability/movement",
            "no longer distinguishable from: stability/unresolved | names?",
        ),
        note="Observed ratings. tau-b: order of all models against that of the study; movement: "
        "change for the model that is lowest in the study. CVaR under another alpha or epsilon is "
        "another quantity, so that its movement says little.",
    ),
    TableSpec(
        title="Stability: the lowest model by other metrics without each judge",
        needs=("stability/lojo_unresolved",),
        rows=labels_of("stability/metric", "stability/judge_out"),
        columns=(
            "{metric}; judge left out: {judge_out}; lowest: stability/lojo_lowest | text",
            "changed: stability/lojo_changed | changed; movement: stability/lojo_movement",
            "no longer distinguishable from: stability/lojo_unresolved | names",
            "rests on the judge: stability/lojo_decisive | yes_no",
        ),
        note="Observed ratings. Movement: change for the model that is lowest by all judges. A "
        "difference rests on the judge where it is smaller without it by more than chance.",
    ),
    TableSpec(
        title="Stability: the order of groups without the labels of each expert",
        needs=("stability/highest",),
        rows=labels_of("stability/setting"),
        columns=(
            "{setting}; highest HM: stability/highest | text; changed: stability/changed | changed",
            "Kendall tau-b: stability/kendall; movement of HM: stability/movement",
        ),
        note="Observed ratings. tau-b: order of all groups against that by all experts; movement: "
        "change of HM of all raters.",
    ),
)

"""Scores that are missing: tables, and the sentence of the answer where they could change it."""

from collections.abc import Iterator

import numpy as np

from sharpbayes.analysis.results_view import is_fitted
from sharpbayes.data.missing_reasons import NO_REASON
from sharpbayes.errors import format_count, join_names
from sharpbayes.metrics.panel.comparison import lowest_models
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.posterior.lowest import models_by_risk
from sharpbayes.report.tables.declaration import Column, TableSpec, View, labels_of, over
from sharpbayes.report.tables.format import estimate, interval, number, p_value
from sharpbayes.report.tables.panel import has_several_models

# A reason is named in the answer where it is that of most missing scores.
MAJORITY = 0.5
# So is a model that lacks more than half of them, and this many times its share, unless few are.
CONCENTRATED, FEW_MISSING = 1.5, 5
# A larger share of the scores of the lowest model is always said.
MANY_MISSING = 0.1
GROWTH = "the log odds of a missing score change by"
BOUNDS = {"cvar": "{cvar}", "mean": "mean log-risk", "policy_score": "policy score"}


def percent(share: object) -> str:
    """A share in percent, with a decimal where it is small."""
    value = 100 * float(np.asarray(share))
    return "-" if np.isnan(value) else f"{value:.{0 if value >= 10 else 1}f}%"  # noqa: PLR2004 - two digits


def _bounds_columns() -> Iterator[Column]:
    """Columns of the bounds."""
    for name, heading in BOUNDS.items():
        yield Column(heading, f"missing/{name}_bounds", interval)


def _slopes(view: View) -> str:
    """How missing scores go with severity: as a model fitted it, and as other judges scored."""
    fitted, observed = (_slope(view, name) for name in ("fitted_slope", "slope"))
    by_fit = f"{fitted[0]} per sd of the severity that the fit gives the answer ({fitted[1]})"
    by_judges = f"{observed[0]} per sd of the severity in the scores of the other judges"
    if not all(fitted) or not is_fitted(view):
        if not all(observed):
            return "The scores do not tell whether more are missing where severity is high."
        return f"{_direction(view, 'slope')}: {GROWTH} {by_judges} ({observed[1]})."
    growth = f"{_direction(view, 'fitted_slope')}: {GROWTH} {by_fit}"
    if not all(observed):
        return f"{growth}. The scores of the other judges alone do not tell."
    return f"{growth}, and by {by_judges} ({observed[1]})."


def _direction(view: View, name: str) -> str:
    """Whether severe answers lack more scores or fewer, by the interval of a slope."""
    low, high = view[f"missing/{name}_interval"].to_numpy()
    if low <= 0 <= high:
        return "It is not clear whether more scores are missing where severity is high"
    return f"{'More' if low > 0 else 'Fewer'} scores are missing where severity is high"


def _slope(view: View, name: str) -> tuple[str, str]:
    """A slope with its interval, and its p value; empty where it is not known."""
    if f"missing/{name}" not in view or not np.isfinite(float(view[f"missing/{name}"])):
        return "", ""
    value = estimate(view[f"missing/{name}"], view[f"missing/{name}_interval"])
    return value, f"p = {p_value(view[f'missing/{name}_p'])}"


def _note(view: View) -> str:
    """What the bounds are."""
    parts = [
        (
            "Scores are sub-indices of single judges that were asked for and are not there. "
            "Bounds contain the metric whatever the missing scores are, from 0 to 1. Means have "
            "them at all 0 and all 1; where prompts tie at VaR, "
            f"{view.text('{cvar}')} may have them between."
        ),
        _slopes(view),
    ]
    if bool((view["missing/unscored"] > 0).any()):
        parts.append("Unscored: answers that no judge scored; the profile leaves them out.")
    return " ".join(parts)


TABLES = (
    TableSpec(
        title="Missing scores: what they could change",
        needs=("missing/cvar_bounds",),
        rows=lambda view: [{"model": model} for model in models_by_risk(view)],
        columns=(
            "{model}",
            Column("missing", "missing/model_share", percent),
            "unscored: missing/unscored | count",
            *_bounds_columns(),
            "can be lowest: missing/can_be_lowest | yes_no",
        ),
        note=_note,
    ),
    TableSpec(
        title="Missing scores by judge",
        needs=("missing/judge_share",),
        rows=labels_of("missing/judge"),
        columns=(
            "{judge}",
            Column("missing", "missing/judge_share", percent),
            over(
                "missing/dimension",
                Column("{dimension}", lambda row: percent(_of_judge(row))),
            ),
        ),
        note="Shares of the scores that were asked for, over all models.",
    ),
    TableSpec(
        title="Missing scores by reason",
        needs=("missing/reason_count",),
        rows=labels_of("missing/reason"),
        columns=(
            "{reason}",
            Column("all models", lambda row: f"{int(row['missing/reason_count'].sum())}"),
            over("missing/model", "{model}: missing/reason_count | count"),
        ),
        note="Missing scores of single indicators, by the reason that the data give.",
    ),
    TableSpec(
        title="Missing scores under a tilt: {cvar}",
        needs=("missing/tilt_cvar",),
        rows=labels_of("missing/tilt"),
        columns=(
            Column("tilt", lambda row: number(row.labels["tilt"], 2)),
            "lowest: missing/tilt_lowest | text",
            over("missing/model", "{model}: missing/tilt_cvar"),
        ),
        note="Tilt: by how much the log odds of a missing score grow with each unit of severity, "
        "the standard deviation of sub-indices of the dimension. 0: as the other judges and the "
        "judge's other scores tell.",
    ),
)


def _of_judge(row: View) -> float:
    """The share of a judge in a dimension, over all models."""
    total = float(row["missing/asked"].sum())
    return float(row["missing/missing"].sum()) / total if total else np.nan


def missing_sentences(view: View, metric: str = "cvar") -> Iterator[str]:
    """Yield what missing scores could change in the answer, where they could.

    By ``metric``, which the answer reads, and by CVaR. A model that is lowest by the former and
    lacks many scores is named, whatever they could change.
    """
    if "missing/cvar_bounds" not in view or "profile" not in view:
        return
    metric = metric if f"missing/{_flag_of(metric)}" in view else "cvar"
    changes = [*filter(None, (_change(view, name) for name in dict.fromkeys((metric, "cvar"))))]
    lacking = [name for name in lowest_models(view[f"profile/{metric}"]) if _lacks_many(view, name)]
    open_models = _open_models(view)
    if not (changes or lacking or open_models):
        return
    counts = view["missing/missing"], view["missing/asked"]
    missing, asked = (int(count.sum()) for count in counts)
    worst_model = _model_of_most(view)
    where = (
        f", most of them of {worst_model} ({_share_of(view, worst_model)})" if worst_model else ""
    )
    parts = [f"{missing} of {asked} scores are missing ({percent(missing / asked)}){where}."]
    parts += [f"{name} lacks {_share_of(view, name)}." for name in lacking if name != worst_model]
    parts += _reason(view)
    if lacking and has_several_models(view) and not _change(view, metric):
        name = view.text(BOUNDS[metric])
        parts.append(f"Whatever they are, no other model has a lower {name}.")
    if changes:
        listed = "; ".join(changes)
        parts.append(f"The others do not tell what they are: with some values {listed}.")
    if open_models:
        parts.append(f"With some values {join_names(open_models)} would cross the tolerance.")
    yield " ".join([*parts, _slopes(view), *_tipping(view, metric)])


def _flag_of(metric: str) -> str:
    """The variable that says whether a model can be lowest by a metric."""
    return "can_be_lowest" if metric == "cvar" else f"{metric}_can_be_lowest"


def _change(view: View, metric: str) -> str:
    """Which models could be lowest by a metric that are not; empty without any."""
    lowest = lowest_models(view[f"profile/{metric}"])
    can_be = labels_where(view[f"missing/{_flag_of(metric)}"])
    others = [name for name in can_be if name not in lowest]
    if not others:
        return ""
    verb, name = "has" if len(others) == 1 else "have", view.text(BOUNDS[metric])
    return f"{join_names(others)} {verb} the lowest {name}, not {join_names(lowest)}"


def _open_models(view: View) -> list[str]:
    """Models whose admissibility depends on what the missing scores are."""
    if "missing/admissible_bounds" not in view:
        return []
    bounds = view["missing/admissible_bounds"]
    return labels_where(bounds.sel(bound="lower") != bounds.sel(bound="upper"))


def _lacks_many(view: View, model: str) -> bool:
    """Whether a model lacks so many scores that this is always said."""
    return float(view["missing/model_share"].sel(model=model)) >= MANY_MISSING


def _share_of(view: View, model: str) -> str:
    """The share of the scores of a model that are missing, and its answers without any."""
    share = percent(view["missing/model_share"].sel(model=model))
    unscored = int(view["missing/unscored"].sel(model=model))
    nobody = f"; nobody scored {format_count(unscored, 'answer')}" if unscored else ""
    return f"{share} of its scores{nobody}"


def _model_of_most(view: View) -> str:
    """The model that most missing scores are of; empty if there is none."""
    counts = view["missing/missing"]
    by_model = counts.sum([dim for dim in counts.dims if dim != "model"])
    model, total = str(by_model.idxmax("model").item()), float(by_model.sum())
    share = float(view["missing/model_share"].sel(model=model))
    overall = total / float(view["missing/asked"].sum())
    is_most = float(by_model.max()) > max(MAJORITY * total, FEW_MISSING)
    return model if is_most and share >= CONCENTRATED * overall else ""


def _reason(view: View) -> Iterator[str]:
    """The reason of most missing scores, where the data give one."""
    if "missing/reason_count" not in view:
        return
    counts = view["missing/reason_count"].sum("model")
    share = float(counts.max() / counts.sum())
    reason = str(counts["reason"].to_numpy()[int(counts.argmax("reason"))])
    if share > MAJORITY and reason != NO_REASON:
        yield f"The reason given for {percent(share)} of them is {reason}."


def _tipping(view: View, metric: str) -> Iterator[str]:
    """At which tilt the lowest model by CVaR changes, in an answer that reads a metric."""
    if "missing/tipping" not in view:
        return
    point = float(view["missing/tipping"])
    largest = float(max(view.coordinate("missing/tilt")))
    by = "" if metric == "cvar" else f" by {view.text('{cvar}')}"
    if np.isnan(point):
        yield f"Up to a tilt of {number(largest, 2)} the lowest model{by} stays the same."
    else:
        yield (
            f"From a tilt of {number(point, 2)} on {view['missing/tipping_lowest'].item()} is "
            f"lowest{by}."
        )

"""Tables of several releases: headline numbers, decisions, judges and inputs."""

import numpy as np

from sharpbayes.errors import join_names
from sharpbayes.report.metric_names import HEADINGS
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View, labels_of, over
from sharpbayes.report.tables.format import MISSING, number, value_and_interval

# Metrics of the page; all of them are in the JSON document.
HEADLINE = ("cvar", "mean", "policy_score", "hm", "mpa", "wra")
SHOWN_DIGITS = 10


def name_metric(view: View, metric: str) -> str:
    """Return the name of a metric as readers know it."""
    if metric == "cvar":
        levels = dict.fromkeys(f"{100 * alpha:g}" for alpha in view["history/alpha"].to_numpy())
        return f"CVaR {join_names([*levels])} of log-risk"
    return HEADINGS.get(metric, metric)


def _metrics(view: View) -> list[Labels]:
    """Headline metrics of the releases with their names."""
    stored = set(map(str, view.coordinate("history/metric")))
    return [{"metric": x, "metric_name": name_metric(view, x)} for x in HEADLINE if x in stored]


def _estimate(row: View) -> str:
    """The posterior of a release that has one, else the observed value with its interval."""
    names = ("posterior_median", "posterior_interval"), ("observed", "bootstrap_interval")
    for value, interval in names:
        if f"history/{value}" in row and bool(row[f"history/{value}"].notnull()):
            mark = " p" * (value == "posterior_median")
            text, bounds = value_and_interval(row[f"history/{value}"], row[f"history/{interval}"])
            return text + f" ({bounds})" * (bounds != MISSING) + mark
    return MISSING


def _digest(row: View) -> str:
    """The start of a digest, marked where it is another than before."""
    digest = str(row["history/sha256"].item())[:SHOWN_DIGITS]
    return digest + " *" * bool(row["history/changed"])


def _drift(row: View) -> str:
    """How a judge's scores of shared answers moved, with twice its standard error."""
    drift, error = float(row["history/drift"]), float(row["history/drift_error"])
    if np.isnan(drift):
        return MISSING
    return f"{number(drift)} \u00b1 {number(2 * error)}"


RELEASES = "history/release"
TABLES = (
    TableSpec(
        name="history",
        title="{metric_name} release by release",
        needs=("history/observed",),
        repeat=_metrics,
        rows=labels_of("history/unit"),
        columns=("{unit}", over(RELEASES, Column("{release}", _estimate))),
        note="{history[level]:percent} intervals; p: posterior median, otherwise observed with the "
        "bootstrap. Without an interval where resamples do not differ.",
    ),
    TableSpec(
        title="Verdicts release by release",
        needs=("history/verdict",),
        condition=lambda view: view.group("history").attrs["kind"] == "panel",
        rows=labels_of("history/unit"),
        columns=("{unit}", over(RELEASES, "{release}: history/verdict | text")),
    ),
    TableSpec(
        title="Inputs release by release",
        needs=("history/sha256",),
        rows=labels_of(RELEASES),
        columns=(
            "{release}; created: history/created | text; status: history/status | text",
            "choice: history/choice | text?",
            over("history/input", Column("{input}", _digest)),
        ),
        note="First characters of SHA-256 digests. * Another one than in the release before.",
    ),
    TableSpec(
        title="Data release by release",
        needs=("history/part_count",),
        rows=labels_of(RELEASES),
        columns=(
            "{release}",
            over(
                "history/part",
                "{part}s: history/part_count | count; new: history/part_new | count",
                "gone: history/part_gone | count",
            ),
        ),
        note="New or gone: by their names, since the release before.",
    ),
    TableSpec(
        title="Judges release by release: severity among each other",
        needs=("history/severity",),
        rows=labels_of("history/judge"),
        columns=("{judge}", over(RELEASES, "{release}: history/severity")),
        note="How much higher than the mean of all judges in the same cells; harm from 0 to 1.",
    ),
    TableSpec(
        title="Judges release by release: the same models and prompts again",
        needs=("history/drift",),
        condition=lambda view: bool((view["history/shared_answers"] > 0).any()),
        rows=labels_of("history/judge"),
        columns=("{judge}", over(RELEASES, Column("{release}", _drift))),
        note="How much higher a judge scores the models and prompts that the release shares with "
        "the one before, with twice its standard error; harm from 0 to 1, each release under its "
        "own weights. The answer names judges whose number is beyond chance after a correction for "
        "all numbers of this table.",
    ),
)

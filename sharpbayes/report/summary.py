"""Results -> the answer in two sentences, whether to trust it, and what it does not mean.

The terminal, the page and :class:`Summary` in a notebook say the same words.
"""

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import xarray as xr

from sharpbayes.errors import format_list
from sharpbayes.report.layout import results_kind
from sharpbayes.report.tables.catalogue import tables_after_run
from sharpbayes.report.tables.crowd import ALL_ITEMS, EVERYONE, SIGNIFICANT
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.format import MISSING, interval, number
from sharpbayes.report.tables.judge_bias import departures
from sharpbayes.report.tables.panel import not_separable, pairs_where
from sharpbayes.report.tables.renderer import as_html
from sharpbayes.report.tables.table import Table

PANEL_LIMITS = (
    (
        "The profiles compare models under one fixed protocol: these prompts, these judges and "
        "these weights. They are conditional on it and no ranking of models in general."
    ),
    (
        "Harm scores are relative intensities, not probabilities, and nothing here estimates a "
        "rate of harm in the world."
    ),
    (
        "The judges are part of the measurement: their rubric and their shared errors are in every "
        "number, and other judges may order the models differently."
    ),
    "A low score may mean that a model refused or deflected; usefulness is not measured.",
    (
        "Tail risk is that of the prompts measured. Other prompts, languages, settings or longer "
        "conversations can have another tail."
    ),
)
CROWD_LIMITS = (
    (
        "Responsiveness assumes that there is a severity behind the labels; severity has many "
        "sides, and each person may see it differently."
    ),
    (
        "The labels are a reference, not the truth: a group can differ from them because it uses "
        "the scale differently or because it sees harm that the labels leave out."
    ),
    "A group's numbers describe these raters on these items, and nobody by belonging to a group.",
    "A low value says that scores do not follow the labels; it does not say whose view is right.",
)


@dataclass(frozen=True, repr=False)
class Summary:
    """What results say, as the terminal and the page say it.

    Attributes:
        title: Title of the study.
        answer: What was found, in two sentences.
        trust: Whether to trust it, in one line.
        failed: Every check that failed.
        remarks: What a reader must know that is no failure.
        tables: The tables of the terminal.
    """

    title: str
    answer: tuple[str, str]
    trust: str
    failed: tuple[str, ...]
    remarks: tuple[str, ...]
    tables: tuple[Table, ...]

    def __repr__(self) -> str:
        """Return the summary in lines."""
        return "\n".join([self.title, *self.answer, self.trust, *self.remarks])

    def _repr_html_(self) -> str:
        """Return the summary for a notebook: the answer, failures first, then the tables."""
        answer = "".join(f"<p>{escape(text)}</p>" for text in (*self.answer, self.trust))
        listed = "".join(f"<li>{escape(text)}</li>" for text in (*self.failed, *self.remarks))
        tables = "".join(map(as_html, self.tables))
        return f"<h3>{escape(self.title)}</h3>{answer}<ul>{listed}</ul>{tables}"


def summary(results: xr.DataTree) -> Summary:
    """Return what was found, whether to trust it, and the tables, to be shown in a notebook.

    Args:
        results: From :func:`sharpbayes.measure`, :func:`sharpbayes.fit` or
            :func:`sharpbayes.open_results`.
    """
    return Summary(
        title=str(results.attrs["title"]),
        answer=answer(results),
        trust=verdict(results),
        failed=tuple(failed(results)),
        remarks=tuple(remarks(results)),
        tables=tuple(tables_after_run(results)),
    )


# What results of other commands than `measure` and `fit` are.
OTHER_COMMANDS = {
    "weigh": (
        "These are results of `sharpbayes weigh`: a stored fit under other weights.",
        "Their tables compare the weights.",
    ),
    "compare": (
        "These are results of `sharpbayes compare`: fits of the same ratings.",
        "Their table ranks the fits by leave-one-out prediction.",
    ),
    "calibrate": (
        "These are results of `sharpbayes calibrate`: fits of ratings with known truth.",
        "Their table tells whether the fits are calibrated.",
    ),
}


def answer(results: xr.DataTree) -> tuple[str, str]:
    """Return what was found, in two sentences.

    For a panel: the model of lowest tail risk and those not distinguishable from it, then which
    models keep the tolerance. For a crowd: the responsiveness of all raters, then how many pairs of
    groups differ. Results of other commands are named.
    """
    kind = results_kind(results)
    if kind in OTHER_COMMANDS:
        return OTHER_COMMANDS[kind]
    view = View(results)
    if "profile" in view:
        return _lowest(view), _tolerance(view)
    return _responsiveness(view), _group_differences(view)


def failed(results: xr.DataTree) -> list[str]:
    """Return every check that failed, a sentence each; empty where there is none.

    A group names its failures in its attribute ``convergence_issues`` or ``failed_checks``: a
    text, or a JSON list of texts.
    """
    return [*_status(results), *_failures_of_groups(results)]


def remarks(results: xr.DataTree) -> list[str]:
    """Return what a reader must know that is no failure: what was not fitted or is missing."""
    notes = _not_fitted(results)
    if "posterior_responsiveness" in results:  # whether the model of a crowd knows the labels
        notes += _texts(results["posterior_responsiveness"].attrs.get("remark", ""))
    notes += departures(results)
    for key, what in (("data_missing", "empty"), ("data_absent", "absent")):
        if count := int(results.attrs.get(key, 0)):
            ratings = int(results.attrs["data_ratings"])
            notes.append(f"In addition to {ratings} ratings, {count} are {what}.")
    if unmeasured := _unmeasured_groups(results):
        notes.append(f"Rater groups that are not measured: {format_list(unmeasured, most=6)}.")
    if "panel" in results and results["panel"].sizes["judge"] == 1:
        notes.append("There is one judge only: nothing shows how far the numbers depend on it.")
    return notes


def limits(results: xr.DataTree) -> tuple[str, ...]:
    """Return what the numbers do not mean: the limits that the papers state themselves."""
    groups = {str(name) for node in results.subtree for name in node.children}
    if "profile" in groups:
        return PANEL_LIMITS
    return CROWD_LIMITS if {"responsiveness", "responsiveness_population"} & groups else ()


def verdict(results: xr.DataTree) -> str:
    """Return whether to trust the numbers, in one line."""
    failures, not_fitted = failed(results), _not_fitted(results)
    if failures:
        count = "A check" if len(failures) == 1 else f"{len(failures)} checks"
        return f"{count} failed: {failures[0]}"
    if results_kind(results) in OTHER_COMMANDS:
        return "Whether a fit converged and passed its checks is in the results of the fit."
    return not_fitted[0] if not_fitted else "The fit converged and no check failed."


def _lowest(view: View) -> str:
    """Lowest tail risk, its interval, and the models not distinguishable from it."""
    known = view["profile/cvar"].dropna("model")
    models = [str(name) for name in known.sortby(known)["model"].to_numpy()]
    if not models:
        return "No model has a tail risk: every one lacks ratings."
    first, *others = models
    row = view.select({"model": first})
    value = (
        f"{row.text('{cvar}')} of cumulative log-risk {number(row['profile/cvar'])}"
        f"{_in_brackets(row['profile_interval/cvar'])}"
    )
    if not others:
        return f"{first}, the only model, has a tail risk of {value}."
    similar = [pair["other"] for pair in not_separable(view, models) if pair["model"] == first]
    relation = "distinguishable from every other model"
    if similar:
        relation = f"not distinguishable from {_and(similar)}"
    return f"{first} has the lowest tail risk of {len(models)} models, {value}; it is {relation}."


def _in_brackets(bounds: xr.DataArray) -> str:
    """An interval in brackets, or nothing where it is missing."""
    text = interval(bounds)
    return "" if text == MISSING else f" (interval {text})"


def _tolerance(view: View) -> str:
    """Which models keep the tolerance, with a probability where one was computed."""
    if "profile/admissible" not in view:
        return "No tolerance was decided, so no model is called admissible or not."
    models = view.coordinate("profile/model", "profile/cvar")
    rows = [view.select({"model": model}) for model in models]
    kept = [_with_probability(row) for row in rows if bool(row["profile/admissible"])]
    if not kept:
        return "No model keeps the tolerance that was decided."
    return f"{len(kept)} of {len(models)} models keep the tolerance decided: {_and(kept)}."


def _with_probability(row: View) -> str:
    """A model with the probability that it keeps the tolerance, where there is one."""
    path = "decision/prob_admissible"
    probability = number(row[path], 2) if path in row else MISSING
    return row.text("{model}") + f" (probability {probability})" * (probability != MISSING)


def _responsiveness(view: View) -> str:
    """Responsiveness of all raters together."""
    if "responsiveness" not in view:
        return "The results hold no profile and no responsiveness."
    cell = view.group("responsiveness").sel(EVERYONE)
    if cell["reason"].item():
        return _range_of_groups(view, str(cell["reason"].item()))
    return (
        f"Scores of all {int(cell['raters'])} raters on {int(cell['items'])} items follow the "
        f"labels with a responsiveness of {number(cell['hm'])}{_in_brackets(cell['hm_interval'])}, "
        "where 1 is best (harmonic mean of MPA and WRA)."
    )


def _range_of_groups(view: View, reason: str) -> str:
    """Responsiveness of groups where all raters together have none, such as with crowd labels."""
    known = view.select(ALL_ITEMS)["responsiveness/hm"].dropna("group")
    known = known[np.argsort(known.to_numpy(), kind="stable")]
    if not known.size:
        return f"Responsiveness of all raters cannot be measured: {reason}."
    low, high = (f"{number(end)} ({end['group'].item()})" for end in (known[0], known[-1]))
    return (
        f"The scores of {known.size} groups of raters, each compared with the labels, follow them "
        f"with a responsiveness from {low} to {high}, where 1 is best "
        f"(harmonic mean of MPA and WRA); all raters together have none: {reason}."
    )


def _group_differences(view: View) -> str:
    """How many pairs of groups differ, and which differ most."""
    if "responsiveness_difference" not in view:
        return "The study compares no groups of raters."
    data = view.group("responsiveness_difference").sel(ALL_ITEMS)
    tested = pairs_where(data["hm_p_holm"].notnull())
    if not tested:
        return "No two groups of raters can be compared."
    different = pairs_where(data["hm_p_holm"] < SIGNIFICANT)
    if not different:
        return (
            f"None of {len(tested)} pairs of rater groups is distinguishable by its responsiveness "
            "(Holm, 5%)."
        )
    most = max(different, key=lambda pair: abs(float(data["hm"].sel(pair))))
    largest = float(data["hm"].sel(most))
    high, low = list(most.values())[:: 1 if largest >= 0 else -1]
    return (
        f"{len(different)} of {len(tested)} pairs of rater groups are distinguishable by their "
        f"responsiveness (Holm, 5%); the largest difference is {number(abs(largest))}, {high} "
        f"above {low}."
    )


def _status(results: xr.DataTree) -> Iterator[str]:
    """A fit that must not be used, or was interrupted."""
    if results.attrs["status"] == "not converged":
        attrs = results["diagnostics"].attrs if "diagnostics" in results else {}
        issues = str(attrs.get("convergence_issues", "")).rstrip(".")
        yield f"The fit has not converged and must not be used{': ' * bool(issues)}{issues}."
        yield from _texts(attrs.get("suggestions", ""))
    if results.attrs["status"] == "interrupted":
        yield "The run was interrupted: only what was finished is here."


def _failures_of_groups(results: xr.DataTree) -> Iterator[str]:
    """What groups other than the convergence checks declare as failed."""
    for name, node in results.children.items():
        for key in ("failed_checks", "convergence_issues"):
            texts = _texts(node.attrs.get(key, ""))
            if name == "predictive_checks" and key == "failed_checks" and texts:
                count = "one statistic" if len(texts) == 1 else f"{len(texts)} statistics"
                yield (
                    f"The fitted model does not reproduce {count} of the ratings, such as "
                    f"{texts[0]}. Probabilities and posterior intervals depend on it; bootstrap "
                    "intervals do not."
                )
            elif (name, key) != ("diagnostics", "convergence_issues"):
                yield from texts


def _texts(value: object) -> list[str]:
    """A text, a JSON list of texts, or several texts, as a list without empty ones."""
    if isinstance(value, str) and value.startswith("["):
        with contextlib.suppress(ValueError):  # a text that begins with a bracket
            value = json.loads(value)
    several = [value] if isinstance(value, str) else np.atleast_1d(np.asarray(value, dtype=str))
    return [str(text) for text in several if str(text)]


def _not_fitted(results: xr.DataTree) -> list[str]:
    """What an interval leaves out where no model was fitted."""
    if "posterior" in results or results_kind(results) in OTHER_COMMANDS:
        return []
    units = "prompts" if "profile" in results else "items"
    return [f"No model of the ratings was fitted: intervals contain the sampling of {units} only."]


def _unmeasured_groups(results: xr.DataTree) -> list[str]:
    """Groups of raters that are too small to be measured."""
    if "responsiveness" not in results:
        return []
    reason = results["responsiveness"]["reason"].sel(ALL_ITEMS)
    groups = reason["group"].to_numpy()[reason.to_numpy() != ""]
    return [str(group) for group in groups if group != "all"]


def _and(names: Sequence[str]) -> str:
    """Join names as a sentence does.

    >>> _and(["a"]), _and(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)

"""Results -> the answer in two sentences, whether to trust it, and what it does not mean.

Written once: the terminal, the report and :class:`Summary` in a notebook say the same words.
"""

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import xarray as xr

from sharpbayes.errors import format_list
from sharpbayes.report.tables.common import number, tables
from sharpbayes.report.tables.judge_bias import departures
from sharpbayes.report.tables.table import Table

SIGNIFICANT = 0.05
FEW_JUDGES = 2
ALL = "all"

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
    """What results say, as the terminal and the report say it.

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
        """Say it in lines."""
        return "\n".join([self.title, *self.answer, self.trust, *self.remarks])

    def _repr_html_(self) -> str:
        """Say it as a page does, for notebooks: the answer, failures first, then the tables."""
        said = "".join(f"<p>{escape(text)}</p>" for text in (*self.answer, self.trust))
        listed = "".join(f"<li>{escape(text)}</li>" for text in (*self.failed, *self.remarks))
        shown = "".join(_html_table(table) for table in self.tables)
        return f"<h3>{escape(self.title)}</h3>{said}<ul>{listed}</ul>{shown}"


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
        tables=tuple(tables(results)),
    )


def _html_table(table: Table) -> str:
    """A table with every text escaped."""
    head = "".join(f"<th>{escape(name)}</th>" for name in table.header)
    rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in table.rows)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    caption = f"<caption>{escape(table.title)}</caption>"
    return f"<table>{caption}<tr>{head}</tr>{body}</table><p>{escape(table.note)}</p>"


def answer(results: xr.DataTree) -> tuple[str, str]:
    """Return what was found, in two sentences.

    Args:
        results: Results of a panel or a crowd, measured or fitted.

    Returns:
        For a panel the model of lowest tail risk and those not told apart from it, then which
        models keep the tolerance; for a crowd the responsiveness of all raters, then how many
        pairs of groups differ.
    """
    if "profile" in results:
        return _lowest(results), _tolerance(results)
    return _responsive(results), _groups(results)


def failed(results: xr.DataTree) -> list[str]:
    """Return every check that failed, a sentence each; empty where there is none.

    A group says so in its attribute ``convergence_issues`` or ``failed_checks``: a text, or a JSON list of texts.
    """
    return [*_status(results), *_said_by_groups(results)]


def remarks(results: xr.DataTree) -> list[str]:
    """Return what a reader must know that is no failure: what was not fitted or is missing."""
    data = (*_missing(results), *_unmeasured(results), *_judges(results))
    return [*_fitted(results), *_labels_unknown(results), *departures(results), *data]


def limits(results: xr.DataTree) -> tuple[str, ...]:
    """Return what the numbers do not mean: the limits that the papers state themselves."""
    return PANEL_LIMITS if "profile" in results else CROWD_LIMITS


def verdict(results: xr.DataTree) -> str:
    """Return whether to trust the numbers, in one line."""
    found = failed(results)
    if found:
        return f"{'A check' if len(found) == 1 else f'{len(found)} checks'} failed: {found[0]}"
    return _fitted(results)[0] if _fitted(results) else "The fit converged and no check failed."


def _lowest(results: xr.DataTree) -> str:
    """Lowest tail risk, its interval, and who is not told apart from it."""
    profile = results["profile"].to_dataset().sortby("cvar")
    known = profile.sel(model=profile["cvar"].notnull())
    if not known.sizes["model"]:
        return "No model has a tail risk: every one lacks ratings."
    first, others = _labels(known, "model")[0], _labels(known, "model")[1:]
    level = f"CVaR {100 * float(profile.attrs['alpha']):g}"
    value = f"{level} of cumulative log-risk {_measured(results, first)}"
    if not others:
        return f"{first}, the only model, has a tail risk of {value}."
    apart = results["profile_interval"]["separable"].sel(model=first)
    alike = [name for name in others if not bool(apart.sel(other=name))]
    told = f"not told apart from {_and(alike)}" if alike else "told apart from every other model"
    return f"{first} has the lowest tail risk of {len(others) + 1} models, {value}; it is {told}."


def _measured(results: xr.DataTree, model: str) -> str:
    """Tail risk of a model with its interval."""
    value = number(results["profile"].to_dataset()["cvar"].sel(model=model))
    interval = results["profile_interval"].to_dataset()["cvar"]
    return value + _interval(interval.sel(model=model))


def _interval(bounds: xr.DataArray) -> str:
    """An interval in brackets, or nothing where it is missing."""
    low, high = (float(bounds.sel(bound=name)) for name in ("lower", "upper"))
    return "" if np.isnan(low) else f" (interval {low:.3f} to {high:.3f})"


def _tolerance(results: xr.DataTree) -> str:
    """Which models keep the tolerance, with a probability where one was computed."""
    profile = results["profile"].to_dataset().sortby("cvar")
    if "admissible" not in profile:
        return "No tolerance was decided, so no model is called admissible or not."
    kept = [
        name for name in _labels(profile, "model") if bool(profile["admissible"].sel(model=name))
    ]
    said = _and([_with_chance(results, name) for name in kept])
    if not kept:
        return "No model keeps the tolerance that was decided."
    return f"{len(kept)} of {profile.sizes['model']} models keep the tolerance decided: {said}."


def _with_chance(results: xr.DataTree, model: str) -> str:
    """A model with the probability that it keeps the tolerance, where there is one."""
    if "decision" not in results or "prob_admissible" not in results["decision"]:
        return model
    chance = float(results["decision"]["prob_admissible"].sel(model=model))
    return model if np.isnan(chance) else f"{model} (probability {chance:.2f})"


def _responsive(results: xr.DataTree) -> str:
    """Responsiveness of all raters together."""
    if "responsiveness" not in results:
        return "The results hold no profile and no responsiveness."
    cell = results["responsiveness"].to_dataset().sel(group=ALL, by=ALL)
    if cell["reason"].item():
        return _range_of_groups(results, str(cell["reason"].item()))
    value = number(cell["hm"]) + _interval(cell["hm_interval"])
    return (
        f"Scores of all {int(cell['raters'])} raters on {int(cell['items'])} items follow the "
        f"labels with a responsiveness of {value}, where 1 is best (harmonic mean of MPA and WRA)."
    )


def _range_of_groups(results: xr.DataTree, reason: str) -> str:
    """Responsiveness of groups where all raters together have none, such as with crowd labels."""
    found = results["responsiveness"]["hm"].sel(by=ALL).dropna("group")
    found = found[np.argsort(found.to_numpy(), kind="stable")]
    if not found.size:
        return f"Responsiveness of all raters cannot be measured: {reason}."
    low, high = (f"{number(each)} ({each['group'].item()})" for each in (found[0], found[-1]))
    return (
        f"The scores of {found.size} groups of raters, each held against the labels, follow them "
        f"with a responsiveness from {low} to {high}, where 1 is best "
        f"(harmonic mean of MPA and WRA); all raters together have none: {reason}."
    )


def _groups(results: xr.DataTree) -> str:
    """How many pairs of groups differ, and which most."""
    if "responsiveness_difference" not in results:
        return "The study compares no groups of raters."
    data = results["responsiveness_difference"].to_dataset().sel(by=ALL)
    first, second = np.triu_indices(data.sizes["group"], k=1)
    pairs = data.isel(
        group=xr.DataArray(first, dims="pair"), other=xr.DataArray(second, dims="pair")
    )
    pairs = pairs.isel(pair=np.flatnonzero(pairs["hm_p_holm"].notnull()))
    if not pairs.sizes["pair"]:
        return "No two groups of raters can be compared."
    clear = pairs.isel(pair=np.flatnonzero(pairs["hm_p_holm"] < SIGNIFICANT))
    if not clear.sizes["pair"]:
        return (
            f"None of {pairs.sizes['pair']} pairs of rater groups is told apart by its "
            "responsiveness (Holm, 5%)."
        )
    most = clear.isel(pair=int(np.abs(clear["hm"].to_numpy()).argmax()))
    high, low = str(most["group"].item()), str(most["other"].item())
    if float(most["hm"]) < 0:
        high, low = low, high
    return (
        f"{clear.sizes['pair']} of {pairs.sizes['pair']} pairs of rater groups are told apart by "
        f"their responsiveness (Holm, 5%), {high} above {low} by most, "
        f"{abs(float(most['hm'])):.3f}."
    )


def _status(results: xr.DataTree) -> Iterator[str]:
    """A fit that must not be used, or was cut short."""
    if results.attrs["status"] == "not converged":
        yield f"The fit has not converged and must not be used: {_convergence_issues(results)}."
        yield from _texts(results["diagnostics"].attrs.get("suggestions", ""))
    if results.attrs["status"] == "interrupted":
        yield "The run was interrupted: only what was finished is here."


def _convergence_issues(results: xr.DataTree) -> str:
    """Reason of the convergence checks, without the full stop at its end."""
    return str(results["diagnostics"].attrs.get("convergence_issues", "")).rstrip(".")


def _said_by_groups(results: xr.DataTree) -> Iterator[str]:
    """What groups other than the convergence checks declare as failed."""
    for name, node in results.children.items():
        for key in ("failed_checks", "convergence_issues"):
            if name == "predictive_checks" and key == "failed_checks":
                yield from _not_reproduced(_texts(node.attrs.get(key, "")))
            elif (name, key) != ("diagnostics", "convergence_issues"):
                yield from _texts(node.attrs.get(key, ""))


def _not_reproduced(found: list[str]) -> Iterator[str]:
    """What the model does not reproduce, as one sentence; a table has all of it."""
    if found:
        count = "one statistic" if len(found) == 1 else f"{len(found)} statistics"
        yield (
            f"The fitted model does not reproduce {count} of the ratings, such as {found[0]}. "
            "Probabilities and posterior intervals rest on it; bootstrap intervals do not."
        )


def _texts(value: object) -> list[str]:
    """A text, a JSON list of texts, or several texts, as a list without empty ones."""
    if isinstance(value, str) and value.startswith("["):
        with contextlib.suppress(ValueError):  # a text that begins with a bracket
            value = json.loads(value)
    several = [value] if isinstance(value, str) else np.atleast_1d(np.asarray(value, dtype=str))
    return [str(text) for text in several if str(text)]


def _fitted(results: xr.DataTree) -> list[str]:
    """What an interval leaves out where no model was fitted."""
    if "posterior" in results:
        return []
    drawn = "prompts" if "profile" in results else "items"
    return [f"No model of the ratings was fitted: intervals contain the sampling of {drawn} only."]


def _labels_unknown(results: xr.DataTree) -> list[str]:
    """What follows where the model of a crowd does not know the labels."""
    if "posterior_responsiveness" not in results:
        return []
    return _texts(results["posterior_responsiveness"].attrs.get("remark", ""))


def _missing(results: xr.DataTree) -> Iterator[str]:
    """Ratings that are empty or were never given."""
    for key, what in (("data_missing", "empty"), ("data_absent", "not there at all")):
        count = int(results.attrs.get(key, 0))
        if count:
            total = int(results.attrs["data_ratings"])
            yield f"Beside {total} ratings, {count} are {what}."


def _unmeasured(results: xr.DataTree) -> Iterator[str]:
    """Groups of raters that are too small to be measured."""
    if "responsiveness" not in results:
        return
    reason = results["responsiveness"]["reason"].sel(by=ALL)
    groups = reason["group"].to_numpy()[reason.to_numpy() != ""]
    without = [str(group) for group in groups if group != ALL]
    if without:
        yield f"Rater groups that are not measured: {format_list(without, most=6)}."


def _judges(results: xr.DataTree) -> Iterator[str]:
    """A panel of one judge has no second opinion."""
    if "panel" in results and results["panel"].sizes["judge"] < FEW_JUDGES:
        yield "One judge alone: nothing shows how far the numbers hang on it."


def _labels(data: xr.Dataset, dim: str) -> list[str]:
    """Labels of a dimension."""
    return [str(label) for label in data[dim].to_numpy()]


def _and(names: Sequence[str]) -> str:
    """Join names as a sentence does.

    >>> _and(["a"]), _and(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)

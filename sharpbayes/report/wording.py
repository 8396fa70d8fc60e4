"""Parts of sentences that answers share: lists of names, estimates, lists of texts in results."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from sharpbayes.analysis.tail_evidence import is_low
from sharpbayes.errors import format_percent, join_names
from sharpbayes.posterior.claims import failed_statistics
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.format import MISSING, number, probability, value_and_interval
from sharpbayes.storage.attributes import has_converged, list_texts
from sharpbayes.storage.schema import APPROXIMATE, APPROXIMATION

# What intervals of the posterior contain, by source of uncertainty.
CONTAINED = {
    "ratings": "the noise of ratings",
    "prompts": "the choice of prompts",
    "judges": "the choice of judges",
    "items": "the choice of items",
    "raters": "the choice of raters",
}

# Intervals that are missing for no other reason than equal resamples.
WITHOUT_GAPS = ("studentized", "percentile")

# What is said of a fit that was asked for no replicated ratings.
NOT_COMPARED = "The fit converged; it was not compared with the ratings."

LIKELY_CAUSES = "A failed check does not prove its cause. The likeliest, and what helps:"


def is_approximate(results: xr.DataTree) -> bool:
    """Return whether results are those of a preview."""
    return bool(results.attrs.get("status") == APPROXIMATE)


def mark_texts(results: xr.DataTree, texts: Iterable[str]) -> list[str]:
    """Return texts as they are, or each with what a preview is.

    >>> mark_texts(xr.DataTree(xr.Dataset(attrs={"status": "approximate"})), ["A is lowest."])
    ['Approximate (Laplace; not an answer): A is lowest.']
    """
    mark = f"A{APPROXIMATION[1:]}: " if is_approximate(results) else ""
    return [f"{mark}{text}" for text in texts]


def with_interval(value: xr.DataArray, bounds: xr.DataArray, label: str) -> str:
    """Return a number with its labelled interval in brackets, which may be missing.

    >>> with_interval(xr.DataArray(4.843), xr.DataArray([2.128, 5.862]), "95% interval")
    '4.8 (95% interval 2.1 to 5.9)'
    """
    text, known = value_and_interval(value, bounds)
    return text + f" ({label} {known})" * (known != MISSING)


def probability_text(value: xr.DataArray | float) -> str:
    """Return a probability in two digits, in words where it is near 0 or 1.

    >>> probability_text(0.876), probability_text(1.0), probability_text(0.0)
    ('0.88', 'above 0.99', 'below 0.01')
    """
    return probability(value).replace(">", "above ").replace("<", "below ")


def bootstrap_estimate(row: View) -> str:
    """Return the observed value of a row of ``joint`` with its bootstrap interval.

    Of a panel an interval is missing where resamples do not differ; earlier versions stored one
    without width.
    """
    label = f"{format_percent(row.results['joint'].attrs['level'])} interval"
    value, bounds = row["joint/observed"], row["joint/bootstrap_interval"]
    low, high = bounds.to_numpy()
    if low < high:
        return with_interval(value, bounds, label)
    reason = ": resamples do not differ" * bool(low == high or _has_equal_resamples(row))
    return f"{number(value, 2)} (no {label}{reason})"


def _has_equal_resamples(row: View) -> bool:
    """Whether a missing interval of a panel says so; BCa intervals are missing for more reasons."""
    group = row.results.get("profile_interval")
    return group is not None and group.attrs.get("method") in WITHOUT_GAPS


def posterior_estimate(row: View) -> str:
    """Return the posterior median of a row of ``joint`` with its interval."""
    label = f"posterior median; {format_percent(row.results['joint'].attrs['level'])} interval"
    return with_interval(row["joint/posterior_median"], row["joint/posterior_interval"], label)


def without_posterior(view: View) -> str:
    """Return why results have no posterior of metrics: the bootstrap stands alone."""
    if "posterior" not in view and "joint/posterior_median" not in view:
        return "no model was fitted"
    if not has_converged(view.results):
        return "the fit has not converged"
    return "the fit replicated no ratings"


def contained_sources(view: View, group: str) -> str:
    """Return what the posterior intervals of a group contain."""
    names = map(str, np.atleast_1d(view.group(group).attrs.get("sources", [])))
    return join_names([CONTAINED.get(name, name) for name in names])


def resampled_units(results: xr.DataTree) -> tuple[str, ...]:
    """Return what the bootstrap of results resamples.

    >>> resampled_units(xr.DataTree())
    ('items', 'raters')
    """
    is_panel = "profile_interval" in results
    group = "profile_interval" if is_panel else "responsiveness"
    attrs = results[group].attrs if group in results else {}
    units = list_texts(attrs.get("resampled_units", ""))
    return tuple(units) or _units_of_note(str(attrs.get("interval_note", "")), is_panel=is_panel)


def _units_of_note(note: str, *, is_panel: bool) -> tuple[str, ...]:
    """What the bootstrap resamples by the note of intervals, for results of earlier versions."""
    if not is_panel:
        return "clusters of items" if "clusters of items" in note else "items", "raters"
    prompts = "clusters of prompts" if "clusters of prompts" in note else "prompts"
    return (prompts, "generations") if "and of generations" in note else (prompts,)


def remedy_texts(attrs: Mapping[Any, Any]) -> list[str]:
    """Return what to do about failed checks, after a word on causes; nothing where none failed."""
    remedies = list_texts(attrs.get("remedies", ""))
    return [LIKELY_CAUSES, *remedies] if remedies else []


def tail_reasons(evidence: xr.Dataset) -> list[str]:
    """Return what in the tails of some models lets posterior and bootstrap disagree.

    Results of earlier versions may not have all of the evidence.

    >>> flat = xr.Dataset({"flat_tail": ("model", [True]), "saturated_tail": ("model", [0])})
    >>> tail_reasons(flat)
    ['all prompts of a tail have the same log-risk, where the bootstrap ends']
    """
    reasons = []
    if bool((evidence["saturated_tail"] > 0).any()):
        reasons.append("prompts of the tail lie at the end of the scale")
    if "flat_tail" in evidence and bool(evidence["flat_tail"].any()):
        reasons.append("all prompts of a tail have the same log-risk, where the bootstrap ends")
    if "expected_coverage" in evidence and is_low(evidence).any():
        reasons.append("bootstrap intervals are too narrow in studies simulated from this one")
    return reasons


def misfit_reasons(view: View) -> list[str]:
    """Return the reason of a disagreement that lies in the fitted model; none if it fits."""
    count = failed_statistics(view)
    if not count:
        return []
    statistics = "one statistic" if count == 1 else f"{count} statistics"
    return [f"the fitted model does not reproduce {statistics} of the ratings"]


def likely_reasons(reasons: Sequence[str]) -> str:
    """Return the sentence of likely reasons, of which any may be a clause of its own.

    >>> likely_reasons(["the tail is short"]), likely_reasons(["few raters", "an old scale"])
    ('Likely reason: the tail is short.', 'Likely reasons: few raters; an old scale.')
    """
    return f"Likely reason{'s' * (len(reasons) > 1)}: {'; '.join(reasons)}."


def name_raters(kind: str, names: Sequence[str], *, together: Collection[str] = ()) -> str:
    """Return judges or experts as a sentence names them, who may have the names of models.

    Names may be those of several who are left out together.

    >>> name_raters("judge", ["gpt4"]), name_raters("expert", ["ann", "bob"])
    ('judge gpt4', 'experts ann and bob')
    >>> name_raters("judge", ["ann and bob"], together=["ann and bob"])
    'judges ann and bob'
    """
    several = len(names) > 1 or names[0] in together
    return f"{kind}{'s' * several} {join_names(list(names))}"

"""The answer of `compare`: which model predicts best what was left out, as far as that is known."""

from collections.abc import Iterator

import xarray as xr

from sharpbayes.analysis.predictive_order import has_many_bad, predicts_worse
from sharpbayes.errors import format_count, join_names
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.report.tables.format import number, thousands


def comparison_answer(results: xr.DataTree) -> list[str]:
    """Return which model predicts best, or which models the ratings do not distinguish."""
    data = results["comparison"].to_dataset()
    if unconverged := labels_where(data["converged"] == 0):
        subject = f"The fit of {unconverged[0]} has" if len(unconverged) == 1 else "The fits of "
        subject += "" if len(unconverged) == 1 else f"{join_names(unconverged)} have"
        return [f"{subject} not converged: which model predicts best is not known."]
    if has_many_bad(data):
        return [
            (
                f"Which model predicts best is not known: {thousands(data['bad_k'].max())} of "
                f"{thousands(data.sizes['unit'])} units that were left out are not predicted "
                "reliably by one of the fits (Pareto k), and were not fitted again. Raise --refits."
            )
        ]
    return [*_describe_order(data), *_describe_bad(data)]


def _describe_order(data: xr.Dataset) -> Iterator[str]:
    """The best model, or those that are not distinguished, and the others."""
    worse = predicts_worse(data)
    predicted = "left-out ratings"
    if data.attrs["by"] != "rating":
        predicted = f"the ratings of a left-out {data.attrs['by']}"
    first, *others = map(str, data["model"].to_numpy())
    alike, others = [name for name in others if not worse.sel(model=name)], labels_where(worse)
    if not alike:
        yield f"{first} predicts {predicted} best: {_describe_gap(data, others[0])}."
        return
    names = join_names([first, *alike])
    yield (
        f"These ratings do not tell which of {names} predicts {predicted} best: "
        f"{_describe_gap(data, alike[0])}. A choice between them needs another reason."
    )
    if others:
        gap = _describe_gap(data, others[0])
        yield f"{first} predicts better than {join_names(others)}: {gap}."


def _describe_gap(data: xr.Dataset, other: str) -> str:
    """By how much the first model is ahead of another."""
    row, first = data.sel(model=other), data["model"].to_numpy()[0]
    gap, error = number(-row["elpd_difference"], 1), number(row["difference_se"], 1)
    return (
        f"the expected log predictive density of {first} is {gap} above that of {other} "
        f"(standard error {error})"
    )


def _describe_bad(data: xr.Dataset) -> Iterator[str]:
    """That a few units are not predicted reliably."""
    bad = data["bad_k"]
    if int(bad.max()):
        worst = str(bad.idxmax("model").item())
        yield (
            f"{format_count(int(bad.max()), 'unit')} of {thousands(data.sizes['unit'])} by {worst} "
            "were not predicted reliably, nor fitted again; --refits does."
        )

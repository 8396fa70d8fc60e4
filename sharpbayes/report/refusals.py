"""What refused answers do to the answer of a panel: low risk may be refusal."""

from collections.abc import Iterator

import xarray as xr

from sharpbayes.analysis.metric_names import METRICS
from sharpbayes.errors import format_count, format_percent, join_names
from sharpbayes.metrics.panel.comparison import lowest_models
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.format import number
from sharpbayes.report.tables.panel import has_several_models

# A smaller share of refused answers is said only where it changes which model is lowest.
MANY_REFUSED = 0.1


def refusal_sentences(view: View, metric: str) -> Iterator[str]:
    """Yield how much the lowest models refused, and which is lowest without refused answers.

    Values are observed ones, by ``metric``; where none is read, which is empty, shares alone are
    said.
    """
    if "profile_answered" not in view:
        return
    share = view["profile_answered/refusal_rate"].fillna(0.0)
    values, answered = (
        view[f"{group}/{metric or 'mean'}"] for group in ("profile", "profile_answered")
    )
    lowest, left = lowest_models(values), lowest_models(answered)
    refused = [name for name in labels_where(share > 0) if name in {*lowest, *left}]
    if lowest == left and float(share.sel(model=lowest).max()) < MANY_REFUSED:
        return
    shares = [
        f"{name} refused {format_percent(round(float(share.sel(model=name)), 3))}"
        for name in refused
    ]
    possessive = "its" if len(shares) == 1 else "their"
    yield f"Low risk may be refusal: {join_names(shares)} of {possessive} answers."
    unscored = _unscored(view, refused)
    if unscored:
        yield (
            f"{format_count(unscored, 'refused answer')} of {join_names(refused)} "
            f"{'has' if unscored == 1 else 'have'} no score of harm; no metric contains "
            f"{'it' if unscored == 1 else 'them'}."
        )
    # Where none of them is in the profile, leaving them out changes nothing.
    if metric and not (unscored and bool((values == answered).all())):
        higher = _list_lower(view, metric, left)
        but = f", and a higher one than {join_names(higher)} on the prompts that both answered"
        text = _without(view, values, answered, METRICS[metric])
        yield f"Without refused answers {text}{but * bool(higher)}."


def _list_lower(view: View, metric: str, lowest: list[str]) -> list[str]:
    """Models that are lower than the lowest one without refusals, on prompts that both answered."""
    path = f"profile_answered_interval/{metric}_difference_observed"
    if path not in view or len(lowest) != 1:
        return []
    return labels_where(view[path].sel(model=lowest[0], drop=True) > 0)


def _unscored(view: View, models: list[str]) -> int:
    """How many answers that these models refused have no score of harm."""
    name = "profile_answered/refused_unscored"
    return int(view[name].sel(model=models).sum()) if name in view else 0


def _without(view: View, values: xr.DataArray, answered: xr.DataArray, name: str) -> str:
    """Which model is lowest by values of the answered prompts, and by those of all."""
    lowest, left = lowest_models(values), lowest_models(answered)
    if not left:
        return f"no model has a {name}"
    before, after = (number(x.sel(model=left[0]), 2) for x in (values, answered))
    if not has_several_models(view):
        return f"its observed {name} is {after} in place of {before}"
    if lowest == left:
        still = f"{join_names(left)} still {'has' if len(left) == 1 else 'share'}"
        return f"{still} the lowest observed {name}, {after} in place of {before}"
    refused = labels_where(answered.sel(model=lowest).isnull())
    others = [model for model in lowest if model not in {*left, *refused}]
    against = f", not of {join_names(others)}" if others else ""
    nothing = f"; nothing is left of {join_names(refused)}" if refused else ""
    return (
        f"the lowest observed {name} is that of {join_names(left)}{against}, {after} on the "
        f"prompts that it answered{nothing}"
    )

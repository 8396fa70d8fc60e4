"""What other fits of a study select: without a judge, with other priors, with shared errors."""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from sharpbayes.analysis.results_view import is_fitted
from sharpbayes.errors import join_names
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.format import number

GROUP = "sensitivity"
# Refits that tell what weights of draws do not: priors half and twice as wide.
PRIOR_REFITS = {"priors x 0.5": "half", "priors x 2": "twice"}


def has_prior_refits(view: View) -> bool:
    """Return whether the study was fitted again with priors half and twice as wide."""
    return GROUP in view and {*PRIOR_REFITS} <= {*view.group(GROUP)["refit"].to_numpy()}


def refit_sentences(view: View) -> Iterator[str]:
    """Yield what other fits select, or how far they move HM, and which have not converged."""
    if GROUP not in view or not is_fitted(view):
        return
    _, *others = view.group(GROUP)["refit"].to_numpy()
    data = view.group(GROUP).sel(refit=others)
    if not others:
        return
    if "selected" in data:
        yield from _selection_sentences(view)
    elif bool(data["hm_shift"].sel(by="all").notnull().any()):
        yield f"In other fits HM moves by at most {_largest_shift(data['hm_shift'])}."
    if failed := labels_where(data["converged"] == 0):
        verb = "fit has" if len(failed) == 1 else "fits have"
        names = join_names([_describe_fit(label) for label in failed])
        little = "says" if len(failed) == 1 else "say"
        yield f"Of other fits, {len(failed)} {verb} not converged and {little} little: {names}."


def other_selections(view: View) -> dict[str, list[str]]:
    """Return the models that other fits select, by fit, where they are not those of the study's.

    Under the study's own weights, the first.
    """
    selected = _selections(view)
    baseline = next(iter(selected.values()))
    return {label: names for label, names in selected.items() if names != baseline}


def _selections(view: View) -> dict[str, list[str]]:
    """The models that each fit selects under the study's own weights, the study's own fit first."""
    selected = view[f"{GROUP}/selected"].isel(weights=0) == 1
    return {
        str(label): labels_where(selected.sel(refit=label)) for label in selected["refit"].values
    }


def _selection_sentences(view: View) -> Iterator[str]:
    """Which fits select other models than the study's own, and which the same."""
    changed = other_selections(view)
    (_, selected), *others = _selections(view).items()
    models = _name_models(selected)
    if changed:
        fits = [f"{_name_models(names)} {_describe_fit(x)}" for x, names in changed.items()]
        yield f"Other fits do not select {models} but {join_names(fits)}."
    same = [_describe_fit(label) for label, _ in others if label not in changed]
    if same:
        yield f"Other fits also select {models}: {join_names(same)}."


def _name_models(models: list[str]) -> str:
    """Selected models in words."""
    return join_names(models) or "no model"


def _describe_fit(label: str) -> str:
    """A fit in a sentence."""
    if label in PRIOR_REFITS:
        return f"with priors {PRIOR_REFITS[label]} as wide"
    if label.startswith("priors x "):
        return f"with priors {label.removeprefix('priors x ')} times as wide"
    if label.startswith("errors of judges "):
        return f"with errors of judges that {label.removeprefix('errors of judges ')}"
    return label


def _largest_shift(shift: xr.DataArray) -> str:
    """The largest shift of HM over all items, in posterior sds, with its group and fit."""
    cells = shift.sel(by="all").stack(cell=("refit", "group")).dropna("cell")
    largest = cells[int(np.abs(cells.to_numpy()).argmax())]
    return (
        f"{number(abs(largest), 2)} of its posterior sd ({largest['group'].item()}, "
        f"{_describe_fit(str(largest['refit'].item()))})"
    )

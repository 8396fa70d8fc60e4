"""Results -> one JSON document: the answer, and numbers by the labels of the study."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import xarray as xr

from sharpbayes.metrics.stats.draws import DRAWS, central_interval
from sharpbayes.posterior.claims import evidence_texts
from sharpbayes.report.nested_values import nested
from sharpbayes.report.summary import answer, failed, remarks, verdict
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.updates import list_updates
from sharpbayes.spec.weights import APPROVAL
from sharpbayes.storage.schema import explain_missing

# Groups that a machine wants at once; the rest is in the results file.
GROUPS = (
    *("joint", "stability", "profile", "profile_interval", "tolerance", "decision"),
    *("decision_human", "responsiveness", "diagnostics", "history"),
)
# Attributes that a document of weigh repeats.
WEIGHED_ATTRIBUTES = (
    *("title", "status", "convergence_issues", "left_out"),
    *("data_sha256", "study_sha256", "posterior_sha256"),
)


def document(results: xr.DataTree, *, path: Path, files: Iterable[Path] = ()) -> dict[str, Any]:
    """Return ``{"status", "answer", ..., group: {variable: {label: value}}}``.

    ``answer`` and ``trust`` are the words of the terminal and the page. ``converged`` is null where
    no model was fitted; missing values are null.
    """
    with explain_missing(results):
        groups = {name: _group(results[name].to_dataset()) for name in GROUPS if name in results}
        fitted = "diagnostics" in results
        return {
            "title": results.attrs["title"],
            "status": results.attrs["status"],
            "seed": int(results.attrs["seed"]),
            "answer": list(answer(results)),
            "trust": verdict(results),
            "converged": bool(results["diagnostics"]["converged"]) if fitted else None,
            "failed": failed(results),
            "remarks": remarks(results),
            **({"updates": updates} if (updates := list_updates(results)) else {}),
            "path": str(path),
            "files": [str(file) for file in files],
            **groups,
        }


def group_document(
    results: xr.DataTree, group: str, *, without: str, files: Iterable[Path]
) -> dict[str, Any]:
    """Return a group of ``calibrate`` or ``compare``, without variables over one dimension."""
    data = results[group].to_dataset()
    dropped = [name for name, array in data.variables.items() if without in array.dims]
    return {
        "title": results.attrs["title"],
        "status": results.attrs["status"],
        "answer": list(answer(results)),
        "files": [str(file) for file in files],
        group: _group(data.drop_vars(dropped)),
    }


def weighed_document(weighed: xr.DataTree) -> dict[str, Any]:
    """Return ``{"answer", "weights": {name: {"profile": {variable: {model: value}}, ...}}}``.

    Posterior draws are given as ``mean``, ``lower`` and ``upper``, in ``posterior_profile`` for
    example. ``limits`` is what the evidence does not carry, ``left_out`` what results without
    draws lack.
    """
    attributes = {name: weighed.attrs[name] for name in WEIGHED_ATTRIBUTES if name in weighed.attrs}
    weights = {
        str(name): {"title": node.attrs["title"], "sha256": node.attrs["weights_sha256"]}
        | {key: node.attrs[key] for key in APPROVAL if node.attrs.get(key)}
        | _limits(node)
        | {str(group): _group(_without_draws(data)) for group, data in node.children.items()}
        for name, node in weighed.children.items()
    }
    return attributes | {"answer": list(answer(weighed)), "weights": weights}


def _limits(node: xr.DataTree) -> dict[str, list[str]]:
    """What the evidence does not carry; nothing of results that have no evidence."""
    limits = evidence_texts(View(node), "limits")
    return {} if limits is None else {"limits": limits}


def _without_draws(group: xr.DataTree) -> xr.Dataset:
    """A group with mean and central interval in place of draws."""
    data = group.to_dataset()
    if "chain" not in data.dims:
        return data
    numbers = data.map(lambda values: values.astype(float))
    mean = numbers.mean(DRAWS, skipna=False).expand_dims("estimate")
    interval = central_interval(numbers, level=float(group.attrs["level"]))
    bounds = interval.rename(bound="estimate")
    joined = xr.concat([mean, bounds.drop_vars("estimate")], "estimate")
    return joined.assign_coords(estimate=["mean", "lower", "upper"]).transpose(..., "estimate")


def _group(data: xr.Dataset) -> dict[str, Any]:
    """Every variable of a group, nested by its labels."""
    return {str(name): nested(array) for name, array in data.data_vars.items()}

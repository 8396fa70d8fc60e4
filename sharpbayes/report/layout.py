"""What kind of results a file holds, and one sentence where a part is missing."""

import json
import tomllib
from typing import Any

import xarray as xr

from sharpbayes.storage.schema import APPROXIMATE

PANEL, CROWD = "panel", "crowd"
WEIGHED, COMPARISON, CALIBRATION, UNKNOWN = "weigh", "compare", "calibrate", "unknown"
HISTORY, PEEKING = "history", "peek"
_BY_GROUP = {
    "history": HISTORY,
    "comparison": COMPARISON,
    "calibration": CALIBRATION,
    "peeking": PEEKING,
    "profile": PANEL,
    "responsiveness": CROWD,
}


def results_kind(results: xr.DataTree) -> str:
    """Return what results hold: a study (``panel`` or ``crowd``), or the output of another command.

    >>> results_kind(xr.DataTree.from_dict({"/comparison": xr.Dataset()}))
    'compare'
    """
    if any("weights_sha256" in node.attrs for node in results.children.values()):
        return WEIGHED
    return next((kind for group, kind in _BY_GROUP.items() if group in results.children), UNKNOWN)


def has_converged(results: xr.DataTree) -> bool:
    """Return whether the posterior of results, if any, may be used.

    An interrupted fit has the draws that it came to, which seldom meet the limits. A preview has no
    chains that could. Results of `weigh` have no diagnostics and repeat what the fit missed.

    >>> has_converged(xr.DataTree(xr.Dataset(attrs={"status": "not converged"})))
    False
    """
    status = results.attrs.get("status")
    diagnosed = "diagnostics" in results and "converged" in results["diagnostics"]
    if status in (APPROXIMATE, "not converged") or not diagnosed:
        return status != "not converged" and "convergence_issues" not in results.attrs
    return bool(results["diagnostics"]["converged"])


def list_open_checks(results: xr.DataTree) -> list[str]:
    """Return the assumptions of the study that nobody confirmed."""
    checks: list[str] = json.loads(results.attrs.get("open_checks", "[]"))
    return checks


def read_weights(results: xr.DataTree) -> dict[str, Any]:
    """Return the weights that results were made with; empty where there are none.

    >>> read_weights(xr.DataTree(xr.Dataset(attrs={"weights": "tolerance = { cvar = 4.0 }"})))
    {'tolerance': {'cvar': 4.0}}
    """
    return tomllib.loads(results.attrs.get("weights", ""))


def read_criterion(results: xr.DataTree) -> str:
    """Return what the weights of results compare models by.

    >>> read_criterion(xr.DataTree(xr.Dataset(attrs={"weights": "decision = { by = 'mean' }"})))
    'mean'
    """
    decision: dict[str, str] = read_weights(results).get("decision", {})
    return decision.get("by", "cvar")


def group_names(results: xr.DataTree) -> dict[str, tuple[str, str]]:
    """Return the grouping and the short name of each group of raters, by its label.

    ``gender=Woman,age=GenZ`` of the grouping ``gender,age`` is ``Woman, GenZ`` of ``gender, age``.
    """
    if "responsiveness" not in results:
        return {}
    grouping = results["responsiveness"].to_dataset()["grouping"]
    pairs = zip(grouping["group"].to_numpy(), grouping.to_numpy(), strict=True)
    return {str(group): _name_group(str(group), str(of).split(",")) for group, of in pairs}


def _name_group(label: str, columns: list[str]) -> tuple[str, str]:
    """The grouping and the values of a label, without the names of its columns."""
    if label == "all":
        return "", "all raters"
    values = label.removeprefix(f"{columns[0]}=")
    for column in columns[1:]:
        values = values.replace(f",{column}=", ", ", 1)
    return ", ".join(columns), values


def interval_level(results: xr.DataTree) -> float:
    """Return the confidence level of the study's intervals, its ``bootstrap.level``."""
    return float(results["joint"].attrs["level"])

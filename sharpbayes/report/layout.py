"""What kind of results a file holds, and one sentence where a part is missing."""

import json

import xarray as xr

PANEL, CROWD = "panel", "crowd"
WEIGHED, COMPARISON, CALIBRATION, UNKNOWN = "weigh", "compare", "calibrate", "unknown"
HISTORY, PEEKING, GATE, NEXT = "history", "peek", "gate", "next"
_BY_GROUP = {
    "history": HISTORY,
    "comparison": COMPARISON,
    "calibration": CALIBRATION,
    "peeking": PEEKING,
    "gate": GATE,
    "next": NEXT,
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


def list_open_checks(results: xr.DataTree) -> list[str]:
    """Return the assumptions of the study that nobody confirmed."""
    checks: list[str] = json.loads(results.attrs.get("open_checks", "[]"))
    return checks


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

"""Which column of a table holds what, and what tables of other programs are known to hold."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import ConfigDict

from sharpbayes.spec.base import Name, Spec

Logs = Mapping[str, Mapping[str, str]]

# Columns of the tables that logs of other programs become; a study may name others of them.
PANEL_LOGS: Logs = {
    "inspect": {
        name: name for name in ("model", "prompt", "judge", "sample", "indicator", "score")
    },
    "lm-eval": {name: name for name in ("model", "prompt", "judge", "indicator", "score")},
}
CROWD_LOGS: Logs = {"label-studio": {"item": "id", "rater": "annotator"}}


def with_roles(value: Any, logs: Logs) -> Any:
    """Add the roles that a layout of another program has, under those that are given.

    >>> with_roles({"layout": "label-studio", "roles": {"score": "s"}}, CROWD_LOGS)["roles"]
    {'item': 'id', 'rater': 'annotator', 'score': 's'}
    """
    layout = value.get("layout") if isinstance(value, dict) else None
    roles = value.get("roles", {}) if isinstance(value, dict) else None
    if not isinstance(layout, str) or layout not in logs or not isinstance(roles, dict):
        return value
    return value | {"roles": dict(logs[layout]) | roles}


def roles_needed(logs: Logs, needed: tuple[str, ...]) -> Callable[[dict[str, Any]], None]:
    """Return what makes a JSON Schema ask for roles where the layout has none of its own."""

    def asked(schema: dict[str, Any]) -> None:
        schema["required"] = [name for name in schema["required"] if name != "roles"]
        schema["if"] = {"properties": {"layout": {"enum": list(logs)}}, "required": ["layout"]}
        roles = {"properties": {"roles": {"required": list(needed)}}}
        schema["else"] = {"required": ["roles"], **roles}

    return asked


def _none_required(schema: dict[str, Any]) -> None:
    """Leave it to the table which roles must be given."""
    schema.pop("required", None)


class PanelRoles(Spec):
    """Which column holds what, in a table of judgements; columns of prompts need no role."""

    model_config = ConfigDict(json_schema_extra=_none_required)

    model: Name
    prompt: Name
    judge: Name
    sample: Name | None = None
    category: Name | None = None
    indicator: Name | None = None
    score: Name | None = None


class CrowdRoles(Spec):
    """Which column holds what, in a table of a crowd's ratings."""

    model_config = ConfigDict(json_schema_extra=_none_required)

    item: Name
    rater: Name
    score: Name
    time: Name | None = None


class ExpertRoles(Spec):
    """Which column holds what, in a table of expert labels."""

    item: Name = "item"
    expert: Name = "expert"
    label: Name = "label"


class SideTable(Spec):
    """A table joined on a key column; ``layout`` names the program that exported it."""

    data: Name
    key: Name
    layout: Literal["table", "prolific"] = "table"

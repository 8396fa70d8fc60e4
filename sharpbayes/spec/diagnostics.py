"""Validation errors of pydantic -> diagnostics in plain words, one for each mistake."""

import re
import shlex
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import ValidationError

from sharpbayes.errors import Diagnostic, did_you_mean, nearest
from sharpbayes.spec.base import Spec
from sharpbayes.spec.lines import KeyPath, SourceText, dotted

# Earlier keys, most of version /1 of the files, and their present names.
RENAMED = {
    "panel.model": "fit",
    "crowd.model": "fit",
    "crowd.interval_width": "target_interval_width",
    "crowd.roles.order": "time",
    "panel.validation.mixed_cells": "max_mixed_model_cells",
    "bootstrap.samples": "resample_generations",
    "sampler.predictive": "predictive_draws",
    "sampler.max_deepest": "max_depth_share",
    "sampler.min_ess": "target_ess",
    "flips.nearly_identical": "max_mean_gap",
    "flips.material": "min_tail_gap",
    "thresholds.severity": "shift",
    "thresholds.spacing": "gap",
}
# A key of so many parts may belong in another table; further inside, tables have keys alike.
MAX_MISPLACED = 2
# The tables of ratings; a study has one of them.
RATING_TABLES = ("panel", "crowd")
# So many unknown keys are compared with the known ones.
MAX_HINTS = 100
_REQUIREMENTS = {
    "string_type": "must be a text",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "tuple_type": "must be an array",
    "finite_number": "must be a finite number",
    "greater_than": "must be larger than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be smaller than {lt}",
    "less_than_equal": "must be at most {le}",
    "too_short": "must have at least {min_length} of them",
    "too_long": "must have at most {max_length} of them",
    "string_too_short": "must not be empty",
    "date_type": "must be a day without quotation marks, such as 2026-05-12",
}


def explain_errors(
    error: ValidationError, cls: type[Spec], data: Mapping[str, Any], source: SourceText
) -> list[Diagnostic]:
    """Return the mistakes behind an error that pydantic raised for the data of a text."""
    errors = [
        (_written_path(details["loc"], data, missing=details["type"] == "missing"), details)
        for details in error.errors(include_url=False)
        # An array with errors in its elements is called too short for them alone.
        if details["type"] != "too_short" or len(details["input"]) < details["ctx"]["min_length"]
    ]
    unknown = [path for path, details in errors if details["type"] == "extra_forbidden"]
    hints = {path: _intended(path, cls, data) for path in unknown[:MAX_HINTS]}
    intended = {(*path[:-1], hint) for path, hint in hints.items()}
    diagnostics = {
        source.locate(
            path,
            _explain_schema(path, details, cls, source)
            or _message(path, details, cls, hints.get(path)),
        )
        for path, details in errors
        if not (details["type"] == "missing" and path in intended)
    }
    return sorted(diagnostics)


def tables_at(cls: type[Spec], path: KeyPath) -> list[type[Spec]]:
    """Return the classes of the tables that a path may lead to; several where kinds differ."""
    types: list[Any] = [cls]
    for part in path:
        types = [inner for kind in types for inner in _types_inside(kind, part)]
    return [kind for kind in types if hasattr(kind, "model_fields")]


def _written_path(location: tuple[str | int, ...], data: Any, *, missing: bool) -> KeyPath:
    """Return the path of an error as it was written, without the tags of unions."""
    path: list[str | int] = []
    for position, part in enumerate(location):
        inside = isinstance(data, Mapping) and part in data
        inside |= isinstance(data, list) and isinstance(part, int) and part < len(data)
        if inside:
            data = data[part]
        if inside or (missing and position == len(location) - 1):
            path.append(part)
    return tuple(path)


def _message(path: KeyPath, details: Any, cls: type[Spec], intended: str | None) -> str:
    """Say what is wrong, what is allowed, and what was probably intended."""
    kind, context = details["type"], details.get("ctx", {})
    match kind:
        case "extra_forbidden":
            hint = f"; did you mean {intended!r}?" if intended else ""
            return f"unknown key, allowed are {', '.join(_keys(cls, path[:-1]))}{hint}"
        case "missing":
            return "missing, it must be given"
        case "value_error":
            return str(context["error"])
        case "literal_error":
            return _choice(details["input"], re.findall(r"'([^']*)'", context["expected"]))
        case "union_tag_invalid" | "union_tag_not_found":
            return _kind(path, details, cls)
    requirement = _REQUIREMENTS.get(kind, "is not allowed here").format(**context)
    return f"found {_shown(details['input'])}, {requirement}"


def _explain_schema(path: KeyPath, details: Any, cls: type[Spec], source: SourceText) -> str | None:
    """Name the command that rewrites a file of schema 1; None for any other error."""
    schema = f"sharpbayes/{cls.__name__.lower()}"
    if path != ("schema",) or details["input"] != f"{schema}/1":
        return None
    command = f"`sharpbayes show --migrate {shlex.quote(str(source.path))}`"
    return f"found '{schema}/1', must be '{schema}/2'; {command} prints this file so"


def _intended(path: KeyPath, cls: type[Spec], data: Mapping[str, Any]) -> str | None:
    """Return the key that an unknown one probably stands for, also one of another table."""
    near = RENAMED.get(dotted(path)) or nearest(str(path[-1]), _keys(cls, path[:-1]))
    if near or len(path) > MAX_MISPLACED:
        return near
    return next(_find_in_tables(str(path[-1]), cls, data), None)


def _find_in_tables(
    key: str, cls: type[Spec], data: Mapping[str, Any], *, start: str = ""
) -> Iterator[str]:
    """Yield the dotted keys that end with a key; of panel and crowd those of the table there is."""
    for name, info in cls.model_fields.items():
        written = info.alias or name
        if start and written == key:
            yield f"{start}{written}"
        if start or written not in RATING_TABLES or written in data:
            tables = [kind for kind in _members(info.annotation) if hasattr(kind, "model_fields")]
            for table in tables:
                yield from _find_in_tables(key, table, data, start=f"{start}{written}.")


def _kind(path: KeyPath, details: Any, cls: type[Spec]) -> str:
    """A table of a kind that is not known."""
    value, key = details["input"], "from" if "from" in details["ctx"]["discriminator"] else "kind"
    allowed = [
        name
        for table in tables_at(cls, path)
        for field in ("kind", "from_")
        if field in table.model_fields
        for name in get_args(table.model_fields[field].annotation)
    ]
    if not isinstance(value, Mapping):
        return f"found {_shown(value)}, must be a table"
    if value.get(key) is None:
        return f"`{key}` is missing, it must be one of {', '.join(dict.fromkeys(allowed))}"
    return _choice(value[key], list(dict.fromkeys(allowed)))


def _choice(value: object, allowed: list[str]) -> str:
    """A value that is not one of the allowed ones."""
    names = ", ".join(repr(name) for name in allowed)
    must = f"must be {names}" if len(allowed) == 1 else f"must be one of {names}"
    return f"found {_shown(value)}, {must}{did_you_mean(str(value), allowed)}"


def _shown(value: object) -> str:
    """Return a value as it might be written, cut short."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."  # noqa: PLR2004


def _keys(cls: type[Spec], path: KeyPath) -> list[str]:
    """Return the keys allowed in a table, as they are written."""
    fields = [field for table in tables_at(cls, path) for field in table.model_fields.items()]
    return list(dict.fromkeys(info.alias or name for name, info in fields))


def _types_inside(kind: Any, part: str | int) -> Iterator[Any]:
    """The types one key or position further in."""
    if hasattr(kind, "model_fields"):
        for name, info in kind.model_fields.items():
            if part == (info.alias or name):
                yield from _members(info.annotation)
    elif get_origin(kind) in (dict, tuple):
        yield from _members(get_args(kind)[1 if get_origin(kind) is dict else 0])


def _members(kind: Any) -> Iterator[Any]:
    """The types of a union, without their annotations."""
    if get_origin(kind) is Annotated:
        yield from _members(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for member in get_args(kind):
            yield from _members(member)
    else:
        yield kind

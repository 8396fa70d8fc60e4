"""What pydantic found -> faults in plain words, one a mistake, each on its line."""

from collections.abc import Callable, Iterable, Mapping
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from sharpbayes.errors import Diagnostic, did_you_mean, nearest

Path = tuple[str | int, ...]

_KINDS = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "tuple_type": "an array",
    "finite_number": "a finite number",
}


def explain_errors(
    error: ValidationError,
    cls: type[BaseModel],
    data: Mapping[str, Any],
    path: str,
    lines: Mapping[Path, int],
) -> list[Diagnostic]:
    """Return the faults behind a validation error.

    Args:
        error: What pydantic raised.
        cls: The class that was validated.
        data: What ``tomllib`` read.
        path: The file, as the user named it.
        lines: Line of every key, from :func:`sharpbayes.spec.lines.key_lines`.
    """
    found = [
        (_written(each["loc"], data, missing=each["type"] == "missing"), each)
        for each in error.errors(include_url=False)
        if not _echo(each)
    ]
    misspelt = set(_misspelt(found, cls))
    faults = [
        Diagnostic(path, line_of(where, lines), dotted(where), _message(where, each, cls))
        for where, each in found
        if not (each["type"] == "missing" and where in misspelt)
    ]
    return sorted(set(faults))


def line_of(where: Path, lines: Mapping[Path, int]) -> int:
    """Return the line of a path, or of the innermost table around it; 0 if there is none."""
    for end in range(len(where), 0, -1):
        if where[:end] in lines:
            return lines[where[:end]]
    return 1 if lines else 0


def dotted(where: Path) -> str:
    """Return a path as text.

    >>> dotted(("panel", "dimensions", 0, "name"))
    'panel.dimensions[0].name'
    """
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where)
    return text.removeprefix(".")


def _echo(each: Any) -> bool:
    """Tell whether an array is only called too short because its elements are at fault."""
    return bool(each["type"] == "too_short" and len(each["input"]) >= each["ctx"]["min_length"])


def _written(loc: tuple[str | int, ...], data: Any, *, missing: bool) -> Path:
    """Return a location as it was written, the tags of unions left out."""
    where: list[str | int] = []
    for position, part in enumerate(loc):
        last = position == len(loc) - 1
        inside = isinstance(data, Mapping) and part in data
        inside |= isinstance(data, list) and isinstance(part, int) and part < len(data)
        if inside:
            data = data[part]
            where.append(part)
        elif last and missing:
            where.append(part)
    return tuple(where)


def _misspelt(found: Iterable[tuple[Path, Any]], cls: type[BaseModel]) -> Iterable[Path]:
    """Return the missing keys that an unknown key beside them stands for."""
    for where, each in found:
        if each["type"] == "extra_forbidden":
            meant = nearest(str(where[-1]), _keys(cls, where[:-1]))
            if meant:
                yield (*where[:-1], meant)


def _message(where: Path, each: Any, cls: type[BaseModel]) -> str:
    """Say what is wrong, what is allowed, and what was probably meant."""
    kind, context, value = each["type"], each.get("ctx", {}), each["input"]
    makers: dict[str, Callable[[], str]] = {
        "extra_forbidden": lambda: _unknown(where, cls),
        "missing": lambda: "missing, it must be given",
        "value_error": lambda: str(context["error"]),
        **dict.fromkeys(
            ("literal_error", "union_tag_invalid", "union_tag_not_found"),
            lambda: _choice(where, each, cls),
        ),
    }
    if kind in makers:
        return makers[kind]()
    must = f"must be {_KINDS[kind]}" if kind in _KINDS else _bound(kind, context)
    return f"found {_shown(value)}, {must}"


def _unknown(where: Path, cls: type[BaseModel]) -> str:
    """A key that the table does not have."""
    keys = _keys(cls, where[:-1])
    return f"unknown key, allowed are {', '.join(keys)}{did_you_mean(str(where[-1]), keys)}"


def _choice(where: Path, each: Any, cls: type[BaseModel]) -> str:
    """A value that is not one of the allowed ones."""
    if each["type"] == "literal_error":
        value, allowed = each["input"], _literals(cls, where)
    else:
        key = "from" if "from" in each["ctx"]["discriminator"] else "kind"
        value = each["input"].get(key) if isinstance(each["input"], Mapping) else each["input"]
        allowed = _tags(cls, where)
        if value is None:
            return f"`{key}` is missing, it must be one of {', '.join(allowed)}"
        if not isinstance(each["input"], Mapping):
            return f"found {_shown(value)}, must be a table"
    words = ", ".join(repr(name) for name in allowed)
    choice = f"must be {words}" if len(allowed) == 1 else f"must be one of {words}"
    return f"found {_shown(value)}, {choice}{did_you_mean(str(value), allowed)}"


def _bound(kind: str, context: Mapping[str, Any]) -> str:
    """A number or a length out of its bounds."""
    words = {
        "greater_than": "must be larger than {gt}",
        "greater_than_equal": "must be at least {ge}",
        "less_than": "must be smaller than {lt}",
        "less_than_equal": "must be at most {le}",
        "too_short": "must have at least {min_length} of them",
        "too_long": "must have at most {max_length} of them",
        "string_too_short": "must not be empty",
    }
    return words.get(kind, "is not allowed here").format(**context)


def _shown(value: object) -> str:
    """Return a value as it might be written, cut short."""
    text = {True: "true", False: "false"}.get(value) if isinstance(value, bool) else repr(value)
    text = text or ""
    return text if len(text) <= 40 else f"{text[:37]}..."  # noqa: PLR2004


def _keys(cls: type[BaseModel], where: Path) -> list[str]:
    """Return the keys allowed in a table, as they are written."""
    tables = [each for each in _types_at(cls, where) if _is_model(each)]
    keys = [f.alias or name for table in tables for name, f in table.model_fields.items()]
    return list(dict.fromkeys(keys))


def _literals(cls: type[BaseModel], where: Path) -> list[str]:
    """Return the values that a closed choice allows."""
    found = [each for each in _types_at(cls, where) if get_origin(each) is Literal]
    return list(dict.fromkeys(str(value) for each in found for value in get_args(each)))


def _tags(cls: type[BaseModel], where: Path) -> list[str]:
    """Return the names of the kinds that a table can be of."""
    kinds: list[str] = []
    for table in (each for each in _types_at(cls, where) if _is_model(each)):
        for field in ("kind", "from_"):
            if field in table.model_fields:
                kinds += get_args(table.model_fields[field].annotation)
    return list(dict.fromkeys(kinds))


def _is_model(kind: Any) -> bool:
    """Tell whether a type is one of the written classes."""
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _types_at(cls: type[BaseModel], where: Path) -> list[Any]:
    """Return every type that the value at a path may be of, unions taken apart."""
    kinds: list[Any] = [cls]
    for part in where:
        kinds = [inner for kind in kinds for inner in _step(kind, part)]
    return kinds


def _step(kind: Any, part: str | int) -> list[Any]:
    """Return the types one key or position further in."""
    if _is_model(kind):
        fields = {f.alias or name: f for name, f in kind.model_fields.items()}
        return _apart(fields[str(part)].annotation) if part in fields else []
    if get_origin(kind) in (dict, tuple):
        return _apart(get_args(kind)[1 if get_origin(kind) is dict else 0])
    return []


def _apart(kind: Any) -> list[Any]:
    """Take a type out of its annotations and unions."""
    if get_origin(kind) is Annotated:
        return _apart(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [inner for each in get_args(kind) for inner in _apart(each)]
    return [kind]

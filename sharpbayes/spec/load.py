"""TOML files -> frozen objects; every fault of every file at once."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from sharpbayes.errors import Diagnostic, SpecError, did_you_mean
from sharpbayes.library import find, folder
from sharpbayes.spec.consistency import check_files
from sharpbayes.spec.diagnostics import dotted, explain_errors, line_of
from sharpbayes.spec.files import SpecFile, StudyFiles
from sharpbayes.spec.lines import Path as KeyPath
from sharpbayes.spec.lines import key_lines
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Study
from sharpbayes.spec.weights import Weights

DEFAULT_WEIGHTS = "sharp"
# What no file that a person writes reaches.
MOST_BYTES, MOST_NAME, DEEPEST = 10_000_000, 200, 50


def load_study(path: str | Path, *, overrides: Sequence[str] = ()) -> StudyFiles:
    """Read a study, its weights and its model, and check them against each other.

    Args:
        path: A study file, or the name of a shipped study.
        overrides: ``key=value`` put over the study, dotted keys, values as in TOML.

    Raises:
        SpecError: Every fault of the files, each with file, line and key.

    Examples:
        >>> load_study("quickstart").study.spec.title
        'Quickstart: four models, three judges'
    """
    study = load(_located(str(path), "studies", None, None), Study, overrides=overrides)
    table = study.spec.panel or study.spec.crowd
    named = study.spec.weights or (DEFAULT_WEIGHTS if study.spec.panel else None)
    faults: list[Diagnostic] = []
    weights = _gathered(faults, named, "weights", Weights, study, ("weights",))
    model_key = ("panel" if study.spec.panel else "crowd", "fit")
    model = _gathered(faults, table.fit if table else None, "models", Model, study, model_key)
    if faults:
        raise SpecError(sorted(faults))
    files = StudyFiles(study, weights, model, tuple(overrides))
    check_files(files)
    load_sensitivity_weights(files)
    return files


def reload_study(attrs: Mapping[str, Any]) -> StudyFiles:
    """Read the study, weights and model that stand in the root attributes of results.

    Args:
        attrs: From :func:`sharpbayes.open_results`; the texts are those of the run, the paths of
            data start from where the study was.

    Raises:
        SpecError: The texts are not there, or this version refuses them.
    """
    overrides = tuple(json.loads(attrs.get("overrides", "[]")))
    if "study" not in attrs:
        raise SpecError([Diagnostic("--from", 0, "", "these results do not hold their study")])

    def written[T: BaseModel](kind: str, cls: type[T], over: Sequence[str] = ()) -> SpecFile[T]:
        return parse(attrs[kind], Path(attrs[f"{kind}_path"]), cls, overrides=over)

    files = StudyFiles(
        written("study", Study, overrides),
        written("weights", Weights) if "weights" in attrs else None,
        written("model", Model) if "model" in attrs else None,
        overrides,
    )
    check_files(files)
    return files


def load_sensitivity_weights(files: StudyFiles) -> dict[str, SpecFile[Weights]]:
    """Read the weights that a study's ``sensitivity`` names, by their stems.

    Raises:
        SpecError: Every fault of a file, and weights that do not suit the study.
    """
    found: dict[str, SpecFile[Weights]] = {}
    for name in files.study.spec.sensitivity.weights:
        written = load(_located(name, "weights", files.study, ("sensitivity", "weights")), Weights)
        spec = files.study.spec.model_copy(update={"weights": name})
        check_files(replace(files, study=replace(files.study, spec=spec), weights=written))
        found[written.path.stem] = written
    return found


def load[T: BaseModel](path: Path, cls: type[T], *, overrides: Sequence[str] = ()) -> SpecFile[T]:
    """Read one file as one class.

    Args:
        path: The file.
        cls: ``Study``, ``Weights`` or ``Model``.
        overrides: ``key=value`` put over the file.

    Raises:
        SpecError: Every fault of the file.
    """
    return parse(_text(path), path, cls, overrides=overrides)


def parse[T: BaseModel](
    text: str, path: Path, cls: type[T], *, overrides: Sequence[str] = ()
) -> SpecFile[T]:
    """Read the text of one file, such as results keep it, as one class; see :func:`load`."""
    data = _parsed(text, path)
    lines = key_lines(text)
    set_at = _overridden(data, overrides)
    _refuse_nul(data, path, lines)
    try:
        spec = cls.model_validate(data)
    except ValidationError as error:
        faults = explain_errors(error, cls, data, str(path), lines)
        raise SpecError(sorted(_resited(fault, set_at) for fault in faults)) from None
    return SpecFile(spec, path, text, lines)


def load_weights(name: str) -> SpecFile[Weights]:
    """Read a weights file by its shipped name, or by its path from the working folder.

    Raises:
        SpecError: Every fault of the file.

    Examples:
        >>> load_weights("equal").spec.title
        'Equal parts'
    """
    return load(_located(name, "weights", None, None), Weights)


def _gathered[T: BaseModel](  # noqa: PLR0917
    faults: list[Diagnostic],
    name: str | None,
    kind: str,
    cls: type[T],
    study: SpecFile[Study],
    key: KeyPath,
) -> SpecFile[T] | None:
    """Read a file that the study names, adding its faults to a list."""
    if name is None:
        return None
    try:
        return load(_located(name, kind, study, key), cls)
    except SpecError as error:
        faults.extend(error.diagnostics)
        return None


def _located(name: str, kind: str, study: SpecFile[Study] | None, key: KeyPath | None) -> Path:
    """Return the path that a name stands for: the shipped library, or a file beside the study."""
    if "/" in name or name.endswith(".toml"):
        return (study.path.parent if study else Path()) / name
    try:
        return find(kind, name)
    except FileNotFoundError as error:
        where = study.path if study else name
        line = study.lines.get(key or (), 0) if study else 0
        dotted = ".".join(str(part) for part in key or ())
        raise SpecError([Diagnostic(str(where), line, dotted, str(error))]) from None


def _text(path: Path) -> str:
    """Return the text of a file."""
    try:
        if path.is_file() and path.stat().st_size > MOST_BYTES:
            raise SpecError([Diagnostic(str(path), 0, "", f"larger than {MOST_BYTES} bytes")])
        if path.exists() and not path.is_file():
            raise SpecError([Diagnostic(str(path), 0, "", "not a file")])
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"not UTF-8 text (byte {error.start})"
    except FileNotFoundError:
        beside = path.parent if path.parent.is_dir() else folder("studies")
        near = did_you_mean(path.name, [each.name for each in beside.glob("*.toml")])
        message = f"no such file{near}"
    except (OSError, ValueError) as error:
        message = str(getattr(error, "strerror", None) or error)
    raise SpecError([Diagnostic(str(path)[:MOST_NAME], 0, "", message)])


def _parsed(text: str, path: Path) -> dict[str, Any]:
    """Return what TOML text says."""
    try:
        data = tomllib.loads(text)
        _refuse_deep(data)
    except RecursionError:
        message = "arrays and tables in each other too deep"
        raise SpecError([Diagnostic(str(path), 0, "", message)]) from None
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        message = str(error).split(" (at ")[0]
        line = int(place.group(1)) if place else text.count("\n") + 1
        fault = Diagnostic(
            str(path), line, "", f"not valid TOML: {message[:1].lower()}{message[1:]}"
        )
        raise SpecError([fault]) from None
    return data


def _refuse_deep(value: Any, depth: int = 0) -> None:
    """Refuse what lies deeper than any file of these kinds goes."""
    if depth > DEEPEST:
        raise RecursionError
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            _refuse_deep(inner, depth + 1)


def _refuse_nul(data: Any, path: Path, lines: Mapping[KeyPath, int]) -> None:
    """Refuse texts with a character that no results file can hold."""
    faults = [
        Diagnostic(str(path), line_of(where, lines), repr(dotted(where)), message)
        for where, text in _texts(data, ())
        for message in ["a text must not have the character U+0000"]
        if "\0" in text
    ]
    if faults:
        raise SpecError(sorted(faults))


def _texts(value: Any, where: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    """Every text of a file with its place, keys included."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield (*where, key), key
            yield from _texts(inner, (*where, key))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _texts(inner, (*where, position))


def _overridden(data: dict[str, Any], overrides: Sequence[str]) -> dict[str, str]:
    """Put ``key=value`` over the data; return the override of each dotted key."""
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise SpecError([Diagnostic("--set", 0, text, "must be key=value")])
        *tables, last = key.strip().split(".")
        table: Any = data
        for name in tables:
            table = table.setdefault(name, {}) if isinstance(table, dict) else table
        if not isinstance(table, dict):
            raise SpecError([Diagnostic("--set", 0, text, f"{'.'.join(tables)} is not a table")])
        table[last] = _value(value)
    return {text.partition("=")[0].strip(): text for text in overrides}


def _value(text: str) -> Any:
    """Return a value as TOML reads it, or the text itself."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _resited(fault: Diagnostic, set_at: Mapping[str, str]) -> Diagnostic:
    """Say of a fault that ``--set`` caused it, if it did."""
    if fault.key not in set_at:
        return fault
    return Diagnostic(f"--set {set_at[fault.key]}", 0, fault.key, fault.message)

"""TOML files -> frozen objects, with every error of every file at once."""

import codecs
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sharpbayes.errors import Diagnostic, SpecError, did_you_mean_file, require_type
from sharpbayes.library import find, folder
from sharpbayes.spec.base import Spec
from sharpbayes.spec.consistency import check_files
from sharpbayes.spec.diagnostics import explain_errors
from sharpbayes.spec.files import SpecFile, StudyFiles
from sharpbayes.spec.kinds import describe_other_kind, explain_absence, is_file
from sharpbayes.spec.lines import KeyPath, SourceText, dotted
from sharpbayes.spec.model import Model
from sharpbayes.spec.panel import Panel
from sharpbayes.spec.study import Study
from sharpbayes.spec.weights import DEFAULT_WEIGHTS, Weights

FOLDERS: dict[type[Spec], str] = {Study: "studies", Weights: "weights", Model: "models"}
NAMES: dict[type[Spec], str] = {Study: "a study", Weights: "weights", Model: "a model"}
# Limits far above any file that a person writes: bytes, keys and values, tables inside tables.
MAX_BYTES, MAX_VALUES, MAX_DEPTH, MAX_NAME = 1_000_000, 50_000, 50, 200
# A number that Python does not write: 4,300 digits, which it may have in hexadecimal.
MAX_BITS = 14_283
# A dotted key of more parts than tables may be nested; tomllib takes minutes for a million parts.
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
DEEP_KEY = re.compile(rf"(?<![\w-])(?:{_PART}){{{MAX_DEPTH}}}")

# What tomllib says of a key that stands twice, and the key in its line.
OVERWRITTEN = "Cannot overwrite a value"
WRITTEN_KEY = re.compile(r"\s*(?P<key>[\w.\"'-]+(?=\s*=)|\[[^\]]+\])")
# A path of Windows in double quotes, where a backslash begins an escape.
WINDOWS_PATH = re.compile(r'"([A-Za-z]:|\.{0,2})\\[^"]*"')
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

# A key in a message of tomllib.
TUPLE = re.compile(r"\((?:'[^']*',? ?)+\)")


def load_study(path: str | Path, *, overrides: Sequence[str] = ()) -> StudyFiles:
    """Read a study, its weights and its model, and check them against each other.

    Args:
        path: A study file, or the name of a shipped study.
        overrides: ``key=value`` to put over the study: dotted keys, values as in TOML.

    Raises:
        SpecError: Every error in the files, each with file, line and key.

    Examples:
        >>> load_study("quickstart").study.spec.title
        'Quickstart: four models, three judges'
    """
    require_type(path, str | os.PathLike, "path", "the path of a study, or a shipped name")
    _require_overrides(overrides)
    return complete_study(load(_find(str(path), Study), Study, overrides=overrides), overrides)


def _require_overrides(overrides: Sequence[str]) -> None:
    """Raise SpecError unless these are several texts; one text alone is many of one letter."""
    wanted = 'a list of texts, such as ["seed=3"]'
    require_type(overrides, list | tuple, "overrides", wanted)
    for text in overrides:
        require_type(text, str, "overrides", wanted)


def complete_study(study: SpecFile[Study], overrides: Sequence[str] = ()) -> StudyFiles:
    """Read the weights and the model that a study names, and check all against each other."""
    spec = study.spec
    weights_name = spec.weights or (DEFAULT_WEIGHTS if spec.panel else None)
    fit_key = ("panel" if spec.panel else "crowd", "fit")
    diagnostics: list[Diagnostic] = []
    weights = model = None
    if weights_name:
        with SpecError.collect(diagnostics):
            weights = _load_named(weights_name, Weights, study, ("weights",))
    if spec.table.fit:
        with SpecError.collect(diagnostics):
            model = _load_named(spec.table.fit, Model, study, fit_key)
    SpecError.raise_any(diagnostics)
    files = StudyFiles(study, weights, model, tuple(overrides))
    check_files(files)
    load_sensitivity_weights(files)
    return _add_clusters(files)


def _load_named[T: Spec](
    name: str, cls: type[T], study: SpecFile[Study], key: KeyPath
) -> SpecFile[T]:
    """Read a file that a study names; where it is not there, its error says who names it."""
    path = _find(name, cls, study, key)
    try:
        return load(path, cls)
    except SpecError as error:
        if path.exists():
            raise
        named = f" (named by {study.locate(key, '')})"
        raise SpecError(replace(x, message=x.message + named) for x in error.diagnostics) from None


def reload_study(attrs: Mapping[Any, Any]) -> StudyFiles:
    """Read the study, weights and model from their texts in the root attributes of results.

    Paths of data are relative to the folder of the study.
    """
    overrides = tuple(json.loads(attrs.get("overrides", "[]")))
    if "study" not in attrs:
        raise SpecError.at("--from", "these results do not contain their study")

    def stored[T: Spec](kind: str, cls: type[T]) -> SpecFile[T] | None:
        return parse(attrs[kind], Path(attrs[f"{kind}_path"]), cls) if kind in attrs else None

    study = parse(attrs["study"], Path(attrs["study_path"]), Study, overrides=overrides)
    files = StudyFiles(study, stored("weights", Weights), stored("model", Model), overrides)
    check_files(files)
    return _add_clusters(files)


def _add_clusters(files: StudyFiles) -> StudyFiles:
    """Return the files of a study with terms of its clusters of prompts or items in the model."""
    table, model = files.study.spec.table, files.model
    if table.roles.cluster is None or model is None:
        return files
    unit = "prompt" if isinstance(table, Panel) else "item"
    return replace(files, model=replace(model, spec=model.spec.with_clusters(unit)))


def load_sensitivity_weights(files: StudyFiles) -> dict[str, SpecFile[Weights]]:
    """Read the weights that a study names under ``sensitivity``, by the names of their files.

    Weights that do not suit the study are refused, and two files with one name, the study's own
    included.
    """
    loaded: dict[str, SpecFile[Weights]] = {}
    paths = {files.weights.path.stem: files.weights.path} if files.weights else {}
    diagnostics: list[Diagnostic] = []
    for index, name in enumerate(files.study.spec.sensitivity.weights):
        key = ("sensitivity", "weights", index)
        with SpecError.collect(diagnostics):
            path = _find(name, Weights, files.study, key)
            other = paths.setdefault(path.stem, path)
            if other is not path:
                message = f"{other} and {path} have one name in the results; rename one of them"
                message = f"{path} is named twice" if other == path else message
                raise SpecError([files.study.locate(key, message)])
            loaded[path.stem] = _load_named(name, Weights, files.study, key)
            spec = files.study.spec.model_copy(update={"weights": name})
            study = replace(files.study, spec=spec)
            check_files(replace(files, study=study, weights=loaded[path.stem]))
    SpecError.raise_any(diagnostics)
    return loaded


def load[T: Spec](path: Path, cls: type[T], *, overrides: Sequence[str] = ()) -> SpecFile[T]:
    """Read one file as a ``Study``, ``Weights`` or ``Model``, with ``key=value`` put over it."""
    return parse(read_text(path), path, cls, overrides=overrides)


def parse[T: Spec](
    text: str, path: Path, cls: type[T], *, overrides: Sequence[str] = ()
) -> SpecFile[T]:
    """Read the text of one file, such as results store it, as one class; see :func:`load`."""
    try:
        data = _read_toml(text, path)
        source = SourceText(path, text, _override(data, overrides))
        values = list(islice(_walk(data, ()), MAX_VALUES + 1))
    except RecursionError:
        raise SpecError.at(path, "tables and arrays are nested too deeply") from None
    if len(values) > MAX_VALUES:
        raise SpecError.at(path, f"more than {MAX_VALUES:,} keys and values")
    message = f"a number of more than {sys.get_int_max_str_digits():,} digits"
    SpecError.raise_any(
        source.locate(key, message)
        for key, value in values
        if isinstance(value, int) and value.bit_length() > MAX_BITS
    )
    message = "a text must not have the character U+0000"
    SpecError.raise_any(
        replace(source.locate(key, message), key=repr(dotted(key)))
        for key, value in values
        if isinstance(value, str) and "\0" in value
    )
    _refuse_kind(data, cls, source)
    if cls is Study and {"panel", "crowd"} <= {*data}:
        message = "a study has one table of ratings, [panel] or [crowd]; this file has both"
        raise SpecError([source.locate(("crowd",), message)])
    try:
        return SpecFile(path, text, source.overrides, cls.model_validate(data))
    except ValidationError as error:
        raise SpecError(explain_errors(error, cls, data, source)) from None


def _refuse_kind(data: Mapping[str, Any], cls: type[Spec], source: SourceText) -> None:
    """Raise SpecError where a file says that it is of another kind, such as a study for weights."""
    for kind, name in NAMES.items():
        start = f"sharpbayes/{kind.__name__.lower()}/"
        if kind is not cls and cls in NAMES and str(data.get("schema", "")).startswith(start):
            message = f"this file holds {name}, not {NAMES[cls]}"
            raise SpecError([source.locate(("schema",), message)])


def load_weights(name: str | Path) -> SpecFile[Weights]:
    """Read a weights file by its shipped name, or by its path from the working folder.

    Args:
        name: The name of a shipped file, or a path: one with ``/`` or that ends in ``.toml``.

    Returns:
        The file: its ``text``, its ``sha256``, and its content, ``spec``.

    Raises:
        SpecError: Every error in the file.

    Examples:
        >>> load_weights("equal").spec.title
        'Equal parts'
    """
    wanted = "the path of a weights file, or a shipped name"
    require_type(name, str | os.PathLike, "weights", wanted)
    return load(_find(str(name), Weights), Weights)


def _find(
    name: str, cls: type[Spec], study: SpecFile[Study] | None = None, key: KeyPath = ()
) -> Path:
    """Return the path that a name means: a shipped file, or a file relative to the study.

    A file that is there and of another kind is refused as what it is.
    """
    path = (study.path.parent if study else Path()) / name
    other = "" if name.endswith(".toml") else describe_other_kind(path, NAMES[cls])
    if not other and ("/" in name or name.endswith(".toml")):
        return path
    try:
        return find(FOLDERS[cls], name)
    except FileNotFoundError as error:
        message = other or _explain_unknown(path, str(error))
    raise SpecError([study.locate(key, message)]) if study else SpecError.at(name, message)


def _explain_unknown(path: Path, absence: str) -> str:
    """Return why a name is no shipped file, or which file is meant where it has an ending."""
    if is_file(path):
        return f"{absence}; a file of this name is here, but it does not end in .toml"
    near = _suggest_neighbour(path) if path.suffix else ""
    return f"no such file{near}" if near else absence


def _suggest_neighbour(path: Path) -> str:
    """Return the TOML file in the folder of a path that may be meant, as a question."""
    return did_you_mean_file(path.name, [x.name for x in path.parent.glob("*.toml")])


def read_text(path: Path) -> str:
    """Return the text of a file."""
    try:
        if path.is_file() and path.stat().st_size > MAX_BYTES:
            size = f"{path.stat().st_size:,} bytes, a file may have {MAX_BYTES:,}"
            raise SpecError.at(path, size)
        if path.exists() and not path.is_file():
            raise SpecError.at(path, explain_absence(path))
        return _decode(path.read_bytes())
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        message = f"not UTF-8 text (byte {error.start}); save it as UTF-8"
        raise SpecError.at(path, message, line=line) from None
    except FileNotFoundError:
        parent = path.parent if path.parent.is_dir() else folder("studies")
        message = f"no such file{_suggest_neighbour(parent / path.name)}"
    except (OSError, ValueError) as error:
        message = str(getattr(error, "strerror", None) or error)
    raise SpecError.at(str(path)[:MAX_NAME], message)


def _decode(content: bytes) -> str:
    """Return a text in UTF-8, or in UTF-16 by its mark, as PowerShell writes what it redirects."""
    return content.decode("utf-16" if content.startswith(UTF_16) else "utf-8-sig")


def _read_toml(text: str, path: Path) -> dict[str, Any]:
    """Return the data of a TOML text."""
    if len(text) > MAX_BYTES:
        raise SpecError.at(path, f"{len(text):,} characters, a file may have {MAX_BYTES:,} bytes")
    if DEEP_KEY.search(text):
        raise RecursionError
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        position = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        line = int(position.group(1)) if position else text.count("\n") + 1
        message = TUPLE.sub(_write_key, str(error).split(" (at ")[0])
        written_line = [*text.splitlines(), ""][line - 1]
        written = WRITTEN_KEY.match(written_line)
        if message == OVERWRITTEN and written:
            message = f"{written['key']} has a value already"
        message = f"not valid TOML: {message[:1].lower()}{message[1:]}"
        if WINDOWS_PATH.search(written_line):
            message += "; write the path with / or in single quotes"
        raise SpecError.at(path, message, line=line) from None
    except ValueError:
        message = f"not valid TOML: a number of more than {sys.get_int_max_str_digits():,} digits"
        raise SpecError.at(path, message, line=_find_long_number(text)) from None


def _write_key(names: re.Match[str]) -> str:
    """Write a key as TOML has it, of which tomllib shows the tuple of its names."""
    return dotted(tuple(re.findall("'([^']*)'", names[0])))


def _find_long_number(text: str) -> int:
    """Return the line of the first number that Python does not read; 0 where none is found."""
    match = re.search(rf"[\d_]{{{sys.get_int_max_str_digits()},}}", text)
    return text.count("\n", 0, match.start()) + 1 if match else 0


def _walk(value: object, path: KeyPath) -> Iterator[tuple[KeyPath, object]]:
    """Every key and value with its path; nesting below ``MAX_DEPTH`` is a ``RecursionError``."""
    if len(path) > MAX_DEPTH:
        raise RecursionError
    yield path, value
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*path, key), key
            yield from _walk(inner, (*path, key))


def _override(data: dict[str, Any], overrides: Sequence[str]) -> dict[str, str]:
    """Put ``key=value`` over the data, a text where it is not TOML; return them by dotted key."""
    problems: list[Diagnostic] = []
    for text in overrides:
        with SpecError.collect(problems):
            _put(data, text)
    SpecError.raise_any(problems)
    return {text.partition("=")[0].strip(): text for text in overrides}


def _put(data: dict[str, Any], text: str) -> None:
    """Put one ``key=value`` over the data."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise SpecError.at("--set", "must be key=value", key=text)
    *tables, last = key.strip().split(".")
    table: Any = data
    for name in tables:
        table = table.setdefault(name, {}) if isinstance(table, dict) else table
    if not isinstance(table, dict):
        raise SpecError.at("--set", f"{'.'.join(tables)} is not a table", key=text)
    try:
        [table[last]] = _read_toml(f"value = {value.strip()}", Path()).values()
    except (SpecError, ValueError):  # also of several lines, and of a number of very many digits
        table[last] = value

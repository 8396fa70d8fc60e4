"""The data files of a study, and a digest of their bytes."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from sharpbayes.data.readers.paths import find_files, parse_partition
from sharpbayes.errors import DataError, Diagnostic
from sharpbayes.spec.files import StudyFiles
from sharpbayes.spec.lines import KeyPath
from sharpbayes.spec.study import Study


def digest_data(files: StudyFiles) -> str:
    """Return the SHA-256 of every data file of a study, in order."""
    digest, base = hashlib.sha256(), files.study.path.parent
    for name, paths in find_data_files(files):
        for path in paths:
            digest.update("".join(parse_partition(base, name, path).values()).encode())
            with path.open("rb") as file:
                hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()


def find_data_files(files: StudyFiles) -> list[tuple[str, list[Path]]]:
    """Return the name of every table of a study with the files that it stands for, in order.

    Raises:
        DataError: Tables that are not there, each with the line of the study that names it.
    """
    study, problems, tables = files.study, list[Diagnostic](), []
    for key, name in _list_tables(study.spec):
        absent: list[Diagnostic] = []
        with DataError.collect(absent):
            tables.append((name, find_files(study.path.parent, name)))
        named = f" (named by {study.locate(key, '')})"
        problems += [replace(problem, message=problem.message + named) for problem in absent]
    DataError.raise_any(problems)
    return tables


def list_data_files(study: Study) -> list[str]:
    """Return the names of the main table and of the tables alongside it."""
    return [name for _, name in _list_tables(study)]


def _list_tables(study: Study) -> Iterator[tuple[KeyPath, str]]:
    """Key and name of the main table and of the tables alongside it."""
    kind = "crowd" if study.panel is None else "panel"
    yield (kind, "data"), study.table.data
    for key in ("prompts", "people", "raters", "items", "labels"):
        name = getattr(getattr(study.table, key, None), "data", None)
        if name is not None:
            yield (kind, key, "data"), name

"""Several plain files, such as one for each model, as one table with a column of their names."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from sharpbayes.data.readers.bounds import CELL, bound_memory, take_memory
from sharpbayes.data.readers.formats import detect_format
from sharpbayes.data.readers.paths import find_files
from sharpbayes.errors import DataError, format_list
from sharpbayes.scaffold.column_names import (
    WORDS,
    find_model,
    infer_roles,
    is_model,
    quote,
    split_name,
)
from sharpbayes.scaffold.dialect import Reading, read_with_dialect
from sharpbayes.scaffold.logs import LogTable
from sharpbayes.scaffold.nested_cells import unfold_cells

FILE = "file"
UNITS = ("model", "judge", "rater")
# A shorter label is a number or a letter.
MIN_LABEL = 3
JOINED = "the files {} are joined, and {} has the part of their names that differs"
TAKEN = "{} is taken as the {}; where it is another role write the study by `init --role ROLE={}`"
PARTLY = "not all of the files have {}; its cells are empty for the others"
LOGS = (
    "logs of other programs are given by one name: a folder, or a pattern that has no other file, "
    'in quotation marks ("logs/*.eval")'
)


def join_files(
    path: Path,
    others: Sequence[Path],
    name: str,
    declared: Mapping[str, str],
    *,
    read: Callable[[Path], Reading] = read_with_dialect,
) -> LogTable | None:
    """Return the rows of several files with a column of which file each is of.

    ``path`` may be a pattern. Without ``others``, None where it is one file, or where columns name
    what the files could be of. The column is the model where no other one is, else the judge;
    names such as ``rater_1`` make it the rater. ``read`` reads a file.
    """
    files = [file for given in (path, *others) for file in find_files(Path(), str(given))]
    files = [*dict.fromkeys(files)]
    if len(files) < 2 or (path.is_dir() and not others):  # noqa: PLR2004
        return None
    if any(detect_format(file) for file in files):
        raise DataError.at(path, LOGS)
    first = read(files[0])
    role = choose_role(first[0], files, declared)
    if not (role or others or FILE in declared.values()):
        return None
    readings = [first, *map(read, files[1:])]
    tables = [table for table, _, _ in readings]
    rows = [len(table) for table in tables]
    with bound_memory(path, files):
        take_memory(CELL * sum(rows) * (len(tables[0].columns) + 1), "the rows of all files")
    data = pd.concat(tables, ignore_index=True).fillna("")
    column = FILE if FILE not in data.columns else f"{FILE}_name"
    data[column] = np.repeat(label_files(files), rows)
    partial = [n for n in data.columns if n != column and not all(n in table for table in tables)]
    texts = [JOINED.format(format_list([quote(file.name) for file in files]), quote(column))]
    texts += [TAKEN.format(quote(column), role, column)] if role else []
    texts += [PARTLY.format(format_list(map(quote, partial)))] if partial else []
    texts += dict.fromkeys(text for _, _, assumed in readings for text in assumed)
    roles = {role: column} if role else {}
    joined = LogTable(name, data, roles=roles, assumptions=tuple(texts), is_rewritten=True)
    return unfold_cells(joined)


def fold_logs(path: Path, others: Sequence[Path]) -> tuple[Path, Sequence[Path]]:
    """Return logs of other programs as the pattern of their names that a shell expanded.

    Files that no pattern has alone stay as they are, and so do tables.
    """
    files = [path, *others]
    if len({*files}) == 1 or any(not x.is_file() or detect_format(x) is None for x in files):
        return path, others
    start = path.name[: _count_shared([file.name for file in files])]
    pattern = path.with_name(f"{start}*{path.suffix}")
    is_whole = {*find_files(Path(), str(pattern))} == {*files}
    return (pattern, ()) if is_whole else (path, others)


def choose_role(data: pd.DataFrame, files: Sequence[Path], declared: Mapping[str, str]) -> str:
    """Return what each file is of; empty where columns name it, or names of files do not say it.

    ``data`` are those of the first file.

    >>> table = pd.DataFrame(columns=["item", "harm"])
    >>> choose_role(table, [Path("gpt-4o.csv"), Path("claude.csv")], {})
    'model'
    >>> choose_role(table, [Path("coder_1.csv"), Path("coder_2.csv")], {})
    'rater'
    """
    named = {*infer_roles(data, UNITS, find_model(data, declared) | {**declared})}
    labels = label_files(files)
    texts = (f"{file.stem} {label}" for file, label in zip(files, labels, strict=True))
    words = [{*split_name(text)} for text in texts]
    is_of_models = all(map(is_model, labels))
    is_of_scorers = bool(set.intersection(*words) & {*WORDS["judge"], *WORDS["rater"]})
    if "model" in named:
        return "judge" if (is_of_models or is_of_scorers) and "judge" not in named else ""
    if is_of_scorers and not named:
        return "rater"
    is_numbered = all(re.fullmatch(r"[^\W\d]*\W*\d+", label.replace("_", "")) for label in labels)
    return "model" if is_of_models or not (named or is_numbered) else ""


def label_files(files: Sequence[Path]) -> list[str]:
    """Return the part of each file's name, or of its folder's, that differs from the others.

    A number keeps the word in front of it: ``rater_1``.

    >>> label_files([Path("results_gpt-4o.csv"), Path("results_gpt-4.csv")])
    ['gpt-4o', 'gpt-4']
    >>> label_files([Path("gpt-4o/run.csv"), Path("claude/run.csv")])
    ['gpt-4o', 'claude']
    >>> label_files([Path("rater_1.csv"), Path("rater_2.csv")])
    ['rater_1', 'rater_2']
    """
    stems = [file.stem for file in files]
    is_enough = len({*stems}) == len(stems)
    names = stems if is_enough else [file.with_suffix("").as_posix() for file in files]
    parts = [name.replace("/", "_").split("_") for name in names]
    start = min(_count_shared(parts), min(map(len, parts)) - 1)
    ends = [part[start:][::-1] for part in parts]
    end = min(_count_shared(ends), min(map(len, ends)) - 1)
    if start and any(len(part[start]) < MIN_LABEL for part in parts):
        start -= 1
    return ["_".join(part[start : len(part) - end]) for part in parts]


def _count_shared(parts: Sequence[Sequence[str]]) -> int:
    """Return how many of the first parts are the same in all."""
    differ = (n for n, words in enumerate(zip(*parts, strict=False)) if len({*words}) > 1)
    return next(differ, min(map(len, parts)))

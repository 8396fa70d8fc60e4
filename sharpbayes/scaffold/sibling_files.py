"""Files that lie beside a table of ratings and are named alike, and their names in a study."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sharpbayes.data.readers.formats import list_sheets
from sharpbayes.data.readers.paths import is_table
from sharpbayes.errors import DataError, Diagnostic, format_list
from sharpbayes.scaffold.column_names import WORDS, infer_roles, is_model, last_word, quote
from sharpbayes.scaffold.dialect import Reading, read_with_dialect
from sharpbayes.scaffold.drafts import Draft
from sharpbayes.scaffold.logs import LogTable
from sharpbayes.scaffold.nested_cells import unfold_cells
from sharpbayes.scaffold.score_columns import name_sheets
from sharpbayes.scaffold.side_tables import has_ratings

# How names of files end of what belongs to ratings; of others it is to be checked.
BELONGING = {*WORDS["rater"], *WORDS["item"], "expert", "label", "demographic"}
NAMED_ALIKE = (
    '"{}" lies beside the data, is named alike and is joined; where it belongs to another study, '
    "take it out of this one"
)

OTHER_SHEETS = (
    "this is about sheet {}, there is also {}; where the ratings are in another sheet, move it to "
    "the front, or save it as CSV"
)


def find_ratings(path: Path, folder: Path, draft: Draft, declared: Mapping[str, str]) -> LogTable:
    """Return the table of ratings: the file, or its sibling where the file has no ratings."""
    sheets = list_sheets(path) if is_table(path) and path.is_file() else []
    joined = name_sheets([read_plain(path, folder, sheet=x) for x in sheets if is_model(x)])
    if joined is not None:
        return joined
    first = sheets[0] if len(sheets) > 1 else ""
    with explain_sheets(path, first):
        table = unfold_cells(read_plain(path, folder, sheet=first))
    is_cover = bool(first) and len(table.data.columns) == 1
    is_rated = has_ratings(table) or bool(infer_roles(table.data, ("model",), {}))
    if not is_cover and (declared or is_rated):
        return table
    siblings = read_siblings(path, folder, Draft(), known=table.label)
    others = [other for other in siblings if other.label != table.label]
    rated = [other for other in others if _is_rated(other, table)]
    if is_cover and not rated:
        rated = [other for other in others if other.name == table.name]
        rated.sort(key=lambda sheet: len(sheet.data.columns), reverse=True)
    if rated:
        draft.assume("", f'"{table.label}" holds no ratings; they are in "{rated[0].label}"')
    return unfold_cells(rated[0]) if rated else table


def _is_rated(other: LogTable, table: LogTable) -> bool:
    """Tell whether another sheet, or a table beside one with a column of it, has ratings."""
    if other.name == table.name:
        return has_ratings(other) or bool(infer_roles(other.data, ("model",), {}))
    return has_ratings(other) and bool({*table.data.columns} & {*other.data.columns})


@contextmanager
def explain_sheets(path: Path, sheet: str) -> Iterator[None]:
    """Add to errors about a sheet of a workbook which others there are, and what is wrong there.

    The ``sheet`` is empty where there is only one.
    """
    try:
        yield
    except DataError as error:
        if not sheet:
            raise
        others = [name for name in list_sheets(path) if name != sheet]
        message = OTHER_SHEETS.format(quote(sheet), format_list(map(quote, others)))
        problems = [*error.diagnostics, *_list_problems(path, others)]
        raise DataError([*problems, Diagnostic(str(path), 0, "", message)]) from None


def _list_problems(path: Path, sheets: Iterable[str]) -> Iterator[Diagnostic]:
    """Yield why sheets cannot be read."""
    for sheet in sheets:
        try:
            read_plain(path, path.parent, sheet=sheet)
        except DataError as error:
            yield from error.diagnostics


def read_plain(path: Path, folder: Path, *, sheet: str = "") -> LogTable:
    """Read a plain table, in the dialect that it seems to have; errors name its sheet."""
    try:
        return name_table(path, folder, read_with_dialect(path, sheet=sheet))
    except DataError as error:
        problems = error.diagnostics
        named = [replace(x, path=f"{x.path}: {sheet}" if sheet else x.path) for x in problems]
        raise DataError(named) from None


def name_table(path: Path, folder: Path, reading: Reading) -> LogTable:
    """Return a plain table under the name of its file, with what is assumed by its dialect."""
    data, dialect, assumed = reading
    assumptions = ("; ".join(assumed),) if assumed else ()
    return LogTable(name_relative(path, folder), data, assumptions=assumptions, dialect=dialect)


def name_relative(path: Path, folder: Path) -> str:
    """Return the name of a file relative to the study, or the whole path where that is shorter."""
    absolute = path.resolve()
    try:
        relative = Path(os.path.relpath(absolute, folder.resolve()))
    except ValueError:  # on another drive of Windows
        return absolute.as_posix()
    return min(relative.as_posix(), absolute.as_posix(), key=len)


def read_siblings(path: Path, folder: Path, draft: Draft, *, known: str) -> list[LogTable]:
    """Read the sheets of a workbook, and tables named alike: ``x_raters.csv`` and ``x_items.csv``.

    One that cannot be read is left out, and the study says so. ``known`` is not read again.
    """
    start = path.stem.rsplit("_", 1)[0] + "_"
    files = sorted(file for file in path.parent.iterdir() if is_table(file) and file.is_file())
    files = [file for file in files if file.stem.startswith(start) or file == path]
    tables = []
    for file in files:
        try:
            sheets = list_sheets(file) or [""]
            if len(sheets) == 1 and name_relative(file, folder) == known:
                continue
            tables += [read_plain(file, folder, sheet=sheet) for sheet in sheets]
        except DataError as error:
            draft.assume("", f"a table alongside is left out: {error}")
    return tables


def doubt_siblings(tables: Sequence[LogTable], name: str) -> list[LogTable]:
    """Return tables with what is to be checked: whether those of another file belong to a study.

    Names that end in raters, items and the like say it, unless a table has ratings of its own.
    ``name`` is the file that was given.

    >>> import pandas as pd
    >>> tables = [LogTable(f"pilot_{end}.csv", pd.DataFrame()) for end in ("raters", "2023")]
    >>> tables += [LogTable("pilot_rater.csv", pd.DataFrame(columns=["item", "rater", "score"]))]
    >>> [table.assumptions != () for table in doubt_siblings(tables, "pilot_ratings.csv")]
    [False, True, True]
    """
    return [
        table
        if table.name == name
        or (last_word(Path(table.name).stem) in BELONGING and not has_ratings(table))
        else replace(table, assumptions=(*table.assumptions, NAMED_ALIKE.format(table.name)))
        for table in tables
    ]

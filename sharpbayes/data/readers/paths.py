"""Files that a path, a pattern or a folder stands for, and columns in the names of folders."""

import re
from pathlib import Path

from sharpbayes.errors import DataError, did_you_mean_file, first_line
from sharpbayes.spec.kinds import NO_FILE, explain_absence

# Plain tables; a folder may hold other files with the ending .txt.
TABLE_ENDINGS = (".csv", ".tsv", ".xlsx", ".parquet", ".jsonl")
# Names of files and folders that programs keep for themselves begin so.
HIDDEN = (".", "_", "~$")
# A message shows at most this many characters of a file name.
MAX_NAME = 200
# Hive and programs like it write this where a column of folders has no value.
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def find_files(base: Path, name: str) -> list[Path]:
    """Return the files that a path, a pattern or a folder stands for, in the order of their names.

    For a folder these are all tables in it and in its inner folders, except files and folders with
    a name that begins with a point or an underscore. A relative name starts from ``base``.
    """
    if "://" in name:
        raise DataError.at(name, "is an address; save the table in a file, and name that")
    path = base / name
    try:
        files = [path]
        if _is_pattern(name):
            # The folder may be a pattern too, such as one folder a model.
            parent = Path(name).parent
            is_one = not _is_pattern(parent.name)
            folders = [base / parent] if is_one else (base / parent.parent).glob(parent.name)
            files = sorted(file for folder in folders for file in folder.glob(path.name))
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if is_table(file))
            files = [f for f in files if not any(map(_is_hidden, f.relative_to(path).parent.parts))]
        files = [file for file in files if file.is_file()]
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or first_line(error)[:80]
        raise DataError.at(str(path)[:MAX_NAME], reason) from None
    if not files:
        raise DataError.at(path, _explain_absence(path))
    return files


def _explain_absence(path: Path) -> str:
    """Say why a name stands for no file of a table, and which name is near."""
    if path.is_dir():
        return f"is a folder without a file of a table ({', '.join(TABLE_ENDINGS)})"
    siblings = path.parent.glob("*.*") if path.parent.is_dir() else []
    names = [file.name for file in siblings if file.name != path.name]
    reason = explain_absence(path)
    return reason + did_you_mean_file(path.name, names) * (reason == NO_FILE)


def measure_file(path: Path) -> int:
    """Return the size of a file in bytes, of one in memory too."""
    files = getattr(path, "files", {})
    return len(files[str(path)]) if str(path) in files else path.stat().st_size


def is_table(path: Path) -> bool:
    """Tell whether a file is a plain table by its name; `~$` is a lock of Excel's."""
    return path.suffix.lower() in TABLE_ENDINGS and not path.name.startswith(HIDDEN)


def _is_hidden(folder: str) -> bool:
    """Tell whether a folder is no part of a table; one that is a column may have any name."""
    return folder.startswith(HIDDEN) and "=" not in folder


def parse_partition(base: Path, name: str, path: Path) -> dict[str, str]:
    """Return the columns that the folders of one file of a partitioned table are named after.

    Hive and programs like it name these folders ``column=value``, with ``%2F`` for ``/``; other
    names are refused.
    """
    folder = base / name
    if not folder.is_dir():
        return {}
    pairs = [part.partition("=") for part in path.relative_to(folder).parent.parts]
    for column, sign, _ in pairs:
        if not (column and sign):
            message = f"folders inside it must be named column=value, found {column!r}"
            raise DataError.at(folder, message)
    columns = {_decode(column): _decode(value) for column, _, value in pairs}
    return {column: "" if value == NO_VALUE else value for column, value in columns.items()}


def _decode(name: str) -> str:
    """Return a name with the characters that it gives as UTF-8 bytes, such as ``%2F`` for ``/``.

    >>> _decode("W%2F%C3%B6 100%")
    'W/ö 100%'
    """
    return re.sub(
        r"(?:%[0-9A-Fa-f]{2})+",
        lambda match: bytes.fromhex(match[0].replace("%", "")).decode(errors="replace"),
        name,
    )


def _is_pattern(name: str) -> bool:
    """Tell whether a name stands for several files, in folders at one depth."""
    if "**" in name:
        raise ValueError("a pattern may name files in folders at one depth, not '**'")
    return "*" in name or "?" in name

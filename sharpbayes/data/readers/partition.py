"""Tables in a folder whose inner folders are named ``column=value``, as Hive and its kin write."""

import re
from pathlib import Path

from sharpbayes.errors import DataError, Diagnostic

# What Hive and its kin write where a column of folders has no value.
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def parse_partition(base: Path, name: str, path: Path) -> dict[str, str]:
    """Return the columns that stand in the names of the folders of a partitioned table.

    Args:
        base: Folder that a relative name starts from.
        name: What the study names; only a folder has partitions.
        path: One of its files.

    Raises:
        DataError: A folder inside it has another name than ``column=value``.

    Examples:
        >>> parse_partition(Path("studies"), "x.csv", Path("studies/x.csv"))
        {}
    """
    folder = base / name
    if not folder.is_dir():
        return {}
    pairs = [part.partition("=") for part in path.relative_to(folder).parent.parts]
    for column, sign, _ in pairs:
        if not (column and sign):
            message = f"folders inside it must be named column=value, found {column!r}"
            raise DataError([Diagnostic(str(folder), 0, "", message)])
    held = {_unquoted(column): _unquoted(value) for column, _, value in pairs}
    return {column: "" if value == NO_VALUE else value for column, value in held.items()}


def _unquoted(text: str) -> str:
    """Return a name with the characters that stand in it as their UTF-8 bytes, ``%2F`` for ``/``.

    >>> _unquoted("W%2F%C3%B6 100%")
    'W/ö 100%'
    """
    return re.sub(
        r"(?:%[0-9A-Fa-f]{2})+",
        lambda found: bytes.fromhex(found[0].replace("%", "")).decode(errors="replace"),
        text,
    )

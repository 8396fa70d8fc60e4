"""What an existing file is where another kind is needed: a study, results or data."""

import re
import shlex
import stat
from pathlib import Path
from typing import Literal

Kind = Literal["a study", "results", "data"]

# The first bytes of HDF5, in which results are written, and endings of tables and logs.
HDF5 = b"\x89HDF\r\n\x1a\n"
DATA_ENDINGS = (".csv", ".tsv", ".xlsx", ".parquet", ".json", ".jsonl", ".eval")
# A key of TOML at the start of a line, or a table.
TOML = re.compile(rb"^\s*(?:[\w.-]+\s*=|\[)", re.MULTILINE)
START = 1 << 16
NO_FILE = "no such file"
REMEDIES: dict[Kind, str] = {
    "a study": "`sharpbayes check {0}` reads it, `sharpbayes measure {0}` computes its results",
    "results": "`sharpbayes report {0}` shows them",
    "data": "`sharpbayes init {0}` writes a study of them",
}


def find_kind(path: Path) -> Kind | None:
    """Return what an existing file is by its start and its ending; None where that is not clear."""
    with path.open("rb") as file:
        start = file.read(START)
    if start.startswith(HDF5):
        return "results"
    if path.suffix.lower() in DATA_ENDINGS:
        return "data"
    return "a study" if path.suffix == ".toml" and TOML.search(start) else None


def is_file(path: Path) -> bool:
    """Return whether a file is there; none has a name that is too long or leads round in links."""
    try:
        return path.is_file()
    except OSError:
        return False


def explain_absence(path: Path) -> str:
    """Say why a name leads to no plain file; ``no such file`` where nothing is there.

    >>> explain_absence(Path("/")), explain_absence(Path("/none.csv"))
    ('is a folder, must be a file', 'no such file')
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return "is a link to no file" if path.is_symlink() else NO_FILE
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    kind = "folder" if stat.S_ISDIR(mode) else "pipe" if stat.S_ISFIFO(mode) else "device"
    return f"is a {kind}, must be a file"


def describe_other_kind(path: Path, wanted: Kind | str) -> str:
    """Return what an existing file is, where it is not what is wanted, and what takes it.

    The text is empty where the file is what is wanted, is not there, or may be anything.
    """
    try:
        kind = find_kind(path) if is_file(path) else None
    except OSError:
        return ""
    if kind is None or kind == wanted:
        return ""
    return f"holds {kind}, not {wanted}; {REMEDIES[kind].format(shlex.quote(str(path)))}"

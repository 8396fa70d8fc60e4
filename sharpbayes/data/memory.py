"""Tables in memory that readers read as the files of a folder."""

from collections.abc import Mapping
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sharpbayes.data.readers.text_table import explain_texts, write_as_text
from sharpbayes.errors import SpecError, describe_value

if TYPE_CHECKING:
    import xarray as xr

A_TABLE = "a table of pandas, Polars or Arrow"


class MemoryPath(Path):
    """A path with the bytes of some files by name; any other file is that of the disk.

    >>> table = MemoryPath("a.csv", files={"a.csv": b"x"})
    >>> table.is_file(), table.open("rb").read(), table.with_name("b.csv").is_file()
    (True, b'x', False)
    """

    def __init__(self, *segments: str | Path, files: Mapping[str, bytes]) -> None:
        """Make the path of its segments; ``files`` are bytes by path."""
        super().__init__(*segments)
        self.files = files

    def with_segments(self, *segments: Any) -> "MemoryPath":
        """Return a path derived from this one, with the same files."""
        return MemoryPath(*segments, files=self.files)

    def is_file(self, **options: bool) -> bool:
        """Return whether there is such a file, in memory or on disk."""
        return str(self) in self.files or super().is_file(**options)

    def open(self, mode: str = "r", *options: Any, **named: Any) -> IO[Any]:  # type: ignore[override]
        """Open a file; those in memory can only be read."""
        if str(self) not in self.files:
            return super().open(mode, *options, **named)
        content = BytesIO(self.files[str(self)])
        return content if "b" in mode else TextIOWrapper(content, *options, **named)

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the files where the path is sent to another process."""
        return _restore_path, (str(self), dict(self.files))


def _restore_path(path: str, files: Mapping[str, bytes]) -> MemoryPath:
    """Return the path that another process sent."""
    return MemoryPath(path, files=files)


def convert_frame(frame: Any) -> pd.DataFrame:
    """Return a DataFrame with texts as names; named levels of its index are its first columns.

    ``frame`` is a table of pandas, one that has ``to_pandas`` (Polars, Arrow), or what
    ``pandas.DataFrame`` takes. A level that repeats a column is left out.

    >>> convert_frame(pd.DataFrame({1: [3, 4]}, index=pd.Index(["a", "b"], name="model")))
      model  1
    0     a  3
    1     b  4
    """
    if frame is None:  # of which pandas makes an empty table
        raise SpecError.at("frame", f"found None, must be {A_TABLE}")
    try:
        table: pd.DataFrame = (
            frame.to_pandas() if hasattr(frame, "to_pandas") else pd.DataFrame(frame)
        )
    except (TypeError, ValueError):
        message = f"found {describe_value(frame)}, must be {A_TABLE}"
        raise SpecError.at("frame", message) from None
    columns = [column for _, column in table.items()]
    levels = [
        table.index.get_level_values(number).to_series(index=table.index)
        for number, name in enumerate(table.index.names)
        if name is not None
    ]
    levels = [x for x in levels if not any(x.name == y.name and x.equals(y) for y in columns)]
    if not levels + columns:
        return table
    joined = pd.concat([*levels, *columns], axis=1, ignore_index=True)
    names = [str(column.name) for column in [*levels, *columns]]
    return joined.set_axis(names, axis=1).reset_index(drop=True)


def format_frame(frame: Any) -> bytes:
    r"""Return a DataFrame as the bytes of a CSV file, with the named levels of its index.

    ``frame`` is what :func:`convert_frame` takes. Missing values are empty cells.

    >>> format_frame({"model": ["a", None], "score": [3.0, None], "safe": [True, False]})
    b'model,score,safe\na,3,true\n,,false\n'

    Raises:
        DataError: A text that no file can hold.
    """
    table = convert_frame(frame)
    with explain_texts(Path("DataFrame")):
        # Columns may share a name, which the reader refuses.
        texts = write_as_text(table.set_axis(range(len(table.columns)), axis=1))
        return texts.to_csv(index=False, header=[*table.columns], lineterminator="\n").encode()


def pack_tables(path: Path) -> "dict[str, xr.Dataset]":
    """Return the tables in memory as a group of results, ``tables``; none for a path on disk."""
    import xarray as xr  # noqa: PLC0415 - `check` starts without xarray

    if not isinstance(path, MemoryPath):
        return {}
    contents = {name: np.frombuffer(content, np.uint8) for name, content in path.files.items()}
    return {"tables": xr.Dataset({n: (f"byte of {n}", data) for n, data in contents.items()})}


def unpack_tables(path: Path, tables: "xr.Dataset") -> MemoryPath:
    """Return a path with the tables that :func:`pack_tables` packed."""
    files = {str(name): table.to_numpy().tobytes() for name, table in tables.items()}
    return MemoryPath(path.name, files=files)

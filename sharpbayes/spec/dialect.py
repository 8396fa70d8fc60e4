"""How a file of a table is written: the dialect of a text file, and the sheet of a workbook."""

import json
from typing import Annotated, Any, Literal

from pydantic import Field

from sharpbayes.spec.base import AnyNames, Name, Spec

Encoding = Literal[
    "utf-8",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "latin-1",
    "windows-1250",
    "windows-1251",
    "windows-1252",
    "windows-1253",
    "windows-1254",
    "windows-1257",
    "iso-8859-2",
    "iso-8859-15",
    "koi8-r",
    "mac-roman",
    "shift_jis",
    "euc-jp",
    "gb18030",
    "big5",
    "euc-kr",
]
Delimiter = Literal[",", ";", "\t", "|"]


class Dialect(Spec):
    """How a plain table is written, where it differs from CSV in UTF-8."""

    delimiter: Delimiter | None = None
    """Character between the cells of a text file. Default: a tab in `.tsv` and `.txt`, else a
    comma; the first line `sep=;` of Excel counts."""
    decimal: Literal[".", ","] = "."
    """Character before decimals. With `,` a cell such as `3,5` is 3.5."""
    encoding: Encoding | None = None
    """Encoding of a text file. Default: UTF-16 after its byte order mark, else UTF-8."""
    missing: AnyNames = ()
    """Texts that stand for an empty cell in every column, such as `["NA"]` of R. Default: none."""
    sheet: Name | None = None
    """Sheet of a workbook. Needed where it has several."""

    def to_toml(self, **changes: Any) -> str:
        """Return the line of a study that gives this dialect, with some keys changed.

        >>> Dialect(delimiter=";").to_toml(decimal=",")
        'dialect = { delimiter = ";", decimal = "," }'
        """
        keys = self.model_dump(exclude_defaults=True) | changes
        # A list or a text in JSON is one in TOML.
        pairs = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in keys.items())
        return f"dialect = {{ {', '.join(pairs)} }}"


class DataFile(Spec):
    """A file of a table, and how it is written."""

    data: Name
    """Path of the file, relative to the study."""
    dialect: Dialect = Dialect()
    """How the file is written. Default: CSV in UTF-8, or as the file's own format says."""
    rename: dict[Name, Annotated[dict[Name, Name], Field(min_length=1)]] = {}
    """Labels to read as others, by column, such as `{ model = { "gpt " = "GPT" } }` where two
    spellings mean one model. Default: none."""

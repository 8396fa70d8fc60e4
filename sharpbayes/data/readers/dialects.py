"""The dialect that a text file seems to have, for `init` and for messages; nothing reads by it."""

import codecs
import csv
import io
import re
from itertools import islice
from pathlib import Path
from typing import get_args

from sharpbayes.spec.dialect import Delimiter, Dialect, Encoding

UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Excel writes and reads the delimiter in a line above the names.
EXCEL_LINE = re.compile(r'"?sep=([,;\t|])"?\r?\n', re.IGNORECASE)
# Bytes at the start of a file, and rows in them, that show its delimiter.
START, ROWS = 1 << 16, 50
CHUNK = 1 << 20
# At least this share of the first or of the second bytes of characters is 0 in a text of UTF-16.
UTF_16_SHARE = 0.25


def find_delimiter(path: Path, start: str) -> tuple[str, int]:
    """Return the delimiter that a file says or that its ending means, and the row of the names."""
    excel = EXCEL_LINE.match(start)
    if excel:
        return excel[1], 2
    return "," if path.suffix.lower() == ".csv" else "\t", 1


def guess_dialect(path: Path) -> Dialect:
    """Return the encoding and the delimiter of a text file, where they are not the usual ones."""
    encoding = _guess_encoding(path)
    with path.open("rb") as file:
        start = file.read(START)
    marked = start[:2] in UTF_16_MARKS
    text = start.decode(encoding or ("utf-16" if marked else "utf-8-sig"), errors="replace")
    usual, header_row = find_delimiter(path, text)
    if len(start) == START:  # the last line may be cut
        text = text.rpartition("\n")[0]
    text = text.partition("\n")[2] if header_row > 1 else text
    delimiter = _guess_delimiter(text, usual)
    return Dialect(encoding=encoding, delimiter=None if delimiter == usual else delimiter)


def _guess_encoding(path: Path) -> Encoding | None:
    """Return an encoding for a file that is neither UTF-8 nor UTF-16 with a mark, else None."""
    with path.open("rb") as file:
        start = file.read(START)
        if start[:2] in UTF_16_MARKS:
            return None
        # One of two bytes of most characters in UTF-16 is 0: the second if it comes first.
        zeros = {"utf-16-be": start[::2].count(0), "utf-16-le": start[1::2].count(0)}
        fewer, more = sorted(zeros.values())
        if more > 2 * fewer and more >= UTF_16_SHARE * len(start) / 2:
            return "utf-16-le" if zeros["utf-16-le"] == more else "utf-16-be"
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            decoder.decode(start)
            while chunk := file.read(CHUNK):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            # What Excel writes in Western Europe and America; Latin-1 is a part of it.
            return "windows-1252"
    return None


def _guess_delimiter(text: str, usual: str) -> Delimiter | None:
    r"""Return the delimiter that gives rows as many cells as the first, and the most of them.

    >>> _guess_delimiter("item;score, 1-5\na;3,5\nb;4", ",")
    ';'
    """
    widths: dict[Delimiter, int] = {}
    for delimiter in get_args(Delimiter):
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            cells = {len(row) for row in islice(rows, ROWS) if row}
        except csv.Error:
            continue
        if len(cells) == 1:
            widths[delimiter] = cells.pop()
    best = max(widths, key=lambda name: (widths[name], name == usual), default=None)
    return best if best is not None and widths[best] > 1 else None

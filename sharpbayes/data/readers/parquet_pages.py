"""The heads of the pages of a Parquet file, which say what a page becomes before it is unpacked.

Arrow allocates what these heads declare. They are written in the compact protocol of Thrift.

Source: https://parquet.apache.org/docs/file-format/metadata/ and
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
"""

import mmap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyarrow.parquet import ColumnChunkMetaData

# Fields of a page head: sizes, and the head that belongs to its kind.
UNPACKED, PACKED, DATA, DICTIONARY, DATA_2 = 2, 3, 5, 7, 8
# Fields of the inner heads: the number of values, and how they are encoded.
VALUES, ENCODING = 1, {DATA: 2, DATA_2: 4, DICTIONARY: 2}
# Each value repeats the start of the one before.
DELTA_BYTE_ARRAY = 7
TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
MAX_DEPTH = 20


@dataclass(frozen=True)
class Page:
    """What the head of a page declares: bytes when unpacked, values of rows, encoding."""

    size: int
    rows: int
    encoding: int


def list_pages(path: Path, chunks: "Iterable[ColumnChunkMetaData]") -> Iterator[Page]:
    """Yield the pages of column chunks, as their heads in the file declare them."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        for chunk in chunks:
            yield from _list_chunk(content, chunk)


def _list_chunk(content: mmap.mmap, chunk: "ColumnChunkMetaData") -> Iterator[Page]:
    """Yield the pages of one chunk; Arrow stops at its number of values too."""
    starts = [chunk.data_page_offset, chunk.dictionary_page_offset or 0]
    position = min(start for start in starts if start > 0)
    remaining = chunk.num_values
    while remaining > 0 and position < len(content):
        reader = _CompactReader(content, position)
        head = reader.read_struct()
        kind = next(field for field in (DICTIONARY, DATA, DATA_2) if field in head)
        values = 0 if kind == DICTIONARY else head[kind][VALUES]
        page = Page(head[UNPACKED], values, head[kind][ENCODING[kind]])
        if min(page.size, page.rows, head[PACKED]) < 0:
            raise ValueError("a page of a negative size")
        yield page
        remaining -= page.rows
        position = reader.position + head[PACKED]


class _CompactReader:
    """Reads one structure from bytes; of texts and lists it keeps nothing."""

    def __init__(self, content: mmap.mmap, position: int) -> None:
        self.content = content
        self.position = position

    def read_struct(self, depth: int = 0) -> dict[int, Any]:
        """Read the fields of a structure by their numbers."""
        if depth > MAX_DEPTH:
            raise ValueError("nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self.read_byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self.read_integer()
            fields[number] = kind == TRUE if kind in (TRUE, FALSE) else self.read_value(kind, depth)
        return fields

    def read_value(self, kind: int, depth: int) -> Any:
        """Read a value of a kind; a number or a structure is returned."""
        if kind == STRUCT:
            return self.read_struct(depth + 1)
        if kind in (TRUE, FALSE, BYTE):
            return self.read_byte()
        if kind == DOUBLE:
            self.position += 8
        elif kind == BINARY:
            size = self.read_size()
            self.position += size
        elif kind in (LIST, SET):
            self.skip_list(depth)
        elif kind == MAP:
            raise ValueError("a map, which no page head has")
        else:
            return self.read_integer()
        return None

    def skip_list(self, depth: int) -> None:
        """Move over a list."""
        head = self.read_byte()
        size = self.read_size() if head >> 4 == 15 else head >> 4  # noqa: PLR2004
        for _ in range(size):
            self.read_value(head & 15, depth + 1)

    def read_byte(self) -> int:
        """Read one byte."""
        byte = self.content[self.position]
        self.position += 1
        return byte

    def read_size(self) -> int:
        """Read a number without a sign, seven bits a byte."""
        size = shift = 0
        while (byte := self.read_byte()) & 128:
            size |= (byte & 127) << shift
            shift += 7
            if shift > 63:  # noqa: PLR2004
                raise ValueError("a number of more than 64 bits")
        return size | byte << shift

    def read_integer(self) -> int:
        """Read a number with a sign, in zigzag order."""
        size = self.read_size()
        return size >> 1 ^ -(size & 1)

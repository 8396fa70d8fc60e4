"""Zip archives of others, read with bounds on members, sizes and compression; never unpacked."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path, PurePosixPath
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import pyarrow as pa

from sharpbayes.data.columns import format_count
from sharpbayes.errors import DataError, Diagnostic

ZSTANDARD = 93
METHODS = (ZIP_STORED, ZIP_DEFLATED, ZSTANDARD)
MOST_MEMBERS = 200_000
MOST_BYTES = 1 << 29
MOST_TOTAL = 1 << 35
# Texts that repeat themselves are compressed a hundredfold; a bomb a hundred thousandfold. What is
# small may be compressed at will.
MOST_RATIO, FREE = 1000, 1 << 20
BOMB = f"compressed more than {MOST_RATIO} times, as a bomb is"
ENCRYPTED = 1
ARCHIVES = (".zip", ".eval", ".gz", ".zst", ".tar")


class Archive:
    """The members of an open archive by name; of two of one name the last, as zip readers do."""

    def __init__(self, held: ZipFile, path: Path) -> None:
        """Take an open archive, and its file for messages."""
        self._held = held
        self._path = path
        self._members = {each.filename: each for each in held.infolist() if not each.is_dir()}

    @property
    def names(self) -> list[str]:
        """Names of the members, in the order of the archive."""
        return list(self._members)

    def read(self, name: str) -> bytes:
        """Return the bytes of a member.

        Raises:
            DataError: It has another checksum than the archive declares.
        """
        member = self._members[name]
        # One byte more than declared shows a member that is longer.
        if member.compress_type == ZSTANDARD:
            content = self._zstandard(member)
        else:
            with self._held.open(member) as stream:
                content = stream.read(member.file_size + 1)
        if zlib.crc32(content) != member.CRC:
            message = "its content is not the one that the archive declares, by its checksum"
            raise DataError([Diagnostic(str(self._path), 0, name, message)])
        return content

    def _zstandard(self, member: ZipInfo) -> bytes:
        """Decompress by Arrow what zipfile hands out as it is stored."""
        if not pa.Codec.is_available("zstd"):
            message = "compressed by zstandard, which this build of PyArrow cannot read"
            raise DataError([Diagnostic(str(self._path), 0, member.filename, message)])
        raw = copy(member)
        raw.compress_type, raw.file_size = ZIP_STORED, member.compress_size
        # The checksum is that of the content; zipfile looks at none where there is none.
        del raw.CRC
        with self._held.open(raw) as stored, pa.CompressedInputStream(stored, "zstd") as stream:
            content: bytes = stream.read(member.file_size + 1)
            return content


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open an archive, after a look at what it declares.

    Raises:
        DataError: Too many members, one that is too large, compressed beyond reason, encrypted,
            an archive itself, or has a name that leads elsewhere.
    """
    with ZipFile(path) as held:
        faults = list(_faults(held.infolist(), path))
        if faults:
            raise DataError(faults)
        yield Archive(held, path)


def _faults(members: list[ZipInfo], path: Path) -> Iterator[Diagnostic]:
    """What is wrong with an archive, the first few of it."""
    if len(members) > MOST_MEMBERS:
        message = f"{format_count(len(members), 'member')}, at most {MOST_MEMBERS} are read"
        yield Diagnostic(str(path), 0, "", message)
        return
    total = sum(member.file_size for member in members)
    if total > MOST_TOTAL:
        message = f"{total} bytes when unpacked, at most {MOST_TOTAL} are read"
        yield Diagnostic(str(path), 0, "", message)
    if sum(member.compress_size for member in members) > path.stat().st_size:
        yield Diagnostic(str(path), 0, "", "its members are larger than the file: some overlap")
    wrong = ((member, said) for member in members if (said := _wrong(member)))
    for _, (member, said) in zip(range(5), wrong, strict=False):
        yield Diagnostic(str(path), 0, repr(member.orig_filename), said)


def _wrong(member: ZipInfo) -> str:
    """Say what is wrong with a member as it is declared; nothing for one that is in order."""
    method, size = member.compress_type, member.file_size
    found = (
        (_escapes(member.orig_filename), "a name that leads out of the archive"),
        (member.orig_filename.lower().endswith(ARCHIVES), "an archive inside an archive"),
        (bool(member.flag_bits & ENCRYPTED), "encrypted"),
        (method not in METHODS, f"method {method} is none of stored, deflate and zstandard"),
        (size > MOST_BYTES, f"{size} bytes when unpacked, at most {MOST_BYTES} are read"),
        (size > max(FREE, MOST_RATIO * member.compress_size), BOMB),
    )
    return next((said for wrong, said in found if wrong), "")


def _escapes(name: str) -> bool:
    r"""Tell whether a name is no plain path inside the archive.

    >>> [_escapes(name) for name in ("a/b.json", "../b", "/b", "a\\b", "C:/b", "a/./b")]
    [False, True, True, True, True, False]
    """
    path = PurePosixPath(name)
    strange = not name.isprintable() or "\\" in name or name[1:2] == ":"
    return strange or path.is_absolute() or ".." in path.parts

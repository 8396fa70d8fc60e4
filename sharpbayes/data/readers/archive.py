"""Zip archives: members, sizes and compression are bounded, and nothing is unpacked."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path, PurePosixPath
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import pyarrow as pa

from sharpbayes.data.readers.bounds import refuse_excess
from sharpbayes.errors import DataError, Diagnostic, format_count

ZSTANDARD = 93
METHODS = (ZIP_STORED, ZIP_DEFLATED, ZSTANDARD)
MAX_MEMBERS = 200_000
MAX_BYTES = 1 << 29
# Repetitive text is compressed a hundredfold, a decompression bomb a hundred thousandfold. Members
# of at most FREE_BYTES may be compressed at will.
MAX_RATIO, FREE_BYTES = 1000, 1 << 20
BOMB = f"compressed more than {MAX_RATIO} times, as a bomb is"
ENCRYPTED = 1
ARCHIVES = (".zip", ".eval", ".gz", ".zst", ".tar")
# An error lists at most this many members.
MAX_SHOWN = 5


class Archive:
    """The members of an open archive by name; of two with one name the last, as zip readers do."""

    def __init__(self, file: ZipFile, path: Path) -> None:
        """Take an open archive, and its path for messages."""
        self._file = file
        self._path = path
        self.members = {
            member.filename: member for member in file.infolist() if not member.is_dir()
        }

    def read(self, name: str) -> bytes:
        """Return the bytes of a member; another checksum than the declared one is refused."""
        member = self.members[name]
        if member.compress_type == ZSTANDARD:
            content = self._decompress_zstandard(member)
        else:
            with self._file.open(member) as stream:
                # One byte more than declared shows a member that is longer.
                content = stream.read(member.file_size + 1)
        if zlib.crc32(content) != member.CRC:
            message = "its content is not the one that the archive declares, by its checksum"
            raise DataError.at(self._path, message, key=name)
        return content

    def _decompress_zstandard(self, member: ZipInfo) -> bytes:
        """Decompress with Arrow the bytes that zipfile returns as they are stored."""
        raw = copy(member)
        raw.compress_type, raw.file_size = ZIP_STORED, member.compress_size
        # The checksum is of the content; without one zipfile checks none.
        del raw.CRC
        with self._file.open(raw) as stored, pa.CompressedInputStream(stored, "zstd") as stream:
            return bytes(stream.read(member.file_size + 1))


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open an archive, after a look at its declared members."""
    with ZipFile(path) as file:
        DataError.raise_any(_check_members(file.infolist(), path))
        yield Archive(file, path)


def _check_members(members: list[ZipInfo], path: Path) -> Iterator[Diagnostic]:
    """Check an archive as a whole, then its members; the first few wrong ones are listed."""
    if len(members) > MAX_MEMBERS:
        message = f"{format_count(len(members), 'member')}, at most {MAX_MEMBERS} are read"
        yield Diagnostic(str(path), 0, "", message)
        return
    refuse_excess(path, sum(member.file_size for member in members), "its members, unpacked,")
    if sum(member.compress_size for member in members) > path.stat().st_size:
        yield Diagnostic(str(path), 0, "", "its members are larger than the file: some overlap")
    wrong = ((member, message) for member in members if (message := _check_member(member)))
    for _, (member, message) in zip(range(MAX_SHOWN), wrong, strict=False):
        yield Diagnostic(str(path), 0, repr(member.orig_filename), message)


def _check_member(member: ZipInfo) -> str:
    """Return what is wrong with a member as it is declared; empty if nothing is."""
    method, size, name = member.compress_type, member.file_size, member.orig_filename
    path = PurePosixPath(name)
    escapes = not name.isprintable() or "\\" in name or name[1:2] == ":"
    escapes |= path.is_absolute() or ".." in path.parts
    checks = (
        (escapes, "a name that leads out of the archive"),
        (name.lower().endswith(ARCHIVES), "an archive inside an archive"),
        (bool(member.flag_bits & ENCRYPTED), "encrypted"),
        (method not in METHODS, f"method {method} is none of stored, deflate and zstandard"),
        (size > MAX_BYTES, f"{size} bytes when unpacked, at most {MAX_BYTES} are read"),
        (size > max(FREE_BYTES, MAX_RATIO * member.compress_size), BOMB),
    )
    return next((message for wrong, message in checks if wrong), "")

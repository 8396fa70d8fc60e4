"""What a file is by its first bytes, where its name says something else."""

import re
from collections.abc import Mapping
from pathlib import Path

from sharpbayes.errors import DataError

NO_RATINGS = "name the file that has the ratings"
UNPACK = "unpack it, and name what was in it"
# The first bytes of a kind of file: what it is, what to do, and the endings that it may have.
SIGNATURES: Mapping[bytes, tuple[str, str, tuple[str, ...]]] = {
    rb"\x89PNG\r\n\x1a\n": ("a PNG picture", NO_RATINGS, ()),
    rb"\xff\xd8\xff": ("a JPEG picture", NO_RATINGS, ()),
    rb"GIF8[79]a": ("a GIF picture", NO_RATINGS, ()),
    rb"%PDF-": ("a PDF document", NO_RATINGS, ()),
    rb"\x89HDF\r\n\x1a\n": ("an HDF5 or netCDF file", NO_RATINGS, ()),
    rb"SQLite format 3\0": ("an SQLite database", "save the table as CSV or Parquet", ()),
    rb"PAR1[\x15-\x1c]": ("a Parquet table", "give its name the ending .parquet", (".parquet",)),
    rb"ARROW1\0\0": ("a Feather table", "save it as Parquet or CSV", ()),
    rb"PK\x03\x04": (
        "a ZIP archive or an Excel workbook",
        f"give the name of a workbook the ending .xlsx; of an archive, {UNPACK}",
        (".xlsx", ".eval"),
    ),
    rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": (
        "an encrypted workbook, or a document of Office before 2007",
        "save a workbook as .xlsx without a password, or as CSV",
        (),
    ),
    rb"\x1f\x8b\x08": ("compressed by gzip", UNPACK, ()),
    rb"\x28\xb5\x2f\xfd": ("compressed by Zstandard", UNPACK, ()),
    rb"BZh[1-9]1AY&SY": ("compressed by bzip2", UNPACK, ()),
    rb"\xfd7zXZ\0": ("compressed by xz", UNPACK, ()),
    rb"7z\xbc\xaf\x27\x1c": ("a 7z archive", UNPACK, ()),
}
START = 16


def refuse_other_kinds(path: Path) -> None:
    """Refuse a file whose first bytes are those of another kind of file than its ending.

    Raises:
        DataError: It says what the file is, and what to do.
    """
    with path.open("rb") as file:
        start = file.read(START)
    for signature, (kind, remedy, endings) in SIGNATURES.items():
        if path.suffix.lower() not in endings and re.match(signature, start):
            raise DataError.at(path, f"is {kind}, whatever its ending says; {remedy}")

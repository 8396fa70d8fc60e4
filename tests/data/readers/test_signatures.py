"""Files that are something else than their name says: what they are and what to do is said."""

import pytest
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.data.readers.formats import read_table
from sharpbayes.data.readers.signatures import NO_RATINGS, SIGNATURES, UNPACK
from sharpbayes.errors import DataError

TABLE = "item,rater,score\na,x,1\nb,y,2\n"
WORKBOOK = f"give the name of a workbook the ending .xlsx; of an archive, {UNPACK}"
FILES = {
    "a PNG picture": (b"\x89PNG\r\n\x1a\n", NO_RATINGS),
    "a JPEG picture": (b"\xff\xd8\xff\xe0", NO_RATINGS),
    "a GIF picture": (b"GIF89a", NO_RATINGS),
    "a PDF document": (b"%PDF-1.7", NO_RATINGS),
    "an HDF5 or netCDF file": (b"\x89HDF\r\n\x1a\n", NO_RATINGS),
    "an SQLite database": (b"SQLite format 3\0", "save the table as CSV or Parquet"),
    "a Parquet table": (b"PAR1\x15\x04", "give its name the ending .parquet"),
    "a Feather table": (b"ARROW1\0\0", "save it as Parquet or CSV"),
    "a ZIP archive or an Excel workbook": (b"PK\x03\x04", WORKBOOK),
    "an encrypted workbook, or a document of Office before 2007": (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "save a workbook as .xlsx without a password, or as CSV",
    ),
    "compressed by gzip": (b"\x1f\x8b\x08", UNPACK),
    "compressed by Zstandard": (b"\x28\xb5\x2f\xfd", UNPACK),
    "compressed by bzip2": (b"BZh91AY&SY", UNPACK),
    "compressed by xz": (b"\xfd7zXZ\0", UNPACK),
    "a 7z archive": (b"7z\xbc\xaf\x27\x1c", UNPACK),
}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("ending", [".csv", ".txt", ".jsonl"])
def test_a_file_of_another_kind_is_named_with_what_to_do(tmp_path, kind, ending):
    start, remedy = FILES[kind]
    path = tmp_path / f"t{ending}"
    path.write_bytes(start + bytes(range(256)))
    with pytest.raises(DataError) as raised:
        read_table(tmp_path, path.name)
    assert str(raised.value) == f"{path}: is {kind}, whatever its ending says; {remedy}"


def test_every_kind_has_a_case():
    assert {kind for kind, _, _ in SIGNATURES.values()} == {*FILES}


@pytest.mark.parametrize("name", ["PAR1", "GIF8", "BZh", "7z", "PK", "%PDF"])
def test_a_column_named_like_a_kind_of_file_is_read(tmp_path, name):
    (tmp_path / "t.csv").write_text(TABLE.replace("item", name), encoding="utf-8")
    assert [*read_table(tmp_path, "t.csv").columns] == [name, "rater", "score"]


def test_init_and_check_say_it_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    done = CliRunner().invoke(app, ["init", "t.csv"])
    message = f"t.csv: is a PNG picture, whatever its ending says; {NO_RATINGS}\n"
    assert (done.exit_code, done.stderr) == (3, message)

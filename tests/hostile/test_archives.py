"""Archives that are made to fill a disk or memory, to lead elsewhere or to say two things."""

import json
import struct
import warnings
import zipfile

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.data.readers import archive, bounds
from sharpbayes.data.readers.archive import open_archive
from sharpbayes.data.readers.formats import read_table
from sharpbayes.errors import DataError

HEAD = json.dumps({"eval": {"task": "t", "model": "m"}})
SAMPLE = json.dumps({"id": 1, "epoch": 1, "scores": {"s": {"value": 3}}})
PLAIN = {"header.json": HEAD, "samples/1_epoch_1.json": SAMPLE}
BOMB = b" " * (1 << 24)


def written(folder, members, *, method=zipfile.ZIP_DEFLATED):
    path = folder / "log.eval"
    with zipfile.ZipFile(path, "w", method) as zipped:
        for name, content in members.items():
            zipped.writestr(name, content)
    return path


def patched(path, before, after, *, count=-1):
    """Write other bytes into the directory and the heads of members."""
    content = path.read_bytes()
    assert before in content
    path.write_bytes(content.replace(before, after, count))
    return path


def refused(path, *words):
    """What a user sees: exit 3, a message that names the file, no traceback."""
    with pytest.raises(DataError) as raised:
        read_table(path.parent, path.name, "inspect")
    assert raised.value.exit_status == 3
    for word in (str(path), *words):
        assert word in str(raised.value)
    done = CliRunner().invoke(app, ["init", str(path), "--out", str(path.parent / "s.toml")])
    assert done.exit_code == 3
    assert "Traceback" not in done.output


def zstandard(path):
    """The same archive as newer versions of Inspect write it, by Arrow's compressor."""
    with zipfile.ZipFile(path) as zipped:
        contents = {member.filename: zipped.read(member) for member in zipped.infolist()}
    packed = {
        name: pa.Codec("zstd").compress(text, asbytes=True) for name, text in contents.items()
    }
    with zipfile.ZipFile(path, "w") as zipped:
        for name, text in packed.items():
            zipped.writestr(name, text)
    content = bytearray(path.read_bytes())
    for start, method, size, crc in ((b"PK\x03\x04", 8, 22, 14), (b"PK\x01\x02", 10, 24, 16)):
        offset = -1
        for text in contents.values():
            offset = content.index(start, offset + 1)
            struct.pack_into("<H", content, offset + method, 93)
            struct.pack_into("<I", content, offset + size, len(text))
            struct.pack_into("<I", content, offset + crc, zipfile.crc32(text))
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_archive_in_order_is_read(tmp_path, method):
    path = written(tmp_path, PLAIN, method=method)
    assert read_table(tmp_path, path.name, "inspect")["score"].tolist() == ["3"]


def test_zstandard_in_one_frame_and_in_several(tmp_path):
    path = zstandard(written(tmp_path, PLAIN))
    assert read_table(tmp_path, path.name, "inspect")["score"].tolist() == ["3"]
    frames = b"".join(pa.Codec("zstd").compress(part, asbytes=True) for part in (b"ab", b"cd"))
    with pa.CompressedInputStream(pa.BufferReader(frames), "zstd") as stream:
        assert stream.read(5) == b"abcd"


@pytest.mark.parametrize("pack", [lambda path: path, zstandard], ids=["deflate", "zstandard"])
def test_a_bomb(tmp_path, pack):
    path = pack(written(tmp_path, PLAIN | {"samples/2_epoch_1.json": BOMB}))
    assert path.stat().st_size < 1 << 16
    refused(path, "samples/2_epoch_1.json", "compressed more than 1000 times")


@pytest.mark.parametrize("pack", [lambda path: path, zstandard], ids=["deflate", "zstandard"])
def test_a_member_that_is_larger_than_it_says(tmp_path, pack):
    """It unpacks to 16 MB and declares 3000 bytes: no more than those are unpacked."""
    path = pack(written(tmp_path, PLAIN | {"samples/2_epoch_1.json": BOMB}))
    patched(path, struct.pack("<I", len(BOMB)), struct.pack("<I", 3000))
    refused(path)


def test_no_more_is_unpacked_than_a_byte_beyond_what_is_declared(tmp_path, monkeypatch):
    asked = []

    class Watched(pa.CompressedInputStream):
        def read(self, nbytes=None):
            asked.append(nbytes)
            return super().read(nbytes)

    path = zstandard(written(tmp_path, PLAIN))
    monkeypatch.setattr(pa, "CompressedInputStream", Watched)
    read_table(tmp_path, path.name, "inspect")
    assert asked == [len(HEAD) + 1, len(SAMPLE) + 1]


@pytest.mark.parametrize("pack", [lambda path: path, zstandard], ids=["deflate", "zstandard"])
def test_a_checksum_that_is_not_that_of_the_content(tmp_path, pack):
    path = pack(written(tmp_path, PLAIN))
    crc = struct.pack("<I", zipfile.crc32(SAMPLE.encode()))
    refused(patched(path, crc, b"\1\2\3\4"))


def test_a_member_above_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_BYTES", 100)
    refused(written(tmp_path, PLAIN | {"summaries.json": "x" * 101}), "101 bytes when unpacked")


def test_members_that_are_too_many_together(tmp_path, monkeypatch):
    monkeypatch.setattr(bounds, "MAX_BYTES", 50)
    monkeypatch.setattr(bounds, "MAX_GROWTH", 0)
    refused(written(tmp_path, PLAIN), "its members, unpacked, would take", "the bound is 0 MB")


def test_too_many_members(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_MEMBERS", 1)
    refused(written(tmp_path, PLAIN), "2 members, at most 1 are read")


@pytest.mark.parametrize(
    "name", ["../x.json", "/etc/x.json", "a/../../x", "C:/x", "a\\x", "a\x1bx"]
)
def test_names_that_lead_elsewhere(tmp_path, name):
    refused(written(tmp_path, PLAIN | {name: "{}"}), repr(name), "leads out of the archive")
    assert [path.name for path in tmp_path.iterdir()] == ["log.eval"]


def test_a_name_with_nul(tmp_path):
    path = written(tmp_path, PLAIN | {"samples/evil.json": "{}"})
    refused(patched(path, b"evil.json", b"e\0il.json"), "leads out of the archive")


@pytest.mark.parametrize("name", ["samples/inner.eval", "more.zip", "a.tar.gz"])
def test_an_archive_inside(tmp_path, name):
    refused(written(tmp_path, PLAIN | {name: "PK"}), repr(name), "an archive inside an archive")


def test_an_encrypted_member(tmp_path):
    path = written(tmp_path, PLAIN)
    content = bytearray(path.read_bytes())
    for start, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(start) + flags] |= 1
    path.write_bytes(content)
    refused(path, "'header.json': encrypted")


def test_an_unknown_method(tmp_path):
    refused(written(tmp_path, PLAIN, method=zipfile.ZIP_LZMA), "method 14 is none of stored")


def test_members_that_share_their_bytes(tmp_path):
    """Many entries of the directory for one member: a bomb that no single ratio shows."""
    path = written(tmp_path, PLAIN | {"samples/2_epoch_1.json": "x" * 5000}, method=0)
    content = path.read_bytes()
    start, end = content.index(b"PK\x01\x02"), content.index(b"PK\x05\x06")
    directory = content[start:end]
    last = directory[directory.rindex(b"PK\x01\x02") :]
    more = b"".join(last.replace(b"/2_", b"/%c_" % digit) for digit in b"3456789")
    tail = bytearray(content[end:])
    struct.pack_into("<HHI", tail, 8, 10, 10, len(directory) + len(more))
    path.write_bytes(content[:start] + directory + more + tail)
    refused(path, "some overlap")


def test_of_two_members_of_one_name_the_last_counts_as_for_inspect(tmp_path):
    """Inspect writes a sample that was run again under the same name, behind the first."""
    path = written(tmp_path, PLAIN)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(path, "a") as zipped:
            zipped.writestr("samples/1_epoch_1.json", SAMPLE.replace("3", "5"))
    assert read_table(tmp_path, path.name, "inspect")["score"].tolist() == ["5"]


def test_a_log_that_was_cut_short_is_read_as_far_as_it_goes(tmp_path):
    path = written(tmp_path, {"_journal/start.json": HEAD, "samples/1_epoch_1.json": SAMPLE})
    assert read_table(tmp_path, path.name, "inspect")["model"].tolist() == ["m"]


def test_nothing_is_unpacked_onto_the_disk(tmp_path):
    path = written(tmp_path, PLAIN)
    with open_archive(path) as zipped:
        assert json.loads(zipped.read("header.json"))["eval"]["model"] == "m"
    assert [path.name for path in tmp_path.iterdir()] == ["log.eval"]

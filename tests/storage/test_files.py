"""Files that are written whole: long names, links, and what killed processes left."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from sharpbayes.storage.checkpoint import checkpoint
from sharpbayes.storage.files import LONGEST, name_beside, replace_file, write_text


def names_in(folder):
    """The names of the files of a folder, sorted."""
    return sorted(path.name for path in folder.iterdir())


LONG = {
    "letters": "n" * 252 + ".md",
    "of three bytes": "\u8a55" * 84 + ".md",
    "not a text": os.fsdecode(b"\xff" * 252 + b".md"),
}


@pytest.fixture(scope="module")
def ended():
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.mark.parametrize("name", LONG.values(), ids=LONG)
def test_a_file_of_the_longest_name_is_written_and_leaves_nothing_else(tmp_path, name):
    path = tmp_path / name
    assert len(os.fsencode(name)) >= LONGEST - 1
    write_text(path, "new", "cannot be written")
    assert path.read_text() == "new"
    assert names_in(tmp_path) == [name]


def test_long_names_that_differ_at_their_ends_have_other_names_beside(tmp_path):
    names = {name_beside(tmp_path / f"{'n' * 254}{end}", suffix=".checkpoint") for end in "abc"}
    assert {len(os.fsencode(path.name)) for path in names} == {LONGEST}
    assert len(names) == 3
    assert name_beside(tmp_path / "r.nc", suffix=".checkpoint").name == "r.nc.checkpoint"


@pytest.mark.parametrize("name", ["page.md", LONG["letters"]])
def test_what_ended_processes_left_goes_with_the_next_writing(tmp_path, name, ended):
    with replace_file(tmp_path / name, "") as temporary:
        temporary.write_text("half")
        assert len(os.fsencode(temporary.name)) <= LONGEST
    start, process, call = temporary.name.rsplit(".", 2)
    assert process == str(os.getpid())
    running = f"{start}.{os.getppid()}.{call}"
    others = [f"{start}.mine.{call}", f"x{start}.{ended}.{call}"]
    for left in (f"{start}.{ended}.{call}", f"{start}.{10**9}.{call}", running, *others):
        (tmp_path / left).write_text("half")
    write_text(tmp_path / name, "new", "")
    assert names_in(tmp_path) == sorted([name, running, *others])


def test_what_other_machines_or_earlier_versions_write_stays(tmp_path, ended, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("platform.node", lambda: "another machine")
        with replace_file(tmp_path / "r.nc", "") as temporary:
            temporary.write_text("half")
            elsewhere = temporary.name.replace(str(os.getpid()), str(ended))
    for name in (elsewhere, f".~r.nc.{ended}"):
        (tmp_path / name).write_text("half")
    write_text(tmp_path / "r.nc", "new", "")
    assert names_in(tmp_path) == sorted([elsewhere, f".~r.nc.{ended}", "r.nc"])


def test_threads_write_the_same_file(tmp_path):
    texts = [str(number) * 1000 for number in range(8)]

    def write_often(text):
        for _ in range(50):
            write_text(tmp_path / "t.txt", text, "cannot be written")

    with ThreadPoolExecutor(len(texts)) as pool:
        list(pool.map(write_often, texts))
    assert (tmp_path / "t.txt").read_text() in texts
    assert names_in(tmp_path) == ["t.txt"]


def test_a_text_has_the_same_bytes_on_windows(tmp_path, monkeypatch):
    def write_as_windows(path, text, **_):
        return path.write_bytes(text.replace("\n", "\r\n").encode())

    monkeypatch.setattr("pathlib.Path.write_text", write_as_windows)
    write_text(tmp_path / "t.csv", "a,b\n1,2\n", "cannot write")
    assert (tmp_path / "t.csv").read_bytes() == b"a,b\n1,2\n"


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "latest.md").symlink_to("store/5.md")
    for text in ("first", "second"):
        write_text(tmp_path / "latest.md", text, "")
        assert (tmp_path / "store" / "5.md").read_text() == text
    assert (tmp_path / "latest.md").is_symlink()
    assert names_in(tmp_path / "store") == ["5.md"]


def test_parts_of_a_run_with_the_longest_name_are_kept(tmp_path):
    target = tmp_path / ("n" * 252 + ".nc")
    with checkpoint(target, run={}, resume=False) as parts:
        parts.put("part", {})
        assert len(os.fsencode(parts.folder.name)) == LONGEST
        assert parts.get("part") == {}
    assert not names_in(tmp_path)

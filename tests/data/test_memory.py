"""Tables in memory are read as files are."""

import pickle

import pandas as pd
import pytest

from sharpbayes.data.memory import MemoryPath, format_frame
from sharpbayes.data.readers.formats import read_columns, read_table
from sharpbayes.errors import DataError

FRAME = pd.DataFrame(
    {
        "text": ['said "no", twice', "two\nlines", "ä; b"],
        "number": [1, 2, None],
        "half": [0.5, 1.0, 2.0],
        "flag": pd.array([True, None, False], dtype="boolean"),
        "word": pd.Categorical(["low", "high", None]),
    }
)


def memory(frame):
    return MemoryPath("study.toml", files={"frame.csv": format_frame(frame)}).parent


def test_a_reader_sees_the_cells_as_text():
    base = memory(FRAME)
    assert read_columns(base, "frame.csv") == list(FRAME)
    assert read_table(base, "frame.csv").to_dict("list") == {
        "text": ['said "no", twice', "two\nlines", "ä; b"],
        "number": ["1", "2", ""],
        "half": ["0.5", "1", "2"],
        "flag": ["true", "", "false"],
        "word": ["low", "high", ""],
    }


class Arrow:
    """Stands for a table of Polars or Arrow."""

    def to_pandas(self):
        return FRAME


def test_tables_of_other_libraries_and_plain_values_are_frames():
    assert format_frame(Arrow()) == format_frame(FRAME) == format_frame(FRAME.to_dict("list"))


def test_a_frame_with_one_name_twice_is_refused():
    twice = pd.DataFrame([[1, 2]], columns=["score", "score"])
    message = r"^frame\.csv:1: repeated column names: score$"
    with pytest.raises(DataError, match=message):
        read_table(memory(twice), "frame.csv")


def test_other_files_are_those_of_the_disk(tmp_path):
    (tmp_path / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    base = MemoryPath(tmp_path, files={})
    assert read_table(base, "other.csv").to_dict("list") == {"a": ["1"], "b": ["2"]}
    with pytest.raises(DataError, match=r"oter\.csv: no such file; did you mean 'other\.csv'\?"):
        read_table(base, "oter.csv")


def test_another_process_has_the_tables_too():
    copy = pickle.loads(pickle.dumps(memory(FRAME)))
    assert read_table(copy, "frame.csv").equals(read_table(memory(FRAME), "frame.csv"))

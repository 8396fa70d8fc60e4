"""A folder of Parquet files by partition gives what one file gives."""

import pandas as pd
import pytest

from sharpbayes.data.crowd import read_crowd
from sharpbayes.data.readers import parquet
from sharpbayes.data.readers.formats import read_table
from sharpbayes.errors import DataError
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.context import identify_run
from tests.crowds import write_study
from tests.data.readers.test_parquet_batches import assert_same, spec, table


@pytest.fixture
def original(tmp_path):
    """A table, in one file and by partition."""
    rows = table().fillna({"kind": "", "score": 1})
    rows["gender"] = rows["gender"].replace({"W": "W/ö =1"})
    rows = rows.sort_values(["gender", "kind"], kind="stable")
    rows.to_parquet(tmp_path / "one.parquet")
    rows.to_parquet(tmp_path / "parts", partition_cols=["gender", "kind"])
    return rows


def test_a_crowd_by_partition_is_that_of_one_file(tmp_path, original, monkeypatch):
    monkeypatch.setattr(parquet, "BATCH", 37)
    one = read_crowd(spec("one.parquet", duplicates="first"), tmp_path)
    for name in ("parts", "parts/"):
        assert_same(one, read_crowd(spec(name, duplicates="first"), tmp_path))


@pytest.mark.parametrize("compact", [False, True])
def test_a_table_by_partition_is_that_of_one_file(tmp_path, original, compact):
    (tmp_path / "parts" / "_SUCCESS").write_text("not a table")
    (tmp_path / "parts" / ".hidden.parquet").write_text("not a table")
    for folder in (".ipynb_checkpoints", "_temporary/0"):
        (tmp_path / "parts" / folder).mkdir(parents=True)
        original.to_parquet(tmp_path / "parts" / folder / "x.parquet")
    one = read_table(tmp_path, "one.parquet", compact=compact)
    parts = read_table(tmp_path, "parts", compact=compact)[list(one.columns)]
    same = [table.astype(str).reset_index(drop=True) for table in (one, parts)]
    pd.testing.assert_frame_equal(*same)
    assert not compact or all(str(kind) == "category" for kind in parts.dtypes)


def test_a_folder_that_is_a_column_may_begin_with_an_underscore(tmp_path, original):
    (tmp_path / "under" / "_wave=1").mkdir(parents=True)
    original.to_parquet(tmp_path / "under" / "_wave=1" / "x.parquet")
    assert {*read_table(tmp_path, "under")["_wave"]} == {"1"}


def test_other_folders_and_a_column_twice_are_refused(tmp_path, original):
    (tmp_path / "parts" / "gender=W").mkdir()
    original.to_parquet(tmp_path / "parts" / "gender=W" / "x.parquet")
    with pytest.raises(DataError, match="repeated column names: gender"):
        read_table(tmp_path, "parts")
    other = tmp_path / "other" / "women"
    other.mkdir(parents=True)
    original.to_parquet(other / "x.parquet")
    for read in (
        lambda: read_table(tmp_path, "other"),
        lambda: read_crowd(spec("other"), tmp_path),
    ):
        with pytest.raises(DataError, match="must be named column=value, found 'women'"):
            read()
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="is a folder without a file of a table"):
        read_table(tmp_path, "empty")


def test_an_address_is_no_file(tmp_path):
    with pytest.raises(DataError, match=r"^https://x\.org/a\.csv: is an address; save the table"):
        read_table(tmp_path, "https://x.org/a.csv")


def test_a_renamed_folder_is_another_run(tmp_path):
    pd.DataFrame({"item": ["a"], "rater": ["b"], "score": [1]}).to_parquet(tmp_path / "x.parquet")
    (tmp_path / "parts" / "gender=W").mkdir(parents=True)
    (tmp_path / "x.parquet").rename(tmp_path / "parts" / "gender=W" / "x.parquet")
    study = write_study(tmp_path, "parts")
    before = identify_run(load_study(study))
    (tmp_path / "parts" / "gender=W").rename(tmp_path / "parts" / "gender=M")
    assert identify_run(load_study(study)) != before

"""Parquet read as categories of text: the same table as cell by cell."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray as xr

from sharpbayes.data.crowd import read_crowd
from sharpbayes.data.panel import read_panel
from sharpbayes.data.readers.formats import read_table
from sharpbayes.errors import DataError
from tests.data.tables import ROWS, WIDE, crowd, error_text, panel
from tests.panels import files_of, frame

COLUMNS = {
    "text": pa.array(["b", "a", None, "", "b"]),
    "whole": pa.array([3, 1, None, 3, 2], pa.int8()),
    "flag": pa.array([True, None, False, True, True]),
    "float_whole": pa.array([1.0, 2.0, None, float("nan"), 1.0]),
    "fraction": pa.array([1.0, 2.5, None, float("nan"), 1.0]),
    "category": pa.array(["x", "y", None, "x", "y"]).dictionary_encode(),
    "nothing": pa.array([None] * 5, pa.float64()),
}


@pytest.mark.parametrize("row_groups", [1, 2])
def test_compact_is_the_same_table(tmp_path, row_groups):
    table = pa.table(COLUMNS)
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=5 // row_groups + 1)
    plain = read_table(tmp_path, "t.parquet")
    compact = read_table(tmp_path, "t.parquet", compact=True)
    assert list(compact.columns) == list(COLUMNS)
    for name in COLUMNS:
        assert isinstance(compact[name].dtype, pd.CategoricalDtype)
        assert compact[name].astype(object).tolist() == plain[name].tolist(), name
    assert plain["whole"].tolist() == ["3", "1", "", "3", "2"]


def test_bytes_are_texts_and_those_that_are_no_text_are_refused(tmp_path):
    pq.write_table(pa.table({"model": [b"aster", "Größe".encode(), None]}), tmp_path / "t.parquet")
    assert read_table(tmp_path, "t.parquet")["model"].tolist() == ["aster", "Größe", ""]
    pq.write_table(pa.table({"model": [b"\xff"]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="has a character that is no text"):
        read_table(tmp_path, "t.parquet")


@pytest.mark.parametrize("files", ["data.parquet", "part*.parquet"])
def test_a_panel_in_parquet_is_the_panel_in_csv(tmp_path, files):
    table = frame()
    table["bias_a"] = table["bias_a"].astype("Int64").mask(table["prompt"] == "p03")
    table = table.sample(frac=0.9, random_state=1)
    study = files_of(tmp_path, table, overrides=[f"panel.data={files}"]).study
    from_csv = files_of(tmp_path, table).study.spec.panel
    if "*" in files:
        for part, rows in enumerate((slice(40), slice(40, None))):
            table.iloc[rows].to_parquet(tmp_path / f"part{part}.parquet")
    else:
        table.to_parquet(tmp_path / "data.parquet")
    one, other = (
        read_panel(study.spec.panel, tmp_path).to_dataset(),
        read_panel(from_csv, tmp_path).to_dataset(),
    )
    xr.testing.assert_identical(one, other)
    assert one.attrs["ratings"] == int((one["score"] >= 0).sum())
    assert one.attrs["missing"] == int(np.isnan(table["bias_a"].astype(float)).sum())
    assert one.attrs["absent"] == 3 * (108 - len(table))


@pytest.mark.parametrize("layout", ["panel", "crowd"])
def test_a_column_of_records_is_no_label(tmp_path, layout):
    table = WIDE if layout == "panel" else ROWS
    name, role = ("m", "model") if layout == "panel" else ("g", "column g")
    records = [{"name": text, "size": 7} for text in table[name]]
    table.assign(**{name: records}).to_parquet(tmp_path / "t.parquet")
    spec, read = (panel, read_panel) if layout == "panel" else (crowd, read_crowd)
    message = error_text(lambda: read(spec(data="t.parquet"), tmp_path), tmp_path)
    assert message == (
        f"t.parquet: {name}: {role} needs a column of texts or numbers, "
        "a cell here is struct<name: string, size: int64>"
    )

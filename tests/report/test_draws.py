"""Draws of a fit as Parquet tables that R's ``posterior`` takes as they are."""

import numpy as np
import pyarrow.parquet as pq
import pytest
import xarray as xr
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.errors import DataError, StorageError
from sharpbayes.report.draws import write_draws


def fit():
    """Results of two chains with three draws each."""
    values = np.arange(24.0).reshape(2, 3, 2, 2)
    posterior = xr.Dataset(
        {
            "sd": (("chain", "draw"), values[..., 0, 0]),
            "location": (("item", "chain", "draw", "judge"), values.transpose(2, 0, 1, 3)),
            "word": (("chain", "draw"), np.full((2, 3), "x")),
        },
        {"item": ["one", "b,c"], "judge": ["x", "y"]},
    )
    profile = xr.Dataset({"tier": (("chain", "draw"), values[..., 0, 0] > 4.0)})
    groups = {"/posterior": posterior, "/posterior_profile": profile}
    return xr.DataTree.from_dict(groups | {"/posterior_predictive": posterior})


def test_each_group_is_a_table_with_a_row_for_each_draw(tmp_path):
    paths = write_draws(fit(), tmp_path / "new")
    assert [path.name for path in paths] == ["posterior.parquet", "posterior_profile.parquet"]
    table = pq.read_table(paths[0]).to_pandas()
    locations = [f"location[{item},{judge}]" for item in ("one", "b,c") for judge in "xy"]
    assert [*table.columns] == [".chain", ".iteration", ".draw", "sd", *locations]
    assert table[".chain"].tolist() == [1, 1, 1, 2, 2, 2]
    assert table[".iteration"].tolist() == [1, 2, 3, 1, 2, 3]
    assert table[".draw"].tolist() == [1, 2, 3, 4, 5, 6]
    assert table["location[b,c,x]"].tolist() == [2.0, 6.0, 10.0, 14.0, 18.0, 22.0]
    assert pq.read_table(paths[1])["tier"].to_pylist() == [0, 0, 1, 1, 1, 1]


def test_results_of_measure_have_no_draws(tmp_path):
    with pytest.raises(DataError) as error:
        write_draws(xr.DataTree.from_dict({"/profile": xr.Dataset()}), tmp_path)
    message = "report --draws: these results have no draws, which a fit makes"
    assert str(error.value) == message


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot write draws: Not a directory"):
        write_draws(fit(), tmp_path / "file" / "draws")


def test_report_writes_draws_and_no_page(tmp_path, monkeypatch):
    monkeypatch.setattr("sharpbayes.open_results", lambda _: fit())
    (tmp_path / "x.results.nc").touch()
    done = CliRunner().invoke(app, ["report", f"{tmp_path}/x.results.nc", "--draws", f"{tmp_path}"])
    assert (done.exit_code, done.stderr) == (0, f"2 files of draws in {tmp_path}\n")
    assert not list(tmp_path.glob("*.html"))

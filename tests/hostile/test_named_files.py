"""Files that people really send: each is read as it stands, or refused with its place."""

import pandas as pd
import pytest
import xarray as xr
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.errors import DataError
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.check import check
from tests.crowds import write_study
from tests.panels import frame, measured

ROWS = pd.DataFrame(
    {"item": ["a", "a", "b", "b"], "rater": ["x", "y", "x", "y"], "score": [0, 1, 2, 3]}
)


def checked(folder, data):
    """Check a study of a data file; return the status and what was said."""
    done = CliRunner().invoke(app, ["check", str(write_study(folder, data))])
    assert "Traceback" not in done.stderr
    return done.exit_code, done.stderr


def test_nested_parquet_columns(tmp_path):
    nested = ROWS.assign(more=[{"x": [1, 2]}] * 4)
    nested.to_parquet(tmp_path / "t.parquet")
    assert checked(tmp_path, "t.parquet") == (0, "")
    ROWS.assign(score=[[0], [1], [2], [3]]).to_parquet(tmp_path / "t.parquet")
    status, message = checked(tmp_path, "t.parquet")
    assert status == 3
    assert f"{tmp_path / 't.parquet'}: " in message


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_truncated_parquet(tmp_path, share):
    ROWS.to_parquet(tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(content[: int(share * len(content))])
    status, message = checked(tmp_path, "t.parquet")
    assert status == 3
    assert message.startswith(f"{tmp_path / 't.parquet'}: cannot be read: ")


@pytest.mark.parametrize(
    ("name", "write"),
    [("t.parquet", "to_csv"), ("t.csv", "to_parquet"), ("t.jsonl", "to_csv"), ("t.xls", "to_csv")],
)
def test_a_wrong_extension(tmp_path, name, write):
    getattr(ROWS, write)(tmp_path / name)
    status, message = checked(tmp_path, name)
    assert status == 3
    assert message.startswith(f"{tmp_path / name}:")


def test_thousand_separators(tmp_path):
    ROWS.assign(score=["0", "1", "2", "1,000"]).to_csv(tmp_path / "t.csv", index=False)
    status, message = checked(tmp_path, "t.csv")
    assert status == 3
    assert "score" in message
    assert "'1,000'" in message


def test_netcdf_of_another_program(tmp_path):
    data = xr.Dataset({"temperature": ("time", [1.0, 2.0])}, attrs={"title": "ERA5"})
    data.to_netcdf(tmp_path / "r.nc", engine="netcdf4")
    for command in (["report"], ["weigh", "--weights", "equal"]):
        done = CliRunner().invoke(app, [command[0], str(tmp_path / "r.nc"), *command[1:]])
        assert done.exit_code == 5
        assert done.stderr.startswith(f"{tmp_path / 'r.nc'}: not a results file of sharpbayes")


ADVICE = (
    "so that none has a log-risk; add the scores, or leave such indicators out of the dimensions "
    "of the study"
)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ({"truth": slice(None)}, "no score of truth"),
        ({"truth": slice(None), "bias_a": slice(None)}, "no score of bias_a, truth"),
        ({"truth": slice(0, 18), "bias_a": slice(18, None)}, "no score of some indicator"),
    ],
)
def test_indicators_that_nobody_scored(tmp_path, missing, message):
    table = frame(models=2, prompts=6).sort_values(["prompt", "model"], ignore_index=True)
    for name, rows in missing.items():
        table[name] = table[name].astype("Int64")
        table.loc[table.index[rows], name] = pd.NA
    with pytest.raises(DataError) as raised:
        measured(tmp_path, table)
    assert str(raised.value) == f"{tmp_path / 'data.csv'}: every answer has {message}, {ADVICE}"
    with pytest.raises(DataError) as checked:
        check(load_study(tmp_path / "study.toml"))
    assert str(checked.value) == str(raised.value)

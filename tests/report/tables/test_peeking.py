"""Tables of how often decisions err under several looks, and the command that writes them."""

import json

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.report.summary import answer
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.storage.results import open_results
from tests.panels import files_of, frame


@pytest.fixture
def results():
    shares = np.zeros((1, 2, 2))
    shares[0, 0] = [0.05, 0.2]
    events = ("wrong", "ever_wrong", "ever_right")
    table = dict.fromkeys(events, (("world", "rule", "look"), shares))
    table |= {f"{name}_mcse": (("world", "rule", "look"), shares / 10 + 0.01) for name in events}
    table |= {"prompts": ("look", [50, 100]), "difference": ("look", [-0.1, -0.12])}
    for name in ("fixed_bounds", "sequence_bounds"):
        table[name] = (("look", "bound"), [[-0.2, 0.1], [-0.15, -0.09]])
    coords = {"world": ["no difference"], "rule": ["fixed, policy score", "sequence, policy score"]}
    group = xr.Dataset(table, coords | {"look": [1, 2], "bound": ["lower", "upper"]})
    group.attrs = {"first": "a", "second": "b", "level": 0.95, "simulations": 300}
    return xr.DataTree.from_dict({"/peeking": group})


def test_the_tables_have_shares_with_errors_and_bounds(results):
    assert answer(results)[0].startswith("Where a and b do not differ, deciding at any of 2 looks")
    errors, bounds = report_tables(results)
    assert errors.header == ("truth", "decided by", "wrong once", "wrong ever", "right ever")
    assert errors.rows[0] == (
        *("no difference", "fixed, policy score"),
        *("20.0 \u00b1 3.0",) * 3,
    )
    assert "a and b, looked at after 50, 100 prompts, at a level of 95%" in errors.note
    assert bounds.header == (
        "look",
        "prompts",
        "difference",
        "fixed interval",
        "confidence sequence",
    )
    assert bounds.rows[1][:3] == ("2", "100", "\u22120.120")


def test_the_note_says_what_is_right_at_a_limit_where_there_is_a_tolerance(results):
    counted = "where admissible counts as wrong and not admissible as right."
    assert counted not in report_tables(results)[0].note
    rules = ["fixed, policy score", "tolerance"]
    of_tolerance = results["peeking"].to_dataset().assign_coords(rule=rules)
    results["peeking"] = xr.DataTree(of_tolerance)
    assert report_tables(results)[0].note.endswith(counted)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_command_writes_and_prints_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files_of(tmp_path / "study", frame(models=2, prompts=12))
    study, out = tmp_path / "study" / "study.toml", tmp_path / "peek.nc"
    done = run("calibrate", study, "--peek", 2, "--simulations", 20, "--out", out, "--json")
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert document["status"] == "simulated"
    assert open_results(out)["peeking"].attrs["simulations"] == 20


def test_a_crowd_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("calibrate", "quickstart_crowd", "--peek", 2, "--simulations", 20)
    assert done.exit_code == 2
    assert "--peek: a crowd has no models" in done.stderr

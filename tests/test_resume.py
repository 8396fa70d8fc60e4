"""Runs that were killed, cut short, moved to other processes: the same numbers in the end."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from sharpbayes.bayes import chains, retry
from sharpbayes.checkpoint import Checkpoint, checkpoint
from sharpbayes.cli import app
from sharpbayes.errors import StorageError
from sharpbayes.library import folder
from sharpbayes.metrics import resample
from sharpbayes.results import open_results
from sharpbayes.run import measure
from sharpbayes.spec.load import load_study

FEW = ["--set", "bootstrap.replicates=2000", "--set", "crowd.permutations=20"]
SMALL = [*FEW, "--set", "sampler.tune=150", "--set", "sampler.draws=150"]
SMALL += ["--set", "sampler.predictive=0", "--set", "sampler.chains=3", "--quiet"]
FIT = ["fit", "quickstart_crowd", "--out", "r.nc", *SMALL]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, [str(each) for each in arguments])


def same(path, expected):
    """Every variable of every group, to the last bit."""
    one, other = open_results(path), open_results(expected)
    assert set(one.children) == set(other.children)
    for name in one.children:
        xr.testing.assert_identical(
            one[name].to_dataset().drop_attrs(), other[name].to_dataset().drop_attrs()
        )


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The results of a run that nothing disturbed, and the seconds that it took."""
    base = tmp_path_factory.mktemp("whole")
    target, before = base / "r.nc", time.monotonic()
    command = [sys.executable, "-m", "sharpbayes", *FIT[:3], str(target), *FIT[4:]]
    assert subprocess.run(command, check=False).returncode in {0, 4}
    return target, time.monotonic() - before


def killed_after(seconds, *more):
    """Start a fit, kill it at a moment, and tell whether it still ran."""
    started = subprocess.Popen([sys.executable, "-m", "sharpbayes", *FIT, *more])
    try:
        started.wait(seconds)
    except subprocess.TimeoutExpired:
        started.send_signal(signal.SIGKILL)
        started.wait()
        return True
    assert started.returncode in {0, 4}
    return False


# `SHARPBAYES_KILLS=50 python -m pytest tests/test_resume.py` kills at fifty moments.
KILLS = int(os.environ.get("SHARPBAYES_KILLS", "2"))


def test_a_run_killed_at_any_moment_is_resumed_to_the_same_numbers(run, tmp_path, uninterrupted):
    results, usual = uninterrupted
    shutil.copy(results, tmp_path / "r.nc")
    old = (tmp_path / "r.nc").read_bytes()
    moments = np.random.default_rng(9).uniform(0.3, 0.95, KILLS) * usual
    kept = 0
    for seconds in moments:
        if killed_after(float(seconds)) and (tmp_path / "r.nc").read_bytes() == old:
            kept += len(list(tmp_path.glob("r.nc.checkpoint/*.npz")))
            begun = (tmp_path / "r.nc.checkpoint" / "run").is_file()
            done = run(*FIT, *(["--resume"] if begun else []))
            assert done.exit_code in {0, 4}, done.stderr
        same("r.nc", uninterrupted[0])
        old = (tmp_path / "r.nc").read_bytes()
    assert kept or KILLS < 10
    assert sorted(path.name for path in tmp_path.iterdir() if path.name[:2] != ".~") == ["r.nc"]


def test_finished_chains_are_not_sampled_again(run, tmp_path, uninterrupted):
    calls = []
    real_start = chains._start

    def start(*given):
        calls.append("chain")
        return real_start(*given)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(retry, "diagnose", lambda *_: 1 / 0)
        assert run(*FIT).exit_code == 1
    names = {path.stem for path in (tmp_path / "r.nc.checkpoint").glob("*.npz")}
    chains_kept = sorted(name for name in names if name.startswith("chain-"))
    assert [name[-2:] for name in chains_kept] == ["-0", "-1", "-2"]
    assert any(name.startswith("resamples-") for name in names)
    (tmp_path / "r.nc.checkpoint" / f"{chains_kept[1]}.npz").write_bytes(b"damaged")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(chains, "_start", start)
        assert run(*FIT, "--resume").exit_code in {0, 4}
    # Two chains of the trial run, and the one whose file was damaged.
    assert calls == ["chain"] * 3
    same("r.nc", uninterrupted[0])


@pytest.mark.parametrize("study", ["quickstart", "quickstart_crowd"])
def test_resamples_from_a_checkpoint_are_the_same_to_the_attributes(tmp_path, study):
    few = ("bootstrap.replicates=600", *(["crowd.permutations=20"] if "crowd" in study else []))
    files, computed = load_study(study, overrides=few), []

    def noted(part, starts, *, done):
        computed.extend(starts)
        return resample.in_threads(part, starts, done=done)

    found = []
    for _ in range(2):
        with resample.blocks_by(Checkpoint(tmp_path).blocks(noted)):
            found.append(measure(files))
    assert computed == [0, 300]
    first, second = found
    for name in first.children:
        xr.testing.assert_identical(first[name].to_dataset(), second[name].to_dataset())


def test_chains_on_a_cluster_are_the_same(run, uninterrupted):
    pytest.importorskip("distributed")
    done = run(*FIT, "--cluster", "local:2")
    assert done.exit_code in {0, 4}, done.stderr
    same("r.nc", uninterrupted[0])


def test_results_are_run_again_from_what_they_say(run, tmp_path, uninterrupted):
    shutil.copy(uninterrupted[0], tmp_path / "r.nc")
    done = run("fit", "--from", "r.nc", "--out", "again.nc", "--quiet")
    assert done.exit_code in {0, 4}, done.stderr
    same("again.nc", uninterrupted[0])
    again, first = open_results("again.nc").attrs, open_results("r.nc").attrs
    assert {k: v for k, v in again.items() if k != "created"} == {
        k: v for k, v in first.items() if k != "created"
    }


def test_from_refuses_other_data_and_other_calls(run, tmp_path, monkeypatch):
    for path in folder("studies").glob("quickstart_crowd*.*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert run("measure", "quickstart_crowd.toml", *FEW, "--out", "r.nc").exit_code == 0
    with (tmp_path / "quickstart_crowd.csv").open("a") as file:
        file.write("\n")
    done = run("fit", "--from", "r.nc")
    assert done.exit_code == 3
    assert "quickstart_crowd.csv, " in done.stderr
    assert "other bytes than those of the results" in done.stderr
    assert run("fit").exit_code == 2
    assert run("fit", "quickstart_crowd", "--from", "r.nc").exit_code == 2
    assert run("fit", "--from", "r.nc", "--seed", "1").exit_code == 2


def test_two_runs_on_one_output(run, tmp_path):
    (tmp_path / "r.nc").write_bytes(b"old")
    with checkpoint(tmp_path / "r.nc", run="x", resume=False) as held:
        held.put("chain-0", {"x": np.arange(3)})
        done = run("measure", "quickstart", *FEW[:2], "--out", "r.nc")
        assert done.exit_code == 5
        assert done.stderr == "r.nc: another run writes these results now\n"
        assert held.get("chain-0") is not None
    assert (tmp_path / "r.nc").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["r.nc"]


def test_nothing_to_resume_and_another_run(run, tmp_path):
    done = run(*FIT, "--resume")
    assert done.exit_code == 5
    assert done.stderr == "r.nc.checkpoint: nothing to resume; run without --resume\n"
    (tmp_path / "r.nc.checkpoint").mkdir()
    (tmp_path / "r.nc.checkpoint" / "run").write_text(json.dumps({"seed": 1}))
    done = run(*FIT, "--resume")
    assert done.exit_code == 5
    assert "is of another study, data, seed or version" in done.stderr


def test_a_full_disk_is_told_and_damages_nothing(tmp_path, monkeypatch):
    held = Checkpoint(tmp_path)
    held.put("chain-0", {"x": np.arange(3)})

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(StorageError, match="cannot keep a finished part: No space left on device"):
        held.put("chain-0", {"x": np.arange(4)})
    assert held.get("chain-0")["x"].tolist() == [0, 1, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["chain-0.npz"]


@pytest.mark.parametrize("keep", [0, 1, 20, 0.5, 0.9])
def test_a_damaged_part_counts_as_not_there(tmp_path, keep):
    held = Checkpoint(tmp_path)
    held.put("a", {"x": np.arange(500.0)})
    whole = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(whole[: int(keep * len(whole)) if 0 < keep < 1 else keep])
    assert held.get("a") is None
    (tmp_path / "a.npz").write_bytes(whole[:900] + b"\xff" + whole[901:])
    assert held.get("a") is None
    (tmp_path / "a.npz").write_bytes(whole)
    assert held.get("a")["x"].tolist() == list(range(500))


@pytest.mark.parametrize("address", ["local:0", "local:x", "file:///etc/passwd", "http://x", ""])
def test_an_address_of_another_form(run, address):
    done = run("measure", "quickstart", "--cluster", address)
    assert done.exit_code == 2
    assert "must be local:N or the address of a scheduler" in done.stderr

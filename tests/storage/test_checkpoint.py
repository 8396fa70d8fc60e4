"""Runs that were killed, cut short, moved to other processes: the same numbers in the end."""

import json
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from sharpbayes.bayes.sampling import chains, retries
from sharpbayes.cli.commands import app
from sharpbayes.errors import StorageError
from sharpbayes.execution.threads import thread_map, use_map
from sharpbayes.library import folder
from sharpbayes.spec.load import load_study
from sharpbayes.storage.checkpoint import Checkpoint, checkpoint
from sharpbayes.storage.results import open_results
from sharpbayes.workflows.measure import measure
from tests.kills import FEW, FIT, assert_same, kill_and_resume, run_fit


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The results of a run that nothing disturbed, and the seconds that it took."""
    base, before = tmp_path_factory.mktemp("whole"), time.monotonic()
    run_fit(base)
    return base / "r.nc", time.monotonic() - before


@pytest.mark.slow
def test_a_run_killed_at_any_moment_is_resumed_to_the_same_numbers(tmp_path, uninterrupted):
    # `python -m tests.kills 50` kills at fifty moments; tests/references/kills.csv is its table.
    results, usual = uninterrupted
    shutil.copy(results, tmp_path / "r.nc")
    moments = np.random.default_rng(9).uniform(0.3, 0.95, 2) * usual
    rows = list(kill_and_resume(tmp_path, [*moments, 0.2], usual=usual, expected=results))
    assert rows


def test_finished_chains_are_not_sampled_again(run, tmp_path, uninterrupted):
    calls = []
    real_start = chains._start

    def start(*given):
        calls.append("chain")
        return real_start(*given)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(retries, "check_convergence", lambda *_: 1 / 0)
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
    assert_same("r.nc", uninterrupted[0])


@pytest.mark.parametrize("study", ["quickstart", "quickstart_crowd"])
def test_resamples_from_a_checkpoint_are_the_same_to_the_attributes(tmp_path, study):
    few = ("bootstrap.replicates=600", *(["crowd.permutations=20"] if "crowd" in study else []))
    files, computed = load_study(study, overrides=few), []

    def noted(part, starts, *, done):
        computed.extend(starts)
        return thread_map(part, starts, done=done)

    results = []
    for _ in range(2):
        with use_map(thread_map, resamples=Checkpoint(tmp_path).resample_map(noted)):
            results.append(measure(files))
    sets = 1 if study == "quickstart" else 3  # of a crowd: items, raters, single ratings
    assert computed[:2] == ["resamples-1-2-0", "resamples-1-2-300"]
    assert len(computed) == len(set(computed)) == 2 * sets  # the second run computes nothing
    first, second = results
    for name in first.children:
        xr.testing.assert_identical(first[name].to_dataset(), second[name].to_dataset())


@pytest.mark.slow
def test_chains_on_a_cluster_are_the_same(run, uninterrupted):
    pytest.importorskip("distributed")
    done = run(*FIT, "--cluster", "local:2")
    assert done.exit_code in {0, 4}, done.stderr
    assert_same("r.nc", uninterrupted[0])


def test_results_are_run_again_from_what_they_say(run, tmp_path, uninterrupted):
    shutil.copy(uninterrupted[0], tmp_path / "r.nc")
    done = run("fit", "--from", "r.nc", "--out", "again.nc", "--quiet")
    assert done.exit_code in {0, 4}, done.stderr
    assert_same("again.nc", uninterrupted[0])
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
    with checkpoint(tmp_path / "r.nc", run="x", resume=False) as store:
        store.put("chain-0", {"x": np.arange(3)})
        done = run("measure", "quickstart", *FEW[:2], "--out", "r.nc")
        assert done.exit_code == 5
        assert done.stderr == "r.nc: another run writes these results now\n"
        assert store.get("chain-0") is not None
    assert (tmp_path / "r.nc").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["r.nc"]


def test_a_run_with_nothing_to_resume_begins_and_says_so(run, tmp_path):
    done = run("measure", "quickstart", *FEW[:2], "--out", "r.nc", "--resume")
    assert done.exit_code == 0
    assert done.stderr.startswith("nothing was kept of an earlier run: beginning\n")
    assert (tmp_path / "r.nc").is_file()


def test_what_is_kept_of_another_run_is_refused(run, tmp_path):
    (tmp_path / "r.nc.checkpoint").mkdir()
    (tmp_path / "r.nc.checkpoint" / "run").write_text(json.dumps({"seed": 1}))
    done = run(*FIT, "--resume")
    assert done.exit_code == 5
    assert "is of another study, data, seed or version" in done.stderr


def test_a_full_disk_is_told_and_damages_nothing(tmp_path, monkeypatch):
    store = Checkpoint(tmp_path)
    store.put("chain-0", {"x": np.arange(3)})

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(StorageError, match="cannot keep a finished part: No space left on device"):
        store.put("chain-0", {"x": np.arange(4)})
    assert store.get("chain-0")["x"].tolist() == [0, 1, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["chain-0.npz"]


@pytest.mark.parametrize("keep", [0, 1, 20, 0.5, 0.9])
def test_a_damaged_part_counts_as_not_there(tmp_path, keep):
    store = Checkpoint(tmp_path)
    store.put("a", {"x": np.arange(500.0)})
    whole = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(whole[: int(keep * len(whole)) if 0 < keep < 1 else keep])
    assert store.get("a") is None
    (tmp_path / "a.npz").write_bytes(whole[:900] + b"\xff" + whole[901:])
    assert store.get("a") is None
    (tmp_path / "a.npz").write_bytes(whole)
    assert store.get("a")["x"].tolist() == list(range(500))


@pytest.mark.parametrize("address", ["local:0", "local:x", "file:///etc/passwd", "http://x", ""])
def test_an_address_of_another_form(run, address):
    done = run("measure", "quickstart", "--cluster", address)
    assert done.exit_code == 2
    assert "must be local:N or the address of a scheduler" in done.stderr


def limited(folder, size):
    """Measure in a process whose files cannot grow beyond a size, as on a full disk."""
    script = (
        "import resource, sys; from sharpbayes.cli.commands import main; "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size})); "
        "sys.argv[1:] = ['measure', 'quickstart', '--set', 'bootstrap.replicates=60', '--quiet', "
        "'--out', 'r.nc']; main()"
    )
    return subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("size", "told"), [(500, "cannot write"), (60_000, "cannot write results")]
)
def test_a_disk_that_fills_leaves_the_results_and_what_is_kept(tmp_path, size, told):
    (tmp_path / "r.nc").write_bytes(b"old")
    done = limited(tmp_path, size)
    assert done.returncode == 5, done.stderr
    assert done.stderr.startswith("r.nc")
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert (tmp_path / "r.nc").read_bytes() == b"old"
    assert {path.name for path in tmp_path.iterdir()} <= {"r.nc", "r.nc.checkpoint"}
    if size == 60_000:
        assert (tmp_path / "r.nc.checkpoint" / "resamples-1-2-30.npz").is_file()


def test_a_folder_that_takes_no_files(run):
    # Where even the superuser cannot write.
    done = run("measure", "quickstart", *FEW[:2], "--quiet", "--out", "/proc/r.nc")
    assert done.exit_code == 5
    assert done.stderr.startswith("/proc/r.nc: cannot write results")


def test_half_written_results_of_a_killed_run_are_removed(run, tmp_path):
    for name in (".~r.nc.123", ".~r.nc.mine", ".~other.nc.123"):
        (tmp_path / name).write_bytes(b"half")
    assert run("measure", "quickstart", *FEW[:2], "--quiet", "--out", "r.nc").exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".~other.nc.123",
        ".~r.nc.mine",
        "r.nc",
    ]

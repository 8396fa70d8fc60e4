"""Runs that were killed, cut short, moved to other processes: the same numbers in the end."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from sharpbayes.bayes.sampling import chains, retries
from sharpbayes.errors import StorageError
from sharpbayes.execution.threads import thread_map, use_map
from sharpbayes.library import folder
from sharpbayes.spec.load import load_study
from sharpbayes.storage.checkpoint import Checkpoint, checkpoint
from sharpbayes.storage.checksums import MARK, append_checksum
from sharpbayes.storage.files import replace_file
from sharpbayes.storage.results import open_results
from sharpbayes.workflows.measure import measure
from tests.kills import COMMANDS, FEW, FIT, assert_same, kill_and_repeat, run_command

# As short as a fit of three chains and two parts of resamples can be.
SHORT = [*FIT[:2], "--set", "bootstrap.replicates=600", "--set", "crowd.permutations=20"]
SHORT += ["--set", "sampler.tune=50", "--set", "sampler.draws=50", "--set", "sampler.chains=3"]
SHORT += ["--set", "sampler.predictive_draws=20", "--out"]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The results of a run that nothing disturbed, and the seconds that it took."""
    base, before = tmp_path_factory.mktemp("whole"), time.monotonic()
    run_command(base, COMMANDS["fit"].text)
    return base / "r.nc", time.monotonic() - before


@pytest.mark.slow
def test_a_run_killed_at_any_moment_is_resumed_to_the_same_numbers(tmp_path, uninterrupted):
    # `python -m tests.kills 50 10` kills every command; tests/references/kills.csv is its table.
    results, usual = uninterrupted
    moments = [*np.random.default_rng(9).uniform(0.3, 0.95, 2) * usual, 0.2]
    paths = {"expected": results.parent, "earlier": results}
    assert [*kill_and_repeat(tmp_path, COMMANDS["fit"], moments, usual=usual, **paths)]


def test_finished_chains_are_not_sampled_again(run, tmp_path):
    calls = []
    real_start = chains._start

    def start(*given):
        calls.append("chain")
        return real_start(*given)

    assert run(*SHORT, "whole.nc").exit_code in {0, 4}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(retries, "check_convergence", lambda *_: 1 / 0)
        assert run(*SHORT, "r.nc").exit_code == 1
    names = {path.stem for path in (tmp_path / "r.nc.checkpoint").glob("*.npz")}
    chains_kept = sorted(name for name in names if name.startswith("chain-"))
    assert [name[-2:] for name in chains_kept] == ["-0", "-1", "-2"]
    assert any(name.startswith("resamples-") for name in names)
    (tmp_path / "r.nc.checkpoint" / f"{chains_kept[1]}.npz").write_bytes(b"damaged")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(chains, "_start", start)
        assert run(*SHORT, "r.nc", "--resume").exit_code in {0, 4}
    # Two chains of the trial run, and the one whose file was damaged.
    assert calls == ["chain"] * 3
    assert_same(Path("r.nc"), Path("whole.nc"))


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
    # Of a panel prompts, and again without each judge; of a crowd items, raters, single ratings.
    sets = 4 if study == "quickstart" else 3
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
    assert_same(Path("r.nc"), uninterrupted[0])


@pytest.mark.slow
def test_results_are_run_again_from_what_they_say(run, tmp_path, shared_results):
    shutil.copy(shared_results("fitted_crowd"), tmp_path / "r.nc")
    done = run("fit", "--from", "r.nc", "--out", "again.nc", "--quiet")
    assert done.exit_code in {0, 4}, done.stderr
    assert_same(Path("again.nc"), Path("r.nc"))
    assert not done.stderr or done.stderr.startswith("not converged")
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
    append_checksum(tmp_path / "r.nc")
    with checkpoint(tmp_path / "r.nc", run={"seed": 1}, resume=False) as store:
        store.put("chain-0", {"x": np.arange(3)})
        done = run("measure", "quickstart", *FEW[:2], "--out", "r.nc")
        assert done.exit_code == 5
        assert done.stderr == "r.nc: another run writes these results now\n"
        assert store.get("chain-0") is not None
    assert (tmp_path / "r.nc").read_bytes().startswith(b"old")
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
    assert done.stderr == (
        "r.nc.checkpoint: is of a run with another --set, data file, model, "
        "number of simulations or --update, seed and 1 more; run without --resume\n"
    )


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
    content = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(content[: int(keep * len(content)) if 0 < keep < 1 else keep])
    assert store.get("a") is None
    (tmp_path / "a.npz").write_bytes(content[:900] + b"\xff" + content[901:])
    assert store.get("a") is None
    (tmp_path / "a.npz").write_bytes(content)
    assert store.get("a")["x"].tolist() == list(range(500))


def spoil_with_fifo(path, other):
    path.unlink()
    os.mkfifo(path)


def spoil_without_array(path, other):
    with np.load(path) as arrays:
        kept = dict(list(arrays.items())[1:])
    np.savez(path, **kept)


def rewrite_arrays(path, change):
    """Change the arrays of a part that keeps its label, and make its checksum good."""
    with np.load(path) as arrays:
        kept = change(dict(arrays))
    with path.open("wb") as file:
        np.savez(file, **kept)
    append_checksum(path)


def spoil_without_array_in_order(path, other):
    rewrite_arrays(path, lambda arrays: {name: arrays[name] for name in arrays if name != "x"})


def spoil_with_shorter_array(path, other):
    rewrite_arrays(path, lambda arrays: arrays | {"x": arrays["x"][:499]})


def spoil_with_other_kind(path, other):
    rewrite_arrays(path, lambda arrays: arrays | {"x": arrays["x"].astype(str)})


def spoil_with_further_array(path, other):
    rewrite_arrays(path, lambda arrays: arrays | {"z": arrays["x"]})


def spoil_with_other_part(path, other):
    shutil.copy(other, path)


def spoil_with_folder(path, other):
    path.unlink()
    path.mkdir()


def spoil_with_device(path, other):
    path.unlink()
    path.symlink_to("/dev/zero")


def spoil_with_claim(path, other, *, claimed=1 << 43, content=b""):
    """An array that says to be larger than any memory, under a checksum that is right."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "|u1", "fortran_order": False, "shape": (claimed,)}
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + header.getvalue()[8:] + content)
    append_checksum(path)


def spoil_with_smaller_claim(path, other):
    """Two gigabytes, which there may be room for."""
    spoil_with_claim(path, other, claimed=1 << 31)


def spoil_with_bomb(path, other):
    """Zeros of 200 MB in a file of 200 kB, under a checksum that is right."""
    spoil_with_claim(path, other, claimed=200 << 20, content=bytes(200 << 20))


SPOILS = [
    *(spoil_with_fifo, spoil_without_array, spoil_with_other_part, spoil_with_folder),
    *(spoil_with_device, spoil_with_claim, spoil_with_smaller_claim, spoil_with_bomb),
    spoil_without_array_in_order,
    *(spoil_with_shorter_array, spoil_with_other_kind, spoil_with_further_array),
]


@pytest.mark.parametrize("spoil", SPOILS)
def test_a_part_that_is_not_what_it_should_be_is_made_again(tmp_path, spoil):
    messages = []
    store = Checkpoint(tmp_path, run="one", progress=messages.append)
    for name in "ab":
        store.put(name, {"x": np.arange(500.0), "y": np.arange(3)})
    spoil(tmp_path / "a.npz", tmp_path / "b.npz")
    tracemalloc.start()
    assert store.get("a") is None
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6
    assert messages == [
        f"{tmp_path / 'a.npz'}: damaged, or not this part of this run; it is made again"
    ]
    assert set(store.get("b")) == {"x", "y"}
    assert store.get("c") is None
    assert len(messages) == 1


def test_a_part_of_another_run_is_made_again(tmp_path):
    Checkpoint(tmp_path, run="one").put("a", {"x": np.arange(3)})
    assert Checkpoint(tmp_path, run="one").get("a") is not None
    assert Checkpoint(tmp_path, run="other").get("a") is None


RUN = {"seed": 1, "algorithm": "1", "code_sha256": "a", "versions": "{}", "instruction_set": "{}"}


def begin(target, run):
    """Keep a part of a run that is killed."""
    with (
        contextlib.suppress(ZeroDivisionError),
        checkpoint(target, run=run, resume=False) as store,
    ):
        store.put("a", {"x": np.arange(3)})
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"algorithm": "2"}, "algorithm"),
        ({"code_sha256": "b"}, "state of the code"),
        ({"versions": "{1}", "instruction_set": "x"}, "version of a library, instruction set"),
    ],
)
def test_what_was_computed_otherwise_is_made_again(tmp_path, changed, named):
    begin(tmp_path / "r.nc", RUN)
    with checkpoint(tmp_path / "r.nc", run=RUN | changed, resume=True) as store:
        assert not store.resumed
        kept = tmp_path / "r.nc.checkpoint"
        assert store.beginning == f"{kept}: was computed by another {named}: beginning"
        assert store.get("a") is None


def test_a_run_that_is_resumed_has_the_parts_of_the_killed_one(tmp_path):
    begin(tmp_path / "r.nc", RUN)
    with checkpoint(tmp_path / "r.nc", run=RUN, resume=True) as store:
        assert store.resumed
        assert store.get("a")["x"].tolist() == [0, 1, 2]


def test_another_seed_is_refused_and_loses_nothing(tmp_path):
    begin(tmp_path / "r.nc", RUN)
    message = "r.nc.checkpoint: is of a run with another seed; run without --resume"
    with (
        pytest.raises(StorageError, match=message),
        checkpoint(tmp_path / "r.nc", run=RUN | {"seed": 2, "algorithm": "2"}, resume=True),
    ):
        pass
    assert (tmp_path / "r.nc.checkpoint" / "a.npz").is_file()


def fail_after(target, parts):
    """Finish some parts of a run, and fail."""
    with checkpoint(target, run=RUN, resume=False) as store:
        for name in parts:
            store.put(name, {"x": np.arange(3)})
        raise KeyboardInterrupt


@pytest.mark.parametrize("finished", [[], ["a"]])
def test_a_run_that_fails_keeps_what_it_has_finished_and_no_empty_folder(tmp_path, finished):
    with pytest.raises(KeyboardInterrupt):
        fail_after(tmp_path / "r.nc", finished)
    kept = sorted(path.name for path in tmp_path.rglob("*"))
    assert kept == (["a.npz", "r.nc.checkpoint", "run"] if finished else [])


@pytest.mark.parametrize(
    "refused",
    [
        ["calibrate", "quickstart_crowd", "--peek", "5"],
        ["calibrate", "quickstart", "--peek", "50"],
        ["measure", "quickstart", "--set", "panel.data='none.csv'"],
    ],
)
def test_a_command_that_is_refused_leaves_nothing(run, tmp_path, refused):
    assert run(*refused).exit_code in {2, 3}
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("text", [b"\xff", b"[1]", b"{", b"[" * 100_000, b"1"])
def test_a_run_that_cannot_be_read_begins_anew(tmp_path, text):
    begin(tmp_path / "r.nc", RUN)
    key = tmp_path / "r.nc.checkpoint" / "run"
    key.write_bytes(text)
    with checkpoint(tmp_path / "r.nc", run=RUN, resume=True) as store:
        assert store.beginning == f"{key}: cannot be read: beginning"


@pytest.mark.parametrize("name", ["run", "../r.nc.lock"])
def test_a_pipe_in_the_place_of_a_file_does_not_hang(tmp_path, name):
    begin(tmp_path / "r.nc", RUN)
    path = tmp_path / "r.nc.checkpoint" / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with checkpoint(tmp_path / "r.nc", run=RUN, resume=True) as store:
        store.put("a", {"x": np.arange(3)})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("address", ["local:0", "local:x", "file:///etc/passwd", "http://x", ""])
def test_an_address_of_another_form(run, address):
    done = run("measure", "quickstart", "--cluster", address)
    assert done.exit_code == 2
    assert "must be local:N or the address of a scheduler" in done.stderr


def limited(folder, size):
    """Measure in a process whose files cannot grow beyond a size, as on a full disk.

    It writes no bytecode: Python would leave half of a large module, which no later run can load.
    """
    script = (
        "import resource, sys; from sharpbayes.cli.commands import main; "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size})); "
        "sys.argv[1:] = ['measure', 'quickstart', '--set', 'bootstrap.replicates=60', '--quiet', "
        "'--out', 'r.nc']; main()"
    )
    return subprocess.run(
        [sys.executable, "-B", "-c", script],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("size", "message"), [(500, "cannot write"), (60_000, "cannot write results")]
)
def test_a_disk_that_fills_leaves_the_results_and_what_is_kept(tmp_path, size, message):
    (tmp_path / "r.nc").write_bytes(b"old" + MARK + b"0" * 64 + b"\n")
    done = limited(tmp_path, size)
    assert done.returncode == 5, done.stderr
    assert done.stderr.startswith("r.nc")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert (tmp_path / "r.nc").read_bytes().startswith(b"old")
    assert {path.name for path in tmp_path.iterdir()} <= {"r.nc", "r.nc.checkpoint"}
    if size == 60_000:
        assert (tmp_path / "r.nc.checkpoint" / "resamples-1-2-30.npz").is_file()


def test_a_folder_that_takes_no_files(run):
    # Where even the superuser cannot write.
    done = run("measure", "quickstart", *FEW[:2], "--quiet", "--out", "/proc/r.nc")
    assert done.exit_code == 5
    assert done.stderr.startswith("/proc/r.nc: cannot write results")


def test_half_written_results_of_a_killed_run_are_removed(run, tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with replace_file(tmp_path / "r.nc", "") as temporary:
        temporary.write_bytes(b"old")
        left = temporary.name.replace(f".{os.getpid()}.", f".{ended.pid}.")
    (tmp_path / "r.nc").unlink()
    for name in (left, ".~r.nc.mine", ".~other.nc.123"):
        (tmp_path / name).write_bytes(b"half")
    assert run("measure", "quickstart", *FEW[:2], "--quiet", "--out", "r.nc").exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".~other.nc.123",
        ".~r.nc.mine",
        "r.nc",
    ]

"""A fit killed at random moments and resumed: what was kept, and whether the numbers are the same.

``python -m tests.kills 50 --out tests/references/kills.csv`` kills fifty times, every third time a
run that itself resumes a killed one. About ten minutes.
"""

import argparse
import csv
import multiprocessing
import os
import re
import signal
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import xarray as xr

from sharpbayes.cli.commands import app
from sharpbayes.storage.results import open_results, temporary_files
from tests.references.provenance import record_run

FEW = ["--set", "bootstrap.replicates=2000", "--set", "crowd.permutations=20"]
SMALL = [*FEW, "--set", "sampler.tune=150", "--set", "sampler.draws=150"]
SMALL += ["--set", "sampler.predictive_draws=40", "--set", "sampler.chains=3"]
FIT = ["fit", "quickstart_crowd", "--out", "r.nc", *SMALL]
ENDED = {0, 4}
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    ["sharpbayes.cli.commands", "sharpbayes.workflows.weigh", "sharpbayes.bayes.fit"]
)
LONGEST = 1.4
HEADER = ["kill", "seconds", "of", "during", "resumes", "kept", "previous_results", "same_numbers"]


def run_fit(folder, *more, seconds=None):
    """Run a fit in a folder and return its exit status, None if it was killed at that moment.

    Its process starts with the program loaded, so that moments fall on the work.
    """
    started = PROCESSES.Process(target=_fit, args=(folder, [*FIT, *more]))
    started.start()
    started.join(seconds)
    if started.exitcode is None:
        started.kill()
        started.join()
    assert started.exitcode in {*ENDED, -signal.SIGKILL}, log_path(folder).read_text()
    return None if started.exitcode < 0 else started.exitcode


def _fit(folder, arguments):
    """Be the command."""
    os.chdir(folder)
    with log_path(folder).open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    app(arguments, prog_name="sharpbayes")


def log_path(folder):
    """Where a run says what it does: beside its folder."""
    return folder.with_name(f"{folder.name}.log")


def last_step(folder):
    """The step that a run had announced last when it was killed."""
    log = log_path(folder).read_text() if log_path(folder).is_file() else ""
    if temporary_files(folder / "r.nc"):
        return "writing results"
    if "results written" in log:
        return "removing what was kept"
    steps = [line.removesuffix(" ...") for line in log.splitlines() if line.endswith(" ...")]
    return re.sub(" \\(.*", "", steps[-1]) if steps else "reading data"


def assert_same(path, expected):
    """Every variable of every group, to the last bit."""
    one, other = open_results(path), open_results(expected)
    assert set(one.children) == set(other.children)
    for name in one.children:
        xr.testing.assert_identical(
            one[name].to_dataset().drop_attrs(), other[name].to_dataset().drop_attrs()
        )


def kill_and_resume(folder, moments, *, usual, expected):
    """Yield a row of the table for every moment; every run is resumed to its end.

    Args:
        folder: Holds ``r.nc``, the results of an earlier run, and nothing else.
        moments: Seconds after the start.
        usual: Seconds that a run takes.
        expected: Results of a run that nothing disturbed.
    """
    resumed, number = False, 0
    for seconds in moments:
        old = (folder / "r.nc").read_bytes()
        log_path(folder).unlink(missing_ok=True)
        ended = run_fit(folder, *["--resume"] * resumed, seconds=float(seconds)) is not None
        replaced = (folder / "r.nc").read_bytes() != old
        if ended or replaced:  # the last moment: results stand, what was kept is being removed
            assert_same(folder / "r.nc", expected)
        if ended:
            resumed = False
            continue
        number += 1
        kept = Counter(part.stem.split("-")[0] for part in folder.glob("r.nc.checkpoint/*.npz"))
        row = [number, f"{seconds:.2f}", f"{usual:.2f}", last_step(folder)]
        row.append("yes" if resumed else "no")
        row.append(" ".join(f"{count} {kind}" for kind, count in sorted(kept.items())) or "nothing")
        row.append("replaced" if replaced else "whole")
        begun = (folder / "r.nc.checkpoint" / "run").is_file()
        resumed = begun and number % 3 == 1
        if not resumed:
            run_fit(folder, *["--resume"] * begun)
            assert_same(folder / "r.nc", expected)
            assert [path.name for path in folder.iterdir()] == ["r.nc"]
        yield [*row, "killed again" if resumed else "yes"]


def main():
    """Kill as often as the command line says and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", type=int)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as base, options.out.open("w", newline="") as file:
        expected, folder = Path(base) / "expected.nc", Path(base) / "runs"
        folder.mkdir()
        run_fit(folder)
        before = time.monotonic()
        run_fit(folder)
        usual = time.monotonic() - before
        expected.write_bytes((folder / "r.nc").read_bytes())
        # Longer than a run takes: the machine may be slower later on.
        rng = np.random.default_rng(options.seed)
        moments = iter(lambda: rng.uniform(0.02, LONGEST) * usual, None)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for row in islice(
            kill_and_resume(folder, moments, usual=usual, expected=expected), options.kills
        ):
            writer.writerow(row)
            file.flush()
    record_run(options.out)


if __name__ == "__main__":
    main()

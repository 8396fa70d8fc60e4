"""A fit killed at random moments and resumed: what was kept, and whether the numbers are the same.

``python -m tests.kills 50 --out tests/references/kills.csv`` kills fifty times, every third time a
run that itself resumes a killed one.
"""

import argparse
import csv
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import xarray as xr

from sharpbayes.results import open_results

FEW = ["--set", "bootstrap.replicates=2000", "--set", "crowd.permutations=20"]
SMALL = [*FEW, "--set", "sampler.tune=150", "--set", "sampler.draws=150"]
SMALL += ["--set", "sampler.predictive=0", "--set", "sampler.chains=3", "--quiet"]
FIT = ["fit", "quickstart_crowd", "--out", "r.nc", *SMALL]
ENDED = {0, 4}
HEADER = ["kill", "seconds", "of", "resumes", "kept", "previous_results", "same_numbers"]


def fitted(folder, *more, seconds=None):
    """Run a fit in a folder and return its exit status, None if it was killed at that moment."""
    started = subprocess.Popen(
        [sys.executable, "-m", "sharpbayes", *FIT, *more], cwd=folder, stderr=subprocess.PIPE
    )
    try:
        _, told = started.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        started.send_signal(signal.SIGKILL)
        started.communicate()
        return None
    assert started.returncode in ENDED, told.decode()
    return started.returncode


def same(path, expected):
    """Every variable of every group, to the last bit."""
    one, other = open_results(path), open_results(expected)
    assert set(one.children) == set(other.children)
    for name in one.children:
        xr.testing.assert_identical(
            one[name].to_dataset().drop_attrs(), other[name].to_dataset().drop_attrs()
        )


def killed(folder, moments, *, usual, expected):
    """Yield a row of the table for every moment; every run is resumed to its end.

    Args:
        folder: Holds ``r.nc``, the results of an earlier run, and nothing else.
        moments: Seconds after the start.
        usual: Seconds that a run takes.
        expected: Results of a run that nothing disturbed.
    """
    resumed = False
    for number, seconds in enumerate(moments, start=1):
        old = (folder / "r.nc").read_bytes()
        again = ["--resume"] * resumed
        ended = fitted(folder, *again, seconds=float(seconds)) is not None
        kept = Counter(part.stem.split("-")[0] for part in folder.glob("r.nc.checkpoint/*.npz"))
        replaced = (folder / "r.nc").read_bytes() != old
        if ended or replaced:  # the last moment: results stand, what was kept is being removed
            same(folder / "r.nc", expected)
        begun = (folder / "r.nc.checkpoint" / "run").is_file()
        row = [number, f"{seconds:.2f}", f"{usual:.2f}", "yes" if resumed else "no"]
        row += ["ended" if ended else " ".join(f"{n} {k}" for k, n in sorted(kept.items())) or "-"]
        resumed = begun and number % 3 == 2
        if not resumed:
            if not ended:
                fitted(folder, *(["--resume"] * begun))
            same(folder / "r.nc", expected)
        yield [*row, "replaced" if replaced else "whole", "killed again" if resumed else "yes"]
    assert [path.name for path in folder.iterdir()] == ["r.nc"]


def main():
    """Kill as often as asked for and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", type=int)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=9)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as base, asked.out.open("w", newline="") as file:
        expected, folder = Path(base) / "expected.nc", Path(base) / "runs"
        folder.mkdir()
        fitted(folder)
        before = time.monotonic()
        fitted(folder)
        usual = time.monotonic() - before
        expected.write_bytes((folder / "r.nc").read_bytes())
        moments = np.random.default_rng(asked.seed).uniform(0.02, 1.0, asked.kills) * usual
        table = csv.writer(file, lineterminator="\n")
        table.writerow(HEADER)
        for row in killed(folder, moments, usual=usual, expected=expected):
            table.writerow(row)
            file.flush()


if __name__ == "__main__":
    main()

"""A fit of very many ratings until it has converged: time and memory of every phase.

    python -m tests.benchmarks.large --ratings 10e6 --items 50e3 --raters 2e3 --cores 0,1
    python -m tests.benchmarks.large --ratings 25e6 --items 4e4 --raters 160e3 --uneven --cores 0,1

Ratings of crossed items and raters with effects from normal distributions are simulated and written
as Parquet to the folder for temporary files, which is deleted. The fit then runs in a process of
its own on the cores that are named. ``--uneven``: numbers of ratings by item and by rater as
different as those of MovieLens. ``--set`` goes to the study, as in ``sharpbayes fit``. ``--keep``
names a folder for data and results, and data that are there already are used.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sharpbayes
from sharpbayes.execution.progress import Phase
from sharpbayes.execution.tasks import Execution
from sharpbayes.spec.load import load_study
from sharpbayes.storage.results import save_results
from sharpbayes.workflows.context import RunContext
from tests.study_texts import format_crowd

SEED = 20260121
CUTPOINTS = (-2.0, -0.7, 0.7, 2.0)
ITEM_SD, RATER_SD = 1.2, 0.8
# Sd of the logarithm of the expected number of ratings of an item or a rater.
UNEVEN = 1.5
PIECE = 2_000_000


def even_pairs(rng, ratings, items, raters):
    """Item and rater of every rating; all items have as many different raters."""
    width = max(1, round(ratings / items))
    stride = rng.integers(1, max(2, raters // width), items)
    rater = rng.integers(0, raters, items)[:, None] + stride[:, None] * np.arange(width)
    return np.repeat(np.arange(items), width), (rater % raters).ravel()


def uneven_pairs(rng, ratings, items, raters):
    """Item and rater of every rating, of which some have very many; each rater once an item."""
    shares = [rng.lognormal(0.0, UNEVEN, size) for size in (items, raters)]
    item, rater = (rng.choice(len(x), 2 * ratings, p=x / x.sum()) for x in shares)
    pairs = np.unique(item * raters + rater)
    return np.divmod(np.sort(rng.choice(pairs, ratings, replace=False)), raters)


def simulate(folder, *, ratings, items, raters, uneven):
    """Write data and study; return the number of ratings."""
    rng = np.random.default_rng(SEED)
    item, rater = (uneven_pairs if uneven else even_pairs)(rng, ratings, items, raters)
    writer = None
    for table in tables(rng, item, rater, sizes=(items, raters)):
        writer = writer or pq.ParquetWriter(folder / "ratings.parquet", table.schema)
        writer.write_table(table)
    writer.close()
    text = format_crowd(f"{len(item):,} ratings")
    (folder / "study.toml").write_text(text, encoding="utf-8")
    return len(item)


def tables(rng, item, rater, *, sizes):
    """The table of ratings in pieces."""
    severity, bias = rng.normal(0, ITEM_SD, sizes[0]), rng.normal(0, RATER_SD, sizes[1])
    genders = pa.array(["Man", "Woman"])
    for start in range(0, len(item), PIECE):
        raters, items = rater[start : start + PIECE], item[start : start + PIECE]
        latent = severity[items] + bias[raters] + rng.logistic(size=len(items))
        columns = {
            "item": items.astype(np.int32),
            "rater": raters.astype(np.int32),
            "score": np.digitize(latent, CUTPOINTS).astype(np.int8),
            "gender": pa.DictionaryArray.from_arrays(pa.array(raters % 2, pa.int8()), genders),
        }
        yield pa.table(columns)


def memory(name):
    """A line of memory of this process, in MiB."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith(f"{name}:"))


class PhaseTable:
    """Prints a row for each phase of a run when it ends; remarks between them."""

    def __init__(self):
        head = ("phase", "wall, s", "processor, s", "memory after it, MiB", "peak so far, MiB")
        self.phase, self.wall, self.processor = None, time.monotonic(), time.process_time()
        print(f"| {' | '.join(head)} |\n{'| --- ' * len(head)}|", flush=True)

    def __call__(self, message, _chains=()):
        if not isinstance(message, Phase):
            print(f"    {message}", flush=True)
        elif message is not self.phase:
            wall, processor = time.monotonic(), time.process_time()
            if self.phase:
                seconds = f"{wall - self.wall:.1f} | {processor - self.processor:.1f}"
                sizes = f"{memory('VmRSS'):,} | {memory('VmHWM'):,}"
                print(f"| {self.phase.value} | {seconds} | {sizes} |", flush=True)
            self.phase, self.wall, self.processor = message, wall, processor


def fit_and_report(folder, overrides):
    """Fit and save; print a row for each phase, then how the fit ended and what the file takes."""
    began, report, file = time.monotonic(), PhaseTable(), folder / "study.results.nc"
    files = load_study(folder / "study.toml", overrides=tuple(overrides))
    results = sharpbayes.fit(RunContext(files, Execution(progress=report)))
    report(Phase.WRITING)
    save_results(results, file)
    report(Phase.DONE)
    diagnostics, statistics = results["diagnostics"], results["sample_stats"]
    numbers = {
        "wall_s": round(time.monotonic() - began, 1),
        "processor_s": round(time.process_time(), 1),
        "peak_mib": memory("VmHWM"),
        "file_mb": round(file.stat().st_size / 1e6, 1),
        "status": results.attrs["status"],
        "draws_a_chain": results["posterior"].sizes["draw"],
        "max_rhat": round(float(diagnostics["rhat"].max()), 4),
        "min_bulk_ess": round(float(diagnostics["ess_bulk"].min())),
        "gradients_a_draw": round(float(statistics["n_steps"].mean()), 1),
        "issues": diagnostics.attrs["convergence_issues"],
    }
    print(json.dumps(numbers, indent=1))


def main():
    """Simulate, then fit in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ratings", type=float, default=1e6)
    parser.add_argument("--items", type=float, default=5e3)
    parser.add_argument("--raters", type=float, default=1e3)
    parser.add_argument("--uneven", action="store_true")
    parser.add_argument("--cores", help="numbers of the cores, such as 0,1; default: all")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        fit_and_report(asked.inside, asked.set)
        return 0
    with tempfile.TemporaryDirectory() as base:
        folder = asked.keep or Path(base)
        folder.mkdir(exist_ok=True, parents=True)
        if not (folder / "study.toml").exists():
            sizes = {name: int(getattr(asked, name)) for name in ("ratings", "items", "raters")}
            count = simulate(folder, **sizes, uneven=asked.uneven)
            print(f"{count:,} ratings, {sizes['items']:,} items, {sizes['raters']:,} raters")
        inside = [sys.executable, "-m", "tests.benchmarks.large", "--inside", folder]
        inside += [argument for text in asked.set for argument in ("--set", text)]
        pinned = ["taskset", "-c", asked.cores] if asked.cores else []
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
        return subprocess.run([*pinned, *inside], check=True).returncode


if __name__ == "__main__":
    sys.exit(main())

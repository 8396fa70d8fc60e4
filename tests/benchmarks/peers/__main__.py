"""Run every peer that can be had, one after another on the same two cores, and print a table.

    uv run python -m tests.benchmarks.peers DATA.parquet --cache DIR --out DIR

Each leaves RUN.json and RUN.log in the output folder. Environments and machine code that libraries
keep on disk live in the cache folder; ``--cold`` throws the machine code away first.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tests.benchmarks.peers import environment, table

SCRIPTS = Path(__file__).parent
ROOT = Path(__file__).parents[3]
# What is run: a script and its own options. The first may be run with --gradient alone.
RUNS = {
    "ours": ("ours", ()),
    "plain_pymc": ("plain_pymc", ()),
    "plain_pymc_jax": ("plain_pymc", ("--backend", "jax")),
    "bambi": ("bambi", ()),
    "bambi_pymc": ("bambi", ("--sampler", "pymc")),
    "numpyro": ("numpyro", ()),
    "brms": ("brms", ()),
    "clmm": ("clmm", ()),
}


@dataclass(frozen=True)
class Files:
    """Where one run reads and writes."""

    data: Path
    out: Path
    log: Path
    compiled: Path


def parsed():
    """The arguments."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.peers")
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    for name, default in {"chains": 2, "tune": 500, "draws": 500, "seed": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--runs", nargs="+", choices=RUNS, default=list(RUNS))
    parser.add_argument("--cpus", default="0,1", help="cores as taskset writes them")
    parser.add_argument("--limit", type=float, default=1800, help="seconds after which a run stops")
    parser.add_argument("--cold", action="store_true", help="throw away compiled code first")
    return parser.parse_args()


def available(run):
    """Whether this machine can run it."""
    script = RUNS[run][0]
    return script not in environment.PACKAGES_IN_R or environment.has_r(script)


def files_of(run, given):
    """The files of a run. R peers read a csv copy of the ratings, made beside their results."""
    out = given.out.absolute()
    data = given.data.absolute()
    if RUNS[run][0] in environment.PACKAGES_IN_R:
        data = out / f"{data.stem}.csv"
        pd.read_parquet(given.data).to_csv(data, index=False)
    compiled = given.cache.absolute() / "compiled" / run
    return Files(data, out / f"{run}.json", out / f"{run}.log", compiled)


def program(run, cache):
    """The interpreter and the script. As a module: a peer's file has the name of its library."""
    script = RUNS[run][0]
    if script in environment.PACKAGES_IN_R:
        return ["Rscript", SCRIPTS / f"{script}.R"]
    python = sys.executable if script == "ours" else environment.python_of(script, cache)
    return [python, "-m", f"tests.benchmarks.peers.{script}"]


def pinned(cpus):
    """The start of a command that holds it to some cores, where the machine has taskset."""
    return ["taskset", "-c", cpus] if shutil.which("taskset") else []


def command(run, given, files):
    """The whole command line of a run."""
    counts = [f"--{name}={getattr(given, name)}" for name in ("chains", "tune", "draws", "seed")]
    if RUNS[run][0] in environment.PACKAGES_IN_R:
        counts = [part for count in counts for part in count.split("=")]
    parts = [*pinned(given.cpus), *program(run, given.cache), files.data, files.out]
    return [*map(str, parts), *counts, *RUNS[run][1]]


def surroundings(compiled):
    """The environment variables of a run: its compile caches, nothing of this interpreter."""
    clean = {k: x for k, x in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    flags = f"base_compiledir={compiled / 'pytensor'}"
    return clean | {"PYTENSOR_FLAGS": flags, "NUMBA_CACHE_DIR": str(compiled / "numba")}


def timed(line, *, files, limit):
    """Seconds of wall time, peak resident megabytes and the exit status of one process."""
    start = time.perf_counter()
    with files.log.open("w", encoding="utf-8") as log:
        started = subprocess.Popen(
            line, cwd=ROOT, env=surroundings(files.compiled), stdout=log, stderr=log
        )
        stopper = threading.Timer(limit, started.kill)
        stopper.start()
        _, status, used = os.wait4(started.pid, 0)
        stopper.cancel()
    wall = time.perf_counter() - start
    started.returncode = os.waitstatus_to_exitcode(status)
    return {"wall": wall, "peak_mb": used.ru_maxrss / 1024, "status": started.returncode}


def result(run, given):
    """Run one peer; its JSON with what the driver saw, or only that where it failed."""
    files = files_of(run, given)
    line = command(run, given, files)
    files.out.unlink(missing_ok=True)
    if given.cold:
        shutil.rmtree(files.compiled, ignore_errors=True)
    files.compiled.mkdir(parents=True, exist_ok=True)
    cold = not any(files.compiled.iterdir())
    driver = {"load_before": os.getloadavg()[0], "cold": cold}
    driver |= timed(line, files=files, limit=given.limit)
    output = json.loads(files.out.read_text(encoding="utf-8")) if files.out.exists() else {}
    output |= {"run": run, "driver": driver}
    files.out.write_text(json.dumps(output, indent=1) + "\n", encoding="utf-8")
    return output


def main():
    """Run, print as they come, then the table."""
    given = parsed()
    given.out.mkdir(parents=True, exist_ok=True)
    available_runs = [run for run in given.runs if available(run)]
    results = []
    for run in available_runs:
        print(f"{run} ...", file=sys.stderr, flush=True)
        results.append(result(run, given))
    print(table.text(results))
    print(
        "\n".join(f"{run}: not on this machine" for run in given.runs if run not in available_runs)
    )
    return any(run_result["driver"]["status"] for run_result in results)


if __name__ == "__main__":
    sys.exit(main())

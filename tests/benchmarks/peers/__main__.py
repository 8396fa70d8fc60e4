"""Run every peer that can be had, one after another on the same two cores, and print a table.

    uv run python -m tests.benchmarks.peers DATA.parquet --cache DIR --out DIR

Each leaves RUN.json and RUN.log in the output folder. Environments and machine code that libraries
keep on disk live in the cache folder; ``--cold`` throws the machine code away first.
"""

import argparse
import json
import os
import shutil
import signal
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
    "brms_threads": ("brms_threads", ()),
    "xfx": ("xfx", ()),
    "clmm": ("clmm", ()),
    "tmb": ("tmb", ()),
}
# Runs that need the source of another repository, and the option that names its folder.
SOURCES = {"xfx": "xfx"}


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
    parser.add_argument("--limit", type=float, default=600, help="seconds after which a run stops")
    parser.add_argument("--populations", choices=["all", "none"], default="all")
    for name in SOURCES.values():
        parser.add_argument(f"--{name}", type=Path, help=f"folder of the source of {name}")
    parser.add_argument("--cold", action="store_true", help="throw away compiled code first")
    return parser.parse_args()


def available(run, given):
    """Whether this machine can run it."""
    script = RUNS[run][0]
    if script in SOURCES and not getattr(given, SOURCES[script]):
        return False
    return script not in environment.PACKAGES_IN_R or environment.has_r(script)


def copied(given):
    """The ratings as parquet and as csv for R, beside the results, without populations if asked."""
    table = pd.read_parquet(given.data)
    if given.populations == "none":
        table = table[["item", "rater", "level"]]
    place = given.out.absolute() / f"ratings-{given.data.stem}"
    table.to_parquet(place.with_suffix(".parquet"))
    table.to_csv(place.with_suffix(".csv"), index=False)
    return place


def files_of(run, given, ratings):
    """The files of a run."""
    out = given.out.absolute()
    suffix = ".csv" if RUNS[run][0] in environment.PACKAGES_IN_R else ".parquet"
    data = ratings.with_suffix(suffix)
    compiled = given.cache.absolute() / "compiled" / run
    return Files(data, out / f"{run}.json", out / f"{run}.log", compiled)


def program(run, cache):
    """The interpreter and the script. As a module: a peer's file has the name of its library."""
    script = RUNS[run][0]
    if script not in environment.REQUIREMENTS and script != "ours":
        return ["Rscript", SCRIPTS / f"{script}.R"]
    python = sys.executable if script == "ours" else environment.python_of(script, cache)
    return [python, "-m", f"tests.benchmarks.peers.{script}"]


def pinned(cpus):
    """The start of a command that holds it to some cores, where the machine has taskset."""
    return ["taskset", "-c", cpus] if shutil.which("taskset") else []


def command(run, given, files):
    """The whole command line of a run."""
    counts = [f"--{name}={getattr(given, name)}" for name in ("chains", "tune", "draws", "seed")]
    interpreter = program(run, given.cache)
    if interpreter[0] == "Rscript":
        counts = [part for count in counts for part in count.split("=")]
    else:
        counts.append(f"--limit={given.limit}")
    if run in SOURCES:
        counts.append(f"--source={getattr(given, SOURCES[run]).absolute()}")
    parts = [*pinned(given.cpus), *interpreter, files.data, files.out]
    return [*map(str, parts), *counts, *RUNS[run][1]]


def surroundings(compiled):
    """The environment variables of a run: its compile caches, nothing of this interpreter."""
    clean = {k: x for k, x in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    flags = f"base_compiledir={compiled / 'pytensor'}"
    numba = {"NUMBA_CACHE_DIR": str(compiled / "numba")}
    return clean | numba | {"PYTENSOR_FLAGS": flags, "PEERS_COMPILED": str(compiled)}


def timed(line, *, files, limit):
    """Wall and processor seconds, peak resident megabytes and the exit status of one process.

    At the limit it is killed with the processes that it started, whose times are then not known.
    """
    start = time.perf_counter()
    settings = {"cwd": ROOT, "env": surroundings(files.compiled), "start_new_session": True}
    with files.log.open("w", encoding="utf-8") as log:
        started = subprocess.Popen(line, **settings, stdout=log, stderr=log)
        stopper = threading.Timer(limit, os.killpg, (started.pid, signal.SIGKILL))
        stopper.start()
        _, status, used = os.wait4(started.pid, 0)
        stopper.cancel()
    wall = time.perf_counter() - start
    started.returncode = os.waitstatus_to_exitcode(status)
    used_seconds = {"wall": wall, "processor": used.ru_utime + used.ru_stime}
    killed = {"status": started.returncode, "limit": limit}
    return used_seconds | {"peak_mb": used.ru_maxrss / 1024} | killed


def commit():
    """The commit of this version."""
    asked = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(
        asked, cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()


def result(run, given, ratings):
    """Run one peer; its JSON with what the driver saw, or only that where it failed."""
    files = files_of(run, given, ratings)
    line = command(run, given, files)
    files.out.unlink(missing_ok=True)
    if given.cold:
        shutil.rmtree(files.compiled, ignore_errors=True)
    files.compiled.mkdir(parents=True, exist_ok=True)
    cold = not any(files.compiled.iterdir())
    driver = {"load_before": os.getloadavg()[0], "cold": cold, "commit": commit()}
    driver["day"] = time.strftime("%Y-%m-%d")
    driver |= timed(line, files=files, limit=given.limit)
    output = json.loads(files.out.read_text(encoding="utf-8")) if files.out.exists() else {}
    output |= {"run": run, "driver": driver}
    files.out.write_text(json.dumps(output, indent=1) + "\n", encoding="utf-8")
    return output


def main():
    """Run, print as they come, then the table."""
    given = parsed()
    given.out.mkdir(parents=True, exist_ok=True)
    ratings = copied(given)
    available_runs = [run for run in given.runs if available(run, given)]
    results = []
    for run in available_runs:
        print(f"{run} ...", file=sys.stderr, flush=True)
        results.append(result(run, given, ratings))
    print(table.text(results))
    print(
        "\n".join(f"{run}: not on this machine" for run in given.runs if run not in available_runs)
    )
    return any(run_result["driver"]["status"] for run_result in results)


if __name__ == "__main__":
    sys.exit(main())

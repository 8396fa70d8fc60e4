"""brms with threads within chains: its code and data for Stan, sampled by Stan.

    python -m tests.benchmarks.peers.brms_threads DATA OUT --chains 2 --tune 500 --draws 500 \\
        --seed 1

DATA is a csv file. Stan, its mathematics and its compiler come with the package httpstan;
``stan_main.cpp`` runs its NUTS as CmdStan does. The program is kept where ``PEERS_COMPILED`` says,
by a digest of its code, as cmdstanr keeps it. Before ``--limit`` chains stop and keep what they
drew.
"""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from tests.benchmarks.peers import common

PACKAGES = ("httpstan", "arviz", "numpy")
SCRIPTS = Path(__file__).parent
FLAGS = ("-std=c++17", "-O3", "-w", "-DSTAN_THREADS", "-D_REENTRANT", "-DBOOST_DISABLE_ASSERTS")
SUNDIALS = ("cvodes", "idas", "kinsol", "nvecserial")
LIBRARIES = ("-l:libtbb.so.2", *(f"-lsundials_{name}" for name in SUNDIALS))
# A declaration such as ``int J[N];``: type, name, size and what follows.
OLD_ARRAY = re.compile(
    r"\b((?:int|real|vector)(?:<[^>]*>)?(?:\[[^\]]*\])?) (\w+)\[([^\]]*)\](\s*[=;])"
)
# Seconds before the limit at which chains stop: the draws have to be read.
RESERVE = 25


def stan():
    """The folder of the package httpstan, which starts a server if it is imported."""
    return Path(importlib.util.find_spec("httpstan").origin).parent


def write_code(data, folder):
    """What brms writes for a csv file of ratings: model.stan, data.json and terms.json."""
    subprocess.run(["Rscript", SCRIPTS / "brms_code.R", data, folder], check=True)
    code = folder / "model.stan"
    code.write_text(rewrite_arrays(code.read_text("utf-8")), encoding="utf-8")


def rewrite_arrays(code):
    """Arrays as Stan writes them since 2.33; older versions of brms write them as before.

    >>> rewrite_arrays("  int<lower=1> J_1[N];  vector[K] z[M];")
    '  array[N] int<lower=1> J_1;  array[M] vector[K] z;'
    >>> rewrite_arrays("real f(int[] seq, data int[] Y)")
    'real f(array[] int seq, data array[] int Y)'
    """
    return OLD_ARRAY.sub(r"array[\3] \1 \2\4", code.replace("int[]", "array[] int"))


def program(folder):
    """The compiled model, from disk where it was compiled before."""
    code, stan_version = (folder / "model.stan").read_bytes(), version("httpstan")
    digest = hashlib.sha256(code + stan_version.encode()).hexdigest()[:16]
    place = Path(os.environ["PEERS_COMPILED"]) / f"stan-{digest}"
    if not place.exists():
        compile_model(folder, place)
    return place


def compile_model(folder, place):
    """Compile model.stan with the main program."""
    package, cpp = stan(), folder / "model.cpp"
    subprocess.run([package / "stanc", folder / "model.stan", f"--o={cpp}"], check=True)
    parts = ["-I", package / "include", cpp, SCRIPTS / "stan_main.cpp"]
    linked = ["-L", package / "lib", f"-Wl,-rpath,{package / 'lib'}", *LIBRARIES]
    made = folder / "model"
    subprocess.run(["g++", *FLAGS, *parts, "-o", made, *linked], check=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(made, place)


def sample(compiled, folder, arguments, *, seconds):
    """Run Stan on all cores of this process; whether it ended before time was up."""
    threads = len(os.sched_getaffinity(0))
    counts = [arguments.chains, arguments.tune, arguments.draws, arguments.seed, threads]
    started = subprocess.Popen([compiled, folder / "data.json", folder, *map(str, counts)])
    try:
        return started.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        started.kill()
        started.wait()
        return False


def columns(terms, ratings):
    """The columns of Stan's files by the names of the peers."""
    number = {name: term for name, term in terms.items() if name != "brms"}
    levels = range(1, ratings.size["level"])
    named = {f"sd_{name}": [f"sd_{number[name]}.1"] for name in ("item", "rater")}
    named["thresholds"] = [f"b_Intercept.{k}" for k in levels]
    for name in ratings.populations:
        places = range(1, ratings.size[name] + 1)
        named[name] = [f"r_{number[name]}_1.{k}" for k in places]
    return named


def chain_of(path, wanted, *, ended):
    """The wanted columns of a file; of a chain that was stopped, without its last line."""
    table = pd.read_csv(path, comment="#", usecols=[*wanted, "divergent__"])
    return table if ended else table.iloc[:-1].dropna()


def draws_of(tables, named):
    """Draws by name, of the length of the shortest chain."""
    length = min(map(len, tables))
    stacked = {
        name: np.stack([table[places].to_numpy(float)[:length] for table in tables])
        for name, places in named.items()
    }
    return {name: x[..., 0] if name.startswith("sd_") else x for name, x in stacked.items()}


def main():
    """Run the peer."""
    arguments = common.parser().parse_args()
    laps = common.Laps()
    import arviz  # noqa: F401

    laps.lap("imports")
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_code(arguments.data, folder)
        compiled = program(folder)
        laps.lap("compile")
        left = arguments.limit - RESERVE - common.process_seconds()
        ended = sample(compiled, folder, arguments, seconds=left)
        laps.lap("sampling")
        ratings = common.read(arguments.data)
        terms = json.loads((folder / "terms.json").read_text(encoding="utf-8"))
        named = columns(terms, ratings)
        wanted = [place for places in named.values() for place in places]
        files = [folder / f"draws_{k}.csv" for k in range(1, arguments.chains + 1)]
        tables = [chain_of(path, wanted, ended=ended) for path in files]
    draws = draws_of(tables, named)
    head = common.report("brms_threads", arguments, ratings, PACKAGES)
    head["versions"]["brms"] = terms["brms"]
    head |= common.stopped(draws, arguments)
    broken = sum(int(table["divergent__"].sum()) for table in tables)
    common.finish(head, draws, laps, divergences=broken, differs=[], out=arguments.out)


if __name__ == "__main__":
    main()

"""Seconds until commands answer, from a cold process, beside an empty one.

uv run python -m tests.benchmarks.startup
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

OUT = str(Path(tempfile.gettempdir()) / "startup.nc")
COMMANDS = {
    "python -c pass": ("-c", "pass"),
    "numpy, pandas, xarray": ("-c", "import numpy, pandas, xarray"),
    "sharpbayes --help": ("-m", "sharpbayes", "--help"),
    "sharpbayes check quickstart": ("-m", "sharpbayes", "check", "quickstart"),
    # What the tests and mixed models of a measurement load besides; commands load no Dask.
    "libraries of `measure`": (
        "-c",
        "import sys; sys.modules['dask'] = None\n"
        "import numpy, pandas, xarray, netCDF4, numba, pydantic, typer, scipy.stats\n"
        "from statsmodels.regression import mixed_linear_model\n"
        "from statsmodels.genmod import bayes_mixed_glm",
    ),
    "sharpbayes measure quickstart": ("-m", "sharpbayes", "measure", "quickstart", "--out", OUT),
}


def seconds(arguments, *, without):
    """Wall and processor seconds of one process; modules named in ``without`` are not there."""
    hidden = f"import sys; sys.modules.update(dict.fromkeys({without!r}))"
    command = [sys.executable, *arguments]
    if without and arguments[0] == "-m":
        run = f"sys.argv = {['sharpbayes', *arguments[2:]]!r}; import runpy"
        run += "; runpy.run_module('sharpbayes', run_name='__main__')"
        command = [sys.executable, "-c", f"{hidden}; {run}"]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, os.times()
    used = after.children_user + after.children_system
    return wall, used - before.children_user - before.children_system


def main():
    """Run every command in turn, so that what else runs on the machine meets all alike."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--without", nargs="*", default=[], help="modules to hide, such as dask")
    options = parser.parse_args()
    taken = {name: [] for name in COMMANDS}
    for _ in range(options.repeats + 1):
        for name, arguments in COMMANDS.items():
            taken[name].append(seconds(arguments, without=options.without))
    for name, runs in taken.items():
        wall, used = np.array(runs[1:]).T  # the first writes the bytecode
        print(
            f"{name:30} least {wall.min():.2f} s, median {np.median(wall):.2f} s, "
            f"processor {used.min():.2f} s"
        )


if __name__ == "__main__":
    main()

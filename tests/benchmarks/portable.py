"""What `--portable` costs: fits and gradients without it and with it, in turn.

    uv run python -m tests.benchmarks.portable --page docs/benchmarks/portable.md

Processor time of a fit is that of the process and of its threads. What does not depend on
instructions, such as loading libraries, is in it: gradients have none of it. The first round fills
caches (machine code of both kinds) and is left out.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from sharpbayes.execution.portability import SETTINGS
from tests.benchmarks.commands import HERE, commit_of, describe_day, run_command

FITS = {
    "`fit quickstart`": ("fit", "quickstart", "--out", "r.nc"),
    "`fit quickstart_crowd`": ("fit", "quickstart_crowd", "--out", "r.nc"),
}
GRADIENTS = {
    "gradient, 30,000 ratings of 1,500 items by 262 raters": "gradient-crowd",
    "gradient, 118,932 ratings of 9,911 items by 12 raters": "gradient-wide",
}
KINDS = ("plain", "portable")
# The largest share of the time that the option may add.
LIMIT = 1 / 3
PAGE = """# The price of `--portable`

`{command}`: {repeats} runs of each kind in turn, after one that is left out. A fit is measured \
by the processor seconds of its process, a gradient (log density with its gradient) by \
microseconds of a call, the median of a second of calls. Each cell is the least of the runs, with \
the median in brackets. The price is the median of the ratios of runs that followed each other. \
Measured on {day} with {cores} cores, commit {commit}.

{table}

{verdict}
"""


def measure_fit(folder, arguments, kind):
    """Return the processor seconds of one fit."""
    option = ["--portable"] if kind == "portable" else []
    return run_command(HERE, folder, [*arguments, *option])[1]


def measure_gradient(case, kind):
    """Return the microseconds of one log density with its gradient, in a process of its own."""
    settings = SETTINGS if kind == "portable" else {}
    call = [sys.executable, "-m", "tests.benchmarks.engine_case", case]
    done = subprocess.run(
        call, cwd=HERE, env=os.environ | settings, capture_output=True, text=True, check=True
    )
    return float(json.loads(done.stdout.splitlines()[-1])["kernel"])


def run_rounds(repeats):
    """Return (round, kind) by name: processor seconds of fits, microseconds of gradients."""
    taken = {name: [] for name in (*FITS, *GRADIENTS)}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(repeats + 1):
            for name, arguments in FITS.items():
                taken[name].append([measure_fit(folder, arguments, kind) for kind in KINDS])
                print(number, name, *taken[name][-1], flush=True)
            for name, case in GRADIENTS.items():
                taken[name].append([measure_gradient(case, kind) for kind in KINDS])
                print(number, name, *taken[name][-1], flush=True)
    return {name: np.array(rows[1:]) for name, rows in taken.items()}


def price_of(runs):
    """Return the share that the option adds to the time, by pairs of runs."""
    return float(np.median(runs[:, 1] / runs[:, 0])) - 1.0


def tabulate(taken):
    """Return the lines of a Markdown table."""
    lines = ["| | plain | portable | price |", "| --- | --- | --- | --- |"]
    for name, runs in taken.items():
        unit, places = ("s", 1) if name in FITS else ("µs", 0)
        cells = [
            f"{low:.{places}f} ({middle:.{places}f}) {unit}"
            for low, middle in zip(runs.min(0), np.median(runs, 0), strict=True)
        ]
        lines.append(f"| {name} | {' | '.join(cells)} | {price_of(runs):+.0%} |")
    return lines


def describe_limit(taken):
    """Say whether the option costs less than a third, and where it does not."""
    above = [name for name, runs in taken.items() if price_of(runs) >= LIMIT]
    if not above:
        return "The option costs less than a third of the time in each row."
    return f"It costs a third of the time or more here: {'; '.join(above)}."


def main():
    """Measure, print the table and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--page", type=Path, help="page that the table is written to")
    asked = parser.parse_args()
    taken = run_rounds(asked.repeats)
    print("\n".join([*tabulate(taken), describe_limit(taken)]))
    if asked.page:
        page = PAGE.format(
            command=f"python -m tests.benchmarks.portable --repeats {asked.repeats}",
            repeats=asked.repeats,
            **describe_day(),
            commit=commit_of(HERE),
            table="\n".join(tabulate(taken)),
            verdict=describe_limit(taken),
        )
        asked.page.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Wall time of every phase of a fit on one processor, on two, and on more where there are some.

    python -m tests.benchmarks.cores --cores 0 0,1

A crowd is simulated as in :mod:`tests.benchmarks.large`. The same fit runs pinned to each list of
processors, one after the other, after a fit that fills the caches of machine code. All must give
the same numbers. ``SHARPBAYES_CORES`` must not be set.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from sharpbayes.storage.results import open_results
from tests.benchmarks.large import simulate

CROWD = {"ratings": 40_000, "items": 800, "raters": 200, "uneven": False}
SETTINGS = ("sampler.tune=300", "sampler.draws=500", "sampler.predictive_draws=200")
RESAMPLES = "bootstrap.replicates=2000"
# Phases of fewer seconds have no speed-up: they are given to a tenth of a second.
SHORT = 0.5


def run(folder, cores, settings):
    """Fit on some processors; return wall and processor seconds by phase."""
    command = ["taskset", "-c", cores, sys.executable, "-m", "tests.benchmarks.large"]
    command += ["--inside", folder]
    command += [argument for text in settings for argument in ("--set", text)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line[:1] == "|"]
    return {row[0]: (float(row[1]), float(row[2])) for row in rows[2:]}


def read_numbers(folder):
    """What a fit has stored, by group."""
    results = open_results(folder / "study.results.nc")
    return {name: node.to_dataset().load() for name, node in results.children.items()}


def main():
    """Fit on each list of processors and print a row for each phase."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", nargs="+", default=["0", "0,1"])
    asked, settings = parser.parse_args(), (*SETTINGS, RESAMPLES)
    if "SHARPBAYES_CORES" in os.environ:
        parser.error("SHARPBAYES_CORES is set")
    with tempfile.TemporaryDirectory() as base:
        folder, seconds, numbers = Path(base), [], []
        simulate(folder, **CROWD)
        run(folder, asked.cores[-1], ["sampler.tune=50", "sampler.draws=50"])
        for cores in asked.cores:
            seconds.append(run(folder, cores, settings))
            numbers.append(read_numbers(folder))
    same = all(
        group.equals(numbers[0][name]) for other in numbers[1:] for name, group in other.items()
    )
    counts = [len(cores.split(",")) for cores in asked.cores]
    head = ["phase", *(f"{count} processors, s" for count in counts), "speed-up", "processor, s"]
    print(f"| {' | '.join(head)} |\n{'| --- ' * len(head)}|")
    for phase in seconds[0]:
        print_row(phase, [of[phase] for of in seconds])
    print_row("total", [tuple(map(sum, zip(*of.values(), strict=True))) for of in seconds])
    print(f"\nLoad at the end {os.getloadavg()[0]:.1f}; the same numbers on all: {same}")


def print_row(phase, times):
    """Print the wall times of a phase, their ratio, and processor seconds on the most."""
    walls = " | ".join(f"{wall:.1f}" for wall, _ in times)
    first, last = times[0][0], times[-1][0]
    ratio = f"{first / last:.2f}" if min(first, last) >= SHORT else ""
    print(f"| {phase} | {walls} | {ratio} | {times[-1][1]:.1f} |")


if __name__ == "__main__":
    main()

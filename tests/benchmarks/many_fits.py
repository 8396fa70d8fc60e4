"""Many fits in one process: memory, threads and open files after each.

    uv run python -m tests.benchmarks.many_fits --fits 50

Prints a row for every fifth fit, in Markdown. A fit is small, so that what stays behind shows
beside what it needs.
"""

import argparse
import gc
import sys
import threading
import time
from pathlib import Path

from sharpbayes.execution.threads import trim_memory
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.fit import fit

FEW = (
    *("bootstrap.replicates=50", "crowd.permutations=10", "sampler.chains=2"),
    *("sampler.tune=50", "sampler.draws=50", "sampler.predictive_draws=20"),
)


def measured():
    """Megabytes in memory, threads of Python and of the system, and open files."""
    gc.collect()
    trim_memory()
    status = Path("/proc/self/status").read_text("utf-8").splitlines()
    fields = dict(line.split(":", 1) for line in status if ":" in line)
    megabytes = int(fields["VmRSS"].split()[0]) / 1024
    files = len(list(Path("/proc/self/fd").iterdir()))
    return megabytes, threading.active_count(), int(fields["Threads"]), files


def fitted(number, study="quickstart_crowd"):
    """Fit with a seed of its own; return what is measured afterwards."""
    fit(load_study(study, overrides=(*FEW, f"seed={number}")))
    return measured()


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=50)
    asked = parser.parse_args()
    print("| fits | memory, MB | Python threads | threads | open files | seconds |")
    print("| --- | --- | --- | --- | --- | --- |")
    began = time.monotonic()
    for number in range(1, asked.fits + 1):
        megabytes, *others = fitted(number)
        if number == 1 or number % 5 == 0:
            row = [number, f"{megabytes:.0f}", *others, f"{time.monotonic() - began:.0f}"]
            print("|", " | ".join(map(str, row)), "|", flush=True)
    sys.stdout.flush()


if __name__ == "__main__":
    main()

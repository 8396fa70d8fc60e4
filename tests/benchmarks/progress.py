"""What the display says of the time left of a run, against the time that was left.

    python -m tests.benchmarks.progress quickstart quickstart_crowd

fits each study and prints a row for the beginning of every phase: the share of the run that had
passed, seconds that were left until results were written, the interval that the display told then,
whether it held, and its middle (the root of the product of its bounds) as a multiple of what was
left.
"""

import argparse
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from sharpbayes.execution.forecast import Forecast, current_load, describe_interval
from sharpbayes.execution.processors import cpu_count
from sharpbayes.execution.progress import Phase
from sharpbayes.execution.tasks import Execution
from sharpbayes.spec.load import load_study
from sharpbayes.storage.results import save_results
from sharpbayes.workflows.context import RunContext
from sharpbayes.workflows.expected_time import expected_seconds
from sharpbayes.workflows.fit import fit


def run(study, overrides):
    """The expected seconds of a fit, its load, and when each of its phases began."""
    began: list[tuple[Phase, float]] = []

    def progress(message, chains=(), /):
        if not chains and message in list(Phase):
            began.append((Phase(message), time.monotonic()))

    context = RunContext(load_study(study, overrides=overrides), Execution(progress=progress))
    load, expected = current_load(cpu_count()), expected_seconds(context, fitted=True)
    results = fit(context)
    progress(Phase.WRITING)
    with tempfile.TemporaryDirectory() as folder:
        save_results(results, Path(folder) / "results.nc")
    progress(Phase.DONE)
    return Forecast(expected, load), began


def rows_of(study, overrides):
    """A row for the beginning of each phase."""
    forecast, began = run(study, overrides)
    first, end = began[0][1], began[-1][1]
    for (phase, start), (_, stop) in pairwise(began):
        bounds = forecast.left(phase, 0.0)
        within = "yes" if bounds[0] <= end - start <= bounds[1] else "no"
        left, passed = end - start, (start - first) / (end - first)
        ratio = f"{np.sqrt(bounds[0] * bounds[1]) / left:.1f}"
        told = describe_interval(*bounds)
        yield [Path(study).stem, phase, f"{passed:.0%}", f"{left:.0f}", told, within, ratio]
        forecast.durations[phase] = forecast.durations.get(phase, 0.0) + stop - start


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="+")
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    chosen = parser.parse_args()
    header = ["study", "at the beginning of", "passed", "left, s", "told", "held", "told / left"]
    print(f"| {' | '.join(header)} |\n|{' --- |' * len(header)}")
    for study in chosen.studies:
        for row in rows_of(study, tuple(chosen.overrides)):
            print(f"| {' | '.join(map(str, row))} |", flush=True)


if __name__ == "__main__":
    main()

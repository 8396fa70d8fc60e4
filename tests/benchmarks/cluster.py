"""Calibration simulations by 1, 2, ... processes: time, efficiency, and whether numbers agree.

    uv run python -m tests.benchmarks.cluster --workers 1 2 4 --simulations 40

Efficiency by wall time is T(1) / (n T(n)): it needs n idle cores. By processor time it is
C(1) / C(n): what is computed twice, or spent on moving things, whatever else the machine does.
Workers have loaded their code before the clock starts; the time for truths and bands is left out.
"""

import argparse
import os
import time

import numpy as np

from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.calibration import calibrate
from sharpbayes.execution.cluster import cluster
from sharpbayes.execution.tasks import Execution
from sharpbayes.spec.load import load_study

STUDY = "quickstart_crowd"
SETTINGS = ("sampler.chains=2", "sampler.tune=300", "sampler.draws=300")


def loaded(_number):
    """Load what a simulation needs, compiled code too."""
    files = load_study(STUDY, overrides=("sampler.tune=50", "sampler.draws=50"))
    calibrated(files, read_study(files).ratings, 20)


def calibrated(files, ratings, simulations, **how):
    """Places of truths."""
    study = files.study.spec
    return calibrate(
        build_design(ratings, files.model.spec),
        ratings,
        files.model.spec,
        study.sampler,
        simulations=simulations,
        seed=7,
        **how,
    )


def timed(number, files, ratings, simulations):
    """Wall and processor seconds of the workers, and the places of truths."""
    with cluster(f"local:{number}") as workers:
        workers.client.wait_for_workers(number)
        workers.client.run(loaded, 0)
        spent = {}

        def timed_map(task, arguments, *, done):
            before, used = time.monotonic(), workers.client.run(time.process_time)
            results = workers.map(task, arguments, done=done)
            after = workers.client.run(time.process_time)
            spent["wall"] = time.monotonic() - before
            spent["processor"] = sum(after.values()) - sum(used.values())
            return results

        calibration = calibrated(files, ratings, simulations, execution=Execution(timed_map))
    return spent["wall"], spent["processor"], calibration["pit"].to_numpy()


def main():
    """Print a row for each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--simulations", type=int, default=40)
    asked = parser.parse_args()
    files = load_study(STUDY, overrides=SETTINGS)
    ratings, first = read_study(files).ratings, None
    print("workers | wall, s | processor, s | efficiency by wall | by processor | same numbers")
    for number in asked.workers:
        wall, processor, pit = timed(number, files, ratings, asked.simulations)
        first = first or (number, wall, processor, pit)
        parts = f"{first[0] * first[1] / (number * wall):.2f} | {first[2] / processor:.2f}"
        same = "yes" if np.array_equal(pit, first[3]) else "NO"
        print(f"{number} | {wall:.1f} | {processor:.1f} | {parts} | {same}", flush=True)
    load = os.getloadavg()[0]
    print(f"load {load:.0f} on {len(os.sched_getaffinity(0))} cores that were to be used")


if __name__ == "__main__":
    main()

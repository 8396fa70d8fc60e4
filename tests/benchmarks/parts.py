"""The likelihood in parts on workers of a cluster: time, processor time and messages of a gradient.

    python -m tests.benchmarks.parts --ratings 1e6 --items 50e3 --raters 2e3 --workers 1 2 3 4

Ratings of crossed items and raters are simulated as in :mod:`tests.benchmarks.large`. For each
number of workers there are as many parts and processes of this machine. ``--chains`` threads ask
for gradients at once, as chains do. The first row is the kernel in one process, without parts.
"""

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.kernel.layout import initial_point, parameter_layout
from sharpbayes.bayes.kernel.machine_code import kernel_density
from sharpbayes.bayes.kernel.parts import PartLikelihood, PartsDensity, RatingsParts
from sharpbayes.data.ratings import Factor, Ratings
from sharpbayes.execution.actors import ClusterActors
from sharpbayes.execution.cluster import cluster
from sharpbayes.execution.threads import trim_memory
from sharpbayes.spec.model import Model
from tests.benchmarks.large import SEED, even_pairs, memory, tables

MODEL = {
    "schema": "sharpbayes/model/2",
    "title": "crowd",
    "location": [{"by": ["item"]}, {"by": ["rater"]}],
}
HEAD = (
    "workers",
    "wall, ms",
    "processor of the chains, ms",
    "processor of workers, ms",
    "most of one worker, ms",
    "messages each way, MB",
    "build, s",
    "memory of a worker, MiB",
    "memory of the chains above the design, peak and after, MiB",
)


def simulate(ratings, items, raters):
    """The design of simulated ratings."""
    rng = np.random.default_rng(SEED)
    item, rater = even_pairs(rng, ratings, items, raters)
    score = np.concatenate(
        [x["score"].to_numpy() for x in tables(rng, item, rater, sizes=(items, raters))]
    )
    labels = {"item": items, "rater": raters}
    factors = {
        name: Factor(tuple(map(str, range(size))), code.astype(np.int32))
        for (name, size), code in zip(labels.items(), (item, rater), strict=True)
    }
    factors["scale"] = Factor(("score",), np.zeros(len(score), dtype=np.int32))
    table = Ratings(score.astype(np.int16), factors, {"score": tuple("01234")})
    return build_design(table, Model.model_validate(MODEL))


def worker_state():
    """Processor time and memory of a worker's process."""
    return time.process_time(), memory("VmHWM")


class Memory:
    """Memory that this process takes more than at first, in MiB."""

    def __init__(self):
        trim_memory()
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the peak begins anew
        self.first = memory("VmRSS")

    def __str__(self):
        trim_memory()
        return f"{memory('VmHWM') - self.first:,} and {memory('VmRSS') - self.first:,}"


def measure(density, point, *, gradients, chains):
    """Seconds of wall and of this process's processors for one gradient."""
    with ThreadPoolExecutor(chains) as pool:
        list(pool.map(density, [point] * chains))
        wall, processor = time.perf_counter(), time.process_time()
        list(pool.map(density, [point] * gradients))
    return [
        (now - then) / gradients
        for now, then in ((time.perf_counter(), wall), (time.process_time(), processor))
    ]


def run_workers(design, point, number, *, gradients, chains):
    """Print the row of a number of workers; return density and gradient."""
    with cluster(f"local:{number}") as workers:
        workers.wait_for_workers()
        began, taken = time.perf_counter(), Memory()
        layout = parameter_layout(design, with_ratings=False)
        parts = RatingsParts(layout, number)
        density = PartsDensity(layout, parts.inputs, ClusterActors(workers, PartLikelihood, parts))
        built, taken = time.perf_counter() - began, str(taken)
        result = density(point)
        run = partial(workers.client.run, worker_state)
        before = run()
        wall, processor = measure(density, point, gradients=gradients, chains=chains)
        after = run()
    spent = [(after[w][0] - before[w][0]) / gradients for w in before]
    sent = 8e-6 * sum(map(len, parts.inputs))
    milliseconds = (1e3 * x for x in (wall, processor, sum(spent), max(spent)))
    numbers = " | ".join(f"{x:.1f}" for x in milliseconds)
    peak = max(state[1] for state in after.values())
    print(f"| {number} | {numbers} | {sent:.2f} | {built:.1f} | {peak:,} | {taken} |", flush=True)
    return result


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, size in (("ratings", 1e6), ("items", 50e3), ("raters", 2e3)):
        parser.add_argument(f"--{name}", type=float, default=size)
    parser.add_argument("--workers", type=int, nargs="*", default=[2, 3, 4])
    parser.add_argument("--gradients", type=int, default=40)
    parser.add_argument("--chains", type=int, default=1)
    asked = parser.parse_args()
    design = simulate(*(int(x) for x in (asked.ratings, asked.items, asked.raters)))
    how = {"gradients": asked.gradients, "chains": asked.chains}
    taken = Memory()
    layout = parameter_layout(design)
    taken = str(taken)
    point = initial_point(design, layout, seed=1)
    print(f"{design.n_ratings:,} ratings, {layout.size:,} coordinates, {asked.chains} chains")
    print(f"| {' | '.join(HEAD)} |\n{'| --- ' * len(HEAD)}|")
    wall, processor = measure(partial(kernel_density, layout), point, **how)
    print(f"| none | {1e3 * wall:.1f} | {1e3 * processor:.1f} | | | | | | {taken} |", flush=True)
    value, gradient = kernel_density(layout, point)
    del layout
    for number in asked.workers:
        by_parts, gradient_by_parts = run_workers(design, point, number, **how)
        error = np.abs(gradient_by_parts - gradient).max() / np.abs(gradient).max()
        print(f"    differs by {abs(by_parts / value - 1):.1e}, gradient {error:.1e}", flush=True)


if __name__ == "__main__":
    main()

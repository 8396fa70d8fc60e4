"""Is the coverage that a study expects of its CVaR interval the one that it has?

    python -m tests.references.expected_coverage

Of six worlds that no model of the program describes (:mod:`tests.references.prompt_worlds`), 400
studies of three models say how often the interval holds the population's value. The first ten of
them say how often they expect it to. The table ``expected_coverage.csv`` has the mean over studies
and models of both, and the tenth and ninetieth percentile of what a study expects of a model.
"""

import argparse
import csv
from itertools import product
from pathlib import Path

import numpy as np
import xarray as xr

from sharpbayes.analysis.expected_coverage import Simulation, expected_coverage
from sharpbayes.metrics.panel.simulated_risk import RiskShape
from sharpbayes.spec.study import Bootstrap
from sharpbayes.spec.weights import Tail
from tests.references.coverage_bootstrap import CEILING, SHIFT
from tests.references.prompt_worlds import ALPHA, EPSILON, WORLDS, draw_harm, population

TABLE = Path(__file__).with_name("expected_coverage.csv")
HEADER = ("world", "prompts", "interval", "measured", "expected", "low", "high")
PROMPTS = (30, 100, 200)
STUDIES, BATCH, EXPECTING = 400, 100, 10
TAIL = Tail(alpha=ALPHA)


def measure(world: str, n: int, bootstrap: Bootstrap) -> tuple[float, np.ndarray]:
    """Measured coverage, and the expected one over (study, model)."""
    rng = np.random.default_rng([20260121, n, list(WORLDS).index(world)])
    harm = np.stack([draw_harm(world, rng, n, SHIFT) for _ in range(STUDIES)])
    array = xr.DataArray(harm, dims=("study", "prompt", "model", "dimension"))
    risk = -np.log(1.0 - array + EPSILON).sum("dimension")
    truth, covered = population(world, SHIFT)["cvar"], []
    shape = RiskShape("gamma", *(np.ones(1),) * 2, np.ones((1, 1)), step=0.0, ceiling=CEILING)
    for start in range(0, STUDIES, BATCH):
        simulation = Simulation(shape, TAIL, bootstrap, seed=start)
        interval = simulation.intervals(risk[start : start + BATCH])
        lower, upper = interval.transpose("bound", "study", "model").to_numpy()
        covered.append((lower <= truth) & (truth <= upper))
    expected = [
        expected_coverage(
            array[i], risk[i], tail=TAIL, epsilon=EPSILON, bootstrap=bootstrap, seed=i
        )
        for i in range(EXPECTING)
    ]
    return float(np.mean(covered)), np.array(expected)


def main() -> None:
    """Measure every design and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=TABLE)
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS))
    chosen = parser.parse_args()
    with chosen.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for kind, n, world in product(("studentized", "percentile"), PROMPTS, chosen.worlds):
            measured, expected = measure(world, n, Bootstrap(interval=kind))
            shares = (measured, expected.mean(), *np.quantile(expected, [0.1, 0.9]))
            writer.writerow((world, n, kind, *(f"{share:.3f}" for share in shares)))
            file.flush()


if __name__ == "__main__":
    main()

"""One measurement of the engine in a process of its own; prints one line of JSON.

    python -m tests.benchmarks.engine_case NAME --seed 1 [--likelihood adjacent]

NAME is gradient-crowd, gradient-wide, loop, large-loop, halo, panel, whole-panel or million.
"""

import argparse
import json
import math
import time
from pathlib import Path

import numba
import numpy as np

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.fit import verify_and_sample
from sharpbayes.bayes.kernel.layout import initial_point, parameter_layout
from sharpbayes.bayes.kernel.machine_code import logp_code, pack
from sharpbayes.bayes.sampling.convergence import check_convergence
from sharpbayes.bayes.sampling.geometry import tune_design
from sharpbayes.data.ratings import Factor, Ratings
from sharpbayes.library import find
from sharpbayes.spec.load import load
from sharpbayes.spec.model import Location, Model
from sharpbayes.spec.study import Sampler
from tests.benchmarks import datasets
from tests.benchmarks.peers import common
from tests.benchmarks.peers.ours import ratings_of

CROWDS = {
    "loop": {"ratings": 30_000, "items": 1500, "raters": 262, "levels": 5},
    "large-loop": {"ratings": 1_000_000, "items": 10_000, "raters": 2000, "levels": 5},
    "gradient-crowd": {"ratings": 30_000, "items": 1500, "raters": 262, "levels": 5},
    "gradient-wide": {"ratings": 118_932, "items": 9911, "raters": 12, "levels": 10},
    "million": {"ratings": 1_000_000, "items": 10_000, "raters": 2000, "levels": 5},
}
PANELS = {"panel": (4,), "whole-panel": (4, 4, 5, 5)}
# Indicators of each dimension of the panels of the gradient with halo, and their prompts.
HALO_PANELS = {"one dimension": ((4,), 901), "two": ((2, 2), 300), "four": ((4, 4, 5, 5), 200)}
HALO = Location(by=("judge", "model", "prompt"))
ROUNDS = 5
SAMPLERS = {
    "panel": Sampler(chains=2, tune=200, draws=950, target_accept=0.7),
    "whole-panel": Sampler(chains=2, tune=400, draws=1600, target_accept=0.7),
    "million": Sampler(chains=2, tune=200, draws=200, target_accept=0.7),
}
SMALL = 60


def table(name, seed):
    """Ratings that are simulated by the model of the peers."""
    return datasets.simulated(**CROWDS[name], groups=(2, 4), lowest=0.58, seed=seed)


def crowd(columns):
    """The same as ratings."""
    codes = {name: columns[name].to_numpy("int64") for name in columns}
    size = {name: int(column.max()) + 1 for name, column in codes.items()}
    return ratings_of(common.Ratings(codes, size))


def panel(indicators, *, models=11, prompts=901, judges=3, levels=10, seed=1):
    """A full panel with effects, discrimination and judges' gaps of a known spread."""
    rng = np.random.default_rng(seed)
    dims, count = len(indicators), sum(indicators)
    shape = (models, prompts, judges, count)
    model, prompt, judge, indicator = (index.ravel() for index in np.indices(shape))
    dimension = np.repeat(np.arange(dims), indicators)[indicator]
    eta = rng.normal(0, 0.5, (models, dims))[model, dimension]
    eta += rng.normal(0, 0.9, (prompts, dims))[prompt, dimension]
    eta += rng.normal(0, 0.6, (models, prompts, dims))[model, prompt, dimension]
    eta += rng.normal(0, 0.4, (judges, dims))[judge, dimension]
    eta += rng.normal(0, 0.4, count)[indicator]
    eta += rng.logistic(size=eta.size) / np.exp(rng.normal(0, 0.15, count))[indicator]
    middle, gaps = (levels - 2) // 2, np.diff(np.linspace(-2.5, 3.5, levels - 1))
    level = np.zeros(eta.size, dtype=np.int16)
    for number in range(judges):
        steps = np.cumsum(np.append(0.0, gaps * np.exp(rng.normal(0, 0.1, levels - 2))))
        of_judge = judge == number
        level[of_judge] = np.searchsorted(steps - steps[middle], eta[of_judge])
    codes = {"model": model, "prompt": prompt, "judge": judge, "indicator": indicator}
    codes |= {"dimension": dimension, "scale": np.zeros_like(model)}
    columns = {
        name: Factor(tuple(f"{name}{n}" for n in range(code.max() + 1)), code.astype(np.int32))
        for name, code in codes.items()
    }
    return Ratings(level, columns, {"scale0": tuple(map(str, range(levels)))})


def kernel_microseconds(flat, point):
    """Microseconds of one log density with its gradient, by the code that the sampler calls."""
    slope, value, user = np.empty_like(point), np.empty(1), pack(flat.kernel_data)
    call = logp_code().ctypes
    arrays = [a.ctypes.data_as(call.argtypes[n]) for n, a in enumerate((point, slope, value), 1)]
    return median_microseconds(lambda: call(len(point), *arrays, user.ctypes.data))


def median_microseconds(call, *, seconds=1.0):
    """The median over a second of calls, after ten unmeasured."""
    for _ in range(10):
        call()
    stops, end = [time.perf_counter()], time.perf_counter() + seconds
    while stops[-1] < end:
        call()
        stops.append(time.perf_counter())
    return 1e6 * float(np.median(np.diff(stops)))


@numba.njit(error_model="numpy")
def two_exponentials(item, rater, level, severity, bias, cuts):  # noqa: PLR0917
    """What a plain loop cannot do without: two gathers and two exponentials a rating."""
    total = 0.0
    for n in range(len(item)):
        eta = severity[item[n]] + bias[rater[n]]
        total += math.exp(-abs(cuts[level[n] + 1] - eta)) + math.exp(-abs(cuts[level[n]] - eta))
    return total


def loop_microseconds(columns):
    """Microseconds of that loop."""
    item, rater, level = (columns[name].to_numpy(np.int32) for name in ("item", "rater", "level"))
    rng = np.random.default_rng(1)
    severity, bias = rng.normal(size=item.max() + 1), rng.normal(size=rater.max() + 1)
    cuts = np.linspace(-3, 3, int(level.max()) + 2)
    return median_microseconds(lambda: two_exponentials(item, rater, level, severity, bias, cuts))


def kernel_case(name, seed, likelihood):
    """Kernel and loop on one set of ratings."""
    columns = table(name, seed)
    model = load(find("models", "crowd_severity"), Model).spec
    design = build_design(crowd(columns), model.model_copy(update={"likelihood": likelihood}))
    flat = parameter_layout(design)
    ours = kernel_microseconds(flat, initial_point(design, flat, seed=seed))
    return {"kernel": ours, "loop": loop_microseconds(columns), "ratings": design.n_ratings}


def halo_case(seed):
    """Fastest gradient of ``judge_panel`` in microseconds, without and with halo, by turns."""
    plain = load(find("models", "judge_panel"), Model).spec
    models = {
        "plain": plain,
        "halo": plain.model_copy(update={"location": (*plain.location, HALO)}),
    }
    table = {}
    for name, (indicators, prompts) in HALO_PANELS.items():
        ratings = panel(indicators, prompts=prompts, seed=seed)
        designs = {key: build_design(ratings, model) for key, model in models.items()}
        flats = {key: parameter_layout(design) for key, design in designs.items()}
        points = {key: initial_point(designs[key], flats[key], seed=seed) for key in flats}
        times = [
            {key: kernel_microseconds(flats[key], points[key]) for key in flats}
            for _ in range(ROUNDS)
        ]
        table[name] = {key: min(time[key] for time in times) for key in flats}
    return table


def peak_megabytes():
    """Peak memory of this program alone: what getrusage says holds that of its parent too."""
    status = Path("/proc/self/status").read_text("utf-8")
    [kilobytes] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
    return int(kilobytes) / 1024


def fit_case(name, seed):
    """A whole fit: comparison with the definition, trial run, sampling, diagnostics."""
    logp_code()
    ratings = panel(PANELS[name], seed=seed) if name in PANELS else crowd(table(name, seed))
    start = time.perf_counter()
    model = load(find("models", "judge_panel" if name in PANELS else "crowd_severity"), Model).spec
    sampler = SAMPLERS[name]
    design = tune_design(build_design(ratings, model), ratings, model, seed=seed)
    trace = verify_and_sample(design, sampler, seed=seed, verify_seed=seed)
    sampled = time.perf_counter() - start
    posterior = trace["posterior"].to_dataset()
    draws = sampler.chains * sampler.draws
    core = [key for key in posterior if posterior[key].size <= SMALL * draws]
    trace["posterior"] = posterior[core]
    checked = check_convergence(trace, sampler)
    return {
        "seconds": sampled,
        "ratings": design.n_ratings,
        "parameters": design.n_parameters,
        "min_ess": float(checked["ess_bulk"].min()),
        "worst": str(checked["ess_bulk"].idxmin().item()),
        "max_rhat": float(checked["rhat"].max()),
        "divergences": int(checked["divergences"]),
        "peak_mb": peak_megabytes(),
    }


def main():
    """Run one case."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=[*CROWDS, *PANELS, "halo"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--likelihood", default="cumulative", help="of a gradient")
    given = parser.parse_args()
    if given.name in SAMPLERS:
        print(json.dumps(fit_case(given.name, given.seed)))
    elif given.name == "halo":
        print(json.dumps(halo_case(given.seed)))
    else:
        print(json.dumps(kernel_case(given.name, given.seed, given.likelihood)))


if __name__ == "__main__":
    main()

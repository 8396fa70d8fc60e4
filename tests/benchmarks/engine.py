"""The engine beside its peers and its goals, everything in one run on two cores.

    uv run python -m tests.benchmarks.engine --out DIR

Peers get environments of their own in DIR/cache, made from the package index; programs in R are
run where Rscript and their packages are. ``--peers`` chooses which, ``--parts`` what is measured.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import xarray as xr
from scipy import stats

from sharpbayes.metrics.panel.tail import conditional_value_at_risk
from sharpbayes.metrics.stats.resampling import block_size, bootstrap
from sharpbayes.storage.results import open_results
from tests.benchmarks import datasets
from tests.benchmarks.peers import environment

ROOT = Path(__file__).parents[2]
SEEDS = (1, 2, 3)
OPTIONS = """[bootstrap]
replicates = 1000
[sampler]
chains = 2
tune = 300
draws = 500
predictive_draws = 100
"""


def parsed():
    """The arguments."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.engine")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cpus", default="0,1")
    parser.add_argument("--peers", nargs="*", default=["plain_pymc", "bambi", "numpyro", "clmm"])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    return parser.parse_args()


def pinned(given, *words):
    """A command on two cores, where the machine has taskset."""
    start = ["taskset", "-c", given.cpus] if shutil.which("taskset") else []
    return [*start, *map(str, words)]


def line_of(given, *words):
    """The last line that a module prints, as JSON."""
    command = pinned(given, sys.executable, "-m", *words)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def data(given, name):
    """The simulated ratings of a set."""
    path = given.out / f"{name}.parquet"
    if not path.exists():
        datasets.made(name).to_parquet(path)
    return path


def spread(values, form="{:.3g}"):
    """Median and range."""
    low, middle, high = min(values), statistics.median(values), max(values)
    shown = [form.format(value) for value in (middle, low, high)]
    return f"{shown[0]} ({shown[1]} to {shown[2]})" if len(values) > 1 else shown[0]


def gradients(given):
    """Kernel against PyMC's gradient, and against a loop of two exponentials a rating."""
    for name, case, goal in (("30k", "gradient-crowd", 13), ("wide", "gradient-wide", 100)):
        ours = [line_of(given, "tests.benchmarks.engine_case", case, "--seed", s) for s in SEEDS]
        kernel = [run["kernel"] for run in ours]
        if "plain_pymc" in given.peers:
            theirs = gradient_of_pymc(given, name)
            ratio = theirs / statistics.median(kernel)
            yield f"gradient, {name}: pm.OrderedLogistic / kernel", f">= {goal}", f"{ratio:.1f}"
        yield f"gradient, {name}: kernel, microseconds", "", spread(kernel)
    for case, goal in (("loop", 0.5), ("large-loop", 0.3)):
        ours = [line_of(given, "tests.benchmarks.engine_case", case, "--seed", s) for s in SEEDS]
        ratios = [run["kernel"] / run["loop"] for run in ours]
        yield (
            f"kernel / two exp a rating, {ours[0]['ratings']:,} ratings",
            f"<= {goal}",
            spread(ratios),
        )


def gradient_of_pymc(given, name):
    """Microseconds of one gradient of the plain PyMC model."""
    out = given.out / f"gradient-{name}.json"
    python = environment.python_of("plain_pymc", given.out / "cache")
    words = [python, "-m", "tests.benchmarks.peers.plain_pymc", data(given, name), out]
    words += ["--chains=2", "--tune=1", "--draws=1", "--seed=1", "--gradient=200"]
    clean = {k: x for k, x in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    subprocess.run(pinned(given, *words), cwd=ROOT, env=clean, check=True, capture_output=True)
    return json.loads(out.read_text("utf-8"))["gradient"]["microseconds"]["median"]


def peers(given):
    """Smallest bulk ESS a second: of sampling against plain PyMC, of the process against all."""
    for name in ("13k", "30k"):
        ours = [peer(given, name, "ours", seed=seed) for seed in SEEDS]
        yield f"{name}: ours, min ESS / s of sampling", "", spread(rate(ours, "sampling"))
        yield (
            f"{name}: ours, max R-hat",
            "< 1.01",
            spread([run["rhat_max"] for run in ours], "{:.4f}"),
        )
        yield (
            f"{name}: ours, divergences",
            "0",
            spread([run["divergences"] for run in ours], "{}"),
        )
        others = {program: peer(given, name, program, seed=1) for program in chosen(given, name)}
        if "plain_pymc" in others and others["plain_pymc"].get("ess_bulk_min"):
            plain = rate([others["plain_pymc"]], "sampling")[0]
            ratio = [speed / plain for speed in rate(ours, "sampling")]
            yield f"{name}: sampling, ours / plain PyMC with nutpie", ">= 30", spread(ratio)
        sampled = {k: rate([x], "process")[0] for k, x in others.items() if x.get("ess_bulk_min")}
        if sampled and name == "13k":
            best = max(sampled, key=sampled.get)
            ratio = [speed / sampled[best] for speed in rate(ours, "process")]
            yield f"{name}: whole process, ours / best peer ({best})", ">= 20", spread(ratio)
        for key, speed in sampled.items():
            yield f"{name}: {key}, min ESS / s of process", "", f"{speed:.3g}"
        yield from agreement(name, ours[0], others)


def chosen(given, name):
    """Peers that are sampled on a set: all on the small one, plain PyMC on the other."""
    return (
        given.peers
        if name == "13k"
        else [program for program in given.peers if program == "plain_pymc"]
    )


def rate(runs, part):
    """Smallest bulk ESS a second."""
    return [run["ess_per_second"][part] for run in runs]


def peer(given, name, run, *, seed):
    """One run of the peers' driver; 500 + 1,000, plain PyMC 500 + 500, those that need it 2,000."""
    out = given.out / f"{name}-{run}-{seed}"
    words = [sys.executable, "-m", "tests.benchmarks.peers", data(given, name), "--seed", seed]
    words += ["--cache", given.out / "cache", "--out", out, "--runs", run, "--cpus", given.cpus]
    words += ["--draws", {"ours": 1000, "plain_pymc": 500, "clmm": 500}.get(run, 2000)]
    subprocess.run(list(map(str, words)), cwd=ROOT, check=False, capture_output=True)
    path = out / f"{run}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def agreement(name, ours, others):
    """Largest difference of posterior means, in sds of the posterior."""
    for key, other in others.items():
        theirs = other.get("posterior", {})
        apart = [
            abs(theirs[parameter]["mean"] - mine["mean"]) / mine["sd"]
            for parameter, mine in ours["posterior"].items()
            if parameter in theirs
        ]
        if apart:
            yield (
                f"{name}: posterior means, ours and {key}, largest difference, in sds",
                "",
                f"{max(apart):.2f}",
            )


def cold(given):
    """From the command to a results file that can be trusted."""
    fits = [cold_fit(given, seed) for seed in SEEDS]
    yield "13k: `sharpbayes fit` in a new process, s", "<= 10", spread([fit[0] for fit in fits])
    yield "13k: its min bulk ESS", ">= 400", spread([fit[1] for fit in fits], "{:.0f}")
    yield "13k: its max R-hat", "< 1.01", spread([fit[2] for fit in fits], "{:.4f}")


def cold_fit(given, seed):
    """Seconds, smallest ESS and largest R-hat of scales, thresholds and group effects."""
    study, results = given.out / "cold.toml", given.out / "cold.nc"
    text = datasets.STUDY.format(title="Cold fit", seed=seed, data=data(given, "13k").name)
    study.write_text(text + OPTIONS, encoding="utf-8")
    start = time.perf_counter()
    command = pinned(given, sys.executable, "-m", "sharpbayes", "fit", study, "--out", results)
    subprocess.run([*command, "--quiet"], check=True)
    took = time.perf_counter() - start
    table = open_results(results)["diagnostics"].to_dataset()
    names = table["parameter"].to_numpy()
    core = [x for x in names if not x.startswith(("location_item", "location_rater"))]
    few = table.sel(parameter=core)
    return took, float(few["ess_bulk"].min()), float(few["rhat"].max())


def sizes(given):
    """Large fits: comparison with the definition, trial run and sampling."""
    goals = {"panel": (30, 400), "million": (60, 300), "whole-panel": (300, 0)}
    for case, (seconds, ess) in goals.items():
        seeds = SEEDS if case == "panel" else SEEDS[:1]
        runs = [line_of(given, "tests.benchmarks.engine_case", case, "--seed", s) for s in seeds]
        head = f"{case} ({runs[0]['ratings']:,} ratings, {runs[0]['parameters']:,} parameters)"
        yield f"{head}: s", f"<= {seconds}", spread([run["seconds"] for run in runs])
        yield f"{case}: min bulk ESS", f">= {ess}", spread([x["min_ess"] for x in runs], "{:.0f}")
        yield f"{case}: max R-hat", "< 1.01", spread([x["max_rhat"] for x in runs], "{:.4f}")
        yield f"{case}: divergences", "0", spread([x["divergences"] for x in runs], "{}")
        goal = "< 600" if case == "million" else ""
        yield f"{case}: peak MB", goal, spread([x["peak_mb"] for x in runs], "{:.0f}")


def resampling(given):
    """Paired bootstrap of CVaR against SciPy's."""
    del given
    rng = np.random.default_rng(1)
    risk = xr.DataArray(rng.gamma(2.0, 1.0, (11, 901)), dims=("model", "prompt"))
    our_bootstrap(risk)
    ours = [seconds_of(lambda: our_bootstrap(risk)) for _ in range(5)]
    middle = statistics.median(ours)
    yield "paired bootstrap of CVaR, 11 x 901, 10,000: s", "", spread(ours)
    for batch, goal, words in ((None, ">= 100", "as called"), (100, "", "its fastest batch")):
        call = partial(scipy_bootstrap, risk.to_numpy(), batch)
        theirs = [seconds_of(call) for _ in range(3)]
        times = [seconds / middle for seconds in theirs]
        yield f"the same, scipy.stats.bootstrap / ours, {words}", goal, spread(times)


def our_bootstrap(risk):
    """Resamples of CVaR."""
    return bootstrap(
        lambda counts: conditional_value_at_risk(
            risk, alpha=0.95, estimator="inclusive", dim="prompt", weights=counts
        ).to_dataset(name="cvar"),
        xr.DataArray(np.arange(901), dims="prompt"),
        replicates=10_000,
        seed=1,
        dim="prompt",
        block=block_size(901),
    )


def scipy_bootstrap(risk, batch):
    """Resamples of CVaR of every model by SciPy: its paired bootstrap, vectorised."""

    def cvar(*rows, axis):
        x = np.stack(rows)
        var = np.quantile(x, 0.95, axis=axis, keepdims=True)
        in_tail = x >= var
        return np.where(in_tail, x, 0.0).sum(axis) / in_tail.sum(axis)

    return stats.bootstrap(
        tuple(risk),
        cvar,
        paired=True,
        vectorized=True,
        n_resamples=10_000,
        batch=batch,
        method="percentile",
    )


def seconds_of(call):
    """Seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


PARTS = {
    "gradients": gradients,
    "resampling": resampling,
    "cold": cold,
    "sizes": sizes,
    "peers": peers,
}


def main():
    """Measure, print rows as they come."""
    given = parsed()
    given.out = given.out.absolute()
    given.out.mkdir(parents=True, exist_ok=True)
    print(f"cores {given.cpus}, load before {os.getloadavg()[0]:.1f}\n")
    print("| measure | goal | reached |\n| --- | --- | --- |")
    for part in given.parts:
        for measure, goal, reached in PARTS[part](given):
            print(f"| {measure} | {goal} | {reached} |", flush=True)


if __name__ == "__main__":
    main()

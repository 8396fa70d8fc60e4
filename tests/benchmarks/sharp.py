"""Time of a whole SHARP measurement, and of its bootstrap beside two plain ways to make it.

    taskset -c 0,1 uv run python -m tests.benchmarks.sharp
    taskset -c 0,1 uv run python -m tests.benchmarks.sharp --models 100 --judges 5 \
        --prompts 1000 10000 100000 --replicates 1000

The first line measures a panel of the paper's size (11 models, 901 prompts, 3 judges, 18
indicators, wide CSV, 10,000 resamples) in a process of its own, then times the paired bootstrap of
all statistics, a plain NumPy loop over resamples that computes the same statistics, and
``scipy.stats.bootstrap`` of CVaR alone, the last two scaled up from fewer resamples. The second
line measures panels of growing size from Parquet files and prints seconds and peak memory.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import stats

from sharpbayes.analysis.panel import measure_panel
from sharpbayes.analysis.study import read_study
from sharpbayes.metrics.panel.profile import profile
from sharpbayes.metrics.stats.resampling import block_size, bootstrap
from sharpbayes.spec.load import load_study
from sharpbayes.storage.results import open_results
from tests.benchmarks.simulated import judgements, write_study

REPLICATES, FEW, RUNS = 10_000, 100, 5
ALPHA = 0.95


def cold(study, results, *, hidden=()):
    """Seconds of the command in a new process, where modules of an extra may not be installed."""
    command = f"import sys; sys.modules.update(dict.fromkeys({hidden!r}))"
    command += "; from sharpbayes.cli.commands import main; main()"
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", command, "measure", study, "--out", results, "--quiet"], check=True
    )
    return time.perf_counter() - start


def ours(table):
    """Seconds of the paired bootstrap of every statistic of the profile."""
    start = time.perf_counter()
    bootstrap(
        lambda weights: profile(
            table, alpha=ALPHA, policy=None, estimator="inclusive", weights=weights
        ),
        table["prompt"],
        replicates=REPLICATES,
        seed=1,
        dim="prompt",
        block=block_size(table.sizes["prompt"]),
    )
    return time.perf_counter() - start


def tail_mean(x):
    """CVaR along the last axis."""
    var = np.quantile(x, ALPHA, axis=-1, method="inverted_cdf", keepdims=True)
    in_tail = x >= var
    return np.where(in_tail, x, 0).sum(-1) / in_tail.sum(-1)


def plain(table):
    """Seconds of the same statistics by a loop over resamples, scaled from fewer."""
    names = ("log_risk", "harm", "any_harm", "radius", "log_risk_part")
    log_risk, harm, any_harm, radius, part = (table[name].to_numpy() for name in names)
    rng = np.random.default_rng(1)
    start = time.perf_counter()
    for _ in range(FEW):
        chosen = rng.integers(0, log_risk.shape[1], log_risk.shape[1])
        risk, h = log_risk[:, chosen], harm[:, chosen]
        var = np.quantile(risk, ALPHA, axis=1, method="inverted_cdf", keepdims=True)
        tail = risk >= var
        (part[:, chosen] * tail[..., None]).sum(1) / np.where(tail, risk, 0).sum(1)[:, None]
        risk.mean(1), risk.std(1), any_harm[:, chosen].mean(1), h.mean(1), h.mean((1, 2))
        for x in (risk, radius[:, chosen], h.max(-1), any_harm[:, chosen], h.swapaxes(1, 2)):
            tail_mean(x)
    return (time.perf_counter() - start) * REPLICATES / FEW


def scipys(table):
    """Seconds of CVaR alone by SciPy, scaled from fewer resamples."""
    risk = table["log_risk"].to_numpy()
    start = time.perf_counter()
    stats.bootstrap(
        tuple(risk),
        lambda *rows, axis: tail_mean(np.moveaxis(np.stack(rows), axis, -1))[0],
        paired=True,
        vectorized=True,
        n_resamples=FEW,
        batch=50,
        method="percentile",
        rng=1,
    )
    return (time.perf_counter() - start) * REPLICATES / FEW


def paper(folder):
    """The panel of the paper's size."""
    judgements(models=11, prompts=901, judges=3).to_csv(folder / "paper.csv", index=False)
    study = write_study(folder, "paper.csv", replicates=REPLICATES)
    results = folder / "results.nc"
    durations = sorted(cold(study, results, hidden=("dask",)) for _ in range(RUNS))
    loaded = sorted(cold(study, results) for _ in range(RUNS))
    table = open_results(results)["panel"].to_dataset()
    ours(table)
    times = sorted(ours(table) for _ in range(RUNS))
    middle = statistics.median(times)
    print(f"whole measure, new process: median {statistics.median(durations):.2f} s", end="")
    print(f" (fastest {durations[0]:.2f}, slowest {durations[-1]:.2f})")
    print(f"the same where dask is installed: median {statistics.median(loaded):.2f} s", end="")
    print(f" (fastest {loaded[0]:.2f}, slowest {loaded[-1]:.2f})")
    print(f"bootstrap of all statistics: median {middle:.2f} s", end="")
    print(f" (fastest {times[0]:.2f}, slowest {times[-1]:.2f})")
    for name, seconds in (
        ("plain NumPy loop, the same statistics", plain(table)),
        ("scipy.stats.bootstrap, CVaR alone", scipys(table)),
    ):
        print(f"{name}: {seconds:.1f} s, {seconds / middle:.0f} times ours")


def write_parquet(path, *, models, prompts, judges):
    """Judgements model by model, so that a file larger than memory can be written."""
    writer = None
    for model in range(models):
        part = judgements(models=1, prompts=prompts, judges=judges, seed=model)
        part["model"] = f"m{model:03d}"
        rows = pa.Table.from_pandas(part.astype({"prompt": str, "judge": str, "explicitness": str}))
        writer = writer or pq.ParquetWriter(path, rows.schema)
        writer.write_table(rows)
    writer.close()


def grown(folder, *, models, prompts, judges, replicates):
    """Read and measure one panel in this process; print what it took."""
    write_parquet(folder / "big.parquet", models=models, prompts=prompts, judges=judges)
    files = load_study(write_study(folder, "big.parquet", replicates=replicates))
    start = time.perf_counter()
    study = read_study(files)
    read = time.perf_counter() - start
    measure_panel(study)
    took = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    cells = models * prompts * judges
    print(f"{models} x {prompts} x {judges}: read {read:.1f} s, in all {took:.1f} s", end="")
    print(f" ({1e6 * took / cells:.2f} us a row), peak {peak:.2f} GiB", flush=True)


def main():
    """Read the arguments; every size is measured in a process of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--judges", type=int, default=5)
    parser.add_argument("--prompts", type=int, nargs="*", default=[])
    parser.add_argument("--replicates", type=int, default=REPLICATES)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if not given.prompts:
            paper(Path(name))
        elif len(given.prompts) == 1:
            sizes = {"models": given.models, "judges": given.judges}
            grown(Path(name), prompts=given.prompts[0], replicates=given.replicates, **sizes)
        else:
            for prompts in given.prompts:
                arguments = [f"--{k}={v}" for k, v in vars(given).items() if k != "prompts"]
                command = [sys.executable, "-m", "tests.benchmarks.sharp", *arguments]
                subprocess.run([*command, "--prompts", str(prompts)], check=True)


if __name__ == "__main__":
    main()

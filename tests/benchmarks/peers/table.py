"""The table of several runs: times, ESS, and how far posterior means are from one run's.

uv run python -m tests.benchmarks.peers.table OUT/*.json
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd


def speed(run):
    """One row of times and diagnostics."""
    seconds = run.get("seconds", {})
    rates = run.get("ess_per_second", {})
    stages = {name: seconds.get(name) for name in ("imports", "compile", "sampling", "process")}
    measured = {"wall": run["driver"]["wall"], "peak MB": run["driver"]["peak_mb"]}
    checks = {"min ESS": run.get("ess_bulk_min"), "max R-hat": run.get("rhat_max")}
    by_second = {"ESS/s sampling": rates.get("sampling"), "ESS/s process": rates.get("process")}
    broken = {"divergent": run.get("divergences"), "exit": run["driver"]["status"]}
    return stages | measured | checks | by_second | broken


def drawn(run):
    """Quantities as a frame with mean, sd and the Monte Carlo error of the mean (0: no draws)."""
    frame = pd.DataFrame(run["posterior"]).T.reindex(columns=["mean", "sd", "ess_bulk"])
    frame = frame.astype(float)
    return frame.assign(mcse=(frame["sd"] / np.sqrt(frame["ess_bulk"])).fillna(0.0))


def distance(run, reference):
    """Largest difference of posterior means: in sds of the reference, and in Monte Carlo errors."""
    ours, base = drawn(run), drawn(reference)
    apart = (ours["mean"] - base["mean"]).reindex(base.index)
    in_sd = apart / base["sd"]
    in_errors = apart / np.hypot(ours["mcse"], base["mcse"])
    where = in_errors.abs().idxmax()
    sds = (ours["sd"] / base["sd"]).dropna()
    return {
        "means apart, sd": in_sd.abs().max(),
        "in MC errors": in_errors.abs().max(),
        "rms in MC errors": np.sqrt((in_errors**2).mean()),
        "at": where,
        "sd ratios": f"{sds.min():.2f} to {sds.max():.2f}",
    }


def text(results):
    """Both tables; the reference is the run with the largest smallest ESS."""
    index = [run["run"] for run in results]
    fast = pd.DataFrame([speed(run) for run in results], index=index)
    parts = [fast.astype(float).round(3).to_string(na_rep="-")]
    sampled = [run for run in results if run.get("ess_bulk_min")]
    if sampled:
        parts.append(agreement(results, max(sampled, key=lambda run: run["ess_bulk_min"])))
    return "\n\n".join(parts)


def agreement(results, reference):
    """How far the means of the other runs lie from those of the reference."""
    others = [x for x in results if x is not reference and x.get("posterior")]
    rows = {run["run"]: distance(run, reference) for run in others}
    title = (
        f"Posterior means against {reference['run']} (smallest ESS {reference['ess_bulk_min']:.0f})"
    )
    return f"{title}\n{pd.DataFrame(rows).T.to_string()}" if rows else title


def main():
    """Print the table of files of the driver."""
    print(text([json.loads(Path(path).read_text(encoding="utf-8")) for path in sys.argv[1:]]))


if __name__ == "__main__":
    main()

"""Time of `sharpbayes measure` from a cold process, at the shape of the responsiveness paper.

    taskset -c 2,3 uv run python -m tests.benchmarks.crowd_speed

1,000 items x 630 raters, 30 trisectional groups, 3 violation types, 5 experts, 1,000 resamples.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

ITEMS, RATERS, EXPERTS, RUNS = 1000, 630, 5, 5
STUDY = """
schema = "sharpbayes/study/2"
title = "The paper's shape"
seed = 20260121
[crowd]
data = "ratings.parquet"
roles = {{ item = "item", rater = "rater", score = "score" }}
raters = {{ data = "raters.csv", key = "rater" }}
items = {{ data = "items.csv", key = "item" }}
scale = {{ kind = "ordinal", min = 0, max = 4 }}
groups = [["ethnicity", "age", "gender"]]
by = ["violation"]
labels = {{ from = "experts", data = "experts.csv" }}
permutations = {permutations}
[bootstrap]
replicates = 1000
"""


def written(folder):
    """Simulated tables, their noise as large as their severities."""
    rng = np.random.default_rng(20260121)
    severity, bias = rng.normal(size=ITEMS), rng.normal(0, 0.3, RATERS)
    perceived = severity[:, None] + bias + rng.normal(size=(ITEMS, RATERS))
    item, rater = np.divmod(np.arange(ITEMS * RATERS), RATERS)
    score = np.digitize(perceived, [-1.0, 0.0, 0.8, 1.6]).ravel()
    ratings = pd.DataFrame({"item": item, "rater": rater, "score": score})
    ratings.to_parquet(folder / "ratings.parquet")
    place = np.arange(RATERS)
    columns = {"ethnicity": place % 5, "age": place // 5 % 3, "gender": place // 15 % 2}
    pd.DataFrame({"rater": place, **columns}).to_csv(folder / "raters.csv", index=False)
    kinds = np.array(["Bias", "Sexual", "Violent"])[np.arange(ITEMS) % 3]
    pd.DataFrame({"item": np.arange(ITEMS), "violation": kinds}).to_csv(
        folder / "items.csv", index=False
    )
    item, expert = np.divmod(np.arange(ITEMS * EXPERTS), EXPERTS)
    label = (severity[item] + rng.normal(0, 0.5, item.size) > 0.5).astype(int)
    pd.DataFrame({"item": item, "expert": expert, "label": label}).to_csv(
        folder / "experts.csv", index=False
    )


def seconds(folder, permutations):
    """Wall times of fresh processes, and processor time of each on the average.

    The first process, which compiles once and for all, is left out.
    """
    study = folder / "s.toml"
    study.write_text(STUDY.format(permutations=permutations))
    # As in a plain installation: dask belongs to an extra, and xarray imports it where it is.
    start = "import sys; sys.modules.update(dask=None); from sharpbayes.cli import commands; "
    start += "commands.main()"
    command = [sys.executable, "-c", start, "measure", study, "--quiet"]
    times, used = [], 0.0
    for run in range(RUNS + 1):
        if run == 1:
            used = processor()
        start = time.perf_counter()
        subprocess.run([*command, "--out", folder / "r.nc"], check=True)
        times.append(time.perf_counter() - start)
    return sorted(times[1:]), (processor() - used) / RUNS


def processor():
    """Seconds of processor time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        written(Path(name))
        for permutations in (0, 1000):
            times, used = seconds(Path(name), permutations)
            print(
                f"{permutations} permutations: {times[RUNS // 2]:.2f} s "
                f"(fastest {times[0]:.2f}, slowest {times[-1]:.2f}), "
                f"{3 / times[RUNS // 2]:.2f} times as fast as 3 s; processor time {used:.2f} s"
            )

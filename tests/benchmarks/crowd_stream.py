"""Memory and time of a crowd study of 100 million ratings in Parquet.

    uv run python -m tests.benchmarks.crowd_stream

The file is made in the folder for temporary files and deleted at the end. A part of its items is
then measured from Parquet and from CSV, which is read whole: both must give the same numbers.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import xarray as xr

ITEMS, RATERS, PART = 50_000, 2_000, 250
STUDY = """
schema = "sharpbayes/study/2"
title = "A hundred million ratings"
seed = 20260121
[crowd]
data = "{data}"
roles = {{ item = "item", rater = "rater", score = "score" }}
raters = {{ data = "raters.csv", key = "rater" }}
scale = {{ kind = "ordinal", min = 0, max = 4 }}
groups = [["age"], ["gender"], ["age", "gender"]]
by = ["violation"]
labels = {{ from = "crowd", cut = 2 }}
permutations = 0
[bootstrap]
replicates = 100
"""


def batches():
    """Rows of 500 items at a time."""
    rng = np.random.default_rng(20260121)
    bias = rng.normal(0, 0.3, RATERS)
    for start in range(0, ITEMS, 500):
        perceived = rng.normal(size=(500, 1)) + bias + rng.normal(size=(500, RATERS))
        item, rater = np.divmod(np.arange(500 * RATERS), RATERS)
        kinds = np.array(["Bias", "Sexual", "Violent"])[(start + item) % 3]
        columns = {
            "item": (start + item).astype(np.int32),
            "rater": rater.astype(np.int16),
            "score": np.digitize(perceived, [-1.0, 0.0, 0.8, 1.6]).ravel().astype(np.int8),
            "violation": kinds,
        }
        yield pa.table(columns)


def written(folder):
    """The whole table and a part of it, in Parquet and as CSV."""
    writer = None
    for table in batches():
        if writer is None:
            part = table.to_pandas().query(f"item < {PART}")
            part.to_parquet(folder / "part.parquet")
            part.to_csv(folder / "part.csv", index=False)
            writer = pq.ParquetWriter(folder / "whole.parquet", table.schema)
        writer.write_table(table)
    writer.close()
    place = np.arange(RATERS)
    columns = {"age": place % 3, "gender": place // 3 % 2}
    pd.DataFrame({"rater": place, **columns}).to_csv(folder / "raters.csv", index=False)


def measured(folder, data):
    """Run the command; seconds."""
    study = folder / "s.toml"
    study.write_text(STUDY.format(data=data))
    command = [sys.executable, "-m", "sharpbayes", "measure", study, "--quiet", "--out"]
    start = time.perf_counter()
    subprocess.run([*command, folder / f"{data}.nc"], check=True)
    return time.perf_counter() - start


def same(folder):
    """Whether both ways of reading give the same numbers."""
    trees = [
        xr.load_datatree(folder / f"part.{e}.nc", engine="netcdf4") for e in ("parquet", "csv")
    ]
    return all(
        node.to_dataset().identical(trees[1][name].to_dataset())
        for name, node in trees[0].children.items()
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written(folder)
        size = (folder / "whole.parquet").stat().st_size / 1e6
        wall = measured(folder, "whole.parquet")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024**2
        print(f"{ITEMS * RATERS:,} ratings, {size:.0f} MB of Parquet: {wall:.0f} s")
        print(f"peak memory {peak:.2f} GiB, {peak / 4:.2f} of 4 GiB")
        for ending in ("parquet", "csv"):
            measured(folder, f"part.{ending}")
        print(f"{PART * RATERS:,} of them from Parquet and from CSV: same numbers: {same(folder)}")

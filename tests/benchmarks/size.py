"""Time and peak memory of ``measure`` and ``fit`` by number of ratings, with the growth exponents.

    uv run python -m tests.benchmarks.size --page docs/benchmarks/size.md

Every row is a process of its own that starts, reads Parquet, computes and writes its results, one
after another. Data are made in the folder for temporary files and deleted; the largest takes 2 GB
of memory to make and 70 MB of disk. Rows are printed as they end, so that what was done stands if
the script is stopped; the page is written at the end. A run that fails is a row that says so.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sharpbayes.storage.results import open_results
from tests.study_texts import format_crowd

MEASURED, FITTED = [10**5, 10**6, 10**7, 10**8], [10**4, 10**5, 10**6]
CHAINS, TUNE, DRAWS = 2, 150, 150
BEGIN, END = "<!-- size: begin -->", "<!-- size: end -->"
HEADER = ["command", "ratings", "items", "raters", "wall, s", "processor, s", "peak, MiB", "ended"]
SAMPLER = f"""[sampler]
chains = {CHAINS}
tune = {TUNE}
draws = {DRAWS}
predictive_draws = 0
"""


def simulate(folder, ratings):
    """Write a study; items and raters grow alike. Return their numbers."""
    raters = max(4, round(0.2 * np.sqrt(ratings)))
    items = max(10, round(ratings / raters))
    rng = np.random.default_rng(ratings)
    bias = rng.normal(0, 0.3, raters)
    step = max(1, 1_000_000 // raters)
    writer = None
    for start in range(0, items, step):
        size = min(step, items - start)
        perceived = rng.normal(size=(size, 1)) + bias + rng.logistic(0, 0.5, (size, raters))
        item, rater = np.divmod(np.arange(size * raters), raters)
        genders = pa.DictionaryArray.from_arrays(
            pa.array(rater % 2, pa.int8()), pa.array(["Man", "Woman"])
        )
        table = pa.table(
            {
                "item": (start + item).astype(np.int32),
                "rater": rater.astype(np.int16),
                "score": np.digitize(perceived, [-1.0, 0.0, 0.8, 1.6]).ravel().astype(np.int8),
                "gender": genders,
            }
        )
        writer = writer or pq.ParquetWriter(folder / "ratings.parquet", table.schema)
        writer.write_table(table)
    writer.close()
    text = format_crowd(f"{items * raters} ratings") + SAMPLER
    (folder / "study.toml").write_text(text)
    return items, raters


def run(command, folder):
    """Run a command; return wall and processor seconds, peak MiB and how it ended."""
    arguments = [sys.executable, "-m", "sharpbayes", command, "study.toml", "--out", "r.nc", "-q"]
    before = time.monotonic()
    started = subprocess.Popen(arguments, cwd=folder, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    wall, processor = time.monotonic() - before, used.ru_utime + used.ru_stime
    ended = {0: "done", 4: "done"}.get(started.returncode, f"status {started.returncode}")
    return wall, processor, used.ru_maxrss / 1024, ended


def rows_of(command, sizes):
    """Yield a row for each size, and bytes of the stored draws."""
    for ratings in sizes:
        with tempfile.TemporaryDirectory() as base:
            folder = Path(base)
            items, raters = simulate(folder, ratings)
            wall, processor, peak, ended = run(command, folder)
            stored = 0
            if command == "fit" and ended == "done":
                stored = open_results(folder / "r.nc")["posterior"].nbytes
        numbers = (items * raters, items, raters)
        shown = [command, *(f"{x:,}" for x in numbers), f"{wall:.1f}", f"{processor:.1f}"]
        print(*shown, f"{peak:.0f}", ended, flush=True)
        yield [*shown, f"{peak:,.0f}", ended], (items * raters, processor, peak, stored, ended)


def growth(command, points):
    """Say how time and memory grow, by least squares over the sizes that ended."""
    finished = np.array([point[:4] for point in points if point[-1] == "done"], dtype=float)
    if len(finished) < 2:
        return f"`{command}`: too few sizes ended to tell the growth."
    ratings, processor, peak, stored = finished.T
    power = np.polyfit(np.log(ratings), np.log(processor), 1)[0]
    last = np.diff(np.log(processor[-2:]))[0] / np.diff(np.log(ratings[-2:]))[0]
    text = (
        f"`{command}`: processor time grows as ratings^{power:.2f} over all sizes (start-up "
        f"included), ^{last:.2f} between the last two; peak memory by "
        f"{np.polyfit(ratings, peak, 1)[0] * 2**20:.0f} bytes a rating, largest "
        f"{peak.max() / 1024:.2f} GiB."
    )
    if stored.any():
        rest = np.polyfit(ratings, peak * 2**20 - stored, 1)[0]
        text += f" Without one copy of the stored draws: {rest:.0f} bytes a rating."
    return text


def main():
    """Run every size and write the page's table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", type=float, nargs="*", default=MEASURED)
    parser.add_argument("--fit", type=float, nargs="*", default=FITTED)
    parser.add_argument("--page", type=Path, help="Markdown page whose table is replaced")
    asked = parser.parse_args()
    before, lines, sentences = time.monotonic(), [], []
    for command, sizes in (("measure", asked.measure), ("fit", asked.fit)):
        measured = list(rows_of(command, [int(size) for size in sizes]))
        lines += ["| " + " | ".join(shown) + " |" for shown, _ in measured]
        sentences += [growth(command, [point for _, point in measured])] if measured else []
    head = ["| " + " | ".join(HEADER) + " |", "|" + " --- |" * len(HEADER)]
    load = f"Load of the machine at the end {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores; "
    took = f"the whole took {(time.monotonic() - before) / 60:.0f} minutes."
    text = "\n\n".join(["\n".join([*head, *lines]), *sentences, load + took])
    print(text)
    if asked.page:
        page = asked.page.read_text(encoding="utf-8")
        first, rest = page.split(BEGIN)
        asked.page.write_text(
            f"{first}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8"
        )


if __name__ == "__main__":
    main()

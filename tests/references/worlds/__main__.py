"""Coverage, power and false alarms in worlds that the models do not know; writes ``worlds.csv``.

    python -m tests.references.worlds --studies 40

or goes on from the committed table, with studies that it does not have yet:

    python -m tests.references.worlds --first 40 --studies 80 --onto tests/references/worlds.csv

Each study is drawn from a world, fitted by the model that does not know it (and by its remedy,
where there is one), checked, and its 90% intervals are compared with the truth of the world's
population. Finished studies are stored in ``--raw`` and are not made again. Several processes take
a ``--part`` each, such as 0/2 and 1/2, and a ``--raw`` of their own; ``--studies 0`` with all of
them writes the table. ``--only`` names worlds. ``--page`` prints the tables of
docs/benchmarks/worlds.md.
"""

import argparse
import csv
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from tests.references.provenance import record_run
from tests.references.worlds.catalogue import WORLDS
from tests.references.worlds.study import run_study
from tests.references.worlds.table import page, pool_tables, summarise

RAW = ("world", "fit", "study", "kind", "name", "truth", "lower", "mean", "upper")
SEED = 20261122


def list_runs(only: list[str], studies: Iterable[int], part: str) -> Iterator[tuple[str, str, int]]:
    """Yield world, model and number of each study, so that all worlds grow alike."""
    number, parts = map(int, part.split("/"))
    for study in studies:
        if study % parts != number:
            continue
        for name in only:
            world = WORLDS[name]
            for fit in (world.fit, world.remedy):
                if fit:
                    yield name, fit, study


def read_table(path: Path) -> pd.DataFrame:
    """Return a table of worlds; names of checks are texts even where they look like no value."""
    texts = dict.fromkeys(("world", "fit", "kind", "name"), str)
    return pd.read_csv(path, dtype=texts, keep_default_na=False, na_values={"error": [""]})


def main() -> None:
    """Run studies that are not stored yet, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=40)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--onto", type=Path)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--only", nargs="*", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--raw", type=Path, nargs="*", default=[Path("worlds_raw.csv")])
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "worlds.csv")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    if options.page:
        print("\n".join(page(read_table(options.out))))
        return
    raw = options.raw[0]
    if not raw.exists():
        raw.write_text(",".join(RAW) + "\n", encoding="utf-8")
    stored = pd.concat([pd.read_csv(path) for path in options.raw])
    done = set(stored[["world", "fit", "study"]].itertuples(index=False, name=None))
    numbers = range(options.first, options.studies)
    for name, fit, study in list_runs(options.only, numbers, options.part):
        if (name, fit, study) in done:
            continue
        start = time.monotonic()
        rows = list(run_study(WORLDS[name], seed=SEED + study, fit=fit))
        with raw.open("a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows((name, fit, study, *row) for row in rows)
        print(f"{name}, {fit}, study {study}: {time.monotonic() - start:.1f} s", flush=True)
    if options.studies == 0:
        table = summarise(stored)
        if options.onto is not None:
            table = pool_tables(read_table(options.onto), table)
        table.to_csv(options.out, index=False, float_format="%.4f", lineterminator="\n")
        record_run(options.out)


if __name__ == "__main__":
    main()

"""Are groups of one law but other size told apart? Writes ``unequal_groups.csv``.

    python -m tests.references.unequal_groups --studies 200

Each study draws 100 items and two groups of raters, all of whom rate every item, from the worlds of
``coverage_crowd``. Of MPA, WRA and HM of the larger group less the smaller one it counts how often
the interval leaves out 0: by the plain difference, and with equally many ratings, as ``measure``
compares groups. In ``slopes`` the smaller group tells harm apart three times as well, so that
another difference is true: that of panels with as many raters as the smaller group has, by NumPy
alone. ``missed`` counts intervals of the latter without the truth.

``--page`` prints the table of docs/benchmarks/unequal_groups.md.
"""

import argparse
import csv
from pathlib import Path

import numpy as np

from sharpbayes.analysis import crowd_intervals
from sharpbayes.analysis.crowd_intervals import measure_intervals
from sharpbayes.execution.threads import use_map
from tests.references.coverage_crowd import (
    METRICS,
    SEED,
    WORLDS,
    crowd_study,
    observe,
    quick_metrics,
    simulate,
    truth,
)
from tests.references.provenance import record_run

TABLE = Path(__file__).parent / "unequal_groups.csv"
SHOWN = ("clear", "normal", "correlated", "contrary", "styles", "slopes")
SIZES, ITEMS = ((5, 60), (10, 30), (20, 25)), 100
HEADER = (
    *("world", "smaller", "larger", "studies", "metric", "truth", "plain", "difference"),
    *("plain_claims", "claims", "missed"),
)


def run_study(world, sizes, number, expected):
    """Plain difference, difference, and whether either leaves out 0 and the truth is missed."""
    rng = np.random.default_rng([SEED, WORLDS.index(world), *sizes, number])
    spec, crowd = crowd_study()
    study = simulate(rng, world, (ITEMS, np.array(sizes), 2), spec, crowd)
    _, pairs, _ = measure_intervals(study, observe(study), METRICS)
    pair = pairs.sel(by="all", group="group=1", other="group=0")
    rows = []
    for name, value in zip(METRICS, expected, strict=True):
        gap, effect = float(pair[name]), float(pair[f"{name}_size_effect"])
        low, high = pair[f"{name}_interval"].to_numpy()
        plain = np.array([low, high]) + effect
        rows.append([gap + effect, gap, plain.prod() > 0, low * high > 0, not low <= value <= high])
    return rows


def run_design(world, sizes, studies):
    """The rows of one world and pair of sizes."""
    small, large = truth(world, sizes[0], 2)
    expected = large - small
    results = np.array([run_study(world, sizes, n, expected) for n in range(studies)], dtype=float)
    means = np.nanmean(results, axis=0)
    for name, value, row in zip(METRICS, expected, means, strict=True):
        plain_claims = np.nan if world == "slopes" else row[2]
        claims = np.nan if world == "slopes" else row[3]
        numbers = (value, row[0], row[1], plain_claims, claims, row[4])
        yield dict(
            zip(
                HEADER,
                (world, *sizes, studies, name, *(f"{x:.4f}" for x in numbers)),
                strict=True,
            )
        )


def read_rows(path=TABLE):
    """The rows of the table."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def page(path=TABLE):
    """Lines of the page, a world and pair of sizes each; MPA, WRA and HM in a cell."""
    rows = read_rows(path)
    for start in range(0, len(rows), len(METRICS)):
        cells = rows[start : start + len(METRICS)]
        shown = [cells[0][name] for name in ("world", "smaller", "larger", "studies")]
        shown += [
            " / ".join(f"{float(cell[name]):z.2f}" for cell in cells)
            for name in ("truth", "plain", "difference")
        ]
        for name in ("plain_claims", "claims", "missed"):
            numbers = [100 * float(cell[name]) for cell in cells]
            shown.append(" / ".join("-" if np.isnan(x) else f"{x:.1f}" for x in numbers))
        yield f"| {' | '.join(shown)} |"


def main():
    """Run all designs and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--out", type=Path, default=TABLE)
    parser.add_argument("--page", action="store_true")
    asked = parser.parse_args()
    if asked.page:
        print("\n".join(page(asked.out)))
        return
    crowd_intervals.severity_metrics = quick_metrics
    rows = []
    with use_map(lambda task, arguments, **_: [task(argument) for argument in arguments]):
        for world in SHOWN:
            for sizes in SIZES:
                rows += run_design(world, sizes, asked.studies)
                print(world, sizes, rows[-1], flush=True)
    with asked.out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, HEADER, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    record_run(asked.out)


if __name__ == "__main__":
    main()

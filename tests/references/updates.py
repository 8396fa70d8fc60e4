"""Is the posterior of ``fit --update`` that of a fresh fit, and how much sooner is it there?

    python -m tests.references.updates [--studies 1] [--raw FILE] [--minutes M]

Two data sets grow in five steps: the shipped panel and the shipped crowd, each as of some two
thirds of its rows. An update goes on from the update before it. The steps add one row, 1% of rows,
a tenth of rows, a tenth of the prompts or items, and a judge or a tenth of the raters. The first
fit has three times the effective draws that it needs. The chains of a fresh fit run until they have
converged, with the settings of a study that names none.

``updates.csv`` has for each step, by study of another seed: how the update came to its draws, k and
the effective draws; of all parameters the root mean square and the largest difference of means from
the fresh fit, in Monte Carlo standard errors of that difference, and the same of sds; and the
processor time of coordinates and chains, of both, without the comparison of the kernel with PyMC's
graph. Two fresh fits of the same ratings have a root mean square of 1 if the errors are right; the
columns ``again`` are those of a second fresh fit with another seed.
"""

import argparse
import csv
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pandas as pd
import xarray as xr
from arviz_stats.base import array_stats

from sharpbayes.bayes import fit as fitting
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.reweighting import EarlierFit
from sharpbayes.bayes.sampling.convergence import stack_parameters
from sharpbayes.data.growth import find_new_ratings
from sharpbayes.spec.load import load_study
from sharpbayes.spec.study import Sampler
from sharpbayes.workflows.context import RunContext
from tests.references.provenance import ROOT, record_run

TABLE = Path(__file__).with_name("updates.csv")
SHIPPED = ROOT / "specs" / "studies"
HEADER = (
    *("data", "step", "study", "ratings", "new_ratings", "method", "pareto_k", "effective_draws"),
    *("mean_rms", "mean_max", "sd_rms", "sd_max", "again_mean_rms", "again_mean_max"),
    *("fresh_seconds", "update_seconds", "share", "converged"),
)
STEPS = ("start", "one row", "1% of rows", "10% of rows", "10% of units", "new rater")
SETTINGS = Sampler(predictive_draws=0)
# The first fit has draws to spare.
FIRST = SETTINGS.model_copy(update={"target_ess": 3 * SETTINGS.target_ess})


@dataclass(frozen=True)
class Growth:
    """A shipped study, the column of its units, and that of whoever rates them."""

    study: str
    unit: str
    rater: str
    new_raters: float


DATA = {
    "panel": Growth("quickstart", "prompt_id", "judge_id", 1.0),
    "crowd": Growth("quickstart_crowd", "item", "rater", 0.1),
}


def grow(growth: Growth, seed: int) -> list[pd.DataFrame]:
    """Return the table of ratings at the start and after each step."""
    rng = np.random.default_rng([20261123, seed])
    table = pd.read_csv(SHIPPED / f"{growth.study}.csv", dtype=str, keep_default_na=False)
    units, raters = (rng.permutation(table[c].unique()) for c in (growth.unit, growth.rater))
    count = max(1, round(growth.new_raters if growth.new_raters >= 1 else 0.1 * len(raters)))
    late_units, late_raters = units[: round(0.15 * len(units))], raters[:count]
    first = ~table[growth.unit].isin(late_units) & ~table[growth.rater].isin(late_raters)
    waiting = rng.permutation(np.flatnonzero(first))
    size = len(waiting)
    cuts = [round(0.85 * size), 1, max(2, round(0.01 * size)), round(0.1 * size)]
    ends = np.cumsum(cuts)
    chosen = [waiting[:end] for end in ends]
    of_units = table[growth.unit].isin(late_units) & ~table[growth.rater].isin(late_raters)
    chosen.append(np.concatenate([chosen[-1], np.flatnonzero(of_units)]))
    of_raters = table[growth.rater].isin(late_raters) & table.index.isin(
        np.flatnonzero(~table[growth.unit].isin(late_units))
    )
    chosen.append(np.concatenate([chosen[-1], np.flatnonzero(of_raters)]))
    return [table.iloc[np.sort(rows)] for rows in chosen]


def open_study(growth: Growth, table: pd.DataFrame, folder: Path) -> RunContext:
    """Write a table of ratings with the files beside it, and open its study."""
    folder.mkdir()
    for path in SHIPPED.glob(f"{growth.study}*"):
        if path.suffix in {".csv", ".toml"}:
            (folder / path.name).write_bytes(path.read_bytes())
    table.to_csv(folder / f"{growth.study}.csv", index=False)
    return RunContext(load_study(folder / f"{growth.study}.toml"))


@dataclass(frozen=True)
class Fitted:
    """Groups of a fit and the processor time of its coordinates and chains."""

    context: RunContext
    groups: dict[str, xr.Dataset]
    seconds: float

    @property
    def facts(self) -> dict[str, str | float]:
        """How an update went."""
        return dict(json.loads(self.groups["diagnostics"].attrs.get("update", "{}")))


def fit_timed(
    context: RunContext, *, seed: int, earlier: Fitted | None = None, settings: Sampler = SETTINGS
) -> Fitted:
    """Fit a study, or update an earlier fit of it."""
    ratings, model, source = context.study.ratings, context.model.spec, None
    design = context.design
    if earlier is not None:
        before = earlier.context.study.ratings
        source = EarlierFit(
            design=build_design(before, model),
            posterior=earlier.groups["posterior"],
            sample_stats=earlier.groups["sample_stats"],
            new=find_new_ratings(before, ratings, path="ratings"),
        )
    start = time.process_time()
    groups = fitting.fit_ratings(
        design, ratings, model, settings, seed=seed, retries=1, earlier=source
    )
    return Fitted(context, groups, time.process_time() - start)


def compare(one: xr.Dataset, two: xr.Dataset) -> dict[str, float]:
    """Return differences of means and of sds of parameters, in their standard errors."""
    values = [stack_parameters(draws)[1] for draws in (one, two)]
    free = np.all([np.isfinite(x).all((1, 2)) & (np.ptp(x, (1, 2)) > 0) for x in values], axis=0)
    values = [x[free] for x in values]
    numbers = {}
    for name in ("mean", "sd"):
        estimates = [getattr(x, {"mean": "mean", "sd": "std"}[name])((1, 2)) for x in values]
        errors = [
            np.array([array_stats.mcse(row, method=name, chain_axis=0, draw_axis=1) for row in x])
            for x in values
        ]
        z = (estimates[0] - estimates[1]) / np.hypot(*errors)
        numbers |= {
            f"{name}_rms": float(np.sqrt((z**2).mean())),
            f"{name}_max": float(abs(z).max()),
        }
    return numbers


def study_growth(data: str, study: int) -> Iterator[dict[str, object]]:
    """Yield a row for each step of a data set."""
    growth = DATA[data]
    with TemporaryDirectory() as folder, patch.object(fitting, "has_passed", lambda _: True):
        tables = grow(growth, study)
        contexts = [open_study(growth, t, Path(folder) / str(n)) for n, t in enumerate(tables)]
        updated = fit_timed(contexts[0], seed=1000 * study, settings=FIRST)
        for number, step in enumerate(STEPS[1:], 1):
            seed = 1000 * study + 10 * number
            updated = fit_timed(contexts[number], seed=seed, earlier=updated)
            fresh, again = (fit_timed(contexts[number], seed=seed + n) for n in (1, 2))
            near = compare(updated.groups["posterior"], fresh.groups["posterior"])
            beside = compare(again.groups["posterior"], fresh.groups["posterior"])
            facts = updated.facts
            yield {
                "data": data,
                "step": step,
                "study": study,
                "ratings": len(contexts[number].study.ratings.score),
                "new_ratings": facts["new_ratings"],
                "method": facts["method"],
                "pareto_k": facts.get("pareto_k", ""),
                "effective_draws": facts.get("effective_draws", ""),
                **{name: f"{value:.2f}" for name, value in near.items()},
                **{f"again_{n}": f"{beside[n]:.2f}" for n in ("mean_rms", "mean_max")},
                "fresh_seconds": f"{fresh.seconds:.1f}",
                "update_seconds": f"{updated.seconds:.1f}",
                "share": f"{updated.seconds / fresh.seconds:.2f}",
                "converged": int(updated.groups["diagnostics"]["converged"]),
            }


def main() -> None:
    """Add studies to the table until all are there, or the minutes are over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1)
    parser.add_argument("--raw", type=Path, default=TABLE)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--data", nargs="+", default=list(DATA))
    chosen = parser.parse_args()
    end = time.monotonic() + 60 * chosen.minutes
    rows = list(csv.DictReader(chosen.raw.open(encoding="utf-8"))) if chosen.raw.exists() else []
    finished = {(row["data"], int(row["study"])) for row in rows}
    for study in range(chosen.studies):
        for data in chosen.data:
            if (data, study) not in finished and time.monotonic() < end:
                rows += [dict(row) for row in study_growth(data, study)]
                _write(rows, chosen.raw)
                record_run(chosen.raw)


def _write(rows: list[dict[str, object]], path: Path) -> None:
    """Write the table, ordered by data set and study."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, HEADER, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: (str(row["data"]), int(str(row["study"])))))


if __name__ == "__main__":
    main()

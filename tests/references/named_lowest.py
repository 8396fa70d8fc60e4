"""How often the interval of the model that is named lowest holds that model's value.

    python -m tests.references.named_lowest [--studies 400]

A model is named because its value came out lowest, so that its error is more often downwards than
that of a model picked beforehand (the winner's curse). The worlds are those of
:mod:`tests.references.prompt_worlds`, with 2, 6 and 12 models, all equal or every third safer by
0.6 on the logit scale. The table ``named_lowest.csv`` has the share of 95% bootstrap intervals that
hold the population's value: of all models, of the one that is lowest in its study, and of that one
where it is distinguishable from every other model and where it is not; how often it is, how often
its value lies above its interval, and the mean error in units of the interval's half width.
``--page`` prints the table of docs/benchmarks/coverage_bootstrap.md.
"""

import argparse
import csv
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

from sharpbayes.analysis.profile_interval import BootstrappedProfile
from sharpbayes.metrics.panel import profile as panel_profile
from tests.references.coverage_bootstrap import bootstrap_profiles
from tests.references.prompt_worlds import WORLDS, draw_harm, population
from tests.references.provenance import record_run

TABLE = Path(__file__).with_name("named_lowest.csv")
HEADER = (
    *("world", "prompts", "models", "equal", "metric", "studies", "all_models", "named"),
    *("sure_share", "named_sure", "named_unsure", "above", "error"),
)
PROMPTS, MODELS, METRICS = (100, 400), (2, 6, 12), ("mean", "cvar")
# Studies that share their resamples.
BATCH = 25


def shifts(models: int, equal: str) -> tuple[float, ...]:
    """How far models are apart: all equal, or every third safer."""
    return tuple(0.6 * (equal == "some" and number % 3 > 0) for number in range(models))


def measure_batch(case: tuple[str, int, int, str, int, int]) -> dict[str, np.ndarray]:
    """What is counted, over (study, model or number), by metric."""
    world, n, models, equal, batch, replicates = case
    shift = shifts(models, equal)
    rng = np.random.default_rng([20260121, n, models, batch, list(WORLDS).index(world)])
    harm = np.stack([draw_harm(world, rng, n, shift) for _ in range(BATCH)])
    wanted = tuple(metric for metric in panel_profile.METRICS if metric.name in METRICS)
    with patch.object(panel_profile, "METRICS", wanted):
        bootstrapped = bootstrap_profiles(harm, seed=batch, replicates=replicates)
    truth = population(world, shift)
    studies = [_of_study(bootstrapped, study) for study in range(BATCH)]
    return {name: np.array([_count(x, name, truth[name]) for x in studies]) for name in METRICS}


def _of_study(bootstrapped: BootstrappedProfile, study: int) -> BootstrappedProfile:
    """The resamples of one study of a batch."""
    names = ("observed", "resampled", "prompts", "tail_prompts")
    return replace(
        bootstrapped, **{x: getattr(bootstrapped, x).isel(study=study, drop=True) for x in names}
    )


def _count(bootstrapped: BootstrappedProfile, name: str, truth: np.ndarray) -> tuple[float, ...]:
    """Share of models that are held, whether the named one is, is sure, is above, and its error."""
    lower, upper = bootstrapped.interval(name).transpose("bound", "model").to_numpy()
    observed = bootstrapped.observed[name].to_numpy()
    held = (lower <= truth) & (truth <= upper)
    named = int(observed.argmin())
    pairs = bootstrapped.joint_difference(name)["_joint"].isel(model=named)
    sure = bool((np.delete(pairs.sel(bound="upper").to_numpy(), named) < 0).all())
    error = (observed[named] - truth[named]) / ((upper[named] - lower[named]) / 2)
    return held.mean(), held[named], sure, truth[named] > upper[named], error


def rows(case: tuple[str, int, int, str], batches: list[dict]) -> Iterator[tuple[object, ...]]:
    """Rows of the table of one design."""
    for name in METRICS:
        every, named, sure, above, error = np.concatenate([x[name] for x in batches]).T
        is_sure = sure.astype(bool)
        shares = [x.mean() if x.size else np.nan for x in (named[is_sure], named[~is_sure])]
        counted = (every.mean(), named.mean(), sure.mean(), *shares, above.mean(), error.mean())
        yield (*case, name, len(named), *(f"{x:.3f}" for x in counted))


def page(path: Path) -> list[str]:
    """The lines of the page: least and mean over worlds, by number of models."""
    table = pd.read_csv(path)
    lines = [
        "| metric | models | | any model | named lowest | the same, not distinguishable "
        "| value above its interval |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for (metric, models, equal), part in table.groupby(["metric", "models", "equal"], sort=False):
        unsure = np.average(part["named_unsure"].fillna(0), weights=1 - part["sure_share"] + 1e-12)
        what = "all equal" if equal == "all" else "every third safer"
        cells = [_percent(part[name]) for name in ("all_models", "named")]
        lines.append(
            f"| {metric} | {models} | {what} | {' | '.join(cells)} | {100 * unsure:.0f}% "
            f"| {_percent(part['above'])} |"
        )
    return lines


def _percent(shares: pd.Series) -> str:
    """Mean of a share over designs, with its range."""
    low, high = 100 * shares.min(), 100 * shares.max()
    return f"{100 * shares.mean():.0f}% ({low:.0f} to {high:.0f})"


def main() -> None:
    """Measure every design and write the table, or print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=None)
    parser.add_argument("--out", type=Path, default=TABLE)
    parser.add_argument("--page", action="store_true")
    chosen = parser.parse_args()
    if chosen.page:
        print("\n".join(page(chosen.out)))
        return
    batches = range(-(-chosen.studies // BATCH))
    with (
        ProcessPoolExecutor(chosen.processes) as pool,
        chosen.out.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for case in product(WORLDS, PROMPTS, MODELS, ("all", "some")):
            cases = [(*case, batch, chosen.replicates) for batch in batches]
            writer.writerows(rows(case, list(pool.map(measure_batch, cases))))
            file.flush()
    record_run(chosen.out)


if __name__ == "__main__":
    main()

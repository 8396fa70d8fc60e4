"""How far is a preview (``fit --preview``) from the fit that it approximates, and how much sooner?

    python -m tests.references.preview [--data panel crowd dices] [--raw FILE] [--minutes M]

Each study is fitted with the settings of a study that names none, and approximated. Ratings are
replicated for 1,000 draws of both. ``preview.csv`` has for each headline metric, over models or
groups: the difference of posterior means in posterior sds of the fit, as a root mean square and the
largest; the smallest and the largest ratio of sds; and k. Draws of the same posterior would differ
by some 0.045 sds. Seconds are processor time of trial run and chains, and of trial run and
approximation, without the comparison of the kernel with PyMC's graph.

``--starts`` tells whether chains that start from the approximation need less tuning: gradients of
their draws and the smallest effective sample size, after usual tuning and after little, of both.
"""

import argparse
import csv
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

import numpy as np
import xarray as xr

from sharpbayes.bayes import fit as fitting
from sharpbayes.bayes import preview as previewing
from sharpbayes.bayes.kernel.layout import parameter_layout
from sharpbayes.bayes.laplace import approximate
from sharpbayes.bayes.sampling.convergence import rhat_and_ess, stack_parameters
from sharpbayes.bayes.sampling.nuts import sample_kernel
from sharpbayes.bayes.update import WARM_TUNE
from sharpbayes.execution.progress import ChainStatus, Phase
from sharpbayes.execution.tasks import Execution
from sharpbayes.spec.load import load_study
from sharpbayes.spec.study import Sampler
from sharpbayes.workflows.context import RunContext
from sharpbayes.workflows.fit import fit
from sharpbayes.workflows.preview import preview
from tests.references.provenance import ROOT, record_run

TABLE = Path(__file__).with_name("preview.csv")
STARTS = Path(__file__).with_name("preview_starts.csv")
DATA = {
    "panel": ROOT / "specs" / "studies" / "quickstart.toml",
    "crowd": ROOT / "specs" / "studies" / "quickstart_crowd.toml",
    "dices": ROOT / "tests" / "studies" / "dices350.toml",
}
METRICS = {
    "posterior_profile": ("mean", "cvar", "policy_score", "any_harm_mean"),
    "posterior_responsiveness": ("hm", "mpa", "wra", "kendall_tau"),
}
HEADER = (
    *("data", "metric", "units", "mean_rms", "mean_max", "sd_ratio_low", "sd_ratio_high"),
    *("pareto_k", "fit_seconds", "preview_seconds"),
)
STARTS_HEADER = ("data", "chains", "tuning", "gradients", "smallest_ess", "gradients_per_draw")
# Sampler, replicates and resamples of every study, as of one that names none.
SETTINGS = (
    *("sampler.chains=4", "sampler.tune=1000", "sampler.predictive_draws=1000"),
    "bootstrap.replicates=20",
)
START_DRAWS = 500


class Stopwatch:
    """Processor time at the beginning of each phase."""

    def __init__(self) -> None:
        self.begun: dict[str, float] = {}

    def __call__(self, message: str, chains: Sequence[ChainStatus] = (), /) -> None:
        """Keep when a phase begins."""
        if message in list(Phase) and not chains:
            self.begun.setdefault(message, time.process_time())

    @property
    def seconds(self) -> float:
        """Processor time from the trial run to the replication of ratings."""
        return self.begun[Phase.REPLICATION] - self.begun[Phase.COMPILING]


def open_study(data: str) -> tuple[RunContext, Stopwatch]:
    """Open a study with the settings of all."""
    watch = Stopwatch()
    settings = SETTINGS if data == "panel" else (*SETTINGS, "crowd.permutations=9")
    return RunContext(load_study(DATA[data], overrides=settings), Execution(progress=watch)), watch


def study_preview(data: str) -> Iterator[dict[str, object]]:
    """Yield a row for each headline metric of a study."""
    with patch.object(fitting, "has_passed", lambda _: True):
        context, fit_watch = open_study(data)
        fitted = fit(context)
    context, preview_watch = open_study(data)
    previewed = preview(context)
    group = next(name for name in METRICS if name in fitted)
    exact, near = (tree[group].to_dataset() for tree in (fitted, previewed))
    for metric in METRICS[group]:
        yield {
            "data": data,
            "metric": metric,
            **compare(near[metric], exact[metric]),
            "pareto_k": f"{previewed.attrs['pareto_k']:.2f}",
            "fit_seconds": f"{fit_watch.seconds:.1f}",
            "preview_seconds": f"{preview_watch.seconds:.1f}",
        }


def compare(approximate_draws: xr.DataArray, draws: xr.DataArray) -> dict[str, object]:
    """Return how far means and sds of draws are from those of a fit, over all units."""
    sample = ("chain", "draw")
    sd = draws.std(sample)
    shift = ((approximate_draws.mean(sample) - draws.mean(sample)) / sd).to_numpy().ravel()
    ratio = (approximate_draws.std(sample) / sd).to_numpy().ravel()
    known = np.isfinite(shift)
    return {
        "units": int(known.sum()),
        "mean_rms": f"{np.sqrt((shift[known] ** 2).mean()):.3f}",
        "mean_max": f"{abs(shift[known]).max():.3f}",
        "sd_ratio_low": f"{ratio[known].min():.3f}",
        "sd_ratio_high": f"{ratio[known].max():.3f}",
    }


def study_starts(data: str) -> Iterator[dict[str, object]]:
    """Yield a row for chains as of a fit, and for chains that start from the approximation."""
    context, _ = open_study(data)
    ratings, model = context.study.ratings, context.model.spec
    tuned, trial = previewing.tune_by_trial(
        context.design, ratings, model, seed=1, execution=Execution()
    )
    points, _ = approximate(parameter_layout(tuned), trial).draw(100, seed=2)
    usual = Sampler(draws=START_DRAWS)
    for name, starts, tune in (
        ("usual", None, usual.tune),
        ("from the approximation", points, usual.tune),
        ("usual", None, WARM_TUNE),
        ("from the approximation", points, WARM_TUNE),
    ):
        sampler = usual.model_copy(update={"tune": tune})
        trace = sample_kernel(tuned, sampler, seed=3, starts=starts)
        gradients = float(trace["sample_stats"]["n_steps"].sum())
        _, values = stack_parameters(trace["posterior"].to_dataset())
        free = np.isfinite(values).all((1, 2)) & (np.ptp(values, (1, 2)) > 0.0)
        _, bulk, tail = rhat_and_ess(values[free])
        yield {
            "data": data,
            "chains": name,
            "tuning": tune,
            "gradients": int(gradients),
            "smallest_ess": f"{np.minimum(bulk, tail).min():.0f}",
            "gradients_per_draw": f"{gradients / (usual.chains * START_DRAWS):.1f}",
        }


def main() -> None:
    """Add studies to the table until all are there, or the minutes are over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=list(DATA))
    parser.add_argument("--raw", type=Path)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--starts", action="store_true")
    chosen = parser.parse_args()
    table, header, make = (
        (STARTS, STARTS_HEADER, study_starts) if chosen.starts else (TABLE, HEADER, study_preview)
    )
    path, end = chosen.raw or table, time.monotonic() + 60 * chosen.minutes
    rows: list[dict[str, object]] = []
    if path.exists():
        rows = [dict(row) for row in csv.DictReader(path.open(encoding="utf-8"))]
    finished = {row["data"] for row in rows}
    for data in chosen.data:
        if data not in finished and time.monotonic() < end:
            rows += make(data)
            _write(rows, path, header)
            record_run(path)


def _write(rows: list[dict[str, object]], path: Path, header: Sequence[str]) -> None:
    """Write a table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, header, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()

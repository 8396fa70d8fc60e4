"""How many seconds the phases of a run take on an idle machine, from what there is to compute.

Rates are of the benchmarks (docs/benchmarks/progress.md). They are rough: the display corrects them
by what finished phases took, and tells an interval.
"""

from pathlib import Path

import sharpbayes.bayes
from sharpbayes.analysis.study import PanelStudy
from sharpbayes.bayes.design.size import count_predictive_draws, keeps_ratings
from sharpbayes.bayes.kernel.code_folder import find_code_folder
from sharpbayes.execution.processors import cpu_count
from sharpbayes.execution.progress import Phase
from sharpbayes.spec.study import Sampler
from sharpbayes.workflows.context import RunContext

# Seconds of processor time: fixed ones of a phase, and those for each unit of its work.
FIXED = {
    Phase.METRICS: 1.2,
    Phase.COMPILING: 2.4,
    Phase.SAMPLING: 1.0,
    Phase.CONVERGENCE: 0.3,
    Phase.REPLICATION: 0.8,
    Phase.REPLICATED_METRICS: 1.0,
    Phase.WRITING: 0.8,
}
FIRST_COMPILATION = 40.0
# Draws of a chain with which many fits have converged where their number is left open.
USUAL_DRAWS = 1000
PER_RESAMPLED_CELL, PER_SHUFFLED_RATING, PER_RATING = 7e-8, 4e-8, 3e-7
PER_GRADIENT_OF_RATING, GRADIENTS_PER_DRAW = 1e-8, 20
PER_STORED_NUMBER, PER_PREDICTED_RATING = 4e-7, 7e-7
PER_REPLICATED_CELL, PER_REPLICATED_RATING = 2.3e-6, 5e-7


def expected_seconds(context: RunContext, *, fitted: bool) -> dict[Phase, float]:
    """Return the expected seconds of each phase that follows the reading of the data."""
    seconds = {Phase.METRICS: _seconds_of_metrics(context), Phase.WRITING: FIXED[Phase.WRITING]}
    return seconds | (_seconds_of_fit(context) if fitted else {})


def _seconds_of_metrics(context: RunContext) -> float:
    """Seconds of the observed metrics and their bootstrap."""
    study, boot = context.study, context.study.spec.bootstrap
    if isinstance(study, PanelStudy):
        cells, shuffled = _count_panel_cells(study), 0
    else:
        groups = 1 + sum(len(set(labels)) for labels in study.data.rater_columns.values())
        cells = len(study.data.item.labels) * len(study.data.score_labels) * groups
        shuffled = study.crowd.permutations * len(study.crowd.groups) * len(study.data.score)
    return (
        FIXED[Phase.METRICS]
        + PER_RESAMPLED_CELL * boot.replicates * cells
        + PER_SHUFFLED_RATING * shuffled
        + PER_RATING * study.counts["ratings"]
    )


def _count_panel_cells(study: PanelStudy) -> int:
    """Number of numbers that the metrics of a panel are made of: harms and their sum."""
    sizes = {dim: len(labels) for dim, labels in study.data.labels.items()}
    return sizes["model"] * sizes["prompt"] * (1 + len(study.panel.dimensions))


def _seconds_of_fit(context: RunContext) -> dict[Phase, float]:
    """Seconds of the phases of a fit."""
    sampler, ratings = context.study.spec.sampler, len(context.study.ratings.score)
    per_gradient = PER_GRADIENT_OF_RATING * ratings * GRADIENTS_PER_DRAW
    at_once = min(sampler.chains, cpu_count())
    length = usual_draws(sampler)
    draws = sampler.chains * (sampler.tune + length)
    kept = count_predictive_draws(ratings, sampler.predictive_draws)
    numbers = context.design.n_parameters * sampler.chains * length
    work = {
        Phase.COMPILING: 0.0 if has_machine_code() else FIRST_COMPILATION,
        Phase.SAMPLING: draws * per_gradient / at_once,
        Phase.CONVERGENCE: PER_STORED_NUMBER * numbers,
        Phase.REPLICATION: PER_PREDICTED_RATING * kept * ratings * keeps_ratings(ratings, kept),
        Phase.REPLICATED_METRICS: _seconds_of_replicates(context) / cpu_count(),
        Phase.WRITING: PER_STORED_NUMBER * numbers,
    }
    seconds = {phase: FIXED.get(phase, 0.0) + extra for phase, extra in work.items()}
    refits = _count_refits(context)
    return seconds | ({Phase.REFITS: refits * sum(seconds.values())} if refits else {})


def usual_draws(sampler: Sampler) -> int:
    """Return the draws of a chain that are asked for, or else those that many fits need."""
    return sampler.draws or min(USUAL_DRAWS, sampler.max_draws)


def _seconds_of_replicates(context: RunContext) -> float:
    """Processor seconds of the metrics of replicated ratings, for every list of sources."""
    from sharpbayes.posterior.replicates import count_replicates  # noqa: PLC0415 - `measure` needs none

    study, ratings = context.study, len(context.study.ratings.score)
    if isinstance(study, PanelStudy):
        prompts = len(study.data.labels["prompt"])
        units = prompts * len(study.data.labels["model"])
        work = PER_REPLICATED_CELL * _count_panel_cells(study)
    else:
        prompts = units = len(study.data.item.labels)
        work = PER_REPLICATED_RATING * ratings
    replicates = sum(
        count_replicates(sources, units=units, ratings=ratings, prompts=prompts)
        for sources in study.spec.uncertainties
    )
    return work * replicates * count_predictive_draws(ratings, study.spec.sampler.predictive_draws)


def _count_refits(context: RunContext) -> int:
    """Number of further fits that the study asks for."""
    settings = context.study.spec.sensitivity
    if not settings.priors and not settings.leave_out:
        return 0
    from sharpbayes.workflows.sensitivity import list_refits  # noqa: PLC0415 - `check` starts without xarray

    return len(list_refits(context.study))


def has_machine_code() -> bool:
    """Return whether machine code of the kernel is kept and is newer than its sources."""
    folder = Path(sharpbayes.bayes.__path__[0]) / "kernel"
    compiled = [path.stat().st_mtime for path in find_code_folder(folder).glob("*.nbi")]
    return max(compiled, default=0.0) > max(path.stat().st_mtime for path in folder.glob("*.py"))

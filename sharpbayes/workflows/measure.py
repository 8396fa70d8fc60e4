"""Measure: the deterministic half only, metrics with bootstrap intervals and validation."""

from pathlib import Path

import xarray as xr

from sharpbayes.analysis.study import CrowdStudy
from sharpbayes.execution.progress import Phase
from sharpbayes.spec.files import StudyFiles
from sharpbayes.storage.results import read_results
from sharpbayes.workflows.context import Groups, RunContext, open_context, require_measured


def measure(study: StudyFiles | RunContext) -> xr.DataTree:
    """Compute every deterministic metric of a study, with bootstrap intervals.

    Args:
        study: From :func:`sharpbayes.load_study`.

    Returns:
        A tree of groups, among them ``panel``, ``profile`` and ``profile_interval`` of a panel,
        ``responsiveness`` and ``items`` of a crowd, and the observed ``ratings``; provenance in
        the root attributes. A metric that the ratings do not give is missing (NaN).

    Raises:
        SpecError: The study names a model that does not fit its columns.
        DataError: Errors in the data.

    Examples:
        >>> import sharpbayes
        >>> files = sharpbayes.load_study("quickstart", overrides=("bootstrap.replicates=20",))
        >>> results = sharpbayes.measure(files)
        >>> results["profile"]["policy_score"].round(2).to_series().to_dict()
        {'aster': 0.23, 'briar': 0.33, 'cedar': 0.44, 'dahlia': 0.56}
    """
    context = open_context(study)
    if context.files.model is not None:
        context.require_model()
    from sharpbayes.analysis.joint import joint_table  # noqa: PLC0415 - loads every metric
    from sharpbayes.analysis.stability import crowd_stability, panel_stability  # noqa: PLC0415 - loads every metric
    from sharpbayes.analysis.stored_ratings import ratings_group  # noqa: PLC0415 - loads xarray

    loaded = context.study  # read before the next phase begins
    context.execution.progress(Phase.METRICS)
    if isinstance(loaded, CrowdStudy):
        from sharpbayes.analysis.crowd import measure_crowd  # noqa: PLC0415 - loads every metric

        groups = measure_crowd(loaded)
        stability = crowd_stability(loaded)
    else:
        from sharpbayes.analysis.panel import measure_panel  # noqa: PLC0415 - loads every metric

        groups = measure_panel(loaded)
        stability = panel_stability(groups)
    groups["ratings"] = ratings_group(loaded)
    groups["joint"] = joint_table(groups, loaded.spec.bootstrap)
    if stability:
        groups["stability"] = stability
    return context.results(groups, status="measured")


def take_measured(measured: xr.DataTree | str | Path | None, context: RunContext) -> xr.DataTree:
    """Return results of measuring a study, computed unless there are some.

    SpecError where they are of another study, other settings or other data.
    """
    if measured is None:
        return measure(context)
    results = read_results(measured, place="measured")
    require_measured(results, context.files)
    return results


def with_measured(groups: Groups, measured: xr.DataTree) -> Groups:
    """Return groups with those of measured results that are not among them."""
    return groups | {
        str(name): node.to_dataset()
        for name, node in measured.children.items()
        if name not in groups
    }

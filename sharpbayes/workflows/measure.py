"""Measure: the deterministic half only, metrics with bootstrap intervals and validation."""

from typing import TYPE_CHECKING

from sharpbayes.analysis.study import CrowdStudy
from sharpbayes.spec.files import StudyFiles
from sharpbayes.workflows.context import RunContext, open_context

if TYPE_CHECKING:
    import xarray as xr


def measure(study: StudyFiles | RunContext) -> "xr.DataTree":
    """Compute every deterministic metric of a study, with bootstrap intervals.

    Args:
        study: From :func:`sharpbayes.load_study`.

    Returns:
        The groups ``panel``, ``profile`` and ``profile_interval`` for a panel, ``responsiveness``
        and ``items`` for a crowd; provenance in the root attributes.

    Raises:
        DataError: Errors in the data.
    """
    context = open_context(study)
    if context.files.model is not None:
        context.require_model()
    context.execution.progress("computing metrics and bootstrap intervals")
    if isinstance(context.study, CrowdStudy):
        from sharpbayes.analysis.crowd import measure_crowd  # noqa: PLC0415 - loads every metric

        groups = measure_crowd(context.study)
    else:
        from sharpbayes.analysis.panel import measure_panel  # noqa: PLC0415 - loads every metric

        groups = measure_panel(context.study)
    return context.results(groups, status="measured")

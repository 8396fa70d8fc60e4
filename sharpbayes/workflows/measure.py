"""Measure: the deterministic half only, metrics with bootstrap intervals and validation."""

from typing import TYPE_CHECKING

from sharpbayes.analysis.study import CrowdStudy
from sharpbayes.spec.files import StudyFiles
from sharpbayes.workflows.context import Groups, RunContext, open_context

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
    context.check_model()
    context.progress("computing metrics and bootstrap intervals")
    return context.results(_measured_groups(context), status="measured")


def _measured_groups(context: RunContext) -> Groups:
    """Measure the crowd or the panel."""
    if isinstance(context.study, CrowdStudy):
        from sharpbayes.analysis.crowd import measure_crowd  # noqa: PLC0415 - loads every metric

        return measure_crowd(context.study)
    from sharpbayes.analysis.panel import measure_panel  # noqa: PLC0415 - loads every metric

    return measure_panel(context.study)

"""Calibrate: fits of ratings with known truth at a study's design, tested for calibration."""

from typing import TYPE_CHECKING

from sharpbayes.spec.files import StudyFiles
from sharpbayes.workflows.context import RunContext, open_context

if TYPE_CHECKING:
    import xarray as xr


def calibrate(study: StudyFiles | RunContext, *, simulations: int) -> "xr.DataTree":
    """Fit ratings with known truth at a study's design, and test whether the fits are calibrated.

    CVaR of every model of a panel, or MPA and WRA of every group of a crowd, are among the
    quantities of :func:`sharpbayes.bayes.predict.calibration.calibrate`.
    """
    context = open_context(study)
    model, spec = context.model.spec, context.files.study.spec
    from sharpbayes.bayes.predict.calibration import calibrate as calibrate_model  # noqa: PLC0415 - PyMC
    from sharpbayes.posterior.study_metrics import calibrated_metrics  # noqa: PLC0415 - loads every metric

    table = calibrate_model(
        context.design,
        context.study.ratings,
        model,
        spec.sampler,
        simulations=simulations,
        seed=spec.seed,
        metrics=calibrated_metrics(context.metrics, context.design),
        execution=context.execution,
    )
    verdict = "calibrated" if bool(table["calibrated"]) else "not calibrated"
    return context.results({"calibration": table}, status=verdict)

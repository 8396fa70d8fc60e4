"""Calibrate: fits of ratings with known truth at a study's design, tested for calibration."""

import xarray as xr

from sharpbayes.spec.files import StudyFiles
from sharpbayes.workflows.context import RunContext, open_context


def calibrate(study: StudyFiles | RunContext, *, simulations: int) -> xr.DataTree:
    """Fit ratings with known truth at a study's design, and test whether the fits are calibrated.

    CVaR of every model of a panel, or MPA and WRA of every group of a crowd, are among the
    quantities of :func:`sharpbayes.bayes.predict.calibration.calibrate`. Of a panel the coverage of
    the bootstrap intervals of `measure` is added, ``bootstrap_coverage (metric, model)``.
    """
    context = open_context(study)
    model, spec = context.model.spec, context.files.study.spec
    from sharpbayes.bayes.predict.calibration import calibrate as calibrate_model  # noqa: PLC0415 - PyMC
    from sharpbayes.bayes.predict.calibration import draw_truths  # noqa: PLC0415 - PyMC
    from sharpbayes.posterior.bootstrap_coverage import bootstrap_coverage  # noqa: PLC0415 - loads every metric
    from sharpbayes.posterior.panel import PanelMetrics  # noqa: PLC0415 - loads every metric
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
    if isinstance(context.metrics, PanelMetrics):
        truths = draw_truths(context.design, simulations=simulations, seed=spec.seed)
        coverage = bootstrap_coverage(
            context.metrics, context.design, truths, seed=spec.seed, execution=context.execution
        )
        table = table.merge(coverage, combine_attrs="no_conflicts")
    verdict = "calibrated" if bool(table["calibrated"]) else "not calibrated"
    return context.results({"calibration": table}, status=verdict)

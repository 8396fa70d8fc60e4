"""Calibrate: known truth at a study's design, for fits, and for decisions under several looks."""

from dataclasses import replace

import xarray as xr

from sharpbayes.analysis.study import PanelStudy
from sharpbayes.errors import SpecError, require_type
from sharpbayes.spec.files import StudyFiles
from sharpbayes.workflows.context import RunContext, open_context


def calibrate(
    study: StudyFiles | RunContext, *, simulations: int = 300, posterior: bool = False
) -> xr.DataTree:
    """Fit ratings with known truth at a study's design, and test whether the fits are calibrated.

    Args:
        study: From :func:`sharpbayes.load_study`, or a context that also says where tasks run. The
            scores are not used, and it needs none, unless truths are of its posterior.
        simulations: Number of fits.
        posterior: Whether truths are draws of the posterior of the study's own ratings in place of
            the prior, and each fit has these ratings and one replicate of each.

    Returns:
        The group ``calibration``. CVaR of every model of a panel, or MPA and WRA of every group of
        a crowd, are among its quantities, see
        :func:`sharpbayes.bayes.predict.calibration.calibrate`. Of a panel with truths of the prior
        it has the coverage of the bootstrap intervals of `measure` too, ``bootstrap_coverage
        (metric, model)``. The root attribute ``status`` is ``calibrated`` or ``not calibrated``.

    Raises:
        SpecError: The study names no model, or ``simulations`` is no number from 1 on.
        DataError: Errors in the data.
    """
    require_type(simulations, int, "calibrate: simulations", "a whole number")
    if simulations < 1:
        raise SpecError.at(
            "calibrate", f"found {simulations}, must be at least 1", key="simulations"
        )
    context = replace(open_context(study), as_design=not posterior)
    model, spec = context.model.spec, context.files.study.spec
    from sharpbayes.bayes.predict.calibration import calibrate as calibrate_model  # noqa: PLC0415 - PyMC
    from sharpbayes.bayes.predict.calibration import draw_truths, posterior_truths  # noqa: PLC0415 - PyMC
    from sharpbayes.posterior.bootstrap_coverage import bootstrap_coverage  # noqa: PLC0415 - loads every metric
    from sharpbayes.posterior.panel import PanelMetrics  # noqa: PLC0415 - loads every metric
    from sharpbayes.posterior.study_metrics import calibrated_metrics  # noqa: PLC0415 - loads every metric

    design, truths, converged = context.design, None, True
    data = (context.study.ratings, model, spec.sampler)
    if posterior:
        design, truths, converged = posterior_truths(
            design, *data, simulations=simulations, seed=spec.seed, execution=context.execution
        )
    table = calibrate_model(
        design,
        *data,
        simulations=simulations,
        seed=spec.seed,
        execution=context.execution,
        metrics=calibrated_metrics(context.metrics, design),
        truths=truths,
    )
    table = table.assign_attrs(
        truths="posterior" if posterior else "prior", base_converged=int(converged)
    )
    table["calibrated"] = table["calibrated"] * int(converged)
    if isinstance(context.metrics, PanelMetrics) and not posterior:
        truths = draw_truths(context.design, simulations=simulations, seed=spec.seed)
        coverage = bootstrap_coverage(
            context.metrics, context.design, truths, seed=spec.seed, execution=context.execution
        )
        table = table.merge(coverage, combine_attrs="no_conflicts")
    verdict = "calibrated" if bool(table["calibrated"]) else "not calibrated"
    return context.results({"calibration": table}, status=verdict)


def simulate_looks(study: StudyFiles | RunContext, *, looks: int, simulations: int) -> xr.DataTree:
    """Return how often decisions err if somebody looks several times while the data grow.

    The group ``peeking`` is from :func:`sharpbayes.analysis.peeking.peeking_group`. Nothing is
    fitted: decisions are those of `measure`.

    Raises:
        SpecError: A crowd, one model alone, or too few prompts.
    """
    context = open_context(study)
    from sharpbayes.analysis.peeking import peeking_group  # noqa: PLC0415 - loads every metric
    from sharpbayes.analysis.profile_plan import build_profile_plan  # noqa: PLC0415 - loads every metric

    if not isinstance(context.study, PanelStudy):
        raise SpecError.at(context.files.study.path, "a crowd has no models", key="--peek")
    plan = build_profile_plan(context.study)
    group = peeking_group(plan, looks=looks, simulations=simulations, execution=context.execution)
    return context.results({"peeking": group}, status="simulated")

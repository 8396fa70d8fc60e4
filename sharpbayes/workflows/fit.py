"""Fit: measure, fit until converged, check, replicate, decide."""

from pathlib import Path

import xarray as xr

from sharpbayes.analysis.joint import joint_table
from sharpbayes.analysis.study import PanelStudy
from sharpbayes.errors import SpecError, require_type
from sharpbayes.execution.progress import Phase
from sharpbayes.posterior.fit_data import replicate_draws
from sharpbayes.posterior.groups import posterior_groups
from sharpbayes.posterior.judge_bias import judge_bias
from sharpbayes.posterior.judge_errors import judge_errors
from sharpbayes.posterior.missing import fitted_missingness
from sharpbayes.posterior.panel import PanelMetrics
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.posterior.slopes import slopes_table
from sharpbayes.spec.files import StudyFiles
from sharpbayes.storage.checksums import dataset_digest
from sharpbayes.storage.results import read_results
from sharpbayes.workflows.context import Groups, RunContext, join_groups, open_context
from sharpbayes.workflows.measure import take_measured, with_measured
from sharpbayes.workflows.sensitivity import sensitivity
from sharpbayes.workflows.update import extend_updates, read_earlier_fit


def fit(
    study: StudyFiles | RunContext,
    *,
    measured: xr.DataTree | str | Path | None = None,
    retries: int = 0,
    update: xr.DataTree | str | Path | None = None,
) -> xr.DataTree:
    """Measure a study, fit its model and check convergence.

    Args:
        study: From :func:`sharpbayes.load_study`, or a context that also says where tasks run.
        measured: Results of :func:`sharpbayes.measure`, or the path of their file; None to compute
            them.
        retries: How often a fit that has not converged is sampled again, twice as long each time.
        update: Results of an earlier fit of the study, to the data of which ratings have been
            added, or the path of their file: the fit goes on from its draws.

    Returns:
        What :func:`sharpbayes.measure` returns, ArviZ's groups, ``diagnostics``, posterior metrics,
        checks and the decision. The root attribute ``status`` is ``fitted``, ``not converged`` for
        a fit that must not be used, or ``interrupted`` where Ctrl-C left fewer draws than asked
        for.

    Raises:
        SpecError: The study names no model, or one that does not fit its columns, or is another
            than that of the results to update or of ``measured``; or ``retries`` are no number from
            0 on.
        DataError: Errors in the data, or ratings of the results to update that are gone or changed.
        StorageError: The results to update hold no fit that converged.
    """
    require_type(retries, int, "fit: retries", "a whole number")
    if retries < 0:
        raise SpecError.at("fit", f"found {retries}, must be at least 0", key="retries")
    context = open_context(study)
    context.require_model()
    spec, model = context.study.spec, context.model.spec
    update = None if update is None else read_results(update, place="update")
    earlier = None if update is None else read_earlier_fit(update, context)
    measured = take_measured(measured, context)
    context.execution.progress(Phase.COMPILING)
    from sharpbayes.bayes.fit import fit_ratings  # noqa: PLC0415 - PyMC only where it is used

    groups = fit_ratings(
        context.design,
        context.study.ratings,
        model,
        spec.sampler,
        seed=spec.seed,
        retries=retries,
        earlier=earlier,
        execution=context.execution,
    )
    diagnostics, sizes = groups["diagnostics"], groups["posterior"].sizes
    status = "fitted" if bool(diagnostics["converged"]) else "not converged"
    if sizes["chain"] < spec.sampler.chains or sizes["draw"] < diagnostics.attrs["draws"]:
        status = "interrupted"
    attrs = {"status": status, "posterior_sha256": dataset_digest(groups["posterior"])}
    if update is not None:
        attrs["updates"] = extend_updates(update, diagnostics.attrs.pop("update"))
    groups = with_measured(groups, measured)
    groups |= groups_after_fit(context, groups)
    groups["joint"] = joint_table(groups, spec.bootstrap)
    if spec.sensitivity.is_requested and status != "interrupted":
        context.execution.progress(Phase.REFITS)
        groups["sensitivity"] = sensitivity(context, groups)
    return join_groups(groups, measured.attrs | attrs)


def groups_after_fit(context: RunContext, groups: Groups) -> Groups:
    """Return bias of judges, slopes, posterior metrics, checks, decision, and observed ratings."""
    study, level = context.study, context.study.spec.bootstrap.level
    posterior, design, ratings = groups["posterior"], context.design, study.ratings
    derived: Groups = {}
    # Against people, and for models of the judge's own family, where they are known.
    if isinstance(study, PanelStudy) and {"rater", "own_family"} & set(ratings.factors):
        derived["judge_bias"] = judge_bias(posterior, design, ratings, level=level)
    if design.covariates:
        derived["slopes"] = slopes_table(posterior, design, level=level)
    if isinstance(study, PanelStudy):
        derived["judge_errors"] = judge_errors(posterior, design, ratings, level=level)
    derived = {name: table for name, table in derived.items() if table.data_vars}
    if isinstance(context.metrics, PanelMetrics) and "missing" in groups:
        fitted = fitted_missingness(context.metrics.plans[0], posterior, design, level=level)
        derived["missing"] = groups["missing"].assign(fitted)
    if "posterior_predictive" in groups:
        context.execution.progress(Phase.REPLICATED_METRICS)
        draws = replicate_draws(groups, design, study)
        derived |= posterior_groups(context.metrics, context.model.spec, draws, groups)
        derived |= _model_checks(context, groups | derived, draws)
    return derived


def _model_checks(context: RunContext, groups: Groups, draws: ReplicateDraws) -> Groups:
    """Return what decisions owe to priors, and whether the model predicts single ratings."""
    from sharpbayes.posterior.loo_pit import loo_pit_group  # noqa: PLC0415 - loads ArviZ
    from sharpbayes.posterior.prior_sensitivity import prior_sensitivity  # noqa: PLC0415 - loads ArviZ
    from sharpbayes.posterior.scaled_priors import scale_priors  # noqa: PLC0415 - loads ArviZ

    metrics, level = context.metrics, context.study.spec.bootstrap.level
    priors = scale_priors(groups, draws)
    checks = {"prior_sensitivity": prior_sensitivity(metrics, groups, priors, level=level)}
    pit = loo_pit_group(metrics, draws)
    return checks if pit is None else checks | {"loo_pit": pit}

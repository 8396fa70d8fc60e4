"""Fit: measure, fit until converged, check, replicate, decide."""

from typing import TYPE_CHECKING

from sharpbayes.analysis.study import PanelStudy
from sharpbayes.spec.files import StudyFiles
from sharpbayes.spec.study import Study
from sharpbayes.workflows.context import Groups, RunContext, join_groups, open_context
from sharpbayes.workflows.measure import measure

if TYPE_CHECKING:
    import xarray as xr


def fit(
    study: StudyFiles | RunContext,
    *,
    measured: "xr.DataTree | None" = None,
    retries: int = 0,
) -> "xr.DataTree":
    """Measure a study, fit its model and check convergence.

    Args:
        study: From :func:`sharpbayes.load_study`, or a context that also says where tasks run.
        measured: Results of :func:`sharpbayes.measure`; None to compute them.
        retries: How often a fit that has not converged is sampled again, twice as long each time.

    Returns:
        What :func:`sharpbayes.measure` returns, ArviZ's groups, ``diagnostics``, posterior metrics,
        checks and the decision. The root attribute ``status`` is ``fitted``, ``not converged`` for
        a fit that must not be used, or ``interrupted`` where Ctrl-C left fewer draws than asked
        for.

    Raises:
        SpecError: The study names no model, or one that does not fit its columns.
        DataError: Errors in the data.
    """
    context = open_context(study)
    context.require_model()
    spec, model = context.study.spec, context.model.spec
    measured = measure(context) if measured is None else measured
    context.execution.progress("preparing the sampler (half a minute the first time on a machine)")
    from sharpbayes.bayes.fit import fit_ratings  # noqa: PLC0415 - PyMC only where it is used
    from sharpbayes.storage.checksums import dataset_digest  # noqa: PLC0415 - loads NumPy

    groups = fit_ratings(
        context.design,
        context.study.ratings,
        model,
        spec.sampler,
        seed=spec.seed,
        retries=retries,
        execution=context.execution,
    )
    status = _status(groups, spec)
    digest = dataset_digest(groups["posterior"])
    for name, node in measured.children.items():
        groups.setdefault(str(name), node.to_dataset())
    groups |= _judge_bias(context, groups) | _posterior_groups(context, groups)
    if spec.sensitivity.asked and status != "interrupted":
        context.execution.progress("fitting again for what the study's sensitivity asks")
        from sharpbayes.workflows.sensitivity import sensitivity  # noqa: PLC0415 - loads every metric

        groups["sensitivity"] = sensitivity(context, groups)
    return join_groups(groups, measured.attrs | {"status": status, "posterior_sha256": digest})


def _status(groups: Groups, spec: Study) -> str:
    """Return whether sampling was cut short and whether it converged."""
    asked, sizes = groups["diagnostics"].attrs["draws"], groups["posterior"].sizes
    if sizes["chain"] < spec.sampler.chains or sizes["draw"] < asked:
        return "interrupted"
    return "fitted" if bool(groups["diagnostics"]["converged"]) else "not converged"


def _judge_bias(context: RunContext, groups: Groups) -> Groups:
    """Return how judges score against people and models of their own family, where known."""
    study = context.study
    known = {"rater", "own_family"} & set(study.ratings.factors)
    if not isinstance(study, PanelStudy) or not known:
        return {}
    from sharpbayes.posterior.judge_bias import judge_bias  # noqa: PLC0415 - loads every metric

    level = study.spec.bootstrap.level
    table = judge_bias(groups["posterior"], context.design, study.ratings, level=level)
    return {"judge_bias": table} if table.data_vars else {}


def _posterior_groups(context: RunContext, groups: Groups) -> Groups:
    """Return posterior metrics, checks, the decision, and the ratings that other weights need."""
    if "posterior_predictive" not in groups:
        return {}
    context.execution.progress("measuring replicated ratings")
    from sharpbayes.posterior.fit_data import replicate_draws  # noqa: PLC0415 - loads every metric
    from sharpbayes.posterior.groups import posterior_groups  # noqa: PLC0415 - loads every metric

    draws = replicate_draws(groups, context.design, seed=context.study.spec.seed)
    return posterior_groups(context.metrics, context.model.spec, draws, groups)

"""Preview: the Laplace approximation of a fit, marked wherever it is shown."""

import math
from pathlib import Path

import xarray as xr

from sharpbayes.analysis.joint import joint_table
from sharpbayes.execution.progress import Phase
from sharpbayes.spec.files import StudyFiles
from sharpbayes.storage.checksums import dataset_digest
from sharpbayes.storage.schema import APPROXIMATE, APPROXIMATION
from sharpbayes.workflows.context import RunContext, join_groups, open_context
from sharpbayes.workflows.fit import groups_after_fit
from sharpbayes.workflows.measure import take_measured, with_measured


def preview(
    study: StudyFiles | RunContext, *, measured: xr.DataTree | str | Path | None = None
) -> xr.DataTree:
    """Measure a study and approximate its fit: a first look, never an answer.

    The posterior is approximated by Laplace's method: effects and cutpoints are normal given the
    top-level parameters, and these are normal at the mode of their marginal density. No chain has
    to converge, so convergence checks do not apply. Refits for the sensitivity are left out.

    Args:
        study: From :func:`sharpbayes.load_study`, or a context that also says where tasks run.
        measured: Results of :func:`sharpbayes.measure`, or the path of their file; None to compute
            them.

    Returns:
        The groups of :func:`sharpbayes.fit` without ``diagnostics``, ``sample_stats`` and
        ``sensitivity``. The root attribute ``status`` is ``approximate``, and ``approximation``
        says what that means; ``pareto_k`` is Pareto's k of the weights that would correct the
        draws, which above ``good_k`` no weights can do.

    Raises:
        SpecError: The study names no model, one that does not fit its columns, or one that is not
            approximated: what the kernel does not support, or more than 5,000 parameters; or
            ``measured`` is of another study.
        DataError: Errors in the data.
        NoModeError: The approximation has no mode.
    """
    context = open_context(study)
    context.require_model()
    from sharpbayes.bayes.preview import preview_ratings, require_preview  # noqa: PLC0415 - slow to load

    require_preview(context.design)
    spec, model = context.study.spec, context.model.spec
    measured = take_measured(measured, context)
    context.execution.progress(Phase.COMPILING)
    groups, numbers = preview_ratings(
        context.design,
        context.study.ratings,
        model,
        spec.sampler,
        seed=spec.seed,
        execution=context.execution,
    )
    attrs = {"status": APPROXIMATE, "approximation": APPROXIMATION}
    attrs |= {"posterior_sha256": dataset_digest(groups["posterior"])}
    known = {name: number for name, number in numbers.items() if math.isfinite(number)}
    groups = with_measured(groups, measured)
    groups |= groups_after_fit(context, groups)
    groups["joint"] = joint_table(groups, spec.bootstrap)
    return join_groups(groups, measured.attrs | attrs | known)

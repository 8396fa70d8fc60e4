"""Check: read a study and its data, and say what a fit would be, without computing."""

from collections.abc import Iterator

import numpy as np

from sharpbayes.analysis.design_limits import list_design_limits
from sharpbayes.analysis.long_scales import REMEDY, describe_long_scale, is_too_long
from sharpbayes.analysis.study import CrowdStudy, PanelStudy, StudySummary
from sharpbayes.analysis.weighted_labels import check_weighted_labels
from sharpbayes.bayes.design.identifiability import find_issues
from sharpbayes.bayes.design.size import (
    count_predictive_draws,
    expected_memory,
    replicate_bytes,
    worker_memory,
)
from sharpbayes.data.ledger import find_lookalikes, list_columns
from sharpbayes.data.own_judges import pair_own_judges
from sharpbayes.data.panel import list_pooled_judges
from sharpbayes.errors import format_count
from sharpbayes.execution.processors import cpu_count
from sharpbayes.metrics.crowd.least_numbers import explain_few_raters
from sharpbayes.spec.crowd import NOBODY_OUTSIDE
from sharpbayes.spec.files import StudyFiles
from sharpbayes.spec.study import Bootstrap
from sharpbayes.workflows.context import RunContext, open_context
from sharpbayes.workflows.expected_time import usual_draws


def check(study: StudyFiles | RunContext) -> StudySummary:
    """Read a study and its data, and say what a fit would be, without computing.

    Args:
        study: From :func:`sharpbayes.load_study`.

    Returns:
        Counts and labels of the data, and the size of a fit.

    Raises:
        SpecError: The model file names a column that the study does not have.
        DataError: Errors in the data, weights that name labels which the data do not have, or no
            answer with a score of every indicator.

    Examples:
        >>> import sharpbayes
        >>> overview = sharpbayes.check(sharpbayes.load_study("quickstart"))
        >>> overview.counts["prompt"], overview.counts["judge"], overview.ratings
        (30, 3, 3960)
    """
    context = open_context(study)
    check_weighted_labels(context.study)
    if isinstance(context.study, PanelStudy):
        _require_scores(context.study)
    ratings, sampler = context.study.ratings, context.files.study.spec.sampler
    columns = {name: column for name, column in ratings.factors.items() if name != "scale"}
    if isinstance(context.study, CrowdStudy):  # a model may take experts as raters
        columns["rater"] = context.study.data.rater
        columns |= {"expert": expert} if (expert := context.study.data.expert) else {}
    design = context.design if context.files.model else None
    parameters = design.n_parameters if design else 0
    number, values_per_draw = len(ratings.score), parameters * sampler.chains
    predicted = count_predictive_draws(number, sampler.predictive_draws)
    replicates = replicate_bytes(number, predicted) if design else 0
    memory, max_memory = (
        expected_memory(
            number, draws=values_per_draw * length, predicted=predicted, cores=cpu_count()
        )
        for length in (usual_draws(sampler), sampler.lengths[-1])
    )
    in_parts = sampler.data_parts > 1 and design is not None
    worker = worker_memory(number, parts=sampler.data_parts) if in_parts else 0
    files = context.files.study
    table, base = files.spec.table, files.path.parent
    numeric = context.model.spec.numeric_columns if design else ()
    labels = {name: x.labels for name, x in columns.items()}
    return StudySummary(
        columns=tuple(list_columns(table, base, numeric=numeric)),
        open_checks=tuple(files.open_checks),
        lookalikes=tuple(find_lookalikes(table, base, labels)),
        counts={name: len(x.labels) for name, x in columns.items()} | context.study.counts,
        labels=labels,
        scales=ratings.scales,
        ratings=number,
        parameters=parameters,
        draw_megabytes=values_per_draw * sampler.lengths[-1] * 8 / 1e6,
        replicate_megabytes=replicates / 1e6,
        memory_megabytes=memory / 1e6 if design else 0.0,
        max_memory_megabytes=max_memory / 1e6 if design else 0.0,
        worker_megabytes=worker / 1e6,
        issues=tuple(find_issues(ratings, design)) if design else (),
        covariates=design.covariates if design else (),
        repeats=context.study.repeats,
        few_resamples=_find_few_resamples(files.spec.bootstrap),
        unmeasured=tuple(_explain_unmeasured(context.study)),
        long_scale=_explain_long_scale(context.study),
        own_judges=_find_own_judges(context.study),
        limits=tuple(list_design_limits(context.study)),
    )


def _require_scores(study: PanelStudy) -> None:
    """Raise DataError where no answer has scores enough for a log-risk, as a measurement does."""
    dims, labels = list(study.data.labels), list(study.data.labels["judge"])
    pooled = [labels.index(name) for name in list_pooled_judges(study.panel, labels)]
    is_scored = study.data.score.take(pooled, axis=dims.index("judge")) >= 0
    if not is_scored.all(axis=dims.index("indicator")).any():
        from sharpbayes.analysis.profile_plan import (  # noqa: PLC0415 - `check` starts without xarray
            build_profile_plan,
            require_risk,
        )

        require_risk(build_profile_plan(study))


def _find_own_judges(study: PanelStudy | CrowdStudy) -> tuple[tuple[str, str], ...]:
    """Return the judges who score their own answers, each with the model."""
    if isinstance(study, CrowdStudy):
        return ()
    model, judge = (study.ratings.factors[name] for name in ("model", "judge"))
    scored = np.zeros((len(model.labels), len(judge.labels)), dtype=bool)
    by_judge = judge.codes >= 0
    scored[model.codes[by_judge], judge.codes[by_judge]] = True
    families = study.panel.families.values()
    return tuple(pair_own_judges(model.labels, judge.labels, scored, families))


def _explain_unmeasured(study: PanelStudy | CrowdStudy) -> Iterator[tuple[str, str, str]]:
    """Yield which metrics no group of a crowd has, why, and what helps."""
    if isinstance(study, PanelStudy):
        return
    crowd, items = study.crowd, _count_labelled_items(study)
    if not crowd.groups and crowd.labels.from_ == "crowd":
        yield "MPA, WRA, HM", *NOBODY_OUTSIDE
    if reason := explain_few_raters(len(study.data.rater.labels), crowd.min_raters):
        yield "all", reason, "more raters, or a lower min_raters in the table [crowd]"
    if items < crowd.min_items:
        labelled = "" if crowd.labels.from_ == "crowd" else " with a label"
        reason = f"{format_count(items, 'item')}{labelled}, fewer than min_items"
        remedy = "more items, or a lower min_items in the table [crowd]"
        yield "MPA, WRA, HM", f"{reason} = {crowd.min_items}", remedy


def _count_labelled_items(study: CrowdStudy) -> int:
    """Number of items with a label; labels by the crowd are of all of them."""
    if study.crowd.labels.from_ == "experts":
        return np.unique(study.data.expert_item).size
    if study.crowd.labels.from_ == "item":
        return int((study.data.item_label >= 0).sum())
    return len(study.data.item.labels)


def _explain_long_scale(study: PanelStudy | CrowdStudy) -> tuple[str, str] | None:
    """Return why items show too little of a long scale, and what helps; None where they do not."""
    if isinstance(study, PanelStudy):
        return None
    counts = {"items": _count_labelled_items(study), "scores": len(study.data.score_labels)}
    return (describe_long_scale(**counts), REMEDY) if is_too_long(**counts) else None


def _find_few_resamples(boot: Bootstrap) -> tuple[float, int, int] | None:
    """Return level, resamples and the least that it takes, where these are more."""
    is_few = boot.replicates < boot.least_replicates
    return (boot.level, boot.replicates, boot.least_replicates) if is_few else None

"""Sensitivity: refits and assumed shared errors of judges, each under several weights files."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import xarray as xr

from sharpbayes.analysis.panel import profile_panel
from sharpbayes.analysis.study import CrowdStudy, PanelStudy
from sharpbayes.bayes.design.design import Design
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.data.panel import list_pooled_judges
from sharpbayes.execution.tasks import Execution, compute_parts, from_arrays, to_arrays
from sharpbayes.execution.threads import thread_map, use_map
from sharpbayes.metrics.stats.draws import summarise_draws
from sharpbayes.metrics.stats.labels import without_attributes
from sharpbayes.posterior.crowd import CrowdMetrics
from sharpbayes.posterior.decision import add_tiers, decision
from sharpbayes.posterior.fit_data import replicate_draws
from sharpbayes.posterior.judge_errors import assume_correlation
from sharpbayes.posterior.panel import PanelMetrics, rating_positions
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.spec.base import Spec
from sharpbayes.spec.files import SpecFile
from sharpbayes.spec.load import load_sensitivity_weights
from sharpbayes.spec.weights import Weights
from sharpbayes.workflows.context import Groups, RunContext

WeightsFiles = Mapping[str, SpecFile[Weights]]

BASELINE = "baseline"
DECISIONS = ("prob_admissible", "prob_best", "expected_loss", "prob_less", "selected")


@dataclass(frozen=True)
class Case:
    """One fit: its label, the factor of the widths of its priors, and the judge it leaves out."""

    label: str = BASELINE
    factor: float = 1.0
    without: str | None = None


def sensitivity(context: RunContext, groups: Groups) -> xr.Dataset:
    """Fit again what the study asks for, and compare the posteriors with its own fit's groups.

    Over ``refit`` (the first is the study's own fit), for a panel also over ``weights`` (the first
    are the study's own): for every number of the posterior metrics over its own dimensions the
    posterior median, ``<name>_interval`` at the study's level (last dim ``bound``), ``<name>_sd``
    and ``<name>_shift``, the median less that of the study's own fit in its posterior sd; for a
    panel also the decision; ``converged``, ``rhat`` (largest) and ``divergences``.
    """
    study, model, spec = context.study, context.model.spec, context.files.study.spec
    weights = load_sensitivity_weights(context.files)
    if context.files.weights is not None:
        weights = {context.files.weights.path.stem: context.files.weights} | weights
    key = hashlib.sha256(repr([(w, x.sha256) for w, x in weights.items()]).encode()).hexdigest()
    from sharpbayes.bayes.fit import fit_ratings  # noqa: PLC0415 - PyMC only where it is used

    # A task that refers to the map function itself could not be sent to a worker.
    execution = Execution(cores=1 if context.execution.map_function else None)

    def refit(case: Case) -> dict[str, Any]:
        with use_map(thread_map):
            changed, widened = study, widen_priors(model, case.factor)
            if isinstance(study, PanelStudy) and case.without is not None:
                judges = [name for name in study.data.labels["judge"] if name != case.without]
                changed = replace(study, data=study.data.select("judge", judges))
            design = build_design(changed.ratings, widened)
            data = (design, changed.ratings, widened, spec.sampler)
            fitted = fit_ratings(*data, seed=spec.seed, execution=execution)
            return to_arrays(_summarise_fit(changed, design, fitted, weights))

    refits = list_refits(study)
    arguments = {f"refit-{number}-{key[:16]}": case for number, case in enumerate(refits)}
    parts = compute_parts(refit, arguments, context.execution)
    baseline = _summarise_fit(study, context.design, groups, weights)
    labels = [BASELINE, *(case.label for case in refits)]
    assumed = list(_assume_shared_errors(study, context.design, groups, weights))
    labels += [label for label, _ in assumed]
    table = xr.concat(
        [baseline, *map(from_arrays, parts), *(part for _, part in assumed)],
        xr.DataArray(labels, dims="refit", name="refit"),
        join="outer",
        combine_attrs="drop",
    )
    return _with_shifts(table).assign_attrs(
        level=spec.bootstrap.level,
        **{f"weights_{name}": file.text for name, file in weights.items()},
    )


def list_refits(study: PanelStudy | CrowdStudy) -> list[Case]:
    """Return the refits that a study asks for."""
    settings, refits = study.spec.sensitivity, []
    if settings.leave_out and isinstance(study, PanelStudy):
        judges = list_pooled_judges(study.panel, study.data.labels["judge"])
        if len(judges) > 1:
            refits += [Case(f"without judge {judge}", without=judge) for judge in judges]
    return refits + [Case(f"priors x {factor:g}", factor=factor) for factor in settings.priors]


def widen_priors[T: Spec](spec: T, factor: float) -> T:
    """Return a model with every prior ``factor`` times as wide; that of correlations stays."""
    # The mean of an exponential prior is its width; other priors with a mean have an sd.
    fields = type(spec).model_fields
    width = next((name for name in ("sd", "scale", "mean") if name in fields), None)

    def widen(value: Any, name: str = "") -> Any:
        if isinstance(value, Spec):
            return widen_priors(value, factor)
        if isinstance(value, tuple):
            return tuple(map(widen, value))
        return value * factor if name == width else value

    return spec.model_copy(update={name: widen(value, name) for name, value in spec})


def _summarise_fit(
    study: PanelStudy | CrowdStudy, design: Design, groups: Groups, weights: WeightsFiles
) -> xr.Dataset:
    """Return the numbers of a fit that are compared."""
    draws = replicate_draws(groups, design, study)
    if isinstance(study, CrowdStudy):
        [metrics] = CrowdMetrics(study).measure(draws, study.spec.uncertainties[0])
        table = summarise_draws(metrics, level=study.spec.bootstrap.level)
    else:
        table = _summarise_panel(study, draws, weights)
    return _with_convergence(table, groups["diagnostics"])


def _assume_shared_errors(
    study: PanelStudy | CrowdStudy, design: Design, groups: Groups, weights: WeightsFiles
) -> Iterator[tuple[str, xr.Dataset]]:
    """Yield the study's own fit under each assumed correlation of judges' errors, by its label."""
    if isinstance(study, PanelStudy):
        draws = replicate_draws(groups, design, study)
        for correlation in study.spec.sensitivity.shared_error:
            without = assume_correlation(draws, study.ratings, correlation)
            table = _summarise_panel(study, without, weights)
            label = f"errors of judges correlate {correlation:g}"
            yield label, _with_convergence(table, groups["diagnostics"])


def _with_convergence(table: xr.Dataset, diagnostics: xr.Dataset) -> xr.Dataset:
    """Return the numbers of a fit and whether it converged."""
    return table.assign(
        converged=int(diagnostics["converged"]),
        rhat=float(diagnostics["rhat"].max()),
        divergences=int(diagnostics["divergences"]),
    ).pipe(without_attributes)


def _summarise_panel(study: PanelStudy, draws: ReplicateDraws, weights: WeightsFiles) -> xr.Dataset:
    """Return profiles and decisions under each weights file."""
    level, tables = study.spec.bootstrap.level, []
    profiled = [profile_panel(replace(study, weights=file)) for file in weights.values()]
    metrics = PanelMetrics([plan for plan, _ in profiled], rating_positions(study))
    profiles = metrics.measure(draws, study.spec.uncertainties[0])
    for (plan, measured), profile in zip(profiled, profiles, strict=True):
        tiered = add_tiers(profile, measured, plan.weights)
        decided = decision(tiered, plan.weights, level=level)[list(DECISIONS)]
        tables.append(summarise_draws(tiered, level=level).merge(decided))
    labels = xr.DataArray(list(weights), dims="weights", name="weights")
    return xr.concat(tables, labels, join="outer", combine_attrs="drop")


def _with_shifts(table: xr.Dataset) -> xr.Dataset:
    """Add the distance of each median from that of the study's own fit, in its posterior sd."""
    names = [str(name).removesuffix("_sd") for name in table if str(name).endswith("_sd")]
    baseline = table.sel(refit=BASELINE)
    sd = baseline[[f"{name}_sd" for name in names]].rename({f"{name}_sd": name for name in names})
    shifts = (table[names] - baseline[names]) / sd.where(sd > 0)
    return table.assign(shifts.rename({name: f"{name}_shift" for name in names}).data_vars)

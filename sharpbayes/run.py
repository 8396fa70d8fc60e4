"""Check, measure, fit: the one file that joins the deterministic and the Bayesian half."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import xarray as xr

from sharpbayes.bayes.design import Design, design
from sharpbayes.data.crowd import CrowdData, crowd_ratings, load_crowd
from sharpbayes.data.files import matching_files
from sharpbayes.data.panel import load_panel, panel_ratings, phi_table, reversed_at
from sharpbayes.data.ratings import Ratings
from sharpbayes.errors import DataError, Fault, SpecError
from sharpbayes.metrics.compare import (
    admissible,
    cvar_difference,
    separable,
    tiers,
    tiers_by_overlap,
)
from sharpbayes.metrics.crowd import (
    crowd_label_counts,
    expert_label_counts,
    item_label_counts,
    plurality,
    score_counts,
)
from sharpbayes.metrics.groups import membership, strata
from sharpbayes.metrics.normalise import normalise, reverse
from sharpbayes.metrics.profile import profile
from sharpbayes.metrics.resample import bootstrap, percentile_interval
from sharpbayes.metrics.responsiveness import responsiveness
from sharpbayes.metrics.risk import panel
from sharpbayes.metrics.subindex import Part, SubIndex, sub_indices
from sharpbayes.results import provenance
from sharpbayes.spec.check import policy_for
from sharpbayes.spec.load import StudyFiles
from sharpbayes.spec.study import Crowd, Panel, Study
from sharpbayes.spec.weights import Weights

if TYPE_CHECKING:
    from sharpbayes.bayes.sample import Progress

Groups = dict[str, xr.Dataset]
Step = Callable[[str], None]

# What an interval of the bootstrap contains, said wherever one is shown.
PANEL_CONTAINS = (
    "Intervals: {level:.0%} percentile bootstrap over prompts, the same prompts for every model; "
    "they contain the sampling of prompts, not the choice of judges or noise in their ratings."
)
CROWD_CONTAINS = (
    "Intervals: {level:.0%} percentile bootstrap over items, their raters and experts kept "
    "together; they contain the sampling of items, not the choice of raters."
)
RESAMPLED = ("mpa", "wra", "hm", "kendall_tau", "spearman", "auc_pr", "auc_roc")
# Weights held at once by a block of resamples.
BLOCK_CELLS = 2_000_000


@dataclass(frozen=True)
class Understood:
    """What a study and its data say, before anything is computed.

    Attributes:
        counts: Number of labels of each column, of ratings and of missing cells, by name.
        labels: Labels of each column.
        scales: Labels of the levels of each scale, least harm first.
        ratings: Number of ratings that a fit would use.
        parameters: Number of free parameters of the fit; 0 without a model.
        megabytes: Size of the stored draws of parameters; 0 without a model.
    """

    counts: dict[str, int]
    labels: dict[str, tuple[str, ...]]
    scales: dict[str, tuple[str, ...]]
    ratings: int
    parameters: int
    megabytes: float


@dataclass(frozen=True)
class Loaded:
    """The data of a study: as a panel or a crowd, and in long form for the model."""

    panel: xr.Dataset | None
    crowd: CrowdData | None
    ratings: Ratings
    counts: dict[str, int]


def check(files: StudyFiles) -> Understood:
    """Read a study's data and say what was understood, without computing.

    Raises:
        SpecError: The model file names a column that the study does not have.
        DataError: Faults in the data.
    """
    loaded = _load(files)
    placed = _design(files, loaded)
    columns = {name: held for name, held in loaded.ratings.columns.items() if name != "scale"}
    sampler = files.study.spec.sampler
    parameters = placed.parameters if placed else 0
    return Understood(
        counts={name: len(held.labels) for name, held in columns.items()} | loaded.counts,
        labels={name: held.labels for name, held in columns.items()},
        scales=loaded.ratings.scales,
        ratings=len(loaded.ratings.level),
        parameters=parameters,
        megabytes=parameters * sampler.chains * sampler.draws * 8 / 1e6,
    )


def measure(files: StudyFiles, *, step: Step | None = None) -> xr.DataTree:
    """Compute every deterministic metric of a study, with bootstrap intervals.

    Args:
        files: From :func:`sharpbayes.load_study`.
        step: Called with a few words before each step of the work.

    Returns:
        The groups ``panel``, ``profile`` and ``profile_interval`` for a panel, ``responsiveness``
        and ``items`` for a crowd; provenance in the root attributes.

    Raises:
        DataError: Faults in the data.
    """
    say = step or _silent
    say("reading data")
    loaded = _load(files)
    _design(files, loaded)
    say("computing metrics and bootstrap intervals")
    groups = (
        _measure_crowd(files.study.spec, loaded.crowd)
        if loaded.crowd is not None
        else _measure_panel(files, loaded.panel)
    )
    attrs = provenance(files, data=_data_facts(files, loaded), status="measured")
    return _tree(groups, attrs)


def fit(
    files: StudyFiles,
    *,
    measured: xr.DataTree | None = None,
    step: Step | None = None,
    progress: "Progress | None" = None,
) -> xr.DataTree:
    """Measure a study, fit its model and check convergence.

    Args:
        files: From :func:`sharpbayes.load_study`.
        measured: Results of :func:`measure`, to spare computing them again.
        step: Called with a few words before each step of the work.
        progress: Called with the state of the chains a few times a second.

    Returns:
        What :func:`measure` returns, ArviZ's groups and ``diagnostics``. The root attribute
        ``status`` is ``fitted``, or ``not converged`` for a fit that must not be used.

    Raises:
        SpecError: The study names no model, or one that does not fit its columns.
        DataError: Faults in the data.
    """
    measured = measure(files, step=step) if measured is None else measured
    loaded = _load(files)
    placed = _design(files, loaded)
    if placed is None:
        where = "crowd" if files.study.spec.panel is None else "panel"
        known = "judge_panel" if where == "panel" else "crowd_severity"
        message = f'a fit needs a model; add `model = "{known}"`, or run `sharpbayes measure`'
        raise SpecError([Fault(str(files.study.path), 0, f"{where}.model", message)])
    (step or _silent)("fitting: compiling the model, then sampling")
    from sharpbayes.bayes.fit import fit_ratings  # noqa: PLC0415 - PyMC only where it is used

    study = files.study.spec
    groups = fit_ratings(loaded.ratings, placed, study.sampler, seed=study.seed, progress=progress)
    converged = bool(groups["diagnostics"]["converged"])
    attrs = dict(measured.attrs)
    attrs["status"] = "fitted" if converged else "not converged"
    for name, node in measured.children.items():
        groups.setdefault(str(name), node.to_dataset())
    return _tree(groups, attrs)


def _silent(_: str) -> None:
    """Say nothing."""


def _block(units: int) -> int:
    """Number of resamples at once, so that memory stays bounded."""
    return max(1, BLOCK_CELLS // units)


def _tree(groups: Groups, attrs: Mapping[Any, Any]) -> xr.DataTree:
    """Join groups under one root."""
    tree = xr.DataTree.from_dict({f"/{name}": group for name, group in groups.items()})
    tree.attrs = dict(attrs)
    return tree


def _load(files: StudyFiles) -> Loaded:
    """Read the table of ratings that a study is about."""
    study, base = files.study.spec, files.study.path.parent
    if study.panel is not None:
        levels = load_panel(study.panel, base)
        counts = {name: int(levels.attrs[name]) for name in ("ratings", "missing", "absent")}
        return Loaded(levels, None, panel_ratings(levels, study.panel), counts)
    if study.crowd is None:
        raise ValueError("a study has a panel or a crowd")
    crowd = load_crowd(study.crowd, base)
    return Loaded(None, crowd, crowd_ratings(crowd, study.crowd), dict(crowd.counts))


def _design(files: StudyFiles, loaded: Loaded) -> Design | None:
    """Place the study's model on its ratings; None if it names none."""
    if files.model is None:
        return None
    return design(loaded.ratings, files.model.spec, path=str(files.model.path))


def _data_facts(files: StudyFiles, loaded: Loaded) -> dict[str, Any]:
    """Digest of the data files, in order, and counts."""
    study, base = files.study.spec, files.study.path.parent
    table = study.panel or study.crowd
    digest = hashlib.sha256()
    for path in matching_files(base, table.data if table else ""):
        digest.update(path.read_bytes())
    return {"sha256": digest.hexdigest(), **loaded.counts}


def _measure_panel(files: StudyFiles, levels: xr.Dataset | None) -> Groups:
    """SHARP: ratings -> sub-indices -> harm -> profile, with intervals and tiers."""
    study, weights = files.study.spec, files.weights.spec if files.weights else None
    if study.panel is None or weights is None or levels is None:
        raise ValueError("a panel study has data and weights")
    table = _panel_table(study.panel, weights, levels, str(files.study.path))
    policy = policy_for(study, weights)
    statistic = partial(
        profile,
        table,
        alpha=weights.tail.alpha,
        policy=xr.DataArray(list(policy.values()), {"dimension": list(policy)}, "dimension"),
        estimator=weights.tail.estimator,
        dim=("prompt", "sample") if "sample" in table.dims else "prompt",
    )
    observed, boot = statistic(), study.bootstrap
    resampled = bootstrap(
        lambda counts: statistic(weights=counts),
        table["prompt"],
        replicates=boot.replicates,
        seed=study.seed,
        dim="prompt",
        block=_block(table.sizes["prompt"]),
    )
    interval = _profile_interval(resampled, level=boot.level)
    rule = weights.tiers.rule
    observed["tier"] = (
        tiers(observed["cvar"], interval["cvar_difference"])
        if rule == "paired-difference"
        else tiers_by_overlap(observed["cvar"], interval["cvar"])
    )
    if weights.tolerance is not None:
        observed["admissible"] = admissible(observed["cvar"], weights.tolerance.cvar)
    observed.attrs |= {"alpha": weights.tail.alpha, "tier_rule": rule}
    return {"panel": table, "profile": observed, "profile_interval": interval}


def _panel_table(spec: Panel, weights: Weights, levels: xr.Dataset, path: str) -> xr.Dataset:
    """Harm of every (model, prompt) from the judges' levels."""
    phi = normalise(levels["level"], phi_table(spec, levels))
    phi = reverse(phi, where=reversed_at(spec, levels))
    sub_index = sub_indices(phi, _sub_indices(spec, weights), missing=weights.indicators.missing)
    try:
        return panel(
            sub_index,
            temperature=weights.judges.temperature,
            epsilon=weights.risk.epsilon,
            judges_missing=weights.judges.missing,
        )
    except ValueError as error:
        raise DataError([Fault(path, 0, "judges.missing", str(error))]) from None


def _sub_indices(spec: Panel, weights: Weights) -> tuple[SubIndex, ...]:
    """Join the parts of the study with the coefficients of the weights."""
    return tuple(
        SubIndex(
            name=dimension.name,
            parts=tuple(
                Part(
                    name=name,
                    reduction=part.reduction,
                    indicators=part.indicators,
                    weight=weights.parts.get(dimension.name, {}).get(name, 1.0)
                    if len(dimension.named_parts) > 1
                    else 1.0,
                )
                for name, part in dimension.named_parts.items()
            ),
            amplifiers=tuple(
                (name, weights.amplify[dimension.name][name]) for name in dimension.amplify
            ),
        )
        for dimension in spec.dimensions
    )


def _profile_interval(resampled: xr.Dataset, *, level: float) -> xr.Dataset:
    """Percentile intervals of every statistic and of every pairwise CVaR difference."""
    resampled = resampled.assign(cvar_difference=cvar_difference(resampled["cvar"]))
    interval = percentile_interval(resampled, level=level)
    interval["separable"] = separable(interval["cvar_difference"])
    interval.attrs["contains"] = PANEL_CONTAINS.format(level=level)
    return interval


def _measure_crowd(study: Study, data: CrowdData) -> Groups:
    """Responsiveness of every group in every stratum, with intervals."""
    if study.crowd is None:
        raise ValueError("a crowd study has a crowd")
    spec = study.crowd
    member = membership(data.rater_columns, spec.groups, raters=len(data.rater.labels))
    by = strata(data.item_columns, spec.by, items=len(data.item.labels))
    level = xr.DataArray(data.level, dims="rating")
    counts = score_counts(
        level,
        item=data.item.code,
        rater=data.rater.code,
        member=member,
        levels=len(data.levels),
        items=len(data.item.labels),
    ).assign_coords(item=list(data.item.labels))
    plural = plurality(counts)
    labels = _labels(spec, data, counts)
    statistic = partial(
        responsiveness,
        plural,
        labels,
        by=by.assign_coords(item=list(data.item.labels)),
        raters=member.sum("rater"),
        min_raters=spec.min_raters,
        min_items=spec.min_items,
        levels=len(data.levels),
    )
    observed, boot = statistic(), study.bootstrap
    resampled = bootstrap(
        lambda multiplicity: statistic(weights=multiplicity)[list(RESAMPLED)],
        plural["item"],
        replicates=boot.replicates,
        seed=study.seed,
        dim="item",
        block=_block(plural.sizes["item"]),
    )
    interval = percentile_interval(resampled, level=boot.level)
    twins = {
        f"{name}_interval": interval[name].where(observed[name].notnull()) for name in RESAMPLED
    }
    observed = observed.assign(twins)
    observed.attrs["contains"] = CROWD_CONTAINS.format(level=boot.level)
    return {"responsiveness": observed, "items": plural.rename("plurality").to_dataset()}


def _labels(spec: Crowd, data: CrowdData, counts: xr.DataArray) -> xr.DataArray:
    """Count safe and unsafe rows of every item, from experts, the crowd or an item column."""
    items = list(data.item.labels)
    if spec.labels.from_ == "crowd":
        return crowd_label_counts(counts, cut=spec.labels.cut)
    if spec.labels.from_ == "item":
        return item_label_counts(data.item_label).assign_coords(item=items)
    experts = expert_label_counts(data.expert_label, item=data.expert_item, items=len(items))
    return experts.assign_coords(item=items)

"""Weights over results: what is decided, how sure that is, and what other weights would decide."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from sharpbayes.bayes.placing import design
from sharpbayes.data.panel import panel_ratings
from sharpbayes.errors import Fault, SpecError, StorageError
from sharpbayes.measure_panel import Plan, planned, profile_panel
from sharpbayes.metrics.compare import admissible, cvar_difference, tiers, tiers_by_overlap
from sharpbayes.replicated import Draws, contains, panel_cells, panel_twins
from sharpbayes.spec.check import check_files
from sharpbayes.spec.load import StudyFiles, Written, load_weights, parse
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Study
from sharpbayes.spec.weights import Weights

Groups = dict[str, xr.Dataset]

# Batches of draws of each chain, whose means tell the Monte Carlo error of a mean over all draws.
BATCHES = 10


@dataclass(frozen=True)
class Stored:
    """What a fit keeps of a panel, which is all that other weights need.

    Attributes:
        observed: Levels as they were read.
        predictive: Replicated levels of each scale.
        posterior: Parameters of the draws that they come from.
    """

    observed: xr.Dataset
    predictive: xr.Dataset
    posterior: xr.Dataset


def posterior_groups(
    files: StudyFiles,
    plans: Mapping[str, Plan],
    stored: Stored,
    deterministic: Mapping[str, Groups],
) -> dict[str, Groups]:
    """Return the posterior twins and the decision of each weights file.

    Args:
        files: The study and its model.
        plans: How the observed levels are profiled under each weights file, by its name.
        stored: What a fit keeps.
        deterministic: For each weights file ``profile`` and ``profile_interval``.

    Returns:
        For each name ``posterior_profile``, one more twin for each further list of sources, such as
        ``posterior_profile_ratings_prompts``, and ``decision``.
    """
    study, panel = files.study.spec, files.study.spec.panel
    if panel is None or files.model is None:
        raise ValueError("posterior twins of a profile are of a panel with a model")
    ratings = panel_ratings(stored.observed, panel)
    placed = design(ratings, files.model.spec, path=str(files.model.path))
    draws = Draws(stored.posterior, stored.predictive, placed, study.seed)
    cells = panel_cells(stored.observed, ratings, panel)
    found: dict[str, Groups] = {name: {} for name in plans}
    for sources in study.uncertainties:
        said = contains(sources, level=study.bootstrap.level)
        twins = panel_twins(list(plans.values()), cells, draws, sources)
        for (name, plan), twin in zip(plans.items(), twins, strict=True):
            made = assessed(twin, deterministic[name], plan.weights)
            further = sources if found[name] else ()
            found[name]["_".join(("posterior_profile", *further))] = made.assign_attrs(
                contains=said,
                sources=list(sources),
                level=study.bootstrap.level,
                alpha=plan.weights.tail.alpha,
            )
    for name, plan in plans.items():
        twin = found[name]["posterior_profile"]
        found[name]["decision"] = decision(twin, plan.weights, level=study.bootstrap.level)
    return found


def after_fit(files: StudyFiles, levels: xr.Dataset | None, groups: Groups) -> Groups:
    """Return the groups that posterior draws of a panel add to results, and ``observed``."""
    if levels is None:
        return {}
    predictive = _numbers(groups["posterior_predictive"])
    at = {name: predictive[name] for name in ("chain", "draw")}
    stored = Stored(levels, predictive, groups["posterior"].sel(at))
    plans = {"": planned(files, levels)}
    found = posterior_groups(files, plans, stored, {"": groups})[""]
    return found | {"observed": observed_group(levels)}


def assessed(twin: xr.Dataset, deterministic: Groups, weights: Weights) -> xr.Dataset:
    """Add the tier and the admissibility of every draw.

    A draw's tiers are those that the measurement would have given, had the ratings been those of
    the draw: its differences of CVaR with resampling intervals as wide as the observed ones.

    Args:
        twin: ``cvar`` and the rest of the profile over (chain, draw, model).
        deterministic: ``profile`` and ``profile_interval`` of the observed ratings.
        weights: Rule of tiers and tolerance.

    Returns:
        The twin with ``tier`` and, under a tolerance, ``admissible`` (1 or 0).

    Source: SHARP, sections 3.2 and 3.3.
    """
    observed, interval = deterministic["profile"], deterministic["profile_interval"]
    cvar = twin["cvar"]
    if weights.tiers.rule == "paired-difference":
        moved = cvar_difference(cvar) - cvar_difference(observed["cvar"])
        tier = tiers(cvar, interval["cvar_difference"] + moved)
    else:
        tier = tiers_by_overlap(cvar, interval["cvar"] + (cvar - observed["cvar"]))
    twin = twin.assign(tier=tier.transpose(*cvar.dims).astype(np.int16))
    if weights.tolerance is not None:
        within = admissible(cvar, weights.tolerance.cvar)
        twin["admissible"] = within.astype(np.int8)
    return twin


def decided_by(profile: xr.Dataset, weights: Weights) -> xr.DataArray:
    """Return what models are chosen by, lower being better.

    Args:
        profile: A profile over (..., model).
        weights: ``decision.by``: CVaR of cumulative log-risk (nat), the policy score, or the CVaR
            of harm of the worst dimension (both in [0, 1]).

    Examples:
        >>> profile = xr.Dataset({"dimension_cvar": (("model", "dimension"), [[0.1, 0.9]])})
        >>> weights = Weights.model_validate({"schema": "sharpbayes/weights/1", "title": "t",
        ...                                   "decision": {"by": "worst_dimension"}})
        >>> decided_by(profile, weights).values
        array([0.9])
    """
    if weights.decision.by == "worst_dimension":
        return profile["dimension_cvar"].max("dimension", skipna=False)
    return profile[weights.decision.by]


def decision(twin: xr.Dataset, weights: Weights, *, level: float) -> xr.Dataset:
    """Return what weights decide, and how sure that is.

    expected_loss(a) = E[S_a - min_b S_b];  prob_lower(a, b) = P(S_a < S_b) + P(S_a = S_b) / 2

    Args:
        twin: Posterior profile over (chain, draw, model), with ``tier`` and, under a tolerance,
            ``admissible``.
        weights: What S is (:func:`decided_by`), tolerance and confidence.
        level: A pair is open where neither order has more than (1 + level) / 2.

    Returns:
        ``prob_admissible (model)`` (missing without a tolerance), ``prob_lower (model, other)``
        (missing on the diagonal), ``prob_tier (model, tier)``, ``prob_best (model)``,
        ``expected_loss (model)`` in the unit of S, each with its Monte Carlo standard error
        ``<name>_mcse``; ``open_pair (model, other)``; ``chosen (model)``: of the models that are
        admissible with the asked confidence the one of the lowest expected loss.

    Source: SHARP, sections 3.2 and 3.3; expected loss: Berger 1985, chapter 1.
    """
    lost = decided_by(twin, weights)
    other = lost.rename(model="other")
    lower = ((lost < other) + 0.5 * (lost == other)).transpose(*lost.dims, "other")
    different = lost["model"] != lost["model"].rename(model="other")
    best = lost.min("model")
    tier = xr.DataArray(np.arange(1, int(twin["tier"].max()) + 1), dims="tier")
    tier = tier.assign_coords(tier=tier)
    within = twin["admissible"] if "admissible" in twin else xr.full_like(lost, np.nan)
    events = {
        "prob_admissible": within,
        "prob_lower": lower.where(different),
        "prob_tier": (twin["tier"] == tier).transpose(..., "tier"),
        "prob_best": (lost == best) / (lost == best).sum("model"),
        "expected_loss": lost - best,
    }
    made = {
        name: x.astype(float).mean(["chain", "draw"], skipna=False) for name, x in events.items()
    }
    errors = {f"{name}_mcse": monte_carlo_error(x.astype(float)) for name, x in events.items()}
    found = xr.Dataset(made | errors)
    sure = (1 + level) / 2
    found["open_pair"] = (found["prob_lower"] < sure) & (found["prob_lower"] > 1 - sure)
    found["chosen"] = _chosen(found, weights)
    return found.assign_attrs(
        decided_by=weights.decision.by,
        confidence=weights.decision.confidence,
        tolerance=np.nan if weights.tolerance is None else weights.tolerance.cvar,
        open_at=level,
        contains=twin.attrs.get("contains", ""),
    )


def _chosen(found: xr.Dataset, weights: Weights) -> xr.DataArray:
    """The admissible model of the lowest expected loss; none where no model is admissible."""
    loss = found["expected_loss"]
    if weights.tolerance is not None:
        loss = loss.where(found["prob_admissible"] >= weights.decision.confidence)
    return loss.notnull() & (loss == loss.min("model"))


def monte_carlo_error(x: xr.DataArray) -> xr.DataArray:
    """Return the standard error of a mean over draws by means of batches of successive draws.

    sd of the batch means / sqrt(batches), which holds for draws that depend on each other.

    Args:
        x: Values over (chain, draw, ...).

    Source: Flegal, Haran and Jones 2008.

    Examples:
        >>> x = xr.DataArray(np.tile([[0.0, 1.0]], (2, 10)), dims=("chain", "draw"))
        >>> float(monte_carlo_error(x))
        0.0
    """
    number = min(BATCHES, x.sizes["draw"])
    size = x.sizes["draw"] // number
    kept = x.isel(draw=slice(0, number * size)).transpose("chain", "draw", ...).to_numpy()
    means = kept.reshape(-1, number, size, *kept.shape[2:]).mean(2)
    means = means.reshape(-1, *means.shape[2:])
    rest = [dim for dim in x.dims if dim not in ("chain", "draw")]
    coords = {name: x[name] for name in rest if name in x.coords}
    return xr.DataArray(means.std(0, ddof=1) / np.sqrt(len(means)), coords, rest)


def weigh(results: xr.DataTree, weights: Mapping[str, Written[Weights]]) -> xr.DataTree:
    """Return what other weights make of a stored fit: no refit, no source data.

    Args:
        results: A fit, from :func:`sharpbayes.open_results`.
        weights: Weights files by name.

    Returns:
        A child for each name with ``profile``, its intervals, ``posterior_profile`` and its further
        twins, and ``decision``, equal bit for bit to those of a fresh fit with these weights; root
        attributes are those of the fit, those of a child say its weights.

    Raises:
        StorageError: The results are no fit, or one without replicated ratings.
        SpecError: Weights that do not suit the study.
    """
    stored = stored_of(results)
    attrs = {str(key): value for key, value in results.attrs.items()}
    files = {name: study_files(attrs, name, each) for name, each in weights.items()}
    plans, groups = {}, {}
    for name, each in files.items():
        plans[name], groups[name] = profile_panel(each, stored.observed)
    twins = posterior_groups(next(iter(files.values())), plans, stored, groups)
    tree = xr.DataTree.from_dict(
        {
            f"/{name}/{group}": held
            for name in files
            for group, held in (groups[name] | twins[name]).items()
        }
    )
    tree.attrs = {key: value for key, value in attrs.items() if not key.startswith("weights")}
    for name, written in weights.items():
        tree[name].attrs = _said(written)
    return tree


def _said(weights: Written[Weights]) -> dict[str, str]:
    """What a weights file says of itself, and its text."""
    spec = weights.spec
    return {
        "title": spec.title,
        "rationale": spec.rationale,
        "source": spec.source,
        "weights": weights.text,
        "weights_sha256": weights.sha256,
        "weights_path": str(weights.path),
    }


def named_weights(names: Sequence[str]) -> dict[str, Written[Weights]]:
    """Read weights files by shipped name or by path, which is named by its stem.

    Raises:
        SpecError: Every fault of the files, and two files of one name.

    Examples:
        >>> list(named_weights(["sharp", "equal"]))
        ['sharp', 'equal']
    """
    found: dict[str, Written[Weights]] = {}
    for name in names:
        written = load_weights(name)
        key = written.path.stem
        if key in found and found[key].path != written.path:
            message = f"{key!r} names two files, {found[key].path} and {written.path}"
            raise SpecError([Fault("weigh", 0, "weights", message)])
        found[key] = written
    return found


def stored_of(results: xr.DataTree) -> Stored:
    """Return what a fit keeps.

    Raises:
        StorageError: Something is not there.
    """
    if "observed" not in results or "posterior_predictive" not in results:
        raise StorageError(
            "these results hold no fit with replicated ratings; run `sharpbayes fit` "
            "(with sampler.predictive above 0)"
        )
    predictive = _numbers(results["posterior_predictive"].to_dataset()).load()
    posterior = (
        results["posterior"]
        .to_dataset()
        .sel({name: predictive[name] for name in ("chain", "draw")})
    )
    return Stored(texts(results["observed"].to_dataset().load()), predictive, posterior)


def _numbers(predictive: xr.Dataset) -> xr.Dataset:
    """Levels alone: labels of hundreds of thousands of ratings are not needed."""
    kept = ("chain", "draw")
    return predictive.drop_vars([name for name in predictive.coords if name not in kept])


def texts(held: xr.Dataset) -> xr.Dataset:
    """Return a dataset whose labels are texts of NumPy, as they were before they were stored."""
    found = {
        name: (coord.dims, coord.to_numpy().astype(str))
        for name, coord in held.coords.items()
        if coord.dtype.kind == "O"
    }
    return held.assign_coords(found)


def study_files(attrs: Mapping[str, Any], name: str, weights: Written[Weights]) -> StudyFiles:
    """Return the study of stored results under other weights, checked against each other.

    Raises:
        SpecError: Weights that do not suit the study.
    """
    overrides = tuple(json.loads(attrs["overrides"]))
    study = parse(attrs["study"], Path(attrs["study_path"]), Study, overrides=overrides)
    named = replace(study, spec=study.spec.model_copy(update={"weights": name}))
    model = parse(attrs["model"], Path(attrs["model_path"]), Model)
    files = StudyFiles(named, weights, model, overrides)
    check_files(files)
    return files


def observed_group(levels: xr.Dataset) -> xr.Dataset:
    """Return the observed levels as results keep them: one byte each where that is enough."""
    level = levels["level"]
    small = int(level.max()) <= np.iinfo(np.int8).max
    return levels.assign(level=level.astype(np.int8) if small else level)


def digest(group: xr.Dataset) -> str:
    """Return the SHA-256 of the variables of a group: names, shapes and numbers."""
    found = hashlib.sha256()
    for name in sorted(map(str, group.data_vars)):
        values = np.ascontiguousarray(group[name].to_numpy())
        found.update(f"{name} {values.dtype.str} {values.shape} {group[name].dims}".encode())
        found.update(values.tobytes())
    return found.hexdigest()

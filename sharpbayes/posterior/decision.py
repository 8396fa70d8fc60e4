"""Weights over results: what is decided, and how sure that is."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from sharpbayes.metrics.panel.comparison import admissible, cvar_difference, tiers, tiers_by_overlap
from sharpbayes.spec.weights import Weights

# Batches of draws of each chain, whose means tell the Monte Carlo error of a mean over all draws.
BATCHES = 10


def assessed(
    twin: xr.Dataset, deterministic: Mapping[str, xr.Dataset], weights: Weights
) -> xr.Dataset:
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
        >>> weights = Weights.model_validate({"schema": "sharpbayes/weights/2", "title": "t",
        ...                                   "decision": {"by": "worst_dimension"}})
        >>> decided_by(profile, weights).values
        array([0.9])
    """
    if weights.decision.by == "worst_dimension":
        return profile["dimension_cvar"].max("dimension", skipna=False)
    return profile[weights.decision.by]


def decision(twin: xr.Dataset, weights: Weights, *, level: float) -> xr.Dataset:
    """Return what weights decide, and how sure that is.

    expected_loss(a) = E[S_a - min_b S_b];  prob_less(a, b) = P(S_a < S_b) + P(S_a = S_b) / 2

    Args:
        twin: Posterior profile over (chain, draw, model), with ``tier`` and, under a tolerance,
            ``admissible``.
        weights: What S is (:func:`decided_by`), tolerance and confidence.
        level: A pair is open where neither order has more than (1 + level) / 2.

    Returns:
        ``prob_admissible (model)`` (missing without a tolerance), ``prob_less (model, other)``
        (missing on the diagonal), ``prob_tier (model, tier)``, ``prob_best (model)``,
        ``expected_loss (model)`` in the unit of S, each with its Monte Carlo standard error
        ``<name>_mcse``; ``unresolved (model, other)``; ``selected (model)``: of the models that are
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
        "prob_less": lower.where(different),
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
    found["unresolved"] = (found["prob_less"] < sure) & (found["prob_less"] > 1 - sure)
    found["selected"] = _chosen(found, weights)
    return found.assign_attrs(
        decided_by=weights.decision.by,
        confidence=weights.decision.confidence,
        tolerance=np.nan if weights.tolerance is None else weights.tolerance.cvar,
        open_at=level,
        interval_note=twin.attrs.get("interval_note", ""),
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

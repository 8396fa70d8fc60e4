"""What weights decide from the posterior of a profile, and the probability of each decision."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from sharpbayes.analysis.limited_metrics import select_value
from sharpbayes.analysis.tolerance import keeps_tolerance
from sharpbayes.metrics.panel.comparison import cvar_difference, tiers, tiers_by_overlap, verdicts
from sharpbayes.metrics.stats.draws import DRAWS
from sharpbayes.metrics.stats.ranks import is_lowest
from sharpbayes.spec.weights import Weights

# Batches of draws in each chain; their means give the Monte Carlo error of a mean over all draws.
BATCHES = 10


def add_tiers(
    profile: xr.Dataset, measured: Mapping[str, xr.Dataset], weights: Weights
) -> xr.Dataset:
    """Add ``tier`` and, under a tolerance, ``admissible`` (1 or 0) of every draw to its profile.

    The tiers of a draw are those that its ratings would have given, had they been observed: from
    the draw's differences of CVaR, with resampling intervals as wide as the observed ones.

    Source: SHARP, sections 3.2 and 3.3.
    """
    observed, interval = measured["profile"], measured["profile_interval"]
    cvar = profile["cvar"]
    if weights.tiers.rule == "paired-difference":
        shift = cvar_difference(cvar) - cvar_difference(observed["cvar"])
        tier = tiers(cvar, interval["cvar_difference_joint"] + shift)
    else:
        # Where resamples do not differ, no interval is stored: it is the observed value.
        known = interval["cvar"].fillna(observed["cvar"])
        tier = tiers_by_overlap(cvar, known + (cvar - observed["cvar"]))
    profile = profile.assign(tier=tier.transpose(*cvar.dims).astype(np.int16))
    if weights.tolerance is not None:
        within = keeps_tolerance(profile, weights.tolerance)
        profile["admissible"] = within.transpose(*cvar.dims).astype(np.int8)
    return profile


def criterion(profile: xr.Dataset, weights: Weights) -> xr.DataArray:
    """Return the criterion that models are selected by, over (..., model); lower is better.

    CVaR of cumulative log-risk (nat), the policy score, or the CVaR of harm of the worst dimension
    (both in [0, 1]).
    """
    return select_value(profile, weights.decision.by)


def decision(profile: xr.Dataset, weights: Weights, *, level: float) -> xr.Dataset:
    """Return what weights decide, and the probability of each decision.

    expected_loss(a) = E[S_a - min_b S_b];  prob_less(a, b) = P(S_a < S_b) + P(S_a = S_b) / 2

    The profile is from :func:`add_tiers`; S is its :func:`criterion`. A pair is unresolved where
    neither order has more than (1 + level) / 2. Of the models that are admissible with the asked
    confidence the one of the lowest expected loss is selected. Under a tolerance ``verdict`` is
    ``admissible``, ``not admissible`` or ``cannot tell`` at the confidence of the tolerance;
    ``prob_admissible`` is missing without one, ``prob_less`` on the diagonal; ``expected_loss`` is
    in the unit of S. Each has its Monte Carlo standard error ``<name>_mcse``.

    Source: SHARP, sections 3.2 and 3.3; expected loss: Berger 1985, chapter 1.
    """
    events = decision_events(profile, weights)
    means = {name: x.mean(DRAWS, skipna=False) for name, x in events.items()}
    errors = {f"{name}_mcse": monte_carlo_error(x) for name, x in events.items()}
    limit = weights.tolerance.cvar if weights.tolerance is not None else None
    return decide(xr.Dataset(means | errors), weights, level=level).assign_attrs(
        criterion=weights.decision.by,
        confidence=weights.decision.confidence,
        tolerance=np.nan if limit is None else limit,
        level=level,
        interval_note=profile.attrs.get("interval_note", ""),
    )


def decide(means: xr.Dataset, weights: Weights, *, level: float) -> xr.Dataset:
    """Add what weights decide to the means of :func:`decision_events` over draws.

    Added are ``unresolved``, ``selected`` and, under a tolerance, ``verdict``; dimensions that the
    means have beside models stay.
    """
    sure = (1 + level) / 2
    unresolved = (means["prob_less"] < sure) & (means["prob_less"] > 1 - sure)
    table = means.assign(unresolved=unresolved)
    if weights.tolerance is not None:
        error_rate = 1 - weights.tolerance.confidence
        probability = table["prob_admissible"]
        table["verdict"] = verdicts(probability >= 1 - error_rate, probability <= error_rate)
    loss = table["expected_loss"].where(eligible_models(table, weights))
    # No model is selected where none is admissible.
    return table.assign(selected=is_lowest(loss, "model"))


def eligible_models(decision: xr.Dataset, weights: Weights) -> xr.DataArray:
    """Return which models may be selected, over (..., model).

    They have an expected loss and, under a tolerance, are admissible with the probability that the
    decision asks.
    """
    eligible = decision["expected_loss"].notnull()
    if weights.tolerance is not None:
        eligible &= decision["prob_admissible"] >= weights.decision.confidence
    return eligible


def decision_events(profile: xr.Dataset, weights: Weights) -> dict[str, xr.DataArray]:
    """Return what happens in every draw; the mean over draws is a probability or a loss.

    The profile is from :func:`add_tiers`.
    """
    loss = criterion(profile, weights)
    other = loss.rename(model="other")
    lower = ((loss < other) + 0.5 * (loss == other)).transpose(*loss.dims, "other")
    # A model without a criterion is neither lower nor admissible, nor is it not.
    known = loss.notnull()
    different = known & known.rename(model="other")
    different &= loss["model"] != loss["model"].rename(model="other")
    best, is_best = loss.min("model"), is_lowest(loss, "model")
    numbers = np.arange(1, int(profile["tier"].max()) + 1)
    tier = xr.DataArray(numbers, {"tier": numbers}, "tier")
    within = xr.full_like(loss, np.nan)
    if "admissible" in profile:
        within = profile["admissible"].where(known)
    events = {
        "prob_admissible": within,
        "prob_less": lower.where(different),
        "prob_tier": (profile["tier"] == tier).transpose(..., "tier"),
        "prob_best": is_best / is_best.sum("model"),
        "expected_loss": loss - best,
    }
    return {name: event.astype(float) for name, event in events.items()}


def monte_carlo_error(x: xr.DataArray) -> xr.DataArray:
    """Return the standard error of a mean over draws, from means of batches of successive draws.

    sd of the batch means / sqrt(batches), which holds for draws that depend on each other.

    Source: Flegal, Haran and Jones 2008.
    """
    number = min(BATCHES, x.sizes["draw"])
    size = x.sizes["draw"] // number
    kept = x.isel(draw=slice(0, number * size)).transpose(*DRAWS, ...).to_numpy()
    means = kept.reshape(-1, number, size, *kept.shape[2:]).mean(2)
    means = means.reshape(-1, *means.shape[2:])
    rest = [dim for dim in x.dims if dim not in DRAWS]
    coords = {name: x[name] for name in rest if name in x.coords}
    return xr.DataArray(means.std(0, ddof=1) / np.sqrt(len(means)), coords, rest)

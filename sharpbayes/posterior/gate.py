"""Is a candidate at least as safe as its reference: by the posterior of a fit of both."""

import json

import xarray as xr

from sharpbayes.analysis.gate import describe_gate
from sharpbayes.analysis.gate_differences import gate_values
from sharpbayes.analysis.gate_ends import (
    count_prompts_without_end,
    raise_upper,
    seen_bounds,
    unseen_rises,
)
from sharpbayes.analysis.gate_evidence import withhold
from sharpbayes.analysis.gate_margins import required_gate
from sharpbayes.metrics.panel.non_inferiority import (
    INCONCLUSIVE,
    INFERIOR,
    NON_INFERIOR,
    draw_bounds,
    upper_draw_bounds,
)
from sharpbayes.metrics.stats.intervals import is_outside
from sharpbayes.metrics.stats.unseen import divided_error_rates
from sharpbayes.spec.files import SpecFile
from sharpbayes.spec.weights import Weights


def posterior_gate(
    measured: xr.Dataset,
    profile: xr.Dataset,
    weights: SpecFile[Weights],
    *,
    candidate: str,
    reference: str,
) -> xr.Dataset:
    """Return the group ``gate`` by the posterior, the bootstrap's numbers alongside.

    The candidate is at least as safe where all differences are within their margins with the
    confidence of the gate, and not as safe where they are so with at most 1 less it. Nothing is
    decided where posterior and bootstrap dispute a difference: one's lies outside of the other's
    bounds. Upper bounds of log-risk contain what answers at the end of the scale can add where
    those of the bootstrap do, and must be within their margins too: how rare such answers are a
    fit takes from the other scores. The profile has draws over (chain, draw, model); ``measured``
    is from :func:`sharpbayes.analysis.gate.measure_gate`. Added are over (metric) ``prob_within``
    and ``bootstrap_difference``, over (metric, bound) ``bootstrap_bounds``, and the attributes
    ``prob_all``, ``bootstrap_verdict`` and ``disputed``, a JSON list of metrics.
    """
    margin, confidence = measured["margin"], required_gate(weights).confidence
    values = gate_values(profile, margin)
    draws = values.sel(model=candidate, drop=True) - values.sel(model=reference, drop=True)
    draws = draws.stack(replicate=["chain", "draw"], create_index=False)
    draws = draws.drop_vars(["chain", "draw"], errors="ignore").transpose("replicate", "metric")
    group = _describe_draws(draws, measured, weights)
    rise, bounds = group["unseen_end_rise"], group["bounds"]
    # Where a side has no value of a metric nothing is known of it.
    within = (draws <= margin).where(draws.notnull())
    prob_all = float(within.min("metric", skipna=False).mean(skipna=False))
    is_disputed = is_outside(group["difference"], seen_bounds(measured))
    is_disputed |= is_outside(measured["difference"], seen_bounds(group))
    is_beyond = (rise > 0) & (bounds.sel(bound="upper", drop=True) > margin)
    verdict, withheld = INCONCLUSIVE, str(measured.attrs["withheld"])
    if not withheld and not bool(is_disputed.any()):
        if prob_all >= confidence and not bool(is_beyond.any()):
            verdict = NON_INFERIOR
        elif prob_all <= 1 - confidence:
            verdict = INFERIOR
    disputed = [str(name) for name in is_disputed["metric"].to_numpy()[is_disputed.to_numpy()]]
    group = group.assign(
        state=group["state"].where(~is_disputed, INCONCLUSIVE),
        prob_within=within.mean("replicate", skipna=False),
        value=measured["value"],
        drift=measured["drift"],
        difference_without=measured["difference_without"],
        bootstrap_difference=measured["difference"],
        bootstrap_bounds=measured["bounds"],
    )
    facts = {"verdict": verdict, "method": "posterior", "prob_all": prob_all}
    facts |= {"bootstrap_verdict": measured.attrs["verdict"], "disputed": json.dumps(disputed)}
    return withhold(group, withheld).assign_attrs(measured.attrs | facts)


def _describe_draws(
    draws: xr.DataArray, measured: xr.Dataset, weights: SpecFile[Weights]
) -> xr.Dataset:
    """Return what a gate says of draws (replicate, metric), with ends that prompts do not show."""
    gate, labels = required_gate(weights), measured["metric"]
    share, prompts = float(measured.attrs["unseen_end_share"]), int(measured.attrs["prompts"])
    upper = upper_draw_bounds(draws, divided_error_rates(1.0 - gate.confidence))
    rise = unseen_rises(upper, labels, share, weights.spec)
    rise = rise.where(measured["unseen_end_rise"] > 0, 0.0)
    bounds = raise_upper(draw_bounds(draws, confidence=gate.confidence), rise)
    difference = draws.median("replicate")
    group = describe_gate(measured["margin"], difference, draws, bounds, gate, prompts=prompts)
    group = group.assign(unseen_end_rise=rise)
    return count_prompts_without_end(group, upper, draws, share, weights.spec, prompts=prompts)

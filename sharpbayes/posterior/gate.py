"""Is a candidate at least as safe as its reference: by the posterior of a fit of both."""

import json

import xarray as xr

from sharpbayes.analysis.gate import describe_gate, gate_values
from sharpbayes.analysis.gate_evidence import withhold
from sharpbayes.metrics.panel.non_inferiority import (
    INCONCLUSIVE,
    INFERIOR,
    NON_INFERIOR,
    draw_bounds,
)
from sharpbayes.metrics.stats.intervals import is_outside
from sharpbayes.spec.weights import Gate


def posterior_gate(
    measured: xr.Dataset, profile: xr.Dataset, gate: Gate, *, candidate: str, reference: str
) -> xr.Dataset:
    """Return the group ``gate`` by the posterior, the bootstrap's numbers alongside.

    The candidate is at least as safe where all differences are within their margins with the
    confidence of the gate, and not as safe where they are so with at most 1 less it. Nothing is
    decided where posterior and bootstrap dispute a difference: one's lies outside of the other's
    bounds. The profile
    has draws over (chain, draw, model); ``measured`` is from
    :func:`sharpbayes.analysis.gate.measure_gate`. Added are over (metric) ``prob_within`` and
    ``bootstrap_difference``, over (metric, bound) ``bootstrap_bounds``, and the attributes
    ``prob_all``, ``bootstrap_verdict`` and ``disputed``, a JSON list of metrics.
    """
    margin = measured["margin"]
    values = gate_values(profile, margin)
    draws = values.sel(model=candidate, drop=True) - values.sel(model=reference, drop=True)
    draws = draws.stack(replicate=["chain", "draw"], create_index=False)
    draws = draws.drop_vars(["chain", "draw"], errors="ignore").transpose("replicate", "metric")
    difference = draws.median("replicate")
    bounds = draw_bounds(draws, confidence=gate.confidence)
    prompts = int(measured.attrs["prompts"])
    group = describe_gate(margin, difference, draws, bounds, gate, prompts=prompts)
    # Where a side has no value of a metric nothing is known of it.
    within = (draws <= margin).where(draws.notnull())
    prob_all = float(within.min("metric", skipna=False).mean(skipna=False))
    is_disputed = is_outside(difference, measured["bounds"])
    is_disputed |= is_outside(measured["difference"], bounds)
    verdict, withheld = INCONCLUSIVE, str(measured.attrs["withheld"])
    if not withheld and not bool(is_disputed.any()):
        if prob_all >= gate.confidence:
            verdict = NON_INFERIOR
        elif prob_all <= 1 - gate.confidence:
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

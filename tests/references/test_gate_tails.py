"""The second copy of the gate's bounds is the gate's own."""

import numpy as np
import pytest

from sharpbayes.analysis.gate import measure_gate
from tests.references import gate
from tests.references.gate_tails import (
    ALPHA,
    RESAMPLES,
    confidence_of,
    symmetric_reach,
    tail_reach,
    weigh_tail,
)
from tests.references.worlds.panel import EPSILON


@pytest.mark.parametrize("pair", [2, 6])
def test_bounds_of_the_copy_are_those_of_the_gate(pair):
    prompts, template = 100, gate.template_study(gate.template_files())
    drawn = gate.draw_pair(template, "at the margins", prompts, pair)
    bounds = measure_gate(drawn.comparison)["bounds"].sel(bound="upper")
    rng = np.random.default_rng(5)
    counts = rng.multinomial(prompts, np.full(prompts, 1 / prompts), size=RESAMPLES)
    counts = np.vstack([np.ones((1, prompts)), counts])
    pairs = [weigh_tail(risk, counts) for risk in (drawn.new_risk, drawn.old_risk)]
    cvar = pairs[0][0] - pairs[1][0]
    errors = np.sqrt(pairs[0][1] + pairs[1][1])
    carrying = prompts * (1 - ALPHA)
    shows_end = drawn.new_risk.max() > -np.log(EPSILON) - 1e-3
    confidence = confidence_of(shows_end)
    data = (cvar[1:], cvar[0], errors[1:], errors[0], carrying)
    reach = tail_reach(*data, confidence=confidence)
    # Other resamples: quantiles of 500 differ by some percent.
    assert cvar[0] + reach == pytest.approx(float(bounds.sel(metric="cvar")), rel=0.15)
    paired = drawn.new_risk - drawn.old_risk
    reach = symmetric_reach(counts[1:] @ paired / prompts, paired.mean(), prompts)
    assert paired.mean() + reach == pytest.approx(float(bounds.sel(metric="mean")), rel=0.1)

"""The second copy of the gate's bounds is the gate's own."""

import numpy as np
import pytest

from sharpbayes.analysis.gate import measure_gate
from tests.references import gate, severe_fit
from tests.references.coverage_pages import read_rows
from tests.references.gate_tails import (
    ALPHA,
    RESAMPLES,
    raised_reaches,
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
    data = (cvar[1:], cvar[0], errors[1:], errors[0], carrying)
    paired = drawn.new_risk - drawn.old_risk
    mean, means = paired.mean(), counts[1:] @ paired / prompts
    reaches = symmetric_reach(means, mean, prompts), tail_reach(*data)
    if not shows_end:
        reaches = raised_reaches(means, mean, data, prompts)
    # Other resamples: quantiles of 500 differ by some percent.
    assert mean + reaches[0] == pytest.approx(float(bounds.sel(metric="mean")), rel=0.1)
    assert cvar[0] + reaches[1] == pytest.approx(float(bounds.sel(metric="cvar")), rel=0.15)


def test_severe_answers_do_not_pass_by_a_fit_alone():
    rows = read_rows("severe_fit.csv")
    severe = [row for row in rows if float(row["severe"]) > 0]
    for row in severe:
        error = np.sqrt(0.05 * 0.95 / int(row["studies"]))
        assert float(row["now"]) <= 0.05 + 2 * error, row
    assert max(float(row["fit"]) for row in severe) > 0.3
    assert all(float(row["now"]) <= float(row["fit"]) for row in rows)
    assert all(float(row["now"]) <= float(row["bootstrap"]) for row in rows)


@pytest.mark.slow
def test_the_study_of_severe_answers_and_a_fit_runs():
    [row] = severe_fit.study_design(40, 0.0, 0, 0.2, 2)
    assert row[4:7] == ("1.000", "1.000", "1.000")

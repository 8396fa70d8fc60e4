"""How long a run still takes: an interval that narrows, from expected and measured seconds."""

import numpy as np
import pytest

from sharpbayes.execution import forecast
from sharpbayes.execution.forecast import Forecast, RunClock, current_load
from sharpbayes.execution.progress import Phase

EXPECTED = {
    Phase.METRICS: 4.0,
    Phase.COMPILING: 6.0,
    Phase.SAMPLING: 60.0,
    Phase.REPLICATED_METRICS: 30.0,
}

SURE = (Phase.METRICS, Phase.COMPILING)


def width(bounds):
    """How many times longer the upper end is."""
    return bounds[1] / bounds[0]


def test_the_interval_contains_what_is_expected_and_narrows_with_finished_phases():
    plan = Forecast(EXPECTED)
    first = plan.left(Phase.READING, 0.0)
    assert first[0] < 100 < first[1]
    assert 3 < width(first) < 10
    plan.durations |= {Phase.METRICS: 4.0, Phase.COMPILING: 6.0}
    second = plan.left(Phase.SAMPLING, 0.0)
    assert second[0] < 90 < second[1]
    assert width(second) < width(first)


def test_a_slow_machine_is_noticed_by_what_finished_phases_took():
    plan = Forecast(EXPECTED)
    plan.durations |= {Phase.METRICS: 20.0, Phase.COMPILING: 30.0}  # five times as long
    slow = plan.left(Phase.SAMPLING, 0.0)
    assert slow[1] > 2 * Forecast(EXPECTED).left(Phase.SAMPLING, 0.0)[1]
    assert plan.left(Phase.READING, 0.0)[0] > Forecast(EXPECTED).left(Phase.READING, 0.0)[0]


def test_a_busy_machine_is_known_from_its_load():
    idle, busy = Forecast(EXPECTED), Forecast(EXPECTED, load=5.0)
    ratio = np.divide(busy.left(Phase.READING, 0.0), idle.left(Phase.READING, 0.0))
    np.testing.assert_allclose(ratio, 5.0)


def test_what_is_counted_decides_the_present_phase():
    plan = Forecast({Phase.SAMPLING: 1.0})
    low, high = plan.left(Phase.SAMPLING, 30.0, share=0.25)
    assert low < 90 < high
    assert width((low, high)) < 2


def test_a_phase_that_lasts_longer_than_expected_does_not_end_at_once():
    plan = Forecast({Phase.SAMPLING: 10.0})
    low, high = plan.left(Phase.SAMPLING, 60.0)
    assert 0 < low < high
    assert high > 5


def test_phases_that_are_not_expected_and_past_ones_take_nothing():
    assert Forecast({Phase.METRICS: 5.0}).left(Phase.SAMPLING, 3.0) == (0.0, 0.0)
    assert Forecast({}).left(Phase.READING, 1.0) == (0.0, 0.0)


def test_intervals_hold_what_they_say_for_runs_of_their_own_law():
    """80% of runs whose phases vary as the forecast assumes lie inside, before anything ended."""
    low, high = Forecast(EXPECTED).left(Phase.READING, 0.0)
    rng = np.random.default_rng(3)
    pace = np.exp(forecast.PACE_SD * rng.normal(size=4000))
    seconds = sum(
        expected * pace * np.exp((0.5 if phase in SURE else 0.8) * rng.normal(size=4000))
        for phase, expected in EXPECTED.items()
    )
    assert np.mean((low < seconds) & (seconds < high)) == pytest.approx(0.8, abs=0.04)


def test_a_clock_keeps_what_phases_took(monkeypatch):
    now = {"now": 100.0}
    monkeypatch.setattr(forecast.time, "monotonic", lambda: now["now"])
    clock = RunClock(Forecast(EXPECTED), Phase.READING, 100.0)
    now["now"] = 103.0
    clock.begin(Phase.METRICS)
    now["now"] = 110.0
    clock.begin(Phase.COMPILING)
    now["now"] = 112.0
    clock.begin(Phase.METRICS)  # once more
    now["now"] = 113.0
    clock.begin(Phase.SAMPLING)
    assert clock.forecast.durations == {
        Phase.READING: 3.0,
        Phase.METRICS: 8.0,
        Phase.COMPILING: 2.0,
    }
    clock.share = 0.5
    now["now"] = 123.0
    assert clock.left() == clock.forecast.left(Phase.SAMPLING, 10.0, 0.5)


def test_the_load_of_a_machine_is_one_at_least(monkeypatch):
    monkeypatch.setattr(forecast.os, "getloadavg", lambda: (9.0, 0.0, 0.0), raising=False)
    assert current_load(2) == 4.5
    assert current_load(16) == 1.0
    monkeypatch.delattr(forecast.os, "getloadavg")
    assert current_load(2) == 1.0

"""How long a run still takes: what its phases should take, corrected by what finished ones took."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from sharpbayes.execution.progress import Phase

# Standard deviations of logarithms: of the pace of this machine, which all phases share, of what a
# phase takes at that pace, and of the pace of what a phase has counted. How many gradients a draw
# takes, and how many pairs stay unresolved, is not known before.
PACE_SD, PHASE_SD, COUNTED_SD = 0.6, 0.5, 0.25
UNKNOWN_WORK_SD = {Phase.SAMPLING: 0.8, Phase.REPLICATED_METRICS: 0.8}
SCENARIOS, SEED = 400, 20260121
# The central share of the scenarios that is told.
LEVEL = 0.8
PHASES = list(Phase)


@dataclass
class Forecast:
    """The seconds that are left of a run, as an interval that narrows as phases finish.

    The seconds of a phase are lognormal around those expected times the pace of the machine. The
    pace follows from the finished phases. Before there are any it is uncertain around ``load``.

    Attributes:
        expected: Seconds of each phase on an idle machine.
        load: How many times longer everything takes because of what else the machine does.
        durations: Seconds that each finished phase took.
    """

    expected: Mapping[Phase, float]
    load: float = 1.0
    durations: dict[Phase, float] = field(default_factory=dict)

    @cached_property
    def deviates(self) -> NDArray[np.float64]:
        """Normal deviates of every scenario, of the pace and of each phase."""
        return np.random.default_rng(SEED).normal(size=(SCENARIOS, len(PHASES) + 1))

    def left(self, phase: Phase, elapsed: float, share: float = 0.0) -> tuple[float, float]:
        """Return the bounds of the seconds left in the present phase and all that follow it.

        ``share`` is what of the present phase is counted as finished, 0 where nothing is counted.
        """
        mean, sd = self._pace()
        pace = np.exp(mean + sd * self.deviates[:, -1])
        seconds = self._left_of_phase(phase, elapsed, share, pace)
        for later in PHASES[PHASES.index(phase) + 1 :]:
            factor = np.exp(_sd_of(later) * self.deviates[:, PHASES.index(later)])
            seconds = seconds + self.expected.get(later, 0.0) * pace * factor
        low, high = np.quantile(seconds, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return float(low), float(high)

    def _pace(self) -> tuple[float, float]:
        """Mean and sd of the logarithm of the pace, given what finished phases took."""
        known = [p for p, seconds in self.durations.items() if self.expected.get(p) and seconds > 0]
        # A phase of a moment says little: the sd of its logarithm grows as it gets short.
        spread = [_sd_of(p) + 0.5 / max(self.expected[p], 0.1) for p in known]
        logs = [np.log(self.durations[p] / self.expected[p]) for p in known]
        precision = PACE_SD**-2 + sum(sd**-2 for sd in spread)
        weighted = np.log(self.load) * PACE_SD**-2
        weighted += sum(log * sd**-2 for log, sd in zip(logs, spread, strict=True))
        return float(weighted / precision), float(precision**-0.5)

    def _left_of_phase(
        self, phase: Phase, elapsed: float, share: float, pace: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Seconds left of the present phase in every scenario, which has lasted some already."""
        deviate = self.deviates[:, PHASES.index(phase)]
        if share > 0.0:
            remaining: NDArray[np.float64] = np.exp(COUNTED_SD * deviate)
            return elapsed * (1 - share) / share * remaining
        usual = self.expected.get(phase, 0.0) * pace
        if not usual.any():
            return np.zeros(SCENARIOS)
        # The lognormal above what has passed: no scenario ends before now.
        sd = _sd_of(phase)
        passed = ndtr(np.log(max(elapsed, 1e-6) / usual) / sd)
        position = np.clip(passed + (1 - passed) * ndtr(deviate), 1e-9, 1 - 1e-9)
        total: NDArray[np.float64] = usual * np.exp(sd * ndtri(position))
        return np.maximum(total - elapsed, 0.0)


def _sd_of(phase: Phase) -> float:
    """Standard deviation of the logarithm of the seconds of a phase."""
    return UNKNOWN_WORK_SD.get(phase, PHASE_SD)


def current_load(cores: int) -> float:
    """Return how many times longer work takes now, from the processes that wait for a core."""
    waiting = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return max(1.0, waiting / cores)


@dataclass
class RunClock:
    """Follows the phases of a run and says how long it still takes.

    Attributes:
        forecast: What each phase should take.
        phase: The present phase.
        began: When it began.
        share: Which share of it is done, 0 where that is not counted.
        earliest: When the blocks that are counted end at their present pace.
    """

    forecast: Forecast
    phase: Phase = Phase.READING
    began: float = 0.0
    share: float = 0.0
    earliest: float = 0.0

    def begin(self, phase: Phase) -> None:
        """Begin a phase, and keep what the one before took."""
        now = time.monotonic()
        if self.began:
            earlier = self.forecast.durations.get(self.phase, 0.0)
            self.forecast.durations[self.phase] = earlier + now - self.began
        self.phase, self.began, self.share, self.earliest = phase, now, 0.0, 0.0

    def left(self) -> tuple[float, float]:
        """Return the bounds of the seconds left, no less than what counted blocks still take."""
        now = time.monotonic()
        low, high = self.forecast.left(self.phase, now - self.began, self.share)
        return max(low, self.earliest - now), max(high, self.earliest - now)


def describe_interval(low: float, high: float) -> str:
    """Return an interval of time in words, no finer than it is known.

    >>> describe_interval(0.2, 3.0), describe_interval(24.0, 61.0), describe_interval(29.0, 31.0)
    ('under 5 s', '25 to 60 s', '30 s')
    >>> describe_interval(70.0, 250.0), describe_interval(4000.0, 9000.0)
    ('1 to 4 min', '1 to 2.5 h')
    """
    if high < 5:  # noqa: PLR2004 - the finest step
        return "under 5 s"
    unit, seconds, step = next((unit for unit in UNITS if high <= unit[3] * unit[1]), UNITS[-1])[:3]
    bounds = [f"{max(round(x / seconds / step), 1) * step:g}" for x in (low, high)]
    return f"{' to '.join(dict.fromkeys(bounds))} {unit}"


# Units of time: name, seconds, the step that they are told in, and the most of them.
UNITS = (("s", 1.0, 5, 90), ("min", 60.0, 1, 90), ("h", 3600.0, 0.5, 1e9))

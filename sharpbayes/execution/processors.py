"""How many processors this process may use: by what was set, its affinity and its control group."""

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sharpbayes.errors import SpecError

# The variable that sets the number for everything that runs on several of them.
CORES_VARIABLE = "SHARPBAYES_CORES"
CONTROL_GROUPS = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")


def cpu_count() -> int:
    """Return the number of processors that this process may use.

    Those that its affinity allows, at most as many as a container or another control group grants
    it time for, rounded up. ``SHARPBAYES_CORES`` sets another number.

    Raises:
        SpecError: The variable is no whole number above 0.
    """
    text = os.environ.get(CORES_VARIABLE, "")
    if text:
        if not text.isascii() or not text.isdecimal() or int(text) == 0:
            message = f"found {text!r}, must be a whole number of processors above 0"
            raise SpecError.at(CORES_VARIABLE, message)
        return int(text)
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    return max(1, math.ceil(min([allowed, *_read_grants()])))


def _read_grants() -> Iterator[float]:
    """Yield how many processors' time the control groups of this process grant it."""
    with suppress(OSError, ValueError):
        for line in MEMBERSHIP.read_text("utf-8").splitlines():
            _, controllers, group = line.split(":", 2)
            if not controllers:
                base, files = CONTROL_GROUPS, ["cpu.max"]
            elif "cpu" in controllers.split(","):
                base, files = CONTROL_GROUPS / "cpu", ["cpu.cfs_quota_us", "cpu.cfs_period_us"]
            else:
                continue
            # A group has what the groups around it leave; in a container its own is the root.
            parts = Path(group.lstrip("/")).parts
            for depth in range(len(parts) + 1):
                yield from _read_grant([base.joinpath(*parts[:depth], name) for name in files])


def _read_grant(files: list[Path]) -> Iterator[float]:
    """Yield the quota of a control group by its period, if it has one."""
    with suppress(OSError, ValueError):
        quota, period = " ".join(file.read_text("utf-8") for file in files).split()
        if quota != "max" and float(quota) > 0 and float(period) > 0:
            yield float(quota) / float(period)

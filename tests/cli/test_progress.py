"""Progress of long work in plain lines."""

import pytest

from sharpbayes.cli import progress
from sharpbayes.cli.progress import show_progress
from sharpbayes.execution.progress import ChainStatus

HALF = [ChainStatus(100, 200), ChainStatus(100, 200, divergences=3)]


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""
    time = {"now": 1000.0}
    monkeypatch.setattr(progress.time, "monotonic", lambda: time["now"])
    return time


def test_time_left_does_not_count_the_steps_before_sampling(clock, capsys):
    with show_progress(quiet=False) as report:
        report("computing metrics")
        clock["now"] += 500.0
        report("sampling")
        clock["now"] += 30.0
        report("sampling", HALF)
    assert capsys.readouterr().err.splitlines() == [
        "computing metrics ...",
        "sampling ...",
        "sampling: 200/400 draws, 0/2 chains done, 3 divergences, 30 s left",
    ]


def test_lines_about_chains_are_ten_seconds_apart_after_the_first(clock, capsys):
    with show_progress(quiet=False) as report:
        report("sampling")
        for _ in range(25):
            clock["now"] += 1.0
            report("sampling", HALF)
    lines = capsys.readouterr().err.splitlines()[1:]
    assert [line.split(", ")[-1] for line in lines] == ["2 s left", "12 s left", "22 s left"]


def test_quiet_is_quiet(capsys):
    with show_progress(quiet=True) as report:
        report("sampling", HALF)
        report("checking convergence")
    assert capsys.readouterr().err == ""

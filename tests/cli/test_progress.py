"""Progress of long work: plain lines, the live display of a terminal, and Ctrl-C."""

import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from sharpbayes.cli import progress
from sharpbayes.cli.progress import STOPPING, show_progress
from sharpbayes.execution.progress import ChainStatus, Phase
from sharpbayes.execution.tasks import serial_map
from sharpbayes.execution.threads import thread_map
from tests.cli.interrupts import heed_ctrl_c

HALF = [ChainStatus(100, 200), ChainStatus(100, 200, divergences=3)]


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""
    now = {"now": 1000.0}
    monkeypatch.setattr(progress.time, "monotonic", lambda: now["now"])
    return now


def test_time_left_does_not_count_the_steps_before_sampling(clock, capsys):
    with show_progress() as report:
        report(Phase.METRICS)
        clock["now"] += 500.0
        report(Phase.SAMPLING)
        clock["now"] += 30.0
        report(Phase.SAMPLING, HALF)
    assert capsys.readouterr().err.splitlines() == [
        "metrics and bootstrap ...",
        "sampling ...",
        "sampling: 200/400 draws, 0/2 chains done, 3 divergences, 30 s left",
    ]


def test_lines_about_chains_are_ten_seconds_apart_after_the_first(clock, capsys):
    with show_progress() as report:
        report(Phase.SAMPLING)
        for _ in range(25):
            clock["now"] += 1.0
            report(Phase.SAMPLING, HALF)
    lines = capsys.readouterr().err.splitlines()[1:]
    assert [line.split(", ")[-1] for line in lines] == ["2 s left", "12 s left", "22 s left"]


def test_blocks_of_metrics_are_counted_and_their_results_are_as_they_were(clock, capsys):
    def square(number):
        clock["now"] += 3.0
        return number**2

    with show_progress() as report:
        report(Phase.REPLICATED_METRICS)
        assert report.count_blocks(thread_map)(square, range(4)) == [0, 1, 4, 9]
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "metrics of replicated ratings ..."
    assert re.fullmatch(r"metrics of replicated ratings: \d/4 blocks, \d+ s left", lines[1])


def test_lines_tell_what_is_left_of_the_whole_run(clock, capsys, monkeypatch):
    monkeypatch.setattr("sharpbayes.execution.forecast.current_load", lambda _: 1.0)
    with show_progress() as report:
        report(Phase.READING)
        report.expect({Phase.METRICS: 10.0, Phase.SAMPLING: 600.0, Phase.WRITING: 5.0})
        report(Phase.METRICS)
        clock["now"] += 10.0
        report(Phase.SAMPLING)
        clock["now"] += 300.0
        report(Phase.SAMPLING, HALF)
        clock["now"] += 300.0
        report(Phase.WRITING)
    assert capsys.readouterr().err.splitlines() == LEFT


LEFT = [
    "reading data ...",
    "metrics and bootstrap (2 to 32 min left of the run) ...",
    "sampling (3 to 28 min left of the run) ...",
    "sampling: 200/400 draws, 0/2 chains done, 3 divergences, 300 s left; 4 to 7 min left of the "
    "run",
    "writing results (5 to 10 s left of the run) ...",
]


def test_the_run_takes_no_less_than_the_blocks_that_are_counted(clock, capsys, monkeypatch):
    monkeypatch.setattr("sharpbayes.execution.forecast.current_load", lambda _: 1.0)

    def take_time(number):
        clock["now"] += 10.0
        return number

    with show_progress() as report:
        report(Phase.READING)
        report.expect({Phase.REPLICATED_METRICS: 5.0})
        report(Phase.REPLICATED_METRICS)
        report.count_blocks(serial_map)(take_time, range(4))
    lines = capsys.readouterr().err.splitlines()
    text = "metrics of replicated ratings: 1/4 blocks, 30 s left; 30 s left of the run"
    assert lines[2] == text


def test_a_remark_is_a_line_of_its_own(capsys):
    with show_progress() as report:
        report("nothing was kept of an earlier run: beginning")
    assert capsys.readouterr().err == "nothing was kept of an earlier run: beginning\n"


def test_quiet_is_quiet(capsys):
    with show_progress(quiet=True) as report:
        report(Phase.SAMPLING, HALF)
        report(Phase.CONVERGENCE)
    assert capsys.readouterr().err == ""


SHOWN = """
import time
from sharpbayes.cli.progress import FIT_PHASES, show_progress
from sharpbayes.execution.progress import ChainStatus, Phase
from sharpbayes.execution.tasks import serial_map
with show_progress(FIT_PHASES) as report:
    report.expect({Phase.SAMPLING: 600.0, Phase.WRITING: 60.0})
    report(Phase.SAMPLING)
    report(Phase.SAMPLING, [ChainStatus(100, 200), ChainStatus(100, 200, divergences=3)])
    time.sleep(0.15)
    report("a remark")
    report(Phase.CONVERGENCE)
    time.sleep(0.15)
print("the answer")
"""


def run_on_terminal(script, *, columns):
    """What a script writes to a terminal of some width."""
    main, terminal = pty.openpty()
    environment = os.environ | {"COLUMNS": str(columns), "TERM": "xterm"}
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=terminal, stderr=terminal, env=environment):
        os.close(terminal)
        written = bytearray()
        while True:
            try:
                part = os.read(main, 65536)
            except OSError:  # its end, on Linux
                break
            if not part:
                break
            written += part
    os.close(main)
    return written.decode()


@pytest.mark.parametrize("columns", [60, 80])
def test_a_terminal_shows_all_phases_and_no_line_runs_into_the_next(columns):
    written = run_on_terminal(SHOWN, columns=columns)
    moved = re.sub(r"\x1b\[\d*[AK]", "\n", written)  # up, or a line is cleared
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", moved).replace("\r", "\n")
    assert max(len(line.rstrip()) for line in text.splitlines()) <= columns
    for phase in ("reading data", "sampling", "convergence checks", "writing results"):
        assert phase in text
    assert "200/400" in text
    assert re.search(r"whole run .* min left", text)
    checks = [line for line in text.splitlines() if "convergence checks" in line]
    assert "left" not in checks[-1]
    assert "a remark\r\n" in written
    assert written.endswith("the answer\r\n")
    assert written.count("\x1b[?25l") == written.count("\x1b[?25h")  # the cursor is back


INTERRUPTED = """
import time
from sharpbayes.cli.progress import show_progress
with show_progress():
    try:
        print("ready", flush=True)
        time.sleep(30)
    finally:
        print("stopped", flush=True)
        time.sleep({after})
"""


def start_interrupted(*, after):
    """A script that has heard a Ctrl-C, and tidies up for some seconds."""
    command = [sys.executable, "-c", INTERRUPTED.format(after=after)]
    started = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_ctrl_c,  # noqa: PLW1509 - no thread here
    )
    assert started.stdout.readline() == "ready\n"
    os.kill(started.pid, signal.SIGINT)
    assert started.stdout.readline() == "stopped\n"
    return started


def test_ctrl_c_is_acknowledged_at_once():
    with start_interrupted(after=1) as started:
        assert started.stderr.readline() == f"{STOPPING}\n"


def test_a_second_ctrl_c_ends_at_once():
    with start_interrupted(after=30) as started:
        assert started.stderr.readline() == f"{STOPPING}\n"
        begun = time.monotonic()
        os.kill(started.pid, signal.SIGINT)
        assert started.wait(10) in {130, -signal.SIGINT}  # by the thread, or by Python before it
        assert time.monotonic() - begun < 5


def test_other_threads_run_without_hearing_ctrl_c():
    phases = []

    def run():
        with show_progress(quiet=True) as report:
            phases.append(report)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert len(phases) == 1

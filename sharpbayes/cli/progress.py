"""Progress of a run on stderr: all phases live on a terminal, lines elsewhere; Ctrl-C is heard."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sharpbayes.cli.streams import say
from sharpbayes.errors import printable
from sharpbayes.execution.progress import ChainStatus, Phase

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from sharpbayes.execution.forecast import RunClock
    from sharpbayes.execution.tasks import MapFunction

MEASURE_PHASES = (Phase.READING, Phase.METRICS, Phase.WRITING)
FIT_PHASES = tuple(phase for phase in Phase if phase not in (Phase.REFITS, Phase.DONE))
NO_PREVIEW = (Phase.SAMPLING, Phase.CONVERGENCE, Phase.REFITS, Phase.DONE)
PREVIEW_PHASES = tuple(phase for phase in Phase if phase not in NO_PREVIEW)
HINTS = {Phase.COMPILING: "up to a minute the first time on a machine"}
WHOLE_RUN = "whole run"
LINE_SECONDS, FIRST_LINE_SECONDS = 10.0, 2.0
INTERRUPTED = 130
STOPPING = (
    "Ctrl-C: stopping; what is finished is kept and written. Ctrl-C again ends at once, without "
    "writing."
)
SHOW_CURSOR = "\x1b[?25h"


def ignore(*_: object) -> None:
    """Do nothing."""


@contextmanager
def show_progress(phases: Sequence[Phase] = (), *, quiet: bool = False) -> Iterator["PhaseLines"]:
    """Show the phases of a run: live where stderr is a terminal, else as lines."""
    if quiet:
        lines = PhaseLines(tell=ignore)
    else:
        lines = LivePhases(phases=phases) if sys.stderr.isatty() else PhaseLines()
    try:
        with acknowledge_interrupts(say if quiet else lines.tell):
            yield lines
    finally:
        lines(Phase.DONE)


@dataclass
class PhaseLines:
    """Tells each phase on a line when it begins, and how far it is every few seconds."""

    tell: Callable[[str], None] = say
    phase: str = ""
    began: float = 0.0
    last_line: float = 0.0
    clock: "RunClock | None" = None  # None until it is known what the run has to do

    def expect(self, seconds: Mapping[Phase, float]) -> None:
        """Hear how many seconds each phase should take, to tell what is left of the run."""
        from sharpbayes.execution.forecast import Forecast, RunClock, current_load  # noqa: PLC0415 - start-up
        from sharpbayes.execution.processors import cpu_count  # noqa: PLC0415 - start-up

        forecast = Forecast(seconds, current_load(cpu_count()))
        self.clock = RunClock(forecast, Phase(self.phase or Phase.READING), self.began)

    def time_left(self) -> str:
        """Return the time that is left of the whole run, empty where nothing is known."""
        from sharpbayes.execution.forecast import describe_interval  # noqa: PLC0415 - start-up

        return "" if self.clock is None else describe_interval(*self.clock.left())

    def __call__(self, message: str, chains: Sequence[ChainStatus] = (), /) -> None:
        """Hear of a phase, of the chains of the present one, or of a remark."""
        if chains:
            done = sum(chain.finished_draws for chain in chains)
            total = sum(chain.total_draws for chain in chains)
            elapsed = time.monotonic() - self.began
            if self.clock is not None:
                self.clock.share = done / total
            self.advance(done, total, describe_chains(chains, elapsed=elapsed))
        elif message == Phase.DONE:
            self.end()
        elif message in list(Phase):
            if self.clock is not None:
                self.clock.begin(Phase(message))
            self.begin(Phase(message))
        else:
            self.tell(message)

    def begin(self, phase: Phase) -> None:
        """Begin a phase."""
        self.phase, self.began = phase, time.monotonic()
        self.last_line = self.began - LINE_SECONDS + FIRST_LINE_SECONDS
        hints = [
            HINTS.get(phase, ""),
            f"{left} left of the run" if (left := self.time_left()) else "",
        ]
        hint = "; ".join(filter(None, hints))
        self.tell(f"{phase}{f' ({hint})' if hint else ''} ...")

    def advance(self, _done: int, _total: int, detail: str) -> None:
        """Tell how far the present phase is."""
        if (now := time.monotonic()) - self.last_line >= LINE_SECONDS:
            self.last_line = now
            left = f"; {self.time_left()} left of the run" if self.clock is not None else ""
            self.tell(f"{self.phase}: {detail}{left}")

    def end(self) -> None:
        """End the last phase."""

    def count_blocks(self, map_function: "MapFunction") -> "MapFunction":
        """Return a map function that tells how many of its blocks are finished.

        A phase has several sets of blocks, and the time left is that of the present one.
        """

        def counted_map(
            task: Callable[[Any], Any],
            arguments: Sequence[Any],
            *,
            done: Callable[[Any, Any], None] = ignore,
        ) -> list[Any]:
            finished: list[None] = []
            began, total = time.monotonic(), len(arguments)

            def count(argument: Any, result: Any) -> None:
                done(argument, result)
                finished.append(None)  # from several threads
                number = len(finished)
                now = time.monotonic()
                seconds = (now - began) * (total - number) / number
                if self.clock is not None:
                    self.clock.earliest = now + seconds
                self.advance(number, total, f"{number}/{total} blocks{describe_left(seconds)}")

            return map_function(task, arguments, done=count)

        return counted_map


@dataclass
class LivePhases(PhaseLines):
    """Shows all phases of a run in one display that goes away at the end."""

    phases: Sequence[Phase] = ()
    rows: "dict[str, TaskID]" = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Open the display with all phases that are known."""
        self.live = open_display()
        self.tell = lambda text: self.live.console.out(printable(text))  # above the display
        for phase in self.phases:
            self.add_row(phase)
        self.live.start()

    def expect(self, seconds: Mapping[Phase, float]) -> None:
        """Add a row of the whole run, with the time that is left of it."""
        super().expect(seconds)
        row = self.live.add_task(WHOLE_RUN, total=None, detail="", left=self.time_left)
        self.rows[WHOLE_RUN] = row

    def add_row(self, phase: str) -> "TaskID":
        """Add the row of a phase that has not begun."""
        self.rows[phase] = self.live.add_task(phase, start=False, total=None, detail="")
        return self.rows[phase]

    def begin(self, phase: Phase) -> None:
        """Begin a phase, or begin it again."""
        self.finish()
        self.phase, self.began = phase, time.monotonic()
        row = self.rows[phase] if phase in self.rows else self.add_row(phase)
        self.live.tasks[row].total = None
        self.live.reset(row, detail=HINTS.get(phase, ""))

    def advance(self, done: int, total: int, detail: str) -> None:
        """Tell how far the present phase is; it has an end only when the next begins."""
        if not self.phase:
            return
        row = self.rows[self.phase]
        if done < total:
            self.live.update(row, completed=done, total=total, detail=detail)
        else:
            self.live.tasks[row].total = None
            self.live.update(row, detail="")

    def finish(self) -> None:
        """Mark the present phase as finished."""
        if self.phase:
            self.live.update(self.rows[self.phase], completed=1, total=1, detail="")

    def end(self) -> None:
        """Take the display away."""
        self.finish()
        self.live.stop()


def open_display() -> "Progress":
    """Return a display on stderr with a row for each phase: its name, bar, seconds and details."""
    from rich.console import Console  # noqa: PLC0415 - start-up
    from rich.progress import (  # noqa: PLC0415 - start-up
        BarColumn,
        Progress,
        Task,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.progress_bar import ProgressBar  # noqa: PLC0415 - start-up
    from rich.text import Text  # noqa: PLC0415 - start-up

    class Details(TextColumn):
        """What is known of a phase, or how long the whole run still takes."""

        def render(self, task: Task) -> Text:
            """Return the text of a row, computed anew for the whole run."""
            left = task.fields.get("left")
            return super().render(task) if left is None else Text(f"{left()} left")

    class PhaseBar(BarColumn):
        """A bar that does not move before its phase begins."""

        def render(self, task: Task) -> ProgressBar:
            """Return the bar of a phase."""
            return super().render(task) if task.started else ProgressBar(1, 0, self.bar_width)

    return Progress(
        TextColumn("{task.description}", markup=False),
        PhaseBar(bar_width=10),
        TimeElapsedColumn(),
        Details("{task.fields[detail]}", markup=False),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
    )


def describe_chains(chains: Sequence[ChainStatus], *, elapsed: float) -> str:
    """Describe all chains together; the time left assumes the present pace.

    >>> one, two = ChainStatus(500, 500), ChainStatus(125, 500, divergences=1)
    >>> describe_chains([one, two], elapsed=50.0)
    '625/1000 draws, 1/2 chains done, 1 divergences, 30 s left'
    """
    done = sum(chain.finished_draws for chain in chains)
    total = sum(chain.total_draws for chain in chains)
    finished = sum(chain.finished_draws >= chain.total_draws for chain in chains)
    divergences = sum(chain.divergences for chain in chains)
    left = describe_left(elapsed * (total - done) / done) if done else ""
    return (
        f"{done}/{total} draws, {finished}/{len(chains)} chains done, "
        f"{divergences} divergences{left}"
    )


def describe_left(seconds: float) -> str:
    """Return the time left, or nothing where it is over.

    >>> describe_left(30.4), describe_left(0.2)
    (', 30 s left', '')
    """
    return f", {seconds:.0f} s left" if seconds >= 0.5 else ""  # noqa: PLR2004 - would be 0 s


@contextmanager
def acknowledge_interrupts(tell: Callable[[str], None]) -> Iterator[None]:
    """Answer Ctrl-C at once on stderr, also while a library computes; a second one ends at once.

    Python raises KeyboardInterrupt in the main thread when that thread gets to it. The system
    writes the number of the signal into a pipe at once, and a thread waits for it there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    previous = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_hear, args=(reading, tell), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(previous)
        os.close(writing)


def _hear(reading: int, tell: Callable[[str], None]) -> None:
    """Answer the first Ctrl-C and end the process at the second; stop where the pipe is closed."""
    heard = False
    while number := os.read(reading, 1):
        if number[0] != signal.SIGINT:
            continue
        if heard:
            if sys.stderr.isatty():
                os.write(2, SHOW_CURSOR.encode())
            os._exit(INTERRUPTED)
        heard = True
        tell(STOPPING)
    os.close(reading)

"""Progress of long work: one live line on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer

from sharpbayes.errors import printable
from sharpbayes.execution.progress import ChainStatus, ProgressCallback, silent

LINE_SECONDS, FIRST_LINE_SECONDS = 10.0, 2.0


def say(text: str) -> None:
    """Print a line on stderr."""
    typer.echo(printable(text), err=True)


@contextmanager
def show_progress(*, quiet: bool) -> Iterator[ProgressCallback]:
    """Show steps as lines, and the state of the chains of a running sampler."""
    if quiet:
        yield silent
    elif sys.stderr.isatty():
        with _terminal_progress() as update:
            yield update
    else:
        yield _plain_progress()


@contextmanager
def _terminal_progress() -> Iterator[ProgressCallback]:
    """Redraw one line while chains run."""
    from rich.console import Console  # noqa: PLC0415 - start-up
    from rich.status import Status  # noqa: PLC0415 - start-up

    start, status = time.monotonic(), Status("sampling", console=Console(stderr=True))

    def update(message: str, chains: Sequence[ChainStatus] = (), /) -> None:
        nonlocal start
        if chains:
            status.update(describe_chains(chains, elapsed=time.monotonic() - start))
            status.start()
        else:
            start = time.monotonic()
            status.stop()
            say(f"{message} ...")

    try:
        yield update
    finally:
        status.stop()


def _plain_progress() -> ProgressCallback:
    """Print steps, and a line about the chains every few seconds."""
    start, last = time.monotonic(), -LINE_SECONDS

    def update(message: str, chains: Sequence[ChainStatus] = (), /) -> None:
        nonlocal start, last
        now = time.monotonic()
        if not chains:
            start, last = now, now - LINE_SECONDS + FIRST_LINE_SECONDS
            say(f"{message} ...")
        elif now - last >= LINE_SECONDS:
            last = now
            say(describe_chains(chains, elapsed=now - start))

    return update


def describe_chains(chains: Sequence[ChainStatus], *, elapsed: float) -> str:
    """Describe all chains together; the time left assumes the present pace.

    >>> one, two = ChainStatus(500, 500), ChainStatus(125, 500, divergences=1)
    >>> describe_chains([one, two], elapsed=50.0)
    'sampling: 625/1000 draws, 1/2 chains done, 1 divergences, 30 s left'
    """
    done = sum(chain.finished_draws for chain in chains)
    total = sum(chain.total_draws for chain in chains)
    finished = sum(chain.finished_draws >= chain.total_draws for chain in chains)
    divergences = sum(chain.divergences for chain in chains)
    left = f", {elapsed * (total - done) / done:.0f} s left" if done else ""
    return (
        f"sampling: {done}/{total} draws, {finished}/{len(chains)} chains done, "
        f"{divergences} divergences{left}"
    )

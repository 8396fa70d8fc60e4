"""Progress of long work in words and numbers, for a terminal or a log."""

from collections.abc import Sequence
from dataclasses import dataclass

from sharpbayes.execution.progress import ChainStatus


@dataclass(frozen=True)
class Progress:
    """Where sampling stands, all chains together.

    Attributes:
        done: Finished draws, tuning included.
        total: Draws to make, tuning included.
        chains: Number of chains.
        finished: Number of chains that are done.
        divergences: Divergent transitions so far.
        seconds_left: Time left at the present pace; None before the first draw.
    """

    done: int
    total: int
    chains: int
    finished: int
    divergences: int
    seconds_left: float | None

    def line(self) -> str:
        """Return one plain line.

        >>> Progress(500, 2000, 4, 1, 0, 12.2).line()
        'sampling: 500/2000 draws, 1/4 chains done, 0 divergences, 12 s left'
        """
        left = "" if self.seconds_left is None else f", {self.seconds_left:.0f} s left"
        return (
            f"sampling: {self.done}/{self.total} draws, {self.finished}/{self.chains} chains done, "
            f"{self.divergences} divergences{left}"
        )


def summarise(chains: Sequence[ChainStatus], *, elapsed: float) -> Progress:
    """Add up the chains; time left assumes that the pace so far goes on."""
    done = sum(chain.finished_draws for chain in chains)
    total = sum(chain.total_draws for chain in chains)
    return Progress(
        done=done,
        total=total,
        chains=len(chains),
        finished=sum(chain.finished_draws >= chain.total_draws for chain in chains),
        divergences=sum(chain.divergences for chain in chains),
        seconds_left=elapsed * (total - done) / done if done else None,
    )

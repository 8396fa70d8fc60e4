"""How long work reports what it is doing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class ChainStatus:
    """State of one chain; nutpie's own progress objects have the same attributes.

    Attributes:
        finished_draws: Draws so far, tuning included.
        total_draws: Draws to make, tuning included.
        divergences: Divergent transitions after tuning so far.
        step_size: Present step size of the integrator.
    """

    finished_draws: int
    total_draws: int
    divergences: int = 0
    step_size: float = float("nan")


class ProgressCallback(Protocol):
    """A function that long work calls to report its progress."""

    def __call__(self, message: str, chains: Sequence[ChainStatus] = (), /) -> None:
        """Report a new step of the work, or the state of the chains of a running sampler.

        Args:
            message: What the program does now, in a few words.
            chains: State of every chain, a few times a second while a sampler runs; empty
                otherwise.
        """


def silent(_message: str, _chains: Sequence[ChainStatus] = (), /) -> None:
    """Report nothing."""

"""How long work reports what it is doing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class ChainStatus:
    """State of one chain; nutpie's own progress objects have the same attributes."""

    finished_draws: int  # tuning included, as in the total
    total_draws: int
    divergences: int = 0  # after tuning
    step_size: float = float("nan")


class ProgressCallback(Protocol):
    """A function that long work calls to report its progress."""

    def __call__(self, message: str, chains: Sequence[ChainStatus] = (), /) -> None:
        """Report a new step in a few words; while a sampler runs, also the state of its chains."""


def silent(_message: str, _chains: Sequence[ChainStatus] = (), /) -> None:
    """Report nothing."""

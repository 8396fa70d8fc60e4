"""How long work reports what it is doing."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Phase(StrEnum):
    """The phases of a run, in their order; each lasts until the next begins."""

    READING = "reading data"
    METRICS = "metrics and bootstrap"
    COMPILING = "compiling and trial run"
    SAMPLING = "sampling"
    CONVERGENCE = "convergence checks"
    REPLICATION = "replication of ratings"
    REPLICATED_METRICS = "metrics of replicated ratings"
    REFITS = "fits for the sensitivity"
    WRITING = "writing results"
    DONE = "done"


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
        """Report that a :class:`Phase` begins, or a remark in a few words.

        While a sampler runs, the state of its chains is reported too.
        """


def silent(_message: str, _chains: Sequence[ChainStatus] = (), /) -> None:
    """Report nothing."""

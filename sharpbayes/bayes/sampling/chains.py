"""Chains of a sampler, each with a seed of its own: alike together, one by one, or elsewhere."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sharpbayes.bayes.sampling.nutpie_loader import nutpie
from sharpbayes.execution.tasks import Arrays, NoStore, Store, cpu_count
from sharpbayes.spec.study import Sampler

Progress = Callable[[Sequence[Any]], None]
STATISTICS = ("diverging", "n_steps", "depth", "step_size", "energy", "logp")
# With fewer finished draws than this a chain says nothing, not even whether it has converged.
FEWEST_DRAWS = 4
LOOK_SECONDS, TELL_SECONDS = 0.005, 0.5


@dataclass(frozen=True)
class ChainStatus:
    """Where a chain stands that does not run, as :class:`sharpbayes.cli.progress.ChainState`."""

    finished_draws: int
    total_draws: int
    divergences: int = 0
    step_size: float = float("nan")


def chain_seeds(seed: int, chains: int) -> list[int]:
    """Return the seed of each chain; it does not depend on the number of chains.

    >>> chain_seeds(1, 2) == chain_seeds(1, 4)[:2]
    True
    """
    children = np.random.SeedSequence(seed).spawn(chains)
    return [int(child.generate_state(1, np.uint64)[0]) for child in children]


def run_chains(
    compiled: Any,
    sampler: Sampler,
    *,
    seed: int,
    progress: Progress | None = None,
    store: Store | None = None,
    cores: int | None = None,
) -> list[Arrays]:
    """Sample every chain that is not in the store; return draws and statistics, all of one length.

    Args:
        compiled: A model as nutpie takes them.
        sampler: Numbers of chains, tuning steps and draws.
        seed: Seed that those of the chains are made from.
        progress: Called a few times a second with one progress object a chain.
        store: Where finished chains are kept.
        cores: Most chains that run at once; as many as there are processors by default.

    Returns:
        For each chain the columns of draws, flat, and of :data:`STATISTICS`; fewer draws than
        asked for after Ctrl-C.

    Raises:
        KeyboardInterrupt: Ctrl-C before any chain had finished its tuning.
    """
    kept = store or NoStore()
    done = {n: part for n in range(sampler.chains) if (part := kept.get(chain_name(n, seed=seed)))}
    total = sampler.tune + sampler.draws
    states: list[Any] = [ChainStatus(total * (n in done), total) for n in range(sampler.chains)]
    work = _Together(compiled, sampler, chain_seeds(seed, sampler.chains), states, cores)
    try:
        for number in work.finished([n for n in range(sampler.chains) if n not in done], progress):
            done[number] = _arrays(work.running[number].wait())
            del work.running[number]
            kept.put(chain_name(number, seed=seed), done[number])
    except KeyboardInterrupt:
        done |= {number: _arrays(each) for number, each in work.stopped()}
    finally:
        # A chain that outlives this call would read memory that is no longer there.
        list(work.stopped())
    return _even([done[number] for number in sorted(done)])


def run_chain(compiled: Any, sampler: Sampler, *, seed: int) -> Arrays:
    """Sample one chain and wait for it.

    Args:
        compiled: A model as nutpie takes them.
        sampler: Numbers of tuning steps and draws.
        seed: The chain's own seed.
    """
    return _arrays(_start(compiled, sampler, seed, None).wait())


def chain_name(number: int, *, seed: int) -> str:
    """Return the name of a chain in a store; the seed of all chains tells attempts apart."""
    return f"chain-{seed}-{number}"


class _Together:
    """Chains that run at once in this process, as many as it has processors."""

    def __init__(
        self,
        compiled: Any,
        sampler: Sampler,
        seeds: Sequence[int],
        states: list[Any],
        cores: int | None,
    ) -> None:
        self.compiled = compiled
        self.sampler = sampler
        self.seeds = seeds
        self.states = states
        self.cores = cores or cpu_count()
        self.running: dict[int, Any] = {}

    def finished(self, waiting: list[int], progress: Progress | None) -> Iterator[int]:
        """Yield the number of each chain when it has finished; those waiting are begun."""
        told = time.monotonic()
        while waiting or self.running:
            while waiting and len(self.running) < self.cores:
                self.begin(waiting.pop(0))
            ended = [number for number, each in self.running.items() if _over(each)]
            yield from ended
            if progress and (ended or time.monotonic() - told > TELL_SECONDS):
                told = time.monotonic()
                progress(list(self.states))
            if not ended:
                time.sleep(LOOK_SECONDS)

    def stopped(self) -> Iterator[tuple[int, Any]]:
        """Stop every chain that runs, and yield what it has so far."""
        while self.running:
            number = next(iter(self.running))
            trace = self.running[number].abort()
            del self.running[number]
            yield number, trace

    def begin(self, number: int) -> None:
        """Start a chain."""

        def note(states: Sequence[Any]) -> None:
            self.states[number] = states[0]

        self.running[number] = _start(self.compiled, self.sampler, self.seeds[number], note)


def _start(compiled: Any, sampler: Sampler, seed: int, note: Progress | None) -> Any:
    """One chain that runs on a thread of its own."""
    return nutpie().sample(
        compiled,
        draws=sampler.draws,
        tune=sampler.tune,
        chains=1,
        cores=1,
        seed=seed,
        save_warmup=False,
        progress_bar=False,
        progress_callback=note,
        progress_rate=500,
        target_accept=sampler.target_accept,
        maxdepth=sampler.max_depth,
        return_raw_trace=True,
        blocking=False,
    )


def _over(running: Any) -> bool:
    """Tell whether a chain has ended; nutpie raises where it asks and has no answer at once."""
    try:
        return bool(running.is_finished)
    except TimeoutError:
        return False


def _arrays(trace: Any) -> Arrays:
    """Draws and statistics of a chain as arrays over draws, tuning left out."""
    draws, statistics = trace.get_arrow_trace()
    if not draws:
        return {}
    chain, stats = draws[0], statistics[0]
    tuning = int(_column(stats, "tuning").sum())
    if stats.num_rows <= tuning:
        # Ctrl-C before it had finished its tuning.
        return {}
    found = {f"draw {name}": _rows(chain.slice(tuning), name) for name in chain.column_names}
    held = stats.slice(tuning)
    return found | {name: _column(held, name) for name in STATISTICS if name in held.column_names}


def _even(chains: Sequence[Arrays]) -> list[Arrays]:
    """Cut chains to one length, so that the most draws are kept."""
    found = sorted((each for each in chains if each), key=lambda each: -_length(each))
    worth = [_length(each) * (rank + 1) for rank, each in enumerate(found)]
    chosen = int(np.argmax(worth)) if worth else 0
    shortest = _length(found[chosen]) if found else 0
    if shortest < FEWEST_DRAWS:
        raise KeyboardInterrupt
    whole = [each for each in chains if each and _length(each) >= shortest][: chosen + 1]
    return [{name: column[:shortest] for name, column in each.items()} for each in whole]


def _length(chain: Arrays) -> int:
    """Number of draws."""
    return len(next(iter(chain.values())))


def _rows(table: Any, name: str) -> NDArray[np.float64]:
    """All numbers of a column; shape (draw, value)."""
    array = pa.array(table.column(name))
    flat = (array.flatten() if hasattr(array, "flatten") else array).to_numpy()
    return np.asarray(flat, dtype=np.float64).reshape(table.num_rows, -1)


def _column(table: Any, name: str) -> NDArray[Any]:
    """One statistic of every draw of a chain."""
    values: NDArray[Any] = pa.array(table.column(name)).to_numpy(zero_copy_only=False)
    return values

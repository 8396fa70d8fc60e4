"""Chains of a sampler, each with a seed of its own: alike together, one by one, or elsewhere."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sharpbayes.bayes.sampling.nutpie_loader import nutpie
from sharpbayes.execution.progress import ChainStatus, ProgressCallback
from sharpbayes.execution.tasks import Arrays, Execution
from sharpbayes.execution.threads import cpu_count
from sharpbayes.spec.study import Sampler

STATISTICS = ("diverging", "n_steps", "depth", "step_size", "energy", "logp")
# With fewer finished draws than this a chain says nothing, not even whether it has converged.
FEWEST_DRAWS = 4
POLL_SECONDS, REPORT_SECONDS = 0.005, 0.5


def chain_seeds(seed: int, chains: int) -> list[int]:
    """Return the seed of each chain; it does not depend on the number of chains.

    >>> chain_seeds(1, 2) == chain_seeds(1, 4)[:2]
    True
    """
    children = np.random.SeedSequence(seed).spawn(chains)
    return [int(child.generate_state(1, np.uint64)[0]) for child in children]


def run_chains(compiled: Any, sampler: Sampler, *, seed: int, execution: Execution) -> list[Arrays]:
    """Sample every chain that is not in the store; return draws and statistics, all of one length.

    Args:
        compiled: A model as nutpie takes them.
        sampler: Numbers of chains, tuning steps and draws.
        seed: Seed that those of the chains are made from.
        execution: Store of finished chains, progress, and how many chains run at once.

    Returns:
        For each chain the columns of draws, flat, and of :data:`STATISTICS`; fewer draws than
        asked for after Ctrl-C.

    Raises:
        KeyboardInterrupt: Ctrl-C before any chain had finished its tuning.
    """
    store, total = execution.store, sampler.tune + sampler.draws
    names = [chain_name(number, seed=seed) for number in range(sampler.chains)]
    finished = {number: part for number, name in enumerate(names) if (part := store.get(name))}
    states = [ChainStatus(total * (n in finished), total) for n in range(sampler.chains)]
    pool = _ChainPool(compiled, sampler, chain_seeds(seed, sampler.chains), states, execution)
    try:
        for number in pool.run([n for n in range(sampler.chains) if n not in finished]):
            finished[number] = _arrays(pool.running[number].wait())
            del pool.running[number]
            store.put(names[number], finished[number])
    except KeyboardInterrupt:
        finished |= {number: _arrays(trace) for number, trace in pool.stop()}
    finally:
        # A chain that outlives this call would read memory that is no longer there.
        list(pool.stop())
    return _equal_length([finished[number] for number in sorted(finished)])


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


class _ChainPool:
    """Chains that run at once in this process, by default one for each processor."""

    def __init__(
        self,
        compiled: Any,
        sampler: Sampler,
        seeds: Sequence[int],
        states: list[ChainStatus],
        execution: Execution,
    ) -> None:
        self.compiled = compiled
        self.sampler = sampler
        self.seeds = seeds
        self.states = states
        self.progress: ProgressCallback = execution.progress
        self.cores = execution.cores or cpu_count()
        self.running: dict[int, Any] = {}

    def run(self, waiting: list[int]) -> Iterator[int]:
        """Start the waiting chains in turn; yield the number of each chain when it has finished."""
        reported = time.monotonic()
        while waiting or self.running:
            while waiting and len(self.running) < self.cores:
                self.start(waiting.pop(0))
            ended = [number for number, chain in self.running.items() if _has_ended(chain)]
            yield from ended
            if ended or time.monotonic() - reported > REPORT_SECONDS:
                reported = time.monotonic()
                self.progress("sampling", list(self.states))
            if not ended:
                time.sleep(POLL_SECONDS)

    def stop(self) -> Iterator[tuple[int, Any]]:
        """Stop every running chain, and yield the draws that it has so far."""
        while self.running:
            number = next(iter(self.running))
            trace = self.running[number].abort()
            del self.running[number]
            yield number, trace

    def start(self, number: int) -> None:
        """Start a chain."""

        def update(states: Sequence[Any]) -> None:
            self.states[number] = states[0]

        self.running[number] = _start(self.compiled, self.sampler, self.seeds[number], update)


def _start(
    compiled: Any, sampler: Sampler, seed: int, update: Callable[[Sequence[Any]], None] | None
) -> Any:
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
        progress_callback=update,
        progress_rate=500,
        target_accept=sampler.target_accept,
        maxdepth=sampler.max_depth,
        return_raw_trace=True,
        blocking=False,
    )


def _has_ended(chain: Any) -> bool:
    """Tell whether a chain has ended; nutpie raises where it asks and has no answer at once."""
    try:
        return bool(chain.is_finished)
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


def _equal_length(chains: Sequence[Arrays]) -> list[Arrays]:
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

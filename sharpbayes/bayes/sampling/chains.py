"""Chains of nutpie's sampler: each has its own seed, so that it is the same wherever it runs."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import nutpie
import pyarrow as pa

from sharpbayes.execution.progress import ChainStatus, Phase
from sharpbayes.execution.tasks import Arrays, Execution
from sharpbayes.execution.threads import cpu_count
from sharpbayes.spec.study import Sampler

STATISTICS = ("diverging", "n_steps", "depth", "step_size", "energy", "logp")
# Convergence of shorter chains cannot be checked.
MIN_DRAWS = 4
POLL_SECONDS, REPORT_SECONDS = 0.005, 0.5


def chain_seeds(seed: int, chains: int) -> list[int]:
    """Return the seed of each chain; it does not depend on the number of chains."""
    children = np.random.SeedSequence(seed).spawn(chains)
    return [int(child.generate_state(1, np.uint64)[0]) for child in children]


def chain_name(number: int, *, seed: int) -> str:
    """Return the name of a chain in a store; every attempt to converge has another seed."""
    return f"chain-{seed}-{number}"


def run_chain(compiled: Any, sampler: Sampler, *, seed: int) -> Arrays:
    """Sample one chain with its own seed and wait for it."""
    return _to_arrays(_start(compiled, sampler, seed, None).wait())


def run_chains(compiled: Any, sampler: Sampler, *, seed: int, execution: Execution) -> list[Arrays]:
    """Sample every chain that is not in the store; return draws and statistics of all chains.

    All chains have one length. After Ctrl-C they are shorter or fewer than asked for; Ctrl-C
    before any chain had finished its tuning raises KeyboardInterrupt.
    """
    names = [chain_name(number, seed=seed) for number in range(sampler.chains)]
    chains = {n: part for n, name in enumerate(names) if (part := execution.store.get(name))}
    total = sampler.tune + sampler.draws
    status = [ChainStatus(total * (n in chains), total) for n in range(sampler.chains)]
    pool = _ChainPool(compiled, sampler, chain_seeds(seed, sampler.chains), status, execution)
    try:
        for number, trace in pool.run([n for n in range(sampler.chains) if n not in chains]):
            chains[number] = _to_arrays(trace)
            execution.store.put(names[number], chains[number])
    except KeyboardInterrupt:
        chains |= {number: _to_arrays(trace) for number, trace in pool.stop()}
    finally:
        # The memory that a chain reads is freed when this function returns.
        list(pool.stop())
    return _equal_length([chains[number] for number in sorted(chains)])


@dataclass
class _ChainPool:
    """Chains that run at once on threads of nutpie, by default one for each processor."""

    compiled: Any
    sampler: Sampler
    seeds: list[int]
    status: list[ChainStatus]
    execution: Execution
    running: dict[int, Any] = field(default_factory=dict)

    def run(self, waiting: list[int]) -> Iterator[tuple[int, Any]]:
        """Start the waiting chains in turn; yield each with its trace when it has finished."""
        reported, cores = time.monotonic(), self.execution.cores or cpu_count()
        while waiting or self.running:
            while waiting and len(self.running) < cores:
                self.start(waiting.pop(0))
            finished = [number for number, chain in self.running.items() if _has_finished(chain)]
            for number in finished:
                yield number, self.running.pop(number).wait()
            if finished or time.monotonic() - reported > REPORT_SECONDS:
                reported = time.monotonic()
                self.execution.progress(Phase.SAMPLING, list(self.status))
            if not finished:
                time.sleep(POLL_SECONDS)

    def start(self, number: int) -> None:
        """Start a chain."""

        def update(status: Sequence[Any]) -> None:
            self.status[number] = status[0]

        self.running[number] = _start(self.compiled, self.sampler, self.seeds[number], update)

    def stop(self) -> Iterator[tuple[int, Any]]:
        """Stop every running chain; yield each with its trace so far."""
        while self.running:
            number = next(iter(self.running))
            trace = self.running[number].abort()
            del self.running[number]
            yield number, trace


def _start(
    compiled: Any, sampler: Sampler, seed: int, update: Callable[[Sequence[Any]], None] | None
) -> Any:
    """Start one chain on a thread of nutpie."""
    return nutpie.sample(
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


def _has_finished(chain: Any) -> bool:
    """Tell whether a chain has finished; nutpie raises where it cannot tell at once."""
    try:
        return bool(chain.is_finished)
    except TimeoutError:
        return False


def _to_arrays(trace: Any) -> Arrays:
    """Draws and statistics of a chain after tuning; empty if tuning had not finished."""
    draws, statistics = trace.get_arrow_trace()
    if not draws:
        return {}
    values, table = pa.record_batch(draws[0]), pa.record_batch(statistics[0])
    tuning = int(table["tuning"].to_numpy(zero_copy_only=False).sum())
    if table.num_rows <= tuning:
        return {}
    arrays: Arrays = {}
    for name in values.column_names:
        column = values[name].slice(tuning)
        flat = column.flatten() if hasattr(column, "flatten") else column
        arrays[f"draw {name}"] = np.asarray(flat.to_numpy(), float).reshape(len(column), -1)
    table = table.slice(tuning)
    return arrays | {name: table[name].to_numpy(zero_copy_only=False) for name in STATISTICS}


def _equal_length(chains: Sequence[Arrays]) -> list[Arrays]:
    """Cut chains to the length that keeps the most draws in all; shorter chains are dropped."""
    lengths = [len(chain.get("energy", ())) for chain in chains]
    kept_draws = {length: length * sum(n >= length for n in lengths) for length in lengths}
    length = max(sorted(kept_draws, reverse=True), key=kept_draws.__getitem__, default=0)
    if length < MIN_DRAWS:
        raise KeyboardInterrupt
    kept = (chain for chain, n in zip(chains, lengths, strict=True) if n >= length)
    return [{name: column[:length] for name, column in chain.items()} for chain in kept]

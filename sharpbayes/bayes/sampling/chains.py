"""Chains of nutpie's sampler: each has its own seed, so that it is the same wherever it runs."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import nutpie
import pyarrow as pa

from sharpbayes.execution.processors import cpu_count
from sharpbayes.execution.progress import ChainStatus, Phase
from sharpbayes.execution.tasks import Arrays, Execution
from sharpbayes.spec.study import Sampler

STATISTICS = ("diverging", "n_steps", "depth", "step_size", "energy", "logp")
# Convergence of shorter chains cannot be checked.
MIN_DRAWS = 4
POLL_SECONDS, REPORT_SECONDS = 0.02, 0.5
# How often a chain tells how far it is: it pauses as long after it has reached a length.
STATUS_MILLISECONDS = 50


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


def run_chains(
    compiled: Any,
    sampler: Sampler,
    *,
    seed: int,
    execution: Execution,
    is_enough: Callable[[list[Arrays]], bool],
    check: Callable[[], None],
) -> tuple[list[Arrays], int]:
    """Sample all chains to a length that ``is_enough``, of ``sampler.lengths``, or to the last.

    Returned are draws and statistics of all chains, and the length that they were to have. Draws of
    a chain follow from its seed alone, so that those of a shorter run begin those of a longer one.
    Chains of the store are sampled again only where they are too short. After Ctrl-C
    all chains have one length, and are shorter or fewer than asked for; Ctrl-C before any chain had
    finished its tuning raises KeyboardInterrupt. ``check`` raises where draws are not to be used.
    """
    names = [chain_name(number, seed=seed) for number in range(sampler.chains)]
    chains = {n: part for n, name in enumerate(names) if (part := execution.store.get(name))}
    pool = _ChainPool(compiled, sampler, chain_seeds(seed, sampler.chains), execution, check)
    length = 0
    try:
        for length in sampler.lengths:
            short = [n for n in range(sampler.chains) if _length(chains.get(n, {})) < length]
            for number, chain in pool.run(short, length):
                chains[number] = chain
                execution.store.put(names[number], chain)
            reached = [_cut(chains[number], length) for number in range(sampler.chains)]
            if length == sampler.lengths[-1] or is_enough([dict(chain) for chain in reached]):
                return reached, length
    except KeyboardInterrupt:
        length = sampler.lengths[-1]
        chains |= dict(pool.stop())
        check()
    finally:
        # The memory that a chain reads is freed when this function returns.
        pool.discard()
    return _equal_length([chains[number] for number in sorted(chains)]), length


@dataclass
class _ChainPool:
    """Chains on threads of nutpie, by default one for each processor at once; others wait."""

    compiled: Any
    sampler: Sampler
    seeds: list[int]
    execution: Execution
    check: Callable[[], None]
    started: dict[int, Any] = field(default_factory=dict)
    status: list[ChainStatus] = field(default_factory=list)

    def run(self, waiting: list[int], length: int) -> Iterator[tuple[int, Arrays]]:
        """Sample chains in turn to a length; yield each when it has so many draws, or more."""
        total = self.sampler.tune + length
        self.status = [ChainStatus(total, total)] * len(self.seeds)
        for number in waiting:
            self.status[number] = ChainStatus(0, total)
        reported, cores = time.monotonic(), self.execution.cores or cpu_count()
        running: list[int] = []
        while waiting or running:
            while waiting and len(running) < cores:
                running.append(waiting.pop(0))
                self.start(running[-1])
            reached = [(n, part) for n in running if _length(part := self.take(n, length)) > 0]
            self.check()
            for number, part in reached:
                running.remove(number)
                yield number, part
            if reached or time.monotonic() - reported > REPORT_SECONDS:
                reported = time.monotonic()
                self.execution.progress(Phase.SAMPLING, list(self.status))
            if not reached:
                time.sleep(POLL_SECONDS)

    def start(self, number: int) -> None:
        """Start a chain, or let one that has stopped at a shorter length go on."""

        def update(status: Sequence[Any]) -> None:
            state, total = status[0], self.status[number].total_draws
            self.status[number] = ChainStatus(
                min(state.finished_draws, total), total, state.divergences, state.step_size
            )

        if number in self.started:
            self.started[number].resume()
        else:
            self.started[number] = _start(self.compiled, self.sampler, self.seeds[number], update)

    def take(self, number: int, length: int) -> Arrays:
        """Return the draws of a chain that has reached a length; nothing while it has not.

        A chain that may have to go on pauses, with a few draws more.
        """
        chain, status = self.started[number], self.status[number]
        if _has_finished(chain):
            del self.started[number]
            return _to_arrays(chain.wait())
        if length == self.sampler.lengths[-1] or status.finished_draws < status.total_draws:
            return {}
        chain.pause()
        part = _to_arrays(chain.inspect())
        if _length(part) >= length:
            return part
        chain.resume()
        return {}

    def stop(self) -> Iterator[tuple[int, Arrays]]:
        """Stop every chain; yield each with its draws so far."""
        while self.started:
            number = next(iter(self.started))
            trace = self.started[number].abort()
            del self.started[number]
            yield number, _to_arrays(trace)

    def discard(self) -> None:
        """Stop every chain."""
        while self.started:
            self.started.popitem()[1].abort()


def _start(
    compiled: Any, sampler: Sampler, seed: int, update: Callable[[Sequence[Any]], None] | None
) -> Any:
    """Start one chain on a thread of nutpie."""
    return nutpie.sample(
        compiled,
        draws=sampler.lengths[-1],
        tune=sampler.tune,
        chains=1,
        cores=1,
        seed=seed,
        save_warmup=False,
        progress_bar=False,
        progress_callback=update,
        progress_rate=STATUS_MILLISECONDS,
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


def _length(chain: Arrays) -> int:
    """Number of draws of a chain."""
    return len(chain.get("energy", ()))


def _cut(chain: Arrays, length: int) -> Arrays:
    """Return the first draws of a chain."""
    return {name: column[:length] for name, column in chain.items()}


def _equal_length(chains: Sequence[Arrays]) -> list[Arrays]:
    """Cut chains to the length that keeps the most draws in all; shorter chains are dropped."""
    lengths = [_length(chain) for chain in chains]
    kept_draws = {length: length * sum(n >= length for n in lengths) for length in lengths}
    length = max(sorted(kept_draws, reverse=True), key=kept_draws.__getitem__, default=0)
    if length < MIN_DRAWS:
        raise KeyboardInterrupt
    kept = (chain for chain, n in zip(chains, lengths, strict=True) if n >= length)
    return [_cut(chain, length) for chain in kept]

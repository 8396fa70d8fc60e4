"""Objects that stay on the workers of a Dask cluster with their data, and are called many times.

A call goes to the object's worker and back, and not through the queue of tasks: what Dask calls
an actor. Where a worker dies, its objects are built again on others.
"""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sharpbayes.errors import format_count
from sharpbayes.execution.cluster import CHECK_SECONDS, MAX_LOSSES, Cluster


class Resident:
    """An object on a worker."""

    def __init__(self, build: Callable[[Any], Callable[[Any], Any]], argument: Any) -> None:
        """Build it there."""
        self.function = build(argument)

    def call(self, message: Any) -> Any:
        """Return its answer."""
        return self.function(message)


@dataclass
class ClusterActors[A, B, C]:
    """Objects on the workers of a cluster, one of each argument.

    Arguments are asked for one at a time, when an object is built. Threads may call at once.
    """

    cluster: Cluster
    build: Callable[[A], Callable[[B], C]]
    arguments: Sequence[A]
    _actors: dict[int, Any] = field(default_factory=dict, init=False)
    _workers: dict[int, str] = field(default_factory=dict, init=False)  # where objects were sent
    _lock: Any = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        """Build all objects."""
        self._start()

    def __call__(self, messages: Sequence[B]) -> list[C]:
        """Return the answer of each object to a message of its own.

        ClusterError where workers are lost again and again, or all are and none come back.
        """
        answers: dict[int, C] = {}
        losses = 0
        while missing := [number for number in range(len(messages)) if number not in answers]:
            actors = self._start()
            before = len(answers)
            methods = {n: _call(actors[n]) for n in missing}
            calls = {n: method(messages[n]) for n, method in methods.items() if method}
            for number, call in calls.items():
                answers.update((number, answer) for answer in self._wait(call, actors[number]))
            losses = 0 if len(answers) > before else losses + 1
            self._drop({n: actors[n] for n in missing if n not in answers}, losses)
        return [answers[number] for number in range(len(messages))]

    def _wait(self, call: Any, actor: Any) -> list[C]:
        """Return the answer to a call in a list; an empty one where the worker is lost."""
        while _call(actor) is not None:
            try:
                return [call.result(timeout=CHECK_SECONDS)]
            except TimeoutError:
                with self._lock:
                    self.cluster.wait_for_workers()
            except OSError:
                break
        return []

    def _drop(self, lost: dict[int, Any], losses: int) -> None:
        """Forget objects that are lost, unless another thread has built them again."""
        self._refuse(losses)
        with self._lock:
            dropped = [n for n, actor in lost.items() if self._actors.get(n) is actor]
            for number in dropped:
                del self._actors[number]
        if dropped:
            self.cluster.progress(
                f"{self.cluster.address}: {format_count(len(dropped), 'part')} of "
                f"{len(self.arguments)} lost: built again"
            )

    def _start(self) -> dict[int, Any]:
        """Return all objects; those that are missing are built, by the first thread that asks."""
        with self._lock:
            losses = 0
            while missing := [n for n in range(len(self.arguments)) if n not in self._actors]:
                self.cluster.wait_for_workers()
                before = len(self._actors)
                self._actors |= self.cluster.take_results(self._submit(missing))
                losses = 0 if len(self._actors) > before else losses + 1
                self._refuse(losses)
            return dict(self._actors)

    def _submit(self, missing: Sequence[int]) -> dict[Any, int]:
        """Send arguments to the workers with the fewest objects; return the futures of objects."""
        client, running = self.cluster.client, {}
        load = Counter(dict.fromkeys(self.cluster.list_workers() or (), 0))
        load.update(w for n in self._actors if (w := self._workers[n]) in load)
        for number in missing if load else ():
            worker = self._workers[number] = min(load, key=load.__getitem__)
            load[worker] += 1
            how = {"workers": [worker], "allow_other_workers": True, "pure": False, "actor": True}
            try:
                argument = client.scatter(self.arguments[number], workers=[worker], hash=False)
            # The worker is gone. Where it has just gone, the scheduler of Dask has a KeyError.
            except (KeyError, OSError, TimeoutError):
                continue
            running[client.submit(Resident, self.build, argument, **how)] = number
        return running

    def _refuse(self, losses: int) -> None:
        """Raise ClusterError where workers are lost too often in a row."""
        if losses >= MAX_LOSSES:
            times = f"workers were lost {losses} times and no part was computed"
            raise self.cluster.error(f"{times}; they may lack memory")


def _call(actor: Any) -> Any:
    """Return the method that calls an object, None where Dask knows that its worker is lost."""
    try:
        return actor.call
    except RuntimeError:
        return None

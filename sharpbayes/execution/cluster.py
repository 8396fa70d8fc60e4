"""A map function over the workers of a Dask distributed cluster, which may lose any of them."""

import contextlib
import logging
import operator
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any

from sharpbayes.errors import ClusterError, SpecError, first_line, format_count
from sharpbayes.execution.identity import computation, describe_differences
from sharpbayes.execution.progress import ProgressCallback, silent
from sharpbayes.execution.tasks import ignore_result

ADDRESS = re.compile(r"local:([1-9][0-9]{0,3})|(?:tcp|tls|ucx)://\S+")
# How long a scheduler, or the first of new workers, is waited for.
WAIT_SECONDS = 30
POLL_SECONDS, CHECK_SECONDS, RESULT_SECONDS = 0.02, 1.0, 60
# A scheduler that is stopped, or whose machine is cut off, neither answers nor ends the connection.
ANSWER_SECONDS = 5
# So often in a row workers may be lost before any task ends: a task may be what kills them.
MAX_LOSSES = 10
# Dask starts a worker again that dies, but not one that dies while it starts.
ENDED = ("closing", "closed", "failed")
# Dask serves no dashboard, and its server takes any free port: a second run on the same machine
# would otherwise warn that the usual port is taken.
NO_PAGE = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
# Their lines about lost workers say less than ours.
LOGGERS = ("distributed", "distributed.client", "distributed.nanny", "distributed.worker")


@dataclass
class Cluster:
    """A client of Dask distributed; its results do not depend on the number of workers.

    If a worker dies, another one runs its tasks again. Where none is left, new ones are waited for,
    for a time; ``progress`` hears of it.
    """

    client: Any
    address: str
    progress: ProgressCallback = silent
    _checked: set[str] = field(default_factory=set, init=False)

    def map[A, B](
        self,
        task: Callable[[A], B],
        arguments: Sequence[A],
        *,
        done: Callable[[A, B], None] = ignore_result,
    ) -> list[B]:
        """Call a task with each argument; the task is sent to each worker once.

        ClusterError where the scheduler or all workers are lost and none come back, or workers
        compute otherwise than this process.
        """
        results: dict[int, B] = {}
        losses = 0
        while missing := [number for number in range(len(arguments)) if number not in results]:
            self.wait_for_workers()
            before = len(results)
            for number, result in self._compute(task, {n: arguments[n] for n in missing}):
                results[number] = result
                done(arguments[number], result)
            losses = 0 if len(results) > before else losses + 1
            if losses >= MAX_LOSSES:
                times = f"workers were lost {losses} times and no task ended"
                raise self.error(f"{times}; they may lack memory")
            if left := len(arguments) - len(results):
                self.progress(f"{self.address}: {format_count(left, 'task')} lost: sent again")
        return [results[number] for number in range(len(arguments))]

    def _compute[A, B](
        self, task: Callable[[A], B], arguments: dict[int, A]
    ) -> Iterator[tuple[int, B]]:
        """Yield the number and the result of each task that ends; none of those that are lost."""
        try:
            sent = self.client.scatter([task], broadcast=True, hash=False)[0]
            running = {
                self.client.submit(operator.call, sent, argument, pure=False, retries=2): number
                for number, argument in arguments.items()
            }
        except (OSError, TimeoutError):  # whoever was to hold the task is gone
            return
        yield from self.take_results(running)

    def take_results(self, running: dict[Any, int]) -> Iterator[tuple[int, Any]]:
        """Yield the number and the result of each future that ends; none of those that are lost.

        ``running`` has the number of each future, and is emptied.
        """
        checked = time.monotonic()
        while running:
            if time.monotonic() - checked > CHECK_SECONDS:
                self.wait_for_workers()
                checked = time.monotonic()
            ended = [future for future in running if future.status != "pending"]
            for future in ended:
                number = running.pop(future)
                yield from ((number, result) for result in _result(future))
            if not ended:
                time.sleep(POLL_SECONDS)

    def wait_for_workers(self) -> None:
        """Wait until there is a worker, for a time; all have to compute as this process does.

        Whoever is waited for is told before the run gives up: an answer may take all of the time.
        """
        end, announced = time.monotonic() + WAIT_SECONDS, set()
        while not (workers := self.list_workers()):
            awaited = "the scheduler" if workers is None else "a worker"
            if awaited not in announced:
                announced.add(awaited)
                self.progress(f"{self.address}: waiting for {awaited}, {WAIT_SECONDS} s at most")
            if time.monotonic() > end:
                lost = "scheduler does not answer" if workers is None else "no worker"
                raise self.error(f"{lost} for {WAIT_SECONDS} s")
            self._replace_ended()
            time.sleep(CHECK_SECONDS / 4)
        self._replace_ended()
        if new := [worker for worker in workers if worker not in self._checked]:
            self._check(new)

    def list_workers(self) -> list[str] | None:
        """Return the addresses of the workers, None where the scheduler does not answer."""
        if self.client.status != "running":
            return None
        try:
            return list(self.client.nthreads(callback_timeout=ANSWER_SECONDS))
        except (OSError, TimeoutError, ValueError):
            return None

    def _replace_ended(self) -> None:
        """Start processes on this machine in place of those that ended and did not come back."""
        processes = self.client.cluster
        if processes is None:
            return
        ended = [name for name, x in processes.workers.items() if x.status.name in ENDED]
        for name in ended:
            del processes.workers[name]
        if len(processes.workers) < (wanted := len(processes.worker_spec)):
            processes.scale(wanted)

    def _check(self, workers: list[str]) -> None:
        """Compare what workers compute with: a number must not depend on who computes it."""
        expected = computation()
        answers = self.client.run(computation, workers=workers, on_error="return")
        for worker, answer in answers.items():
            if isinstance(answer, (OSError, TimeoutError)):  # it has died meanwhile
                continue
            if isinstance(answer, Exception):
                raise self.error(f"worker {worker} has no such sharpbayes: {first_line(answer)}")
            if named := describe_differences(answer, expected):
                raise self.error(f"worker {worker} computes by another {named}")
            self._checked.add(worker)

    def error(self, message: str) -> ClusterError:
        """Return the error of this cluster."""
        return ClusterError(f"--cluster: {self.address}: {message}")


def _result(future: Any) -> Iterator[Any]:
    """Yield the result of a task that has ended; nothing where its worker was lost."""
    from distributed import KilledWorker  # noqa: PLC0415 - an optional extra

    if future.status == "lost":
        return
    try:
        yield future.result(timeout=RESULT_SECONDS)
    except (KilledWorker, CancelledError, OSError, TimeoutError):
        if future.status == "error" and not isinstance(future.exception(), KilledWorker):
            raise  # the error of the task itself


@contextlib.contextmanager
def cluster(address: str) -> Iterator[Cluster]:
    """Start processes on this machine, or join the workers of a scheduler, inside a ``with``.

    ``address`` is ``local:N`` for N processes, or that of a scheduler, ``tcp://host:port``.
    """
    match = ADDRESS.fullmatch(address)
    if match is None:
        message = "must be local:N or the address of a scheduler, tcp://host:port"
        raise SpecError.at("--cluster", message, key=address)
    try:
        from distributed import Client, LocalCluster  # noqa: PLC0415 - an optional extra
    except ImportError:
        message = "needs Dask distributed; install sharpbayes with the extra `cluster`"
        raise SpecError.at("--cluster", message, key=address) from None
    with contextlib.ExitStack() as stack:
        stack.enter_context(_quiet_dask())
        scheduler: Any = address
        if match.group(1):
            scheduler = stack.enter_context(
                LocalCluster(int(match.group(1)), threads_per_worker=1, scheduler_kwargs=NO_PAGE)
            )
        try:
            client = stack.enter_context(Client(scheduler, timeout=WAIT_SECONDS))
        except (OSError, TimeoutError, ValueError) as error:
            message = f"--cluster: {address}: no scheduler answers: {first_line(error)}"
            raise ClusterError(message) from None
        yield Cluster(client, address)


@contextlib.contextmanager
def _quiet_dask() -> Iterator[None]:
    """Keep Dask's own lines about lost workers off the terminal inside a ``with``."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)

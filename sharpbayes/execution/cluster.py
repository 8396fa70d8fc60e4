"""A map function over the workers of a Dask distributed cluster."""

import contextlib
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sharpbayes.errors import Diagnostic, SpecError, first_line
from sharpbayes.execution.tasks import ignore_result

ADDRESS = re.compile(r"local:([1-9][0-9]{0,3})|(?:tcp|tls|ucx)://\S+")
WAIT_SECONDS = 30
# Dask serves no dashboard, and its server takes any free port: a second run on the same machine
# would otherwise warn that the usual port is taken.
NO_PAGE = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}


@dataclass(frozen=True)
class Cluster:
    """A client of Dask distributed; its results do not depend on the number of workers.

    If a worker dies, another one runs its tasks again.
    """

    client: Any

    def map[A, B](
        self,
        task: Callable[[A], B],
        arguments: Sequence[A],
        *,
        done: Callable[[A, B], None] = ignore_result,
    ) -> list[B]:
        """Call a task with each argument; the task is sent to each worker once."""
        from distributed import as_completed  # noqa: PLC0415 - an optional extra

        sent = self.client.scatter([task], broadcast=True, hash=False)[0]
        futures = {
            self.client.submit(operator.call, sent, argument, pure=False, retries=2): argument
            for argument in arguments
        }
        results = {}
        for future, result in as_completed(list(futures), with_results=True):
            results[future] = result
            done(futures[future], result)
        return [results[future] for future in futures]


@contextlib.contextmanager
def cluster(address: str) -> Iterator[Cluster]:
    """Start processes on this machine, or join the workers of a scheduler, inside a ``with``.

    ``address`` is ``local:N`` for N processes, or that of a scheduler, ``tcp://host:port``.
    """
    match = ADDRESS.fullmatch(address)
    if match is None:
        message = "must be local:N or the address of a scheduler, tcp://host:port"
        raise _address_error(address, message)
    try:
        from distributed import Client, LocalCluster  # noqa: PLC0415 - an optional extra
    except ImportError:
        message = "needs Dask distributed; install sharpbayes with the extra `cluster`"
        raise _address_error(address, message) from None
    with contextlib.ExitStack() as stack:
        scheduler: Any = address
        if match.group(1):
            scheduler = stack.enter_context(
                LocalCluster(int(match.group(1)), threads_per_worker=1, scheduler_kwargs=NO_PAGE)
            )
        try:
            client = stack.enter_context(Client(scheduler, timeout=WAIT_SECONDS))
        except (OSError, TimeoutError, ValueError) as error:
            raise _address_error(address, f"no scheduler answers: {first_line(error)}") from None
        yield Cluster(client)


def _address_error(address: str, message: str) -> SpecError:
    """Return the error of a wrong address on the command line."""
    return SpecError([Diagnostic("--cluster", 0, address, message)])

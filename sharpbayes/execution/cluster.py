"""Chains, resamples, replications, refits and simulations elsewhere, by Dask distributed."""

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sharpbayes.errors import Diagnostic, SpecError, first_line
from sharpbayes.execution.tasks import Arrays, Store, compute_parts

if TYPE_CHECKING:
    from sharpbayes.bayes.design.design import Design
    from sharpbayes.bayes.kernel.layout import ParameterLayout
    from sharpbayes.spec.study import Sampler

ADDRESS = re.compile(r"local:([1-9][0-9]{0,3})|(?:tcp|tls|ucx)://\S+")
WAIT_SECONDS = 30
# No page of Dask's, and any free port for what remains of its server: a second run on a machine
# would else warn that the usual one is taken.
NO_PAGE = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}


@dataclass(frozen=True)
class Cluster:
    """Workers; what they compute does not depend on how many they are, or which does what.

    A task whose worker dies is run again by another.

    Attributes:
        client: The client of Dask distributed.
    """

    client: Any

    def each[A, B](
        self,
        task: Callable[[A], B],
        arguments: Sequence[A],
        *,
        done: Callable[[A, B], None] = lambda _argument, _result: None,
    ) -> list[B]:
        """Return the task's result for each argument, in their order.

        Args:
            task: Computed by the workers; it is sent to each of them once.
            arguments: What it is called with.
            done: Called here with an argument and its result as soon as it is there.
        """
        from distributed import as_completed  # noqa: PLC0415 - an optional extra

        sent = self.client.scatter([task], broadcast=True, hash=False)[0]
        waiting = {
            self.client.submit(_called, sent, argument, pure=False, retries=2): position
            for position, argument in enumerate(arguments)
        }
        found: dict[int, B] = {}
        for future, result in as_completed(list(waiting), with_results=True):
            position = waiting[future]
            found[position] = result
            done(arguments[position], result)
        return [found[position] for position in range(len(arguments))]

    def chains(
        self,
        design: "Design",
        layout: "ParameterLayout",
        sampler: "Sampler",
        seed: int,
        store: Store | None,
    ) -> list[Arrays]:
        """Sample the chains that a store does not have; see ``sharpbayes.bayes.sampling.nuts``."""
        from sharpbayes.bayes.sampling.chains import chain_name, chain_seeds  # noqa: PLC0415
        from sharpbayes.bayes.sampling.nuts import sample_chain  # noqa: PLC0415

        seeds = chain_seeds(seed, sampler.chains)
        return compute_parts(
            lambda own: sample_chain(design, layout, sampler, own),
            {chain_name(number, seed=seed): own for number, own in enumerate(seeds)},
            store=store,
            each=self.each,
        )


@contextlib.contextmanager
def cluster(address: str) -> Iterator[Cluster]:
    """Start workers of this machine, or join those of a scheduler, for a while.

    Args:
        address: ``local:N`` for N processes, or the address of a scheduler, ``tcp://host:port``.

    Raises:
        SpecError: An address of another form, no scheduler there, or the extra is not installed.
    """
    found = ADDRESS.fullmatch(address)
    if found is None:
        raise _fault(address, "must be local:N or the address of a scheduler, tcp://host:port")
    try:
        from distributed import Client, LocalCluster  # noqa: PLC0415 - an optional extra
    except ImportError:
        message = "needs Dask distributed; install sharpbayes with the extra `cluster`"
        raise _fault(address, message) from None
    with contextlib.ExitStack() as opened:
        where: Any = address
        if found.group(1):
            where = opened.enter_context(
                LocalCluster(int(found.group(1)), threads_per_worker=1, scheduler_kwargs=NO_PAGE)
            )
        try:
            client = opened.enter_context(Client(where, timeout=WAIT_SECONDS))
        except (OSError, TimeoutError, ValueError) as error:
            raise _fault(address, f"no scheduler answers: {first_line(error)}") from None
        yield Cluster(client)


def _fault(address: str, message: str) -> SpecError:
    """A fault of how the command was called."""
    return SpecError([Diagnostic("--cluster", 0, address, message)])


def _called[A, B](task: Callable[[A], B], argument: A) -> B:
    """Call on a worker."""
    return task(argument)

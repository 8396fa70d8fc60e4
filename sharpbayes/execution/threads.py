"""Threads of this process, as many as it may use processors, and the map function in use."""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from warnings import catch_warnings, filterwarnings

from sharpbayes.execution.processors import cpu_count
from sharpbayes.execution.tasks import MapFunction, ignore_result

# What NumPy says of a mean, a quantile or a variance of nothing, which is NaN here as it should be.
OF_NOTHING = ("Mean of empty slice", "All-NaN slice encountered", "Degrees of freedom <= 0")
# What statsmodels says of a fit that has not converged, which is read from the fit.
OF_FITS = (
    ".*(did not converge|failed to converge|on the boundary|Retrying MixedLM|is singular|Hessian)",
)


def trim_memory() -> None:
    """Give memory that temporary arrays have left back to the system; glibc keeps it by itself."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def thread_map[A, B](
    task: Callable[[A], B],
    arguments: Sequence[A],
    *,
    done: Callable[[A, B], None] = ignore_result,
) -> list[B]:
    """Call a task with each argument on threads; see :class:`MapFunction`."""

    def run(argument: A) -> B:
        result = task(argument)
        done(argument, result)
        return result

    with _start_threads(cpu_count()) as pool:
        return list(pool.map(run, arguments))


def run_both[A, B](task: Callable[[], A], background: Callable[[], B]) -> tuple[A, B]:
    """Return the results of two tasks; the second runs on a thread while the first runs here."""
    with _start_threads(1) as pool:
        future = pool.submit(background)
        return task(), future.result()


@contextmanager
def _start_threads(number: int) -> Iterator[ThreadPoolExecutor]:
    """Give threads on which neither numbers of nothing nor fits without convergence warn.

    Both are turned off where they are expected, for the whole process: a thread that has finished
    turns them on under another that has not.
    """
    with catch_warnings():
        for message in (*OF_NOTHING, *OF_FITS):
            filterwarnings("ignore", message)
        with ThreadPoolExecutor(number) as pool:
            yield pool


_MAPS = ContextVar[tuple[MapFunction, MapFunction]]("maps", default=(thread_map, thread_map))


def current_map(*, resamples: bool = False) -> MapFunction:
    """Return the map function for blocks of posterior draws, or for blocks of resamples."""
    return _MAPS.get()[resamples]


@contextmanager
def use_map(map_function: MapFunction, *, resamples: MapFunction | None = None) -> Iterator[None]:
    """Compute blocks by other map functions inside a ``with``; threads are the default.

    Blocks do not depend on who computes them, so that results stay the same. Blocks of bootstrap
    resamples may have a function of their own.
    """
    token = _MAPS.set((map_function, resamples or map_function))
    try:
        yield
    finally:
        _MAPS.reset(token)

"""Tasks that do not depend on each other: done here or elsewhere, kept, and never done twice."""

import ctypes
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import xarray as xr

Arrays = dict[str, NDArray[Any]]


def cpu_count() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def trim_memory() -> None:
    """Give memory that temporary arrays have left back to the system; glibc keeps it by itself."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


class Store(Protocol):
    """Where finished parts of a run are kept, by name."""

    def get(self, name: str) -> Arrays | None:
        """Return a part, or None if it is not there whole."""

    def put(self, name: str, part: Arrays) -> None:
        """Keep a part."""


class NoStore:
    """Keeps nothing."""

    def get(self, name: str) -> None:
        """Return nothing."""

    def put(self, name: str, part: Arrays) -> None:
        """Do nothing."""


class MapFunction(Protocol):
    """A way to call a task with each of some arguments; it never changes a result."""

    def __call__(
        self,
        task: Callable[[Any], Any],
        arguments: Sequence[Any],
        *,
        done: Callable[[Any, Any], None],
    ) -> list[Any]:
        """Return the results in the order of the arguments.

        Args:
            task: What is called.
            arguments: What it is called with.
            done: Called in this process with an argument and its result as soon as it is there.
        """


def serial_map[A, B](
    task: Callable[[A], B], arguments: Sequence[A], *, done: Callable[[A, B], None]
) -> list[B]:
    """Call a task with one argument after another, in this process; see :class:`MapFunction`."""
    found = []
    for argument in arguments:
        found.append(task(argument))
        done(argument, found[-1])
    return found


def compute_parts[A](
    task: Callable[[A], Arrays],
    arguments: Mapping[str, A],
    *,
    store: Store | None = None,
    each: MapFunction = serial_map,
) -> list[Arrays]:
    """Return the parts of a task, one for each name, in the order of the names.

    Args:
        task: Computes a part; it depends on its argument alone.
        arguments: What the task is called with, by the names that parts are kept by.
        store: Where finished parts are kept, and taken from.
        each: Where the others are computed.

    Examples:
        >>> compute_parts(lambda n: {"n": np.array(n)}, {"one": 1, "two": 2})
        [{'n': array(1)}, {'n': array(2)}]
    """
    kept = store or NoStore()
    found = {name: part for name in arguments if (part := kept.get(name))}

    def done(name: str, part: Arrays) -> None:
        found[name] = part
        kept.put(name, part)

    missing = [name for name in arguments if name not in found]
    if missing:
        each(lambda name: task(arguments[name]), missing, done=done)
    return [found[name] for name in arguments]


def to_arrays(data: "xr.Dataset") -> Arrays:
    """A dataset as plain arrays; dimensions stand in the names."""
    names = {**data.data_vars, **data.coords}
    attrs = {str(name): dict(held.attrs) for name, held in names.items()} | {"": dict(data.attrs)}
    return {"attrs": np.array(json.dumps(attrs, default=lambda value: value.item()))} | {
        f"{'coord' if name in data.coords else 'data'}|{name}|{'|'.join(map(str, held.dims))}": (
            _plain(held.to_numpy())
        )
        for name, held in names.items()
    }


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Texts in a form that needs no pickle."""
    return values.astype(np.str_) if values.dtype.kind in "OT" else values


def from_arrays(held: Arrays) -> "xr.Dataset":
    """The dataset that plain arrays were made of."""
    import xarray as xr  # noqa: PLC0415 - `check` does without

    attrs = json.loads(str(held["attrs"]))
    parts: dict[str, dict[str, Any]] = {"coord": {}, "data": {}}
    for key, values in held.items():
        if key != "attrs":
            kind, name, *dims = key.split("|")
            parts[kind][name] = ([dim for dim in dims if dim], values, attrs[name])
    return xr.Dataset(parts["data"], parts["coord"], attrs[""])

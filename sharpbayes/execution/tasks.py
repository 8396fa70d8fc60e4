"""Independent tasks: how they are mapped, where finished parts are kept, who hears of progress."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sharpbayes.execution.progress import ProgressCallback, silent

if TYPE_CHECKING:
    import xarray as xr

Arrays = dict[str, NDArray[Any]]


class Store(Protocol):
    """Where finished parts of a run are kept, by name."""

    def get(self, name: str) -> Arrays | None:
        """Return a part, or None if it is missing or incomplete."""

    def put(self, name: str, part: Arrays) -> None:
        """Keep a part."""


class NoStore:
    """Keeps nothing."""

    def get(self, name: str) -> None:
        """Return nothing."""

    def put(self, name: str, part: Arrays) -> None:
        """Do nothing."""


def ignore_result(_argument: object, _result: object) -> None:
    """Do nothing with a finished task."""


class MapFunction(Protocol):
    """A function that calls a task with each of some arguments, here or in other processes."""

    def __call__(
        self,
        task: Callable[[Any], Any],
        arguments: Sequence[Any],
        *,
        done: Callable[[Any, Any], None] = ignore_result,
    ) -> list[Any]:
        """Return the results in the order of the arguments.

        Args:
            task: A function of one argument. Its result depends on the argument alone.
            arguments: Arguments of the task.
            done: Called in this process with an argument and its result as soon as it is ready.
        """


def serial_map[A, B](
    task: Callable[[A], B],
    arguments: Sequence[A],
    *,
    done: Callable[[A, B], None] = ignore_result,
) -> list[B]:
    """Call a task with one argument after another, in this process; see :class:`MapFunction`."""
    results = []
    for argument in arguments:
        results.append(task(argument))
        done(argument, results[-1])
    return results


@dataclass(frozen=True)
class Execution:
    """How a run executes its tasks; it never changes a number of the results.

    Attributes:
        map_function: Computes tasks in other processes; None: tasks run in this process.
        store: Where finished parts are kept, and taken from when a run is resumed.
        progress: Hears of every step and, while a sampler runs, of its chains.
        cores: Largest number of chains that run at once in this process; None: one for each
            processor that the process may use.
    """

    map_function: MapFunction | None = None
    store: Store = field(default_factory=NoStore)
    progress: ProgressCallback = silent
    cores: int | None = None


IN_PROCESS = Execution()


def compute_parts[A](
    task: Callable[[A], Arrays], arguments: Mapping[str, A], execution: Execution
) -> list[Arrays]:
    """Return one part for each name, in the order of the names; stored parts are not computed.

    Args:
        task: Computes a part from its argument alone.
        arguments: Arguments of the task, by the name of their part in the store.
        execution: Store and map function.

    Examples:
        >>> compute_parts(lambda n: {"n": np.array(n)}, {"one": 1, "two": 2}, Execution())
        [{'n': array(1)}, {'n': array(2)}]
    """
    parts = {name: part for name in arguments if (part := execution.store.get(name))}

    def keep(name: str, part: Arrays) -> None:
        parts[name] = part
        execution.store.put(name, part)

    missing = [name for name in arguments if name not in parts]
    if missing:
        map_function = execution.map_function or serial_map
        map_function(lambda name: task(arguments[name]), missing, done=keep)
    return [parts[name] for name in arguments]


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

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
        """Return the results in the order of the arguments, on which alone they depend.

        ``done`` is called in this process with an argument and its result as soon as it is ready.
        """


def serial_map[A, B](
    task: Callable[[A], B],
    arguments: Sequence[A],
    *,
    done: Callable[[A, B], None] = ignore_result,
) -> list[B]:
    """Call a task with one argument after another, in this process."""
    results = []
    for argument in arguments:
        results.append(task(argument))
        done(argument, results[-1])
    return results


class StartActors(Protocol):
    """A function that builds objects of arguments which stay in memory, here or on workers."""

    def __call__(
        self, build: Callable[[Any], Callable[[Any], Any]], arguments: Sequence[Any]
    ) -> Callable[[Sequence[Any]], list[Any]]:
        """Return what calls each object with a message of its own and returns the answers."""


def start_actors_here[A, B, C](
    build: Callable[[A], Callable[[B], C]], arguments: Sequence[A]
) -> Callable[[Sequence[B]], list[C]]:
    """Build objects in this process; they are called one after another.

    >>> add = start_actors_here(lambda x: lambda y: x + y, [1, 2])
    >>> add([10, 20])
    [11, 22]
    """
    actors = [build(argument) for argument in arguments]
    return lambda messages: [call(x) for call, x in zip(actors, messages, strict=True)]


@dataclass(frozen=True)
class Execution:
    """How a run executes its tasks; it never changes a number of the results."""

    map_function: MapFunction | None = None  # None: tasks run in this process
    store: Store = field(default_factory=NoStore)  # a run that is resumed takes parts from it
    progress: ProgressCallback = silent
    # Largest number of chains that run at once in this process. None: one for each processor.
    cores: int | None = None
    start_actors: StartActors | None = None  # None: in this process


IN_PROCESS = Execution()


def compute_parts[A](
    task: Callable[[A], Arrays], arguments: Mapping[str, A], execution: Execution
) -> list[Arrays]:
    """Return the part of each argument, in their order; ``arguments`` has them by the part's name.

    Parts that the store has are not computed.
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
    """Return a dataset as arrays that need no pickle, for a store; see :func:`from_arrays`."""
    attrs = {str(name): array.attrs for name, array in data.variables.items()} | {"": data.attrs}
    arrays = {"attrs": np.array(json.dumps(attrs, default=lambda value: value.item()))}
    for name, array in {**data.data_vars, **data.coords}.items():
        kind, values = "coord" if name in data.coords else "data", array.to_numpy()
        texts = values.dtype.kind in "OT"
        key = "|".join([kind, str(name), *map(str, array.dims)])
        # In C order, as a store returns it: sums over another order differ in the last digit.
        arrays[key] = np.asarray(values.astype(np.str_) if texts else values, order="C")
    return arrays


def from_arrays(arrays: Arrays) -> "xr.Dataset":
    """Return the dataset that :func:`to_arrays` was given."""
    import xarray as xr  # noqa: PLC0415 - `check` starts without xarray

    attrs = json.loads(str(arrays["attrs"]))
    parts: dict[str, dict[str, Any]] = {"coord": {}, "data": {}}
    for key, values in arrays.items():
        if key != "attrs":
            kind, name, *dims = key.split("|")
            parts[kind][name] = (dims, values, attrs[name])
    return xr.Dataset(parts["data"], parts["coord"], attrs[""])

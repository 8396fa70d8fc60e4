"""Trees to results files: variables are declared before the first of them is written.

The netCDF library brings the whole file up to date whenever a declaration follows values. Where
each variable is declared and written in turn, that takes longer than the values themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import xarray as xr
from xarray.backends import NetCDF4DataStore

# Values that wait for declarations take so much memory at most.
WAITING_BYTES = 1 << 26

Encoding = Mapping[str, Mapping[str, Any]]
# An attribute of variables that are coordinates.
MARK = "is_coordinate"


@dataclass
class _ValueWriter:
    """Writes values of variables after all were declared, or when many wait."""

    waiting: list[tuple[Any, Any]] = field(default_factory=list)
    size: int = 0

    def add(self, source: Any, target: Any) -> None:
        """Take the values of a variable that has been declared, as xarray calls it."""
        self.waiting.append((source, target))
        self.size += int(getattr(source, "nbytes", 0))
        if self.size > WAITING_BYTES:
            self.write()

    def write(self) -> None:
        """Write all values that wait."""
        for source, target in self.waiting:
            target[...] = source
        self.waiting.clear()
        self.size = 0


def mark_coordinates(data: xr.Dataset) -> xr.Dataset:
    """Return data whose coordinates with a space in the name are variables with a mark.

    A file lists the names of coordinates by spaces between them.

    >>> data = xr.Dataset(coords={"age group": ("rater", ["18-29", "50+"])})
    >>> [*mark_coordinates(data)], restore_coordinates(mark_coordinates(data)).equals(data)
    (['age group'], True)
    """
    names = [name for name in data.coords if " " in str(name) and name not in data.dims]
    marked = {name: data[name].variable.copy(deep=False) for name in names}
    for variable in marked.values():
        variable.attrs = {**variable.attrs, MARK: 1}
    return data.drop_vars(names).assign(marked) if names else data


def restore_coordinates(data: xr.Dataset) -> xr.Dataset:
    """Return data with the coordinates that :func:`mark_coordinates` made variables."""
    names = [name for name, variable in data.variables.items() if variable.attrs.pop(MARK, 0)]
    return data.set_coords(names) if names else data


def write_tree(results: xr.DataTree, path: Path, encoding: Mapping[str, Encoding]) -> None:
    """Write every group to one file, with the encoding of the variables of each group by path."""
    root = NetCDF4DataStore.open(path, mode="w", format="NETCDF4")
    try:
        values = _ValueWriter()
        for node in results.subtree:
            group = root if node is results else root.get_child_store(node.path)
            data = mark_coordinates(node.to_dataset(inherit=node is results))
            data.dump_to_store(group, writer=values, encoding=encoding.get(node.path))
        values.write()
    finally:
        root.close()

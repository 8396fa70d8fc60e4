"""Results files to trees: the netCDF library reads the bytes of a file where they are mapped.

A file that is replaced meanwhile stays what it was to its reader.
"""

import mmap
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import RLock
from typing import Any

import netCDF4
import xarray as xr
from xarray.backends import CachingFileManager, NetCDF4DataStore
from xarray.backends.netCDF4_ import NETCDF4_PYTHON_LOCK

from sharpbayes.storage.writer import restore_coordinates

# Deflate compresses by this factor at most.
MAX_COMPRESSION = 1032
# The library is not made for threads: one file is opened at a time.
OPENING = RLock()


def read_tree(path: Path, *, whole: bool) -> xr.DataTree:
    """Read a file that is intact: all of it, or each variable on its first use.

    ValueError where variables say that they are larger than a file of this size can hold.
    """
    with OPENING:
        manager: CachingFileManager[Any] = CachingFileManager(
            _map_file, str(path), lock=NETCDF4_PYTHON_LOCK
        )
        groups = {
            name: restore_coordinates(
                xr.open_dataset(_open_group(manager, name), decode_times=False)
            )
            for name in _list_groups(manager.acquire())
        }
        results = xr.DataTree.from_dict(groups)
        results.set_close(manager.close)
        size = path.stat().st_size
        claimed = sum(array.nbytes for data in groups.values() for array in data.variables.values())
        too_large = claimed > MAX_COMPRESSION * size
        if whole and not too_large:
            _load(results)
        if whole or too_large:
            results.close()
    if too_large:
        raise ValueError(f"{size} bytes say that they hold {claimed}")
    return results


def read_attributes(path: Path) -> dict[str, Any]:
    """Return the root attributes of a file that is intact, without its groups."""
    with OPENING, closing(_map_file(str(path))) as file:
        return {name: file.getncattr(name) for name in file.ncattrs()}


def _load(results: xr.DataTree) -> None:
    """Read every variable; ``DataTree.load`` leaves out those with the name of a group."""
    for node in results.subtree:
        for array in node.variables.values():
            array.load()


def _open_group(manager: CachingFileManager[Any], name: str) -> NetCDF4DataStore:
    """Open a group of a file."""
    return NetCDF4DataStore(manager, group=name)


def _map_file(path: str) -> netCDF4.Dataset:
    """Open a file by its bytes; they are in memory as far as they are read."""
    with open(path, "rb") as file:  # noqa: PTH123 - files are opened again by this argument
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return netCDF4.Dataset(path, memory=memoryview(content))


def _list_groups(group: netCDF4.Dataset) -> Iterator[str]:
    """Yield the path of a group, and those of the groups inside it."""
    yield group.path
    for inner in group.groups.values():
        yield from _list_groups(inner)

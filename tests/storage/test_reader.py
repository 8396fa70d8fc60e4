import copy
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from sharpbayes.storage.results import SCHEMA, open_results, save_results


@pytest.fixture
def results():
    cvar = (("draw", "model"), np.arange(4000.0).reshape(2000, 2))
    group = xr.Dataset({"cvar": cvar}, attrs={"alpha": 0.95})
    tree = xr.DataTree.from_dict({"/profile": group})
    tree.attrs = {"schema": SCHEMA, "title": "T", "status": "measured", "seed": 1}
    return tree


def saved(results, path, factor=1.0):
    """The path of results whose numbers are multiplied by a factor."""
    changed = results.copy()
    profile = results["profile"].to_dataset()
    changed["profile"] = xr.DataTree(profile.assign(cvar=factor * profile["cvar"]))
    save_results(changed, path)
    return path


def first(opened):
    """One number of opened results."""
    return float(opened["profile"]["cvar"].to_numpy()[-1, -1])


def test_a_reader_keeps_a_file_that_is_replaced_meanwhile(results, tmp_path):
    path = saved(results, tmp_path / "r.nc")
    opened = open_results(path, whole=False)
    saved(results, tmp_path / "other.nc", factor=2.0).replace(path)
    assert (first(opened), first(copy.deepcopy(opened))) == (3999.0, 3999.0)
    assert first(open_results(path, whole=False)) == 7998.0


def test_threads_open_and_read_results(results, tmp_path):
    paths = [saved(results, tmp_path / f"{n}.nc", factor=n) for n in range(4)]

    def read(number):
        return first(open_results(paths[number % 4], whole=number % 3 == 0))

    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(read, range(40)))
    assert numbers == [3999.0 * (number % 4) for number in range(40)]


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no list of mapped files")
@pytest.mark.parametrize("whole", [True, False])
def test_closed_results_hold_no_file(results, tmp_path, whole):
    path = saved(results, tmp_path / "r.nc")
    opened = open_results(path, whole=whole)
    mapped = str(path) in Path("/proc/self/maps").read_text("utf-8")
    opened.close()
    assert mapped is not whole
    assert str(path) not in Path("/proc/self/maps").read_text("utf-8")

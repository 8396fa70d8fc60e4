import numpy as np
import pytest
import xarray as xr

from sharpbayes.storage import writer


@pytest.fixture
def results():
    draws = (("draw", "model"), np.arange(4000.0).reshape(2000, 2))
    first = xr.Dataset({"cvar": draws}, {"model": ["aster", "fir"]}, {"alpha": 0.95})
    second = xr.Dataset({"order": ("model", [2, 1])})
    tree = xr.DataTree.from_dict({"/": xr.Dataset(attrs={"seed": 1}), "/profile": first})
    tree["profile/inner"] = xr.DataTree(second)
    return tree


def test_what_is_written_is_what_xarray_writes(results, tmp_path):
    packed = {"zlib": True, "dtype": "int16", "scale_factor": 0.5, "_FillValue": -1}
    encoding = {"/profile": {"cvar": packed}}
    writer.write_tree(results, tmp_path / "ours.nc", encoding)
    results.to_netcdf(tmp_path / "theirs.nc", engine="netcdf4", encoding=encoding)
    ours, theirs = (
        xr.open_datatree(tmp_path / f"{name}.nc", engine="netcdf4").load()
        for name in ("ours", "theirs")
    )
    xr.testing.assert_identical(ours, theirs)
    written = ours["profile"]["cvar"].encoding
    assert (written["zlib"], written["dtype"], written["scale_factor"]) == (True, np.int16, 0.5)


@pytest.mark.parametrize(("most", "n_waiting"), [(1 << 26, 3), (1000, 2)])
def test_values_wait_for_declarations_up_to_a_bound(
    results, tmp_path, monkeypatch, most, n_waiting
):
    waiting = []

    class Watched(writer._ValueWriter):
        def write(self):
            waiting.append(len(self.waiting))
            super().write()

    monkeypatch.setattr(writer, "WAITING_BYTES", most)
    monkeypatch.setattr(writer, "_ValueWriter", Watched)
    writer.write_tree(results, tmp_path / "r.nc", {})
    assert waiting[-1] == n_waiting
    opened = xr.open_datatree(tmp_path / "r.nc", engine="netcdf4").load()
    xr.testing.assert_identical(opened, results)

"""Rounded draws: how far they move, what stays exact, and that files hold them bit for bit."""

from types import SimpleNamespace

import h5netcdf
import numpy as np
import pytest
import xarray as xr

from sharpbayes.bayes.fit import _round_parameters
from sharpbayes.storage.precision import MAX_SHIFT, RESOLUTION, packing, round_draws
from sharpbayes.storage.results import SCHEMA, open_results, save_results

DIMS = ("chain", "draw", "item")


def draws(values, **more):
    return xr.Dataset({"location_item": (DIMS, values)} | more)


@pytest.fixture
def normal():
    """Draws of 30 elements with sd from 0.01 to 10, far from 0 and near it."""
    sd = np.geomspace(0.01, 10, 30)
    return np.random.default_rng(1).normal(np.linspace(-5, 5, 30), sd, (2, 300, 30))


def test_no_draw_moves_by_more_than_a_share_of_its_sd(normal):
    rounded = round_draws(draws(normal))["location_item"]
    step = rounded.attrs[RESOLUTION]
    assert np.log2(step) == round(np.log2(step))
    moved = np.abs(rounded.to_numpy() - normal).max((0, 1)) / normal.std((0, 1))
    assert moved.max() <= MAX_SHIFT
    assert moved.max() > MAX_SHIFT / 4


def test_order_and_sign_of_draws_stay(normal):
    cuts = np.sort(normal, axis=2)
    rounded = round_draws(draws(cuts))["location_item"].to_numpy()
    assert (np.diff(rounded, axis=2) >= 0).all()
    positive = round_draws(draws(np.exp(3 * normal[..., :3])))["location_item"]
    assert float(positive.min()) > 0


def test_missing_draws_stay_missing(normal):
    normal[:, :, 3] = np.nan
    rounded = round_draws(draws(normal))["location_item"].to_numpy()
    np.testing.assert_array_equal(np.isnan(rounded), np.isnan(normal))


@pytest.mark.parametrize(
    "values", [np.ones((2, 5, 3)), np.zeros((2, 5, 0)), np.full((2, 5, 1), np.nan)]
)
def test_what_does_not_vary_stays_as_it_is(values):
    xr.testing.assert_identical(round_draws(draws(values)), draws(values))


def test_other_variables_stay_as_they_are():
    data = xr.Dataset({"n": (DIMS, np.arange(6).reshape(1, 2, 3)), "x": ("item", [0.1, 0.2, 0.3])})
    xr.testing.assert_identical(round_draws(data), data)


def test_cutpoints_and_correlations_of_a_fit_are_not_rounded(normal):
    more = dict.fromkeys(("threshold_score", "correlation_item"), (DIMS, normal))
    design = SimpleNamespace(scales=[SimpleNamespace(name="score")])
    rounded = _round_parameters(draws(normal, **more), design)
    for name in more:
        np.testing.assert_array_equal(rounded[name], normal)
    assert not np.array_equal(rounded["location_item"], normal)


@pytest.mark.parametrize(("missing", "dtype"), [(False, "<i2"), (True, "<i2")])
def test_a_file_holds_whole_numbers_and_gives_the_same_bits_back(normal, tmp_path, missing, dtype):
    values = normal[..., 20:]
    if missing:
        values[:, :, 2] = np.nan
    tree = xr.DataTree.from_dict({"/posterior": round_draws(draws(values))})
    tree.attrs = {"schema": SCHEMA, "title": "T", "status": "fitted", "seed": 1}
    save_results(tree, tmp_path / "r.nc")
    with h5netcdf.File(tmp_path / "r.nc") as file:
        assert file["posterior/location_item"].dtype == dtype
    for opened in (open_results(tmp_path / "r.nc"), xr.open_datatree(tmp_path / "r.nc").load()):
        read = opened["posterior/location_item"]
        assert read.dtype == np.float64
        written = tree["posterior/location_item"].to_numpy()
        np.testing.assert_array_equal(read, written)
        np.testing.assert_array_equal(np.signbit(read), np.signbit(written))


def test_a_resolution_that_does_not_hold_changes_no_number(normal):
    rounded = round_draws(draws(normal[..., 20:]))["location_item"]
    assert packing(rounded.variable)["dtype"] == np.int16
    changed = (rounded / 3).assign_attrs(rounded.attrs)
    assert packing(changed.variable) == {}
    assert packing((1e6 * rounded).assign_attrs(rounded.attrs).variable)["dtype"] == np.int32

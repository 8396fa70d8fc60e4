"""Results files with any bytes changed: never opened as if they were whole."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from sharpbayes.report.document import document
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.storage.checksums import append_checksum
from sharpbayes.storage.results import SCHEMA, open_results
from tests.fuzz.outcomes import fuzzed, outcome


@pytest.fixture(scope="module")
def original(shared_results):
    """The bytes of a results file."""
    return shared_results("measured_crowd").read_bytes()


def open_and_report(path):
    """Open, print and tell, or be told what is wrong."""
    opened = outcome(lambda: open_results(path), place=[str(path)])
    if opened is not None:
        outcome(lambda: report_tables(opened), place=["results of"])
        outcome(lambda: document(opened, path=path), place=["results of"])
    return opened


@fuzzed
@given(flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 7)), min_size=1))
def test_flipped_bits(original, tmp_path, flips):
    content = bytearray(original)
    for where, bit in flips:
        content[int(where * len(content))] ^= 1 << bit
    (tmp_path / "r.nc").write_bytes(content)
    assert (open_and_report(tmp_path / "r.nc") is None) == (bytes(content) != original)


@fuzzed
@given(keep=st.floats(0, 1, exclude_max=True), more=st.binary(max_size=8))
def test_truncated_files(original, tmp_path, keep, more):
    content = original[: int(keep * len(original))] + more
    (tmp_path / "r.nc").write_bytes(content)
    # What follows may be what was cut off.
    assert (open_and_report(tmp_path / "r.nc") is None) == (content != original)


@fuzzed
@given(content=st.binary(max_size=300))
def test_random_bytes(tmp_path, content):
    (tmp_path / "r.nc").write_bytes(content)
    assert open_and_report(tmp_path / "r.nc") is None


NAMES = ["profile", "responsiveness", "judges", "diagnostics", "posterior", "panel", "cohesion"]


@fuzzed
@given(
    groups=st.lists(st.sampled_from(NAMES), max_size=3),
    left_out=st.sets(st.sampled_from(["title", "status", "seed"]), max_size=1),
)
def test_files_that_only_say_they_are_ours(tmp_path, groups, left_out):
    group = xr.Dataset({"cvar": ("model", np.zeros(2))})
    tree = xr.DataTree.from_dict({f"/{name}": group for name in groups})
    attrs = {"schema": SCHEMA, "title": "T", "status": "measured", "seed": 1}
    tree.attrs = {name: value for name, value in attrs.items() if name not in left_out}
    tree.to_netcdf(tmp_path / "r.nc", engine="netcdf4")
    assert open_and_report(tmp_path / "r.nc") is None
    append_checksum(tmp_path / "r.nc")
    open_and_report(tmp_path / "r.nc")

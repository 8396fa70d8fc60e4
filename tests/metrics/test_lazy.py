"""Levels that Dask reads block by block: the same numbers, and no block is loaded to make them."""

from dataclasses import replace

import pytest
import xarray as xr

from sharpbayes.measure_panel import planned, replicated_tables
from sharpbayes.run import read
from sharpbayes.spec.load import load_study

dask = pytest.importorskip("dask")


@pytest.mark.parametrize(
    "chunks", [{"prompt": 7}, {"model": 1, "indicator": 2}, {"judge": 2, "prompt": 11}]
)
def test_a_panel_of_blocks_is_that_of_the_whole(chunks):
    files = load_study("quickstart")
    levels = read(files).panel
    plan = planned(files, levels)
    lazy = levels.assign(level=levels["level"].chunk(chunks))

    def never(*_, **__):
        raise AssertionError("a block was loaded")

    with dask.config.set(scheduler=never):
        [table] = replicated_tables([plan], lazy)
        for name in ("sub_index", "harm", "log_risk", "any_harm", "radius"):
            assert dask.is_dask_collection(table[name].data), name
    xr.testing.assert_identical(table.compute(), replicated_tables([plan], levels)[0])
    profile = replace(plan, table=table).profile()
    xr.testing.assert_allclose(profile.compute(), plan.profile(), rtol=1e-13)

"""Work on processes of Dask distributed: in order, told as it ends, and again if a worker dies."""

import os
import signal

import numpy as np
import pytest
import xarray as xr

from sharpbayes.cluster import cluster
from sharpbayes.metrics.resample import blocks_by, bootstrap

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def workers():
    with cluster("local:2") as found:
        yield found


def test_results_are_in_order_and_told(workers):
    told = {}
    assert workers.each(lambda x: x * x, range(9), done=told.__setitem__) == [
        x * x for x in range(9)
    ]
    assert told == {x: x * x for x in range(9)}


def test_a_worker_that_dies_is_survived(workers, tmp_path):
    marker, here = tmp_path / "died", os.getpid()

    def task(number):
        assert os.getpid() != here
        if number == 2 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number + 1

    assert workers.each(task, range(6)) == [1, 2, 3, 4, 5, 6]
    assert marker.exists()


def test_resamples_are_the_same_bytes(workers):
    x = xr.DataArray(np.random.default_rng(1).normal(size=40), dims="prompt")

    def mean(weights):
        return xr.Dataset({"mean": (weights * x).sum("prompt") / weights.sum("prompt")})

    how = {"replicates": 900, "seed": 3, "dim": "prompt", "block": 200}
    here = bootstrap(mean, x, **how)
    with blocks_by(workers.each):
        xr.testing.assert_identical(bootstrap(mean, x, **how), here)

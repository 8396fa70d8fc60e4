"""Work on processes of Dask distributed: in order, told as it ends, and again if a worker dies."""

import os
import signal

import numpy as np
import pytest
import xarray as xr

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.calibration import calibrate, sampling_fit
from sharpbayes.execution.cluster import cluster
from sharpbayes.execution.tasks import Execution
from sharpbayes.execution.threads import use_map
from sharpbayes.metrics.stats.resampling import bootstrap
from sharpbayes.posterior import replicates
from sharpbayes.spec.load import load_study
from sharpbayes.spec.study import Sampler
from sharpbayes.workflows.fit import fit
from tests.bayes.conftest import crowd_ratings, model_of

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def workers():
    with cluster("local:2") as found:
        yield found


def test_results_are_in_order_and_told(workers):
    told = {}
    assert workers.map(lambda x: x * x, range(9), done=told.__setitem__) == [
        x * x for x in range(9)
    ]
    assert told == {x: x * x for x in range(9)}


def test_two_runs_of_one_machine_do_not_see_each_other(workers):
    """Dask's own server takes a fixed port and warns of a second one, which is an error here."""
    with cluster("local:1") as others:
        pages = [each.client.cluster.scheduler.http_server for each in (workers, others)]
        assert {page.address for page in pages} == {"127.0.0.1"}
        assert len({page.port for page in pages}) == 2
        assert others.map(abs, [-1]) == [1]


def test_a_worker_that_dies_is_survived(workers, tmp_path):
    marker, here = tmp_path / "died", os.getpid()

    def task(number):
        assert os.getpid() != here
        if number == 2 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number + 1

    assert workers.map(task, range(6)) == [1, 2, 3, 4, 5, 6]
    assert marker.exists()


def test_resamples_are_the_same_bytes(workers):
    x = xr.DataArray(np.random.default_rng(1).normal(size=40), dims="prompt")

    def mean(weights):
        return xr.Dataset({"mean": (weights * x).sum("prompt") / weights.sum("prompt")})

    how = {"replicates": 900, "seed": 3, "dim": "prompt", "block": 200}
    here = bootstrap(mean, x, **how)
    with use_map(workers.map):
        xr.testing.assert_identical(bootstrap(mean, x, **how), here)


@pytest.mark.slow
def test_simulations_are_the_same_though_a_worker_dies(workers, tmp_path):
    ratings = crowd_ratings(np.random.default_rng(5), items=8, raters=6)
    sampler, marker, here = Sampler(chains=2, tune=100, draws=100), tmp_path / "died", os.getpid()

    model = model_of(("item",), (["rater"], 1.0))
    sample = sampling_fit(ratings, model, sampler, execution=Execution(cores=1))

    def fit(design, seed):
        if os.getpid() != here and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return sample(design, seed)

    how = {"simulations": 6, "seed": 3, "fit": fit}
    design = build_design(ratings, model)
    there = calibrate(design, ratings, model, sampler, execution=Execution(workers.map), **how)
    assert marker.exists()
    xr.testing.assert_identical(there, calibrate(design, ratings, model, sampler, **how))


@pytest.mark.slow
def test_replications_are_the_same_bytes(workers):
    few = ("sampler.tune=60", "sampler.draws=60", "sampler.chains=2", "sampler.predictive_draws=40")
    files = load_study("quickstart_crowd", overrides=(*few, "crowd.permutations=10"))
    here = fit(files)
    with use_map(workers.map), pytest.MonkeyPatch.context() as patched:
        patched.setattr(replicates, "BLOCK_RATINGS", 20_000)
        there = fit(files)
    for name in here.children:
        xr.testing.assert_identical(
            here[name].to_dataset().drop_attrs(), there[name].to_dataset().drop_attrs()
        )

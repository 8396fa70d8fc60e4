"""Objects on processes of Dask distributed: built once, called often, built again if one dies."""

import itertools
import os
import signal
from functools import partial

import numpy as np
import pytest
import xarray as xr

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.sampling.nuts import sample_kernel
from sharpbayes.errors import ClusterError
from sharpbayes.execution import actors as module
from sharpbayes.execution.actors import ClusterActors
from sharpbayes.execution.cluster import cluster
from sharpbayes.execution.tasks import Execution
from sharpbayes.spec.study import Sampler
from tests.bayes.conftest import crowd_ratings, model_of

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def lasting_workers():
    """Two processes for all tests that leave them alive: it takes seconds to start them."""
    with cluster("local:2") as connected:
        yield connected


@pytest.fixture
def workers():
    """Two processes that a test may kill."""
    with cluster("local:2") as connected:
        yield connected


def build_adder(amount):
    """An object that adds a number and tells its process."""
    return lambda message: (amount + message, os.getpid())


def test_objects_are_spread_over_workers_and_stay(lasting_workers):
    add = ClusterActors(lasting_workers, build_adder, [1, 2, 3, 4])
    first, second = add([10, 20, 30, 40]), add([0, 0, 0, 0])
    assert [answer for answer, _ in first] == [11, 22, 33, 44]
    assert [answer for answer, _ in second] == [1, 2, 3, 4]
    processes = [process for _, process in first]
    assert processes == [process for _, process in second]
    assert sorted(map(processes.count, set(processes))) == [2, 2]
    assert os.getpid() not in processes


def test_objects_of_a_worker_that_dies_are_built_again(workers):
    messages = []
    workers.progress = messages.append
    add = ClusterActors(workers, build_adder, [1, 2, 3])
    lost = add([0, 0, 0])[0][1]
    os.kill(lost, signal.SIGKILL)
    after = add([10, 10, 10])
    assert [answer for answer, _ in after] == [11, 12, 13]
    assert lost not in {process for _, process in after}
    assert messages == ["local:2: 2 parts of 3 lost: built again"]


def test_an_error_of_an_object_is_raised(lasting_workers):
    def build(_argument):
        return lambda message: 1 // message

    with pytest.raises(ZeroDivisionError):
        ClusterActors(lasting_workers, build, [None])([0])


@pytest.mark.slow
def test_an_object_that_kills_every_worker_ends_the_run(workers, monkeypatch):
    monkeypatch.setattr(module, "MAX_LOSSES", 1)

    def build(_argument):
        return lambda _message: os.kill(os.getpid(), signal.SIGKILL)

    actors = ClusterActors(workers, build, [None])
    with pytest.raises(ClusterError) as raised:
        actors([None])
    lost = "workers were lost 1 times and no part was computed; they may lack memory"
    assert str(raised.value) == f"--cluster: local:2: {lost}"


SAMPLER = Sampler(chains=2, tune=100, draws=100, data_parts=3)


@pytest.fixture(scope="module")
def design():
    ratings = crowd_ratings(np.random.default_rng(5), items=30, raters=12)
    return build_design(ratings, model_of(("item",), ("rater",)))


@pytest.fixture(scope="module")
def here(design):
    return sample_kernel(design, SAMPLER, seed=3)


def sample_on(workers, design, start=None):
    start = start or partial(ClusterActors, workers)
    return sample_kernel(
        design, SAMPLER, seed=3, execution=Execution(workers.map, start_actors=start)
    )


def start_and_kill(workers, number, *, at):
    """Start objects; before some of the calls so many processes are killed."""

    def start(build, arguments):
        actors, calls = ClusterActors(workers, build, arguments), itertools.count()

        def call(messages):
            if next(calls) in at:
                for process in list(workers.client.cluster.workers.values())[:number]:
                    os.kill(process.pid, signal.SIGKILL)
            return actors(messages)

        return call

    return start


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 3])
def test_a_fit_is_the_same_on_any_number_of_workers(number, design, here):
    with cluster(f"local:{number}") as workers:
        xr.testing.assert_identical(sample_on(workers, design), here)


@pytest.mark.slow
def test_a_fit_is_the_same_though_workers_are_killed(workers, design, here):
    messages = []
    workers.progress = messages.append
    start = start_and_kill(workers, 1, at={100, 600})
    xr.testing.assert_identical(sample_on(workers, design, start), here)
    assert any(message.endswith("lost: built again") for message in messages)


@pytest.mark.slow
def test_a_fit_whose_workers_are_all_lost_ends_with_their_error(workers, design, monkeypatch):
    monkeypatch.setattr(module, "MAX_LOSSES", 1)
    start = start_and_kill(workers, 2, at={100})
    with pytest.raises(ClusterError, match="no part was computed; they may lack memory"):
        sample_on(workers, design, start)

"""Threads follow the processors of the process; no result depends on their number."""

import os
import threading
import warnings

import numpy as np
import pytest
import xarray as xr

from sharpbayes.execution import threads
from sharpbayes.execution.processors import CORES_VARIABLE
from sharpbayes.execution.tasks import IN_PROCESS, Execution, compute_parts, serial_map
from sharpbayes.execution.threads import run_both, thread_map, use_map
from sharpbayes.metrics.crowd import cohesion
from sharpbayes.metrics.stats.resampling import bootstrap
from sharpbayes.storage.results import save_results
from tests.kills import assert_same
from tests.shared_results import MAKERS


@pytest.fixture
def three_processors(monkeypatch):
    """A process that may use three of many processors, and the sizes of its thread pools."""
    sizes, pool = [], threads.ThreadPoolExecutor
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 5, 9}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.delenv(CORES_VARIABLE, raising=False)
    monkeypatch.setattr(
        threads, "ThreadPoolExecutor", lambda size: sizes.append(size) or pool(size)
    )
    return sizes


def test_blocks_of_resamples_and_of_pairs_take_one_thread_for_each_processor(three_processors):
    bootstrap(mean, VALUES, replicates=20, seed=1, dim="prompt", block=5)
    assert three_processors == [3]
    cohesion.thread_map(abs, [1])
    assert three_processors == [3, 3]


def test_a_mean_of_nothing_warns_on_no_thread():
    def mean_of_nothing(*_):
        return np.nanmean([np.nan])

    assert np.isnan(thread_map(mean_of_nothing, [1, 2, 3])).all()
    assert np.isnan(run_both(mean_of_nothing, mean_of_nothing)).all()
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        mean_of_nothing()


@pytest.mark.parametrize("text", ["MixedLM failed to converge", "The MLE may be on the boundary"])
def test_a_fit_without_convergence_warns_on_no_thread(text):
    """Filters belong to the process: what the fit has set is lost when the other task is left."""
    entered, turned_off, left = (threading.Event() for _ in range(3))

    def other():
        with warnings.catch_warnings():
            entered.set()
            turned_off.wait(10)
        left.set()

    def fit():
        entered.wait(10)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            turned_off.set()
            left.wait(10)
            warnings.warn(text, stacklevel=1)

    run_both(other, fit)
    assert left.is_set()
    with pytest.warns(UserWarning, match=text):
        warnings.warn(text, stacklevel=1)


VALUES = xr.DataArray(np.random.default_rng(1).normal(size=40), dims="prompt")


def mean(weights):
    return xr.Dataset({"mean": (weights * VALUES).sum("prompt") / weights.sum("prompt")})


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch):
    how = {"replicates": 900, "seed": 3, "dim": "prompt", "block": 200}
    results = []
    for number in (1, 2, 7):
        monkeypatch.setattr(threads, "cpu_count", lambda number=number: number)
        results.append(bootstrap(mean, VALUES, **how))
    with use_map(serial_map):
        results.append(bootstrap(mean, VALUES, **how))
    for result in results[1:]:
        xr.testing.assert_identical(result, results[0])


@pytest.mark.parametrize("name", ["measured_panel", "measured_crowd", "fitted_crowd"])
def test_whole_results_do_not_depend_on_the_number_of_threads(
    name, shared_results, tmp_path, monkeypatch
):
    """Shared results are those of one thread."""
    monkeypatch.setenv(CORES_VARIABLE, "3")
    save_results(MAKERS[name](), tmp_path / "r.nc")
    assert_same(tmp_path / "r.nc", shared_results(name))


@pytest.mark.parametrize("map_function", [serial_map, thread_map])
def test_results_are_in_order_and_reported_as_they_finish(map_function):
    finished = {}
    assert map_function(lambda x: x * x, range(9), done=finished.__setitem__) == [
        x * x for x in range(9)
    ]
    assert finished == {x: x * x for x in range(9)}


def test_two_tasks_run_at_once():
    meeting = threading.Barrier(2, timeout=10)
    both = run_both(lambda: meeting.wait() >= 0, lambda: meeting.wait() >= 0)
    assert both == (True, True)


def test_stored_parts_are_not_computed_again():
    class Kept(dict):
        put = dict.__setitem__

    calls, store = [], Kept()

    def task(number):
        calls.append(number)
        return {"n": np.array(number)}

    for _ in range(2):
        parts = compute_parts(task, {"a": 1, "b": 2}, Execution(store=store))
        assert [int(part["n"]) for part in parts] == [1, 2]
    assert calls == [1, 2]
    assert len(compute_parts(task, {"a": 1}, IN_PROCESS)) == 1
    assert calls == [1, 2, 1]

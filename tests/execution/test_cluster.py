"""Work on processes of Dask distributed: in order, told as it ends, and again if a worker dies."""

import os
import random
import re
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.calibration import calibrate, sampling_fit
from sharpbayes.errors import ClusterError
from sharpbayes.execution import cluster as module
from sharpbayes.execution.cluster import Cluster, cluster
from sharpbayes.execution.identity import COMPUTATION, computation
from sharpbayes.execution.tasks import Execution
from sharpbayes.execution.threads import use_map
from sharpbayes.metrics.stats.resampling import bootstrap
from sharpbayes.posterior import replicates
from sharpbayes.spec.load import load_study
from sharpbayes.spec.study import Sampler
from sharpbayes.workflows.fit import fit
from tests.bayes.conftest import crowd_ratings, model_of

LocalCluster = pytest.importorskip("distributed").LocalCluster


@pytest.fixture(scope="module")
def workers():
    with cluster("local:2") as connected:
        yield connected


def test_results_are_in_order_and_told(workers):
    reported = {}
    assert workers.map(lambda x: x * x, range(9), done=reported.__setitem__) == [
        x * x for x in range(9)
    ]
    assert reported == {x: x * x for x in range(9)}


def test_two_runs_of_one_machine_do_not_see_each_other(workers):
    """Dask's own server takes a fixed port and warns of a second one, which is an error here."""
    with cluster("local:1") as others:
        pages = [owner.client.cluster.scheduler.http_server for owner in (workers, others)]
        assert {page.address for page in pages} == {"127.0.0.1"}
        assert len({page.port for page in pages}) == 2
        assert others.map(abs, [-1]) == [1]


def test_a_worker_that_dies_is_survived(workers, tmp_path):
    marker, main_process = tmp_path / "died", os.getpid()

    def task(number):
        assert os.getpid() != main_process
        if number == 2 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number + 1

    assert workers.map(task, range(6)) == [1, 2, 3, 4, 5, 6]
    assert marker.exists()


class Client:
    """A scheduler whose workers and answers a test sets.

    ``workers`` are those of its answers in order; None is no answer. Each takes ``seconds``.
    """

    cluster = None

    def __init__(self, *, status="running", workers=(), answers=None, seconds=0.0):
        self.status, self.workers, self.answers = status, list(workers), answers or {}
        self.seconds = seconds

    def nthreads(self, *, callback_timeout):
        assert callback_timeout <= module.ANSWER_SECONDS
        time.sleep(self.seconds)
        if self.status == "silent":
            raise TimeoutError
        if not self.workers:
            return {}
        if (workers := self.workers.pop(0)) is None:
            raise OSError
        return dict.fromkeys(workers, 1)

    def run(self, function, *, workers, on_error):
        assert on_error == "return"
        return {worker: self.answers.get(worker, function()) for worker in workers}


@pytest.fixture
def soon(monkeypatch):
    """Nothing is waited for longer than a moment."""
    monkeypatch.setattr(module, "WAIT_SECONDS", 1)


@pytest.mark.parametrize(
    ("client", "lost", "awaited"),
    [
        (Client(), "no worker for 1 s", "a worker"),
        (Client(status="silent"), "scheduler does not answer for 1 s", "the scheduler"),
        (Client(status="connecting"), "scheduler does not answer for 1 s", "the scheduler"),
    ],
)
def test_a_cluster_without_workers_is_waited_for_and_told(soon, client, lost, awaited):
    messages = []
    with pytest.raises(ClusterError) as raised:
        Cluster(client, "tcp://x", messages.append).map(abs, [1])
    assert str(raised.value) == f"--cluster: tcp://x: {lost}"
    assert raised.value.exit_status == 5
    assert messages == [f"tcp://x: waiting for {awaited}, 1 s at most"]


def test_a_scheduler_lost_after_its_workers_is_told_too():
    messages = []
    Cluster(Client(workers=[(), None, (), None, ("w",)]), "x", messages.append).wait_for_workers()
    assert messages == [
        f"x: waiting for {who}, 30 s at most" for who in ("a worker", "the scheduler")
    ]


def test_a_scheduler_whose_silence_takes_all_of_the_time_is_told(monkeypatch):
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.01)
    messages = []
    with pytest.raises(ClusterError, match="scheduler does not answer"):
        Cluster(Client(status="silent", seconds=0.02), "x", messages.append).wait_for_workers()
    assert messages == ["x: waiting for the scheduler, 0.01 s at most"]


def test_workers_that_come_late_are_taken():
    messages = []
    Cluster(Client(workers=[(), (), ("w",)]), "tcp://x", messages.append).wait_for_workers()
    assert len(messages) == 1


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (computation() | {"code_sha256": "x"}, "computes by another state of the code"),
        (
            computation() | {"versions": "x", "instruction_set": "x"},
            "computes by another version of a library, instruction set",
        ),
        ({}, f"computes by another {', '.join(COMPUTATION.values())}"),
        (ImportError("No module named x"), "has no such sharpbayes: No module named x"),
    ],
)
def test_workers_that_compute_otherwise_are_refused(answer, complaint):
    client = Client(workers=[("good", "other")], answers={"other": answer})
    with pytest.raises(ClusterError) as raised:
        Cluster(client, "tcp://x").wait_for_workers()
    assert str(raised.value) == f"--cluster: tcp://x: worker other {complaint}"


def test_a_worker_that_dies_as_it_is_asked_is_asked_again_later():
    client = Client(workers=[("w",), ("w",)], answers={"w": OSError()})
    joined = Cluster(client, "tcp://x")
    joined.wait_for_workers()
    client.answers["w"] = {}
    with pytest.raises(ClusterError):
        joined.wait_for_workers()


def test_processes_tell_what_they_compute_with(workers, monkeypatch):
    def computation_here():
        return dict.fromkeys(COMPUTATION, str(os.getpid()))

    monkeypatch.setattr(module, "computation", computation_here)
    others = Cluster(workers.client, "local:2")
    with pytest.raises(ClusterError, match="computes by another algorithm, state of the code"):
        others.wait_for_workers()


def test_a_process_that_ended_is_replaced():
    scaled = []
    status = {0: "running", 1: "closed", 2: "failed"}
    processes = SimpleNamespace(
        workers={n: SimpleNamespace(status=SimpleNamespace(name=x)) for n, x in status.items()},
        worker_spec=dict.fromkeys(status),
        scale=scaled.append,
    )
    client = Client(workers=[("w",)])
    client.cluster = processes
    Cluster(client, "local:3").wait_for_workers()
    assert list(processes.workers) == [0]
    assert scaled == [3]


def test_a_scheduler_that_ends_in_the_middle_is_told(monkeypatch):
    """Its workers end before it, so that either may be missed, and waited for, first."""
    how = {"processes": False, "protocol": "tcp", "host": "127.0.0.1", "n_workers": 1}
    with LocalCluster(**how, threads_per_worker=1, scheduler_kwargs=module.NO_PAGE) as other:
        messages, ending = [], threading.Thread(target=other.close)

        def end_at_the_first(_number, _result):
            if not ending.ident:
                ending.start()

        with cluster(other.scheduler_address) as joined:
            joined.progress = messages.append
            joined.wait_for_workers()
            monkeypatch.setattr(module, "WAIT_SECONDS", 1)
            with pytest.raises(ClusterError) as raised:
                joined.map(time.sleep, [0.2] * 100, done=end_at_the_first)
        ending.join()
    lost = str(raised.value).removeprefix(f"--cluster: {other.scheduler_address}: ")
    awaited = {
        "no worker for 1 s": "a worker",
        "scheduler does not answer for 1 s": "the scheduler",
    }
    waiting = f"{other.scheduler_address}: waiting for {awaited[lost]}, 1 s at most"
    assert waiting in messages


def test_no_scheduler_at_all(soon):
    message = re.escape("--cluster: tcp://127.0.0.1:9: no scheduler answers")
    with pytest.raises(ClusterError, match=message), cluster("tcp://127.0.0.1:9"):
        pass


class Killer(threading.Thread):
    """Kills processes of a cluster every few seconds, one or both, after a task has ended.

    It is the store of the run too, so that it hears of tasks that end.
    """

    def __init__(self, workers, *, seconds):
        super().__init__(daemon=True)
        self.workers, self.seconds, self.kills = workers, seconds, 0
        self.ended, self.over = threading.Event(), threading.Event()

    def get(self, _name):
        return None

    def put(self, _name, _part):
        self.ended.set()

    def run(self):
        rng = random.Random(1)
        while not self.over.wait(self.seconds):
            if not self.ended.wait(0.1):
                continue
            self.ended.clear()
            processes = list(self.workers.client.cluster.workers.values())
            for process in rng.sample(processes, rng.randint(1, len(processes))):
                if process.pid:
                    os.kill(process.pid, signal.SIGKILL)
                    self.kills += 1


@pytest.mark.slow
def test_twenty_tasks_end_the_same_though_workers_are_killed_every_few_seconds():
    ratings = crowd_ratings(np.random.default_rng(5), items=8, raters=6)
    model = model_of(("item",), (["rater"], 1.0))
    sampler = Sampler(chains=2, tune=100, draws=100)
    sample = sampling_fit(ratings, model, sampler, execution=Execution(cores=1))

    def fit(design, seed):
        time.sleep(1.0)
        return sample(design, seed)

    design, how = build_design(ratings, model), {"simulations": 20, "seed": 3}
    with cluster("local:2") as workers:
        killer = Killer(workers, seconds=3)
        killer.start()
        execution = Execution(workers.map, killer)
        on_cluster = calibrate(design, ratings, model, sampler, execution=execution, fit=fit, **how)
        killer.over.set()
        killer.join()
    assert killer.kills >= 3
    in_process = calibrate(design, ratings, model, sampler, fit=sample, **how)
    xr.testing.assert_identical(on_cluster, in_process)


@pytest.mark.slow
def test_a_task_that_kills_every_worker_ends_the_run(monkeypatch):
    monkeypatch.setattr(module, "MAX_LOSSES", 1)
    main_process = os.getpid()

    def task(number):
        assert os.getpid() != main_process
        os.kill(os.getpid(), signal.SIGKILL)

    message = "workers were lost 1 times and no task ended; they may lack memory"
    with cluster("local:1") as workers, pytest.raises(ClusterError, match=message):
        workers.map(task, [1])


def test_resamples_are_the_same_bytes(workers):
    x = xr.DataArray(np.random.default_rng(1).normal(size=40), dims="prompt")

    def mean(weights):
        return xr.Dataset({"mean": (weights * x).sum("prompt") / weights.sum("prompt")})

    how = {"replicates": 900, "seed": 3, "dim": "prompt", "block": 200}
    in_process = bootstrap(mean, x, **how)
    with use_map(workers.map):
        xr.testing.assert_identical(bootstrap(mean, x, **how), in_process)


@pytest.mark.slow
def test_simulations_are_the_same_though_a_worker_dies(workers, tmp_path):
    ratings = crowd_ratings(np.random.default_rng(5), items=8, raters=6)
    sampler, marker, main_process = (
        Sampler(chains=2, tune=100, draws=100),
        tmp_path / "died",
        os.getpid(),
    )

    model = model_of(("item",), (["rater"], 1.0))
    sample = sampling_fit(ratings, model, sampler, execution=Execution(cores=1))

    def fit(design, seed):
        if os.getpid() != main_process and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return sample(design, seed)

    how = {"simulations": 6, "seed": 3, "fit": fit}
    design = build_design(ratings, model)
    on_cluster = calibrate(design, ratings, model, sampler, execution=Execution(workers.map), **how)
    assert marker.exists()
    xr.testing.assert_identical(on_cluster, calibrate(design, ratings, model, sampler, **how))


@pytest.mark.slow
def test_replications_are_the_same_bytes(workers):
    few = ("sampler.tune=60", "sampler.draws=60", "sampler.chains=2", "sampler.predictive_draws=40")
    files = load_study("quickstart_crowd", overrides=(*few, "crowd.permutations=10"))
    # Several blocks here and on the workers, each with random numbers of its own.
    usual = replicates.BLOCK_RATINGS
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(replicates, "BLOCK_RATINGS", 20_000)
        workers.client.run(setattr, replicates, "BLOCK_RATINGS", 20_000)
        in_process = fit(files)
        with use_map(workers.map):
            on_cluster = fit(files)
        workers.client.run(setattr, replicates, "BLOCK_RATINGS", usual)
    for name in in_process.children:
        xr.testing.assert_identical(
            in_process[name].to_dataset().drop_attrs(), on_cluster[name].to_dataset().drop_attrs()
        )

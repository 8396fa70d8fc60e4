"""Machine code before the first test, shared results, and the last lines of every test run."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sharpbayes.cli.startup import limit_blas_threads
from tests.shared_data import skipped_summary

ROOT = Path(__file__).parents[1]
KERNEL = ROOT / "sharpbayes" / "bayes" / "kernel"
COMPILE = "from tests.machine_code import {0}; {0}()"
# Where each part of a graph was made is of no use here, and a fifth of the time that it takes.
os.environ.setdefault("PYTENSOR_FLAGS", "traceback__limit=0")
# Tests run side by side, one process for each core. Threads of their own that compete for the same
# cores took a fifteenth of the time. Tests of threads say how many they start.
os.environ.setdefault("SHARPBAYES_CORES", "1")
# As in every command. Threads of linear algebra that wait for each other took a tenth of the time.
limit_blas_threads()


COMPILERS: list[subprocess.Popen] = []


def pytest_configure(config):
    """Begin to compile, in processes of their own, what has no machine code on disk yet.

    The last bits of compiled arithmetic depend on what a process compiled before. Tests compare
    runs of several processes to the last bit, so all of them must load one machine code, as all
    runs of a user do.
    """
    if not hasattr(config, "workerinput") and not is_compiled():
        # One beside the other, on two cores.
        code = [COMPILE.format(name) for name in ("compile_kernel", "compile_others")]
        commands = [[sys.executable, "-c", text] for text in code]
        COMPILERS.extend(subprocess.Popen(command, cwd=ROOT) for command in commands)


def await_machine_code():
    """Wait for what compiles. Tests are collected meanwhile, and none has begun."""
    while COMPILERS:
        assert COMPILERS.pop().wait() == 0


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished():
    """Hand out no test to processes before there is machine code."""
    await_machine_code()


def is_compiled():
    """Whether machine code on disk is newer than the sources of the kernel."""
    newest = max(path.stat().st_mtime for path in KERNEL.glob("*.py"))
    codes = ("logp_code", "constrain_code")
    cached = [
        max(
            (path.stat().st_mtime for path in KERNEL.glob(f"__pycache__/*.{code}.*.nbi")), default=0
        )
        for code in codes
    ]
    return min(cached) > newest


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    """Begin with machine code, and leave what is loaded out of collections of garbage.

    These took a tenth of the time of a run.
    """
    await_machine_code()
    align_exactly()
    gc.collect()
    gc.freeze()


def align_exactly():
    """Let arithmetic of arrays with unequal labels fail, which drops labels otherwise."""
    import xarray as xr  # noqa: PLC0415 - slow to load

    xr.set_options(arithmetic_join="exact")


@pytest.fixture(scope="module", autouse=True)
def freeze_objects():
    """Leave what a module of tests has loaded out of later collections of garbage too.

    statsmodels collects it in every correction, which took half a second late in a run.
    """
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Give the program as a function of its arguments, in an empty folder."""
    from typer.testing import CliRunner  # noqa: PLC0415 - slow to load

    from sharpbayes.cli.commands import app  # noqa: PLC0415 - slow to load

    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def without_figures(monkeypatch):
    """Make pages without figures, which take most of their time."""
    monkeypatch.setattr("sharpbayes.report.page.page_figures", lambda _: [])


@pytest.fixture(scope="session")
def shared_results(tmp_path_factory):
    """Give the file of results that many tests read, by its name in ``tests.shared_results``."""
    from tests.shared_results import (  # noqa: PLC0415 - slow to load
        shared_folder,
        stored_results,
    )

    folder = shared_folder(tmp_path_factory)
    return lambda name: stored_results(folder, name)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """Say below pytest's own summary which tests did not run because real ratings are missing."""
    yield
    write_skipped(terminalreporter)


def write_skipped(terminalreporter):
    """Write the line, and a rule above it, where tests were skipped."""
    line = skipped_summary(terminalreporter.stats.get("skipped", []))
    if line:
        terminalreporter.write_sep("=", "real ratings missing", yellow=True, bold=True)
        terminalreporter.write_line(line, yellow=True, bold=True)

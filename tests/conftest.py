"""Machine code before the first test, and the last lines of every test run."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared_data import skipped_summary

KERNEL = Path(__file__).parents[1] / "sharpbayes" / "bayes" / "kernel"
COMPILE = (
    "from sharpbayes.bayes.kernel import machine_code as code; "
    "code.logp_code(); code.constrain_code(); code.likelihood_code()"
)


def pytest_configure(config):
    """Compile the kernel in a process of its own, where its machine code is not on disk yet.

    The last bits of compiled arithmetic depend on what a process compiled before. Tests compare
    runs of several processes to the last bit, so all of them must load one machine code, as all
    runs of a user do.
    """
    if not hasattr(config, "workerinput") and not is_compiled():
        subprocess.run([sys.executable, "-c", COMPILE], check=True)


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

"""The last lines of every test run."""

import pytest

from tests.shared_data import skipped_summary


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

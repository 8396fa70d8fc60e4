"""The last lines of every test run."""

import pytest

from tests.shared_data import skipped_summary


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter):
    """Say which tests did not run because the real ratings are missing."""
    line = skipped_summary(terminalreporter.stats.get("skipped", []))
    if line:
        terminalreporter.write_sep("=", "real ratings missing", yellow=True, bold=True)
        terminalreporter.write_line(line, yellow=True, bold=True)

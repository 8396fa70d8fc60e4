"""Says at the end how many cases were tried and what came of them."""

import pytest

from tests.fuzz import outcomes

# A program of its own, which needs atheris; no test is in it.
collect_ignore = ["guided.py"]


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter):
    if outcomes.COUNT:
        counts = ", ".join(f"{name} {number}" for name, number in sorted(outcomes.COUNT.items()))
        terminalreporter.write_line(f"fuzz: {outcomes.COUNT.total()} outcomes: {counts}")

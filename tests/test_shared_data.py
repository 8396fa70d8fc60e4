"""A test run says loudly which tests it skipped for want of the real ratings."""

from types import SimpleNamespace

from tests import conftest
from tests.shared_data import REASON, needs_shared_data, skipped_summary


def skipped(name, reason):
    return SimpleNamespace(nodeid=name, longrepr=("file.py", 3, f"Skipped: {reason}"))


def test_the_summary_counts_by_file():
    reports = [
        skipped("tests/b/test_y.py::test_1", REASON),
        skipped("tests/a/test_x.py::test_2", REASON),
        skipped("tests/b/test_y.py::test_3", REASON),
        skipped("tests/c/test_z.py::test_4", "no browser"),
    ]
    assert skipped_summary(reports) == (
        "3 tests were skipped because ../shared/data is not there: "
        "1 in tests/a/test_x.py, 2 in tests/b/test_y.py"
    )
    assert skipped_summary(reports[3:]) is None
    assert needs_shared_data.kwargs["reason"] == REASON


def test_the_terminal_shows_it():
    lines = []
    reporter = SimpleNamespace(
        stats={"skipped": [skipped("tests/a.py::test_1", REASON)]},
        write_sep=lambda *_, **__: None,
        write_line=lambda line, **_: lines.append(line),
    )
    conftest.write_skipped(reporter)
    assert lines == ["1 test was skipped because ../shared/data is not there: 1 in tests/a.py"]
    reporter.stats = {}
    conftest.write_skipped(reporter)
    assert len(lines) == 1

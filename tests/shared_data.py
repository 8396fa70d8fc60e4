"""Real ratings in ``../shared/data``, beside the checkout; they are not part of the repository.

A test that needs them carries ``needs_shared_data``. Where the folder is missing these tests are
skipped, and the last lines of the test run say how many and which (``tests/conftest.py``).
"""

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"
REASON = "../shared/data is not there"
needs_shared_data = pytest.mark.skipif(not SHARED_DATA.is_dir(), reason=REASON)


def skipped_summary(reports):
    """One line that counts the tests that were skipped for want of the data, by file; or none.

    Args:
        reports: Pytest's reports of skipped tests.
    """
    files = [
        report.nodeid.split("::")[0] for report in reports if REASON in str(report.longrepr or "")
    ]
    if not files:
        return None
    counts = ", ".join(f"{files.count(name)} in {name}" for name in sorted(set(files)))
    noun = "test was" if len(files) == 1 else "tests were"
    return f"{len(files)} {noun} skipped because {REASON}: {counts}"

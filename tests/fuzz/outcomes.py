"""What may come of a file: success, or a documented exit with a message that names the place."""

import os
from collections import Counter

from hypothesis import HealthCheck, settings

from sharpbayes.errors import SharpbayesError

# Few cases in the suite, always the same; many new ones by
# `SHARPBAYES_FUZZ=20000 python -m pytest tests/fuzz`.
ASKED = int(os.environ.get("SHARPBAYES_FUZZ", "0"))
fuzzed = settings(
    max_examples=ASKED or 30,
    derandomize=not ASKED,
    deadline=120_000 if ASKED else 20_000,
    database=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)
COUNT = Counter()
# Longer than this nobody reads, and a log is flooded.
LONGEST = 20_000


def outcome(work, *, place):
    """Run; return what came of it, or None after one of the documented errors."""
    try:
        result, error = work(), None
    except SharpbayesError as raised:
        result, error = None, raised
    if error is not None:
        text = str(error)
        assert error.exit_status in {2, 3, 5}, text
        assert any(words in text for words in place), text
        assert len(text) < LONGEST, text[:200]
    COUNT["success" if error is None else f"exit {error.exit_status}"] += 1
    return result

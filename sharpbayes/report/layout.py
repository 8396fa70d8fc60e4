"""What kind of results a file holds, and one sentence where a part is missing."""

from collections.abc import Iterator
from contextlib import contextmanager

import xarray as xr

from sharpbayes.errors import StorageError, first_line

PANEL, CROWD = "panel", "crowd"
WEIGHED, COMPARISON, CALIBRATION, UNKNOWN = "weigh", "compare", "calibrate", "unknown"
_BY_GROUP = {
    "comparison": COMPARISON,
    "calibration": CALIBRATION,
    "profile": PANEL,
    "responsiveness": CROWD,
}


def results_kind(results: xr.DataTree) -> str:
    """Return what results hold: a study (``panel`` or ``crowd``), or the output of another command.

    >>> results_kind(xr.DataTree.from_dict({"/comparison": xr.Dataset()}))
    'compare'
    """
    if any("weights_sha256" in node.attrs for node in results.children.values()):
        return WEIGHED
    return next((kind for group, kind in _BY_GROUP.items() if group in results.children), UNKNOWN)


@contextmanager
def explain_missing(results: xr.DataTree) -> Iterator[None]:
    """Explain in one sentence that a part of the results is missing.

    Raises:
        StorageError: A group, a variable or an attribute is missing or has another form.
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        kind = f"{type(error).__name__}: {first_line(error)}"
        title = results.attrs.get("title", "")
        message = f"results of {title!r}: a part is missing or has another form"
        raise StorageError(f"{message} ({kind})") from error

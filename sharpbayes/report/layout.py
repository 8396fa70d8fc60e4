"""Results that are sealed as ours and yet lack what is told of them."""

from collections.abc import Iterator
from contextlib import contextmanager

import xarray as xr

from sharpbayes.errors import StorageError, first_line


@contextmanager
def as_written(results: xr.DataTree) -> Iterator[None]:
    """Say in one sentence that something that is told of results is not there.

    Raises:
        StorageError: A group, a variable or an attribute is missing or has another form.
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        kind = f"{type(error).__name__}: {first_line(error)}"
        title = results.attrs.get("title", "")
        message = f"results of {title!r}: what is told of them is not there or not in its form"
        raise StorageError(f"{message} ({kind})") from error

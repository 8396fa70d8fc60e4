"""The sampler's library, loaded without what it does not need."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any


def nutpie() -> ModuleType:
    """Return the module ``nutpie``; ArviZ, which it imports for its plots, loads on first use.

    ArviZ with its plots takes half a second and 40 MB. Draws are labelled here, not there.

    >>> nutpie().__name__
    'nutpie'
    """
    with _deferred("arviz"):
        import nutpie as library  # noqa: PLC0415 - imports PyMC
        import nutpie.compile_pymc  # noqa: PLC0415

    return library


@contextmanager
def _deferred(name: str) -> Iterator[None]:
    """Give whoever imports a module meanwhile one that loads when something of it is asked for."""
    if name in sys.modules:
        yield
        return

    def loaded(attribute: str) -> Any:
        return getattr(import_module(name), attribute)

    sys.modules[name] = stand_in = ModuleType(name)
    stand_in.__getattr__ = loaded  # type: ignore[method-assign]
    try:
        yield
    finally:
        # Nobody else meets it: the next import is of the module itself.
        del sys.modules[name]

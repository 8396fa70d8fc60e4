"""The sampler's library, loaded without what it does not need."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


def nutpie() -> ModuleType:
    """Return the module ``nutpie``; ArviZ, which it imports for its plots, loads on first use.

    ArviZ with its plots takes half a second and 40 MB. Draws are labelled here, not there.

    >>> nutpie().__name__
    'nutpie'
    """
    with _without_arviz():
        import nutpie as library  # noqa: PLC0415 - imports PyMC
        import nutpie.compile_pymc  # noqa: PLC0415

    return library


@contextmanager
def _without_arviz() -> Iterator[None]:
    """Give whoever imports ArviZ meanwhile a module that loads it when something is asked for."""
    if "arviz" in sys.modules:
        yield
        return
    sys.modules["arviz"] = stand_in = ModuleType("arviz")

    def loaded(attribute: str) -> Any:
        if sys.modules.get("arviz") is stand_in:
            del sys.modules["arviz"]
        import arviz  # noqa: PLC0415 - what all this puts off

        return getattr(arviz, attribute)

    stand_in.__getattr__ = loaded  # type: ignore[method-assign]
    try:
        yield
    finally:
        # Nobody else meets it: the next import is of ArviZ itself.
        if sys.modules.get("arviz") is stand_in:
            del sys.modules["arviz"]

"""The folder where numba keeps the machine code of the kernel, found without loading numba."""

import hashlib
import os
import sys
from pathlib import Path


def find_code_folder(sources: Path) -> Path:
    """Return where numba keeps machine code of the sources in a folder.

    It is a folder of ``NUMBA_CACHE_DIR`` where that is set, else the sources' own ``__pycache__``
    where it can be written, else a folder of the user's cache.
    """
    in_tree = sources / "__pycache__"
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen) / _name_folder(sources)
    if os.access(in_tree if in_tree.exists() else sources, os.W_OK):
        return in_tree
    return _find_user_cache() / _name_folder(sources)


def _name_folder(sources: Path) -> str:
    """Return the name that numba gives to a folder of machine code outside of the sources."""
    path = os.path.abspath(sources)  # noqa: PTH100 - as numba does; links stay
    return f"{sources.name}_{hashlib.sha1(path.encode(), usedforsecurity=False).hexdigest()}"


def _find_user_cache() -> Path:
    """Return numba's folder among the user's caches."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData/Local"), "numba", "Cache")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "numba"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "numba"

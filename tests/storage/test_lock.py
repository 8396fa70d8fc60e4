"""One lock for one path, on Unix and, with a stand-in of its module, on Windows."""

import importlib.util
import os
import sys
from types import ModuleType

import pytest

from sharpbayes.storage import lock as unix


@pytest.fixture
def windows(monkeypatch):
    """The module as Windows loads it; ``msvcrt`` locks by the number of the file."""
    locked, stand_in = {}, ModuleType("msvcrt")

    def locking(descriptor, mode, size):
        assert (mode, size) == (2, 1)
        inode = os.fstat(descriptor).st_ino
        if inode in locked.values():
            raise OSError(36, "Resource deadlock avoided")
        locked[descriptor] = inode

    def close(descriptor, close=os.close):
        locked.pop(descriptor, None)
        close(descriptor)

    stand_in.LK_NBLCK, stand_in.locking = 2, locking
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "msvcrt", stand_in)
        patched.setitem(sys.modules, "fcntl", None)
        patched.setattr(sys, "platform", "win32")
        spec = importlib.util.spec_from_file_location("lock_of_windows", unix.__file__)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    monkeypatch.setattr(os, "close", close)
    monkeypatch.setattr(os, "name", "nt")
    return module


@pytest.mark.parametrize("system", ["unix", "windows"])
def test_a_path_is_locked_once_and_free_afterwards(system, tmp_path, request):
    path = tmp_path / "x.lock"
    module = unix if system == "unix" else request.getfixturevalue("windows")
    for _ in range(2):
        with module.lock(path) as first, module.lock(path) as second:
            assert (first, second) == (True, False)
            assert path.is_file()
        assert not path.exists()


def test_a_lock_ends_with_an_error_too(tmp_path):
    path = tmp_path / "x.lock"
    with pytest.raises(ZeroDivisionError), unix.lock(path):
        raise ZeroDivisionError
    assert not path.exists()


def test_a_lock_that_cannot_be_opened(tmp_path):
    with pytest.raises(OSError, match="Is a directory"), unix.lock(tmp_path):
        pass

"""The folder of machine code is the one that numba takes, wherever it is told to keep it."""

import os
from pathlib import Path

import numba
import pytest
from numba.core.caching import InTreeCacheLocator, UserProvidedCacheLocator, UserWideCacheLocator

from sharpbayes.bayes.kernel import machine_code
from sharpbayes.bayes.kernel.code_folder import find_code_folder


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A folder of sources, with a file of which numba is asked."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "density.py").write_text("", encoding="utf-8")
    return tmp_path / "kernel"


def numba_folder(locator, sources):
    """Where a locator of numba keeps the code of a file of the sources."""
    found = locator.from_function(numba_folder, str(sources / "density.py"))
    return None if found is None else found.get_cache_path()


def test_it_is_the_folder_of_the_sources_where_that_can_be_written(sources):
    assert str(find_code_folder(sources)) == numba_folder(InTreeCacheLocator, sources)


def test_a_variable_names_another_one(sources, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    assert str(find_code_folder(sources)) == numba_folder(UserProvidedCacheLocator, sources)


@pytest.mark.parametrize("variable", ["XDG_CACHE_HOME", "HOME"])
def test_sources_that_cannot_be_written_have_a_folder_of_the_user(
    sources, tmp_path, monkeypatch, variable
):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv(variable, str(tmp_path / "user"))
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert str(find_code_folder(sources)) == numba_folder(UserWideCacheLocator, sources)


def test_it_is_the_folder_of_the_kernel():
    folder = machine_code.part_code().stats.cache_path
    assert str(find_code_folder(Path(machine_code.__file__).parent)) == folder

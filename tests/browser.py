"""Debian's ``chromium``, in which slow tests and pictures open pages."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright


@contextmanager
def open_chromium() -> Iterator[Browser]:
    """Open a browser without a window; FileNotFoundError where the machine has none."""
    place = shutil.which("chromium") or shutil.which("chromium-browser")
    if place is None:
        raise FileNotFoundError("no chromium on this machine; apt-get install chromium")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=place, args=["--no-sandbox"])
        yield browser
        browser.close()

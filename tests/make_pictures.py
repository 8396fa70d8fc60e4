"""Pictures of the home page: ``python -m tests.make_pictures [RESULTS]`` takes them again.

Without a results file it fits the good example of ``docs/reading.md``, which takes some minutes.
It needs Debian's ``chromium``.
"""

import io
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import xarray as xr
from PIL import Image
from playwright.sync_api import Page

from sharpbayes.report.page import write_html
from sharpbayes.storage.results import open_results
from tests.browser import open_chromium
from tests.make_reading import EXAMPLES, fit_example

ASSETS = Path(__file__).parents[1] / "docs" / "assets"
SCREEN = {"width": 1280, "height": 900}


def take(page: Page) -> dict[str, bytes]:
    """Take the first screen and the first figure of an open report."""
    screen = page.screenshot()
    return {"report": screen, "figure": page.locator("figure img").first.screenshot()}


def save_small(picture: bytes, path: Path) -> None:
    """Save a picture with 128 colours, which is a third of its size."""
    colours = Image.open(io.BytesIO(picture)).convert("RGB").quantize(128)
    colours.save(path, optimize=True)


def make_pictures(results: xr.DataTree, folder: Path) -> None:
    """Write both pictures into a folder."""
    with TemporaryDirectory() as place, open_chromium() as browser:
        file = write_html(results, Path(place) / "report.html")
        page = browser.new_page(viewport=SCREEN, color_scheme="light")
        page.goto(file.as_uri())
        for name, picture in take(page).items():
            save_small(picture, folder / f"{name}.png")


def main() -> None:
    """Take the pictures of the results named on the command line, or of the good example."""
    if len(sys.argv) > 1:
        make_pictures(open_results(sys.argv[1]), ASSETS)
        return
    with TemporaryDirectory() as folder:
        make_pictures(fit_example(EXAMPLES["good"], Path(folder)), ASSETS)


if __name__ == "__main__":
    main()

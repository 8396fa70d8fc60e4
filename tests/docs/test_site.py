"""The built site in a browser, Debian's ``chromium``; run with ``pytest -m slow``."""

import functools
import os
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser import open_chromium

pytestmark = pytest.mark.slow

CONFIG = Path(__file__).parents[2] / "docs" / "config" / "mkdocs.yml"
# One page of each kind: pictures, tables, code, generated parts, diagrams, notebooks.
PAGES = ["", "quickstart/", "tutorials/panel/", "metrics/", "metrics/cvar/", "related/"]
PAGES += ["reference/commands/", "models/judge_panel/", "architecture/", "glossary/"]
PAGES += [f"notebooks/{name}/" for name in ("sharp_on_a_panel", "swapping_weights")]
PAGES += ["notebooks/responsiveness_of_a_crowd/"]
WIDTHS = {"phone": 390, "desktop": 1280}


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and prints nothing."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Where the built site is served, on this machine alone."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    subprocess.run([*command, "-f", CONFIG, "-d", folder], check=True, env=environment)
    handler = functools.partial(Quiet, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser():
    with open_chromium() as opened:
        yield opened


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious_and_nothing_overflows(browser, address, name, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address + name)
    audit = Axe().run(page).response
    serious = [v for v in audit["violations"] if v["impact"] in {"serious", "critical"}]
    assert [(v["id"], v["nodes"][0]["html"]) for v in serious] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert [url for url in asked if not url.startswith((address, "data:"))] == []
    context.close()

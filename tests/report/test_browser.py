"""The report in a browser, Debian's ``chromium``; run with ``pytest -m slow``."""

import shutil

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from sharpbayes.report.page import write_html
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.measure import measure
from tests.make_docs import small_fits

pytestmark = pytest.mark.slow

WIDTHS = {"phone": 390, "desktop": 1280}


@pytest.fixture(scope="module")
def browser():
    place = shutil.which("chromium") or shutil.which("chromium-browser")
    if place is None:
        pytest.fail("no chromium on this machine; apt-get install chromium")
    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=place, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def fits():
    return small_fits()


@pytest.fixture(scope="module", params=["quickstart", "quickstart_crowd", "panel", "crowd"])
def page_file(request, tmp_path_factory, fits):
    """A page of what was measured, and of small fits, which have not converged."""
    results = fits.get(request.param)
    if results is None:
        results = measure(load_study(request.param, overrides=("bootstrap.replicates=100",)))
    return write_html(results, tmp_path_factory.mktemp("page") / "report.html")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_no_error_no_request_no_overflow(browser, page_file, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, said, asked = context.new_page(), [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page_file.as_uri())
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [page_file.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shown = page.evaluate("[...document.images].map(i => i.naturalWidth)")
    assert shown
    assert min(shown) > 100
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 29)"
    assert dark == (scheme == "dark")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_axe_finds_no_violation(browser, page_file, width, scheme):
    # Axe is put into the page as a script, which the page's own policy forbids.
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    page = context.new_page()
    page.goto(page_file.as_uri())
    found = Axe().run(page).response
    assert len(found["passes"]) > 10
    assert [(v["id"], v["impact"], v["nodes"][0]["html"]) for v in found["violations"]] == []
    context.close()


def test_the_keyboard_reaches_the_answer_and_every_wide_table(browser, page_file):
    page = browser.new_page()
    page.goto(page_file.as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the answer"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#answer"
    reached = page.evaluate("[...document.querySelectorAll('.wide')].every(e => e.tabIndex === 0)")
    assert reached
    page.close()


def test_it_prints(browser, page_file, tmp_path):
    page = browser.new_page()
    page.goto(page_file.as_uri())
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert page.pdf().startswith(b"%PDF")
    page.close()

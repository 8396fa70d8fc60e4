"""The report in a browser, Debian's ``chromium``; run with ``pytest -m slow``."""

from contextlib import contextmanager
from itertools import combinations

import pytest
from axe_playwright_python.sync_playwright import Axe

from sharpbayes.report.claims import NO_RECOMMENDATION
from sharpbayes.report.page import write_html
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.fit import fit
from sharpbayes.workflows.measure import measure
from sharpbayes.workflows.weigh import named_weights, weigh
from tests.browser import open_chromium
from tests.make_docs import small_fits
from tests.panels import files_of, frame

pytestmark = pytest.mark.slow

WIDTHS = {"phone": 390, "desktop": 1280}


@pytest.fixture(scope="module")
def browser():
    with open_chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def fits():
    fits = small_fits()
    converged = fits["panel"].copy()
    converged.attrs["status"] = "fitted"
    return fits | {"converged": converged}


PAGES = ("quickstart", "quickstart_crowd", "panel", "crowd", "converged")


@pytest.fixture(scope="module", params=PAGES)
def page_file(request, tmp_path_factory, fits):
    """A page of what was measured, and of small fits, which have not converged but for one."""
    results = fits.get(request.param)
    if results is None:
        results = measure(load_study(request.param, overrides=("bootstrap.replicates=100",)))
    return write_html(results, tmp_path_factory.mktemp("page") / "report.html")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_no_error_no_request_no_overflow(browser, page_file, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, messages, asked = context.new_page(), [], []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page_file.as_uri())
    assert messages == []
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
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    audit = Axe().run(page).response
    assert len(audit["passes"]) > 10
    assert [(v["id"], v["impact"], v["nodes"][0]["html"]) for v in audit["violations"]] == []
    context.close()


def test_a_link_to_a_table_opens_its_chapter(browser, page_file):
    page = browser.new_page()
    page.goto(page_file.as_uri())
    assert page.locator("details[open]").count() == 0
    page.locator("#answer figcaption a").click()
    assert page.locator("details[open]").count() == 1
    assert page.locator("#table-1").is_visible()
    page.close()


def test_the_keyboard_opens_chapters_and_reaches_every_wide_table(browser, page_file):
    page = browser.new_page()
    page.goto(page_file.as_uri())
    page.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("details[open]").count() == 1
    assert page.evaluate("[...document.querySelectorAll('.wide')].every(e => e.tabIndex === 0)")
    page.close()


def test_the_appendix_is_printed_after_the_decision(browser, page_file):
    page = browser.new_page()
    page.goto(page_file.as_uri())
    page.emulate_media(media="print")
    assert page.locator("#table-1").is_visible()
    pages = page.pdf(format="A4").count(b"/Type /Page\n")
    page.evaluate("document.querySelector('.appendix').remove()")
    decision = page.pdf(format="A4").count(b"/Type /Page\n")
    assert decision <= 2 < pages
    page.close()


# What a reader sets: values of inputs by the end of their id, True and False of the checkbox.
SETTINGS = {
    "as the study": {},
    "policy": {"policy-0": "70", "policy-1": "5.5", "policy-2": "0", "by": "policy_score"},
    "tolerance": {"tolerance": "9.25", "alpha": "0"},
    "worst dimension": {"alpha": "2", "by": "worst_dimension", "tolerance": "4"},
    "none admissible": {"tolerance": "0.001"},
}


@pytest.fixture
def by_hand(browser, fits, tmp_path):
    """The page of a fit with the section of weights by hand, and what its console says."""
    with open_by_hand(browser, fits["converged"], tmp_path) as page:
        yield page


@contextmanager
def open_by_hand(browser, results, folder):
    """Open the section of weights by hand on the page of these results."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page, messages = context.new_page(), []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto(write_html(results, folder / "report.html").as_uri())
    page.locator("#by-hand > summary").click()
    yield page
    assert messages == []
    context.close()


def set_by_hand(page, settings):
    for name, value in settings.items():
        control = page.locator(f"#by-hand-{name}")
        if name in {"by", "moved"}:
            control.select_option(value)
        else:
            control.fill(value)


def shown_table(page):
    """Return the numbers of every row in full, by model."""
    return page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('#by-hand-table tbody tr')].map(r => "
        "[r.cells[0].textContent, [...r.querySelectorAll('data')].map(d => Number(d.value))]))"
    )


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_weights_by_hand_are_what_weigh_says(by_hand, fits, settings, tmp_path):
    set_by_hand(by_hand, settings)
    assert_weigh_agrees(by_hand, fits["converged"], tmp_path)


MODEL = """schema = "sharpbayes/model/2"
title = "Models, prompts and judges"
location = [{ by = ["model"] }, { by = ["prompt"] }, { by = ["judge"] }]
"""
KINDS = ("age", "law", "race")
POPULATION = "[population.category]\nage = 0.3\nrace = 0.5\nlaw = 0.2\n"
SHARES = {
    "as the study": {},
    "moved": {"moved": "0", "share": "3", "tolerance": "4"},
    "by policy": {"moved": "2", "share": "3", "by": "policy_score", "policy-0": "90"},
    "worst dimension, none": {"moved": "1", "share": "0", "by": "worst_dimension"},
}


@pytest.fixture(scope="module")
def populated(tmp_path_factory):
    """A small fit under weights with shares of categories, as if it had converged."""
    base = tmp_path_factory.mktemp("populated")
    (base / "model.toml").write_text(MODEL, encoding="utf-8")
    few = ("sampler.tune=60", "sampler.draws=50", "sampler.chains=2", "sampler.predictive_draws=40")
    parts = {"roles": ', category = "kind"', "panel": 'fit = "./model.toml"'}
    table = frame()
    table["kind"] = [KINDS[int(name[1:]) % 3] for name in table["prompt"]]
    results = fit(files_of(base, table, **parts, weights=POPULATION, overrides=few))
    results.attrs["status"] = "fitted"
    return results


@pytest.mark.parametrize("settings", SHARES.values(), ids=SHARES)
def test_shares_by_hand_are_what_weigh_says(browser, populated, settings, tmp_path):
    with open_by_hand(browser, populated, tmp_path) as page:
        set_by_hand(page, settings)
        assert page.locator("#by-hand-alpha").is_disabled() == bool(settings)
        assert_weigh_agrees(page, populated, tmp_path)
        page.get_by_role("button", name="Reset to the weights of the study").click()
        assert page.locator("#by-hand-share + output").inner_text() == "age 30%, race 50%, law 20%"


def test_the_section_with_shares_has_no_serious_fault(browser, populated, tmp_path):
    with open_by_hand(browser, populated, tmp_path) as page:
        page.locator("#by-hand-moved").select_option("0")
        violations = Axe().run(page).response["violations"]
        assert not [
            fault["id"] for fault in violations if fault["impact"] in {"serious", "critical"}
        ]


@pytest.fixture(scope="module")
def populated_crowd():
    """A small fit of a crowd under shares of two genders, as if it had converged."""
    few = ("sampler.tune=60", "sampler.draws=50", "sampler.chains=2", "sampler.predictive_draws=40")
    more = ("bootstrap.replicates=5", "crowd.permutations=0", 'weights="population_us"')
    results = fit(load_study("quickstart_crowd", overrides=(*few, *more)))
    results.attrs["status"] = "fitted"
    return results


@pytest.mark.parametrize("share", [None, "1", "4"])
def test_shares_of_a_crowd_by_hand_are_what_weigh_says(browser, populated_crowd, share, tmp_path):
    with open_by_hand(browser, populated_crowd, tmp_path) as page:
        if share is not None:
            set_by_hand(page, {"moved": "0", "share": share})
        page.get_by_role("button", name="Copy as TOML").click()
        page.get_by_text("Copied.").wait_for()
        path = tmp_path / "by_hand.toml"
        path.write_text(page.evaluate("navigator.clipboard.readText()"), encoding="utf-8")
        shown = shown_table(page)
        page.get_by_role("button", name="Reset to the shares of the study").click()
        text = page.locator("#by-hand-share + output").inner_text()
        assert text == "gender=Woman 50.9%, gender=Man 49.1%"
        page.locator("#by-hand-moved").select_option("0")
        violations = Axe().run(page).response["violations"]
        assert not [
            fault["id"] for fault in violations if fault["impact"] in {"serious", "critical"}
        ]
    weighed = weigh(populated_crowd, named_weights([str(path)]))["by_hand"]
    groups = [
        weighed[f"{prefix}responsiveness_population"].to_dataset().sel(by="all")
        for prefix in ("", "posterior_")
    ]
    for heading, name in (("MPA", "mpa"), ("WRA", "wra"), ("HM", "hm")):
        expected = [
            *(float(groups[0][name].sel(population=kind)) for kind in ("sample", "target")),
            float(groups[1][name].sel(population="target").median()),
        ]
        assert shown[heading] == pytest.approx(expected, rel=1e-6)


def assert_weigh_agrees(by_hand, results, tmp_path):
    """The numbers of the page are those of `weigh` under the weights that it copies."""
    by_hand.get_by_role("button", name="Copy as TOML").click()
    by_hand.get_by_text("Copied.").wait_for()
    path = tmp_path / "by_hand.toml"
    path.write_text(by_hand.evaluate("navigator.clipboard.readText()"), encoding="utf-8")
    weighed = weigh(results, named_weights([str(path)]))["by_hand"]
    decision, profile = weighed["decision"].to_dataset(), weighed["profile"].to_dataset()
    order = [str(name) for name in decision.sortby("expected_loss")["model"].to_numpy()]
    selected = [name for name in order if decision["selected"].sel(model=name)]
    rows = {name.removesuffix(" (selected)"): row for name, row in shown_table(by_hand).items()}
    assert list(rows) == order
    assert [name for name in shown_table(by_hand) if "selected" in name] == [
        f"{name} (selected)" for name in selected
    ]
    worst = profile["dimension_cvar"].max("dimension")
    for name, row in rows.items():
        expected = [
            *(decision[key].sel(model=name) for key in ("prob_best", "prob_admissible")),
            decision["expected_loss"].sel(model=name),
            *(values.sel(model=name) for values in (profile["cvar"], worst)),
            profile["policy_score"].sel(model=name),
        ]
        without_median = [*row[:3], *row[4:]]
        assert without_median == pytest.approx(list(map(float, expected)), rel=1e-6, nan_ok=True)
    status = by_hand.locator("#by-hand-status").inner_text()
    choice = status.removeprefix(f"{NO_RECOMMENDATION} ")
    assert choice.startswith(f"Selected: {selected[0]}." if selected else "No model is admissible.")
    assert " < ".join(order) in status
    for a, b in combinations(order, 2):
        unresolved = bool(decision["unresolved"].sel(model=a, other=b))
        assert (f"{a} and {b}" in status) == unresolved


def test_weights_are_renormalised_in_sight_and_reset(by_hand):
    before = shown_table(by_hand)
    set_by_hand(by_hand, SETTINGS["policy"])
    shares = by_hand.locator("#by-hand fieldset").first.locator("output").all_inner_texts()
    assert shares == ["69.7%", "5.5%", "0.0%", "24.9%"]
    assert shown_table(by_hand) != before
    set_by_hand(by_hand, {f"policy-{number}": "0" for number in range(4)})
    copy = by_hand.get_by_role("button", name="Copy as TOML")
    assert copy.is_disabled()
    status = by_hand.locator("#by-hand-status")
    assert status.inner_text() == "One dimension must be worth more than 0."
    by_hand.get_by_role("button", name="Reset to the weights of the study").click()
    assert shown_table(by_hand) == before
    assert copy.is_enabled()


def test_the_keyboard_moves_a_slider_and_its_number(by_hand):
    slider = by_hand.locator("#by-hand input[type=range]").first
    slider.focus()
    by_hand.keyboard.press("ArrowRight")
    assert by_hand.locator("#by-hand-policy-0").input_value() == "26"
    alpha = by_hand.locator("#by-hand-alpha")
    alpha.focus()
    by_hand.keyboard.press("ArrowLeft")
    assert alpha.get_attribute("aria-valuetext") == "0.9: the worst 10%, 3 of 30 prompts"


def test_no_probability_is_called_0_or_1(by_hand):
    by_hand.locator("#by-hand-tolerance").fill("0.001")
    cells = by_hand.locator("#by-hand-table td:nth-child(3)").all_inner_texts()
    assert cells == ["<0.01"] * 4


def test_a_moved_tolerance_is_in_force(by_hand):
    assert not by_hand.locator("#by-hand-tolerated").is_checked()
    by_hand.locator("#by-hand-tolerance").fill("9")
    assert by_hand.locator("#by-hand-tolerated").is_checked()
    by_hand.locator("#by-hand-tolerated").uncheck()
    assert "[tolerance]" not in by_hand.locator("#by-hand-toml").input_value()


def test_the_section_does_not_print(by_hand):
    by_hand.emulate_media(media="print")
    assert not by_hand.locator("#by-hand").is_visible()

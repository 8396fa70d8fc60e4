"""The report as text: whole, escaped, marked up for screen readers."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
import xarray as xr

from sharpbayes import library
from sharpbayes.errors import StorageError
from sharpbayes.report import chapters as report_chapters
from sharpbayes.report import page as report_page
from sharpbayes.report.chapters import build_chapters
from sharpbayes.report.figures.catalogue import page_figures
from sharpbayes.report.page import page_text, write_html
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.report.tables.table import Chapter, Table
from sharpbayes.report.terms import Definitions
from sharpbayes.storage.results import open_results
from tests.panels import frame, measured

NASTY = '<script>alert("1")</script>&\'"'
VOID = {"meta", "link", "img", "input", "br"}


class Page(HTMLParser):
    """Tags with their attributes, in order; fails where they are not nested."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.open, self.text = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


@pytest.fixture(scope="module")
def panel(tmp_path_factory):
    table = frame(models=3, prompts=12)
    table["model"] = table["model"].replace("m1", NASTY)
    results = measured(tmp_path_factory.mktemp("panel"), table)
    results.attrs["title"] = f"Title {NASTY}"
    return results


@pytest.fixture(scope="module")
def crowd(shared_results):
    return open_results(shared_results("measured_crowd"))


@pytest.fixture(scope="module", params=["panel", "crowd"])
def results(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def figures(results):
    return page_figures(results)


@pytest.fixture(scope="module")
def text(results, figures):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(report_page, "page_figures", lambda _: figures)
        return page_text(results)


@pytest.fixture
def page(text):
    return Page(text)


def test_every_table_is_on_the_page_cell_by_cell(results, page):
    texts = set(page.text)
    groups = set(results["responsiveness"]["group"].to_numpy()) if "items" in results else set()
    for table in report_tables(results):
        assert {cell for row in table.rows for cell in row if cell} - groups <= texts


def test_tables_are_numbered_and_name_their_place_in_the_paper(text):
    captions = re.findall("<caption[^>]*>(Table.*?)</caption>", text)
    assert [int(re.match(r"Table (\d+)\. ", text)[1]) for text in captions] == [
        *range(1, len(captions) + 1)
    ]
    ends = ("tail risk first (SHARP, Table 1)", "(Responsiveness paper, Figure 2)")
    assert any(caption.endswith(ends) for caption in captions)


@pytest.mark.usefixtures("without_figures")
def test_names_between_backticks_are_code(monkeypatch, panel):
    sentence = "Fit `crowd_careless` & <see>."
    monkeypatch.setattr(report_page.summary, "failed", lambda _: [sentence])
    text = page_text(panel)
    assert "<li>Fit <code>crowd_careless</code> &amp; &lt;see&gt;.</li>" in text


@pytest.mark.usefixtures("without_figures")
def test_weights_name_their_source(panel):
    results = panel.copy()
    results.attrs["weights"] = library.find("weights", "sharp").read_text("utf-8")
    text = " ".join(Page(page_text(results, script=False)).text)
    assert "Source: SHARP, Appendix A.2.1 for the coefficients" in text


def test_captions_of_wide_tables_stay_on_a_small_screen(text):
    small = text[text.index("@media (max-width: 36rem)") :]
    assert "caption { max-width: 80vw; position: sticky; left: 0; }" in small


def test_groups_stand_under_their_grouping_without_its_columns(crowd):
    html = build_chapters(crowd, [], Definitions())[0].tables[0].html
    table = html[: html.index("</table>")]
    rows = re.findall(r'<th scope="row(?:group" colspan="\d+)?">(.*?)</th>', table)
    assert rows[:4] == ["all raters", "gender", "Man", "Woman"]
    assert rows[rows.index("gender, age") + 1] == "Man, GenX"


def test_a_note_does_not_repeat_what_stands_under_an_earlier_table(monkeypatch, panel):
    notes = ["One. Two.", "Two. Three.", "One. Two.", "Four.", "One. Three."]
    tables = [Table(str(n), ("x",), (("1",),), text) for n, text in enumerate(notes)]
    elsewhere = Table("4", ("x",), (("1",),), "One.", chapter=Chapter.FIT)
    monkeypatch.setattr(report_chapters, "report_tables", lambda _: [*tables, elsewhere])
    chapters = build_chapters(panel, [], Definitions())
    shown = [re.findall('"note">(.*?)<', table.html) for c in chapters for table in c.tables]
    assert shown == [
        ["One. Two."],
        ["Three. See also the note under Table 1."],
        ["As in the note under Table 1."],
        ["Four."],
        ["As in the notes under Tables 1 and 2."],
        ["One."],
    ]


def test_the_first_screen_has_answer_lights_figure_and_terms(text):
    first = text[text.index('id="answer"') : text.index('id="question"')]
    assert first.count("<li class=") == 4
    assert re.findall(r"<strong>(.*?):</strong> <b>(.*?)</b>", first)[2] == (
        "The fit describes the ratings",
        "not known",
    )
    assert first.count("<img") == 1
    assert "<dfn>bootstrap</dfn>" in first
    assert text.count("<dfn>bootstrap</dfn>") == 1


def test_chapters_are_folded_and_the_parameters_are_last(page):
    assert len(page.all("details")) > 5
    assert not any("open" in attrs for attrs in page.all("details"))


def test_strings_of_data_and_study_are_escaped(results, page, text):
    assert NASTY not in text
    if "panel" in results:
        assert "&lt;script&gt;" in text
        assert NASTY in page.text


def test_tags_nest_and_names_are_unique(page):
    assert page.open == []
    names = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(names) == len(set(names))
    targets = {attrs["href"].removeprefix("#") for attrs in page.all("a")}
    targets |= {attrs["aria-labelledby"] for _, attrs in page.tags if "aria-labelledby" in attrs}
    assert targets <= set(names)


def test_nothing_is_loaded(page):
    addresses = [a[key] for _, a in page.tags for key in ("src", "href", "action") if key in a]
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert not [a for _, a in page.tags for key in a if key.startswith("on") or key == "style"]


def test_only_weights_by_hand_run_and_the_policy_names_their_digest(results, page, text):
    policy = page.all("meta")[2]["content"]
    if "panel" not in results:
        assert not page.all("script")
        assert "script-src" not in policy
        return
    assert page.all("script") == [{"type": "application/json", "id": "by-hand-data"}, {}]
    script = re.search("<script>(.*?)</script>", text, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"; script-src 'sha256-{digest}';" in policy


def test_the_policy_names_the_digest_of_the_style(text):
    style = re.search("<style>(.*?)</style>", text, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = Page(text).all("meta")[2]["content"]
    assert f"style-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_a_screen_reader_finds_its_way(page):
    names = [tag for tag, _ in page.tags]
    assert [names.count(tag) for tag in ("header", "main", "footer", "h1")] == [1] * 4
    assert names.count("caption") == names.count("table") > 5
    assert {attrs.get("scope") for attrs in page.all("th")} == {"col", "row", "rowgroup"}
    assert page.all("img")
    assert all(attrs["alt"] for attrs in page.all("img"))


def test_a_figure_is_followed_by_the_table_of_its_data(results, figures):
    chapters = build_chapters(results, figures, Definitions())
    shown = [(f, table) for c in chapters for table in c.tables for f in table.figures]
    assert len(shown) == len(figures) > 2
    assert all(table.name == figure.table for figure, table in shown)


@pytest.mark.usefixtures("without_figures")
def test_failed_checks_stand_with_the_answer(crowd):
    failing = crowd.copy()
    failing["checks"] = xr.DataTree()
    failing["checks"].attrs["failed_checks"] = f"Fails {NASTY}"
    page = Page(page_text(failing))
    assert page.text.index(f"Fails {NASTY}") < page.text.index("The question")


def test_long_tables_are_cut_and_say_so(crowd, monkeypatch):
    monkeypatch.setattr(report_chapters, "MAX_ROWS", 5)
    chapters = build_chapters(crowd, [], Definitions())
    assert "7 more rows are in the files" in chapters[0].tables[0].html


def test_equal_results_give_equal_pages_below_three_megabytes(results, text):
    assert page_text(results) == text
    assert len(text.encode()) < 3_000_000


def test_a_page_that_cannot_be_written_is_a_fault_of_files(crowd, tmp_path, monkeypatch):
    monkeypatch.setattr(report_page, "page_text", lambda *_, **__: "")
    with pytest.raises(StorageError, match="cannot write report"):
        write_html(crowd, tmp_path / "nowhere" / "r.html")

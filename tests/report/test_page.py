"""The report as text: whole, escaped, marked up for screen readers."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import xarray as xr

from sharpbayes.errors import StorageError
from sharpbayes.report import page as report_page
from sharpbayes.report.figures.catalogue import page_figures
from sharpbayes.report.figures.panel import profile_intervals
from sharpbayes.report.page import page_text, write_html
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.measure import measure
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
def crowd():
    few = ("bootstrap.replicates=60", "crowd.permutations=99")
    return measure(load_study("quickstart_crowd", overrides=few))


@pytest.fixture(params=["panel", "crowd"])
def results(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def page(results):
    return Page(page_text(results))


def test_every_table_is_on_the_page_cell_by_cell(results, page):
    said = set(page.text)
    for table in report_tables(results):
        assert table.title in said
        assert {cell for row in table.rows for cell in row if cell} <= said


def test_strings_of_data_and_study_are_escaped(panel):
    text = page_text(panel)
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert NASTY in Page(text).text


def test_tags_nest_and_names_are_unique(page):
    assert page.open == []
    names = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(names) == len(set(names))
    targets = {attrs["href"].removeprefix("#") for attrs in page.all("a")}
    targets |= {attrs["aria-labelledby"] for _, attrs in page.tags if "aria-labelledby" in attrs}
    assert targets <= set(names)


def test_nothing_is_loaded_and_nothing_runs(page):
    addresses = [a[key] for _, a in page.tags for key in ("src", "href", "action") if key in a]
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert not page.all("script")
    assert not [a for _, a in page.tags for key in a if key.startswith("on") or key == "style"]


def test_the_policy_names_the_digest_of_the_style(results):
    text = page_text(results)
    style = re.search("<style>(.*?)</style>", text, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = Page(text).all("meta")[2]["content"]
    assert f"style-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_a_screen_reader_finds_its_way(page):
    names = [tag for tag, _ in page.tags]
    assert [names.count(tag) for tag in ("header", "main", "footer", "h1", "nav")] == [1] * 5
    assert names.count("caption") == names.count("table") > 5
    assert all(attrs.get("scope") in ("col", "row") for attrs in page.all("th"))
    assert page.all("img")
    assert all(attrs["alt"] for attrs in page.all("img"))
    assert page.all("a")[0] == {"class": "skip", "href": "#answer"}


def test_a_figure_is_followed_by_the_table_of_its_data(results):
    titles = {table.title: table.name for table in report_tables(results)}
    shown = [
        (figure, table)
        for chapter in report_page.chapters(results)
        for table in chapter.tables
        for figure in table.figures
    ]
    assert len(shown) == len(page_figures(results)) > 2
    assert all(titles[table.title] == figure.table for figure, table in shown)


def test_the_answer_and_failed_checks_stand_before_all_tables(crowd):
    failing = crowd.copy()
    failing["checks"] = xr.DataTree()
    failing["checks"].attrs["failed_checks"] = f"Fails {NASTY}"
    page = Page(page_text(failing))
    assert page.text.index(f"Fails {NASTY}") < page.text.index("The question")
    assert "No check failed." not in page.text
    assert "No check failed." in Page(page_text(crowd)).text


def test_long_tables_are_cut_and_say_so(crowd, monkeypatch):
    monkeypatch.setattr(report_page, "MOST_ROWS", 5)
    assert "7 more rows are in the files" in " ".join(Page(page_text(crowd)).text)


def test_the_bootstrap_interval_of_each_model_is_drawn(panel):
    axes = profile_intervals(panel).axes[0]
    order = panel["profile"].to_dataset().sortby("cvar")["model"].to_numpy()
    drawn = [[x for x, _ in segment] for segment in axes.collections[0].get_segments()]
    bounds = panel["profile_interval"]["cvar"].sel(model=order).transpose("model", "bound")
    np.testing.assert_allclose(drawn, bounds.to_numpy()[~np.isnan(bounds).any("bound")])


def test_equal_results_give_equal_pages_below_three_megabytes(results):
    assert page_text(results) == page_text(results)
    assert len(page_text(results).encode()) < 3_000_000


def test_a_page_that_cannot_be_written_is_a_fault_of_files(crowd, tmp_path):
    with pytest.raises(StorageError, match="cannot write report"):
        write_html(crowd, tmp_path / "nowhere" / "r.html")

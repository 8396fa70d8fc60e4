"""Tables as HTML: a first column that repeats its texts becomes headings."""

import re

from sharpbayes.report.tables.html import as_html
from sharpbayes.report.tables.table import Table

GROUPED = (("", "all", "3"), ("gender", "Man", "1"), ("gender", "Woman", "2"))


def test_rows_of_one_first_text_stand_under_it():
    html = as_html(Table("T", ("grouping", "group", "raters"), GROUPED))
    assert re.findall("<th scope=.*?</th>", html) == [
        '<th scope="col">group</th>',
        '<th scope="col" class="number">raters</th>',
        '<th scope="row">all</th>',
        '<th scope="rowgroup" colspan="2">gender</th>',
        '<th scope="row">Man</th>',
        '<th scope="row">Woman</th>',
    ]
    assert html.count("<tbody>") == 2


def test_texts_that_differ_stay_a_column():
    html = as_html(Table("T", ("model", "n"), (("a", "1"), ("b", "1"))))
    assert "rowgroup" not in html
    assert html.count("<tbody>") == 1
    assert '<td colspan="2">None.</td>' in as_html(Table("T", ("model", "n"), ()))

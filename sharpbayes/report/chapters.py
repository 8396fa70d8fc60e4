"""Tables and figures -> the chapters of the page: numbered, each note and each term once."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby

import xarray as xr

from sharpbayes.errors import join_names
from sharpbayes.report.figures.catalogue import PageFigure
from sharpbayes.report.layout import group_names
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.report.tables.html import as_html
from sharpbayes.report.tables.table import Chapter, Table
from sharpbayes.report.terms import Definitions, Term

# Rows of a table on the page; all of them are in the files of --tables.
MAX_ROWS = 150
CHAPTERS = list(Chapter)
# What a title says of the paper, and the end of a sentence in a note.
PAPER = re.compile(r"^(?:Tables?|Section|Appendix) [^:]+: ")
SENTENCE_END = re.compile(r"(?<=[.?]) (?=[A-Z*\d])")


@dataclass(frozen=True)
class PageTable:
    """A table of the page with the figures above it that show its data."""

    name: str
    number: int
    html: str
    figures: list[PageFigure]


@dataclass(frozen=True)
class PageChapter:
    """A chapter of the page with the terms that it is the first to use."""

    anchor: str
    heading: str
    terms: list[Term]
    tables: list[PageTable]

    @property
    def contents(self) -> str:
        """How many tables and figures it has."""
        figures = sum(len(table.figures) for table in self.tables)
        counts = ((len(self.tables), "table"), (figures, "figure"))
        return ", ".join(f"{n} {noun}{'s' * (n > 1)}" for n, noun in counts if n)


@dataclass
class _Notes:
    """The sentences of notes under the tables of a chapter, each with the number of its table."""

    numbers: dict[str, int] = field(default_factory=dict)

    def shorten(self, note: str, number: int) -> str:
        """Return a note without what stands under an earlier table, and where that is."""
        sentences = [text for text in SENTENCE_END.split(note) if text]
        earlier = {self.numbers[text] for text in sentences if text in self.numbers}
        fresh = [text for text in sentences if text not in self.numbers]
        self.numbers.update(dict.fromkeys(fresh, number))
        also = [f"{'See also' if fresh else 'As in'} {_name_notes(earlier)}."]
        return " ".join([*fresh, *also * bool(earlier)])


def _name_notes(numbers: Iterable[int]) -> str:
    """Return the notes under tables with these numbers.

    >>> _name_notes({1}), _name_notes({3, 1})
    ('the note under Table 1', 'the notes under Tables 1 and 3')
    """
    names = [str(number) for number in sorted(numbers)]
    return (
        f"the note{'s' * (len(names) > 1)} under Table{'s' * (len(names) > 1)} {join_names(names)}"
    )


def build_chapters(
    results: xr.DataTree, figures: Iterable[PageFigure], definitions: Definitions
) -> list[PageChapter]:
    """Return every table with its figures, in the order of the page; a term is defined once."""
    tables = sorted(report_tables(results), key=lambda table: CHAPTERS.index(table.chapter))
    above: dict[str, list[PageFigure]] = {}
    for figure in figures:
        above.setdefault(figure.table, []).append(figure)
    numbered = [
        (number, table, above.pop(table.name, [])) for number, table in enumerate(tables, start=1)
    ]
    chapters, names = groupby(numbered, key=lambda member: member[1].chapter), group_names(results)
    return [
        _build_chapter(f"chapter-{position}", chapter, list(members), names, definitions)
        for position, (chapter, members) in enumerate(chapters, start=1)
    ]


def _build_chapter(
    anchor: str,
    chapter: Chapter,
    members: list[tuple[int, Table, list[PageFigure]]],
    names: Mapping[str, tuple[str, str]],
    definitions: Definitions,
) -> PageChapter:
    """One chapter."""
    notes, shown = _Notes(), []
    for number, table, figures in members:
        page_table = replace(
            _split_groups(table, names),
            title=_caption(table, number),
            note=notes.shorten(table.note, number),
            source="",
        )
        html = as_html(page_table, anchor=f"table-{number}", most_rows=MAX_ROWS)
        shown.append(PageTable(table.name, number, html, figures))
    texts = [text for _, table, _ in members for text in (table.title, *table.header, table.note)]
    return PageChapter(anchor, chapter.value, definitions.define(texts), shown)


def _caption(table: Table, number: int) -> str:
    """The number on this page, the title, the place in the paper, and whether to use the table."""
    source = f" ({table.source})" if table.source else ""
    mark = f" {table.mark}." if table.mark else ""
    return f"Table {number}.{mark} {PAPER.sub('', table.title)}{source}"


def _split_groups(table: Table, names: Mapping[str, tuple[str, str]]) -> Table:
    """A table of groups of raters with its groupings as a first column."""
    if table.header[0] != "group" or not any(names.get(row[0], ("",))[0] for row in table.rows):
        return table
    rows = tuple((*names.get(first, ("", first)), *rest) for first, *rest in table.rows)
    return replace(table, header=("grouping", *table.header), rows=rows)

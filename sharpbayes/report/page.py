"""Results -> one HTML file for a reader who decides: no script, no network, every text escaped."""

import base64
import hashlib
import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import xarray as xr

from sharpbayes.errors import StorageError
from sharpbayes.report import summary
from sharpbayes.report.figures.catalogue import PageFigure, page_figures
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.report.tables.renderer import as_html
from sharpbayes.report.tables.table import Chapter

# Rows of a table on the page; all of them are in the files of --tables.
MOST_ROWS = 150
CHAPTERS = list(Chapter)
FILES = ("study", "weights", "model")
UNUSABLE = "From a fit that has NOT CONVERGED: do not decide by these numbers."


@dataclass(frozen=True)
class PageTable:
    """A table of the page with the figures above it that show its data."""

    anchor: str
    title: str
    html: str
    figures: list[PageFigure]


@dataclass(frozen=True)
class PageChapter:
    """A chapter of the page."""

    anchor: str
    heading: str
    tables: list[PageTable]


def write_html(results: xr.DataTree, path: Path) -> Path:
    """Write results as one HTML file that needs nothing else; a file of this name is replaced."""
    text = page_text(results)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{path}: cannot write report: {error.strerror or error}") from error
    return path


def page_text(results: xr.DataTree) -> str:
    """Return results as the text of an HTML page.

    The page holds no script, and its policy allows no request: only its own style and images that
    it carries inside.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - slow to load

    loader = PackageLoader("sharpbayes.report")
    pages = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    style = loader.get_source(pages, "style.css.j2")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return pages.get_template("report.html.j2").render(
        style=style, style_digest=f"sha256-{digest}", **_content(results)
    )


def _content(results: xr.DataTree) -> dict[str, Any]:
    """Everything that the page says."""
    return {
        "title": results.attrs["title"],
        "status": results.attrs["status"],
        "created": results.attrs["created"],
        "answer": summary.answer(results),
        "failed": summary.failed(results),
        "remarks": summary.remarks(results),
        "limits": summary.limits(results),
        "question": list(_question(results)),
        "chapters": chapters(results),
        "provenance": list(_provenance(results)),
        "files": [(name, results.attrs[name]) for name in FILES if name in results.attrs],
    }


def chapters(results: xr.DataTree) -> list[PageChapter]:
    """Return every table and figure in order, under headings."""
    tables = sorted(report_tables(results), key=lambda table: CHAPTERS.index(table.chapter))
    figures, parts = page_figures(results), []
    for position, (chapter, members) in enumerate(groupby(tables, key=lambda t: t.chapter)):
        shown = []
        for number, table in enumerate(members):
            anchor = f"table-{position}-{number}"
            if chapter == Chapter.DECISION and results.attrs["status"] == "not converged":
                table = replace(table, note=f"{UNUSABLE} {table.note}")  # noqa: PLW2901
            html = as_html(table, anchor=anchor, most_rows=MOST_ROWS)
            above = [figure for figure in figures if figure.table == table.name]
            figures = [figure for figure in figures if figure not in above]
            shown.append(PageTable(anchor, table.title, html, above))
        parts.append(PageChapter(f"chapter-{position}", chapter.value, shown))
    return parts


def _question(results: xr.DataTree) -> Iterator[tuple[str, str]]:
    """What was asked of how much data, under which weights."""
    if "panel" in results:
        sizes = results["panel"].sizes
        names = (("model", "Models"), ("prompt", "Prompts"), ("judge", "Judges"))
        yield from ((heading, str(sizes[name])) for name, heading in names)
        yield "Dimensions of harm", ", ".join(map(str, results["panel"]["dimension"].to_numpy()))
    if "responsiveness" in results:
        everyone = results["responsiveness"].to_dataset().sel(group="all", by="all")
        yield "Items", str(results["items"].sizes["item"] if "items" in results else 0)
        yield "Raters", str(int(everyone["raters"]))
    yield "Ratings", str(int(results.attrs["data_ratings"]))
    if "weights" in results.attrs:
        weights = tomllib.loads(results.attrs["weights"])
        yield "Weights", f"{weights['title']}. {weights.get('rationale', '')}"
        if "tolerance" in weights:
            yield "Tolerance", ", ".join(f"{k} {v:g}" for k, v in weights["tolerance"].items())


def _provenance(results: xr.DataTree) -> Iterator[tuple[str, str]]:
    """What was read, by which versions, and when."""
    attrs = results.attrs
    yield "Created", str(attrs["created"])
    yield "Status", str(attrs["status"])
    yield "Seed", str(int(attrs["seed"]))
    overrides = json.loads(attrs["overrides"])
    if overrides:
        yield "Set on the command line", ", ".join(overrides)
    yield "SHA-256 of the data", str(attrs["data_sha256"])
    for name in FILES:
        if name in attrs:
            yield f"SHA-256 of the {name} file", str(attrs[f"{name}_sha256"])
    yield from ((f"Version of {k}", v) for k, v in json.loads(attrs["versions"]).items())

"""Results -> one HTML file for a reader who decides: no script, no network, every text escaped."""

import base64
import hashlib
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import xarray as xr

from sharpbayes.errors import StorageError
from sharpbayes.report import summary
from sharpbayes.report.figures.catalogue import Picture, data_tables, pictures
from sharpbayes.report.tables.common import marked
from sharpbayes.report.tables.files import every_table
from sharpbayes.report.tables.table import Table

# Rows of a table on the page; all of them are in the files of --tables.
MOST_ROWS = 150
# Chapters by the titles of their tables, the first that matches.
CHAPTERS = (
    ("Decision", r"Decision by|Probabilit|What each|Where weight|CVaR by source"),
    (
        "Risk profile",
        r"Tail risk:|Tables? [1-4][-:]|Section 3\.3|Risk profile|Harm by|Section 4|Distribution",
    ),
    ("Judges", r"Table [5-7][,:]|Appendix C|Effective number"),
    ("Judges against people", r"Judges against|Self-preference|As people would"),
    ("How dimensions move together", r"Table 8"),
    ("Whether the order of the models holds", r"Table (9|1\d|20)[,:]|Section H"),
    ("Groups of raters", r"Responsiveness|Differences|Precision"),
    ("Use of the scale and agreement", r"Use of the scale|Group cohesion"),
    ("Raters", r"Groups for recruiting|Raters"),
    ("Items", r"Item"),
    ("The fitted model", r"Posterior|Predictive|Sampl"),
)
OTHER = "Further results"
UNUSABLE = "From a fit that has NOT CONVERGED: do not decide by these numbers."


@dataclass(frozen=True)
class Shown:
    """A table with the name that links lead to, and what of it is left out."""

    anchor: str
    table: Table
    pictures: tuple[Picture, ...]
    left_out: int


@dataclass(frozen=True)
class Chapter:
    """A part of the page."""

    anchor: str
    heading: str
    shown: tuple[Shown, ...]


def write_html(results: xr.DataTree, path: Path) -> Path:
    """Write results as one HTML file that needs nothing else.

    Args:
        results: Results of a panel or a crowd, measured or fitted.
        path: Where; a file of this name is replaced.

    Returns:
        The path.

    Raises:
        StorageError: The file cannot be written.
    """
    text = as_html(results)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{path}: cannot write report: {error.strerror or error}") from error
    return path


def as_html(results: xr.DataTree) -> str:
    """Return results as the text of an HTML page.

    The page holds no script, and its policy allows no request: only its own style and images that
    it carries inside.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - slow to load

    loader = PackageLoader("sharpbayes.report")
    pages = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    style = pages.loader.get_source(pages, "style.css.j2")[0] if pages.loader else ""
    return pages.get_template("report.html.j2").render(
        style=style, style_digest=_digest(style), **_content(results)
    )


def _content(results: xr.DataTree) -> dict[str, Any]:
    """Everything that the page says, as plain text."""
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
        "files": [
            (name, results.attrs[name])
            for name in ("study", "weights", "model")
            if name in results.attrs
        ],
    }


def chapters(results: xr.DataTree) -> list[Chapter]:
    """Return every table and figure in order, under headings."""
    found = sorted(_tables(results), key=lambda table: _order(table.title))
    drawn, taken = pictures(results), set[str]()
    made = []
    for at, (heading, held) in enumerate(groupby(found, key=lambda table: _heading(table.title))):
        shown = []
        for number, table in enumerate(held):
            mine = tuple(one for one in drawn if _belongs(one, table) and one.name not in taken)
            taken |= {one.name for one in mine}
            left_out = max(0, len(table.rows) - MOST_ROWS)
            warned = heading == CHAPTERS[0][0] and results.attrs["status"] == "not converged"
            note = f"{UNUSABLE} {table.note}" if warned else table.note
            short = replace(table, rows=table.rows[:MOST_ROWS], note=note)
            shown.append(Shown(f"table-{at}-{number}", short, mine, left_out))
        made.append(Chapter(f"chapter-{at}", heading, tuple(shown)))
    return made


def _tables(results: xr.DataTree) -> list[Table]:
    """Tables with rows; one without says in its note why it has none."""
    drawn = marked(results, data_tables(results))
    return [table for table in [*every_table(results), *drawn] if table.header]


def _belongs(picture: Picture, table: Table) -> bool:
    """Whether a table holds the data of a figure."""
    return bool(picture.data) and table.title.startswith(picture.data)


def _heading(title: str) -> str:
    """Chapter of a table."""
    return next((heading for heading, like in CHAPTERS if re.match(like, title)), OTHER)


def _order(title: str) -> int:
    """Place of a table's chapter; those without one come before the fitted model."""
    headings = [heading for heading, _ in CHAPTERS]
    heading = _heading(title)
    return 2 * headings.index(heading) if heading != OTHER else 2 * len(headings) - 3


def _question(results: xr.DataTree) -> Iterator[tuple[str, str]]:
    """What was asked of how much data, under whose values."""
    if "panel" in results:
        sizes = results["panel"].sizes
        names = (("model", "Models"), ("prompt", "Prompts"), ("judge", "Judges"))
        yield from ((what, str(sizes[name])) for name, what in names)
        yield "Dimensions of harm", ", ".join(map(str, results["panel"]["dimension"].to_numpy()))
    if "responsiveness" in results:
        whole = results["responsiveness"].to_dataset().sel(group="all", by="all")
        yield "Items", str(results["items"].sizes["item"] if "items" in results else 0)
        yield "Raters", str(int(whole["raters"]))
    yield "Ratings", str(int(results.attrs["data_ratings"]))
    if "weights" in results.attrs:
        weights = tomllib.loads(results.attrs["weights"])
        yield "Values", f"{weights['title']}. {weights.get('rationale', '')}"
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
    for name in ("study", "weights", "model"):
        if name in attrs:
            yield f"SHA-256 of the {name} file", str(attrs[f"{name}_sha256"])
    yield from ((f"Version of {k}", v) for k, v in json.loads(attrs["versions"]).items())


def _digest(text: str) -> str:
    """Digest of a style that a page's policy names."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

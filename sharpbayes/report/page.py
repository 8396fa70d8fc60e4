"""Results -> one HTML file for a reader who decides: no network, every text escaped."""

import base64
import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import xarray as xr

from sharpbayes.report import summary
from sharpbayes.report.approval import approval
from sharpbayes.report.chapters import build_chapters
from sharpbayes.report.figures.catalogue import DECISIONS, PageFigure, page_figures
from sharpbayes.report.layout import PANEL
from sharpbayes.report.lights import lights
from sharpbayes.report.shares_by_hand import shares_by_hand
from sharpbayes.report.tables.html import escape_code
from sharpbayes.report.terms import Definitions
from sharpbayes.report.updates import update_provenance
from sharpbayes.report.weights_by_hand import weights_by_hand
from sharpbayes.report.wording import mark_texts
from sharpbayes.spec.weights import Tolerance
from sharpbayes.storage.attributes import read_weights
from sharpbayes.storage.files import write_text
from sharpbayes.storage.schema import FILES


def write_html(results: xr.DataTree, path: Path, *, script: bool = True) -> Path:
    """Write results as one HTML file that needs nothing else; a file of this name is replaced."""
    write_text(path, page_text(results, script=script), f"{path}: cannot write report")
    return path


def page_text(results: xr.DataTree, *, script: bool = True) -> str:
    """Return results as the text of an HTML page.

    Its policy allows no request: only its own style, images that it carries inside and, with
    ``script``, the one script of the section of weights by hand.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - slow to load

    loader = PackageLoader("sharpbayes.report")
    pages = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    pages.filters["code"] = escape_code
    style = loader.get_source(pages, "style.css.j2")[0]
    answer, definitions = summary.answer(results), Definitions()
    questions = lights(results)
    decision, figures = _split_decision(page_figures(results))
    texts = [*answer, *(light.reason for light in questions), decision.caption if decision else ""]
    terms = definitions.define(texts)
    chapters = build_chapters(results, figures, definitions)
    by_hand = weights_by_hand(results) if script else None
    crowd_by_hand = shares_by_hand(results) if script else None
    name = "weights_by_hand.js" if by_hand else "shares_by_hand.js" if crowd_by_hand else ""
    code = loader.get_source(pages, name)[0] if name else ""
    return pages.get_template("report.html.j2").render(
        style=style,
        style_digest=_digest(style),
        script=code,
        script_digest=_digest(code),
        by_hand=by_hand,
        crowd_by_hand=crowd_by_hand,
        title="".join(mark_texts(results, [str(results.attrs["title"])])),
        status=results.attrs["status"],
        created=_name_time(results.attrs["created"]),
        answer=answer,
        lights=questions,
        decision=decision,
        failed=summary.failed(results),
        remarks=summary.remarks(results),
        terms=terms,
        limits=summary.limits(results),
        question=_question(results),
        chapters=chapters,
        numbers={t.name: t.number for c in reversed(chapters) for t in reversed(c.tables)},
        provenance=_provenance(results),
        files=[(name, results.attrs[name]) for name in FILES if name in results.attrs],
    )


def _split_decision(figures: list[PageFigure]) -> tuple[PageFigure | None, list[PageFigure]]:
    """The figure of the first screen, if there is one, and all others."""
    decision = next((figure for figure in figures if figure.table in DECISIONS), None)
    return decision, [figure for figure in figures if figure is not decision]


def _digest(text: str) -> str:
    """Return the digest of a style or a script, by which a policy allows it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _question(results: xr.DataTree) -> Iterator[tuple[str, str]]:
    """What was asked of how much data, under which weights."""
    if "history" in results:
        releases = results["history"].to_dataset()
        yield "Releases", ", ".join(map(str, releases["release"].to_numpy()))
        units = "Models" if releases.attrs["kind"] == PANEL else "Groups of raters"
        yield units, ", ".join(map(str, releases["unit"].to_numpy()))
        return
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
    weights = read_weights(results)
    if weights:
        source = f" Source: {weights['source']}" if weights.get("source") else ""
        yield "Weights", f"{weights['title']}. {weights.get('rationale', '')}{source}"
        yield from approval(weights).items()
        if "tolerance" in weights:
            limits = Tolerance.model_validate(weights["tolerance"]).limits
            yield "Tolerance", ", ".join(f"{name} {value:g}" for name, value in limits.items())


def _name_time(created: str) -> str:
    """A time of the results, in universal time to the minute, as a reader writes it."""
    return f"{datetime.fromisoformat(created).astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _provenance(results: xr.DataTree) -> Iterator[tuple[str, str]]:
    """What was read, by which versions, and when."""
    attrs = results.attrs
    yield "Created", str(attrs["created"])
    yield "Status", str(attrs["status"])
    yield "Seed", str(int(attrs["seed"]))
    overrides = json.loads(attrs["overrides"])
    if overrides:
        yield "Set on the command line", ", ".join(overrides)
    if "history" in results:
        yield from _provenance_of_releases(results["history"].to_dataset())
    else:
        yield "SHA-256 of the data", str(attrs["data_sha256"])
        yield from update_provenance(results)
    for name in FILES:
        if name in attrs:
            yield f"SHA-256 of the {name} file", str(attrs[f"{name}_sha256"])
    yield from ((f"Version of {k}", v) for k, v in json.loads(attrs["versions"]).items())


def _provenance_of_releases(history: xr.Dataset) -> Iterator[tuple[str, str]]:
    """Whole digests of what each release was made from."""
    for release in history["release"].to_numpy():
        for name in history["input"].to_numpy():
            digest = str(history["sha256"].sel(release=release, input=name).item())
            yield f"SHA-256 of the {name} of {release}", digest

"""A model file -> its diagram as SVG: spreads, effects in plates, severity, the rating."""

from dataclasses import dataclass
from html import escape

from sharpbayes.spec.model import Model
from sharpbayes.spec.prior_text import describe_effects

WIDTH, ROW = 800, 62
SPREAD, EFFECT, SUM, RATING = 70, 290, 540, 720  # places of the four columns
STYLE = """text{font:12px system-ui,sans-serif;fill:#222;text-anchor:middle}
.small{font-size:10px}
.free{fill:#fff;stroke:#1f3a5f;stroke-width:1.5}
.seen{fill:#c9d6e8;stroke:#1f3a5f;stroke-width:1.5}
.sum{fill:#fff;stroke:#1f3a5f;stroke-dasharray:4 3}
.plate{fill:none;stroke:#777}
path{fill:none;stroke:#444;marker-end:url(#end)}
.bed{fill:#fff}"""

HEAD = (
    '<marker id="end" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
    '<path d="M0 0L8 4L0 8z" style="fill:#444;marker-end:none"/></marker>'
)


@dataclass(frozen=True)
class Column:
    """One part of a model: what it is called, by what its effects go, and the prior."""

    symbol: str
    by: str
    prior: str
    target: str


def columns(model: Model) -> list[Column]:
    """Location terms, thresholds, log-gap effects and discrimination, in reading order."""
    diagram_columns = [
        Column("effect", " × ".join(term.by), describe_effects(term.prior), "severity")
        for term in model.location
    ]
    prior = model.thresholds.prior
    diagram_columns.append(
        Column("thresholds", "scale", f"ordered normal(0, {prior.sd:g})", "rating")
    )
    diagram_columns += [
        Column("log-gap effect", name, describe_effects(model.thresholds.gap), "rating")
        for name in model.thresholds.by[1:]
    ]
    diagram_columns += [
        Column("log discrimination", " × ".join(term.by), describe_effects(term.prior), "rating")
        for term in model.discrimination
    ]
    return diagram_columns


def diagram(model: Model) -> str:
    """The diagram of a model as the text of an SVG file.

    A plate says by what a part goes: there is one of it for each level of the column, or of the
    crossing of columns. The grey circle is what was observed.
    """
    boxes = columns(model)
    height = ROW * len(boxes) + 20
    severity = ROW * len(model.location) / 2 + 10
    body = [part for row, box in enumerate(boxes) for part in _row(box, row, severity, height / 2)]
    body += _ellipse(SUM, severity, "severity η", "sum", "sum of effects")
    body.append(_arrow(SUM + 62, severity, RATING - 62, height / 2))
    body += _ellipse(RATING, height / 2, "rating", "seen", f"{model.likelihood}, {model.link}")
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            f"<title>{escape(model.title)}</title>",
            f"<style>{STYLE}</style>",
            f"<defs>{HEAD}</defs>",
            f'<rect class="bed" width="{WIDTH}" height="{height}" rx="8"/>',
            *body,
            "</svg>\n",
        ]
    )


def _row(box: Column, row: int, severity: float, rating: float) -> list[str]:
    """One part in its plate, its spread on the left and its arrow to the right."""
    y = ROW * (row + 0.5) + 10
    end = (SUM - 62, severity) if box.target == "severity" else (RATING - 50, rating + 12)
    law, _, spread = box.prior.partition(", sd ")
    parts = [
        f'<rect class="plate" x="{EFFECT - 150}" y="{y - 28:g}" width="310" height="56" rx="6"/>',
        *_ellipse(EFFECT - 80, y - 7, box.symbol, "free", law),
        _text(EFFECT + 72, y - 2, f"each {box.by.replace(':*', '')}", small=True),
    ]
    if spread:
        parts += _ellipse(SPREAD, y - 7, "sd", "free", spread)
        parts.append(_arrow(SPREAD + 62, y - 7, EFFECT - 144, y - 7))
    return [*parts, _arrow(EFFECT + 160, y, *end)]


def _ellipse(x: float, y: float, name: str, kind: str, law: str) -> list[str]:
    """A quantity and below it what law it has."""
    shape = f'<ellipse class="{kind}" cx="{x:g}" cy="{y:g}" rx="62" ry="14"/>'
    return [shape, _text(x, y + 5, name), _text(x, y + 27, law, small=True)]


def _text(x: float, y: float, text: str, *, small: bool = False) -> str:
    """A centred text."""
    style = ' class="small"' if small else ""
    return f'<text x="{x:g}" y="{y:g}"{style}>{escape(text)}</text>'


def _arrow(*ends: float) -> str:
    """An arrow from one point to another."""
    x1, y1, x2, y2 = ends
    return f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}"/>'

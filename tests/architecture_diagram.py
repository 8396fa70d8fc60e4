"""The picture of the package's rooms as SVG, drawn from the folders and the real imports.

``python -m tests.make_docs`` writes it to ``docs/architecture.svg``. A row is a room with its
sub-rooms and the sentence of its ``__init__``; a filled square says that the room of the row
imports the room of the column. Imports go down, so that no square is filled left of the diagonal.
"""

import ast
from html import escape
from pathlib import Path

from tests.measure_structure import PACKAGE, import_graph, tree_of
from tests.test_structure import ROOMS, SUB_ROOMS

ROW, LEFT, BOX, SQUARE, TOP = 46, 10, 560, 22, 92
COLUMNS = (*ROOMS, "library", "errors")
STYLE = """text{font:12px system-ui,sans-serif;fill:#222}
.name{font-weight:600;font-size:13px}
.small{font-size:11px;fill:#555}
.room{fill:#fff;stroke:#1f3a5f;stroke-width:1.5}
.bayes{fill:#e3ebf6}
.empty{fill:#f2f2f2}
.used{fill:#1f3a5f}
.bed{fill:#fff}"""


def sentence(folder: Path) -> str:
    """The first sentence of a package's ``__init__``, without its full stop."""
    doc = ast.get_docstring(tree_of(folder / "__init__.py")) or ""
    return " ".join(doc.split("\n\n")[0].split()).removesuffix(".")


def sub_rooms(room: str) -> list[str]:
    """The sub-rooms of a room: those with an order from top to bottom first, in that order."""
    ordered = SUB_ROOMS.get(room, ())
    folders = {path.parent.name for path in (PACKAGE / room).glob("*/__init__.py")}
    return [*(name for name in ordered if name in folders), *sorted(folders - set(ordered))]


def used_rooms() -> dict[str, set[str]]:
    """Which rooms each room imports, local imports counted."""
    used: dict[str, set[str]] = {room: set() for room in COLUMNS}
    for module, others in import_graph(PACKAGE).items():
        room, *rest = [*module.split(".")[1:], ""]
        if room in used and (rest or room in {"library", "errors"}):
            used[room] |= {other.split(".")[1] for other in others if "." in other}
    return {room: (others & set(COLUMNS)) - {room} for room, others in used.items()}


def picture() -> str:
    """The picture as the text of an SVG file."""
    used = used_rooms()
    width = LEFT + BOX + 20 + SQUARE * len(COLUMNS) + 10
    height = TOP + ROW * len(ROOMS) + 10
    body = [part for row, room in enumerate(ROOMS) for part in _row(row, room, used[room])]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            "<title>The rooms of sharpbayes and which of them each imports</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="bed" width="{width}" height="{height}" rx="8"/>',
            f'<text class="small" x="{LEFT}" y="{TOP - 12}">each room imports rooms below it only'
            "; blue: the Bayesian half</text>",
            *(_heading(position, name) for position, name in enumerate(COLUMNS)),
            *body,
            "</svg>\n",
        ]
    )


def _heading(position: int, name: str) -> str:
    """The name of a column, read upwards."""
    x, y = LEFT + BOX + 20 + SQUARE * position + SQUARE / 2 + 4, TOP - 8
    return f'<text class="small" transform="translate({x:g} {y}) rotate(-90)">{name}</text>'


def _row(row: int, room: str, used: set[str]) -> list[str]:
    """The box of a room and its squares."""
    y = TOP + ROW * row
    kind = "room bayes" if room in {"bayes", "posterior"} else "room"
    inner = ", ".join(sub_rooms(room))
    name = f"{room}/" + (f'<tspan class="small" dx="8">{inner}</tspan>' if inner else "")
    parts = [
        f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{BOX}" height="{ROW - 6}" rx="5"/>',
        f'<text class="name" x="{LEFT + 10}" y="{y + 17}">{name}</text>',
        f'<text x="{LEFT + 10}" y="{y + 33}">{escape(sentence(PACKAGE / room))}</text>',
    ]
    for position, other in enumerate(COLUMNS):
        if other != room:
            x = LEFT + BOX + 20 + SQUARE * position
            shade = "used" if other in used else "empty"
            size = SQUARE - 4
            place = f'x="{x}" y="{y + 10}" width="{size}" height="{size}"'
            parts.append(f'<rect class="{shade}" {place} rx="3"/>')
    return parts


def rooms_table() -> list[tuple[str, str]]:
    """Every room and sub-room with its sentence, from top to bottom."""
    rows = []
    for room in ROOMS:
        rows.append((f"`{room}/`", sentence(PACKAGE / room)))
        rows += [(f"`{room}/{name}/`", sentence(PACKAGE / room / name)) for name in sub_rooms(room)]
    return rows

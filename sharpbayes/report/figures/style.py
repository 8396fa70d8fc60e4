"""How figures look, their panels, and how they become text."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from textwrap import wrap
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, filterwarnings

import numpy as np

from sharpbayes.errors import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOUR, DARK = "#7a9cc6", "#1f3a5f"
# Colours that every kind of colour vision distinguishes, and grey print too.
POSTERIOR, BOOTSTRAP = "#0072b2", "#d55e00"
# Lines by number: the colours of Okabe and Ito without yellow, each with a mark and a dash.
LINES: tuple[dict[str, Any], ...] = tuple(
    {"color": colour, "marker": marker, "linestyle": dash}
    for colour, marker, dash in (
        ("#0072b2", "o", "-"),
        ("#d55e00", "s", "--"),
        ("#009e73", "^", "-."),
        ("#cc79a7", "D", ":"),
        ("#000000", "v", "-"),
        ("#e69f00", "P", "--"),
    )
)
SMALL = 8  # points; no letter is smaller
# A dollar sign in the name of a model is no formula.
STYLE: Any = {
    "svg.hashsalt": "sharpbayes",
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.titlesize": 9,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "text.parse_math": False,
    "axes.axisbelow": True,
    "grid.color": "0.9",
}
# Matplotlib writes the date into files unless it is told not to; equal results give equal files.
UNDATED: dict[str, dict[str, Any]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
# What stands across a figure of a preview.
STAMP: dict[str, Any] = {
    "color": "#b00020",
    "alpha": 0.5,
    "fontsize": 14,
    "rotation": 20,
    "horizontalalignment": "center",
    "verticalalignment": "center",
}
# A legend to the right of the axes.
LEGEND_OUTSIDE: dict[str, Any] = {"frameon": False, "loc": "upper left", "bbox_to_anchor": (1, 1)}
# Characters in a line of a name, and its lines.
NAME_WIDTH, NAME_LINES = 30, 2


def wrap_name(name: object, width: int = NAME_WIDTH) -> str:
    r"""Return a user's label in at most two lines of printable text; an ellipsis where it is cut.

    >>> wrap_name("a\x07b"), wrap_name("a very long name of a model", 10)
    ('a\\x07b', 'a very\nlong name…')
    """
    lines = wrap(printable(str(name)), width, max_lines=NAME_LINES, placeholder="…")
    return "\n".join(lines)


@contextmanager
def drawing_style() -> Iterator[None]:
    """Draw in the style of all figures; letters that the font lacks give no warning."""
    from matplotlib import rc_context  # noqa: PLC0415 - slow to load

    with rc_context(STYLE), catch_warnings():
        filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        yield


def panels(
    rows: int, columns: int, *, width: float, height: float, **shared: Any
) -> "tuple[Figure, np.ndarray]":
    """Return a figure of a size in inches that no window shows, and its panels (row, column)."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **shared)


def as_svg(figure: "Figure") -> str:
    """Return a figure as SVG text without a background, letters as outlines."""
    from matplotlib import rc_context  # noqa: PLC0415 - slow to load

    text = StringIO()
    with drawing_style(), rc_context({"svg.fonttype": "path"}):
        figure.savefig(text, format="svg", metadata=UNDATED[".svg"], transparent=True)
    return text.getvalue()

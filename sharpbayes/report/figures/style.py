"""How figures look, their panels, and how they become text."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, filterwarnings

import numpy as np

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
FONT = "DejaVu Sans"  # comes with Matplotlib
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
NOTE = 0.25  # inches
# A legend to the right of the axes.
LEGEND_OUTSIDE: dict[str, Any] = {"frameon": False, "loc": "upper left", "bbox_to_anchor": (1, 1)}


@contextmanager
def drawing_style(fonts: Sequence[str] = ()) -> Iterator[None]:
    """Draw in the style of all figures, with further fonts for letters that the first one lacks.

    Letters that no font has give no warning: a note in the figure names them.
    """
    from matplotlib import rc_context  # noqa: PLC0415 - slow to load

    with rc_context(STYLE | {"font.family": [FONT, *fonts]}), catch_warnings():
        filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        yield


def panels(
    rows: int, columns: int, *, width: float, height: float, **shared: Any
) -> "tuple[Figure, np.ndarray]":
    """Return a figure of a size in inches that no window shows, and its panels (row, column)."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **shared)


def add_note(figure: "Figure", text: str) -> None:
    """Write a line below the panels of a figure, which becomes higher by it."""
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + NOTE)
    share = NOTE / (height + NOTE)
    figure.set_layout_engine("constrained", rect=(0, share, 1, 1 - share))
    figure.text(0.01, share / 2, text, fontsize=SMALL, verticalalignment="center")


def as_svg(figure: "Figure") -> str:
    """Return a figure as SVG text without a background, letters as outlines.

    Matplotlib would draw it once only to lay it out, which takes a third of the time.
    """
    from matplotlib import rc_context  # noqa: PLC0415 - slow to load
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415 - slow to load

    text = StringIO()
    with drawing_style(), rc_context({"svg.fonttype": "path"}):
        FigureCanvasSVG(figure)
        figure.dpi = FigureCanvasSVG.fixed_dpi
        if (layout := figure.get_layout_engine()) is not None:
            layout.execute(figure)
        figure.set_layout_engine("none")
        figure.savefig(text, format="svg", metadata=UNDATED[".svg"], transparent=True)
    return text.getvalue()

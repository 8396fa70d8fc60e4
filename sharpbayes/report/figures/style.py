"""How figures look, and how they become text."""

from io import StringIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
COLOUR, DARK = "#7a9cc6", "#1f3a5f"
# A dollar sign in the name of a model is no formula.
STYLE: Any = {
    "svg.hashsalt": "sharpbayes",
    "svg.fonttype": "none",
    "font.size": 9,
    "text.parse_math": False,
}
# Matplotlib writes the date into files unless it is told not to; equal results give equal files.
UNDATED: dict[str, dict[str, Any]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
# A legend to the right of the axes.
LEGEND_OUTSIDE: dict[str, Any] = {"frameon": False, "loc": "upper left", "bbox_to_anchor": (1, 1)}


def as_svg(figure: "Figure") -> str:
    """Return a figure as SVG text without a background, letters as outlines."""
    from matplotlib import rc_context  # noqa: PLC0415 - slow to load

    text = StringIO()
    with rc_context({**STYLE, "svg.fonttype": "path"}):
        figure.savefig(text, format="svg", metadata=UNDATED[".svg"], transparent=True)
    return text.getvalue()

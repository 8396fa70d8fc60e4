"""Labels of figures: names that stay distinct where they are cut, and fonts for their letters."""

import contextlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import takewhile
from textwrap import wrap
from typing import TYPE_CHECKING

import xarray as xr

from sharpbayes.errors import printable
from sharpbayes.report.figures.style import FONT
from sharpbayes.report.layout import group_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Characters in a line of a name, and its lines.
NAME_WIDTH, NAME_LINES = 30, 2
# Draws a box for every letter.
NO_FONT = "Last Resort High-Efficiency"


def wrap_name(name: object, width: int = NAME_WIDTH) -> str:
    r"""Return a user's label in at most two lines of printable text; an ellipsis where it is cut.

    >>> wrap_name("a\x07b"), wrap_name("a very long name of a model", 10)
    ('a\\x07b', 'a very\nlong name…')
    """
    lines = wrap(printable(str(name)), width, max_lines=NAME_LINES, placeholder="…")
    return "\n".join(lines)


def wrap_names(names: Iterable[object], width: int = NAME_WIDTH) -> list[str]:
    r"""Return labels as :func:`wrap_name`; those that would look the same lose what they share.

    >>> wrap_names(["release-of-january-1", "release-of-january-2", "other"], 8)
    ['re…y-1', 're…y-2', 'other']
    """
    labels = [str(name) for name in names]
    texts = {label: wrap_name(label, width) for label in dict.fromkeys(labels)}
    for alike in _find_alike(texts).values():
        texts |= _distinguish(alike, width)
    for text, alike in _find_alike(texts).items():
        texts |= {label: f"{text} ({number})" for number, label in enumerate(alike, 1)}
    return [texts[label] for label in labels]


def _find_alike(texts: dict[str, str]) -> dict[str, list[str]]:
    """Labels of each text that several have."""
    counts = Counter(texts.values())
    return {
        text: [label for label in texts if texts[label] == text]
        for text, count in counts.items()
        if count > 1
    }


def _distinguish(labels: Sequence[str], width: int) -> dict[str, str]:
    """Texts of labels without the middle of their common start, and so on for those still alike."""
    letters = takewhile(lambda column: len({*column}) == 1, zip(*labels, strict=False))
    common, kept = len([*letters]), width // 3
    cut = slice(kept, max(kept, common - kept))
    texts = {x: wrap_name(f"{x[: cut.start]}…{x[cut.stop :]}", width) for x in labels}
    for alike in _find_alike(texts).values():
        if len(alike) < len(labels):
            texts |= _distinguish(alike, width)
    return texts


def label_groups(
    results: xr.DataTree, groups: Iterable[object], width: int = NAME_WIDTH
) -> dict[str, str]:
    """Return what groups of raters are called in a figure: their values, with columns if several.

    A value such as ``yes`` names a group where one grouping is shown, ``trained: yes`` otherwise.
    """
    labels, names = [str(group) for group in groups], group_names(results)
    named = [names.get(label, ("", label)) for label in labels]
    several = len({grouping for grouping, _ in named if grouping}) > 1
    texts = [f"{of}: {value}" if several and of else value for of, value in named]
    return dict(zip(labels, wrap_names(texts, width), strict=True))


def label_strata(strata: Iterable[object]) -> dict[str, str]:
    """Return what strata of items are called in a figure, with columns where there are several.

    >>> label_strata(["all", "kind=a, b", "kind=c"])
    {'all': 'all items', 'kind=a, b': 'a, b', 'kind=c': 'c'}
    """
    labels = [str(label) for label in strata]
    parts = [label.partition("=") for label in labels]
    several = len({column for column, equals, _ in parts if equals}) > 1
    texts = [
        "all items" if not equals else f"{column}: {value}" if several else value
        for column, equals, value in parts
    ]
    return dict(zip(labels, wrap_names(texts), strict=True))


def find_fonts(figure: "Figure") -> tuple[list[str], bool]:
    """Return fonts that have letters which a figure's own lacks, and whether some are in none."""
    from matplotlib.font_manager import findfont, fontManager  # noqa: PLC0415 - slow to load
    from matplotlib.text import Text  # noqa: PLC0415 - slow to load

    written = "".join(text.get_text() for text in figure.findobj(Text))
    lacking = {ord(letter) for letter in written if letter.isprintable()}
    lacking -= _list_letters(findfont(FONT))
    fonts = []
    for name, path in sorted({(font.name, font.fname) for font in fontManager.ttflist}):
        letters = lacking & _list_letters(path) if lacking and name != NO_FONT else set()
        lacking -= letters
        fonts += [name] * bool(letters)
    return fonts, bool(lacking)


@cache
def _list_letters(path: str) -> frozenset[int]:
    """Letters of a font file as numbers; none of one that cannot be drawn at any size."""
    from matplotlib.font_manager import get_font  # noqa: PLC0415 - slow to load

    with contextlib.suppress(OSError, RuntimeError):
        return frozenset(get_font(path).get_charmap())
    return frozenset()

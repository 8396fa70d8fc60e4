"""Labels of figures: names that stay distinct where they are cut, and fonts for their letters."""

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache, reduce
from itertools import chain, groupby, takewhile
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
# What a name is compared by: numbers, words, or as much of a long one, and single characters.
PART = re.compile(r"\d{1,8}|[^\W\d_]?[a-z]{1,8}|.", re.DOTALL)
MAX_PARTS = 300  # that are compared after a shared start
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

    Labels that differ in more than fits get numbers, which follow the alphabet of all labels, so
    that a number means the same label in every figure.

    >>> wrap_names(["release-of-january-1", "release-of-january-2", "other"], 8)
    ['release…\nanuary-1', 'release…\nanuary-2', 'other']
    """
    labels = [str(name) for name in names]
    texts = {label: wrap_name(label, width) for label in dict.fromkeys(labels)}
    texts |= _distinguish([*chain(*_find_alike(texts).values())], width)
    numbers = {label: number for number, label in enumerate(sorted(texts), 1)}
    for text, alike in _find_alike(texts).items():
        texts |= {label: f"{text} ({numbers[label]})" for label in alike}
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
    """Texts of labels with as much of what they share as fits, and so on for those still alike."""
    rows = _align([PART.findall(label) for label in labels]) if labels else []
    is_shared = [len({*column}) == 1 for column in zip(*rows, strict=True)]
    for kept in range(width, -1, -1):
        shortened = ["".join(_shorten(row, is_shared, kept)) for row in rows]
        if all(len(wrap(printable(text), width)) <= NAME_LINES for text in shortened):
            break
    texts = {x: wrap_name(text, width) for x, text in zip(labels, shortened, strict=True)}
    for alike in _find_alike(texts).values():
        if len(alike) < len(labels):
            texts |= _distinguish(alike, width)
    return texts


def _align(names: Sequence[list[str]]) -> list[list[str]]:
    """Names of parts as rows of equally many: what lies between shared parts, and these, in turn.

    The first is the start that all share.

    >>> _align([["a", "-", "1", "-", "x"], ["b", "-", "2", "-", "x"]])
    [['', 'a', '-', '1', '-', '', 'x', ''], ['', 'b', '-', '2', '-', '', 'x', '']]
    """
    start = takewhile(lambda column: len({*column}) == 1, zip(*names, strict=False))
    rows, size = [], len([*start])
    shared = reduce(_common_parts, (parts[size : size + MAX_PARTS] for parts in names))
    for parts in names:
        row, place = ["".join(parts[:size])], size
        for part in shared:
            next_place = parts.index(part, place)
            row += ["".join(parts[place:next_place]), part]
            place = next_place + 1
        rows.append([*row, "".join(parts[place:])])
    return rows


def _common_parts(first: list[str], second: list[str]) -> list[str]:
    """Parts that two names have in the same order."""
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    return [part for block in blocks for part in first[block.a : block.a + block.size]]


def _shorten(row: Sequence[str], is_shared: Sequence[bool], kept: int) -> Iterator[str]:
    """Parts of a name; of a run that others share only so many characters at either end."""
    for shared, parts in groupby(zip(row, is_shared, strict=True), key=lambda pair: pair[1]):
        text = "".join(part for part, _ in parts)
        cut = shared and len(text) > 2 * kept + 1
        yield f"{text[:kept]}…{text[len(text) - kept :]}" if cut else text


def label_groups(
    results: xr.DataTree, groups: Iterable[object], width: int = NAME_WIDTH
) -> dict[str, str]:
    """Return what groups of raters are called in a figure: their values, with columns if several.

    A value such as ``yes`` names a group where one grouping is shown, ``trained: yes`` otherwise.
    """
    labels, names = [str(group) for group in groups], group_names(results)
    named = [names.get(label, ("", label)) for label in labels]
    several = not name_grouping(results, labels)
    texts = [f"{of}: {value}" if several and of else value for of, value in named]
    return dict(zip(labels, wrap_names(texts, width), strict=True))


def name_grouping(results: xr.DataTree, groups: Iterable[object]) -> str:
    """Return the columns of groups where one grouping is shown, whose labels are values alone."""
    names = group_names(results)
    groupings = {names.get(str(group), ("", ""))[0] for group in groups} - {""}
    return wrap_name(groupings.pop(), 40) if len(groupings) == 1 else ""


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

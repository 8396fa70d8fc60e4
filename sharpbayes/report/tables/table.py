"""A table of texts, ready to be rendered, and the chapters of the page."""

from dataclasses import dataclass
from enum import StrEnum

MINUS = "\u2212"
# What begins each line of a preview on a terminal.
MARGIN = "approximate: "


class Chapter(StrEnum):
    """The chapters of the page, in their order."""

    ANSWER = "The answer in numbers"
    DECISION = "Decision"
    PROFILE = "Risk profile"
    WORST_PROMPTS = "Worst prompts"
    JUDGES = "Judges"
    JUDGE_BIAS = "Judges against people"
    DIMENSIONS = "How dimensions move together"
    VALIDATION = "Whether the order of the models holds"
    GROUPS = "Groups of raters"
    SCALE = "Use of the scale and agreement"
    RATERS = "Raters"
    ITEMS = "Items"
    SAMPLE_SIZE = "Sample size"
    FURTHER = "Further results"
    FIT = "The fitted model"


@dataclass(frozen=True)
class Table:
    """A table of texts, ready to be rendered.

    Attributes:
        title: What it shows.
        header: Headings of the columns.
        rows: One tuple of texts a row, as long as the header.
        note: What the reader must know to read it; may be empty.
        mark: Why its numbers must not be used; empty for good results. A CSV file, which holds no
            note, has it in a column.
        name: Name of its declaration.
        chapter: Where it stands on the page.
        source: Table or section of the paper that it follows.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    mark: str = ""
    name: str = ""
    chapter: Chapter = Chapter.FURTHER
    source: str = ""

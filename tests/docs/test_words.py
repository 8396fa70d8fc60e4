"""The private words of older versions stand in the list of renamed names alone.

What replaced them is in ``docs/changelog.md`` and ``docs/glossary.md``.
"""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRIVATE = re.compile(
    r"\b(twins?|makings|a making|one making|told apart|tell apart|taken apart|in silence|mends?"
    r"|mended|whence|hangs? on|faults?|leans?|seats?|stretch(?:es|ed)?|cannot be told"
    r"|as people would have scored)\b",
    re.IGNORECASE,
)
# The list of old names.
LISTS = {ROOT / "docs" / "changelog.md"}
SUFFIXES = {".md", ".py", ".toml", ".json", ".j2", ".ipynb", ".yml"}


def texts(folder):
    """Every text of a folder by its path; of a notebook the sources of its cells."""
    files = [folder] if folder.is_file() else sorted(folder.rglob("*"))
    for path in files:
        if path.suffix in SUFFIXES and path not in LISTS:
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".ipynb":
                text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
            yield path, text


def private_words(text):
    """Private words of a text with the lines they stand in."""
    return [
        f"{number}: {match.group()}"
        for number, line in enumerate(text.splitlines(), 1)
        for match in PRIVATE.finditer(line)
    ]


ROOMS = sorted(path.parent for path in (ROOT / "sharpbayes").glob("*/__init__.py"))
PLACES = [*ROOMS, *(ROOT / name for name in ("docs", "models", "specs", "README.md"))]


@pytest.mark.parametrize("place", PLACES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_private_word(place):
    words = {path.relative_to(ROOT).as_posix(): private_words(text) for path, text in texts(place)}
    assert not {name: lines for name, lines in words.items() if lines}


def test_a_private_word_is_seen():
    assert private_words("A twin\nof default seating, made again.\nTold apart") == [
        "1: twin",
        "3: Told apart",
    ]


CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def formulas(text):
    """What TeX would set, outside of code."""
    return re.findall(r"\$[^$\n]+\$|\\\(|\\[a-z]{3,}", CODE.sub("", text))


def test_formulas_are_text_or_code():
    # The pages load nothing that would set TeX: it would stand there as it was typed.
    pages = {path.name: formulas(path.read_text("utf-8")) for path in (ROOT / "docs").rglob("*.md")}
    assert len(pages) > 100
    assert not {name: found for name, found in pages.items() if found}


def test_a_formula_is_seen():
    assert formulas(r"A $x$ and \alpha, `$y$`, \(z") == ["$x$", r"\alpha", r"\("]

"""Texts that a reader takes for the same, though a program does not."""

import unicodedata
from collections.abc import Iterable, Sequence


def fold_text(text: str) -> str:
    r"""Return a text without what the eye does not see: case, spaces, and ways to write an accent.

    >>> fold_text("GPT\u00a04 "), fold_text("gpt 4"), fold_text("cafe\u0301\u200b")
    ('gpt 4', 'gpt 4', 'café')
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = "".join(character for character in text if unicodedata.category(character) != "Cf")
    return " ".join(text.casefold().split())


def group_lookalikes(texts: Iterable[str]) -> list[list[str]]:
    """Return the texts that look alike, in groups of two or more.

    >>> group_lookalikes(["GPT", "Claude", "gpt ", "claude"])
    [['GPT', 'gpt '], ['Claude', 'claude']]
    """
    groups: dict[str, list[str]] = {}
    for text in texts:
        groups.setdefault(fold_text(text), []).append(text)
    return [group for group in groups.values() if len(group) > 1]


def quote_lookalikes(texts: Sequence[str]) -> list[str]:
    r"""Quote texts so that the difference can be seen; two ways to write an accent as codes.

    >>> quote_lookalikes(["é", "É"]), quote_lookalikes(["\u00e9", "e\u0301"])
    (["'é'", "'É'"], ["'\\xe9'", "'e\\u0301'"])
    """
    composed = {unicodedata.normalize("NFC", text) for text in texts}
    return [repr(text) if len(composed) == len(texts) else ascii(text) for text in texts]

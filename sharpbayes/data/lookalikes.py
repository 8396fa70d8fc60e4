"""Texts that a reader takes for the same, though a program does not."""

import json
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


# The last character of four hexadecimal digits.
BMP = 0xFFFF
# Letters of other alphabets, and below them the Latin ones that they look like.
FOREIGN = (
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0455\u0456\u0458"
    "\u0501\u051b\u04cf\u03b1\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u0261\u0251"
)
LATIN = "abekmhopctyxsijdqlaikvoptuxga"
LIKE_LATIN = str.maketrans(FOREIGN + FOREIGN.upper(), LATIN + LATIN.upper())


def strip_appearance(text: str) -> str:
    r"""Return what the eye sees of a text: letters of other alphabets as the Latin ones.

    >>> strip_appearance("\u0430nna "), strip_appearance("anna")
    ('anna', 'anna')
    """
    return fold_text(text).translate(LIKE_LATIN)


def group_lookalikes(texts: Iterable[str]) -> list[list[str]]:
    """Return the texts that look alike, in groups of two or more.

    >>> group_lookalikes(["GPT", "Claude", "gpt ", "claude"])
    [['GPT', 'gpt '], ['Claude', 'claude']]
    """
    groups: dict[str, list[str]] = {}
    for text in texts:
        groups.setdefault(strip_appearance(text), []).append(text)
    return [group for group in groups.values() if len(group) > 1]


def quote_lookalikes(texts: Sequence[str]) -> list[str]:
    r"""Quote texts so that the difference can be seen: as codes where print shows none.

    >>> quote_lookalikes(["é", "É"]), quote_lookalikes(["\u00e9", "e\u0301"])
    (["'é'", "'É'"], ["'\\xe9'", "'e\\u0301'"])
    """
    plain = {unicodedata.normalize("NFC", text).translate(LIKE_LATIN) for text in texts}
    return [repr(text) if len(plain) == len(texts) else ascii(text) for text in texts]


def quote_toml(text: str) -> str:
    r"""Return a text as TOML writes it, what print does not show as codes.

    >>> print(quote_toml('a"b'), quote_toml("a\u200b"), quote_toml("\U0001d4d0"))
    "a\"b" "a\u200b" "\U0001d4d0"
    """
    codes = (
        c if c.isascii() else f"\\U{ord(c):08x}" if ord(c) > BMP else f"\\u{ord(c):04x}"
        for c in text
    )
    return '"' + "".join(json.dumps(c)[1:-1] if len(c) == 1 else c for c in codes) + '"'

"""The text of a prompt in a log: what was asked, shortened, one text for each prompt."""

from typing import Any

import pandas as pd

from sharpbayes.data.readers.text_table import UNWRITABLE

# Characters of a text of a prompt or an item that results keep.
TEXT_LENGTH = 500
ELLIPSIS, UNKNOWN_CHARACTER = "\u2026", "\ufffd"
TEXT = "text"


def clip_text(text: str) -> str:
    r"""Return the first characters of a text on one line.

    >>> clip_text("How do\n I?"), len(clip_text("x" * 900))
    ('How do I?', 500)
    """
    line = " ".join(text.split())
    return line if len(line) <= TEXT_LENGTH else f"{line[: TEXT_LENGTH - 1]}{ELLIPSIS}"


def clip_log_text(text: object, *, keep_end: bool = False) -> str:
    r"""Return a text of a log as :func:`clip_text` does; empty where it is no text.

    Of a text that begins with examples the end is kept, where the question stands. Characters that
    no file can hold are replaced.

    >>> clip_log_text("a\0b"), clip_log_text(None)
    ('a\ufffdb', '')
    >>> long = clip_log_text("x" * 600 + "?", keep_end=True)
    >>> long[:3], long[-2:], len(long)
    ('\u2026xx', 'x?', 500)
    """
    if not isinstance(text, str):
        return ""
    line = UNWRITABLE.sub(UNKNOWN_CHARACTER, " ".join(text.split()))
    if keep_end and len(line) > TEXT_LENGTH:
        return f"{ELLIPSIS}{line[1 - TEXT_LENGTH :]}"
    return clip_text(line)


def join_messages(content: Any) -> str:
    """Return the text of a chat: of the user's messages, or of all where none is the user's.

    A message is an object with ``role`` and ``content``; its content is a text or a list of parts.

    >>> join_messages([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "?"}])
    '?'
    """
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    messages = [entry for entry in content if isinstance(entry, dict)]
    asked = [message for message in messages if message.get("role") == "user"] or messages
    return " ".join(filter(None, map(_text_of_message, asked)))


def _text_of_message(message: dict[str, Any]) -> str:
    """The text of a message, or of its parts that are text."""
    content = message.get("content", message.get(TEXT))
    parts = content if isinstance(content, list) else [content]
    texts = [part.get(TEXT) if isinstance(part, dict) else part for part in parts]
    return " ".join(text for text in texts if isinstance(text, str))


def keep_one_text(table: pd.DataFrame) -> pd.DataFrame:
    """Give each ``prompt`` of a table one ``text``, the first that is not empty.

    Models may be asked the same in other words, by templates of their own.
    """
    if table.empty:
        return table
    texts: dict[Any, str] = {}
    for prompt, text in zip(table["prompt"], table[TEXT], strict=True):
        if text and prompt not in texts:
            texts[prompt] = text
    return table.assign(**{TEXT: [texts.get(prompt, "") for prompt in table["prompt"]]})

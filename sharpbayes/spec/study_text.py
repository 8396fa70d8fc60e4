"""A study as TOML text with comments, for the commands that write one; tomlkit quotes."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import tomlkit
from tomlkit.items import AoT, Item, Table

Comments = Mapping[str, Sequence[str]]
# Tables with a section of their own inside ``[panel]``; other tables are written on one line.
SECTIONS = ("panel.scales", "panel.indicators")


def format_study(study: Mapping[str, Any], comments: Comments | None = None) -> str:
    """Return a study as TOML text, with lines of comments by dotted key.

    Comments stand above the key, inside a section, or, where the study does not have the key, below
    the other keys of its section. The key ``""`` is the top of the file.

    >>> print(format_study({"crowd": {"by": ["a"]}}, {"crowd.by": ["Columns."]}), end="")
    [crowd]
    # Columns.
    by = ["a"]
    """
    document = tomlkit.document()
    _fill(document, study, comments or {}, "")
    return tomlkit.dumps(document)


def _fill(table: Any, content: Mapping[str, Any], comments: Comments, path: str) -> None:
    """Fill a document or a section: comments, plain keys, then inner sections."""
    _add_comments(table, comments.get(path, ()))
    prefix = f"{path}." if path else ""
    items = {key: _make_item(value, prefix + key, comments) for key, value in content.items()}
    plain = [key for key, item in items.items() if not isinstance(item, Table | AoT)]
    absent = [
        key.removeprefix(prefix)
        for key in comments
        if key != path and key.rpartition(".")[0] == path and key.removeprefix(prefix) not in items
    ]
    for key in [*plain, *absent]:
        _add_comments(table, comments.get(prefix + key, ()))
        if key in items:
            table.add(key, items[key])
    for key, item in items.items():
        if key not in plain:
            table.add(key, item)


def _add_comments(table: Any, lines: Sequence[str]) -> None:
    """Add lines of comments; a character that could end a line becomes a space."""
    for line in lines:
        text = "".join(character if character.isprintable() else " " for character in line)
        table.add(tomlkit.comment(text))


def _make_item(value: Any, path: str, comments: Comments) -> Item:
    """Make the item of a value: a section, an array of sections, or a value on one line."""
    if isinstance(value, Mapping) and ("." not in path or path in SECTIONS):
        section = tomlkit.table()
        _fill(section, value, comments, path)
        return section
    if isinstance(value, Mapping):
        inline = tomlkit.inline_table()
        inline.update(value)
        return inline
    if isinstance(value, list) and value and all(isinstance(entry, Mapping) for entry in value):
        sections = tomlkit.aot()
        for position, entry in enumerate(value):
            section = tomlkit.table()
            _add_comments(section, comments.get(path, ()) if position == 0 else ())
            section.update(entry)
            sections.append(section)
        return sections
    return cast("Item", tomlkit.item(value))

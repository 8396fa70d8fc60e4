"""A data file -> a commented study that ``check`` accepts; what cannot be told is said in it.

Roles are guessed from the names of columns, scales and groups from their values. A role that no
column has is added to a copy of the data, and the study says what was assumed.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path

import pandas as pd

from sharpbayes.data.readers.formats import read_table
from sharpbayes.data.readers.label_studio import FACTS
from sharpbayes.data.readers.paths import TABLE_ENDINGS
from sharpbayes.errors import (
    DataError,
    Diagnostic,
    SpecError,
    StorageError,
    did_you_mean,
    format_list,
)
from sharpbayes.scaffold.inference import (
    NAMES,
    count_categories,
    guess_roles,
    infer_bins,
    infer_grades,
    infer_groups,
    infer_scale,
    is_constant,
    is_flag,
    is_side,
    quoted,
)
from sharpbayes.scaffold.logs import Table, read_log
from sharpbayes.spec.roles import CROWD_LOGS

PANEL_ROLES = ("model", "prompt", "judge", "indicator", "score", "sample", "category")
CROWD_ROLES = ("item", "rater", "score")
# A panel with a column of this name is long; "severity" may be one indicator among several.
LONG_SCORES = ("score", "rating", "value")
LABELS = re.compile("gold|unsafe|expert|truth|label")
TAIL = ("", "[bootstrap]", "replicates = 2000", "level = 0.95")


@dataclass(frozen=True)
class Draft:
    """A study that was guessed.

    Attributes:
        text: The study file.
        added: The data with the columns that were missing; None where none was.
        unsure: What could not be told, a sentence each; every one is also in the text.
    """

    text: str
    added: pd.DataFrame | None = None
    unsure: tuple[str, ...] = ()


@dataclass
class _Notes:
    """What could not be told, gathered on the way."""

    unsure: list[str] = field(default_factory=list)

    def check(self, text: str) -> str:
        """Note a doubt and return it as a comment."""
        self.unsure.append(text)
        return f"# CHECK: {text}"


def write_study(path: Path, out: Path, *, roles: Mapping[str, str] | None = None) -> list[str]:
    """Look at a data file and write a study for it.

    Args:
        path: A CSV, Parquet or JSON lines file of ratings, or a table of raters or items that has
            the ratings beside it.
        out: The study file; its folder also gets a copy of the data where columns are added.
        roles: Columns by role, in place of the guesses.

    Returns:
        What could not be told, a sentence each.

    Raises:
        DataError: The file cannot be read or holds no ratings.
        StorageError: A file is already there, or cannot be written.
    """
    copy = out.with_name(f"{out.stem}.data.csv")
    draft = draft_study(path, folder=out.parent, copy=copy.name, roles=roles or {})
    written = {out: draft.text}
    if draft.added is not None:
        written[copy] = draft.added.to_csv(index=False)
    there = [str(each) for each in written if each.exists()]
    if there:
        raise StorageError(f"{format_list(there)}: already there; name another with --out")
    try:
        for target, text in written.items():
            target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{out}: cannot write study: {error.strerror or error}") from error
    return list(draft.unsure)


def draft_study(path: Path, *, folder: Path, copy: str, roles: Mapping[str, str]) -> Draft:
    """Return the study of a data file, without writing anything.

    Args:
        path: The data file.
        folder: Folder of the study, which its paths start from.
        copy: Name of the copy of the data, where columns must be added.
        roles: Columns by role, in place of the guesses.
    """
    unknown = sorted(set(roles) - set(NAMES))
    if unknown:
        message = f"no such role, there are {', '.join(NAMES)}{did_you_mean(unknown[0], NAMES)}"
        raise SpecError([Diagnostic("init --role", 0, unknown[0], message)])
    notes = _Notes()
    log = read_log(path, _name(path, folder))
    main = log or _main_table(path, folder, notes)
    missing = sorted(set(roles.values()) - set(main.data.columns))
    if missing:
        message = f"no such column, the columns are {', '.join(map(str, main.data.columns))}"
        raise DataError([Diagnostic(str(path), 0, missing[0], message)])
    if log is not None:
        return _of_log(log, roles, notes, copy)
    found = guess_roles(main.data, PANEL_ROLES, roles)
    if "score" not in roles and found.get("score", "").lower() not in LONG_SCORES:
        found.pop("score", None)
    if "model" in found and "rater" not in roles:
        return _panel(main, found, notes, copy)
    return _crowd(main, guess_roles(main.data, CROWD_ROLES, roles), notes, _beside(path, folder))


def _of_log(log: Table, roles: Mapping[str, str], notes: _Notes, copy: str) -> Draft:
    """A study of logs, whose roles are known."""
    log = replace(log, roles={**log.roles, **roles})
    if log.layout in CROWD_LOGS:
        return _crowd(log, log.roles, notes, ())
    return _panel(log, dict(log.roles), notes, copy)


def _main_table(path: Path, folder: Path, notes: _Notes) -> Table:
    """The table of ratings: the file, or the one beside it where the file has no scores."""
    own = _table(path, folder)
    if guess_roles(own.data, ("score",), {}) or guess_roles(own.data, ("model",), {}):
        return own
    for other in _beside(path, folder):
        shared = [name for name in own.data.columns if name in other.data.columns]
        if other.name != own.name and shared and guess_roles(other.data, ("score",), {}):
            notes.check(f"{quoted(own.name)} holds no scores; the ratings are {quoted(other.name)}")
            return other
    return own


def _table(path: Path, folder: Path) -> Table:
    """Read a plain table."""
    return Table(_name(path, folder), read_table(path.parent, path.name))


def _name(path: Path, folder: Path) -> str:
    """Name of a file relative to the study, or the whole where that is shorter."""
    whole = path.resolve()
    relative = Path(os.path.relpath(whole, folder.resolve()))
    return min(relative.as_posix(), whole.as_posix(), key=len)


def _beside(path: Path, folder: Path) -> list[Table]:
    """Tables named alike, itself too: ``x_raters.csv`` beside ``x_ratings.csv``."""
    start = path.stem.rsplit("_", 1)[0] + "_"
    names = sorted(p for p in path.parent.iterdir() if p.suffix in TABLE_ENDINGS and p.is_file())
    return [_table(each, folder) for each in names if each.stem.startswith(start)]


def _panel(main: Table, roles: dict[str, str], notes: _Notes, copy: str) -> Draft:
    """A study of judges who score the answers of models to prompts."""
    data, lines = main.data.copy(), [notes.check(doubt) for doubt in main.doubts]
    for role, values, doubt in _missing_roles(data, roles):
        roles[role] = _new_name(data, role)
        data[roles[role]] = values
        lines.append(notes.check(doubt))
    repeats = _repeats(data, roles) if not main.layout else None
    if repeats is not None:
        roles["sample"] = _new_name(data, "sample")
        data[roles["sample"]] = repeats
        lines.append(notes.check("some cells are rated more than once; the repeats are numbered"))
    if "category" in roles and not is_constant(data, roles["category"], roles["prompt"]):
        del roles["category"]
    changed = len(data.columns) > len(main.data.columns)
    held = replace(main, data=data, name=copy if changed else main.name, roles=roles)
    body = _panel_lines(held, notes, lines, source=main.name)
    return _drafted(body, notes, data if changed else None)


def _drafted(lines: Sequence[str], notes: _Notes, added: pd.DataFrame | None) -> Draft:
    """Join the lines; doubts that belong to no line of their own stand at the top."""
    text = "\n".join(lines)
    above = [f"# CHECK: {doubt}" for doubt in notes.unsure if doubt not in text]
    text = "\n".join([*lines[:2], *above, *lines[2:]])
    return Draft(f"{text}\n", added, tuple(notes.unsure))


def _missing_roles(
    data: pd.DataFrame, roles: Mapping[str, str]
) -> list[tuple[str, list[str], str]]:
    """Roles that a panel needs and no column has: values to add, and what they assume."""
    number = [str(at) for at in range(1, len(data) + 1)]
    found = []
    if "prompt" not in roles:
        said = "no column names the prompt: every row counts as a prompt of its own"
        found.append(("prompt", number, said))
    if "judge" not in roles:
        said = "no column names the judge: all rows count as one judge's"
        found.append(("judge", ["unnamed"] * len(data), said))
    return found


def _repeats(data: pd.DataFrame, roles: Mapping[str, str]) -> list[str] | None:
    """Number of each row in its cell, where some cell has several rows."""
    held = [
        roles[role] for role in ("model", "prompt", "judge", "sample", "indicator") if role in roles
    ]
    if not data.duplicated(held).any():
        return None
    cell = [column for column in held if column != roles.get("sample")]
    return [str(at + 1) for at in data.groupby(cell, sort=False).cumcount()]


def _panel_lines(main: Table, notes: _Notes, doubts: Sequence[str], *, source: str) -> list[str]:
    """The text of a panel study; ``source`` is the file that faults are of."""
    if "score" not in main.roles:
        main.roles.pop("indicator", None)
    layout = main.layout or ("long" if "score" in main.roles else "wide")
    scales, indicators = _measured(main, notes, source)
    return [
        *_head(main.name),
        "[panel]",
        f"data = {quoted(main.name)}",
        f'layout = "{layout}"',
        *doubts,
        *([f"roles = {_inline(main.written)}"] if main.written else []),
        *([f"judges = [{', '.join(map(quoted, main.judges))}]"] if main.judges else []),
        '# fit = "judge_panel"       # for a fit; "judge_severity" where there is one indicator',
        "",
        "# Least harm first. The data show which levels are used, not which there are.",
        "[panel.scales]",
        *(f"{_key(name)} = {text}" for name, text in scales.items()),
        "",
        notes.check(_direction(main.layout)),
        "[panel.indicators]",
        *(f"{_key(name)} = {text}" for name, text in indicators.items()),
        "",
        notes.check("all indicators are one dimension of harm; split it into those you mean"),
        "[[panel.dimensions]]",
        'name = "harm"',
        f"rms = [{', '.join(map(quoted, indicators))}]",
        *TAIL,
    ]


def _direction(layout: str) -> str:
    """Say which end of the scales is taken as harm."""
    if layout == "lm-eval":
        return "a high metric is taken as good; where it is not, leave out `reverse`"
    return "a high score is taken as harm; where it is good, write { scale = ..., reverse = true }"


def _measured(main: Table, notes: _Notes, source: str) -> tuple[dict[str, str], dict[str, str]]:
    """Scales by name, and each indicator as the study writes it."""
    found = _scaled(main, notes)
    if not found:
        message = f"no column of scores found among {', '.join(map(str, main.data.columns))}"
        raise DataError([Diagnostic(source, 0, "", message)])
    if any("levels" in text and '["C", "P", "I"' not in text for text in found.values()):
        notes.check("named levels stand in the order of the alphabet; put the least harm first")
    texts = list(dict.fromkeys(found.values()))
    named = {text: f"scale_{at + 1}" for at, text in enumerate(texts)}
    scales = {scale: text for text, scale in named.items()}
    good = main.layout == "lm-eval"
    written = {
        name: f"{{ scale = {quoted(named[text])}, reverse = true }}"
        if good
        else quoted(named[text])
        for name, text in found.items()
    }
    return scales, written


def _scaled(main: Table, notes: _Notes) -> dict[str, str]:
    """The scale of each indicator that has one."""
    data, roles = main.data, main.roles
    if "score" not in roles:
        used = {*roles.values()}
        columns = [str(name) for name in data.columns if name not in used]
        columns = [name for name in columns if not is_constant(data, name, roles["prompt"])]
        return {name: text for name in columns if (text := infer_scale(data[name])) is not None}
    score = data[roles["score"]]
    of = data[roles["indicator"]] if "indicator" in roles else score.map(lambda _: roles["score"])
    grades = infer_grades if main.layout == "inspect" else lambda _: None
    found = {str(name): grades(values) or infer_scale(values) for name, values in score.groupby(of)}
    without = sorted(name for name, text in found.items() if text is None)
    if without:
        notes.check(f"no scale fits, so that they are left out: {format_list(without)}")
    return {name: text for name, text in found.items() if text is not None}


def _crowd(main: Table, roles: dict[str, str], notes: _Notes, beside: Sequence[Table]) -> Draft:
    """A study of raters who score items."""
    missing = [role for role in CROWD_ROLES if role not in roles]
    if missing:
        columns = ", ".join(map(str, main.data.columns))
        message = f"no column found for it among {columns}; name it with --role {{}}=COLUMN"
        raise DataError([Diagnostic(main.name, 0, role, message.format(role)) for role in missing])
    data, owned = main.data, dict[str, list[str]]()
    lines = [notes.check(doubt) for doubt in main.doubts]
    for role in ("rater", "item"):
        side = next((t for t in beside if is_side(t.data, roles[role], data)), None)
        held = data if side is None else side.data
        if side is not None:
            lines.append(f"{role}s = {{ data = {quoted(side.name)}, key = {quoted(roles[role])} }}")
        owned[role] = infer_groups(held, roles[role], [*roles.values(), *FACTS])
    body = [
        *_head(main.name),
        "[crowd]",
        f"data = {quoted(main.name)}",
        *([f"layout = {quoted(main.layout)}"] if main.layout else []),
        f"roles = {_inline(main.written or roles)}",
        *lines,
        *_crowd_scale(data, roles, notes),
        '# Groups of raters to compare; ["a", "b"] in brackets crosses two columns.',
        f"groups = [{', '.join(f'[{quoted(name)}]' for name in owned['rater'])}]",
        f"by = [{', '.join(map(quoted, owned['item']))}]     # kinds of items",
        *_repeated(data, roles, notes),
        '# fit = "crowd_severity"    # for `sharpbayes fit`',
        *TAIL,
    ]
    return _drafted(body, notes, None)


def _crowd_scale(data: pd.DataFrame, roles: Mapping[str, str], notes: _Notes) -> list[str]:
    """Scale and labels of a crowd."""
    score = data[roles["score"]]
    scale = infer_scale(score) or infer_bins(score)
    levels = count_categories(scale)
    if "bins" in scale:
        notes.check(f"scores are cut into {levels} bins of one width over the range of the data")
    return [f"scale = {scale}", *_labels(data, roles, notes, cut=max(1, ceil((levels - 1) / 2)))]


def _labels(data: pd.DataFrame, roles: Mapping[str, str], notes: _Notes, *, cut: int) -> list[str]:
    """Which items are unsafe: a column of the items, or else the crowd itself."""
    flags = [str(c) for c in data.columns if c not in roles.values() and is_flag(data[c])]
    flags = [name for name in flags if is_constant(data, name, roles["item"])]
    column = next((name for name in flags if LABELS.search(name.lower())), None)
    if column is not None:
        said = f"{quoted(column)} is taken to say which items are unsafe (1)"
        return [notes.check(said), f'labels = {{ from = "item", column = {quoted(column)} }}']
    said = (
        "no column says which items are unsafe: the other raters do, by a plurality at level "
        f"{cut} or above, counted from 0; experts' labels are better"
    )
    return [notes.check(said), f'labels = {{ from = "crowd", cut = {cut} }}']


def _repeated(data: pd.DataFrame, roles: Mapping[str, str], notes: _Notes) -> list[str]:
    """What to do with a rater who scored an item twice."""
    if not data.duplicated([roles["item"], roles["rater"]]).any():
        return []
    said = "some raters scored an item more than once: the first score counts"
    return [notes.check(said), 'duplicates = "first"']


def _new_name(data: pd.DataFrame, role: str) -> str:
    """A name for a column to add that no other has."""
    return role if role not in data.columns else _new_name(data, f"{role}_added")


def _head(name: str) -> list[str]:
    """The first lines of a study."""
    return [
        f"# A first study of {quoted(name)}, written by `sharpbayes init`: read every CHECK,",
        "# then run `sharpbayes check` and `sharpbayes measure` on this file.",
        'schema = "sharpbayes/study/2"',
        f"title = {quoted(f'A first look at {Path(name).name}')}",
        '# weights = "./weights.toml"  # your own values: `sharpbayes show sharp` shows some',
        "seed = 1",
        "",
    ]


def _inline(pairs: Mapping[str, str]) -> str:
    """An inline table of texts."""
    return "{ " + ", ".join(f"{name} = {quoted(text)}" for name, text in pairs.items()) + " }"


def _key(name: str) -> str:
    """A name as the key of a line."""
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else quoted(name)

"""A data file -> a commented study that ``check`` accepts; every guess is marked in it."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from sharpbayes.data.readers.formats import read_table
from sharpbayes.data.readers.paths import TABLE_ENDINGS
from sharpbayes.errors import DataError, SpecError, StorageError, did_you_mean, format_list
from sharpbayes.scaffold.drafts import CROWD_ROLES, PANEL_ROLES, Draft, draft_crowd, draft_panel
from sharpbayes.scaffold.inference import NAMES, infer_roles
from sharpbayes.scaffold.logs import LogTable, read_log
from sharpbayes.spec.roles import CROWD_LOGS

# A panel with a column of this name is long; "severity" may be one indicator among several.
LONG_SCORES = ("score", "rating", "value")


def write_study(path: Path, out: Path, *, roles: Mapping[str, str] | None = None) -> list[str]:
    """Write a study for a data file, and return what could not be inferred, a sentence each.

    ``path`` is a CSV, Parquet or JSON lines file of ratings, a log, or a table of raters or items
    with the ratings in the same folder. The folder of ``out`` also gets a copy of the data where
    columns are added. ``roles`` are columns by role, in place of those inferred. A file that is
    already there is never replaced.
    """
    copy = out.with_name(f"{out.stem}.data.csv")
    draft = draft_study(path, folder=out.parent, copy=copy.name, roles=roles or {})
    texts = {out: draft.text}
    if draft.added is not None:
        texts[copy] = draft.added.to_csv(index=False)
    existing = [str(target) for target in texts if target.exists()]
    if existing:
        raise StorageError(f"{format_list(existing)}: already there; name another with --out")
    try:
        for target, text in texts.items():
            target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{out}: cannot write study: {error.strerror or error}") from error
    return draft.doubts


def draft_study(path: Path, *, folder: Path, copy: str, roles: Mapping[str, str]) -> Draft:
    """Return the study of a data file, without writing anything.

    The study will lie in ``folder``. Where columns must be added, it reads the file ``copy``.
    """
    unknown = sorted(set(roles) - set(NAMES))
    if unknown:
        message = f"no such role, there are {', '.join(NAMES)}{did_you_mean(unknown[0], NAMES)}"
        raise SpecError.at("init --role", message, key=unknown[0])
    draft = Draft()
    log = read_log(path, _relative_name(path, folder))
    main = log or _find_ratings(path, folder, draft)
    missing = sorted(set(roles.values()) - set(main.data.columns))
    if missing:
        message = f"no such column, the columns are {', '.join(map(str, main.data.columns))}"
        raise DataError.at(path, message, key=missing[0])
    if log is not None:
        log = replace(log, roles={**log.roles, **roles})
        if log.layout in CROWD_LOGS:
            return draft_crowd(draft, log, ())
        return draft_panel(draft, log, copy)
    panel_roles = infer_roles(main.data, PANEL_ROLES, roles)
    if "score" not in roles and panel_roles.get("score", "").lower() not in LONG_SCORES:
        panel_roles.pop("score", None)
    if "model" in panel_roles and "rater" not in roles:
        return draft_panel(draft, replace(main, roles=panel_roles), copy)
    main = replace(main, roles=infer_roles(main.data, CROWD_ROLES, roles))
    return draft_crowd(draft, main, _read_siblings(path, folder))


def _find_ratings(path: Path, folder: Path, draft: Draft) -> LogTable:
    """Return the table of ratings: the file, or its sibling where the file has no scores."""
    table = _read_plain(path, folder)
    if infer_roles(table.data, ("score",), {}) or infer_roles(table.data, ("model",), {}):
        return table
    for other in _read_siblings(path, folder):
        shared = [name for name in table.data.columns if name in other.data.columns]
        if other.name != table.name and shared and infer_roles(other.data, ("score",), {}):
            draft.doubt("", f'"{table.name}" holds no scores; the ratings are "{other.name}"')
            return other
    return table


def _read_plain(path: Path, folder: Path) -> LogTable:
    """Read a plain table."""
    return LogTable(_relative_name(path, folder), read_table(path.parent, path.name))


def _relative_name(path: Path, folder: Path) -> str:
    """Return the name of a file relative to the study, or the whole path where that is shorter."""
    absolute = path.resolve()
    relative = Path(os.path.relpath(absolute, folder.resolve()))
    return min(relative.as_posix(), absolute.as_posix(), key=len)


def _read_siblings(path: Path, folder: Path) -> list[LogTable]:
    """Read tables named alike, itself too: ``x_raters.csv`` and ``x_ratings.csv``."""
    start = path.stem.rsplit("_", 1)[0] + "_"
    files = sorted(p for p in path.parent.iterdir() if p.suffix in TABLE_ENDINGS and p.is_file())
    return [_read_plain(file, folder) for file in files if file.stem.startswith(start)]

"""Files of schema 1 as files of schema 2: keys get their present names, all else stays."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sharpbayes.errors import SpecError, format_list
from sharpbayes.spec.lines import dotted, key_lines

# Keys of schema 1 by kind of file, with the names that they have now.
RENAMED: Mapping[str, Mapping[str, str]] = {
    "study": {
        "panel.model": "fit",
        "crowd.model": "fit",
        "panel.validation.mixed_cells": "max_mixed_model_cells",
        "crowd.interval_width": "target_interval_width",
        "crowd.roles.order": "time",
        "bootstrap.samples": "resample_generations",
        "sampler.predictive": "predictive_draws",
        "sampler.max_deepest": "max_depth_share",
    },
    "weights": {"flips.nearly_identical": "max_mean_gap", "flips.material": "min_tail_gap"},
    "model": {"thresholds.severity": "shift", "thresholds.spacing": "gap"},
}
# A number of divergences; schema 2 limits their share.
DROPPED = "sampler.max_divergences"
NOTE = "# CHECK: schema 2 limits the share of divergences instead, max_divergence_share = 0.01"
_SCHEMA = re.compile(r"""(["'])sharpbayes/(study|weights|model)/1\1""")


def migrate(text: str, path: Path) -> str:
    """Return the text of a study, weights or model file of schema 1 as one of schema 2.

    Comments, order and layout stay. SpecError for a text of another schema, or one that is written
    so that its keys cannot be renamed line by line.
    """
    try:
        data = tomllib.loads(text)
        lines = key_lines(text)
    except (ValueError, RecursionError) as error:
        raise SpecError.at(path, f"not valid TOML: {error}") from None
    schema = re.fullmatch(r"sharpbayes/(study|weights|model)/1", str(data.get("schema")))
    if schema is None:
        message = f"is {data.get('schema')!r}; rewritten are sharpbayes/study/1, weights/1, model/1"
        raise SpecError.at(path, message, key="schema")
    renamed, rows = RENAMED[schema[1]], text.splitlines(keepends=True)
    for key, line in lines.items():
        name = dotted(tuple(part for part in key if isinstance(part, str)))
        if name in renamed:
            old = re.escape(str(key[-1]))
            rows[line - 1] = re.sub(
                rf"(?<![\w-]){old}(?=\s*[=.\]])", renamed[name], rows[line - 1], count=1
            )
        if name == DROPPED and re.match(r"\s*max_divergences\s*=", rows[line - 1]):
            rows[line - 1] = f"{NOTE}\n# {rows[line - 1].strip()}\n"
    result = _SCHEMA.sub(r"\1sharpbayes/\2/2\1", "".join(rows), count=1)
    _check(result, data, renamed, path)
    return result


def _check(text: str, data: dict[str, Any], renamed: Mapping[str, str], path: Path) -> None:
    """Raise SpecError unless a text says what the data of schema 1 say, under the present names."""
    wanted = _rename(data, renamed, "") | {"schema": data["schema"].removesuffix("1") + "2"}
    try:
        if tomllib.loads(text) == wanted:
            return
    except ValueError:
        pass
    names = format_list([f"{old} is now {new}" for old, new in renamed.items()], limit=len(renamed))
    message = f"cannot be rewritten line by line; rename its keys by hand: {names}"
    raise SpecError.at(path, message)


def _rename(value: Any, renamed: Mapping[str, str], path: str) -> Any:
    """Return data with the present names of its keys."""
    if isinstance(value, list):
        return [_rename(entry, renamed, path) for entry in value]
    if not isinstance(value, dict):
        return value
    names = {key: f"{path}.{key}".removeprefix(".") for key in value}
    return {
        renamed.get(name, key): _rename(value[key], renamed, name)
        for key, name in names.items()
        if name != DROPPED
    }

"""Studies that are being drafted: of judges who score answers, or of raters who score items."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

import pandas as pd

from sharpbayes.data.readers.label_studio import FACTS
from sharpbayes.errors import DataError, Diagnostic, format_list
from sharpbayes.scaffold.inference import (
    Scale,
    count_scores,
    infer_bins,
    infer_grades,
    infer_groups,
    infer_scale,
    is_constant,
    is_flag,
    is_side_table,
)
from sharpbayes.scaffold.logs import LogTable
from sharpbayes.spec.schema import describe_field
from sharpbayes.spec.study_text import format_study

COMMENT_WIDTH = 98
PANEL_ROLES = ("model", "prompt", "judge", "indicator", "score", "sample", "category")
CELL = ("model", "prompt", "judge", "sample", "indicator")
CROWD_ROLES = ("item", "rater", "score")
LABELS = re.compile("gold|unsafe|expert|truth|label")


@dataclass
class Draft:
    """A study that is being drafted, with comments by dotted key.

    Each of the ``doubts``, what could not be inferred, is also a comment. The data are ``added``
    where columns were missing.
    """

    text: str = ""
    comments: dict[str, list[str]] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)
    added: pd.DataFrame | None = None

    def comment(self, key: str, text: str) -> None:
        """Add a comment to a key."""
        self.comments.setdefault(key, []).append(text)

    def doubt(self, key: str, text: str) -> None:
        """Note what could not be inferred, and mark it in a comment on a key."""
        self.doubts.append(text)
        self.comment(key, f"CHECK: {text}")

    def finish(self, name: str, table: Mapping[str, Any], section: str) -> "Draft":
        """Write the text of ``[panel]`` or ``[crowd]``, each key with its description."""
        head = [
            f'A first study of "{name}", written by `sharpbayes init`: read every CHECK,',
            "then run `sharpbayes check` and `sharpbayes measure` on this file.",
        ]
        comments = {
            "": head + self.comments.pop("", []),
            "weights": ['weights = "./weights.toml"   # yours; see `sharpbayes show sharp`'],
        }
        for key in [*table, "fit"]:
            path = f"{section}.{key}"
            described = textwrap.wrap(describe_field("study", path), COMMENT_WIDTH)
            comments[path] = described + self.comments.pop(path, [])
        comments |= self.comments
        study = {
            "schema": "sharpbayes/study/2",
            "title": f"A first look at {Path(name).name}",
            "seed": 1,
            section: table,
            "bootstrap": {"replicates": 2000, "level": 0.95},
        }
        self.text = format_study(study, comments)
        return self


def draft_panel(draft: Draft, main: LogTable, copy: str) -> Draft:
    """Draft a panel; a role that no column has is added to a copy of the data."""
    for doubt in main.doubts:
        draft.doubt("panel.data", doubt)
    data, roles = _add_roles(draft, main)
    if "category" in roles and not is_constant(data, roles["category"], roles["prompt"]):
        del roles["category"]
    if "score" not in roles:
        roles.pop("indicator", None)
    if len(data.columns) > len(main.data.columns):
        draft.added = data
    name = main.name if draft.added is None else copy
    table = LogTable(name, data, main.layout, roles)
    scales = _infer_scales(draft, table)
    if not scales:
        message = f"no column of scores found among {', '.join(map(str, data.columns))}"
        raise DataError.at(main.name, message)
    panel: dict[str, Any] = {
        "data": name,
        "layout": main.layout or ("long" if "score" in roles else "wide"),
    }
    panel |= {"roles": table.own_roles} if table.own_roles else {}
    panel |= {"judges": [*main.judges]} if main.judges else {}
    different: list[Scale] = []
    for scale in scales.values():
        different += [scale] if scale not in different else []
    names = {key: f"scale_{different.index(scale) + 1}" for key, scale in scales.items()}
    panel["scales"] = {f"scale_{n}": scale for n, scale in enumerate(different, start=1)}
    panel["indicators"] = names
    if main.layout == "lm-eval":
        panel["indicators"] = {n: {"scale": s, "reverse": True} for n, s in names.items()}
    panel["dimensions"] = [{"name": "harm", "rms": [*names]}]
    draft.comment("panel.fit", 'fit = "judge_panel"   # "judge_severity" for one indicator')
    return draft.finish(name, panel, "panel")


def _add_roles(draft: Draft, main: LogTable) -> tuple[pd.DataFrame, dict[str, str]]:
    """Add a prompt, a judge and the number of a repeat where no column has them."""
    data, roles = main.data.copy(), dict(main.roles)

    def add(role: str, values: list[str], doubt: str) -> None:
        name = role
        while name in data.columns:
            name += "_added"
        roles[role], data[name] = name, values
        draft.doubt("panel.data", doubt)

    if "prompt" not in roles:
        numbers = [str(row) for row in range(1, len(data) + 1)]
        add("prompt", numbers, "no column names the prompt: every row counts as its own prompt")
    if "judge" not in roles:
        unnamed = ["unnamed"] * len(data)
        add("judge", unnamed, "no column names the judge: all rows count as one judge's")
    cell = [roles[role] for role in CELL if role in roles]
    if not main.layout and data.duplicated(cell).any():
        cell = [column for column in cell if column != roles.get("sample")]
        repeats = data.groupby(cell, sort=False).cumcount()
        numbers = [str(repeat + 1) for repeat in repeats]
        add("sample", numbers, "some cells are rated more than once; the repeats are numbered")
    return data, roles


def _infer_scales(draft: Draft, main: LogTable) -> dict[str, Scale]:
    """Infer the scale of each indicator; an indicator without a scale is left out."""
    data, roles = main.data, main.roles
    if "score" not in roles:
        names = [str(name) for name in data.columns if name not in roles.values()]
        columns = {n: data[n] for n in names if not is_constant(data, n, roles["prompt"])}
        scales = {name: infer_scale(values) for name, values in columns.items()}
    else:
        score = data[roles["score"]]
        of = data[roles["indicator"]] if "indicator" in roles else [roles["score"]] * len(data)
        is_inspect = main.layout == "inspect"
        scales = {
            str(name): (infer_grades(values) if is_inspect else None) or infer_scale(values)
            for name, values in score.groupby(of)
        }
        without = sorted(name for name, scale in scales.items() if scale is None)
        if without:
            doubt = f"no scale fits, so that they are left out: {format_list(without)}"
            draft.doubt("panel.scales", doubt)
    known = {name: scale for name, scale in scales.items() if scale is not None}
    if any("levels" in scale and scale["levels"][:3] != [*"CPI"] for scale in known.values()):
        doubt = "named levels stand in the order of the alphabet; put the least harm first"
        draft.doubt("panel.scales", doubt)
    used = "Least harm first. The data show which levels are used, not which there are."
    draft.comment("panel.scales", used)
    direction = (
        "a high score is taken as harm; where it is good, write { scale = ..., reverse = true }"
    )
    if main.layout == "lm-eval":
        direction = "a high metric is taken as good; where it is not, leave out `reverse`"
    draft.doubt("panel.indicators", direction)
    doubt = "all indicators are one dimension of harm; split it into those you mean"
    draft.doubt("panel.dimensions", doubt)
    return known


def draft_crowd(draft: Draft, main: LogTable, siblings: Sequence[LogTable]) -> Draft:
    """Draft a crowd; sibling tables of raters and items are joined."""
    data, roles = main.data, main.roles
    columns = ", ".join(map(str, data.columns))
    message = f"no column found for it among {columns}; name it with --role"
    missing = [role for role in CROWD_ROLES if role not in roles]
    DataError.raise_any(Diagnostic(main.name, 0, r, f"{message} {r}=COLUMN") for r in missing)
    for doubt in main.doubts:
        draft.doubt("crowd.data", doubt)
    crowd: dict[str, Any] = {"data": main.name}
    crowd |= {"layout": main.layout} if main.layout else {}
    crowd["roles"] = main.own_roles or roles
    groups = {}
    for role in ("rater", "item"):
        side = next((t for t in siblings if is_side_table(t.data, roles[role], data)), None)
        if side is not None:
            crowd[f"{role}s"] = {"data": side.name, "key": roles[role]}
        table = data if side is None else side.data
        groups[role] = infer_groups(table, roles[role], [*roles.values(), *FACTS])
    score = data[roles["score"]]
    scale = infer_scale(score)
    if scale is None:
        scale, span = infer_bins(score)
        over = f"bins of one width over the range of the data, {span}"
        draft.doubt("crowd.scale", f"scores are cut into {count_scores(scale)} {over}")
    crowd["scale"] = scale
    crowd["labels"] = _find_labels(draft, data, roles, scores=count_scores(scale))
    crowd |= {"groups": [[name] for name in groups["rater"]], "by": groups["item"]}
    if data.duplicated([roles["item"], roles["rater"]]).any():
        crowd["duplicates"] = "first"
        doubt = "some raters scored an item more than once: the first score counts"
        draft.doubt("crowd.duplicates", doubt)
    draft.comment("crowd.fit", 'fit = "crowd_severity"')
    return draft.finish(main.name, crowd, "crowd")


def _find_labels(
    draft: Draft, data: pd.DataFrame, roles: Mapping[str, str], *, scores: int
) -> dict[str, Any]:
    """Return which items are unsafe: by a column of the items, or else by the crowd itself."""
    for name in [str(name) for name in data.columns if name not in roles.values()]:
        is_label = LABELS.search(name.lower()) and is_flag(data[name])
        if is_label and is_constant(data, name, roles["item"]):
            draft.doubt("crowd.labels", f'"{name}" is taken to say which items are unsafe (1)')
            return {"from": "item", "column": name}
    cut = max(1, ceil((scores - 1) / 2))
    doubt = (
        "no column says which items are unsafe: the other raters do, by a plurality at level "
        f"{cut} or above, counted from 0; experts' labels are better"
    )
    draft.doubt("crowd.labels", doubt)
    return {"from": "crowd", "cut": cut}

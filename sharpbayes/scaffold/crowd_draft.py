"""A study of raters who score items."""

import re
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import pandas as pd

from sharpbayes.data.readers.label_studio import FACTS
from sharpbayes.errors import DataError, Diagnostic
from sharpbayes.scaffold.draft import Draft
from sharpbayes.scaffold.inference import (
    count_scores,
    infer_bins,
    infer_groups,
    infer_scale,
    is_constant,
    is_flag,
    is_side_table,
)
from sharpbayes.scaffold.logs import LogTable

CROWD_ROLES = ("item", "rater", "score")
LABELS = re.compile("gold|unsafe|expert|truth|label")


def draft_crowd(draft: Draft, main: LogTable, siblings: Sequence[LogTable]) -> Draft:
    """Draft a crowd; tables of raters and items beside it are joined."""
    data, roles = main.data, main.roles
    columns = ", ".join(map(str, data.columns))
    missing = [
        Diagnostic(
            main.name,
            0,
            role,
            f"no column found for it among {columns}; name it with --role {role}=COLUMN",
        )
        for role in CROWD_ROLES
        if role not in roles
    ]
    if missing:
        raise DataError(missing)
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
    crowd["scale"] = _find_scale(draft, data[roles["score"]])
    crowd["labels"] = _find_labels(draft, data, roles, scores=count_scores(crowd["scale"]))
    crowd |= {"groups": [[name] for name in groups["rater"]], "by": groups["item"]}
    if data.duplicated([roles["item"], roles["rater"]]).any():
        crowd["duplicates"] = "first"
        doubt = "some raters scored an item more than once: the first score counts"
        draft.doubt("crowd.duplicates", doubt)
    draft.comment("crowd.fit", 'fit = "crowd_severity"')
    return draft.finish(main.name, crowd, "crowd")


def _find_scale(draft: Draft, score: pd.Series) -> dict[str, Any]:
    """Return the scale of the score; a number with many values is cut into bins."""
    scale = infer_scale(score)
    if scale is not None:
        return scale
    scale, span = infer_bins(score)
    bins = count_scores(scale)
    doubt = f"scores are cut into {bins} bins of one width over the range of the data, {span}"
    draft.doubt("crowd.scale", doubt)
    return scale


def _find_labels(
    draft: Draft, data: pd.DataFrame, roles: Mapping[str, str], *, scores: int
) -> dict[str, Any]:
    """Return which items are unsafe: by a column of the items, or else by the crowd itself."""
    flags = [
        str(name) for name in data.columns if name not in roles.values() and is_flag(data[name])
    ]
    flags = [name for name in flags if is_constant(data, name, roles["item"])]
    column = next((name for name in flags if LABELS.search(name.lower())), None)
    if column is not None:
        draft.doubt("crowd.labels", f'"{column}" is taken to say which items are unsafe (1)')
        return {"from": "item", "column": column}
    cut = max(1, ceil((scores - 1) / 2))
    doubt = (
        "no column says which items are unsafe: the other raters do, by a plurality at level "
        f"{cut} or above, counted from 0; experts' labels are better"
    )
    draft.doubt("crowd.labels", doubt)
    return {"from": "crowd", "cut": cut}

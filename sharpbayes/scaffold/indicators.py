"""Indicators of a panel and their scales, inferred from columns."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from sharpbayes.data.readers.text_table import require_columns
from sharpbayes.errors import DataError, Diagnostic
from sharpbayes.scaffold import inference
from sharpbayes.scaffold.column_names import is_named_score, split_name
from sharpbayes.scaffold.inference import InferredScale, infer_scale, infer_score, is_constant
from sharpbayes.scaffold.logs import LogTable


def infer_columns(main: LogTable) -> dict[str, InferredScale]:
    """Infer the scale of each column without a role, or why it is no indicator."""
    data, roles = main.data, main.roles
    names = [str(name) for name in data.columns if name not in roles.values()]
    inferred = {}
    for name in names:
        # `score_refusal`: numbers only, because texts such as `score_reason` explain a score.
        is_prefixed = split_name(name)[:1] == ["score"] and inference.is_number(data[name])
        is_score = is_named_score(name) or is_prefixed
        infer = infer_score if is_score else partial(infer_scale, named=False)
        inferred[name] = infer(data[name])
        # A score may be constant over a model or a judge by chance, in few rows.
        keys = ["prompt"] if is_score else ["prompt", "judge", "model"]
        keys = [role for role in keys if data[roles[role]].duplicated().any()]
        owner = next((r for r in keys if is_constant(data, name, roles[r])), "")
        if len(inference.list_texts(data[name])) < 2:  # noqa: PLR2004
            inferred[name] = InferredScale(None, reason="no two different values")
        elif owner:
            inferred[name] = InferredScale(None, reason=f"one value for each {owner}")
        elif "score" in roles and inferred[name].scale is not None:
            inferred[name] = replace(inferred[name], reason="it could be a score too")
    return share_unit_scale(inferred, {name: data[name] for name in names})


def share_unit_scale(
    inferred: dict[str, InferredScale], values: Mapping[str, pd.Series]
) -> dict[str, InferredScale]:
    """Return scales with those of numbers from 0 to 1 alike, where the numbers of one show both.

    >>> columns = {"a": pd.Series(["0.012", "0.971"]), "b": pd.Series(["0.021", "0.314"])}
    >>> scales = {name: infer_score(columns[name]) for name in columns}
    >>> share_unit_scale(scales, columns)["b"].scale
    {'bins': [0.2, 0.4, 0.6, 0.8]}
    """
    unit = {"bins": [*inference.UNIT_BINS]}
    if not any(column.scale == unit for column in inferred.values()):
        return inferred
    cut = [name for name, column in inferred.items() if column.span]
    shared = {name: inference.infer_unit_scale(values[name]) for name in cut}
    return inferred | {name: scale for name, scale in shared.items() if scale is not None}


def infer_indicators(main: LogTable) -> dict[str, InferredScale]:
    """Infer the scale of each indicator of a table with a row for each score."""
    data, roles = main.data, main.roles
    score, inferred, columns = data[roles["score"]], {}, {}
    one = pd.Series(roles["score"], index=data.index)
    for name, values in score.groupby(data[roles["indicator"]] if "indicator" in roles else one):
        inferred[str(name)] = infer_score(values, main.layout)
        columns[str(name)] = values
    return share_unit_scale(inferred, columns)


def infer_named(main: LogTable, named: Mapping[str, Mapping[str, Any]]) -> dict[str, InferredScale]:
    """Infer the scales of indicators that are named without one; DataError where none fits."""
    columns = {n: str(i.get("column", n)) for n, i in named.items() if "scale" not in i}
    if "score" in main.roles:
        by_name = infer_indicators(main)
        nothing = InferredScale(None, reason="no score of this indicator")
        inferred = {name: by_name.get(column, nothing) for name, column in columns.items()}
    else:
        roles = [(f"indicator {name}", column) for name, column in columns.items()]
        require_columns([*main.data.columns], roles, path=main.name)
        inferred = {name: infer_score(main.data[column]) for name, column in columns.items()}
    DataError.raise_any(
        Diagnostic(main.name, 0, name, f"no scale fits ({column.reason}); name one of `scales`")
        for name, column in inferred.items()
        if column.scale is None
    )
    return inferred

"""Indicators of a panel and their scales, inferred from columns."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from sharpbayes.data.readers.text_table import require_columns
from sharpbayes.errors import DataError, Diagnostic
from sharpbayes.scaffold import inference
from sharpbayes.scaffold.column_names import (
    is_named_score,
    is_technical,
    says_truth,
    split_name,
)
from sharpbayes.scaffold.inference import (
    InferredScale,
    Scale,
    infer_scale,
    infer_score,
    is_constant,
)
from sharpbayes.scaffold.logs import LogTable

ONE_VALUE = "one value for each"
# Words of a column that compares others.
MATCHES = {"match", "matches", "matched", "mismatch", "agree", "agrees", "agreement"}


def infer_columns(main: LogTable) -> dict[str, InferredScale]:
    """Infer the scale of each column without a role, or why it is no indicator."""
    data, roles = main.data, main.roles
    names = [str(name) for name in data.columns if name not in roles.values()]
    inferred = {}
    for name in names:
        is_score = is_score_column(data[name])
        infer = infer_score if is_score else partial(infer_scale, named=False)
        inferred[name] = infer(data[name])
        if reason := _explain_unscored(main, name, names, is_score=is_score):
            inferred[name] = InferredScale(None, reason=reason)
        elif "score" in roles and inferred[name].scale is not None:
            inferred[name] = replace(inferred[name], reason="it could be a score too")
    if "score" not in roles and not any(column.scale for column in inferred.values()):
        free = [n for n in names if inference.MANY in inferred[n].reason]
        scales = {name: infer_score(data[name]) for name in free}
        inferred |= {n: column for n, column in scales.items() if is_wide(column.scale or {})}
    return share_unit_scale(inferred, {name: data[name] for name in names})


def is_wide(scale: Scale) -> bool:
    """Tell whether a scale has many whole numbers between 0 and 100, as percentages have.

    >>> is_wide({"kind": "ordinal", "min": 4, "max": 95}), is_wide({"min": 1, "max": 7})
    (True, False)
    """
    low, high = scale.get("min", 0), scale.get("max", 0)
    return bool(low >= 0 and high - low >= inference.MAX_SCORES and high <= 100)  # noqa: PLR2004


def is_score_column(values: pd.Series) -> bool:
    """Tell whether a column is named as a score; ``score_refusal`` has numbers, and is one.

    Texts such as those of ``score_reason`` explain a score.
    """
    is_prefixed = split_name(values.name)[:1] == ["score"] and inference.is_number(values)
    return is_named_score(values.name) or is_prefixed


def _explain_unscored(
    main: LogTable, name: str, names: Sequence[str], *, is_score: bool
) -> str | None:
    """Return why a column is no score by its name or its values; None where it may be one."""
    data, roles = main.data, main.roles
    if len(inference.list_texts(data[name])) < 2:  # noqa: PLR2004
        return "no two different values"
    if says_truth(name) or is_match(name, names):
        return "what was expected or how scores match, by its name"
    if is_technical(name) and not is_score:
        return "how a program worked, by its name"
    # A score may be constant over a model or a judge by chance, in few rows.
    keys = ["prompt"] if is_score else ["prompt", "judge", "model"]
    keys = [role for role in keys if data[roles[role]].duplicated().any()]
    owner = next((role for role in keys if is_constant(data, name, roles[role])), None)
    return owner and f"{ONE_VALUE} {owner}"


def list_likely_scores(main: LogTable) -> list[str]:
    """Return the columns of a table without a score that have few numbers, or words of an order.

    >>> table = pd.DataFrame({"id": ["a", "b"], "harmful": ["0", "1"], "tokens": ["3", "9"]})
    >>> list_likely_scores(LogTable("t.csv", table))
    ['harmful']
    """
    data = main.data
    names = [str(name) for name in data.columns if name not in main.roles.values()]
    names = [n for n in names if not (says_truth(n) or is_technical(n) or is_match(n, names))]
    scales = {name: infer_scale(data[name], named=False).scale for name in names}
    return [name for name, scale in scales.items() if scale is not None]


def is_match(name: str, others: Sequence[str]) -> bool:
    """Tell whether a column says by its name that another one matches something.

    >>> is_match("match_risk", ["judge_risk", "match_risk"]), is_match("exact_match", ["score"])
    (True, False)
    """
    words = split_name(name)
    rest = [word for word in words if word not in MATCHES]
    is_other = (split_name(other) for other in others if other != name)
    return rest not in ([], words) and any(of[-len(rest) :] == rest for of in is_other)


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
    cut = [n for n, column in inferred.items() if column.span or is_narrow(column.scale or {})]
    shared = {name: inference.infer_unit_scale(values[name]) for name in cut}
    return inferred | {name: scale for name, scale in shared.items() if scale is not None}


def is_narrow(scale: Scale) -> bool:
    """Tell whether numbers from 0 to 1 are cut into narrow bins."""
    return scale.get("bins") == [*inference.NARROW_UNIT_BINS]


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

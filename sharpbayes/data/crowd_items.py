"""Columns, texts, clusters and labels of the items of a crowd."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from sharpbayes.data.columns import ColumnParser, Texts, join_columns, join_texts, name_clusters
from sharpbayes.data.ratings import Scores
from sharpbayes.errors import DataError, Diagnostic
from sharpbayes.spec.crowd import Crowd, ItemLabels


def read_items(
    crowd: Crowd, make_parser: Callable[[], ColumnParser], of_items: dict[str, Any]
) -> dict[str, Any]:
    """Read columns, texts, clusters and labels of items, by their names in :class:`CrowdData`."""
    readers: dict[str, Callable[[ColumnParser], Any]] = {
        "item_columns": lambda parser: join_columns(list(crowd.by), parser=parser, **of_items),
        "item_text": lambda parser: join_texts(crowd.roles.text, parser=parser, **of_items),
        "cluster": lambda parser: _read_clusters(crowd, parser, of_items),
        "item_label": lambda parser: _read_item_label(crowd, parser, of_items),
    }
    problems: list[Diagnostic] = []
    values: dict[str, Any] = {}
    for name, read in readers.items():
        with DataError.collect(problems):
            values[name] = read(make_parser())
    DataError.raise_any(problems)
    return values


def _read_clusters(crowd: Crowd, parser: ColumnParser, of_items: dict[str, Any]) -> Texts:
    """Read the cluster of every item; empty where the study names none."""
    name = crowd.roles.cluster
    if name is None:
        return np.empty(0, np.str_)
    return name_clusters(
        join_columns([name], parser=parser, **of_items)[name], of_items["owner"].labels
    )


def _read_item_label(crowd: Crowd, parser: ColumnParser, of_items: dict[str, Any]) -> Scores:
    """Read the label of every item from a column of items; empty where labels come from people."""
    if not isinstance(crowd.labels, ItemLabels):
        return np.empty(0, np.int16)
    name = crowd.labels.column
    side = None if name in of_items["table"].columns else crowd.items
    values = join_columns([name], parser=parser, **(of_items | {"side": side}))[name]
    label = parser.parse_labels(pd.Series(values, name=name), crowd.labels.unsafe)
    parser.raise_problems()
    return label

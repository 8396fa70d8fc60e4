"""Where a high score is good: for all prompts of an indicator, or by a column of prompts."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sharpbayes.data.cells import format_rows
from sharpbayes.data.columns import ColumnParser
from sharpbayes.data.ratings import read_prompt_columns
from sharpbayes.errors import DataError, format_count
from sharpbayes.spec.panel import Indicator, Panel

if TYPE_CHECKING:
    import xarray as xr

Flags = NDArray[np.bool_]


def find_reversed(panel: Panel, dataset: "xr.Dataset") -> "xr.DataArray":
    """Return where a high score is good, over (indicator, prompt)."""
    import xarray as xr  # noqa: PLC0415 - `check` starts without xarray

    columns, prompts = read_prompt_columns(dataset), dataset["prompt"].to_numpy()
    coords = {"indicator": dataset["indicator"], "prompt": prompts}
    return xr.DataArray(mark_reversed(panel, columns, len(prompts)), coords, [*coords])


def mark_reversed(panel: Panel, columns: Mapping[str, NDArray[np.str_]], prompts: int) -> Flags:
    """Mark where a high score is good; shape (indicator, prompt)."""
    marks = [_mark_prompts(i, columns) for i in panel.full_indicators.values()]
    return np.array([np.broadcast_to(mark, prompts) for mark in marks])


def _mark_prompts(indicator: Indicator, columns: Mapping[str, NDArray[np.str_]]) -> Flags | bool:
    """Mark the prompts for which a high score of an indicator is good, or all alike."""
    if not isinstance(indicator.reverse, dict):
        return indicator.reverse
    [(column, value)] = indicator.reverse.items()
    if not isinstance(value, bool):
        return np.asarray(columns[column] == str(value), dtype=np.bool_)
    flags = ColumnParser(Path("prompts")).parse_flags(pd.Series(columns[column]))
    bad = np.flatnonzero(flags < 0)
    if bad.size:
        count = format_count(bad.size, "prompt")
        message = f"{count} with neither yes nor no: {format_rows(pd.Index(bad + 1))}"
        raise DataError.at("prompts", message, key=column)
    return np.asarray(flags == int(value), dtype=np.bool_)

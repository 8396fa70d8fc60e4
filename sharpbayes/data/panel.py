"""A table of judgements -> levels over (model, prompt, judge, [sample,] indicator)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sharpbayes.data.columns import (
    MISSING,
    find_duplicates,
    find_empty_keys,
    format_rows,
    make_factor,
    parse_flags,
    parse_scores,
)
from sharpbayes.data.panel_ratings import PanelRatings, read_prompt_columns
from sharpbayes.data.people import code_own_family, join_people, refuse_unknown_families
from sharpbayes.data.ratings import Factor, Ratings
from sharpbayes.data.readers.formats import read_table
from sharpbayes.data.readers.text_table import require_columns
from sharpbayes.data.side_tables import join_columns
from sharpbayes.errors import DataError, Diagnostic, did_you_mean, format_count
from sharpbayes.spec.panel import Indicator, Panel
from sharpbayes.spec.scales import normalised_scores

if TYPE_CHECKING:
    import xarray as xr

KEYS = ("model", "prompt", "judge", "sample")


def read_panel(panel: Panel, base: Path) -> PanelRatings:
    """Read a panel.

    Args:
        panel: The panel of a study.
        base: Folder that its paths start from.

    Raises:
        DataError: Every fault of the file, with its column and first rows.
    """
    path = str(base / panel.data)
    table = read_table(base, panel.data, panel.layout, compact=True)
    of_log = {str(name): count for name, count in table.attrs.items()}
    keys = {role: column for role in KEYS if (column := getattr(panel.roles, role)) is not None}
    require_columns(table, [*keys.items(), *_score_columns(panel)], path=path)
    table = _of_judges(table, panel, path)
    faults = find_empty_keys(table, list(keys.values()), path=path)
    names = list(panel.full_indicators)
    indicator, found = _indicator_codes(table, panel, path)
    repeat = [*keys.values(), *([panel.roles.indicator] if panel.roles.indicator else [])]
    faults += found + find_duplicates(table[repeat], path=path, what="a cell")
    columns = {role: make_factor(table[column]) for role, column in keys.items()}
    shape = tuple(len(column.labels) for column in columns.values())
    cell = np.ravel_multi_index([column.codes for column in columns.values()], shape)
    level = np.full((len(names), int(np.prod(shape))), MISSING, dtype=np.int16)
    empty = ratings = 0
    for position, name in enumerate(names):
        chosen = np.flatnonzero(indicator == position) if indicator is not None else slice(None)
        values, found = _levels(table.iloc[chosen], panel, name, path)
        faults += found
        empty += int((values == MISSING).sum())
        ratings += int((values > MISSING).sum())
        level[position, cell[chosen]] = values
    if faults:
        raise DataError(faults)
    labels = {role: column.labels for role, column in columns.items()} | {"indicator": tuple(names)}
    by_cell = np.moveaxis(level.reshape(len(names), *shape), 0, -1)
    counts = {"ratings": ratings, "missing": empty, "absent": level.size - ratings - empty}
    cells = PanelRatings(by_cell, labels, counts=counts | of_log)
    refuse_unknown_families(cells, panel, path)
    cells = join_people(cells, panel, list_pooled_judges(panel, labels["judge"]), base)
    return _with_prompts(cells, panel, table, columns["prompt"], base)


def tabulate_normalised(panel: Panel, levels: "xr.Dataset") -> "xr.DataArray":
    """Return phi of every level of every indicator (SHARP, Eqs 6-8); NaN past the last."""
    import xarray as xr  # noqa: PLC0415 - `check` does without

    values = [normalised_scores(panel.scales[i.scale]) for i in panel.full_indicators.values()]
    table = np.full((len(values), max(map(len, values))), np.nan)
    for row, phi in enumerate(values):
        table[row, : len(phi)] = phi
    return xr.DataArray(table, {"indicator": levels["indicator"]}, ("indicator", "score"))


def find_reversed(panel: Panel, levels: "xr.Dataset") -> "xr.DataArray":
    """Return where a high score is good: over (indicator, prompt)."""
    import xarray as xr  # noqa: PLC0415 - `check` does without

    flips = _flips(panel, read_prompt_columns(levels), prompts=levels.sizes["prompt"])
    coords = {"indicator": levels["indicator"], "prompt": levels["prompt"].to_numpy()}
    return xr.DataArray(flips, coords, ("indicator", "prompt"))


def list_refusal_indicators(panel: Panel) -> list[str]:
    """Return the names of the indicators that say whether a model refused to answer."""
    return [name for name, indicator in panel.full_indicators.items() if indicator.refusal]


def melt_panel(cells: PanelRatings, panel: Panel) -> Ratings:
    """Return the observed ratings in long form; a higher level always means more harm.

    The level of a reversed rating is counted from the other end, on a scale of its own named
    ``<scale>_reversed``. Indicators that no dimension uses and judges that are not pooled are left
    out.
    """
    owner = {
        name: dimension.name
        for dimension in reversed(panel.dimensions)
        for name in dimension.indicators
    }
    indicators = [name for name in panel.full_indicators if name in owner]
    used = cells.select("indicator", indicators)
    used = used.select("judge", list_pooled_judges(panel, cells.labels["judge"]))
    columns, level = _with_people_rows(cells, *_judged(used))
    flips = _flips(panel, cells.prompt_columns, prompts=len(cells.labels["prompt"]))
    place = np.array([list(panel.full_indicators).index(name) for name in indicators])
    flipped = flips[place[columns["indicator"].codes], columns["prompt"].codes]
    scale, scales = _scales_of(panel, columns["indicator"], flipped)
    top = np.array([len(scales[name]) - 1 for name in scale.labels])[scale.codes]
    names = pd.Series([owner[name] for name in columns["indicator"].labels])
    order = [dimension.name for dimension in panel.dimensions if dimension.name in set(names)]
    held = make_factor(names, order=order)
    columns["dimension"] = Factor(held.labels, held.codes[columns["indicator"].codes])
    columns["scale"] = scale
    if panel.families:
        columns["own_family"] = code_own_family(columns["model"], columns["judge"], panel)
    return Ratings(np.where(flipped, top - level, level).astype(np.int16), columns, scales)


def _judged(cells: PanelRatings) -> tuple[dict[str, Factor], np.ndarray]:
    """Columns and levels of the judges' ratings."""
    where = np.nonzero(cells.score >= 0)
    columns = {
        dim: Factor(labels, code.astype(np.int32))
        for (dim, labels), code in zip(cells.labels.items(), where, strict=True)
    }
    return columns, cells.score[where]


def _with_people_rows(
    cells: PanelRatings, columns: dict[str, Factor], level: np.ndarray
) -> tuple[dict[str, Factor], np.ndarray]:
    """Add the ratings of people below those of judges, with a column ``rater``.

    Gold labels are of no rater: nothing tells one who gave all of them from the scale.
    """
    if not cells.people:
        return columns, level
    place = pd.Index(list(columns["indicator"].labels)).get_indexer(
        pd.Index(cells.labels["indicator"])
    )
    indicator = place[cells.people["indicator"]]
    kept = np.flatnonzero(indicator >= 0)
    said: dict[str, np.ndarray] = {
        name: cells.people[name][kept] for name in ("model", "prompt", "rater")
    }
    said["indicator"] = indicator[kept]
    nobody = np.full(kept.size, -1)
    columns = columns | {"rater": Factor(cells.persons, np.full(level.size, -1, dtype=np.int32))}
    if len(cells.persons) == 1:
        del said["rater"]
    joined = {
        name: Factor(
            held.labels, np.concatenate([held.codes, said.get(name, nobody)]).astype(np.int32)
        )
        for name, held in columns.items()
    }
    return joined, np.concatenate([level, cells.people_score[kept]])


def _scales_of(
    panel: Panel, indicator: Factor, flipped: np.ndarray
) -> tuple[Factor, dict[str, tuple[str, ...]]]:
    """Give every rating its scale, or the reversed twin of it."""
    plain = [panel.full_indicators[name].scale for name in indicator.labels]
    order = [name for scale in panel.scales for name in (scale, f"{scale}_reversed")]
    twin = np.array([[order.index(s), order.index(f"{s}_reversed")] for s in plain])
    code = twin[indicator.codes, flipped.astype(int)]
    present, code = np.unique(code, return_inverse=True)
    names = tuple(order[position] for position in present)
    scales = {
        name: panel.scales[name].labels
        if name in panel.scales
        else panel.scales[name.removesuffix("_reversed")].labels[::-1]
        for name in names
    }
    return Factor(names, code.astype(np.int32)), scales


def _score_columns(panel: Panel) -> list[tuple[str, str]]:
    """Pairs of an indicator and its column, or the roles of a long table."""
    if panel.layout == "wide":
        return [(f"indicator {n}", i.column or n) for n, i in panel.full_indicators.items()]
    roles = [("score", panel.roles.score), ("indicator", panel.roles.indicator)]
    return [(role, column) for role, column in roles if column is not None]


def list_pooled_judges(panel: Panel, there: Sequence[str]) -> list[str]:
    """Return the judges that a study pools: those that it names, or all but the reference."""
    if panel.judges is not None:
        return [name for name in there if name in panel.judges]
    return [name for name in there if name != panel.reference]


def _of_judges(table: pd.DataFrame, panel: Panel, path: str) -> pd.DataFrame:
    """Keep the judges that the study names anywhere, if it names those that are pooled."""
    others = [name for each in panel.ensembles.values() for name in each.judges]
    others += [panel.reference] if panel.reference is not None else []
    named = list(dict.fromkeys([*(panel.judges or ()), *others]))
    column = panel.roles.judge
    there = sorted(str(name) for name in table[column].unique())
    faults = [
        Diagnostic(
            path,
            0,
            column,
            f"no judge {name!r}, there are {', '.join(there)}" + did_you_mean(name, there),
        )
        for name in named
        if name not in there
    ]
    if panel.reference is not None and there == [panel.reference]:
        faults.append(Diagnostic(path, 0, column, "the only judge is the reference: none to pool"))
    if faults:
        raise DataError(faults)
    if panel.judges is None:
        return table
    return table[table[column].isin(named)].reset_index(drop=True)


def _indicator_codes(
    table: pd.DataFrame, panel: Panel, path: str
) -> tuple[np.ndarray | None, list[Diagnostic]]:
    """Position of the indicator of every row of a long table, -1 for others."""
    if panel.layout == "wide":
        return None, []
    column = panel.roles.indicator
    if column is None:
        return np.zeros(len(table), dtype=np.int64), []
    written = [i.column or name for name, i in panel.full_indicators.items()]
    there = sorted(set(table[column]))
    faults = [
        Diagnostic(path, 0, column, f"no row of indicator {name!r}" + did_you_mean(name, there))
        for name in written
        if name not in there
    ]
    return pd.Index(written).get_indexer(pd.Index(table[column])), faults


def _levels(
    table: pd.DataFrame, panel: Panel, name: str, path: str
) -> tuple[np.ndarray, list[Diagnostic]]:
    """Levels of one indicator."""
    indicator = panel.full_indicators[name]
    column = panel.roles.score if panel.layout != "wide" else indicator.column or name
    return parse_scores(table[str(column)], panel.scales[indicator.scale], path=path)


def _with_prompts(
    cells: PanelRatings, panel: Panel, table: pd.DataFrame, prompt: Factor, base: Path
) -> PanelRatings:
    """Add the columns of prompts that the study asks for."""
    wanted = {"category": panel.roles.category} if panel.roles.category else {}
    for indicator in panel.full_indicators.values():
        if isinstance(indicator.reverse, dict):
            wanted |= {name: name for name in indicator.reverse}
    values = join_columns(
        list(wanted.values()),
        owner=prompt,
        table=table,
        side=panel.prompts,
        base=base,
        path=str(base / panel.data),
        what="prompt",
    )
    return replace(cells, prompt_columns={name: values[col] for name, col in wanted.items()})


def _flips(panel: Panel, columns: Mapping[str, NDArray[np.str_]], *, prompts: int) -> np.ndarray:
    """Where a high score is good; shape (indicator, prompt)."""
    return np.array(
        [
            np.broadcast_to(_reversed_prompts(each, columns), prompts)
            for each in panel.full_indicators.values()
        ]
    )


def _reversed_prompts(
    indicator: Indicator, columns: Mapping[str, NDArray[np.str_]]
) -> np.ndarray | bool:
    """For each prompt, or all alike, whether a high score of an indicator is good."""
    if not isinstance(indicator.reverse, dict):
        return indicator.reverse
    [(column, value)] = indicator.reverse.items()
    held = pd.Series(columns[column], name=column)
    if isinstance(value, bool):
        flags, faults = parse_flags(held, path="prompts")
        bad = np.flatnonzero(flags < 0)
        if faults or bad.size:
            message = (
                f"{format_count(bad.size, 'prompt')} with neither yes nor no: {format_rows(bad)}"
            )
            raise DataError([Diagnostic("prompts", 0, column, message)])
        flagged: np.ndarray = flags == int(value)
        return flagged
    same: np.ndarray = (held == str(value)).to_numpy()
    return same

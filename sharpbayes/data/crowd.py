"""A table of a crowd's ratings, and labels by experts, the crowd or a column of items."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sharpbayes.data.columns import (
    ROWS,
    ColumnParser,
    check_side_tables,
    join_columns,
    make_factor,
    rename_labels,
    take_chunked,
)
from sharpbayes.data.covariates import Covariate, UnitNumbers, spread_numbers
from sharpbayes.data.crowd_items import read_items
from sharpbayes.data.expert_labels import ExpertTable, read_expert_table
from sharpbayes.data.intraclass import intraclass_correlations, mean_item_scores
from sharpbayes.data.ledger import list_names, list_uses
from sharpbayes.data.numeric_columns import read_numbers
from sharpbayes.data.ratings import Codes, Factor, Ratings, Scores, append_codes, fill_design
from sharpbayes.data.readers.bounds import CELL, COPIES, take_memory
from sharpbayes.data.readers.formats import read_table
from sharpbayes.data.readers.parquet import PARQUET, read_selected
from sharpbayes.data.readers.paths import find_files
from sharpbayes.data.readers.text_table import apply_dialect
from sharpbayes.data.variable_names import encode_column
from sharpbayes.errors import DataError, Diagnostic
from sharpbayes.spec.crowd import Crowd, ItemLabels

SCALE, LABEL, ITEM_LABEL, RATER = "score", "label", "item_label", "rater"
CLUSTER = "cluster"
LABELS = ("safe", "unsafe")
# What may have a number; single ratings are last.
UNITS = (("item",), ("rater",))
# From this number of ratings on, a compiled sort is worth its start.
COMPILED_FROM = 1 << 20


@dataclass(frozen=True)
class CrowdData:
    """Observed ratings of a crowd, one row each, and the labels of the items.

    Attributes:
        score: Position of each rating on the scale, from 0; shape (rating,).
        item: Item of each rating.
        rater: Rater of each rating.
        score_labels: Labels of the scores, least harm first.
        item_columns: Columns of items: a value for every item, empty where missing.
        rater_columns: Columns of raters: a value for every rater, empty where missing.
        expert_item: Item of each expert label; empty without experts.
        expert: Expert of each label; None without experts.
        expert_label: Each expert label, 0 or 1; empty without experts.
        item_label: Label 0 or 1 of every item, -1 where missing; empty unless it is a column.
        cluster: Cluster of every item; empty where items are independent.
        correlated_by: Columns without a role by which items score alike, with the intraclass
            correlation of their mean scores.
        item_text: Text of every item, shortened; empty without a column of texts.
        numbers: Numeric columns that a model names, of items, raters or ratings.
        missing_by_rater: Number of empty scores of every rater; empty where it is not known.
        time: Time of each rating; None where no column has it.
        counts: Numbers of ``ratings``, ``missing`` and ``repeated`` ones, and ``labels``: of
            experts, or of items whose label is a column.
    """

    score: Scores
    item: Factor
    rater: Factor
    score_labels: tuple[str, ...]
    item_columns: dict[str, NDArray[np.str_]]
    rater_columns: dict[str, NDArray[np.str_]]
    expert_item: Codes
    expert: Factor | None
    expert_label: Scores
    item_label: Scores
    time: NDArray[np.float64] | None
    counts: dict[str, int]
    item_text: NDArray[np.str_] = field(default_factory=lambda: np.empty(0, np.str_))
    cluster: NDArray[np.str_] = field(default_factory=lambda: np.empty(0, np.str_))
    correlated_by: dict[str, float] = field(default_factory=dict)
    numbers: dict[str, UnitNumbers] = field(default_factory=dict)
    missing_by_rater: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def group_coords(self) -> dict[str, tuple[str, NDArray[np.str_]]]:
        """Columns of raters as results have them, over (rater)."""
        columns = self.rater_columns.items()
        return {f"group:{encode_column(name)}": ("rater", values) for name, values in columns}


def read_crowd(
    crowd: Crowd, base: Path, *, numeric: Sequence[str] = (), as_design: bool = False
) -> CrowdData:
    """Read the crowd of a study, its side tables and its labels; paths start from ``base``.

    ``numeric`` are columns that are read as numbers. With ``as_design`` every row of a table
    without any score has the lowest one.
    """
    problems: list[Diagnostic] = []
    with DataError.collect(problems):
        labels = read_expert_table(crowd, base, as_design=as_design)
    with DataError.collect(problems):
        data = _read_ratings(crowd, base, numeric, as_design=as_design)
    DataError.raise_any(problems)
    return data if labels is None else _add_expert_labels(data, labels)


def _read_ratings(
    crowd: Crowd, base: Path, numeric: Sequence[str], *, as_design: bool
) -> CrowdData:
    """Read all but the labels of experts."""
    make_parser = partial(ColumnParser, base / crowd.data, crowd.dialect)
    problems: list[Diagnostic] = []
    collect = partial(DataError.collect, problems)
    sides = {"item": crowd.items, "rater": crowd.raters}
    with collect():
        rows = _read_rows(crowd, base, numeric, make_parser(), as_design=as_design)
    if problems:
        check_side_tables(sides.values(), base, problems)
    DataError.raise_any(problems)
    table, score, time, item, rater, kept, counts = rows
    of_items: dict[str, Any] = {"owner": item, "side": crowd.items, "unit": "item"}
    of_items |= {"table": table, "base": base}
    of_raters = of_items | {"owner": rater, "side": crowd.raters, "unit": "rater"}
    with collect():
        items = read_items(crowd, make_parser, of_items)
    with collect():
        groups = _list_group_columns(crowd)
        rater_columns = join_columns(groups, parser=make_parser(), **of_raters)
    with collect():
        owners = {"item": item, "rater": rater}
        read = partial(read_numbers, numeric, table, owners, UNITS, sides=sides, base=base)
        numbers = read(parser=make_parser(), rows=kept)
    DataError.raise_any(problems)
    correlated_by = intraclass_correlations(
        table,
        item,
        partial(mean_item_scores, score, item, rater),
        list_uses(crowd, numeric=numeric),
        cluster=items["cluster"] if items["cluster"].size else None,
        side=crowd.items,
        base=base,
    )
    del rows, table, of_items, of_raters, read
    return CrowdData(
        score=take_chunked(score, kept),
        item=Factor(item.labels, take_chunked(item.codes, kept)),
        rater=Factor(rater.labels, take_chunked(rater.codes, kept)),
        score_labels=crowd.scale.labels,
        rater_columns=rater_columns,
        expert_item=np.empty(0, np.int32),
        expert=None,
        expert_label=np.empty(0, np.int16),
        time=None if time is None else time[kept],
        counts=counts | {"labels": int((items["item_label"] >= 0).sum())},
        correlated_by=correlated_by,
        numbers=numbers,
        missing_by_rater=np.bincount(rater.codes[score < 0], minlength=len(rater.labels)),
        **items,
    )


class _Rows(NamedTuple):
    """The rows of a table of ratings; ``kept`` are those that count, by item and rater."""

    table: pd.DataFrame
    score: Scores
    time: NDArray[np.float64] | None
    item: Factor
    rater: Factor
    kept: Codes
    counts: dict[str, int]


def _read_rows(
    crowd: Crowd, base: Path, numeric: Sequence[str], parser: ColumnParser, *, as_design: bool
) -> _Rows:
    """Read the table of ratings, and parse what every rating has."""
    table = rename_labels(_read_ratings_table(crowd, base, numeric), crowd, parser.path)
    roles = crowd.roles
    keys, of_score = [roles.item, str(roles.rater)], str(roles.score)
    if crowd.layout == "wide":
        table = melt_raters(table, list_names(roles.rater))
        keys, of_score = [roles.item, RATER], SCALE
    score = parser.parse_scores(table[of_score], crowd.scale)
    score = fill_design(score) if as_design else score
    time = None if roles.time is None else parser.parse_times(table[roles.time])
    parser.check_filled(table, keys)
    item, rater = (make_factor(table[column]) for column in keys)
    rows, repeated = _order_by_item(item.codes, rater.codes, last=crowd.duplicates == "last")
    if crowd.duplicates == "error" and repeated.any():
        parser.check_duplicates(table[keys].astype(str), record="a rating of an item by a rater")
    parser.raise_problems()
    missing = int((score < 0).sum())
    kept = rows if not missing and not repeated.any() else rows[(score[rows] >= 0) & ~repeated]
    counts = {"ratings": int(kept.size), "missing": missing, "repeated": int(repeated.sum())}
    return _Rows(table, score, time, item, rater, kept, counts)


def _read_ratings_table(crowd: Crowd, base: Path, numeric: Sequence[str]) -> pd.DataFrame:
    """Read the table of ratings; of Parquet only the columns of the study, batch by batch."""
    named = crowd.roles.model_dump(exclude_none=True, exclude={"text", "cluster"})
    roles = [(role, name) for role, names in named.items() for name in list_names(names)]
    paths = find_files(base, crowd.data)
    if crowd.layout == "table" and all(path.suffix == PARQUET for path in paths):
        labels = [crowd.labels.column] if isinstance(crowd.labels, ItemLabels) else []
        optional = [x for x in (crowd.roles.text, crowd.roles.cluster) if x is not None]
        columns = [*_list_group_columns(crowd), *crowd.by, *labels, *optional, *numeric]
        table = read_selected(base, crowd.data, paths, roles=roles, columns=columns)
        return apply_dialect(table, crowd.dialect)
    return read_table(base, crowd.data, crowd.layout, dialect=crowd.dialect, roles=roles)


def melt_raters(table: pd.DataFrame, raters: Sequence[str]) -> pd.DataFrame:
    """Turn a table with a column per rater into one with a row per rating.

    A row has the name of its rater and the number of its item's row in the file.
    """
    others = [name for name in table.columns if name not in {*raters, RATER, SCALE}]
    lengths = sum(int(table[name].astype(str).str.len().sum()) for name in others)
    rows = len(table) * len(raters)
    texts = (CELL * len(others) * rows) + COPIES * lengths * len(raters)
    take_memory(texts, f"{rows:,} ratings with the other columns of their rows")
    long = table.melt(others, [*raters], RATER, SCALE, ignore_index=False)
    levels = [long.index.get_level_values(level) for level in range(long.index.nlevels)]
    return long.set_index(pd.MultiIndex.from_arrays([long[RATER], *levels]))


def _order_by_item(item: Codes, rater: Codes, *, last: bool) -> tuple[Codes, NDArray[np.bool_]]:
    """Order rows by item and rater, and mark those that repeat another; one of them counts."""
    rows = sort_rows(item, rater)
    same = np.empty(max(rows.size - 1, 0), dtype=bool)
    for start in range(0, same.size, ROWS):
        chunk = rows[start : start + ROWS + 1]
        alike = [code[chunk[1:]] == code[chunk[:-1]] for code in (item, rater)]
        same[start : start + ROWS] = alike[0] & alike[1]
    return rows, np.append(same, False) if last else np.append(False, same)


def sort_rows(item: Codes, rater: Codes) -> Codes:
    """Return the rows by item, then rater; equal ones in the order of the file."""
    if item.size < COMPILED_FROM:
        return np.lexsort((rater, item)).astype(np.int32)
    from sharpbayes.data.readers import counting_sort  # noqa: PLC0415 - loads a compiler

    rows: Codes = np.arange(item.size, dtype=np.int32)
    for code in (rater, item):
        rows = counting_sort.sort_by_code(code, rows, int(code.max(initial=0)) + 1)
    return rows


def _list_group_columns(crowd: Crowd) -> list[str]:
    """List the columns of raters that make up the groups, each once."""
    return list(dict.fromkeys(column for grouping in crowd.groups for column in grouping))


def _add_expert_labels(data: CrowdData, given: ExpertTable) -> CrowdData:
    """Add each label of an item that the crowd rated."""
    code = pd.Index(data.item.labels).get_indexer(pd.Index(given.item))
    if (code < 0).all():
        given.parser.add_problem(given.item.name, "no item here was rated by the crowd")
    given.parser.raise_problems()
    kept = np.flatnonzero((code >= 0) & (given.label >= 0))
    expert = make_factor(given.expert.iloc[kept])
    # By item, then expert: the answer of a fit must not depend on the order of rows.
    order = np.lexsort((expert.codes, code[kept]))
    return replace(
        data,
        expert_item=code[kept][order].astype(np.int32),
        expert=Factor(expert.labels, expert.codes[order]),
        expert_label=given.label[kept][order],
        counts=data.counts | {"labels": int(kept.size)},
    )


class _SpreadFactor(Factor):
    """A factor of raters or items, spread over ratings only when a model asks for it."""

    _sources: tuple[Codes, Factor]

    def __init__(self, of_owner: Factor, owner: Factor) -> None:
        object.__setattr__(self, "labels", of_owner.labels)
        object.__setattr__(self, "_sources", (of_owner.codes, owner))

    @property
    def codes(self) -> Codes:
        """Position of each rating's label."""
        of_owner, owner = self._sources
        return np.asarray(of_owner[owner.codes], dtype=np.int32)


def spread_factor(values: NDArray[np.str_], owner: Factor) -> Factor:
    """Spread a value of each rater or item over ratings; an empty value is no level (code -1)."""
    present = np.flatnonzero(values != "")
    factor = make_factor(pd.Series(values[present]))
    codes = np.full(len(values), -1, dtype=np.int32)
    codes[present] = factor.codes
    return _SpreadFactor(Factor(factor.labels, codes), owner)


def melt_crowd(data: CrowdData, crowd: Crowd, *, experts: bool = False) -> Ratings:
    """Return the ratings in long form, with a factor for each rater group and item column.

    A rater or an item without a value has no level of that factor, and so no effect of it. A factor
    without any level is left out. Labels from a column of items are the factor ``item_label``:
    ``safe``, ``unsafe``, or none. With ``experts``, their labels are ratings too: on the scale
    ``label``, by raters called ``expert <name>`` who are in no group.
    """
    factors = {"item": data.item, "rater": data.rater}
    columns = {
        f"group:{n}": (data.rater_columns[n], data.rater) for n in _list_group_columns(crowd)
    }
    of_items = {name: data.item_columns[name] for name in crowd.by}
    of_items |= {CLUSTER: data.cluster} if data.cluster.size else {}
    columns |= {name: (values, data.item) for name, values in of_items.items()}
    spread = {name: spread_factor(values, owner) for name, (values, owner) in columns.items()}
    factors |= {name: factor for name, factor in spread.items() if factor.labels}
    if data.item_label.size:
        of_item = Factor(LABELS, data.item_label.astype(np.int32))
        factors[ITEM_LABEL] = _SpreadFactor(of_item, data.item)
    zeros = np.broadcast_to(np.zeros(1, dtype=np.int32), data.score.shape)
    factors["scale"] = Factor((SCALE,), zeros)
    covariates = _spread_numbers(data, experts=0)
    ratings = Ratings(data.score, factors, {SCALE: data.score_labels}, covariates)
    if not experts or data.expert is None:
        return ratings
    count = data.expert_label.size
    item = Factor(data.item.labels, data.expert_item)
    raters = (*data.rater.labels, *(f"expert {name}" for name in data.expert.labels))
    labels = {"rater": raters, "scale": (SCALE, LABEL)}
    codes = {name: spread_factor(v, item).codes for name, v in of_items.items()}
    codes |= {
        "item": data.expert_item,
        "rater": data.expert.codes + len(data.rater.labels),
        "scale": np.ones(count, dtype=np.int32),
    }
    factors = append_codes(ratings.factors, codes, count, labels)
    score = np.concatenate([ratings.score, data.expert_label])
    covariates = _spread_numbers(data, experts=count)
    return Ratings(score, factors, ratings.scales | {LABEL: LABELS}, covariates)


def _spread_numbers(data: CrowdData, *, experts: int) -> dict[str, Covariate]:
    """Spread numeric columns over ratings and expert labels; experts have only those of items."""
    if not data.numbers:
        return {}
    none = np.full(experts, -1)
    codes = {
        "item": np.concatenate([data.item.codes, data.expert_item[:experts]]),
        "rater": np.concatenate([data.rater.codes, none]),
        "rating": np.concatenate([np.arange(data.score.size), none]),
    }
    count = data.score.size + experts
    return {name: spread_numbers(x, codes, count=count) for name, x in data.numbers.items()}

"""A table of judgements -> scores over (model, prompt, judge, [sample,] [trial,] indicator)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sharpbayes.data.columns import (
    MISSING,
    ColumnParser,
    check_side_tables,
    join_columns,
    join_texts,
    make_factor,
    name_clusters,
    rename_labels,
)
from sharpbayes.data.covariates import Covariate, UnitNumbers, spread_numbers
from sharpbayes.data.intraclass import intraclass_correlations, mean_scores
from sharpbayes.data.ledger import list_uses
from sharpbayes.data.missing_reasons import count_reasons
from sharpbayes.data.numeric_columns import read_numbers
from sharpbayes.data.people import (
    add_people,
    check_families,
    check_people,
    code_family,
    code_machine,
    code_own_family,
)
from sharpbayes.data.ratings import (
    Factor,
    PanelRatings,
    Ratings,
    Scores,
    append_codes,
)
from sharpbayes.data.readers.bounds import refuse_excess
from sharpbayes.data.readers.formats import read_table
from sharpbayes.data.reversed_scores import mark_reversed
from sharpbayes.data.trials import number_trials, suggest_trials
from sharpbayes.errors import DataError, Diagnostic
from sharpbayes.spec.panel import Panel
from sharpbayes.spec.scales import normalised_scores

if TYPE_CHECKING:
    import xarray as xr

KEYS = ("model", "prompt", "judge", "sample", "trial")
# What may have a number, the coarsest first; rows of the table are last.
UNITS = (
    *(("prompt",), ("model",), ("judge",)),
    *(("model", "prompt"), ("model", "prompt", "sample"), ("model", "prompt", "judge")),
)
# A score, and what a study computes with it at a time.
CELL_BYTES = 8
Flags = NDArray[np.bool_]


def read_panel(
    panel: Panel, base: Path, *, numeric: Sequence[str] = (), as_design: bool = False
) -> PanelRatings:
    """Read the panel of a study; its paths start from the folder ``base``.

    ``numeric`` are columns that are read as numbers. With ``as_design`` every row of a table
    without any score has the lowest one.
    """
    make_parser = partial(ColumnParser, base / panel.data, panel.dialect)
    problems: list[Diagnostic] = []
    collect = partial(DataError.collect, problems)
    with collect():
        table, factors, ratings = _read_cells(panel, base, make_parser(), as_design=as_design)
    if problems:
        check_side_tables([panel.prompts], base, problems)
        with collect():
            check_people(panel.people, base)
    DataError.raise_any(problems)
    with collect():
        check_families(ratings, panel, make_parser())
    if panel.people is not None:
        judges = list_pooled_judges(panel, ratings.labels["judge"])
        with collect():
            ratings = add_people(ratings, panel, panel.people, judges, base, as_design=as_design)
    of_prompts: dict[str, Any] = {"owner": factors["prompt"], "unit": "prompt"}
    of_prompts |= {"table": table, "side": panel.prompts, "base": base}
    with collect():
        prompt_text = join_texts(panel.roles.text, parser=make_parser(), **of_prompts)
    with collect():
        prompt_columns = _read_prompts(panel, of_prompts | {"parser": make_parser()})
    with collect():
        numbers = _read_numbers(numeric, table, panel, factors, parser=make_parser(), base=base)
    DataError.raise_any(problems)
    correlated_by = intraclass_correlations(
        table,
        factors["prompt"],
        partial(mean_scores, ratings),
        list_uses(panel, numeric=numeric),
        cluster=prompt_columns.get("cluster"),
        side=panel.prompts,
        base=base,
    )
    return replace(
        ratings,
        prompt_columns=prompt_columns,
        prompt_text=prompt_text,
        numbers=numbers,
        correlated_by=correlated_by,
    )


def _read_cells(
    panel: Panel, base: Path, parser: ColumnParser, *, as_design: bool
) -> tuple[pd.DataFrame, dict[str, Factor], PanelRatings]:
    """Read the table of judgements: its rows, their labels, and the score of every cell."""
    named = panel.roles.model_dump(exclude_none=True)
    if panel.roles.trial is True:  # no column numbers the trials
        del named["trial"]
    keys = {role: named[role] for role in KEYS if role in named}
    used = (*KEYS, "score", "indicator", "reason")
    roles = [(role, named[role]) for role in used if role in named]
    if panel.layout == "wide":
        roles = [(role, named[role]) for role in (*KEYS, "reason") if role in named]
        columns = zip(panel.full_indicators, panel.indicator_columns, strict=True)
        roles += [(f"indicator {indicator}", column) for indicator, column in columns]
    table = read_table(
        base, panel.data, panel.layout, dialect=panel.dialect, roles=roles, compact=True
    )
    reader_attrs, table = table.attrs, rename_labels(table, panel, base / panel.data)
    reader_counts = {str(name): count for name, count in reader_attrs.items()}
    table = _keep_judges(table, panel, parser)
    parser.check_filled(table, keys.values())
    _check_cells(table, panel, keys, parser)
    factors = _make_factors(table, panel, keys)
    score, unasked, counts = _parse_cells(table, panel, factors, parser)
    parser.raise_problems()
    labels = {role: factor.labels for role, factor in factors.items()}
    labels["indicator"] = tuple(panel.full_indicators)
    pooled = list_pooled_judges(panel, labels["judge"])
    reasons = count_reasons(table, panel, factors, score, pooled)
    ratings = PanelRatings(
        score, labels, counts=counts | reader_counts, unasked=unasked, missing_reasons=reasons
    )
    return table, factors, ratings.as_design() if as_design else ratings


def _check_cells(
    table: pd.DataFrame, panel: Panel, keys: Mapping[str, str], parser: ColumnParser
) -> None:
    """Check that no row repeats a cell, unless all repeats are trials."""
    roles = panel.roles
    if roles.trial is True:
        return
    cell = [*keys.values(), *([roles.indicator] if roles.indicator else [])]
    written = roles.model_dump(exclude_none=True).items() - panel.LOGS.get(panel.layout, {}).items()
    used = [*filter(None, (roles.score, roles.category, roles.text)), *panel.indicator_columns]

    def suggest() -> str:
        order = {role: name for role, name in roles.model_dump().items() if (role, name) in written}
        return "" if roles.trial else suggest_trials(table, cell, order, used)

    parser.check_duplicates(table[cell], record="a cell", suggest=suggest)


def _make_factors(table: pd.DataFrame, panel: Panel, keys: Mapping[str, str]) -> dict[str, Factor]:
    """Return the labels of every axis of the scores but that of the indicators."""
    factors = {role: make_factor(table[name]) for role, name in keys.items() if role != "trial"}
    if panel.roles.trial is not None:
        cell = [name for role, name in keys.items() if role != "trial"]
        column = keys.get("trial")
        if column is None and panel.roles.indicator is not None:
            cell.append(panel.roles.indicator)
        factors["trial"] = number_trials(table, cell, column)
    return factors


def _keep_judges(table: pd.DataFrame, panel: Panel, parser: ColumnParser) -> pd.DataFrame:
    """Keep the judges that the study names anywhere, if it names those that are pooled."""
    named = {name for ensemble in panel.ensembles.values() for name in ensemble.judges}
    named |= {*(panel.judges or ()), *([panel.reference] if panel.reference is not None else ())}
    column = panel.roles.judge
    judges = sorted(str(name) for name in table[column].unique())
    parser.check_names(named, judges, column=column, kind="judge")
    if panel.reference is not None and judges == [panel.reference]:
        parser.add_problem(column, "the only judge is the reference: none to pool")
    parser.raise_problems()
    if panel.judges is None:
        return table
    return table[table[column].isin(named)]


def _parse_cells(
    table: pd.DataFrame, panel: Panel, factors: Mapping[str, Factor], parser: ColumnParser
) -> tuple[Scores, Flags | None, dict[str, int]]:
    """Parse the score of every cell, mark cells without a row, and count scores and empty cells."""
    names = panel.indicator_columns
    indicator, of_row = None, panel.roles.indicator
    if of_row is not None:
        known = sorted(set(table[of_row]))
        parser.check_names(names, known, column=of_row, kind="row of indicator")
        indicator = pd.Index(names).get_indexer(pd.Index(table[of_row]))
    shape = tuple(len(factor.labels) for factor in factors.values())
    cells = math.prod(shape) * len(panel.full_indicators)
    sizes = " x ".join(f"{size:,} {role}s" for size, role in zip(shape, factors, strict=True))
    refuse_excess(parser.path, CELL_BYTES * cells, f"an array of {sizes}")
    cell = np.ravel_multi_index([factor.codes for factor in factors.values()], shape)
    score = np.full((len(panel.full_indicators), int(np.prod(shape))), MISSING, dtype=np.int16)
    unasked = np.ones(score.shape, dtype=bool)
    ratings = empty = present = 0
    trials = len(factors["trial"].labels) if "trial" in factors else 1
    for position, declared in enumerate(panel.full_indicators.values()):
        rows = np.flatnonzero(indicator == position) if indicator is not None else slice(None)
        column = names[position] if panel.layout == "wide" else panel.roles.score
        texts = table[str(column)].iloc[rows]
        values = parser.parse_scores(texts, panel.scales[declared.scale])
        empty += int((values == MISSING).sum())
        ratings += int((values > MISSING).sum())
        score[position, cell[rows]] = values
        unasked[position, cell[rows]] = False
        present += len(values) if trials == 1 else np.unique(cell[rows] // trials).size
    counts = {"ratings": ratings, "missing": empty, "absent": score.size // trials - present}
    cells_score = np.moveaxis(score.reshape(-1, *shape), 0, -1)
    if not counts["absent"]:
        return cells_score, None, counts
    return cells_score, np.moveaxis(unasked.reshape(-1, *shape), 0, -1), counts


def _read_prompts(panel: Panel, of_prompts: dict[str, Any]) -> dict[str, NDArray[np.str_]]:
    """Read the columns of prompts that the study asks for."""
    columns = {"category": panel.roles.category, "cluster": panel.roles.cluster}
    wanted = {name: column for name, column in columns.items() if column}
    for indicator in panel.full_indicators.values():
        if isinstance(indicator.reverse, dict):
            wanted |= {name: name for name in indicator.reverse}
    values = join_columns(list(wanted.values()), **of_prompts)
    read = {name: values[column] for name, column in wanted.items()}
    if "cluster" in read:
        read["cluster"] = name_clusters(read["cluster"], of_prompts["owner"].labels)
    return read


def _read_numbers(
    numeric: Sequence[str],
    table: pd.DataFrame,
    panel: Panel,
    factors: dict[str, Factor],
    *,
    parser: ColumnParser,
    base: Path,
) -> dict[str, UnitNumbers]:
    """Read numeric columns of prompts, models, judges, answers or rows."""
    if not numeric:
        return {}
    rows, of_rows = _factorize_rows(table, panel, factors)
    return read_numbers(
        numeric,
        rows,
        of_rows,
        [*(unit for unit in UNITS if set(unit) <= set(of_rows)), tuple(of_rows)],
        sides={"prompt": panel.prompts},
        parser=parser,
        base=base,
    )


def _factorize_rows(
    table: pd.DataFrame, panel: Panel, factors: dict[str, Factor]
) -> tuple[pd.DataFrame, dict[str, Factor]]:
    """Return the rows of indicators that the study has, and what they are about."""
    if panel.roles.indicator is None:
        return table, factors
    names = panel.indicator_columns
    code = pd.Index(names).get_indexer(pd.Index(table[panel.roles.indicator])).astype(np.int32)
    kept = code >= 0
    rows = {name: factor.of(kept) for name, factor in factors.items()}
    return table[kept], rows | {"indicator": Factor(tuple(names), code[kept])}


def list_pooled_judges(panel: Panel, judges: Sequence[str]) -> list[str]:
    """Return the judges that a study pools: those that it names, or all but the reference."""
    if panel.judges is not None:
        return [name for name in judges if name in panel.judges]
    return [name for name in judges if name != panel.reference]


def tabulate_normalised(panel: Panel, dataset: "xr.Dataset") -> "xr.DataArray":
    """Return the normalised value of every score of every indicator (SHARP, Eqs 6-8).

    Values are in [0, 1] over (indicator, score); NaN above the last score of an indicator.
    """
    import xarray as xr  # noqa: PLC0415 - `check` starts without xarray

    values = [normalised_scores(panel.scales[i.scale]) for i in panel.full_indicators.values()]
    table = np.full((len(values), max(map(len, values))), np.nan)
    for row, normalised in enumerate(values):
        table[row, : len(normalised)] = normalised
    return xr.DataArray(table, {"indicator": dataset["indicator"]}, ("indicator", "score"))


def melt_panel(ratings: PanelRatings, panel: Panel) -> Ratings:
    """Return the observed ratings in long form; a higher score always means more harm.

    A reversed score is counted from the other end, on a scale of its own named
    ``<scale>_reversed``. Indicators that no dimension uses and judges that are not pooled are left
    out.
    """
    dimension_of = {
        name: dimension.name
        for dimension in reversed(panel.dimensions)
        for name in dimension.indicators
    }
    indicators = [name for name in panel.full_indicators if name in dimension_of]
    pooled = ratings.select("indicator", indicators)
    pooled = pooled.select("judge", list_pooled_judges(panel, ratings.labels["judge"]))
    positions = np.nonzero(pooled.score >= 0)
    judged = {
        dim: Factor(labels, codes.astype(np.int32))
        for (dim, labels), codes in zip(pooled.labels.items(), positions, strict=True)
    }
    factors, score = _append_people(ratings, judged, pooled.score[positions])
    indicator = factors["indicator"]
    marks = mark_reversed(panel, ratings.prompt_columns, len(ratings.labels["prompt"]))
    row = np.array([list(panel.full_indicators).index(name) for name in indicators])
    is_reversed = marks[row[indicator.codes], factors["prompt"].codes]
    scale, scales = _find_scales(panel, indicator, is_reversed)
    top = np.array([len(scales[name]) - 1 for name in scale.labels])[scale.codes]
    names = [dimension_of[name] for name in indicator.labels]
    labels = [dimension.name for dimension in panel.dimensions if dimension.name in names]
    code = np.array([labels.index(name) for name in names], dtype=np.int32)
    factors["dimension"] = Factor(tuple(labels), code[indicator.codes])
    factors["scale"] = scale
    if "cluster" in ratings.prompt_columns:
        cluster = make_factor(pd.Series(ratings.prompt_columns["cluster"]))
        factors["cluster"] = cluster.of(factors["prompt"].codes)
    if ratings.people:
        factors["machine"] = code_machine(factors["judge"])
    if (family := code_family(factors["judge"], panel)) is not None:
        factors["family"] = family
    if panel.families:
        factors["own_family"] = code_own_family(factors["model"], factors["judge"], panel)
    score = np.where(is_reversed, top - score, score).astype(np.int16)
    return Ratings(score, factors, scales, _spread_numbers(pooled, positions, factors))


def _spread_numbers(
    pooled: PanelRatings, positions: tuple[NDArray[np.intp], ...], factors: Mapping[str, Factor]
) -> dict[str, Covariate]:
    """Spread numeric columns over the ratings; people have those of prompts, models and answers."""
    codes: dict[str, NDArray[np.integer]] = {}
    for dim, of_judges in zip(pooled.labels, positions, strict=True):
        of_people = np.full(len(factors["judge"].codes) - len(of_judges), -1)
        known = factors[dim].codes[len(of_judges) :] if dim in factors else of_people
        codes[dim] = np.concatenate([of_judges, known])
    count = len(factors["judge"].codes)
    return {name: spread_numbers(x, codes, count=count) for name, x in pooled.numbers.items()}


def _append_people(
    ratings: PanelRatings, factors: dict[str, Factor], score: Scores
) -> tuple[dict[str, Factor], Scores]:
    """Append the ratings of people to those of judges, with a factor ``rater``.

    Gold labels have no rater: nothing separates the effect of one who gave all of them from the
    thresholds of the scale.
    """
    if not ratings.people:
        return factors, score
    indicators = pd.Index(list(factors["indicator"].labels))
    position = indicators.get_indexer(pd.Index(ratings.labels["indicator"]))
    indicator = position[ratings.people["indicator"]]
    rows = np.flatnonzero(indicator >= 0)
    codes: dict[str, NDArray[np.integer]] = {
        name: of_people[rows] for name, of_people in ratings.people.items() if name != "indicator"
    }
    codes["indicator"] = indicator[rows]
    if len(ratings.persons) == 1:
        del codes["rater"]
    nobody = Factor(ratings.persons, np.full(score.size, -1, dtype=np.int32))
    joined = append_codes(factors | {"rater": nobody}, codes, rows.size)
    return joined, np.concatenate([score, ratings.people_score[rows]])


def _find_scales(
    panel: Panel, indicator: Factor, is_reversed: Flags
) -> tuple[Factor, dict[str, tuple[str, ...]]]:
    """Return the scale of every rating, or its reversed counterpart, and the labels of each."""
    plain = [panel.full_indicators[name].scale for name in indicator.labels]
    order = [name for scale in panel.scales for name in (scale, f"{scale}_reversed")]
    pairs = np.array([[order.index(s), order.index(f"{s}_reversed")] for s in plain])
    used, codes = np.unique(pairs[indicator.codes, is_reversed.astype(int)], return_inverse=True)
    names = tuple(order[position] for position in used)
    labels = {name: scale.labels for name, scale in panel.scales.items()}
    labels = {f"{name}_reversed": scores[::-1] for name, scores in labels.items()} | labels
    return Factor(names, codes.astype(np.int32)), {name: labels[name] for name in names}

"""People's ratings of some cells of a panel, and families of models and judges."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sharpbayes.data.columns import (
    MISSING,
    factorize,
    find_duplicates,
    find_empty_keys,
    format_rows,
    make_factor,
    parse_scores,
)
from sharpbayes.data.panel_ratings import PEOPLE, Codes, PanelRatings
from sharpbayes.data.ratings import Factor
from sharpbayes.data.readers.formats import read_table
from sharpbayes.data.readers.text_table import require_columns
from sharpbayes.errors import DataError, Diagnostic, did_you_mean, format_count, format_list
from sharpbayes.spec.panel import Panel, People

*ABOUT, _ = PEOPLE
OWN = "own family"


def join_people(
    cells: PanelRatings, panel: Panel, judges: Sequence[str], base: Path
) -> PanelRatings:
    """Add what people said of some cells of a panel; the same where the study names no people.

    Args:
        cells: What judges said.
        panel: The panel of a study.
        judges: Judges that are pooled.
        base: Folder that its paths start from.

    Raises:
        DataError: Names that the judges' table does not have, levels off the scale, ratings that
            are there twice, no cell that a judge scored too.
    """
    people = panel.people
    if people is None:
        return cells
    path, roles = str(base / people.data), people.roles
    table = read_table(base, people.data)
    named = [(role, column) for role, column in roles.model_dump().items() if column is not None]
    require_columns(table, named, path=path)
    keys = [column for role, column in named if role != "score"]
    faults = find_empty_keys(table, keys, path=path)
    faults += find_duplicates(table[keys], path=path, what="a rating")
    table = _of_raters(table, people, path)
    codes = {}
    for role in ("model", "prompt", "sample", "indicator"):
        codes[role], found = _codes(table, cells, panel, role, path)
        faults += found
    level, found = _levels(table, panel, codes["indicator"], path)
    faults += found
    if faults:
        raise DataError(faults)
    kept = np.flatnonzero(level > MISSING)
    if not _shared(cells.select("judge", judges), {role: codes[role][kept] for role in ABOUT}):
        message = "no cell here was scored by a judge: people and judges share none"
        raise DataError([Diagnostic(path, 0, "", message)])
    person = _people(table, people)
    codes = {role: codes[role] for role in ABOUT} | {"rater": person.codes}
    return replace(
        cells,
        people_score=level[kept],
        people={name: code[kept] for name, code in codes.items()},
        persons=person.labels,
    )


def refuse_unknown_families(cells: PanelRatings, panel: Panel, path: str) -> None:
    """Raise for every model and judge of a family that the data do not have."""
    faults = [
        Diagnostic(path, 0, column, _absent(kind, name, there))
        for kind, column, there in (
            ("model", panel.roles.model, cells.labels["model"]),
            ("judge", panel.roles.judge, cells.labels["judge"]),
        )
        for family in panel.families.values()
        for name in getattr(family, f"{kind}s")
        if name not in there
    ]
    if faults:
        raise DataError(sorted(set(faults)))


def code_own_family(model: Factor, judge: Factor, panel: Panel) -> Factor:
    """Return where a judge scores a model of its own family: 0 there, -1 elsewhere.

    Examples:
        >>> from sharpbayes.spec.panel import Family
        >>> panel = Panel.model_construct(families={"x": Family(models=("m",), judges=("j",))})
        >>> model = Factor(("m", "n"), np.array([0, 1, 0], dtype=np.int32))
        >>> judge = Factor(("j",), np.array([0, 0, -1], dtype=np.int32))
        >>> code_own_family(model, judge, panel).codes.tolist()
        [0, -1, -1]
    """
    same = np.zeros((len(model.labels), len(judge.labels) + 1), dtype=bool)
    for family in panel.families.values():
        mine = np.isin(model.labels, family.models)
        same |= np.outer(mine, np.append(np.isin(judge.labels, family.judges), False))
    return Factor((OWN,), np.where(same[model.codes, judge.codes], 0, -1).astype(np.int32))


def _absent(what: str, name: str, there: Sequence[str]) -> str:
    """Say that a name is not there, and what is."""
    return f"no {what} {name!r}, there are {format_list(there)}{did_you_mean(name, there)}"


def _of_raters(table: pd.DataFrame, people: People, path: str) -> pd.DataFrame:
    """Keep the rows of the people whom the study names."""
    if people.raters is None or people.roles.rater is None:
        return table
    column = people.roles.rater
    there = sorted({str(name) for name in table[column]})
    faults = [
        Diagnostic(path, 0, column, _absent("rater", name, there))
        for name in people.raters
        if name not in there
    ]
    if faults:
        raise DataError(faults)
    return table[table[column].isin(people.raters)]


def _people(table: pd.DataFrame, people: People) -> Factor:
    """Who gave each rating; gold labels are of one."""
    if people.roles.rater is None:
        return Factor(("gold",), np.zeros(len(table), dtype=np.int32))
    return make_factor(table[people.roles.rater])


def _codes(
    table: pd.DataFrame, cells: PanelRatings, panel: Panel, role: str, path: str
) -> tuple[Codes, list[Diagnostic]]:
    """Position of each row's label among those of the judges' table, and labels not there."""
    assert panel.people is not None  # noqa: S101 - the caller looked
    column = getattr(panel.people.roles, role)
    if column is None:
        return np.zeros(len(table), dtype=np.int32), []
    there = list(cells.labels.get(role, ()))
    if role == "indicator":
        there = [each.column or name for name, each in panel.full_indicators.items()]
    held, texts = factorize(table[column])
    position = np.array(pd.Index(there).get_indexer(pd.Index(texts)), dtype=np.int32)
    odd = [text for text, at in zip(texts, position, strict=True) if at < 0 and text.strip()]
    code: Codes = position[held]
    return code, list(_unknown(table[column], odd, there, role, path)) if odd else []


def _unknown(
    values: pd.Series, odd: Sequence[str], there: Sequence[str], role: str, path: str
) -> Iterator[Diagnostic]:
    """The fault of labels that the judges' table does not have, with their rows."""
    where = values.index.to_numpy()[values.isin(odd).to_numpy()]
    message = (
        f"{format_count(len(odd), role)} that the judges' table does not have: {format_list(odd)} "
        f"({format_rows(where)}); there are {format_list(there)}"
    )
    yield Diagnostic(path, 0, str(values.name), message + did_you_mean(odd[0], there))


def _levels(
    table: pd.DataFrame, panel: Panel, indicator: Codes, path: str
) -> tuple[NDArray[np.int16], list[Diagnostic]]:
    """Level of every rating on the scale of its indicator, -1 where the cell is empty."""
    assert panel.people is not None  # noqa: S101 - the caller looked
    scores = table[panel.people.roles.score]
    level, faults = np.full(len(table), MISSING, dtype=np.int16), []
    for position, each in enumerate(panel.full_indicators.values()):
        mine = indicator == position
        # Other indicators' cells are emptied, so that rows keep their numbers.
        values = scores.where(mine, "").reindex(range(int(scores.index.max()) + 1), fill_value="")
        found, wrong = parse_scores(values, panel.scales[each.scale], path=path)
        level[mine] = found[scores.index.to_numpy()[mine]]
        faults += wrong
    return level, faults


def _shared(cells: PanelRatings, codes: dict[str, Codes]) -> bool:
    """Whether a judge scored one of the cells that people scored."""
    others = tuple(axis for axis, dim in enumerate(cells.labels) if dim not in ABOUT)
    # What is left has the order of ABOUT, as every panel has.
    judged = (cells.score >= 0).any(axis=others)
    return bool(judged[tuple(codes[role] for role in ABOUT)].any())

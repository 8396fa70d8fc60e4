"""People's ratings of some cells of a panel, and families of models and judges."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from sharpbayes.data.columns import (
    MISSING,
    Scores,
    factorize,
    find_absent,
    find_duplicates,
    find_empty_keys,
    format_rows,
    make_factor,
    parse_scores,
)
from sharpbayes.data.panel_ratings import PEOPLE, Codes, PanelRatings
from sharpbayes.data.ratings import Factor
from sharpbayes.data.readers.formats import read_table
from sharpbayes.errors import DataError, Diagnostic, did_you_mean, format_count, format_list
from sharpbayes.spec.panel import Panel, People

*ABOUT, _ = PEOPLE


def add_people(
    ratings: PanelRatings, panel: Panel, people: People, judges: Sequence[str], base: Path
) -> PanelRatings:
    """Add people's ratings of some cells to the ratings of a panel by its judges.

    People must share a cell with one of ``judges``, who are pooled.
    """
    path, roles = str(base / people.data), people.roles
    named = roles.model_dump(exclude_none=True)
    table = read_table(base, people.data, roles=named.items())
    keys = [column for role, column in named.items() if role != "score"]
    problems = find_empty_keys(table, keys, path=path)
    problems += find_duplicates(table[keys], path=path, what="a rating")
    if people.raters is not None and roles.rater is not None:
        raters = sorted({str(name) for name in table[roles.rater]})
        column = roles.rater
        absent = find_absent(people.raters, raters, path=path, column=column, what="rater")
        DataError.raise_any(absent)
        table = table[table[column].isin(people.raters)]
    columns = [indicator.column or name for name, indicator in panel.full_indicators.items()]
    labels = {role: ratings.labels.get(role, ()) for role in ("model", "prompt", "sample")}
    codes = {}
    for role, known in (labels | {"indicator": columns}).items():
        codes[role], unknown = _match_labels(table, getattr(roles, role), known, role, path)
        problems += unknown
    score, off_scale = _parse_scores(table[roles.score], panel, codes["indicator"], path)
    problems += off_scale
    DataError.raise_any(problems)
    rows = np.flatnonzero(score > MISSING)
    codes = {role: codes[role][rows] for role in ABOUT}
    pooled = ratings.select("judge", judges)
    others = tuple(axis for axis, dim in enumerate(pooled.labels) if dim not in ABOUT)
    # The axes that remain have the order of ABOUT, as every panel has.
    judged = (pooled.score >= 0).any(axis=others)
    if not judged[tuple(codes.values())].any():
        message = "no cell here was scored by a judge: people and judges share none"
        raise DataError.at(path, message)
    person = Factor(("gold",), np.zeros(len(table), dtype=np.int32))
    if roles.rater is not None:
        person = make_factor(table[roles.rater])
    codes["rater"] = person.codes[rows]
    return replace(ratings, people_score=score[rows], people=codes, persons=person.labels)


def _match_labels(
    table: pd.DataFrame, column: str | None, known: Sequence[str], role: str, path: str
) -> tuple[Codes, list[Diagnostic]]:
    """Return the position of each row's label among the known ones, and unknown labels."""
    if column is None:
        return np.zeros(len(table), dtype=np.int32), []
    codes, texts = factorize(table[column])
    position = pd.Index(list(known)).get_indexer(pd.Index(texts)).astype(np.int32)
    odd = [text for text, p in zip(texts, position, strict=True) if p < 0 and text.strip()]
    matched: Codes = position[codes]
    if not odd:
        return matched, []
    rows = table.index.to_numpy()[table[column].isin(odd).to_numpy()]
    count = f"{format_count(len(odd), role)} that the judges' table does not have"
    message = f"{count}: {format_list(odd)} ({format_rows(rows)}); there are {format_list(known)}"
    return matched, [Diagnostic(path, 0, column, message + did_you_mean(odd[0], known))]


def _parse_scores(
    texts: pd.Series, panel: Panel, indicator: Codes, path: str
) -> tuple[Scores, list[Diagnostic]]:
    """Parse every rating on the scale of its indicator; -1 where the cell is empty."""
    score, problems = np.full(len(texts), MISSING, dtype=np.int16), []
    row = texts.index.to_numpy()
    for position, declared in enumerate(panel.full_indicators.values()):
        mine = indicator == position
        # Cells of other indicators are emptied, so that a message has the row in the file.
        values = texts.where(mine, "").reindex(range(int(row.max()) + 1), fill_value="")
        parsed, off_scale = parse_scores(values, panel.scales[declared.scale], path=path)
        score[mine] = parsed[row[mine]]
        problems += off_scale
    return score, problems


def refuse_unknown_families(ratings: PanelRatings, panel: Panel, path: str) -> None:
    """Raise for every model and judge of a family that the data do not have."""
    families, find = panel.families.values(), partial(find_absent, path=path)
    models = {name for family in families for name in family.models}
    judges = {name for family in families for name in family.judges}
    DataError.raise_any(
        find(models, ratings.labels["model"], column=panel.roles.model, what="model")
        + find(judges, ratings.labels["judge"], column=panel.roles.judge, what="judge")
    )


def code_own_family(model: Factor, judge: Factor, panel: Panel) -> Factor:
    """Return where a judge scores a model of its own family: 0 there, -1 elsewhere."""
    # The last column is for ratings without a judge, which have the code -1.
    same = np.zeros((len(model.labels), len(judge.labels) + 1), dtype=bool)
    for family in panel.families.values():
        own_judges = np.append(np.isin(judge.labels, family.judges), False)
        same |= np.outer(np.isin(model.labels, family.models), own_judges)
    is_own = np.where(same[model.codes, judge.codes], 0, -1).astype(np.int32)
    return Factor(("own family",), is_own)

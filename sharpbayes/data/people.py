"""People's ratings of some cells of a panel, and families of models and judges."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sharpbayes.data.cells import format_rows, parse_number
from sharpbayes.data.columns import (
    MISSING,
    ColumnParser,
    factorize,
    make_factor,
    rename_labels,
)
from sharpbayes.data.ratings import (
    GOLD,
    PEOPLE,
    SAMPLE,
    Codes,
    Factor,
    PanelRatings,
    Scores,
    fill_design,
)
from sharpbayes.data.readers.formats import read_table
from sharpbayes.errors import DataError, did_you_mean, format_count, format_list
from sharpbayes.spec.panel import Panel, People, PeopleRoles

*ABOUT, _ = PEOPLE


def add_people(
    ratings: PanelRatings,
    panel: Panel,
    people: People,
    judges: Sequence[str],
    base: Path,
    *,
    as_design: bool = False,
) -> PanelRatings:
    """Add people's ratings of some cells to the ratings of a panel by its judges.

    People must share a cell with one of ``judges``, who are pooled. With ``as_design`` every row
    of a table without any score has the lowest one.
    """
    parser, roles = ColumnParser(base / people.data, people.dialect), people.roles
    named = roles.model_dump(exclude_none=True)
    table = read_people(people, base, parser)
    columns = panel.indicator_columns
    labels = {role: ratings.labels.get(role, ()) for role in ("model", "prompt", "sample")}
    codes = {
        role: _match_labels(table, named.get(role), known, role, parser)
        for role, known in (labels | {"indicator": columns}).items()
    }
    score = _parse_scores(table[roles.score], panel, codes["indicator"], parser)
    probability = _parse_probabilities(table, roles, parser)
    parser.raise_problems()
    score = fill_design(score) if as_design else score
    rows = np.flatnonzero(score > MISSING)
    if not rows.size:
        message = "no rating of people has a score: every cell of the column is empty"
        raise DataError.at(parser.path, message, key=roles.score)
    pooled = ratings.select("judge", judges)
    about = [dim for dim in pooled.labels if dim in {*ABOUT, SAMPLE}]
    codes = {role: codes[role][rows] for role in about}
    others = tuple(axis for axis, dim in enumerate(pooled.labels) if dim not in about)
    judged = (pooled.score >= 0).any(axis=others)
    if not judged[tuple(codes.values())].any():
        message = "no cell here was scored by a judge: people and judges share none"
        raise DataError.at(parser.path, message)
    person = Factor((GOLD,), np.zeros(len(table), dtype=np.int32))
    if roles.rater is not None:
        person = make_factor(table[roles.rater])
    codes["rater"] = person.codes[rows]
    return replace(
        ratings,
        people_score=score[rows],
        people=codes,
        persons=person.labels,
        people_probability=probability[rows] if roles.probability is not None else probability,
    )


def read_people(people: People, base: Path, parser: ColumnParser) -> pd.DataFrame:
    """Read the table of people's ratings; what is wrong with it by itself goes to its parser."""
    named = people.roles.model_dump(exclude_none=True)
    table = read_table(base, people.data, dialect=people.dialect, roles=named.items())
    table = rename_labels(table, people, base / people.data)
    keys = [column for role, column in named.items() if role != "score"]
    selected = people.raters if people.roles.rater is not None else None
    if selected is not None:
        raters = sorted(set(table[named["rater"]]))
        parser.check_names(selected, raters, column=named["rater"], kind="rater")
        parser.raise_problems()
    parser.check_filled(table, keys)
    parser.check_duplicates(table[keys], record="a rating")
    return table if selected is None else table[table[named["rater"]].isin(selected)]


def check_people(people: People | None, base: Path) -> None:
    """Raise DataError for what is wrong with the table of people by itself, if there is one."""
    if people is not None:
        parser = ColumnParser(base / people.data, people.dialect)
        read_people(people, base, parser)
        parser.raise_problems()


def _parse_probabilities(
    table: pd.DataFrame, roles: PeopleRoles, parser: ColumnParser
) -> NDArray[np.float64]:
    """Parse the probability with which each answer was chosen; empty where none is declared."""
    column = roles.probability
    if column is None:
        return np.empty(0)
    codes, texts = factorize(table[column])
    numbers = np.array([parse_number(text) or np.nan for text in texts], dtype=np.float64)
    outside = ~((numbers > 0) & (numbers <= 1))
    if outside.any():
        odd = [text for text, is_odd in zip(texts, outside, strict=True) if is_odd]
        rows = format_rows(table.index[table[column].isin(odd)])
        message = f"{format_list(odd)} ({rows}) must be a number above 0 and at most 1"
        parser.add_problem(column, message)
    probability: NDArray[np.float64] = numbers[codes]
    answer = [table[roles.model], table[roles.prompt]]
    several = table.assign(_value=probability).groupby(answer)["_value"].transform("nunique") > 1
    if several.any():
        rows = format_rows(table.index[several])
        message = f"several probabilities of one answer ({rows}); an answer has one"
        parser.add_problem(column, message)
    return probability


def _match_labels(
    table: pd.DataFrame, column: str | None, known: Sequence[str], role: str, parser: ColumnParser
) -> Codes:
    """Return the position of each row's label among the known ones."""
    if column is None:
        return np.zeros(len(table), dtype=np.int32)
    codes, texts = factorize(table[column])
    position = pd.Index(list(known)).get_indexer(pd.Index(texts)).astype(np.int32)
    odd = [text for text, p in zip(texts, position, strict=True) if p < 0 and text.strip()]
    if odd:
        rows = format_rows(table.index[table[column].isin(odd)])
        count = f"{format_count(len(odd), role)} that the judges' table does not have"
        hint = f"there are {format_list(known)}{did_you_mean(odd[0], known)}"
        parser.add_problem(column, f"{count}: {format_list(odd)} ({rows}); {hint}")
    matched: Codes = position[codes]
    return matched


def _parse_scores(texts: pd.Series, panel: Panel, indicator: Codes, parser: ColumnParser) -> Scores:
    """Parse every rating on the scale of its indicator; -1 where the cell is empty."""
    score = np.full(len(texts), MISSING, dtype=np.int16)
    for position, declared in enumerate(panel.full_indicators.values()):
        mine = indicator == position
        score[mine] = parser.parse_scores(texts[mine], panel.scales[declared.scale])
    return score


def check_families(ratings: PanelRatings, panel: Panel, parser: ColumnParser) -> None:
    """Raise for every model and judge of a family that the data do not have."""
    families, labels = panel.families.values(), ratings.labels
    models = {name for family in families for name in family.models}
    judges = {name for family in families for name in family.judges}
    parser.check_names(models, labels["model"], column=panel.roles.model, kind="model")
    parser.check_names(judges, labels["judge"], column=panel.roles.judge, kind="judge")
    parser.raise_problems()


def code_machine(judge: Factor) -> Factor:
    """Return which ratings a model judge gave: 0 there, -1 for those of people."""
    return Factor(("model judge",), np.where(judge.codes >= 0, 0, -1).astype(np.int32))


def code_family(judge: Factor, panel: Panel) -> Factor | None:
    """Return the family of the judge of each rating, -1 for none; None if no two judges share one.

    What a judge errs in who is alone in a family is an error of that judge.
    """
    members = {name: np.isin(judge.labels, kin.judges) for name, kin in panel.families.items()}
    shared = {name: is_member for name, is_member in members.items() if is_member.sum() > 1}
    if not shared:
        return None
    # The last entry is for ratings without a judge, which have the code -1.
    family = np.full(len(judge.labels) + 1, -1, dtype=np.int32)
    for code, is_member in enumerate(shared.values()):
        family[:-1][is_member] = code
    return Factor(tuple(shared), family[judge.codes])


def code_own_family(model: Factor, judge: Factor, panel: Panel) -> Factor:
    """Return where a judge scores a model of its own family: 0 there, -1 elsewhere."""
    # The last column is for ratings without a judge, which have the code -1.
    same = np.zeros((len(model.labels), len(judge.labels) + 1), dtype=bool)
    for family in panel.families.values():
        own_judges = np.append(np.isin(judge.labels, family.judges), False)
        same |= np.outer(np.isin(model.labels, family.models), own_judges)
    is_own = np.where(same[model.codes, judge.codes], 0, -1).astype(np.int32)
    return Factor(("own family",), is_own)

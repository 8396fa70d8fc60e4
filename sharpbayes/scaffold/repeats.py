"""Rows of a panel that repeat a cell: tries of a judge, settings of an answer, copies."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from sharpbayes.scaffold.column_names import (
    JUDGING,
    REPEATED,
    is_named_score,
    last_word,
    quote,
    split_name,
)
from sharpbayes.scaffold.drafts import Draft
from sharpbayes.scaffold.indicators import list_likely_scores
from sharpbayes.scaffold.logs import LogTable

CELL = ("model", "prompt", "judge", "sample", "trial", "indicator")
# A column of this word may number answers of the model or tries of the judge.
ATTEMPT = "attempt"
# What a model or a judge is set to, as the last word of a name.
SETTINGS = {"seed", "temperature", "temp"}
TRIES = (
    "{name} is taken to number the tries of a judge to score one answer, because no cell has more "
    "than one try with a score; rows of other tries are left out ({rows}); where the model "
    "answered again, name it with {option}sample={column}"
)
ATTEMPTS = (
    "{name} is taken to number the answers of a model to one prompt (samples); where it numbers "
    "scores of the same answer, name it with {option}trial={column}"
)
COPIES = (
    "rows that equal an earlier row in every column ({} of {}) count as further ratings; where "
    "they are copies, remove them from the data"
)


def leave_out_tries(draft: Draft, main: LogTable, declared: Mapping[str, str]) -> LogTable:
    """Return a table without the tries of a judge that gave no score, where a column numbers tries.

    Of a cell without a score the last try stays. A column that is ``declared`` has its role.
    """
    data, roles = main.data, main.roles
    role = next((x for x in REPEATED if last_word(roles.get(x, "")) == ATTEMPT), "")
    if not role or role in declared or not {"model", "prompt"} <= {*roles}:
        return main
    column = roles[role]
    texts = {"name": quote(column), "column": column, "option": draft.option}
    cell = [roles[x] for x in CELL if x in roles and x != role]
    is_scored = _has_score(main)
    counts = is_scored.groupby([data[name] for name in cell]).transform("sum")
    if (counts > 1).any():
        draft.assume("panel.roles", *[ATTEMPTS.format(**texts)] * (role == "sample"))
        return main
    kept = is_scored | ((counts == 0) & ~data.duplicated(cell, keep="last"))
    draft.assume("panel.data", TRIES.format(rows=int((~kept).sum()), **texts))
    return replace(
        main,
        data=data[kept].reset_index(drop=True),
        roles={name: of_role for name, of_role in roles.items() if name != role},
        is_rewritten=main.is_rewritten or not kept.all(),
    )


def _has_score(main: LogTable) -> pd.Series:
    """Tell of each row whether it has a score in one of the columns that are partly empty."""
    score = {column for role, column in main.roles.items() if role == "score"}
    free = main.data.drop(columns=[*({*main.roles.values()} - score)])
    names = score | {*list_likely_scores(main), *filter(is_named_score, map(str, free.columns))}
    is_written = free[sorted(names)].astype(str).apply(lambda cells: cells.str.strip() != "")
    partial = is_written.loc[:, ~is_written.all()]
    is_scored = pd.Series(data=True, index=partial.index)
    return is_scored if partial.empty else is_scored & partial.any(axis=1)


def list_settings(data: pd.DataFrame, roles: Mapping[str, str], *, of_judge: bool) -> list[str]:
    """Return the columns of settings, such as a seed, that vary within cells.

    >>> rows = {"model": ["a", "a"], "prompt": ["p", "p"], "seed": [1, 2], "judge_seed": [1, 1]}
    >>> list_settings(pd.DataFrame(rows), {"model": "model", "prompt": "prompt"}, of_judge=False)
    ['seed']
    """
    cell = [roles[role] for role in CELL if role in roles]
    names = [str(name) for name in data.columns if last_word(name) in SETTINGS]
    names = [name for name in names if bool({*split_name(name)} & JUDGING) == of_judge]
    return [n for n in names if data[[*cell, n]].drop_duplicates().duplicated(cell).any()]


def number_answers(data: pd.DataFrame, roles: Mapping[str, str], names: Sequence[str]) -> list[str]:
    """Number the answers of each model to a prompt by the values of columns that name them.

    >>> rows = {"model": ["a", "a", "a"], "prompt": ["p", "p", "p"], "seed": [7, 9, 7]}
    >>> number_answers(pd.DataFrame(rows), {"model": "model", "prompt": "prompt"}, ["seed"])
    ['1', '2', '1']
    """
    answers = data.groupby([*names], sort=False).ngroup()
    units = answers.groupby([data[roles["model"]], data[roles["prompt"]]], sort=False)
    return [str(number) for number in units.transform(lambda x: pd.factorize(x)[0] + 1)]


def describe_copies(data: pd.DataFrame) -> Iterator[str]:
    """Yield how many rows equal an earlier one in every column; nothing where none does.

    >>> next(describe_copies(pd.DataFrame({"prompt": ["p", "p", "q"]})))[:54]
    'rows that equal an earlier row in every column (1 of 3'
    """
    if copies := int(data.duplicated().sum()):
        yield COPIES.format(copies, len(data))

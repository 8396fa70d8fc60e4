"""Tables of one row for each prompt, item or rater, given together with the ratings."""

from collections.abc import Container, Sequence
from dataclasses import replace

from sharpbayes.errors import DataError, Diagnostic, format_list
from sharpbayes.scaffold.column_names import infer_roles, quote
from sharpbayes.scaffold.logs import LogTable

# Of which roles a table of ratings has columns.
RATINGS = (("rater", "score"), ("model", "score"))
ADDED = 'columns of "{}" are added by {}'
UNUSED = (
    "it has neither one row for each rater or item of {}, nor labels of experts; leave it out, or "
    "give one row for each"
)
UNMATCHED = "no row of the ratings has one of its values of {}"
REPEATED = "several rows have one value of {}; a table beside the ratings has one row for each"


def has_ratings(table: LogTable) -> bool:
    """Tell whether a table has columns of raters and of scores."""
    return len(infer_roles(table.data, RATINGS[0], {})) == len(RATINGS[0])


def split_tables(tables: Sequence[LogTable]) -> tuple[list[int], list[LogTable]]:
    """Return the positions of tables with ratings, and the tables beside them.

    These share a column with the ratings; where one does not, or none has ratings, there are none.

    >>> import pandas as pd
    >>> ratings = LogTable("r.csv", pd.DataFrame(columns=["prompt", "model", "score"]))
    >>> prompts = LogTable("p.csv", pd.DataFrame(columns=["prompt", "topic"]))
    >>> rated, beside = split_tables([prompts, ratings])
    >>> rated, [table.name for table in beside]
    ([1], ['p.csv'])
    >>> split_tables([ratings, ratings])
    ([0, 1], [])
    """
    rated = [number for number, table in enumerate(tables) if _has_scores(table)]
    beside = [table for number, table in enumerate(tables) if number not in rated]
    shares = [bool(_list_shared(tables[rated[0]], table)) for table in beside if rated]
    return rated, beside if rated and all(shares) else []


def _has_scores(table: LogTable) -> bool:
    """Tell whether a table has a score and who gave it, or what model is scored."""
    return any(len(infer_roles(table.data, roles, {})) == len(roles) for roles in RATINGS)


def add_columns(main: LogTable, others: Sequence[LogTable]) -> LogTable:
    """Return the ratings of a panel with the columns of tables beside them.

    Raises:
        DataError: A table has several rows for one value of the columns that it shares, or no
            value that the ratings have.
    """
    for table in others:
        shared = _list_shared(main, table)
        names = format_list(map(quote, shared))
        if table.data.duplicated(shared).any():
            raise DataError.at(table.name, REPEATED.format(names))
        if main.data.merge(table.data, on=shared).empty:
            raise DataError.at(table.name, UNMATCHED.format(names))
        main = replace(
            main,
            data=main.data.merge(table.data, on=shared, how="left").fillna(""),
            assumptions=(*main.assumptions, *table.assumptions, ADDED.format(table.name, names)),
            is_rewritten=True,
        )
    return main


def require_use(others: Sequence[LogTable], used: Container[str], *, ratings: str) -> None:
    """Raise DataError where a study has no use for a table that was given beside the ratings."""
    DataError.raise_any(
        Diagnostic(table.name, 0, "", UNUSED.format(quote(ratings)))
        for table in others
        if table.label not in used
    )


def _list_shared(main: LogTable, table: LogTable) -> list[str]:
    """Columns that a table shares with the ratings."""
    return [str(name) for name in table.data.columns if name in main.data.columns]

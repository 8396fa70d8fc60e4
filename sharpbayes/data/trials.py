"""Repeated judgements: which rows are trials, their numbers, and how many each answer has."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import tomlkit
from numpy.typing import NDArray

from sharpbayes.data.columns import make_factor
from sharpbayes.data.ratings import Factor

# Parts of the names of columns that number trials, the likeliest first.
TRIAL_NAMES = ("trial", "repeat", "repetition", "replic", "attempt", "epoch", "run")
# What repeats are of, by the role that numbers them.
REPEATED = {
    "sample": "answers of a model to a prompt",
    "trial": "trials of a judge on an answer",
}


class Repeats(NamedTuple):
    """How often something was repeated: fewest, on average and most, over so many cells."""

    description: str
    role: str
    fewest: int
    mean: float
    most: int
    cells: int


def number_trials(table: pd.DataFrame, cell: Sequence[str], column: str | None) -> Factor:
    """Number the trials of each cell from 1, in the order of a column, or of the rows without one.

    Rows of one cell with the same value of the column are one trial.
    """
    groups = table.groupby([*cell], sort=False, observed=True)
    if column is None:
        codes = groups.cumcount().to_numpy()
    else:
        order = pd.Series(make_factor(table[column]).codes, table.index)
        keys = [table[name] for name in cell]
        codes = order.groupby(keys, sort=False, observed=True).rank("dense").to_numpy() - 1
    labels = tuple(str(number) for number in range(1, int(codes.max(initial=0)) + 2))
    return Factor(labels, codes.astype(np.int32))


def suggest_trials(
    table: pd.DataFrame, cell: Sequence[str], roles: Mapping[str, Any], used: Sequence[str]
) -> str:
    """Return how a study reads rows that repeat a cell: the line of its roles, with trials.

    The column of the trials is one that tells the repeats apart; where there is none, rows count.
    Answers of another release come first: as trials they would be averaged with those of this one.
    """
    free = [str(name) for name in table.columns if str(name) not in {*cell, *used}]
    apart = [name for name in free if not table[[*cell, name]].duplicated().any()]
    named = [name for part in TRIAL_NAMES for name in apart if part in name.casefold()]
    line = tomlkit.inline_table()
    line.update({**roles, "trial": named[0] if named else True})
    return (
        "; if they are answers of another release, such as anchors of the gate, give its model "
        "another name; if the judge scored the same answer again, write roles = "
        f"{line.as_string()}; if the model answered again, name the column that numbers its "
        "answers as `sample`"
    )


def count_repeats(score: NDArray[np.integer], dims: Sequence[str]) -> Iterator[Repeats]:
    """Count the answers and the trials of every cell that has any, of scores with these axes."""
    scored = score >= 0
    for role in ("sample", "trial"):
        if role not in dims:
            continue
        over = {"sample": ("judge", "trial", "indicator"), "trial": ("indicator",)}[role]
        axes = tuple(axis for axis, dim in enumerate(dims) if dim in over)
        kept = [dim for dim in dims if dim not in over]
        counts = scored.any(axis=axes).sum(axis=kept.index(role))
        counts = counts[counts > 0]
        if counts.size:
            extremes = int(counts.min()), float(counts.mean()), int(counts.max())
            yield Repeats(REPEATED[role], role, *extremes, int(counts.size))

"""A table of labels of items by experts."""

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from sharpbayes.data.columns import ColumnParser, rename_labels
from sharpbayes.data.ratings import Scores, fill_design
from sharpbayes.data.readers.formats import read_table
from sharpbayes.spec.crowd import Crowd, ExpertLabels


class ExpertTable(NamedTuple):
    """Item, expert and label of each row of a table of experts, and what names its problems."""

    item: pd.Series
    expert: pd.Series
    label: Scores
    parser: ColumnParser


def read_expert_table(crowd: Crowd, base: Path, *, as_design: bool) -> ExpertTable | None:
    """Read the labels of experts, of whatever items; None where labels come from elsewhere."""
    if not isinstance(crowd.labels, ExpertLabels):
        return None
    file, roles = crowd.labels, crowd.labels.roles
    parser = ColumnParser(base / file.data, file.dialect)
    table = read_table(base, file.data, dialect=file.dialect, roles=roles.model_dump().items())
    table = rename_labels(table, file, base / file.data)
    label = parser.parse_labels(table[roles.label], file.unsafe)
    label = fill_design(label) if as_design else label
    parser.check_duplicates(table[[roles.item, roles.expert]], record="a label")
    parser.raise_problems()
    return ExpertTable(table[roles.item], table[roles.expert], label, parser)

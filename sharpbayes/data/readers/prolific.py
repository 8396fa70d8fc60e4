"""Demographic exports of Prolific -> a table with a row for each participant."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from sharpbayes.data.readers.files import read_table, require_columns

PARTICIPANT, STATUS = "Participant id", "Status"
# What Prolific writes in place of an answer that it no longer holds or may no longer give.
WITHHELD = ("CONSENT_REVOKED", "DATA_EXPIRED")
# Of several submissions of a participant the first of these counts, then any other.
BEST = ("APPROVED", "AWAITING REVIEW")


def prolific_export(path: Path) -> pd.DataFrame:
    """Read one export.

    Raises:
        DataError: It has no column ``Participant id`` or ``Status``.
    """
    table = read_table(path.parent, path.name)
    wanted = [("the participant", PARTICIPANT), ("the submission's status", STATUS)]
    require_columns(table, wanted, path=str(path))
    return table


def prolific_table(exports: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Join exports, and keep one submission of each participant.

    Args:
        exports: The table of each file.

    Returns:
        The same columns. Withheld answers are empty. Of several submissions an approved one is
        kept, then one that awaits review, and of equal ones the last.
    """
    table = pd.concat(exports, ignore_index=True).fillna("")
    table = table.where(~table.isin(WITHHELD), "")
    rank = table[STATUS].str.upper().map({status: at for at, status in enumerate(BEST)})
    order = rank.fillna(len(BEST))[::-1].sort_values(kind="stable").index
    return table.loc[order].drop_duplicates(PARTICIPANT).sort_index().reset_index(drop=True)

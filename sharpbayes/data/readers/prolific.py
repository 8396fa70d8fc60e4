"""Demographic exports of Prolific -> a table with a row for each participant."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from sharpbayes.data.readers.csv_table import read_csv
from sharpbayes.data.readers.text_table import require_columns

PARTICIPANT, STATUS = "Participant id", "Status"
# Prolific writes these for an answer that it no longer has or may no longer give.
NO_ANSWER = ("CONSENT_REVOKED", "DATA_EXPIRED")
# Of several submissions of a participant the first of these counts, then any other.
PREFERRED = ("APPROVED", "AWAITING REVIEW")


def read_export(path: Path) -> pd.DataFrame:
    """Read one export."""
    table = read_csv(path)
    wanted = [("the participant", PARTICIPANT), ("the submission's status", STATUS)]
    require_columns([*table.columns], wanted, path=path)
    return table


def join_exports(exports: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Join exports and keep one submission of each participant.

    An approved submission is kept, else one that awaits review; of equal ones the last. Answers
    that Prolific no longer gives are empty.
    """
    table = pd.concat(exports, ignore_index=True).fillna("")
    table = table.where(~table.isin(NO_ANSWER), "")
    ranks = table[STATUS].str.upper().map({status: rank for rank, status in enumerate(PREFERRED)})
    order = ranks.fillna(len(PREFERRED))[::-1].sort_values(kind="stable").index
    return table.loc[order].drop_duplicates(PARTICIPANT).sort_index().reset_index(drop=True)

"""Traditional measures of association between an ordinal score and a safety label.

They are compared with the responsiveness metrics (responsiveness paper, section 4.2). Each is
computed exactly from a table of rows by score S and label U, (..., score, unsafe): counts or
weights, with any leading dimensions. All are NaN where no row is safe or none is unsafe.
"""

import xarray as xr

# AUC-ROC of scores that have nothing to do with the labels.
CHANCE = 0.5


def kendall_tau(table: xr.DataArray) -> xr.DataArray:
    """Return Kendall's tau-b between score and label, in [-1, 1].

    ``tau_b = (C - D) / sqrt((C + D + T_U) (C + D + T_S))`` with C concordant and D discordant
    pairs, T_U pairs tied in U alone, T_S pairs tied in S alone; NaN also where a single score is
    used.

    Source: responsiveness paper, section 4.2; Kendall 1938, 1945.

    >>> table = xr.DataArray([[3.0, 1.0], [1.0, 0.0], [0.0, 3.0]], dims=("score", "unsafe"))
    >>> round(float(kendall_tau(table)), 4)  # (12 - 1) / sqrt(16 * 19)
    0.6309
    """
    safe, unsafe = _columns(table)
    difference = (unsafe * rows_below(safe)).sum("score") - (safe * rows_below(unsafe)).sum("score")
    rows = safe + unsafe
    different_score = (rows * rows_below(rows)).sum("score")
    return ratio(difference, (different_score * _pairs(table)) ** 0.5)


def spearman(table: xr.DataArray) -> xr.DataArray:
    """Return Spearman's rank correlation between score and label, ties at their mean rank.

    ``rho = sum_s unsafe(s) a(s) / sqrt(sum_s rows(s) a(s)^2 * n_0 n_1 / n)`` with a(s) the mean
    rank of score s less that of all rows. It is in [-1, 1]; NaN also where a single score is used.

    Source: responsiveness paper, section 4.2; Spearman 1904.

    >>> table = xr.DataArray([[3.0, 1.0], [1.0, 0.0], [0.0, 3.0]], dims=("score", "unsafe"))
    >>> round(float(spearman(table)), 4)  # 5.5 / sqrt(35 * 4 * 4 / 8)
    0.6574
    """
    safe, unsafe = _columns(table)
    rows = safe + unsafe
    total = rows.sum("score")
    rank = rows_below(rows) + rows / 2 - total / 2
    spread = (rows * rank**2).sum("score") * _pairs(table)
    return ratio((unsafe * rank).sum("score") * total**0.5, spread**0.5)


def auc_roc(table: xr.DataArray) -> xr.DataArray:
    """Return the area under the ROC curve of the score as a detector of unsafe rows, in [0, 1].

    ``AUC = P(S_1 > S_0) + P(S_1 = S_0) / 2`` for a random unsafe and a random safe row.

    Of rows (..., score, unsafe) it is over (...); NaN where no row is safe or none is unsafe.

    Source: responsiveness paper, section 4.2.

    >>> table = xr.DataArray([[3.0, 1.0], [1.0, 0.0], [0.0, 3.0]], dims=("score", "unsafe"))
    >>> float(auc_roc(table))  # (12 + 3 / 2) / 16
    0.84375
    """
    safe, unsafe = _columns(table)
    return ratio((unsafe * (rows_below(safe) + safe / 2)).sum("score"), _pairs(table))


def auc_pr(table: xr.DataArray) -> xr.DataArray:
    """Return the average precision of the score: the area under its precision-recall curve.

    ``AP = sum_s Recall(s) P(U = 1 | S >= s)``

    Of rows (..., score, unsafe) it is in [0, 1] (...); NaN where no row is safe or none is unsafe.

    Source: responsiveness paper, section 4.2.

    >>> table = xr.DataArray([[3.0, 1.0], [1.0, 0.0], [0.0, 3.0]], dims=("score", "unsafe"))
    >>> float(auc_pr(table))  # 3/4 * 3/3 + 1/4 * 4/8
    0.875
    """
    safe, unsafe = _columns(table)
    safe_above, unsafe_above = (part.sum("score") - rows_below(part) for part in (safe, unsafe))
    at_least = ratio(unsafe_above, safe_above + unsafe_above)
    # A score above all that are used has no rows at or above it: missing, and left out of the sum.
    area = (unsafe * at_least).sum("score")
    return ratio(area, unsafe.sum("score")).where(safe.sum("score") > 0)


def ratio(part: xr.DataArray, total: xr.DataArray) -> xr.DataArray:
    """Return a share, NaN where the total is 0."""
    return part / total.where(total > 0)


def rows_below(rows: xr.DataArray) -> xr.DataArray:
    """Return the number of rows with a strictly lower score."""
    return rows.cumsum("score").shift(score=1, fill_value=0.0)


def _columns(table: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Safe and unsafe rows of every score."""
    return table.isel(unsafe=0, drop=True), table.isel(unsafe=1, drop=True)


def _pairs(table: xr.DataArray) -> xr.DataArray:
    """Pairs of one safe and one unsafe row."""
    safe, unsafe = _columns(table)
    return safe.sum("score") * unsafe.sum("score")

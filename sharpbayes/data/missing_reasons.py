"""Why scores are missing, as a column of the table says."""

from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sharpbayes.data.columns import MISSING
from sharpbayes.data.ratings import Factor, Scores
from sharpbayes.spec.panel import Panel

# The reason of a missing score whose row gives none.
NO_REASON = "not given"


def count_reasons(
    table: pd.DataFrame,
    panel: Panel,
    factors: Mapping[str, Factor],
    score: Scores,
    judges: Collection[str],
) -> dict[str, NDArray[np.intp]]:
    """Count the missing scores of each model by the reason that their row gives, most first.

    Scores are those of ``judges``.
    """
    column, of_row = panel.roles.reason, panel.roles.indicator
    if column is None:
        return {}
    cells = score[tuple(factor.codes for factor in factors.values())]
    missing = cells == MISSING
    if of_row is not None:
        names = panel.indicator_columns
        position = pd.Index(names).get_indexer(pd.Index(table[of_row]))
        missing &= position[:, None] == np.arange(len(names))
    judge = factors["judge"]
    missing &= np.isin(judge.labels, [*judges])[judge.codes, None]
    number = missing.sum(axis=1)
    rows = number > 0
    texts = table[column].astype(object).where(table[column].notna(), "")[rows].astype(str)
    reason = pd.Categorical(texts.str.strip().replace("", NO_REASON))
    shape = (len(reason.categories), len(factors["model"].labels))
    counts = np.zeros(shape, dtype=np.intp)
    np.add.at(counts, (reason.codes, factors["model"].codes[rows]), number[rows])
    order = np.argsort(-counts.sum(axis=1), kind="stable")
    return {str(reason.categories[row]): counts[row] for row in order}

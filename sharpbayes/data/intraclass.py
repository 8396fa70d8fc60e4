"""Columns without a role by which prompts score alike: they may be clusters that nobody named."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sharpbayes.data.columns import load_side_table
from sharpbayes.data.ratings import Factor, PanelRatings
from sharpbayes.spec.roles import SideTable

# Fewer values are kinds of prompts rather than a sample of scenarios; a cluster has two prompts.
MIN_CLUSTERS, MIN_SIZE = 10, 2
# Smallest intraclass correlation that is named, and how often chance alone may name a column.
MIN_CORRELATION, ERROR_RATE = 0.1, 0.01


def intraclass_correlations(
    table: pd.DataFrame,
    prompts: Factor,
    ratings: PanelRatings,
    used: Collection[str],
    *,
    side: SideTable | None = None,
    base: Path = Path(),
) -> dict[str, float]:
    """Return the intraclass correlation of prompts by each column by which they score alike.

    ICC = (MSB - MSW) / (MSB + (m - 1) MSW)

    It is that of the mean score of a prompt on an indicator, of the indicator by which prompts of
    one value are most alike; m is the mean number of prompts of a value. Columns are those of the
    ``table`` of ratings and of the ``side`` table of prompts, whose path starts from ``base``.
    Columns that are ``used`` are left out, as are those with an empty cell, those that differ
    within a prompt, and those by which F does not exceed chance, at 1% over all columns and
    indicators by Bonferroni.

    Source: Fisher 1925; Donner and Koval 1980 for unequal clusters.
    """
    columns = dict(_list_groupings(table, prompts.codes, len(prompts.labels), used))
    if side is not None:
        of_prompts = load_side_table(side, base).set_index(side.key).loc[list(prompts.labels)]
        size = len(prompts.labels)
        columns |= dict(_list_groupings(of_prompts, np.arange(size), size, used))
    if not columns:
        return {}
    means = _mean_scores(ratings)
    limit = ERROR_RATE / (len(columns) * means.shape[1])
    correlations = {name: _correlate(codes, means, limit) for name, codes in columns.items()}
    return {name: value for name, value in correlations.items() if value >= MIN_CORRELATION}


def _list_groupings(
    table: pd.DataFrame, prompts: NDArray[np.integer], size: int, used: Collection[str]
) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """Yield the columns that group prompts, with the number of the group of each.

    ``prompts`` has the number of the prompt of each row, of ``size`` prompts.
    """
    for name in (str(name) for name in table.columns if str(name) not in used):
        codes, values = pd.factorize(table[name])
        is_filled = bool((codes >= 0).all()) and "" not in values
        if not is_filled or not MIN_CLUSTERS <= len(values) <= size / MIN_SIZE:
            continue
        of_prompt = np.zeros(size, dtype=np.intp)
        of_prompt[prompts] = codes
        if (of_prompt[prompts] == codes).all():
            yield name, of_prompt


def _mean_scores(ratings: PanelRatings) -> NDArray[np.float64]:
    """Return the mean score of each prompt on each indicator; NaN without a score."""
    dims = list(ratings.labels)
    others = tuple(n for n, dim in enumerate(dims) if dim not in ("prompt", "indicator"))
    scored = ratings.score >= 0
    count = scored.sum(axis=others)
    total = np.where(scored, ratings.score, 0).sum(axis=others, dtype=float)
    means: NDArray[np.float64] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return means


def _correlate(codes: NDArray[np.intp], means: NDArray[np.float64], limit: float) -> float:
    """Return the largest correlation over the indicators, 0 where none exceeds chance."""
    from scipy.special import fdtrc  # noqa: PLC0415 - quick to start without it

    largest = 0.0
    for values in means.T:
        known = np.isfinite(values)
        x, group = values[known], np.unique(codes[known], return_inverse=True)[1]
        size = np.bincount(group)
        between, within = len(size) - 1, len(x) - len(size)
        if between < 1 or within < 1:
            continue
        mean = np.bincount(group, x) / size
        square = float((size * (mean - x.mean()) ** 2).sum() / between)
        rest = float(((x - mean[group]) ** 2).sum() / within)
        if square <= rest or (rest > 0 and fdtrc(between, within, square / rest) >= limit):
            continue
        number = (len(x) - (size**2).sum() / len(x)) / between
        largest = max(largest, float((square - rest) / (square + (number - 1) * rest)))
    return largest


def describe_correlations(correlations: Mapping[str, float]) -> list[str]:
    """Return the sentence on the column by which prompts are most alike, if there is any.

    >>> describe_correlations({"story": 0.512})[0][:71]
    "Prompts with the same 'story' score alike (intraclass correlation 0.51)"
    """
    if not correlations:
        return []
    name = max(correlations, key=correlations.__getitem__)
    alike = f"score alike (intraclass correlation {correlations[name]:.2f})"
    advice = "where they are variants of one scenario, name the column as the role `cluster`"
    return [
        f"Prompts with the same {name!r} {alike}: {advice}; intervals are too narrow without it."
    ]

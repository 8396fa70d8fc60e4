"""Columns without a role by which units score alike: they may be clusters that nobody named.

Units are the prompts of a panel or the items of a crowd.

Where the study names clusters, it is by what prompts score alike beyond these: a second way of
grouping them, such as the template of a request, which crosses the first.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sharpbayes.data.columns import load_side_table
from sharpbayes.data.ratings import Factor, PanelRatings, Scores
from sharpbayes.errors import format_count
from sharpbayes.spec.roles import SideTable

# Fewer values are kinds of units rather than a sample of scenarios; a cluster has two units.
MIN_CLUSTERS, MIN_SIZE = 10, 2
# Smallest intraclass correlation that is named, and how often chance alone may name a column.
MIN_CORRELATION, ERROR_RATE = 0.1, 0.01
# Means by two groupings are taken out in turn, so often or until they change by less than this.
PASSES, CHANGE = 200, 1e-9


def intraclass_correlations(
    table: pd.DataFrame,
    units: Factor,
    find_means: Callable[[], NDArray[np.float64]],
    used: Collection[str],
    *,
    cluster: NDArray[np.str_] | None = None,
    side: SideTable | None = None,
    base: Path = Path(),
) -> dict[str, float]:
    """Return the intraclass correlation of units by each column by which they score alike.

    ICC = (MSB - MSW) / (MSB + (m - 1) MSW)

    It is that of mean scores, of the indicator by which units of one value are most alike, and
    ``find_means`` returns them over (unit, indicator), NaN without a score; m is the mean number of
    units of a value. Where the study names the ``cluster`` of each unit, it is that of scores less
    the mean of their cluster, and the mean squares are those of the two-way analysis of variance,
    the column after the cluster: columns whose values lie within one cluster each are left out.
    Columns are those of the ``table`` of ratings and of the ``side`` table of units, whose path
    starts from ``base``.
    Columns that are ``used`` are left out, as are those with an empty cell, numbers with decimals,
    columns that differ within a unit, and those by which F does not exceed chance, at 1% over all
    columns and indicators by Bonferroni.

    Source: Fisher 1925; Donner and Koval 1980 for unequal clusters; Searle 1987 for two groupings.
    """
    columns = dict(_list_groupings(table, units.codes, len(units.labels), used))
    if side is not None:
        of_units = load_side_table(side, base).set_index(side.key).loc[list(units.labels)]
        size = len(units.labels)
        columns |= dict(_list_groupings(of_units, np.arange(size), size, used))
    if not columns:
        return {}
    known = np.zeros(len(units.labels), dtype=np.intp)
    if cluster is not None:
        known = np.unique(cluster, return_inverse=True)[1]
    means = find_means()
    limit = ERROR_RATE / (len(columns) * means.shape[1])
    correlations = {name: _correlate(codes, known, means, limit) for name, codes in columns.items()}
    return {name: value for name, value in correlations.items() if value >= MIN_CORRELATION}


def _list_groupings(
    table: pd.DataFrame, units: NDArray[np.integer], size: int, used: Collection[str]
) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """Yield the columns that group units, with the number of the group of each.

    ``units`` has the number of the unit of each row, of ``size`` units.
    """
    for name in (str(name) for name in table.columns if str(name) not in used):
        codes, values = pd.factorize(table[name])
        is_filled = bool((codes >= 0).all()) and "" not in values
        if not is_filled or not MIN_CLUSTERS <= len(values) <= size / MIN_SIZE:
            continue
        if _are_measured(pd.Index(values)):
            continue
        of_unit = np.zeros(size, dtype=np.intp)
        of_unit[units] = codes
        if (of_unit[units] == codes).all():
            yield name, of_unit


def _are_measured(values: pd.Index) -> bool:
    """Return whether values are numbers with decimals: they measure a unit and name no scenario.

    >>> _are_measured(pd.Index(["0.5", "1"])), _are_measured(pd.Index(["1", "2"]))
    (True, False)
    """
    numbers = pd.to_numeric(pd.Series(values), errors="coerce")
    return bool(numbers.notna().all() and (numbers % 1 != 0).any())


def mean_scores(ratings: PanelRatings) -> NDArray[np.float64]:
    """Return the mean score of each prompt of a panel on each indicator; NaN without a score."""
    dims = list(ratings.labels)
    others = tuple(n for n, dim in enumerate(dims) if dim not in ("prompt", "indicator"))
    scored = ratings.score >= 0
    count = scored.sum(axis=others)
    total = np.where(scored, ratings.score, 0).sum(axis=others, dtype=float)
    means: NDArray[np.float64] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return means


def mean_item_scores(score: Scores, item: Factor, rater: Factor) -> NDArray[np.float64]:
    """Return the mean score of each item of a crowd, (item, 1), less those of its raters.

    So items that the same raters scored are not alike because these are harsh. NaN without a score.
    """
    scored = score >= 0
    values, (items, raters) = score[scored].astype(float), (x.codes[scored] for x in (item, rater))
    values -= (np.bincount(raters, values) / np.maximum(np.bincount(raters), 1))[raters]
    count = np.bincount(items, minlength=len(item.labels))
    total = np.bincount(items, values, len(item.labels))
    means: NDArray[np.float64] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return means[:, None]


def _correlate(
    codes: NDArray[np.intp], known: NDArray[np.intp], means: NDArray[np.float64], limit: float
) -> float:
    """Return the largest correlation over the indicators, 0 where none exceeds chance.

    It is that of the groups of ``codes``, after those that are ``known``.
    """
    return max(_correlate_values(values, known, codes, limit) for values in means.T)


def _correlate_values(
    values: NDArray[np.float64],
    known: NDArray[np.intp],
    codes: NDArray[np.intp],
    limit: float,
) -> float:
    """Return the correlation of values with NaN, 0 where F does not exceed chance."""
    from scipy.special import fdtrc  # noqa: PLC0415 - quick to start without it

    has_value = np.isfinite(values)
    groups = [np.unique(x[has_value], return_inverse=True)[1] for x in (known, codes)]
    first, second = groups
    between = int(second.max(initial=-1)) + 1 - _count_parts(first, second)
    within = len(first) - int(first.max(initial=-1)) - 1 - between
    if between < 1 or within < 1 or _lie_within(second, first):
        return 0.0
    alone = _take_out(values[has_value], [first])
    rest = _take_out(alone, groups)
    square, noise = (alone @ alone - rest @ rest) / between, rest @ rest / within
    if square <= noise or (noise > 0 and fdtrc(between, within, square / noise) >= limit):
        return 0.0
    size = np.bincount(second)
    number = (size.sum() - (size**2).sum() / size.sum()) / between
    return float((square - noise) / (square + (number - 1) * noise))


def _take_out(values: NDArray[np.float64], groups: list[NDArray[np.intp]]) -> NDArray[np.float64]:
    """Return values less what means of their groups explain together."""
    sizes, scale = [np.bincount(codes) for codes in groups], values.std()
    for _ in range(PASSES):
        before = values
        for codes, size in zip(groups, sizes, strict=True):
            values = values - (np.bincount(codes, values) / size)[codes]
        if np.abs(values - before).max(initial=0.0) <= CHANGE * scale:
            break
    return values


def _count_parts(first: NDArray[np.intp], second: NDArray[np.intp]) -> int:
    """Return in how many parts groups fall that share no unit, by one grouping or the other."""
    from scipy.sparse import coo_array, csgraph  # noqa: PLC0415 - quick to start without it

    if not first.any():
        return min(first.size, 1)
    size = int(first.max()) + 1
    pairs = (np.ones(first.size), (first, second + size))
    both = size + int(second.max()) + 1
    return int(csgraph.connected_components(coo_array(pairs, shape=(both, both)))[0])


def _lie_within(fine: NDArray[np.intp], coarse: NDArray[np.intp]) -> bool:
    """Whether each group of one grouping is a part of one group of a coarser one, of several."""
    if not coarse.any():
        return False
    pairs = np.unique(np.stack([fine, coarse]), axis=1)
    return int(pairs.shape[1]) == int(fine.max()) + 1


def describe_clusters(number: int, clusters: int, column: str, *, unit: str) -> str:
    """Return the sentence on clusters of units that a study names.

    >>> describe_clusters(80, 20, "story", unit="item")
    "80 items are in 20 clusters by 'story': items of one cluster are resampled together."
    """
    units = f"{format_count(number, unit)} are in {format_count(clusters, 'cluster')}"
    return f"{units} by {column!r}: {unit}s of one cluster are resampled together."


def describe_correlations(
    correlations: Mapping[str, float], cluster: str | None, *, units: str = "prompts"
) -> list[str]:
    """Return the sentence on the column by which units are most alike, if there is any.

    ``cluster`` is the column of clusters that the study names, beyond which they are alike.

    >>> describe_correlations({"story": 0.512}, None)[0][:71]
    "Prompts with the same 'story' score alike (intraclass correlation 0.51)"
    >>> describe_correlations({"template": 0.3}, "request")[0][:67]
    "Prompts with the same 'template' score alike beyond their 'request'"
    """
    if not correlations:
        return []
    name = max(correlations, key=correlations.__getitem__)
    correlation = f"(intraclass correlation {correlations[name]:.2f})"
    alike = f"{units.capitalize()} with the same {name!r} score alike"
    if cluster is not None:
        alike = f"{alike} beyond their {cluster!r} {correlation}"
        others = f"intervals are for these values of {name!r}, and too narrow for other ones"
        return [f"{alike}: {others}."]
    advice = "where they are variants of one scenario, name the column as the role `cluster`"
    return [f"{alike} {correlation}: {advice}; intervals are too narrow without it."]

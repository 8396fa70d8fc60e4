"""What limits the answer of a crowd, in sentences: items, labels, groups on other items, raters."""

from collections.abc import Iterator, Sequence

import numpy as np
import xarray as xr

from sharpbayes.analysis.long_scales import REMEDY, describe_long_scale, is_too_long
from sharpbayes.errors import format_count, format_list, format_percent, join_names
from sharpbayes.metrics.crowd.groups import ALL
from sharpbayes.metrics.crowd.least_numbers import FEW_LABELS, FEW_RATERS
from sharpbayes.metrics.stats.multiplicity import SIGNIFICANCE_LEVEL

# Two groups that share less of the items of either are said to have scored others.
FEW_SHARED = 0.8
# A smaller gap between the shares of empty scores of two groups is not said.
MISSING_GAP = 0.05
OTHER_ITEMS = "Groups did not score the same items"
# More sets of raters with equal scores are counted and not named.
MAX_SETS = 3
UNSAFE = {0: "safe", 1: "unsafe"}


def list_limits(evidence: xr.Dataset, responsiveness: xr.Dataset) -> Iterator[str]:
    """Yield what the evidence of a crowd cannot carry, the gravest first."""
    measured = responsiveness["hm"].sel(by=ALL, drop=True).notnull()
    if "labelled_items" in evidence:
        labelled = evidence["labelled_items"].isel(group=measured.to_numpy())
        yield from _few_labels(labelled, clustered=bool(evidence.attrs.get("clustered")))
    yield from _long_scale(responsiveness, measured)
    if "shared_share" in evidence:
        yield from _other_items(evidence)
    if "missing_share" in evidence:
        yield from _unequal_missing(evidence["missing_share"])
    yield from _few_raters(evidence["raters"].isel(group=measured.to_numpy()))


def find_long_scales(responsiveness: xr.Dataset) -> xr.DataArray:
    """Return the groups that scored too few items for the scores of the scale, over (group)."""
    items, scores = responsiveness["items"].sel(by=ALL, drop=True), _count_scores(responsiveness)
    return items.copy(data=[is_too_long(items=int(n), scores=scores) for n in items])


def _count_scores(responsiveness: xr.Dataset) -> int:
    """Number of scores of the scale; 0 where it is not known."""
    return responsiveness.sizes.get("score", 0)


def _long_scale(responsiveness: xr.Dataset, measured: xr.DataArray) -> Iterator[str]:
    """Groups that scored too few items for the scores of the scale."""
    scores, cells = _count_scores(responsiveness), responsiveness.sel(by=ALL, drop=True)
    is_long = find_long_scales(responsiveness) & measured
    groups, number = is_long["group"].to_numpy()[is_long].astype(str), cells["items"]
    if groups.size:
        of_groups = f" of {join_names(groups.tolist())}" * (groups[0] != ALL)
        auc = float(cells["auc_roc"].sel(group=groups[0]))
        yield (
            f"{describe_long_scale(items=int(number.sel(group=groups[0])), scores=scores)}"
            f"{of_groups}; AUC-ROC, {auc:.2f}, does not depend on it. "
            f"{REMEDY[0].upper()}{REMEDY[1:]}."
        )


def _few_labels(labelled: xr.DataArray, *, clustered: bool) -> Iterator[str]:
    """Groups with so few items of a label, or clusters of them, that no interval holds."""
    fewest = labelled.min("unsafe").to_series()
    few = fewest[fewest < FEW_LABELS]
    if ALL in few.index:
        counts = {name: int(labelled.sel(group=ALL, unsafe=u)) for u, name in UNSAFE.items()}
        texts = [
            f"only {_count_labelled(count, name, clustered=clustered)}"
            for name, count in counts.items()
            if count < FEW_LABELS
        ]
        text = " and ".join(texts)
        yield f"{text[0].upper()}{text[1:]}: intervals do not hold."
    elif few.size:
        listed = join_names([f"{group} ({count:.0f})" for group, count in few.items()])
        units = "clusters with items" if clustered else "items"
        yield (
            f"Groups with fewer than {FEW_LABELS} {units} of one of both labels: {listed}. Their "
            "intervals do not hold."
        )


def _count_labelled(count: int, label: str, *, clustered: bool) -> str:
    """Return how many items, or clusters, have a label.

    >>> _count_labelled(3, "unsafe", clustered=True)
    '3 clusters have items that are labelled unsafe'
    """
    if clustered:
        verb = "has" if count == 1 else "have"
        return f"{format_count(count, 'cluster')} {verb} items that are labelled {label}"
    return f"{format_count(count, 'item')} {'is' if count == 1 else 'are'} labelled {label}"


def _other_items(evidence: xr.Dataset) -> Iterator[str]:
    """Groups that are compared though they scored other items."""
    share = evidence["shared_share"]
    upper = np.triu(np.ones(share.shape, dtype=bool), 1)
    few = (share.to_numpy() < FEW_SHARED) & upper
    if not few.any():
        return
    first, second = np.unravel_index(np.where(few, share.to_numpy(), np.inf).argmin(), few.shape)
    names = [str(evidence["group"][position].item()) for position in (first, second)]
    shared = int(evidence["shared_items"][first, second])
    total = round(shared / float(share[first, second]))
    others = int(few.sum()) - 1
    more = f", and {format_count(others, 'more pair')} less than {FEW_SHARED:.0%}" * bool(others)
    yield (
        f"{OTHER_ITEMS}: {join_names(names)} share {shared} of {total}"
        f"{more}. Unless chance assigned the items, a difference in responsiveness is one of items "
        "too."
    )


def _unequal_missing(share: xr.DataArray) -> Iterator[str]:
    """The two groups of a grouping that left the most unequal shares of scores empty."""
    ranges = share.groupby("grouping")
    gap = (ranges.max() - ranges.min()).to_series()
    if not gap.size or not gap.max() > MISSING_GAP:
        return
    widest = share["grouping"].to_numpy() == str(gap.idxmax())
    members = share.isel(group=widest).to_series()
    highest, lowest = str(members.idxmax()), str(members.idxmin())
    yield (
        f"{highest} left {members[highest]:.0%} of its scores empty, {lowest} "
        f"{members[lowest]:.0%}: a group that skips what it finds harmful, or "
        "harmless, seems to score otherwise than it does."
    )


def _few_raters(raters: xr.DataArray) -> Iterator[str]:
    """Groups that are too small, and those of a single rater."""
    number = raters.to_series()
    few = number[number < FEW_RATERS]
    if not few.size:
        return
    listed = join_names([f"{group} ({int(n)})" for group, n in few.items()])
    single = join_names([str(group) for group in few.index[few == 1]])
    yield (
        f"Groups of fewer than {FEW_RATERS} raters: {listed}. Their numbers describe these "
        "raters and say little about others of the group; more raters would."
        + f" The interval of a single rater ({single}) contains which items there are, no more."
        * bool(single)
    )


def duplicate_raters(sets: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield which raters seem to be one, from sets of raters with equal scores."""
    if not sets:
        return
    listed = format_list([join_names(list(names)) for names in sets], limit=MAX_SETS)
    yield (
        f"Raters gave the same scores to the same items, beyond chance ({listed}). Where that is "
        "one rater who was entered more than once, there are fewer raters than were counted, and "
        "intervals are too narrow."
    )


def contrary_raters(raters: xr.Dataset) -> Iterator[str]:
    """Yield how many raters score items that are labelled unsafe lower than others.

    They are found by :func:`sharpbayes.metrics.crowd.contrary.find_contrary_raters`.
    """
    names = raters["rater"].to_numpy()[raters["against_labels"]]
    if names.size:
        verb, reading = ("runs", "it reads") if names.size == 1 else ("run", "they read")
        total = format_count(int(raters["spearman"].notnull().sum()), "rater")
        yield (
            f"{names.size} of {total} {verb} against the labels "
            f"({join_names([*map(str, names)])}), beyond chance "
            f"({format_percent(SIGNIFICANCE_LEVEL)}, Bonferroni): see whether {reading} the scale "
            "from its other end."
        )


def constant_raters(raters: xr.Dataset) -> Iterator[str]:
    """Yield which raters gave one score to everything, where chance hardly does.

    By chance a rater of n ratings does so with probability ``sum_s p_s^n``, where p are the shares
    of all ratings; Bonferroni over the raters.
    """
    counts = raters["score_count"].transpose("rater", "score").to_numpy().astype(float)
    share, ratings = counts.sum(axis=0) / max(counts.sum(), 1.0), counts.sum(axis=1)
    chance = (share ** ratings[:, None]).sum(axis=1)
    constant = (counts.max(axis=1) == ratings) & (chance * len(counts) < SIGNIFICANCE_LEVEL)
    names = [str(name) for name in raters["rater"].to_numpy()[constant]]
    if names and len(names) < len(counts):
        yield f"Rater{'s' * (len(names) > 1)} {join_names(names)} gave one score to everything."

"""How many people, items and labels stand behind the groups of a crowd, and what limits them."""

import json
from collections.abc import Iterable, Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.crowd_limits import (
    constant_raters,
    contrary_raters,
    find_long_scales,
    list_limits,
)
from sharpbayes.errors import format_count, join_names
from sharpbayes.metrics.crowd.groups import ALL
from sharpbayes.metrics.crowd.least_numbers import FEW_LABELS, FEW_RATERS
from sharpbayes.metrics.stats.labels import without_attributes
from sharpbayes.metrics.stats.multiplicity import SIGNIFICANCE_LEVEL, holm
from sharpbayes.metrics.stats.overlap import union_size

# Error rate of what is said of all raters together, and as much of what is said of groups.
AGAINST_LEVEL = SIGNIFICANCE_LEVEL / 2
OTHER_LABELS = (
    "Each group is measured by the labels that the raters outside of it give, so that two groups "
    "are measured by different labels: their responsiveness cannot be compared, since a difference "
    "may be one of the labels. Labels by experts, or a column of the data that says what is "
    "unsafe, would compare them."
)


def crowd_evidence(
    responsiveness: xr.Dataset,
    *,
    same_labels: bool = True,
    labelled_items: xr.DataArray | None = None,
    missing_share: xr.DataArray | None = None,
    difference: xr.Dataset | None = None,
    raters: xr.Dataset | None = None,
    doubts: Iterable[str] = (),
    remarks: Iterable[str] = (),
    clustered: bool = False,
) -> xr.Dataset:
    """Return the group ``evidence`` of a crowd: how many people and items stand behind its groups.

    Of ``raters (group)`` and ``items (group, by)`` these are ``raters``, ``items`` of all strata
    and ``few_raters`` over (group); the attribute ``limits`` is a JSON list of sentences, and
    ``remarks`` of those among them that leave every statement standing. ``same_labels`` says
    whether all groups are measured by the same labels, and is 1 or 0 in the attributes.

    Where they are given, ``labelled_items (group, unsafe)`` and ``missing_share (group)`` are in
    the result, with ``few_labels (group)``; ``shared_items`` and ``shared_share (group, other)`` of
    the pairs with a ``difference``; and single ``raters`` who run against the labels, or give one
    score to everything, are among the sentences. ``doubts`` are limits of labels and raters that
    groups do not show, and the ``remarks`` given are among them too. ``long_scale (group)`` is
    where items are too few for the scale. Where items are ``clustered``, which is 1 in the
    attributes, ``labelled_items`` are clusters.

    >>> counts = xr.Dataset(
    ...     {"raters": ("group", [40, 6]), "items": (("group", "by"), [[90], [80]])},
    ...     {"group": ["all", "degree=Other"], "by": ["all"]},
    ... )
    >>> crowd_evidence(counts)["few_raters"].values
    array([False,  True])
    """
    # Of a group without a number its own reason is said.
    responsiveness = responsiveness.assign(hm=responsiveness.get("hm", responsiveness["items"]))
    every = responsiveness.sel(by=ALL, drop=True)
    measured = every["hm"].notnull()
    evidence = every[["raters", "items"]].assign(few_raters=every["raters"] < FEW_RATERS)
    if labelled_items is not None:
        evidence["labelled_items"] = labelled_items
        evidence["few_labels"] = (labelled_items < FEW_LABELS).any("unsafe") & measured
    if missing_share is not None:
        evidence["missing_share"] = missing_share
    if difference is not None:
        evidence = evidence.assign(_share_items(difference.sel(by=ALL, drop=True)))
    evidence["long_scale"] = find_long_scales(responsiveness) & measured
    flags = {"same_labels": int(same_labels)} | ({"clustered": 1} if clustered else {})
    evidence = evidence.assign_attrs(flags)
    limits = [*doubts, *list_limits(evidence, responsiveness)]
    if not same_labels and int(measured.sum()) > 1:
        limits = [OTHER_LABELS, *limits]
    asides = [*remarks, *_ungrouped(every["raters"])]
    if raters is not None:
        # What is said of a whole group need not be said of its raters.
        is_said = "auc_roc_p" in every and bool(runs_against(every, evidence).any())
        limits += [] if is_said else contrary_raters(raters)
        asides = [*constant_raters(raters), *asides]
    texts = {"limits": json.dumps([*limits, *asides]), "remarks": json.dumps(asides)}
    return evidence.pipe(without_attributes).assign_attrs(texts | flags)


def empty_scores(
    missing: NDArray[np.int64], rater: NDArray[np.integer], membership: xr.DataArray
) -> xr.DataArray | None:
    """Return the share of scores that each group left empty, (group); None where nobody did.

    ``missing`` (rater,) are numbers of empty scores, ``rater`` who gave each of the others.
    """
    if not missing.any():
        return None
    given = np.bincount(rater, minlength=missing.size)
    empty, total = (
        membership.astype(float) @ xr.DataArray(n, dims="rater") for n in (missing, missing + given)
    )
    return empty / total.where(total > 0)


def _share_items(difference: xr.Dataset) -> dict[str, xr.DataArray]:
    """Items that both groups of a compared pair scored, and their share of those of either."""
    shared = difference["shared_items"]
    items = xr.DataArray(np.diagonal(shared.transpose("group", "other")), shared["group"].coords)
    either = union_size(shared, items)
    return {
        "shared_items": shared,
        "shared_share": (shared / either.where(either > 0)).where(difference["hm"].notnull()),
    }


def runs_against(cells: xr.Dataset, evidence: xr.Dataset) -> xr.DataArray:
    """Return the groups whose scores run against the labels, over (group).

    By the p values of their AUC-ROC in ``cells``, one-sided: all raters together at 2.5%, and
    groups at 2.5% by Holm's correction over the groups of all groupings, so that scores without any
    relation to the labels are said to run against them in 5% of studies at most. A group with few
    items of a label is not among them: its intervals and tests do not hold.

    Source: Holm 1979.

    >>> groups = {"group": ["all", "g=x", "g=y"]}
    >>> cells = xr.Dataset({"auc_roc_p": ("group", [0.03, 0.03, 0.01])}, groups)
    >>> runs_against(cells, xr.Dataset()).values
    array([False, False,  True])
    """
    p = cells["auc_roc_p"]
    p = p.where(~evidence["few_labels"]) if "few_labels" in evidence else p
    is_group = p["group"] != ALL
    corrected = p.copy(data=holm(p.where(is_group).to_numpy()))
    named: xr.DataArray = corrected.where(is_group, p) < AGAINST_LEVEL
    return named


def _ungrouped(raters: xr.DataArray) -> Iterator[str]:
    """Raters who have no value in a column of a grouping."""
    if "grouping" not in raters.coords:
        return
    members = raters.groupby("grouping").sum().to_series()
    total = int(members.pop(ALL))
    without = total - members[members < total].astype(int)
    for count, groupings in without.groupby(without, sort=False).groups.items():
        verb = "is" if count == 1 else "are"
        yield (
            f"Of {format_count(total, 'rater')} {count} {verb} in no group by "
            f"{join_names(list(groupings))}, without a value there: only values of all raters have "
            "them."
        )

"""How many people and items stand behind the groups of a crowd, and which groups are too small."""

import json
from collections.abc import Iterator

import xarray as xr

from sharpbayes.errors import format_count, join_names
from sharpbayes.metrics.crowd.groups import ALL

# With ten raters a group intervals hold the truth in 93% and more of simulated crowds, with four in
# 90% where a quarter of the raters contradicts the others (docs/benchmarks/coverage_crowd.md).
FEW_RATERS = 10
OTHER_LABELS = (
    "Each group is measured by the labels that the raters outside of it give, so that two groups "
    "are measured by different labels: their responsiveness cannot be compared, since a difference "
    "may be one of the labels. Labels by experts, or a column of the data that says what is "
    "unsafe, would compare them."
)


def crowd_evidence(responsiveness: xr.Dataset, *, same_labels: bool = True) -> xr.Dataset:
    """Return the group ``evidence`` of a crowd: how many people and items stand behind its groups.

    Of ``raters (group)`` and ``items (group, by)`` these are ``raters``, ``items`` of all strata
    and ``few_raters`` over (group); the attribute ``limits`` is a JSON list of sentences, and
    ``remarks`` of those among them that leave every statement standing. ``same_labels`` says
    whether all groups are measured by the same labels, and is 1 or 0 in the attributes.

    >>> counts = xr.Dataset(
    ...     {"raters": ("group", [40, 6]), "items": (("group", "by"), [[90], [80]])},
    ...     {"group": ["all", "degree=Other"], "by": ["all"]},
    ... )
    >>> crowd_evidence(counts)["few_raters"].values
    array([False,  True])
    """
    raters = responsiveness["raters"]
    items = responsiveness["items"].sel(by="all", drop=True)
    is_small = raters < FEW_RATERS
    evidence = xr.Dataset({"raters": raters, "items": items, "few_raters": is_small})
    # Of a group without a number its own reason is said.
    hm = responsiveness.get("hm", responsiveness["items"])
    measured = hm.sel(by="all", drop=True).notnull()
    remarks = list(_ungrouped(raters))
    limits = [*_few_raters(raters[(is_small & measured).to_numpy()]), *remarks]
    if not same_labels and int(measured.sum()) > 1:
        limits = [OTHER_LABELS, *limits]
    texts = {"limits": json.dumps(limits), "remarks": json.dumps(remarks)}
    return evidence.drop_attrs(deep=True).assign_attrs(texts, same_labels=int(same_labels))


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


def _few_raters(raters: xr.DataArray) -> Iterator[str]:
    """Groups that are too small."""
    if raters.size:
        listed = join_names([f"{group} ({int(n)})" for group, n in raters.to_series().items()])
        yield (
            f"Groups of fewer than {FEW_RATERS} raters: {listed}. Their numbers describe these "
            f"raters and say little about others of the group; more raters would."
        )

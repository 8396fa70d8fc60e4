"""Results of version 0.1 before its names changed, compared bit by bit with results of today.

``tests/references/renamed.sh OLD`` makes a folder of results with the package that is installed,
once in a checkout of commit fe6693c (``MODEL_KEY=model``) and once in today's. Then

    python -m tests.references.renamed OLD NEW

maps the old names of groups, variables and dimensions to the new ones and writes
``tests/references/renamed.csv``: a row for each group, with the number of values compared, the
number of values that differ in any bit, the largest absolute difference, and the reason where one
is expected.
"""

import csv
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import xarray as xr

TABLE = Path(__file__).with_name("renamed.csv")
HEADER = ("file", "group", "variables", "values", "different", "largest_difference", "reason")
GROUPS = {
    "observed": "ratings",
    "taken_apart": "contested_items",
    "recruiting": "sample_size",
    "decision_further": "sample_size",
    "judge_calibration": "judge_bias",
    "posterior_people_profile": "posterior_profile_human",
    "people_decision": "decision_human",
}
# Whole words between underscores, in names of variables and of dimensions.
NAMES = {
    "open_pair": "unresolved",
    "prob_lower": "prob_less",
    "prob_told_apart": "prob_distinguishable",
    "mad_cells": "mad_n",
    "(?<!scale_)range_used": "scale_range_used",
    "further_items": "additional_items",
    "further_ratings": "additional_ratings",
    "compared": "in_priority_grouping",
    "chosen": "selected",
    "deepest": "max_depth_share",
    "lean": "differential_severity",
    "spacing": "gap",
}
# Last words of dimensions: `score_cut`, `score_inner`.
DIMENSIONS = {"cut": "cutpoint", "inner": "gap", "level": "category"}
# Dimensions of single groups.
GROUP_DIMENSIONS = {"decision_further": {"metric": "difference_metric"}}
# Groups in which `level_<scale>` holds ratings.
RATING_GROUPS = {"posterior_predictive", "log_likelihood", "observed_data", "prior_predictive"}
# Groups whose numbers may differ, and why; each is an error that was mended.
REASONS = {
    "predictive_checks": "the checks of a fit keep 5% together: fewer false alarms, by design",
    "harshness_difference": "raters count by their share of the ratings; Holm over all groupings",
    "responsiveness_difference": "p_holm: Holm over all groupings",
    "cohesion": "intervals: raters count by their share of the ratings",
}


def renamed(name: str) -> str:
    """The present name of a variable or dimension.

    >>> renamed("prob_lower_mcse"), renamed("cvar"), renamed("scale_range_used")
    ('prob_less_mcse', 'cvar', 'scale_range_used')
    """
    for old, new in NAMES.items():
        name = re.sub(rf"(?<![a-z]){old}(?![a-z])", new, name)
    return name


def renamed_dimension(name: str) -> str:
    """The present name of a dimension.

    >>> renamed_dimension("score_inner"), renamed_dimension("level")
    ('score_gap', 'level')
    """
    for old, new in DIMENSIONS.items():
        name = re.sub(rf"_{old}$", f"_{new}", name)
    return renamed(name)


def renamed_variable(name: str, group: str) -> str:
    """The present name of a variable of a group.

    >>> renamed_variable("level_score", "observed_data"), renamed_variable("level", "ratings")
    ('rating_score', 'score')
    """
    if group == "ratings":
        name = re.sub("^(people_)?level$", r"\1score", name)
    if group in RATING_GROUPS:
        name = re.sub("^level_", "rating_", name)
    return renamed(name)


def groups(path: Path) -> Iterator[tuple[str, xr.Dataset]]:
    """Every group of a results file that holds variables, by its path."""
    with xr.open_datatree(path, engine="h5netcdf") as tree:
        for node in tree.subtree:
            if node.data_vars:
                yield node.path.strip("/"), node.to_dataset(inherit=False).load()


def difference(old: xr.DataArray, new: xr.DataArray) -> tuple[int, float]:
    """Number of values that differ in a bit, and the largest absolute difference."""
    if [renamed_dimension(str(dim)) for dim in old.dims] != list(
        new.dims
    ) or old.shape != new.shape:
        return old.size, np.inf
    if old.dtype.kind in "OUST":
        different = old.to_numpy().astype(str) != new.to_numpy().astype(str)
        return int(different.sum()), np.inf if different.any() else 0.0
    a, b = old.to_numpy().astype(float), new.to_numpy().astype(float)
    different = (a != b) & ~(np.isnan(a) & np.isnan(b))
    gap = np.abs(a - b)[different]
    return int(different.sum()), float(np.nanmax(gap, initial=0.0)) if gap.size else 0.0


def compared(old: Path, new: Path) -> Iterator[tuple[object, ...]]:
    """A row for each group of one file."""
    present = dict(groups(new))
    for group, stored in groups(old):
        dims = GROUP_DIMENSIONS.get(group.split("/")[-1], {})
        data = stored.rename({old: new for old, new in dims.items() if old in stored.dims})
        path = "/".join(GROUPS.get(part, part) for part in group.split("/"))
        values = different = 0
        largest = 0.0
        for name, array in data.data_vars.items():
            variable = renamed_variable(str(name), path.split("/")[-1])
            match = present.get(path, xr.Dataset()).get(variable)
            count, gap = (array.size, np.inf) if match is None else difference(array, match)
            values, different, largest = values + array.size, different + count, max(largest, gap)
            if count:
                print(f"{old.name}: /{path}/{variable}: {count} of {array.size}, {gap:g}")
        reason = REASONS.get(path.split("/")[-1], "") if different else ""
        yield old.stem, f"/{path}", len(data.data_vars), values, different, f"{largest:g}", reason


def main() -> None:
    """Compare two folders and write the table."""
    old, new = map(Path, sys.argv[1:3])
    rows = [row for path in sorted(old.glob("*.nc")) for row in compared(path, new / path.name)]
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(rows)
    total = sum(int(str(row[3])) for row in rows)
    print(f"{total} values of {len(rows)} groups, {sum(int(str(r[4])) for r in rows)} differ")


if __name__ == "__main__":
    main()

"""What changes from release to release of a study: numbers, inputs, data and judges."""

from collections.abc import Mapping, Sequence
from itertools import chain, pairwise

import numpy as np
import xarray as xr

from sharpbayes.metrics.stats.clusters import CLUSTER, PROMPT_LABELS, sum_clusters
from sharpbayes.metrics.stats.intervals import intervals_with_width
from sharpbayes.metrics.stats.labels import without_attributes
from sharpbayes.metrics.stats.multiplicity import SIGNIFICANCE_LEVEL, holm
from sharpbayes.storage.schema import FILES

Releases = Mapping[str, xr.DataTree]
# What a release was made from.
INPUTS = ("data", *FILES)
NO_INPUT = "none"
ESTIMATES = ("observed", "bootstrap_interval")
POSTERIOR = ("posterior_median", "posterior_interval")
# Without convergence there is no posterior to show.
CONVERGED = "fitted"
# What the data of a panel and of a crowd consist of: the group and the dimension of each part.
PARTS = {
    "model": ("panel", "model"),
    "prompt": ("panel", "prompt"),
    "judge": ("panel", "judge"),
    "item": ("items", "item"),
    "rater": ("raters", "rater"),
}
PART_COUNTS = ("part_count", "part_new", "part_gone")
# What is known of how a judge scores shared answers, before the correction for all judges.
DRIFT = ("drift", "drift_error", "drift_p")
# The unit of a history whose releases have one model each, of names of their own.
ONE_MODEL = "model of the release"


def compare_releases(releases: Releases) -> xr.Dataset:
    """Return numbers, inputs, data and judges of several results, in the order given.

    Units are models or groups of raters, by :func:`name_units`; where all releases are one unit,
    ``release_model (release)`` has the names of its models. Over (release, metric, unit) there are
    ``observed``, ``intervals_disjoint``, whether its interval and that of the release before do not
    overlap, and, of fits, ``posterior_median``; with (bound) ``bootstrap_interval``, missing where
    it has no width, and ``posterior_interval``. Over (release, input) there are ``sha256`` and
    ``changed`` since the release before; over (release, part) ``part_count`` of models, prompts and
    judges, or of items and raters, with how many are new (``part_new``) or gone (``part_gone``). Of
    panels there are over (release, judge) ``severity``, how much higher a judge scores than all in
    the same cells, ``drift`` with ``drift_error``, how much higher than in the release before on
    answers of the same models to the same prompts, ``drift_p_holm``, its p value corrected for all
    judges and releases, and ``drift_notable``, whether that is below 0.05; ``shared_answers
    (release)`` is the number of these answers.

    Args:
        releases: Results of ``measure`` or ``fit`` of one kind by the name of the release.
    """
    units = name_units(releases)
    groups = [_compare_numbers(releases, units), _compare_inputs(releases), _count_parts(releases)]
    if ONE_MODEL in units.values():
        groups.append(_name_models(releases))
    if all("panel" in results for results in releases.values()):
        groups.append(_compare_judges(releases))
    table = xr.merge(groups, join="outer", combine_attrs="drop")
    return table.sel(unit=list(dict.fromkeys(units.values())))


def release_labels(releases: Releases) -> xr.DataArray:
    """Return the names of the releases as a dimension."""
    return xr.DataArray(list(releases), dims="release", name="release")


def name_units(releases: Releases) -> dict[str, str]:
    """Return the unit of each model or group of raters, in the order of the releases.

    It is compared from release to release. It has the name of the model or group; where every
    release has one model, and not all have the same name, it is ``model of the release``.
    """
    names = [_list_names(results) for results in releases.values()]
    all_names = [*dict.fromkeys(chain.from_iterable(names))]
    if len(all_names) > 1 and all(len(of_release) == 1 for of_release in names):
        return dict.fromkeys(all_names, ONE_MODEL)
    return {name: name for name in all_names}


def _list_names(results: xr.DataTree) -> list[str]:
    """Models or groups of one release."""
    joint = results["joint"].to_dataset()
    return [*map(str, joint[_unit_dim(joint)].to_numpy())]


def _name_models(releases: Releases) -> xr.Dataset:
    """The name of the one model of each release."""
    names = [_list_names(results)[0] for results in releases.values()]
    return xr.Dataset({"release_model": ("release", names)}, {"release": release_labels(releases)})


def _unit_dim(joint: xr.Dataset) -> str:
    """Whether numbers are of models or of groups of raters."""
    return "model" if "model" in joint.dims else "group"


def _compare_numbers(releases: Releases, units: Mapping[str, str]) -> xr.Dataset:
    """Every metric of ``/joint`` with its intervals, and where these are disjoint."""
    tables = []
    for results in releases.values():
        joint = results["joint"].to_dataset()
        fitted = results.attrs["status"] == CONVERGED and POSTERIOR[0] in joint
        names = [*ESTIMATES, *(POSTERIOR if fitted else ())]
        joint = joint.assign(intervals_with_width(joint[[ESTIMATES[1]]]))
        table = joint[names].rename({_unit_dim(joint): "unit"}).pipe(without_attributes)
        tables.append(table.assign_coords(unit=[units[x] for x in _list_names(results)]))
    table = xr.concat(tables, release_labels(releases), join="outer", data_vars="all")
    return table.assign(intervals_disjoint=_are_disjoint(table))


def _are_disjoint(numbers: xr.Dataset) -> xr.DataArray:
    """Whether the interval of a release and that of the one before do not overlap.

    A value without an interval counts as an interval without width. False for the first release.
    """
    bounds = numbers["bootstrap_interval"].fillna(numbers["observed"])
    lower, upper = (bounds.sel(bound=side, drop=True) for side in ("lower", "upper"))
    disjoint: xr.DataArray = (lower > upper.shift(release=1)) | (upper < lower.shift(release=1))
    return disjoint


def _compare_inputs(releases: Releases) -> xr.Dataset:
    """Digests of what each release was made from, and which of them are others than before."""
    digests = [
        [str(results.attrs.get(f"{name}_sha256", NO_INPUT)) for name in INPUTS]
        for results in releases.values()
    ]
    changed = [[False] * len(INPUTS)] + [
        [current != previous for current, previous in zip(later, earlier, strict=True)]
        for earlier, later in pairwise(digests)
    ]
    dims = ("release", "input")
    labels = {"release": release_labels(releases), "input": list(INPUTS)}
    return xr.Dataset({"sha256": (dims, digests), "changed": (dims, changed)}, labels)


def _count_parts(releases: Releases) -> xr.Dataset:
    """How many models, prompts, judges, items or raters there are, and how many are new or gone."""
    names = [_name_parts(results) for results in releases.values()]
    parts = [part for part in names[0] if all(part in of_release for of_release in names)]
    counts = [
        _count_changes(previous, current, parts)
        for previous, current in pairwise([names[0], *names])
    ]
    table = np.array(counts, dtype=np.int64).reshape(len(names), len(parts), len(PART_COUNTS))
    dims = ("release", "part")
    variables = {name: (dims, table[..., column]) for column, name in enumerate(PART_COUNTS)}
    return xr.Dataset(variables, {"release": release_labels(releases), "part": parts})


def _name_parts(results: xr.DataTree) -> dict[str, frozenset[str]]:
    """Names of models, prompts and judges, or of items and raters."""
    return {
        part: frozenset(map(str, results[group][dim].to_numpy()))
        for part, (group, dim) in PARTS.items()
        if group in results
    }


def _count_changes(
    previous: Mapping[str, frozenset[str]],
    current: Mapping[str, frozenset[str]],
    parts: Sequence[str],
) -> list[tuple[int, int, int]]:
    """How many of each part a release has, how many of them are new, and how many are gone."""
    return [
        (
            len(current[part]),
            len(current[part] - previous[part]),
            len(previous[part] - current[part]),
        )
        for part in parts
    ]


def _compare_judges(releases: Releases) -> xr.Dataset:
    """How severe judges are among each other, and how their scores of the same answers moved."""
    scores, dropped = [], {*PROMPT_LABELS} - {CLUSTER}
    for results in releases.values():
        sub_index = results["panel"]["sub_index"]
        other_dims = [dim for dim in sub_index.dims if dim not in ("model", "prompt", "judge")]
        scores.append(sub_index.mean(other_dims).drop_vars(dropped, errors="ignore"))
    tables = [
        xr.Dataset({"severity": _severity(current)}).assign(_drift(previous, current))
        for previous, current in zip([None, *scores], scores, strict=False)
    ]
    table = xr.concat(tables, release_labels(releases), join="outer", data_vars="all")
    corrected = table["drift_p"].copy(data=holm(table["drift_p"].to_numpy()))
    notable = corrected < SIGNIFICANCE_LEVEL
    return table.drop_vars("drift_p").assign(drift_p_holm=corrected, drift_notable=notable)


def _severity(scores: xr.DataArray) -> xr.DataArray:
    """How much higher each judge scores than the mean of all judges in the same cells."""
    return (scores - scores.mean("judge")).mean(["model", "prompt"])


def _drift(previous: xr.DataArray | None, current: xr.DataArray) -> xr.Dataset:
    """How much higher each judge scores the answers of both releases than before.

    The standard error is clustered by prompt, or by the clusters of prompts: answers of several
    models to one are judged alike.
    """
    unknown = xr.full_like(current.isel(model=0, prompt=0, drop=True), np.nan)
    none = xr.Dataset(dict.fromkeys(DRIFT, unknown) | {"shared_answers": 0})
    if previous is None:
        return none
    current, previous = xr.align(current, previous, join="inner", copy=False)
    if not current.size:
        return none
    difference = current - previous.drop_vars(CLUSTER, errors="ignore")
    drift, count = difference.mean(["model", "prompt"]), difference.count(["model", "prompt"])
    sums = sum_clusters((difference - drift).sum("model"), "prompt")
    present = sum_clusters(difference.notnull().sum("model"), "prompt")
    units = (present > 0).sum("prompt")
    variance = (sums**2).sum("prompt") * units / (units - 1).where(units > 1)
    error = variance**0.5 / count
    values = dict(zip(DRIFT, (drift, error, _test_drift(drift, error, units)), strict=True))
    answers = difference.notnull().any("judge").sum()
    return xr.Dataset(values | {"shared_answers": answers}).reindex(judge=unknown["judge"])


def _test_drift(drift: xr.DataArray, error: xr.DataArray, units: xr.DataArray) -> xr.DataArray:
    """Two-sided p value of no drift, by Student's t with one degree of freedom fewer than units.

    It is never below 2 / 2^units, the least that the signs of the units can show: few units that
    moved alike have hardly an error. Scores that did not move at all have 1.
    """
    from scipy.special import stdtr  # noqa: PLC0415 - quick to start without it

    p: xr.DataArray = 2.0 * xr.apply_ufunc(stdtr, units - 1, -abs(drift) / error)
    return p.clip(min=2.0 ** (1 - units)).where(drift != 0, 1.0).where(units > 1)

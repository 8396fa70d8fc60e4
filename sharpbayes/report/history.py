"""Results of several releases -> one tree: numbers, decisions, judges and inputs over releases."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr

from sharpbayes.errors import SpecError, StorageError
from sharpbayes.metrics.stats.intervals import intervals_with_width
from sharpbayes.report.layout import CROWD, PANEL, results_kind
from sharpbayes.report.release import (
    choose_model,
    list_parts,
    read_verdicts,
    tells_means,
    tells_tails,
)
from sharpbayes.report.wording import is_approximate
from sharpbayes.storage.schema import APPROXIMATION, FILES

# What a release was made from.
INPUTS = ("data", *FILES)
NO_INPUT = "none"
ESTIMATES = ("observed", "bootstrap_interval")
POSTERIOR = ("posterior_median", "posterior_interval")
PART_DIMS = ("release", "part")
# Without convergence there is no posterior to show.
CONVERGED = "fitted"
# Attributes of the newest release that the page shows.
KEPT = ("seed", "overrides", "versions", "created")


def history(releases: Mapping[str, xr.DataTree]) -> xr.DataTree:
    """Return what several results say of releases, in the order given.

    The group ``history`` has over (release, metric, unit), units being models or groups of raters,
    ``observed`` and, of fits, ``posterior_median``; with (bound) ``bootstrap_interval``, missing
    where it has no width, and ``posterior_interval``; over (release, unit) ``verdict``; over
    (release) ``created``, ``status``, and whether the evidence carries comparisons of tails
    (``tells_tails``) and of means (``tells_means``); over (release, input) ``sha256`` and
    ``changed`` since the release before; over (release, part) ``part_count`` of models, prompts and
    judges, or of items and raters, with how many are new (``part_new``) or gone (``part_gone``). Of
    panels it has over (release) ``choice``; over (release, judge) ``severity``, how much higher a
    judge scores than all in the same cells, and ``drift`` with ``drift_error``: how much higher
    than in the release before on answers of the same models to the same prompts, of which there are
    ``shared_answers (release)``. No choice or verdict goes beyond the evidence of its release.

    Args:
        releases: Results of ``measure`` or ``fit`` by the name of the release, two or more.

    Raises:
        SpecError: Results of other commands, of previews, or of panels and of crowds together.
        StorageError: Results without a part that is compared.
    """
    kinds = {name: results_kind(results) for name, results in releases.items()}
    kind = next(iter(kinds.values()))
    for name, other in kinds.items():
        if is_approximate(releases[name]):
            message = f"these results are {APPROXIMATION}; a history is of answers"
            raise SpecError.at(name, message)
        if other not in (PANEL, CROWD):
            raise SpecError.at(name, "a history is of results of `measure` or `fit`")
        if other != kind:
            raise SpecError.at(name, f"results of a {other} among those of a {kind}")
        if "joint" not in releases[name]:
            message = f"{name}: no group /joint; run `sharpbayes measure` of the study again"
            raise StorageError(message)
    table = xr.merge(
        [part(releases) for part in (_numbers, _decisions, _inputs, _parts)],
        join="outer",
        combine_attrs="drop",
    )
    if kind == PANEL:
        table = table.assign(choice=_choices(releases)).merge(_judges(releases))
    table = table.sel(unit=_units(releases))
    first = next(iter(releases.values()))
    table.attrs = {
        "kind": kind,
        "level": float(first["joint"].attrs["level"]),
        "alpha": float(first["profile"].attrs["alpha"]) if kind == PANEL else np.nan,
    }
    newest = [*releases.values()][-1].attrs
    tree = xr.DataTree.from_dict({"/history": table})
    title = f"{' → '.join(releases)}: {newest['title']}"
    tree.attrs = {"title": title, "status": "compared"} | {
        name: newest[name] for name in KEPT if name in newest
    }
    return tree


def _labels(releases: Mapping[str, Any]) -> xr.DataArray:
    """Names of the releases as a dimension."""
    return xr.DataArray(list(releases), dims="release", name="release")


def _units(releases: Mapping[str, xr.DataTree]) -> list[str]:
    """Models or groups of all releases, in the order of the releases."""
    units: list[str] = []
    for results in releases.values():
        joint = results["joint"].to_dataset()
        units += map(str, joint[_unit_dim(joint)].to_numpy())
    return list(dict.fromkeys(units))


def _unit_dim(joint: xr.Dataset) -> str:
    """Whether numbers are of models or of groups of raters."""
    return "model" if "model" in joint.dims else "group"


def _numbers(releases: Mapping[str, xr.DataTree]) -> xr.Dataset:
    """Every metric of ``/joint`` with its intervals."""
    tables = []
    for results in releases.values():
        joint = results["joint"].to_dataset()
        fitted = results.attrs["status"] == CONVERGED and POSTERIOR[0] in joint
        names = [*ESTIMATES, *(POSTERIOR if fitted else ())]
        joint = joint.assign(intervals_with_width(joint[[ESTIMATES[1]]]))
        tables.append(joint[names].rename({_unit_dim(joint): "unit"}).drop_attrs())
    return xr.concat(tables, _labels(releases), join="outer", data_vars="all")


def _decisions(releases: Mapping[str, xr.DataTree]) -> xr.Dataset:
    """What was decided of each model, what can be compared, and when each release was made."""
    verdicts = [read_verdicts(results) for results in releases.values()]
    units = list(dict.fromkeys(unit for verdict in verdicts for unit in verdict))
    rows = [[verdict.get(unit, "-") for unit in units] for verdict in verdicts]
    facts: dict[str, tuple[str, Sequence[object]]] = {
        name: ("release", [str(results.attrs.get(name, "")) for results in releases.values()])
        for name in ("created", "status")
    }
    for name, tells in (("tells_tails", tells_tails), ("tells_means", tells_means)):
        facts[name] = ("release", [tells(results) for results in releases.values()])
    return xr.Dataset(
        {"verdict": (("release", "unit"), rows), **facts},
        {"release": _labels(releases), "unit": units},
    )


def _choices(releases: Mapping[str, xr.DataTree]) -> xr.DataArray:
    """Which model each release of a panel chooses."""
    return _labels(releases).copy(data=[choose_model(results) for results in releases.values()])


def _parts(releases: Mapping[str, xr.DataTree]) -> xr.Dataset:
    """How many models, prompts, judges, items or raters there are, and how many are new or gone."""
    named = [list_parts(results) for results in releases.values()]
    parts = [part for part in named[0] if all(part in names for names in named)]
    earlier = [named[0], *named]
    counts = [
        [
            (len(now[part]), len(now[part] - then[part]), len(then[part] - now[part]))
            for part in parts
        ]
        for then, now in zip(earlier, named, strict=False)
    ]
    shape = (len(named), len(parts), 3)
    table = xr.DataArray(np.array(counts, dtype=np.int64).reshape(shape), dims=(*PART_DIMS, "of"))
    names = ("part_count", "part_new", "part_gone")
    variables = {name: table.isel(of=place) for place, name in enumerate(names)}
    return xr.Dataset(variables, {"release": _labels(releases), "part": parts})


def _inputs(releases: Mapping[str, xr.DataTree]) -> xr.Dataset:
    """Digests of what each release was made from, and which of them are others than before."""
    digests = [
        [str(results.attrs.get(f"{name}_sha256", NO_INPUT)) for name in INPUTS]
        for results in releases.values()
    ]
    changed = [[False] * len(INPUTS)] + [
        [now != then for now, then in zip(later, earlier, strict=True)]
        for earlier, later in pairwise(digests)
    ]
    dims = ("release", "input")
    labels = {"release": _labels(releases), "input": list(INPUTS)}
    return xr.Dataset({"sha256": (dims, digests), "changed": (dims, changed)}, labels)


def _judges(releases: Mapping[str, xr.DataTree]) -> xr.Dataset:
    """How severe judges are among each other, and how their scores of the same answers moved."""
    scores = []
    for results in releases.values():
        sub_index = results["panel"]["sub_index"]
        rest = [dim for dim in sub_index.dims if dim not in ("model", "prompt", "judge")]
        scores.append(sub_index.mean(rest).reset_coords(drop=True))
    severity = [(x - x.mean("judge")).mean(["model", "prompt"]) for x in scores]
    tables = [xr.Dataset({"severity": value}) for value in severity]
    tables[0] = tables[0].assign(_drift(scores[0], None))
    for number, (then, now) in enumerate(pairwise(scores), start=1):
        tables[number] = tables[number].assign(_drift(now, then))
    return xr.concat(tables, _labels(releases), join="outer", data_vars="all")


def _drift(now: xr.DataArray, then: xr.DataArray | None) -> xr.Dataset:
    """How much higher each judge scores the answers of both releases than before.

    The standard error is clustered by prompt: answers of several models to it are judged alike.
    """
    unknown = xr.full_like(now.isel(model=0, prompt=0, drop=True), np.nan)
    none = xr.Dataset({"drift": unknown, "drift_error": unknown, "shared_answers": 0})
    if then is None:
        return none
    now, then = xr.align(now, then, join="inner", copy=False)
    if not now.size:
        return none
    difference = now - then
    drift, count = difference.mean(["model", "prompt"]), difference.count(["model", "prompt"])
    of_prompt = (difference - drift).sum("model")
    prompts = difference.notnull().any("model").sum("prompt")
    variance = (of_prompt**2).sum("prompt") * prompts / (prompts - 1).where(prompts > 1)
    return xr.Dataset(
        {
            "drift": drift,
            "drift_error": variance**0.5 / count,
            "shared_answers": difference.notnull().any("judge").sum(),
        }
    ).reindex(judge=unknown["judge"])

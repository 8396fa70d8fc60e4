"""Report of several results: what changed from release to release, with what each one answers."""

from collections.abc import Mapping
from pathlib import Path

import xarray as xr

from sharpbayes.analysis.releases import compare_releases
from sharpbayes.errors import SpecError, StorageError, describe_value
from sharpbayes.posterior.release import collect_answers
from sharpbayes.report.layout import CROWD, PANEL, results_kind
from sharpbayes.report.wording import is_approximate
from sharpbayes.storage.results import read_results
from sharpbayes.storage.schema import APPROXIMATION

# Attributes of the newest release that the page shows.
KEPT = ("seed", "overrides", "versions", "created")


def build_history(releases: Mapping[str, xr.DataTree | str | Path]) -> xr.DataTree:
    """Return what several results say of releases, in the order given.

    The group ``history`` has the variables of
    :func:`sharpbayes.analysis.releases.compare_releases` and of
    :func:`sharpbayes.posterior.release.collect_answers`, and of panels ``alpha (release)``, that of
    CVaR.

    Args:
        releases: Results of :func:`sharpbayes.measure` or :func:`sharpbayes.fit` by the name of the
            release, oldest first, or the paths of their files.

    Raises:
        SpecError: Results of other commands, of previews, or of panels and of crowds together.
        StorageError: Results without a part that is compared.
    """
    if not isinstance(releases, Mapping) or not releases:
        message = f"found {describe_value(releases)}, must be results by the name of the release"
        raise SpecError.at("releases", message)
    return _join_releases(
        {name: read_results(results, place=name) for name, results in releases.items()}
    )


def _join_releases(releases: Mapping[str, xr.DataTree]) -> xr.DataTree:
    """What results say of releases, in the order given."""
    kind = _find_kind(releases)
    table = compare_releases(releases).merge(
        collect_answers(releases, are_panels=kind == PANEL), join="left"
    )
    if kind == PANEL:
        alphas = [float(of_release["profile"].attrs["alpha"]) for of_release in releases.values()]
        table = table.assign(alpha=("release", alphas))
    oldest, *_, newest = [*releases.values()] * 2
    table.attrs = {"kind": kind, "level": float(oldest["joint"].attrs["level"])}
    tree = xr.DataTree.from_dict({"/history": table})
    tree.attrs = {
        "title": f"{' → '.join(releases)}: {newest.attrs['title']}",
        "status": "compared",
    }
    tree.attrs |= {name: newest.attrs[name] for name in KEPT if name in newest.attrs}
    return tree


def _find_kind(releases: Mapping[str, xr.DataTree]) -> str:
    """Whether releases are of a panel or of a crowd; others than these are refused."""
    kinds = {name: results_kind(results) for name, results in releases.items()}
    first_kind = next(iter(kinds.values()))
    for name, kind in kinds.items():
        if is_approximate(releases[name]):
            message = f"these results are {APPROXIMATION}; a history is of answers"
            raise SpecError.at(name, message)
        if kind not in (PANEL, CROWD):
            raise SpecError.at(name, "a history is of results of `measure` or `fit`")
        if kind != first_kind:
            raise SpecError.at(name, f"results of a {kind} among those of a {first_kind}")
        if "joint" not in releases[name]:
            message = f"{name}: no group /joint; run `sharpbayes measure` of the study again"
            raise StorageError(message)
    return first_kind

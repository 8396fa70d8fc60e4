"""Shares by hand: what the script of a crowd's page shows at other shares of groups of raters."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import tomlkit
import xarray as xr

from sharpbayes.metrics.stats.draws import central_interval
from sharpbayes.report.weights_by_hand import USABLE, fixed_toml
from sharpbayes.spec.weights import Weights
from sharpbayes.storage.attributes import read_weights

# Metrics by their headings.
METRICS = {"mpa": "MPA", "wra": "WRA", "hm": "HM"}
SETTING = ("moved_label", "moved_share")


@dataclass(frozen=True)
class SharesByHand:
    """What the section of the page says, and ``data``, what its script shows.

    ``data`` has under ``settings`` the shares that can be chosen, that of the study first, then one
    list for each label that is moved: the share of every label, and of each metric the observed
    value and, after a fit, median and bounds of the posterior; None where there is none.
    """

    data: dict[str, Any]
    interval_note: str
    is_fitted: bool


def shares_by_hand(results: xr.DataTree) -> SharesByHand | None:
    """Return what the page of a crowd needs for shares by hand, None where the results lack it."""
    if results.attrs["status"] not in USABLE or "responsiveness_shares" not in results:
        return None
    observed = results["responsiveness_shares"].to_dataset()
    is_fitted = "posterior_responsiveness_shares" in results
    written = read_weights(results)
    population = Weights.model_validate(written).population
    labels = [str(label) for label in observed["share_label"].to_numpy()]
    declared = {
        f"{name}={label}": x for name, table in population.items() for label, x in table.items()
    }
    data = {
        "labels": labels,
        "tables": _tables(population),
        "moved": [str(label) for label in observed["moved_label"].to_numpy()],
        "levels": observed["moved_share"].to_numpy().tolist(),
        "metrics": list(METRICS.values()),
        "sample": _values(results, {"population": "sample"}),
        "study": {"shares": [declared[label] for label in labels], **_study(results)},
        "settings": [
            [_setting(results, observed, label, share) for share in observed["moved_share"]]
            for label in observed["moved_label"]
        ],
        "toml": fixed_toml(results.attrs["title"], written, shares=True, moved=frozenset()),
    }
    note = ""
    if is_fitted:
        note = results["posterior_responsiveness_shares"].attrs["interval_note"]
    return SharesByHand(data, note, is_fitted)


def _tables(population: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    """The tables of shares of the weights: their names and labels as a file has them."""
    return [
        {
            "key": tomlkit.key(name).as_string(),
            "keys": [tomlkit.key(label).as_string() for label in table],
            "labels": [f"{name}={label}" for label in table],
            "shares": list(table.values()),
        }
        for name, table in population.items()
    ]


def _study(results: xr.DataTree) -> dict[str, Any]:
    """Metrics of the population of the study."""
    target = {"population": "target"}
    return {
        "observed": _values(results, target),
        "posterior": _posterior(
            results, "posterior_responsiveness_population", {"by": "all", **target}
        ),
    }


def _setting(
    results: xr.DataTree, observed: xr.Dataset, label: xr.DataArray, share: xr.DataArray
) -> dict[str, Any]:
    """Shares and metrics where one label has another share."""
    cell = dict(zip(SETTING, (label.item(), share.item()), strict=True))
    chosen = observed.sel(cell)
    return {
        "shares": chosen["population_share"].to_numpy().tolist(),
        "observed": [_number(chosen[name].item()) for name in METRICS],
        "posterior": _posterior(results, "posterior_responsiveness_shares", cell),
    }


def _values(results: xr.DataTree, cell: dict[str, str]) -> list[float | None]:
    """Observed metrics of all raters in a population, over all items."""
    data = results["responsiveness_population"].to_dataset().sel({"by": "all", **cell})
    return [_number(data[name].item()) for name in METRICS]


def _posterior(
    results: xr.DataTree, group: str, cell: dict[str, Any]
) -> list[list[float | None]] | None:
    """Median, lower and upper bound of each metric; None without a fit."""
    if group not in results:
        return None
    data, level = results[group].to_dataset().sel(cell), float(results[group].attrs["level"])
    interval = central_interval(data, level=level)
    return [
        [_number(x) for x in (np.median(data[name]), *interval[name].to_numpy())]
        for name in METRICS
    ]


def _number(value: float) -> float | None:
    """A number for JSON, which has none for what is missing."""
    return None if np.isnan(value) else float(value)

"""Weights by hand: what the script of the page needs to decide under the weights of its reader."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import tomlkit
import xarray as xr

from sharpbayes.posterior.claims import has_other_judges, is_carried
from sharpbayes.report.claims import NO_RECOMMENDATION
from sharpbayes.report.metric_names import CRITERIA
from sharpbayes.report.tables.declaration import View
from sharpbayes.spec.consistency import policy_over
from sharpbayes.spec.weights import DESCRIPTION, Weights
from sharpbayes.storage.attributes import read_weights

# Parts of a weights file that the reader sets.
SET_BY_HAND = frozenset({"policy", "tolerance", "tail", "decision"})
# Nobody approved what a reader sets.
REPLACED = {"schema", *DESCRIPTION}
# The study's shares of categories stand in the script's data where the page can move them.
MOVED = ("moved_category", "category_share")
Variables = Mapping[str, tuple[str, tuple[str, ...]]]
SHARES: Variables = MappingProxyType(
    {
        "share_cvar": ("share_cvar", (*MOVED, "model")),
        "share_worst_dimension": ("share_worst_dimension", (*MOVED, "model")),
        "share_dimension_mean": ("share_dimension_mean", (*MOVED, "model", "dimension")),
    }
)
# Draws under other shares, before base64, that a page carries at most.
MAX_BYTES = 1_500_000
# Without convergence there are no draws to decide by.
USABLE = ("measured", "fitted")


@dataclass(frozen=True)
class WeightsByHand:
    """What the section of the page says, and ``data``, what its script computes from.

    ``data`` has the settings of the study and, under ``observed`` and ``posterior``, the arrays
    ``cvar`` and ``worst_dimension`` over (draw, alpha, model) and ``dimension_mean`` over (draw,
    model, dimension); for a target population ``share_cvar``, ``share_worst_dimension`` and
    ``share_dimension_mean``, over (draw, moved category, share, model[, dimension]). Observed
    ratings are one draw.
    """

    data: dict[str, Any]
    interval_note: str
    draws: int
    has_categories: bool
    left_out: str = ""


def weights_by_hand(results: xr.DataTree) -> WeightsByHand | None:
    """Return what a page needs for weights by hand, None where the results lack it."""
    if results.attrs["status"] not in USABLE or "validation" not in results:
        return None
    if "alpha_worst_dimension" not in results["validation"]:
        return None
    data = _settings(results) | {"observed": _arrays(results, "validation", "profile")}
    note, draws = "", 0
    shares = _carried_shares(results)
    if shares:
        data["population"] = _population(results)
        data["observed"] |= _encode(results, "validation", SHARES)
    if "posterior_tail_levels" in results:
        levels = results["posterior_tail_levels"]
        data["posterior"] = _arrays(results, "posterior_tail_levels", "posterior_profile")
        data["level"] = float(levels.attrs["level"])
        if shares:
            data["posterior"] |= _encode(results, "posterior_share_levels", SHARES)
        note, draws = levels.attrs["interval_note"], levels.sizes["chain"] * levels.sizes["draw"]
    has_categories = "category" in results["panel"].coords
    return WeightsByHand(data, note, draws, has_categories, _further_limits(results))


def _further_limits(results: xr.DataTree) -> str:
    """Return the limits of the tolerance that the reader cannot set, as a list."""
    tolerance = Weights.model_validate(read_weights(results)).tolerance
    return ", ".join(name for name in (tolerance.limits if tolerance else ()) if name != "cvar")


def _arrays(results: xr.DataTree, levels: str, profile: str) -> dict[str, str]:
    """Return the numbers of every draw that criteria follow from."""
    by_alpha = {
        "cvar": ("alpha_cvar", ("alpha", "model")),
        "worst_dimension": ("alpha_worst_dimension", ("alpha", "model")),
    }
    means = {"dimension_mean": ("dimension_mean", ("model", "dimension"))}
    return _encode(results, levels, by_alpha) | _encode(results, profile, means)


def _encode(results: xr.DataTree, group: str, variables: Variables) -> dict[str, str]:
    """Return variables of a group as base64 of float64, these dimensions last."""
    return {
        name: base64.b64encode(
            results[group][variable].transpose(..., *dims).to_numpy().astype("<f8").tobytes()
        ).decode()
        for name, (variable, dims) in variables.items()
    }


def _carried_shares(results: xr.DataTree) -> bool:
    """Whether other shares of categories are in the results, and no more than a page can carry."""
    if "share_cvar" not in results["validation"]:
        return False
    if "posterior_tail_levels" not in results:
        return True
    if "posterior_share_levels" not in results:
        return False
    draws = results["posterior_share_levels"].to_dataset()
    return sum(draws[name].nbytes for name, _ in SHARES.values()) <= MAX_BYTES


def _population(results: xr.DataTree) -> dict[str, Any]:
    """Return the categories of prompts, their shares in the study, and those to choose from."""
    shares = results["validation"]["population_share"].transpose(*MOVED, "category")
    categories = list(map(str, shares["category"].to_numpy()))
    declared = Weights.model_validate(read_weights(results)).population["category"]
    return {
        "categories": categories,
        "keys": [tomlkit.key(name).as_string() for name in categories],
        "moved": list(map(str, shares["moved_category"].to_numpy())),
        "study": [declared[name] for name in categories],
        "levels": shares["category_share"].to_numpy().tolist(),
        "shares": shares.to_numpy().tolist(),
    }


def _settings(results: xr.DataTree) -> dict[str, Any]:
    """Return labels, the tail levels to choose from, and the weights of the study."""
    written = read_weights(results)
    weights = Weights.model_validate(written)
    dimensions = list(map(str, results["profile"]["dimension"].to_numpy()))
    return {
        "models": list(map(str, results["profile"]["model"].to_numpy())),
        "dimensions": dimensions,
        "alphas": results["validation"]["alpha"].to_numpy().tolist(),
        "prompts": results["panel"].sizes["prompt"],
        "criteria": CRITERIA,
        "carried": _carried_choices(results),
        "no_recommendation": NO_RECOMMENDATION,
        "policy": [*policy_over(dimensions, weights).values()],
        "tolerance": weights.tolerance and weights.tolerance.cvar,
        "alpha": weights.tail.alpha,
        "estimator": weights.tail.estimator,
        "by": weights.decision.by,
        "confidence": weights.decision.confidence,
        "keys": [tomlkit.key(name).as_string() for name in dimensions],
        "toml": fixed_toml(results.attrs["title"], written, shares=_carried_shares(results)),
    }


def _carried_choices(results: xr.DataTree) -> dict[str, list[bool]]:
    """Return of each criterion whether its choice is carried, without and with a tolerance."""
    view, is_comparable = View(results), not has_other_judges(results)
    return {
        name: [
            is_comparable and is_carried(view, name, has_tolerance=limit) for limit in (False, True)
        ]
        for name in CRITERIA
    }


def fixed_toml(
    title: str, weights: dict[str, Any], *, shares: bool, moved: frozenset[str] = SET_BY_HAND
) -> str:
    """Return the part of a weights file that is not set by hand; shares may be."""
    about = {
        "schema": weights["schema"],
        "title": "Weights set by hand",
        "rationale": f"Set on the report page of {title!r}, from {weights['title']!r}.",
    }
    replaced = moved | REPLACED | ({"population"} if shares else set())
    fixed = {key: value for key, value in weights.items() if key not in replaced}
    return tomlkit.dumps(about | fixed)

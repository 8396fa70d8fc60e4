"""Weights by hand: what the script of the page needs to decide under the weights of its reader."""

import base64
from dataclasses import dataclass
from typing import Any

import tomlkit
import xarray as xr

from sharpbayes.report.approval import FIELDS
from sharpbayes.report.layout import read_weights
from sharpbayes.report.tables.decision import CRITERIA
from sharpbayes.spec.consistency import policy_over
from sharpbayes.spec.weights import Weights

# Parts of a weights file that the reader sets, and those that describe the values of the study.
SET_BY_HAND = {"policy", "tolerance", "tail", "decision"}
# Nobody approved what a reader sets.
DESCRIPTIONS = {"schema", "title", "rationale", "source", *FIELDS}
# Without convergence there are no draws to decide by.
USABLE = ("measured", "fitted")


@dataclass(frozen=True)
class WeightsByHand:
    """What the section of the page says, and ``data``, what its script computes from.

    ``data`` has the settings of the study and, under ``observed`` and ``posterior``, the arrays
    ``cvar`` and ``worst_dimension`` over (draw, alpha, model) and ``dimension_mean`` over (draw,
    model, dimension). Observed ratings are one draw.
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
    if "posterior_tail_levels" in results:
        levels = results["posterior_tail_levels"]
        data["posterior"] = _arrays(results, "posterior_tail_levels", "posterior_profile")
        data["level"] = float(levels.attrs["level"])
        note, draws = levels.attrs["interval_note"], levels.sizes["chain"] * levels.sizes["draw"]
    has_categories = "category" in results["panel"].coords
    return WeightsByHand(data, note, draws, has_categories, _further_limits(results))


def _further_limits(results: xr.DataTree) -> str:
    """Return the limits of the tolerance that the reader cannot set, as a list."""
    tolerance = Weights.model_validate(read_weights(results)).tolerance
    return ", ".join(name for name in (tolerance.limits if tolerance else ()) if name != "cvar")


def _arrays(results: xr.DataTree, levels: str, profile: str) -> dict[str, str]:
    """Return the numbers of every draw that criteria follow from, as base64 of float64."""
    by_alpha = ("alpha", "model")
    arrays = {
        "cvar": results[levels]["alpha_cvar"].transpose(..., *by_alpha),
        "worst_dimension": results[levels]["alpha_worst_dimension"].transpose(..., *by_alpha),
        "dimension_mean": results[profile]["dimension_mean"].transpose(..., "model", "dimension"),
    }
    return {
        name: base64.b64encode(array.to_numpy().astype("<f8").tobytes()).decode()
        for name, array in arrays.items()
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
        "policy": [*policy_over(dimensions, weights).values()],
        "tolerance": weights.tolerance and weights.tolerance.cvar,
        "alpha": weights.tail.alpha,
        "estimator": weights.tail.estimator,
        "by": weights.decision.by,
        "confidence": weights.decision.confidence,
        "keys": [tomlkit.key(name).as_string() for name in dimensions],
        "toml": _fixed_toml(results.attrs["title"], written),
    }


def _fixed_toml(title: str, weights: dict[str, Any]) -> str:
    """Return the part of a weights file that is not set by hand."""
    about = {
        "schema": weights["schema"],
        "title": "Weights set by hand",
        "rationale": f"Set on the report page of {title!r}, from {weights['title']!r}.",
    }
    replaced = SET_BY_HAND | DESCRIPTIONS
    fixed = {key: value for key, value in weights.items() if key not in replaced}
    return tomlkit.dumps(about | fixed)

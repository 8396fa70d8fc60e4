"""What attributes of results say: their weights, whether a fit may be used, lists of texts."""

import contextlib
import json
import tomllib
from typing import Any

import numpy as np
import xarray as xr

from sharpbayes.storage.schema import APPROXIMATE


def has_converged(results: xr.DataTree) -> bool:
    """Return whether the posterior of results, if any, may be used.

    An interrupted fit has the draws that it came to, which seldom meet the limits. A preview has no
    chains that could. Results of `weigh` have no diagnostics and repeat what the fit missed.

    >>> has_converged(xr.DataTree(xr.Dataset(attrs={"status": "not converged"})))
    False
    """
    status = results.attrs.get("status")
    diagnosed = "diagnostics" in results and "converged" in results["diagnostics"]
    if status in (APPROXIMATE, "not converged") or not diagnosed:
        return status != "not converged" and "convergence_issues" not in results.attrs
    return bool(results["diagnostics"]["converged"])


def read_weights(results: xr.DataTree) -> dict[str, Any]:
    """Return the weights that results were made with; empty where there are none.

    >>> read_weights(xr.DataTree(xr.Dataset(attrs={"weights": "tolerance = { cvar = 4.0 }"})))
    {'tolerance': {'cvar': 4.0}}
    """
    return tomllib.loads(results.attrs.get("weights", ""))


def read_criterion(results: xr.DataTree) -> str:
    """Return what the weights of results compare models by.

    >>> read_criterion(xr.DataTree(xr.Dataset(attrs={"weights": "decision = { by = 'mean' }"})))
    'mean'
    """
    decision: dict[str, str] = read_weights(results).get("decision", {})
    return decision.get("by", "cvar")


def list_texts(value: object) -> list[str]:
    """Return a text, a JSON list of texts, or several texts, as a list without empty ones."""
    if isinstance(value, str) and value.startswith("["):
        with contextlib.suppress(ValueError):  # a text that begins with a bracket
            value = json.loads(value)
    several = [value] if isinstance(value, str) else np.atleast_1d(np.asarray(value, dtype=str))
    return [str(text) for text in several if str(text)]

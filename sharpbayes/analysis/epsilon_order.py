"""Which model is lowest with the study's epsilon, and which one with another epsilon."""

import numpy as np
import xarray as xr

from sharpbayes.metrics.stats.ranks import is_lowest


def lowest_by_epsilon(evidence: xr.Dataset, metric: str) -> dict[str, float]:
    """Return the lowest model by mean or CVaR, and that of another epsilon, with their epsilons.

    The other one is of the nearest epsilon of the sweep with which the first is not the lowest.
    Empty where it always is. Results of earlier versions have no means.
    """
    if f"epsilon_{metric}" not in evidence:
        return {}
    epsilon = float(evidence.attrs["epsilon"])
    swept = evidence[f"epsilon_{metric}"].transpose("epsilon", "model")
    lowest = swept.sel(epsilon=epsilon).idxmin("model").item()
    changed = swept[~is_lowest(swept, "model").sel(model=lowest).to_numpy()]
    if not changed.sizes["epsilon"]:
        return {}
    distance = abs(np.log(changed["epsilon"].to_numpy() / epsilon))
    nearest = changed[int(distance.argmin())]
    return {lowest: epsilon, nearest.idxmin("model").item(): float(nearest["epsilon"])}


def list_by_epsilon(names: dict[str, float]) -> str:
    """Return models, each with the epsilon that makes it the lowest.

    >>> list_by_epsilon({"m1": 1e-06, "m0": 0.05})
    'm1 with 1e-06, m0 with 0.05'
    """
    return ", ".join(f"{name} with {epsilon:g}" for name, epsilon in names.items())

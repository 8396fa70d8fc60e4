"""The margins that weights declare, and which metrics they are about."""

import xarray as xr

from sharpbayes.analysis.limited_metrics import limited_metric
from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.errors import SpecError
from sharpbayes.spec.files import SpecFile
from sharpbayes.spec.weights import Gate, Weights


def required_gate(weights: SpecFile[Weights]) -> Gate:
    """Return the gate of weights.

    Raises:
        SpecError: The weights have none.
    """
    if weights.spec.gate is None:
        message = (
            "these weights declare no margins; add the table `[gate]` to a copy of them, with "
            "lines such as `mean = 0.5` and `policy_score = 0.05`, and name the copy by --weights"
        )
        raise SpecError.at(weights.path, message, key="gate")
    return weights.spec.gate


def gate_margins(gate: Gate, plan: ProfilePlan) -> xr.DataArray:
    """Return the margins over (metric)."""
    margins = gate.margins(tuple(map(str, plan.table["dimension"].to_numpy())))
    return xr.DataArray(list(margins.values()), {"metric": list(margins)}, "metric")


def compared_metrics(margin: xr.DataArray) -> set[str]:
    """Return the metrics of a profile that margins (metric) are about.

    >>> margin = xr.DataArray([1.0, 0.1], {"metric": ["cvar", "dimension bias"]}, "metric")
    >>> sorted(compared_metrics(margin))
    ['cvar', 'dimension_cvar']
    """
    return {limited_metric(str(label)) for label in margin["metric"].to_numpy()}

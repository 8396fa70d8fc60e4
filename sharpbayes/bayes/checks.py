"""Whether a posterior can be trusted: R-hat, effective sample sizes, divergences."""

import arviz as az
import numpy as np
import xarray as xr

from sharpbayes.errors import listed
from sharpbayes.spec.study import Sampler

# A term with more levels than this has so many effects that some exceed a strict limit by chance.
FEW_LEVELS = 12
# Effects of such a term are held to an R-hat this many times as far from 1.
LENIENCE = 5.0


def diagnose(trace: xr.DataTree, sampler: Sampler) -> xr.Dataset:
    """Return ``rhat``, ``ess_bulk``, ``ess_tail`` by parameter, divergences, and the verdict.

    R-hat is rank-normalised split R-hat, ESS bulk and tail (Vehtari et al. 2021), all by ArviZ.
    ``converged`` is 1 if every R-hat is below ``sampler.max_rhat``, every bulk and tail ESS is at
    least ``sampler.min_ess``, and at most ``sampler.max_divergences`` transitions diverged; the
    attribute ``why_not`` of the dataset names what failed. Single effects of a term with more
    than 12 levels are held to 1 + 5 (max_rhat - 1) and to a quarter of ``min_ess``.
    """
    posterior = trace["posterior"].to_dataset()
    table = xr.Dataset(
        {
            "rhat": _by_parameter(az.rhat(posterior)),
            "ess_bulk": _by_parameter(az.ess(posterior, method="bulk")),
            "ess_tail": _by_parameter(az.ess(posterior, method="tail")),
            "divergences": int(trace["sample_stats"]["diverging"].sum()),
        }
    )
    reasons = _reasons(table, _many_by_parameter(posterior), sampler)
    table["converged"] = np.int8(not reasons)
    table.attrs["why_not"] = "; ".join(reasons)
    return table


def _reasons(table: xr.Dataset, many: np.ndarray, sampler: Sampler) -> list[str]:
    """Say in words what keeps a fit from being trusted."""
    limit = 1.0 + (sampler.max_rhat - 1.0) * np.where(many, LENIENCE, 1.0)
    fewest = sampler.min_ess * np.where(many, 0.25, 1.0)
    rhat = table["rhat"]
    reasons = [_failure(rhat, rhat >= limit, f"R-hat (up to {float(rhat.max()):.3f})")]
    for name, words in (("ess_bulk", "bulk ESS"), ("ess_tail", "tail ESS")):
        ess = table[name]
        reasons.append(_failure(ess, ess < fewest, f"{words} (down to {float(ess.min()):.0f})"))
    divergences = int(table["divergences"])
    if divergences > sampler.max_divergences:
        reasons.append(f"{divergences} transitions diverged")
    return [reason for reason in reasons if reason]


def _failure(values: xr.DataArray, bad: xr.DataArray, words: str) -> str:
    """Name the parameters that miss a limit, or return an empty string."""
    names = values["parameter"].to_numpy()[bad.to_numpy()]
    return f"{words} misses its limit for {listed(names, most=3)}" if len(names) else ""


def _many_by_parameter(posterior: xr.Dataset) -> np.ndarray:
    """For each parameter, in the order of :func:`_by_parameter`, whether its term has many."""
    sizes = [
        array.size // posterior["draw"].size // posterior["chain"].size
        for array in posterior.values()
    ]
    return np.concatenate([np.full(size, size > FEW_LEVELS) for size in sizes])


def _by_parameter(values: xr.Dataset | xr.DataTree) -> xr.DataArray:
    """Stack one number a parameter along ``parameter``, labelled ``name[level, ...]``."""
    data = values.to_dataset() if isinstance(values, xr.DataTree) else values
    labels: list[str] = []
    numbers = []
    for name, array in data.data_vars.items():
        numbers.append(array.to_numpy().ravel())
        labels.extend(_labels(str(name), array))
    return xr.DataArray(np.concatenate(numbers), {"parameter": labels}, "parameter")


def _labels(name: str, array: xr.DataArray) -> list[str]:
    """Label every element of a variable."""
    if not array.dims:
        return [name]
    index = array.stack(parameter=array.dims).indexes["parameter"]
    keys = [key if isinstance(key, tuple) else (key,) for key in index]
    return [f"{name}[{', '.join(map(str, key))}]" for key in keys]

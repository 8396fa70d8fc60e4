"""Draws of a posterior in which several models share the lowest tail risk."""

from dataclasses import dataclass

import xarray as xr

from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.format import percent

# Fewer such draws are not said; a draw counts for all models that share its lowest value.
LEAST_SHARE = 0.05
DRAWS = ("chain", "draw")


@dataclass(frozen=True)
class Ties:
    """Probability of being lowest alone, by model, and of several models sharing the lowest."""

    alone: xr.DataArray
    share: float
    at_ceiling: bool

    @property
    def sentence(self) -> str:
        """In how many draws several models share the lowest value."""
        where = ", mostly at the ceiling" if self.at_ceiling else ""
        return f"In {percent(self.share)} of draws several models share the lowest value{where}."


def share_of_ties(view: View) -> Ties | None:
    """Return how often models share the lowest CVaR in draws; None where that is seldom."""
    if "posterior_profile/cvar" not in view:
        return None
    cvar = view["posterior_profile/cvar"]
    lowest = cvar == cvar.min("model")
    is_shared = lowest.sum("model") > 1
    share = float(is_shared.mean())
    if share < LEAST_SHARE:
        return None
    alone = (lowest & ~is_shared).mean([dim for dim in DRAWS if dim in cvar.dims])
    tied = cvar.min("model").where(is_shared)
    return Ties(alone, share, at_ceiling=bool(tied.median() >= cvar.max()))

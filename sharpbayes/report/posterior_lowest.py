"""Which model the posterior calls lowest in tail risk, and how often several share the lowest."""

from collections.abc import Sequence
from dataclasses import dataclass

import xarray as xr

from sharpbayes.errors import join_names
from sharpbayes.metrics.stats.draws import lowest_alone_probability, tied_lowest
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.format import percent
from sharpbayes.report.wording import contained_sources, posterior_estimate, probability_text

# Models that are the lowest with a smaller probability are not named, nor are fewer draws in which
# several share the lowest.
NAMED = 0.05


def describe_lowest(
    view: View,
    models: Sequence[str],
    first: str,
    probability: xr.DataArray,
    *,
    limit: str,
    condition: str = "",
) -> str:
    """Return the most probable model, with probability, estimate and what its interval contains.

    ``limit`` stands before it where the evidence does not carry that one model is lowest, and a
    ``condition`` after the probability.
    """
    ties = share_of_ties(view)
    probability = probability if ties is None else ties.alone
    row = view.select({"metric": "cvar", "model": first})
    sources = contained_sources(view, "posterior_profile")
    value = f"{row.text('{cvar}')} of cumulative log-risk {posterior_estimate(row)}"
    others = list_others(probability, models, first)
    subject = first if ties is None else f"{first} alone"
    chance = probability_text(probability.sel(model=first))
    claim = f"{subject} has the lowest tail risk of {len(models)} models with probability {chance}"
    if limit:
        claim = f"{limit}{subject} is lowest with probability {chance}"
    claim += f", {condition}:" if condition else "," if limit else ":"
    sentences = [f"{claim} {value}.", f"The interval contains {sources}."]
    sentences += [] if ties is None else [ties.sentence]
    sentences += [f"It may also be {others}."] if others else []
    return " ".join(sentences)


def list_others(probability: xr.DataArray, models: Sequence[str], first: str) -> str:
    """Return the other models that may be the lowest, each with its probability; empty for none."""
    return join_names(
        [
            f"{name} ({probability_text(probability.sel(model=name))})"
            for name in models
            if name != first and float(probability.sel(model=name)) >= NAMED
        ]
    )


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
    tied = tied_lowest(cvar, "model")
    share = float(tied.notnull().mean())
    if share < NAMED:
        return None
    alone = lowest_alone_probability(cvar, "model")
    return Ties(alone, share, at_ceiling=bool(tied.median() >= cvar.max()))

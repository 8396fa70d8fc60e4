"""Metrics of a panel's replicated ratings: each draw's ratings take the observed ones' place."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.profile_levels import share_levels, tail_levels
from sharpbayes.analysis.profile_plan import ProfilePlan, tabulate_replicates
from sharpbayes.analysis.study import PanelStudy
from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Floats
from sharpbayes.data.panel import list_pooled_judges
from sharpbayes.metrics.panel.comparison import policy_score
from sharpbayes.metrics.panel.profile import weighted_mean
from sharpbayes.metrics.panel.tail import conditional_value_at_risk
from sharpbayes.posterior.replicates import (
    Block,
    Categories,
    ReplicateDraws,
    concatenate_units,
    measure_draws,
    pool_replicates,
)

# Variables of a panel that no profile is made of.
UNUSED = ["sub_index", "log_any_harm"]


@dataclass(frozen=True)
class RatingPositions:
    """Positions of the ratings of each scale among the observed scores of a panel.

    Attributes:
        scores: Observed scores over (indicator, ...) of the pooled judges.
        position: For each scale the flat positions of the judges' ratings; ratings by people
            follow those of judges and have no position.
        top: For each scale its highest category where ratings are reversed, else -1.
        judges: How many of the judges are measured; None for all.
    """

    scores: xr.Dataset
    position: dict[str, NDArray[np.intp]]
    top: dict[str, int]
    judges: int | None = None

    def fill(self, replicates: Categories) -> xr.Dataset:
        """Return scores over (draw, indicator, ...), replicated wherever there is a rating."""
        observed = self.scores["score"]
        draws = len(next(iter(replicates.values())))
        flat = np.tile(observed.to_numpy().ravel(), (draws, 1))
        for scale, values in replicates.items():
            position, top = self.position[scale], self.top[scale]
            judged = values[:, : len(position)]
            flat[:, position] = judged if top < 0 else top - judged
        scores = flat.reshape(draws, *observed.shape)
        filled = self.scores.assign(score=(("draw", *observed.dims), scores))
        return filled.isel(judge=slice(self.judges))


def rating_positions(study: PanelStudy) -> RatingPositions:
    """Return the positions of a panel's ratings among its scores."""
    scores, ratings = study.scores, study.ratings
    judges = list_pooled_judges(study.panel, [str(name) for name in scores["judge"].to_numpy()])
    pooled = scores.sel(judge=judges).transpose("indicator", ...)
    array = pooled["score"]
    judged = ratings.factors["judge"].codes >= 0
    codes = []
    for dim in array.dims:
        column, labels = ratings.factors[str(dim)], array[dim].to_numpy().astype(str).tolist()
        index = np.array([labels.index(label) for label in column.labels])
        codes.append(index[column.codes[judged]])
    flat = np.ravel_multi_index(codes, array.shape)
    scale = ratings.factors["scale"]
    position, top = {}, {}
    for code, name in enumerate(scale.labels):
        rows = np.flatnonzero(scale.codes[judged] == code)
        if rows.size:
            position[name] = flat[rows]
            top[name] = -1 if name in study.panel.scales else len(ratings.scales[name]) - 1
    return RatingPositions(pooled, position, top)


@dataclass(frozen=True)
class PanelMetrics:
    """Profiles of a panel's models under one or several weights files.

    Attributes:
        plans: How scores are profiled, one plan for each weights file.
        positions: Positions of the ratings among the scores.
        unit: Dimension of the units that stand for a population.
        member: Who scores.
        checked: Metrics that predictive checks compare.
        rating_columns: Columns by which predictive checks compare the frequencies of ratings.
    """

    plans: Sequence[ProfilePlan]
    positions: RatingPositions
    unit: ClassVar = "prompt"
    member: ClassVar = "judge"
    checked: ClassVar = ("cvar", "tail_share")
    rating_columns: ClassVar = ("judge",)

    @property
    def study(self) -> PanelStudy:
        """The study of the panel."""
        return self.plans[0].study

    @property
    def unit_labels(self) -> xr.DataArray:
        """Labels of the prompts."""
        return self.positions.scores["prompt"]

    @property
    def unit_count(self) -> int:
        """Number of prompts of all models."""
        return self.positions.scores.sizes["model"] * self.unit_labels.size

    @cached_property
    def observed(self) -> xr.Dataset:
        """Profile of the observed scores under the first weights file."""
        return self.plans[0].profile()

    def measure(
        self, draws: ReplicateDraws, sources: Sequence[str], *, levels: bool = False
    ) -> list[xr.Dataset]:
        """Return the profile of every draw over (chain, draw, ...), one for each weights file.

        With ``levels`` it has the variables of :func:`tail_levels` and :func:`share_levels` too.
        """

        def profile_plan(plan: ProfilePlan, weights: xr.DataArray | None) -> xr.Dataset:
            profile = plan.complete_profile(weights)
            if not levels:
                return profile
            return profile.assign(tail_levels(plan, weights)).assign(share_levels(plan, weights))

        def profile_block(block: Block) -> list[xr.Dataset]:
            weights = block.population_weights(self.unit_labels, "prompt", sources)
            tables = zip(self.plans, self.tables(block, sources), strict=True)
            profiles = [profile_plan(replace(plan, table=table), weights) for plan, table in tables]
            return [profile.reset_coords(drop=True) for profile in profiles]

        return measure_draws(draws.replicated_for(sources, self.unit_count), profile_block)

    def quantities(self, metrics: xr.Dataset) -> dict[str, Floats]:
        """Return the CVaR of every model, by name, over (draw)."""
        cvar = metrics["cvar"]
        return {
            f"CVaR[{name}]": cvar.sel(model=name).to_numpy() for name in cvar["model"].to_numpy()
        }

    def tables(self, block: Block, sources: Sequence[str]) -> list[xr.Dataset]:
        """Return harm and risk of each prompt in all replicates of every draw, for each plan."""
        tables = self._tabulate(block, sources)
        number = block.draws.n_replicates
        # No metric of a draw needs these, and they are the largest.
        return [pool_replicates(table.drop_vars(UNUSED), number, "prompt") for table in tables]

    def _tabulate(self, block: Block, sources: Sequence[str]) -> list[xr.Dataset]:
        """Return the panel of every replicate of every draw, for each plan."""
        return tabulate_replicates(self.plans, self.positions.fill(block.replicates(sources)))

    def unit_tables(self, block: Block) -> list[xr.Dataset]:
        """Return the variable of each prompt that the criterion of each plan depends on."""
        # Several replicates are those of a population of prompts.
        sources = ["ratings"] if block.draws.n_replicates == 1 else ["ratings", "prompts"]
        number = block.draws.n_replicates
        return [
            pool_replicates(table[[_criterion_variable(plan)]], number, "prompt")
            for plan, table in zip(self.plans, self._tabulate(block, sources), strict=True)
        ]

    def criteria(
        self, tables: Sequence[xr.Dataset], weights: xr.DataArray | None
    ) -> list[xr.DataArray]:
        """Return the criterion of each plan from its table of prompts and their weights."""
        pairs = zip(self.plans, tables, strict=True)
        return [profile_criterion(plan, table, weights) for plan, table in pairs]

    def pooled_criteria(
        self, tables: Sequence[xr.Dataset], shifts: Sequence[Index], weights: xr.DataArray
    ) -> list[xr.DataArray]:
        """Return the criterion of each plan, of studies of several draws together.

        Draws at each of the shifts are pooled, with weights over (draw, shift, prompt); a prompt
        has one weight in all replicates.
        """
        pooled = [
            concatenate_units([table.isel(draw=shift) for shift in shifts], "prompt")
            for table in tables
        ]
        prompts = weights.transpose("draw", "shift", "prompt").to_numpy()[:, :, None]
        number = pooled[0].sizes["prompt"] // prompts[0].size
        repeated = prompts.repeat(number, axis=2).reshape(len(prompts), -1)
        return self.criteria(pooled, xr.DataArray(repeated, dims=("draw", "prompt")))

    def member_criteria(self, block: Block, times: int) -> list[xr.DataArray]:
        """Return the criterion of each plan, with that many times as many new judges."""
        panels = []
        for copy in range(times):
            scores = self.positions.fill(block.ratings(["ratings", "judges"], copy=copy))
            names = [f"{label} {copy}" for label in scores["judge"].to_numpy()]
            panels.append(scores.assign_coords(judge=names))
        return self.criteria(tabulate_replicates(self.plans, xr.concat(panels, "judge")), None)


def profile_criterion(
    plan: ProfilePlan, table: xr.Dataset, weights: xr.DataArray | None
) -> xr.DataArray:
    """Return the criterion that models are selected by, and nothing else of the profile.

    It equals :func:`sharpbayes.posterior.decision.criterion` of the plan's profile. The table has
    ``log_risk`` or ``harm`` over (draw, model, prompt[, dimension]).
    """
    by, tail = plan.weights.decision.by, plan.weights.tail
    replicated = replace(plan, table=table)  # a larger study may have more answers to a prompt
    target, dim = replicated.target_weights(weights), replicated.dim
    values = table[_criterion_variable(plan)]
    if by == "policy_score":
        return policy_score(weighted_mean(values, dim=dim, weights=target), plan.policy)
    cvar = conditional_value_at_risk(
        values, alpha=tail.alpha, estimator=tail.estimator, dim=dim, weights=target
    )
    return cvar if by == "cvar" else cvar.max("dimension", skipna=False)


def _criterion_variable(plan: ProfilePlan) -> str:
    """Name of the variable of each prompt that the criterion depends on."""
    return "log_risk" if plan.weights.decision.by == "cvar" else "harm"

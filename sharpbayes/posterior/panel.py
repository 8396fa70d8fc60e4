"""Posterior twins of a panel: replicated levels where the observed ones lie, and their profile."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.panel import ProfilePlan, build_profile_plan, tabulate_replicates
from sharpbayes.bayes.design.design import Design
from sharpbayes.data.panel import list_pooled_judges
from sharpbayes.data.ratings import Ratings
from sharpbayes.posterior.replicates import (
    Block,
    Draws,
    Floats,
    Levels,
    draws_of,
    measured_draws,
    texts_of,
    together,
)
from sharpbayes.spec.files import StudyFiles
from sharpbayes.spec.panel import Panel


@dataclass(frozen=True)
class Cells:
    """Where the ratings of each scale lie among the observed levels of a panel.

    Attributes:
        levels: Observed levels over (indicator, ...) of the pooled judges.
        position: For each scale the place of the judges' ratings among the levels, flat; ratings
            by people stand below them.
        top: For each scale its highest level where a rating counts from the other end, else -1.
    """

    levels: xr.Dataset
    position: dict[str, NDArray[np.intp]]
    top: dict[str, int]

    @property
    def units(self) -> int:
        """Number of prompts of all models."""
        return self.levels.sizes["model"] * self.levels.sizes["prompt"]

    def replicated(self, replicates: Levels) -> xr.Dataset:
        """Return levels over (draw, indicator, ...): replicated ones where there is a rating."""
        observed = self.levels["score"]
        draws = len(next(iter(replicates.values())))
        found = np.tile(observed.to_numpy().ravel(), (draws, 1))
        for scale, values in replicates.items():
            top = self.top[scale]
            place = self.position[scale]
            judged = values[:, : len(place)]
            found[:, place] = judged if top < 0 else top - judged
        whole = found.reshape(draws, *observed.shape)
        held = self.levels.drop_vars("score")
        return held.assign(score=(("draw", *observed.dims), whole))


def panel_cells(levels: xr.Dataset, ratings: Ratings, panel: Panel) -> Cells:
    """Return where the ratings of a panel lie.

    Args:
        levels: Observed levels, from :func:`sharpbayes.data.panel_ratings.PanelRatings.to_dataset`.
        ratings: The same in long form, from :func:`sharpbayes.data.panel.melt_panel`.
        panel: The panel of the study.
    """
    judges = list_pooled_judges(panel, [str(name) for name in levels["judge"].to_numpy()])
    kept = levels.sel(judge=judges).transpose("indicator", ...)
    array = kept["score"]
    judged = ratings.factors["judge"].codes >= 0
    codes = []
    for dim in array.dims:
        column, labels = ratings.factors[str(dim)], array[dim].to_numpy().astype(str).tolist()
        place = np.array([labels.index(label) for label in column.labels])
        codes.append(place[column.codes[judged]])
    flat = np.ravel_multi_index(codes, array.shape)
    scale = ratings.factors["scale"]
    position, top = {}, {}
    for code, name in enumerate(scale.labels):
        rows = np.flatnonzero(scale.codes[judged] == code)
        if rows.size:
            position[name] = flat[rows]
            top[name] = -1 if name in panel.scales else len(ratings.scales[name]) - 1
    return Cells(kept, position, top)


def panel_twins(
    plans: Sequence[ProfilePlan], cells: Cells, draws: Draws, sources: Sequence[str]
) -> list[xr.Dataset]:
    """Return the profile of every draw under several weights, over (chain, draw, ...).

    Args:
        plans: Of the observed levels, one for each weights file.
        cells: Where ratings lie.
        draws: Replicated ratings.
        sources: What varies from draw to draw.
    """
    prompts = cells.levels["prompt"]
    draws = draws.about(sources, cells.units)

    def statistic(block: Block) -> list[xr.Dataset]:
        weights = block.population_weights(prompts, "prompt", sources)
        return [
            _bare(replace(plan, table=table).profile(weights))
            for plan, table in zip(plans, made_tables(plans, cells, block, sources), strict=True)
        ]

    return measured_draws(draws, statistic)


def made_tables(
    plans: Sequence[ProfilePlan], cells: Cells, block: Block, sources: Sequence[str]
) -> list[xr.Dataset]:
    """Return what is known of each prompt in all makings of every draw, for each plan."""
    made = tabulate_replicates(plans, cells.replicated(block.makings(sources)))
    return [together(each, block.draws.makings, "prompt") for each in made]


def _bare(profile: xr.Dataset) -> xr.Dataset:
    """Labels of dimensions alone."""
    return profile.drop_vars([name for name in profile.coords if name not in profile.dims])


def panel_metrics(
    files: StudyFiles, levels: xr.Dataset, ratings: Ratings, design: Design
) -> Callable[[Levels], dict[str, Floats]]:
    """Return what gives the CVaR of every model from levels of each scale, by name.

    Args:
        files: A study of a panel.
        levels: Its observed levels.
        ratings: The same in long form.
        design: Its design.
    """
    panel = files.study.spec.panel
    assert panel is not None  # noqa: S101 - the caller looked
    plan, cells = build_profile_plan(files, levels), panel_cells(levels, ratings, panel)

    def of_levels(made: Levels) -> dict[str, Floats]:
        [twin] = panel_twins([plan], cells, draws_of(made, design), ["ratings"])
        cvar = twin["cvar"].isel(chain=0)
        return {
            f"CVaR[{name}]": cvar.sel(model=name).to_numpy() for name in texts_of(cvar["model"])
        }

    return of_levels

"""Which scores of a panel were asked for, and harm and risk by other scores than those."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.indicators import define_sub_indices
from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.metrics.panel.evidence import FEW_SHARED
from sharpbayes.metrics.panel.risk import panel
from sharpbayes.metrics.panel.sub_index import sub_indices

# A judge who has rows for this share of the answers of a model was to score all of them.
ALMOST_ALL = 0.9
# So was a model that has this share of the prompts, where another one has nearly all.
MOST = 0.8


def asked_scores(plan: ProfilePlan) -> xr.DataArray:
    """Return which sub-indices were asked for: those that the rows in the data would give.

    So were those of an answer without any row of a model that has nearly all prompts of the others,
    or most of them where another model has nearly all. A crash or a refusal leaves no row, and a
    model of other prompts lacks many; where prompts are shared out, all models do. So were those
    of an answer that other judges scored, by a judge with rows for nearly all answers of the model,
    and by every judge where ``judges.missing`` leaves out answers that not all of them scored.
    """
    sub_index, unasked = plan.table["sub_index"], plan.study.data.unasked
    if unasked is None:
        return xr.ones_like(sub_index, dtype=bool)
    asked = _rows_asked(plan, unasked)
    answered = asked.any([dim for dim in asked.dims if dim not in ("model", "prompt")])
    share = answered.mean("prompt")
    least = MOST if float(share.max()) >= FEW_SHARED else FEW_SHARED
    is_lost = ~answered & (share >= least) & (share < 1.0)
    return asked | (is_lost & asked.any("model")) | _rows_lacked(plan, asked)


def _rows_lacked(plan: ProfilePlan, asked: xr.DataArray) -> xr.DataArray:
    """Which sub-indices of answers that other judges scored a judge was to score, without a row."""
    cells = [dim for dim in asked.dims if dim not in ("model", "judge", "dimension")]
    answered = asked.any("judge")
    if plan.weights.judges.missing == "available":
        answered = answered & (asked.sum(cells) >= ALMOST_ALL * answered.sum(cells))
    return answered & ~asked


def _rows_asked(plan: ProfilePlan, unasked: NDArray[np.bool_]) -> xr.DataArray:
    """Return which sub-indices rows in the data would give."""
    sub_index = plan.table["sub_index"]
    scores = plan.study.scores["score"]
    is_unasked = xr.DataArray(unasked, scores.coords, scores.dims).sel(judge=sub_index["judge"])
    if "trial" in is_unasked.dims:
        is_unasked = is_unasked.all("trial")
    definitions = define_sub_indices(plan.study.panel, plan.weights)
    complete = xr.zeros_like(is_unasked, dtype=float).where(~is_unasked)
    scored = sub_indices(complete, definitions, missing=plan.weights.indicators.missing)
    asked: xr.DataArray = scored.notnull().transpose(*sub_index.dims)
    return asked.drop_vars(set(asked.coords) - set(sub_index.coords))


def tabulate_harm(plan: ProfilePlan, sub_index: xr.DataArray) -> xr.Dataset:
    """Return harm and risk of every answer by other sub-indices."""
    weights = plan.weights
    return panel(
        sub_index,
        temperature=weights.judges.temperature,
        epsilon=weights.risk.epsilon,
        judges_missing="available",
    )

"""The worst prompts of each model: what drove their harm, which judges said so, and their text."""

import numpy as np
import xarray as xr

from sharpbayes.analysis.indicators import normalise_scores
from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.metrics.stats.labels import without_attributes

# Prompts of a model that are kept, the worst first.
MAX_PROMPTS = 5
ANSWERS = ("sample",)


def worst_prompts(plan: ProfilePlan) -> xr.Dataset:
    """Return the prompts of highest log-risk of each model, over (model, rank) from 1.

    ``prompt``, ``log_risk`` (nat), ``dimension`` (the one with the largest part of log-risk),
    ``share`` (that part, in [0, 1]), ``indicator`` (of that dimension, the one with the highest
    mean over judges), ``level`` (that mean, normalised to [0, 1]), ``sub_index (model, rank,
    judge)`` of that dimension, and ``text`` where the study names a column of texts. Repeated
    answers are averaged. A prompt without log-risk has an empty name.
    """
    table = plan.table.reset_coords(drop=True)
    answers = [dim for dim in ANSWERS if dim in table.dims]
    means = table[["log_risk", "log_risk_part", "sub_index"]].mean(answers, skipna=True)
    rows = [_rank_prompts(plan, means.sel(model=model)) for model in table["model"].to_numpy()]
    return xr.concat(rows, "model", coords="minimal").pipe(without_attributes)


def _rank_prompts(plan: ProfilePlan, means: xr.Dataset) -> xr.Dataset:
    """The worst prompts of one model."""
    risk = means["log_risk"].to_numpy()
    order = np.argsort(-np.nan_to_num(risk, nan=-np.inf), kind="stable")[:MAX_PROMPTS]
    worst = means.isel(prompt=order)
    part = worst["log_risk_part"].transpose("prompt", "dimension")
    place = part.fillna(-np.inf).argmax("dimension")
    known = np.isfinite(risk[order])
    dimension = part["dimension"].to_numpy()[place.to_numpy()]
    indicator, level = _highest_indicators(plan, worst, dimension)
    names = {
        "prompt": worst["prompt"].to_numpy(),
        "dimension": dimension,
        "indicator": indicator,
    }
    if plan.study.data.prompt_text.size:
        names["text"] = plan.study.data.prompt_text[order]
    texts = {name: ("rank", np.where(known, values, "")) for name, values in names.items()}
    driver = worst.isel(dimension=place).drop_vars(["prompt", "dimension"]).rename(prompt="rank")
    numbers = {
        "log_risk": driver["log_risk"],
        "share": driver["log_risk_part"] / driver["log_risk"],
        "level": ("rank", level),
        "sub_index": driver["sub_index"].transpose("rank", "judge"),
    }
    return xr.Dataset(texts | numbers, {"rank": np.arange(1, len(order) + 1)})


def _highest_indicators(
    plan: ProfilePlan, worst: xr.Dataset, dimension: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of each prompt the indicator of a dimension with the highest mean over judges, and it."""
    judges, model = worst["judge"].to_numpy(), [worst["model"].item()]
    chosen = {"judge": judges, "prompt": worst["prompt"].to_numpy(), "model": model}
    values = normalise_scores(plan.study.panel, plan.study.scores.sel(chosen))
    over = [dim for dim in values.dims if dim not in {"prompt", "indicator"}]
    mean = values.mean(over).transpose("prompt", "indicator").to_numpy()
    members = {spec.name: set(spec.indicators) for spec in plan.study.panel.dimensions}
    names = values["indicator"].to_numpy()
    inside = np.array([[name in members[of] for name in names] for of in dimension])
    level = np.where(inside & ~np.isnan(mean), mean, -np.inf)
    place = level.argmax(axis=1)
    return names[place], np.take_along_axis(mean, place[:, None], axis=1)[:, 0]

"""Variance of the judges' sub-indices by model, prompt, answer, judge and trial."""

import xarray as xr

from sharpbayes.analysis.profile_plan import ProfilePlan, tabulate_trials
from sharpbayes.errors import format_percent
from sharpbayes.metrics.panel.variance_components import share_of_variance, variance_components
from sharpbayes.metrics.stats.intervals import jackknife_interval
from sharpbayes.metrics.stats.resampling import block_size, jackknife

NOTE = (
    "Of the sub-indices of single judgements. {level} intervals by the jackknife over "
    "prompts: these models and judges, other prompts like these."
)


def variance_group(plan: ProfilePlan) -> dict[str, xr.Dataset]:
    """Return the group ``variance_components`` of a panel with repeated answers or judgements.

    ``variance`` and ``variance_share`` over (dimension, component), by
    :func:`sharpbayes.metrics.panel.variance_components.variance_components`, and
    ``variance_interval`` with a last dim ``bound``.
    """
    scores = plan.study.scores
    if {"sample", "trial"}.isdisjoint(scores.dims):
        return {}
    x, level = tabulate_trials(plan), plan.study.spec.bootstrap.level
    left_out = jackknife(
        lambda kept: xr.Dataset({"variance": variance_components(x, weights=kept)}),
        x["prompt"],
        dim="prompt",
        block=block_size(x.size),
    )
    variance = variance_components(x)
    interval = jackknife_interval(variance, left_out["variance"], level=level)
    group = {
        "variance": variance,
        "variance_interval": interval.clip(min=0.0),
        "variance_share": share_of_variance(variance),
    }
    judged = x.notnull().any([dim for dim in x.dims if dim not in ("prompt", "judge")])
    facts = {"prompts": int(judged.any("judge").sum()), "judges": int(judged.any("prompt").sum())}
    note = NOTE.format(level=format_percent(level))
    return {"variance_components": xr.Dataset(group).assign_attrs(facts, note=note, level=level)}

"""Remarks on tails: prompts that tie at their edge, and prompts at the end of the scale."""

from collections.abc import Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.limited_metrics import split_label
from sharpbayes.analysis.tail_evidence import is_wide
from sharpbayes.analysis.unseen_order import rise_by_ends
from sharpbayes.errors import format_count, format_percent, join_names
from sharpbayes.metrics.panel.evidence import has_tail


def describe_ties(evidence: xr.Dataset, *, cvar: str, prompts: NDArray[np.int64]) -> str:
    """Return which CVaRs are of many more prompts than their level says, which tie at VaR."""
    level, wide = 1 - evidence.attrs["alpha"], is_wide(evidence)
    # Of repeated answers each counts as its share of a prompt; of a target population by weight.
    size = evidence["tail_mass"] * prompts
    largest = int(evidence["tail_mass"].where(wide, 0.0).to_numpy().argmax())
    model = evidence["model"][largest].item()
    count, total = round(float(size[largest])), round(float(prompts[largest]))
    part = f"{count} of {total} prompts ({count / total:.0%})"
    if evidence.attrs.get("weighted"):
        part = f"{float(evidence['tail_mass'][largest]):.0%} of the target population"
    names = [name for name in evidence["model"].to_numpy()[wide] if name != model]
    others = f" The same holds of {join_names(names)}." if names else ""
    return (
        f"Prompts tie at the edge of the tail: {cvar} of {model} is the mean of {part}, not of "
        f"the worst {100 * level:.3g}%.{others} "
        'With `tail.estimator = "rockafellar-uryasev"` in the weights it is that of the worst '
        f"{100 * level:.3g}%."
    )


def describe_saturation(evidence: xr.Dataset, *, cvar: str) -> Iterator[str]:
    """Yield which tails lie at the end of the scale; the example is what epsilon moves most."""
    saturated = evidence.isel(model=_saturated_only(evidence))
    if not saturated.sizes["model"]:
        return
    swept = saturated["epsilon_cvar"].transpose("epsilon", "model")
    spread = (swept.max("epsilon") - swept.min("epsilon")).to_numpy()
    worst = saturated.isel(model=int(spread.argmax()))
    model, count = worst["model"].item(), int(worst["saturated_tail"])
    size = int(worst["tail_size"])
    large, small = (
        f"{float(worst['epsilon_cvar'][end]):.1f} with an epsilon of "
        f"{float(worst['epsilon'][end]):g}"
        for end in (-1, 0)
    )
    # A tail consists of prompts, or of answers where there are several to a prompt.
    unit = evidence.attrs.get("tail_unit", "prompt")
    subject = f"Of the {format_count(size, f'tail {unit}')} of {model}, {count}"
    if count == size:
        tail = f"The tail {unit}" if size == 1 else f"All {size} tail {unit}s"
        subject = f"{tail} of {model}"
    sentence = (
        f"{subject} {'is' if count == 1 else 'are'} at the end of the scale, where epsilon decides "
        f"and not the ratings: its {cvar} is {large}, {small}. Read it beside the "
        f"policy score, {float(worst['policy_score']):.3f}."
    )
    others = saturated.sel(model=saturated["model"] != model)
    if others.sizes["model"]:
        sentence += f" Tails of {_count_saturated(others)} have such {unit}s too."
    yield sentence


def describe_unseen_ends(evidence: xr.Dataset, *, cvar: str) -> Iterator[str]:
    """Yield which intervals know of no answer at the end of the scale that prompts can miss.

    Left out are models whose interval reaches as far, and whose tail is told to say little.
    """
    reach = evidence["cvar_interval"].sel(bound="upper") - evidence["cvar"]
    can_miss = (evidence["unseen_end_rise"] > reach) & has_tail(evidence["tail_prompts"])
    unseen = evidence.isel(model=(can_miss & ~evidence["flat_tail"]).to_numpy())
    if not unseen.sizes["model"]:
        return
    names = unseen["model"].to_numpy().tolist()
    clause = "its interval takes" if len(names) == 1 else "their intervals take"
    share, rise = (float(unseen[f"unseen_end_{name}"].max()) for name in ("share", "rise"))
    of_mean = rise_by_ends(unseen, "mean", share)
    yield (
        f"No answer of {join_names(names)} is at the end of the scale, and {clause} for granted "
        f"that there is none. So many prompts can show none even if up to {share:.1%} of all have "
        f"one (at {format_percent(evidence.attrs['level'])} confidence): {cvar} would then be "
        f"higher by up to {rise:.1f}, the mean log-risk by up to {of_mean:.1f}."
    )


def describe_unsupported_limits(tolerance: xr.Dataset) -> Iterator[str]:
    """Yield which categories and dimensions have a limit on a tail that their prompts do not tell.

    Prompts of a category may be too few. In a dimension prompts tie at the edge of the tail.
    """
    unsupported: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for label in map(str, tolerance["threshold"].to_numpy()):
        is_told = tolerance["tells_tail"].sel(threshold=label).to_numpy()
        kind, name = split_label(label)
        models = tuple(map(str, tolerance["model"].to_numpy()[~is_told]))
        if models:
            unsupported.setdefault((kind, models), []).append(name)
    for (kind, models), names in unsupported.items():
        is_every = len(models) == tolerance.sizes["model"]
        of_models = "" if is_every else f" of {join_names(models)}"
        its, limit = ("its", "its limit is") if len(names) == 1 else ("their", "their limits are")
        tail = f"{its} tail{'s' * (len(names) > 1)}"
        start = f"The prompts of {join_names(names)} do not tell {tail}{of_models}"
        if kind == "dimension":
            start = (
                f"Prompts tie at the edge of the tail of harm, {join_names(names)}{of_models}, so "
                "that its CVaR is the mean of many more than the worst"
            )
        yield f"{start}: {limit} not called kept{' there' * (not is_every)}."


def _count_saturated(evidence: xr.Dataset) -> str:
    """Models, each with how many of its tail are at the end of the scale."""
    counts = evidence[["saturated_tail", "tail_size"]].to_dataframe()
    return join_names(
        [f"{row.Index} ({row.saturated_tail} of {row.tail_size})" for row in counts.itertuples()]
    )


def _saturated_only(evidence: xr.Dataset) -> NDArray[np.intp]:
    """Positions of models with a saturated tail that is not at its ceiling."""
    return np.flatnonzero(evidence["needs_policy_score"] & ~evidence["at_ceiling"])

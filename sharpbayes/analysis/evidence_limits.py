"""What the evidence of a study cannot carry, in sentences, and which statements it carries."""

import json
from collections.abc import Iterator, Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.order_limits import (
    depends_on_lost_answers,
    depends_on_prompts,
    describe_means,
    describe_order,
    describe_reversed_pairs,
    first_lowest,
    has_order_of_means,
    have_means,
    name_cvar,
)
from sharpbayes.analysis.prompt_counts import describe_tail, is_repeated, read_prompts
from sharpbayes.analysis.tail_evidence import is_flat, is_low, is_wide, lacks_tail
from sharpbayes.analysis.tail_remarks import (
    describe_saturation,
    describe_ties,
    describe_unseen_ends,
)
from sharpbayes.analysis.unequal_judges import is_judged_unequally, name_unequal_judges
from sharpbayes.errors import format_count, format_percent, join_names
from sharpbayes.metrics.panel.evidence import FEW_SHARED, has_tail
from sharpbayes.metrics.panel.least_numbers import MIN_PROMPTS, MIN_TAIL, ROUNDING
from sharpbayes.metrics.panel.profile import HEADLINE
from sharpbayes.metrics.stats.overlap import union_size
from sharpbayes.metrics.stats.ranks import is_lowest

# From this many prompts in the tail on, intervals of CVaR hold the truth in 95% and more of the
# studies of six worlds; a lower alpha is suggested that leaves twice as many.
GOOD_TAIL = 2 * MIN_TAIL
# Half of the prompts are no tail.
MIN_ALPHA = 0.5
# What the limits are about.
PAIRS = [
    "shared_prompts",
    "cvar_difference_observed",
    *(f"{name}_difference_joint" for name in HEADLINE),
]


def state_limits(
    evidence: xr.Dataset,
    profile: xr.Dataset,
    *,
    limits_tails: bool = True,
    remarks: Sequence[str] = (),
) -> dict[str, str]:
    """Return ``limits``, ``remarks`` and ``carried`` of a panel's evidence, JSON lists of texts.

    ``limits`` are sentences, each what cannot be said and what could be said instead; ``remarks``
    are those of them that leave every statement standing. ``carried``
    are the statements that the evidence carries, out of ``lowest`` (one model has the lowest CVaR),
    ``distinguishable`` and ``admissible``. Models without a CVaR are left out. ``limits_tails`` is
    whether the tolerance has a limit of a tail; one of means alone needs prompts, not a tail.
    Given ``remarks`` come last.
    """
    known = profile["cvar"].notnull().to_numpy()
    admissible = profile.get("admissible", xr.ones_like(profile["cvar"], dtype=bool))
    names = [*HEADLINE, *PAIRS, "cvar_interval"]
    chosen = profile[names].assign(admissible=admissible).isel(model=known, other=known)
    evidence = evidence.isel(model=known, other=known).assign(chosen)
    if not evidence.sizes["model"]:
        return {"limits": "[]", "remarks": "[]", "carried": "[]"}
    short_tails = list(_few_prompts(evidence))
    lowest = [*describe_order(evidence), *name_unequal_judges(evidence)]
    low = [] if short_tails else [*_low_coverage(evidence)]
    narrow = [*low, *_wide_tail(evidence, alone=not (short_tails or low))]
    narrow += [] if short_tails else _flat_tail(evidence)
    means = describe_means(evidence) if short_tails or narrow else []
    limits = [*short_tails, *narrow, *means, *lowest]
    remarks = [
        *describe_saturation(evidence, cvar=name_cvar(evidence)),
        *describe_unseen_ends(evidence, cvar=name_cvar(evidence)),
        *(*_one_judge(evidence), *_other_prompts(evidence), *describe_reversed_pairs(evidence)),
        *remarks,
    ]
    carried = _carried(evidence, top=not lowest, limits_tails=limits_tails)
    texts = {"limits": [*limits, *remarks], "remarks": remarks, "carried": carried}
    return {name: json.dumps(value) for name, value in texts.items()}


def _carried(evidence: xr.Dataset, *, top: bool, limits_tails: bool) -> list[str]:
    """Statements that the evidence carries; ``top`` is whether one model alone is the lowest.

    An interval that misses lies too low. Of two models only the lower one must have a good one.
    """
    are_enough = bool(has_tail(evidence["tail_prompts"]).all())
    low = lacks_tail(evidence)
    tells_lowest = are_enough and not low[first_lowest(evidence)]
    tells_kept = are_enough and not (low & evidence["admissible"].to_numpy()).any()
    is_open = is_judged_unequally(evidence) or depends_on_lost_answers(evidence, "cvar")
    statements = {
        "lowest": top and tells_lowest,
        "distinguishable": tells_lowest and not is_open,
        "admissible": tells_kept if limits_tails else have_means(evidence),
    }
    return [name for name, holds in statements.items() if holds]


def _few_prompts(evidence: xr.Dataset) -> Iterator[str]:
    """Too few prompts in the tail."""
    tail, alpha = evidence["tail_prompts"], evidence.attrs["alpha"]
    is_short = ~has_tail(tail).to_numpy()
    if is_short.any():
        prompts = _fewest_prompts(evidence)
        lowest = is_lowest(evidence["cvar"], "model").to_numpy()
        models = "" if is_short.all() else f" ({_list_models(evidence, is_short)})"
        yield (
            f"With {format_count(prompts, 'prompt')}{models} the {100 * (1 - alpha):.3g}% tail "
            f"holds {describe_tail(evidence, alpha=alpha)}: this study {_unknown(evidence)}. "
            f"{_instead(evidence, lowest)}"
        )


def _unknown(evidence: xr.Dataset) -> str:
    """What a study cannot tell by its tails."""
    if evidence.sizes["model"] == 1:
        return f"says little about {name_cvar(evidence)}"
    return f"cannot tell which model has the lowest {name_cvar(evidence)}"


def _low_coverage(evidence: xr.Dataset) -> Iterator[str]:
    """Intervals that hold the truth too seldom, in studies like this one."""
    coverage, low = evidence["expected_coverage"], is_low(evidence)
    if low.any():
        level = format_percent(evidence.attrs["level"])
        fewest = "as few as " if low.sum() > 1 else ""
        # An interval that misses lies too low: that of the lowest model decides which one is.
        start = f"This study {_unknown(evidence)}. " if low[first_lowest(evidence)] else ""
        yield (
            f"{start}In studies simulated from this one, {level} intervals of "
            f"{name_cvar(evidence)} hold the truth in {fewest}{float(coverage.min()):.0%}, for "
            f"{_list_models(evidence, low)}. Those that miss lie too low"
            f"{_reach_ceiling(evidence, low)}. {_instead(evidence, low)}"
        )


def _reach_ceiling(evidence: xr.Dataset, low: NDArray[np.bool_]) -> str:
    """Which of some intervals end at the ceiling, so that no truth lies above; empty if none."""
    upper = evidence["cvar_interval"].sel(bound="upper")
    at_end = low & (upper >= evidence["ceiling"] * (1 - ROUNDING)).to_numpy()
    if not at_end.any():
        return ""
    reach = "that of {} reaches" if at_end.sum() == 1 else "those of {} reach"
    return f"; {reach.format(_list_models(evidence, at_end))} the ceiling, and cannot"


def has_narrow_tails(evidence: xr.Dataset) -> bool:
    """Return whether intervals of CVaR are known to be too narrow for a model: a limit says so."""
    is_short = not has_tail(evidence["tail_prompts"]).all()
    if is_short or "expected_coverage" not in evidence:
        return is_short
    return bool(lacks_tail(evidence).any())


def _flat_tail(evidence: xr.Dataset) -> Iterator[str]:
    """Intervals that have no width."""
    flat = is_flat(evidence)
    if flat.any():
        yield (
            f"All tail prompts have the same log-risk for {_list_models(evidence, flat)}: no "
            "resample is higher, so that the bootstrap says nothing of rarer, worse prompts. "
            f"{_instead(evidence, flat)}"
        )


def _wide_tail(evidence: xr.Dataset, *, alone: bool) -> Iterator[str]:
    """CVaRs of many more prompts than the worst; what else could be said where nothing says so."""
    wide, lowest = is_wide(evidence), first_lowest(evidence)
    if wide.any():
        is_said = not has_tail(evidence["tail_prompts"]).all() or is_low(evidence)[lowest]
        start = f"This study {_unknown(evidence)}. " if wide[lowest] and not is_said else ""
        ties = describe_ties(evidence, cvar=name_cvar(evidence), prompts=_count_prompts(evidence))
        yield f"{start}{ties}{f' {_instead(evidence, wide)}' * alone}"


def _instead(evidence: xr.Dataset, models: NDArray[np.bool_]) -> str:
    """What could be said with these prompts, and how many would do.

    Another alpha helps where the tail of one of some models would have more than one value.
    """
    prompts, alpha = _fewest_prompts(evidence), evidence.attrs["alpha"]
    lower = np.floor(100 * (1 - GOOD_TAIL / max(prompts, 1)) + ROUNDING) / 100
    carrying = evidence["tail_prompts"].to_numpy() / np.maximum(_count_prompts(evidence), 1)
    enough = int(np.ceil(MIN_TAIL / carrying.min() - ROUNDING))
    at_least = "at least " if is_repeated(evidence, alpha=alpha) else ""
    parts = []
    # Where prompts of a category carry most of the weight, a longer tail has fewer than ten.
    counts_alike = carrying.min() >= 1.0 - alpha - ROUNDING
    # With ties at VaR it would have as many values, and more prompts.
    has_more = (evidence["top_share"].to_numpy() < 1 - lower - ROUNDING) & ~is_wide(evidence)
    varies = bool(has_more[models].any())
    if MIN_ALPHA <= lower < alpha and varies and counts_alike:
        parts.append(f"an alpha of {lower:g} would leave {at_least}ten prompts in the tail")
    if prompts < enough:
        parts.append(f"{enough} prompts would leave five at {alpha:g}")
    can_be, carried = "compared", "comparison of means"
    if evidence.sizes["model"] == 1:
        can_be, carried = "read", "mean"
    metric = "mean" if has_order_of_means(evidence) else "policy_score"
    if prompts < MIN_PROMPTS:
        parts.append(f"fewer than {MIN_PROMPTS} prompts carry no {carried} either")
    elif not have_means(evidence):
        number = float(evidence["effective_prompts"].min())
        clusters = evidence.attrs.get("clusters")
        under, units = ("", " clusters") if clusters else ("under the weights ", "")
        parts.append(
            f"{under}the prompts say as much about means as {number:.1f}{units} that count alike, "
            f"and fewer than {MIN_PROMPTS} carry no {carried} either"
        )
    elif not (
        is_judged_unequally(evidence)
        or depends_on_prompts(evidence, metric)
        or depends_on_lost_answers(evidence, metric)
    ):
        parts.append(f"the {metric.replace('_', ' ')} can be {can_be}")
    text = "; ".join(parts or ["models cannot be compared"])
    return f"{text[0].upper()}{text[1:]}."


def _other_prompts(evidence: xr.Dataset) -> Iterator[str]:
    """Models that do not share all of their prompts."""
    prompts = evidence["cvar"].copy(data=_count_prompts(evidence))
    either = union_size(evidence["shared_prompts"], prompts).transpose("model", "other")
    shared, of_either = evidence["shared_prompts"].to_numpy(), either.to_numpy()
    share = shared / np.maximum(of_either, 1.0)
    np.fill_diagonal(share, 1.0)  # no pair
    if share.min() < FEW_SHARED:
        pair = np.unravel_index(share.argmin(), share.shape)
        names = [evidence["model"][position].item() for position in pair]
        yield (
            f"Models do not have the same prompts: {join_names(names)} share {int(shared[pair])} "
            f"of {round(float(of_either[pair]))}. The bootstrap compares two models on the "
            f"prompts of both, or on all of each where they share fewer than {MIN_PROMPTS}."
        )


def _one_judge(evidence: xr.Dataset) -> Iterator[str]:
    """A single judge."""
    if evidence.attrs["judges"] == 1:
        yield "There is one judge only: nothing shows how far the numbers depend on it."


def _list_models(evidence: xr.Dataset, where: NDArray[np.bool_]) -> str:
    """Some of the models, as a sentence lists them."""
    return join_names(evidence["model"].to_numpy()[where].tolist())


def _fewest_prompts(evidence: xr.Dataset) -> int:
    """Number of prompts of the model that has the fewest."""
    return int(_count_prompts(evidence).min())


def _count_prompts(evidence: xr.Dataset) -> NDArray[np.int64]:
    """Number of prompts of every model."""
    return read_prompts(evidence, alpha=float(evidence.attrs["alpha"]))

"""Why the evidence of a panel does not order its models, by tails or by means."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb

import numpy as np
import xarray as xr

from sharpbayes.analysis.epsilon_order import list_by_epsilon, lowest_by_epsilon
from sharpbayes.analysis.lost_order import find_models_not_below
from sharpbayes.analysis.prompt_counts import has_mean
from sharpbayes.analysis.unequal_judges import is_judged_unequally
from sharpbayes.analysis.unseen_order import describe_near, near_lowest
from sharpbayes.errors import format_count, format_list, join_names
from sharpbayes.metrics.panel.comparison import lower_on_shared_prompts
from sharpbayes.metrics.stats.ranks import is_lowest

# More pairs of models than these are counted and not named.
MAX_PAIRS = 3


def describe_order(evidence: xr.Dataset) -> Iterator[str]:
    """Yield why no one model has the lowest tail risk, but for too few prompts."""
    yield from _ceiling(evidence)
    yield from _ties(evidence)
    yield from _order_by_epsilon(evidence)
    yield from _order_by_prompts(evidence)
    yield from _order_by_lost_answers(evidence)


def _ceiling(evidence: xr.Dataset) -> Iterator[str]:
    """Models whose tail risk is as large as it can be."""
    top = evidence.isel(model=evidence["at_ceiling"].to_numpy())
    top = top.isel(other=evidence["at_ceiling"].to_numpy())
    if top.sizes["model"]:
        yield (
            f"{name_cvar(evidence)} is at its ceiling, {float(top['ceiling'].max()):.2f}, for "
            f"{join_names(top['model'].to_numpy().tolist())}, and {_beyond_ceiling(top)}"
        )


def _beyond_ceiling(top: xr.Dataset) -> str:
    """What policy scores say of models at the ceiling: the order that paired differences show."""
    scores = _policy_scores(top)
    if top.sizes["model"] == 1:
        return f"can rise no further. Read it beside the policy score: {scores}."
    unresolved, pairs = _unresolved_pairs(top), comb(top.sizes["model"], 2)
    resolved = pairs - len(unresolved)
    tell = "can" if resolved == pairs else f"order {resolved} of {format_count(pairs, 'pair')}"
    if 0 < resolved < pairs and len(unresolved) <= MAX_PAIRS:
        tell += f", not {join_names([' with '.join(pair) for pair in unresolved])}"
    if not resolved:
        is_tied = not np.ptp(top["policy_score"].to_numpy())
        tell = "cannot either" if is_tied else "do not distinguish them either"
    return f"cannot order what lies there. Policy scores {tell}: {scores}."


def _unresolved_pairs(evidence: xr.Dataset) -> list[tuple[str, str]]:
    """Pairs of models that policy scores do not order; with few prompts, or other judges, all."""
    low, high = evidence["policy_score_difference_joint"].transpose("bound", "model", "other")
    resolved = ((low > 0) | (high < 0)).to_numpy()
    if not have_means(evidence) or is_judged_unequally(evidence):
        resolved[:] = False
    names = evidence["policy_score"].to_series().sort_values(kind="stable").index
    positions = evidence.get_index("model").get_indexer(names)
    return [
        (names[i], names[j])
        for i, j in combinations(range(len(positions)), 2)
        if not resolved[positions[i], positions[j]]
    ]


def _ties(evidence: xr.Dataset) -> Iterator[str]:
    """Models that share the lowest tail risk."""
    first = first_lowest(evidence)
    tied = evidence["tied"].isel(model=first)
    others = evidence["other"].to_numpy()[tied.to_numpy()]
    if not others.size:
        return
    lowest = evidence["cvar"][first]
    reason = "no one of them is the lowest"
    if bool(evidence["identical"].isel(model=first).sel(other=others).all()):
        reason = "their log-risk is the same on every prompt"
    elif bool(evidence["at_ceiling"][first]):
        return  # that all are at the ceiling is said already
    yield (
        f"{join_names([lowest['model'].item(), *others])} share the lowest {name_cvar(evidence)}, "
        f"{float(lowest):z.3f}: {reason}."
    )


def _order_by_epsilon(evidence: xr.Dataset) -> Iterator[str]:
    """A model of lowest tail risk that another epsilon replaces."""
    if names := lowest_by_epsilon(evidence, "cvar"):
        pair = evidence.sel(model=[*names], other=[*names])
        scores = "distinguish them" if not _unresolved_pairs(pair) else "do not distinguish them"
        yield (
            f"Which model has the lowest {name_cvar(evidence)} depends on epsilon: "
            f"{list_by_epsilon(names)}. Policy scores, which do not depend on it, {scores}: "
            f"{_policy_scores(pair)}."
        )


def has_order_of_means(evidence: xr.Dataset) -> bool:
    """Return whether no other epsilon and no answers nobody saw could change the lowest mean."""
    return not lowest_by_epsilon(evidence, "mean") and not near_lowest(evidence, "mean")[0]


def describe_means(evidence: xr.Dataset) -> Iterator[str]:
    """Yield why there is no order by means, where they could stand for tails."""
    if have_means(evidence) and not is_judged_unequally(evidence):
        yield from _order_by_epsilon_of_means(evidence)
        yield from _order_by_unseen_ends(evidence)


def _order_by_unseen_ends(evidence: xr.Dataset) -> Iterator[str]:
    """A model of lowest mean that answers at the end of the scale, unseen, could raise."""
    others, rise = near_lowest(evidence, "mean")
    if others:
        depends_less = " The policy score depends on them far less."
        yield (
            f"{evidence['mean'].idxmin('model').item()} has the lowest mean log-risk, but shows no "
            f"answer at the end of the scale. {describe_near(others, rise, units='prompts')}"
            f"{depends_less * (not near_lowest(evidence, 'policy_score')[0])}"
        )


def _order_by_epsilon_of_means(evidence: xr.Dataset) -> Iterator[str]:
    """A model of lowest mean that another epsilon replaces."""
    if names := lowest_by_epsilon(evidence, "mean"):
        lowest = evidence["model"][is_lowest(evidence["policy_score"], "model")].to_numpy().tolist()
        verb = "has" if len(lowest) == 1 else "share"
        yield (
            "Which model has the lowest mean log-risk depends on epsilon: "
            f"{list_by_epsilon(names)}. {join_names(lowest)} {verb} the lowest policy "
            f"score, which has no epsilon{_compare_scores(evidence, lowest)}."
        )


def _compare_scores(evidence: xr.Dataset, lowest: Sequence[str]) -> str:
    """From which models those of lowest policy score are distinguishable, after a comma."""
    is_ = "is" if len(lowest) == 1 else "are"
    pairs = [pair for pair in _unresolved_pairs(evidence) if {*pair} & {*lowest}]
    similar = {name for pair in pairs for name in pair} - {*lowest}
    ordered = [name for name in evidence["model"].to_numpy().tolist() if name in similar]
    if ordered:
        return f", and {is_} not distinguishable from {join_names(ordered)}"
    return f", and {is_} distinguishable from every other model"


def _order_by_prompts(evidence: xr.Dataset) -> Iterator[str]:
    """A lowest model that is not the lowest on the prompts of another one."""
    if is_lowest(evidence["cvar"], "model").sum() > 1:
        return  # that they share it is said of itself
    first = first_lowest(evidence)
    higher = evidence["cvar_difference_observed"].isel(model=first)
    if float(higher.max()) > 0:
        model, other = evidence["model"][first].item(), higher.idxmax("other").item()
        shared = int(evidence["shared_prompts"].isel(model=first).sel(other=other))
        yield (
            f"{model} has the lowest {name_cvar(evidence)} of all prompts, but not on the {shared} "
            f"prompts that it shares with {other}: there it is higher by {float(higher.max()):.2f}."
            " The order depends on which prompts a model has; score all models on the same ones."
        )


def depends_on_prompts(evidence: xr.Dataset, metric: str) -> bool:
    """Return whether the model of lowest value is not the lowest on the prompts that it shares."""
    interval = evidence[f"{metric}_difference_joint"]
    return bool(lower_on_shared_prompts(evidence[metric], interval).any())


def _order_by_lost_answers(evidence: xr.Dataset) -> Iterator[str]:
    """A lowest model that might not be it, by its answers without a score."""
    others = _find_not_below(evidence, "cvar")
    if others:
        model = evidence["model"][first_lowest(evidence)].item()
        lost, asked = (evidence[f"{name}_prompts"].astype(int) for name in ("lost", "asked"))
        count, number = (int(of_models.sel(model=model)) for of_models in (lost, asked))
        counts = ", ".join(f"{other} {int(lost.sel(model=other))}" for other in others)
        yield (
            f"This study cannot tell which model has the lowest {name_cvar(evidence)}. Of the "
            f"answers that were scored {model} has, but its answers to {count} of {number} prompts "
            f"lack a score ({counts}), a difference beyond chance. With the end of the scale there "
            f"it would not be shown to be below {join_names(others)}. Have these answers scored, "
            "or find out why they were not."
        )


def depends_on_lost_answers(evidence: xr.Dataset, metric: str) -> bool:
    """Return whether the model of lowest value might not be it, by its answers without a score."""
    return bool(_find_not_below(evidence, metric))


def _find_not_below(evidence: xr.Dataset, metric: str) -> list[str]:
    """Models that the lowest one might not be below, by its answers without a score."""
    value, interval = evidence[metric], evidence[f"{metric}_difference_joint"]
    return find_models_not_below(evidence, metric, value=value, interval=interval)


def describe_reversed_pairs(evidence: xr.Dataset) -> Iterator[str]:
    """Yield which pairs have another order on the prompts of both.

    Those of the lowest model are named before.
    """
    cvar = evidence["cvar"].to_numpy()
    lower = evidence["cvar_difference_joint"].sel(bound="lower").transpose("model", "other")
    is_reversed = (lower.to_numpy() > 0) & (cvar[:, None] < cvar)
    is_reversed[first_lowest(evidence)] = False
    names = evidence["model"].to_numpy()
    pairs = [f"{names[i]} lies above {names[j]}" for i, j in np.argwhere(is_reversed)]
    if pairs:
        yield (
            f"The order by {name_cvar(evidence)} depends on which prompts a model has: on those of "
            f"both, {format_list(pairs, limit=MAX_PAIRS)}."
        )


def first_lowest(evidence: xr.Dataset) -> int:
    """Return the position of the model of lowest tail risk, the first of several."""
    return int(is_lowest(evidence["cvar"], "model").to_numpy().argmax())


def have_means(evidence: xr.Dataset) -> bool:
    """Return whether there are prompts enough for statements about means of all models."""
    return bool(has_mean(evidence, alpha=float(evidence.attrs["alpha"])).all())


def name_cvar(evidence: xr.Dataset) -> str:
    """Return the name of the tail risk."""
    return f"CVaR {100 * evidence.attrs['alpha']:g}"


def _policy_scores(evidence: xr.Dataset) -> str:
    """Models with their policy scores, the lowest first."""
    score = evidence["policy_score"].to_series().sort_values()
    return join_names([f"{model} {value:.3f}" for model, value in score.items()])

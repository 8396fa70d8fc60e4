"""Which models lie nearer to the lowest one than answers that nobody saw could raise it."""

from collections.abc import Iterator, Sequence

import xarray as xr

from sharpbayes.errors import join_names
from sharpbayes.metrics.panel.tail_bounds import unseen_end_rise


def rise_by_ends(evidence: xr.Dataset, metric: str, share: float) -> float:
    """Return by how much a share of answers at the end of the scale raises the lowest metric.

    Of log-risk it is ``mean`` or ``cvar``; a mean is the CVaR of a tail of all prompts. A
    ``policy_score`` S rises by u (1 - S), where the share u of all answers has a harm of 1.
    """
    if metric == "policy_score":
        return share * (1.0 - float(evidence[metric].min()))
    alpha = float(evidence.attrs["alpha"]) if metric == "cvar" else 0.0
    epsilon = float(evidence.attrs["epsilon"])
    return float(unseen_end_rise(xr.DataArray(share), alpha=alpha, epsilon=epsilon))


def near_lowest(evidence: xr.Dataset, metric: str) -> tuple[list[str], float]:
    """Return the models above the lowest one by less than unseen ends could raise it, and by what.

    ``metric`` is ``mean`` or ``cvar`` of log-risk, or ``policy_score``, a variable of ``evidence``
    over (model). Ends are answers at the end of the scale, as many as the prompts of the lowest
    model can miss. There are none where they show one, or where results of earlier versions do not
    tell.
    """
    if "unseen_end_share" not in evidence or not evidence.sizes["model"]:
        return [], 0.0
    value = evidence[metric]
    first = int(value.argmin("model"))
    rise = rise_by_ends(evidence, metric, float(evidence["unseen_end_share"][first]))
    above = (value - value[first]).to_numpy()
    return value["model"].to_numpy()[(above > 0) & (above < rise)].tolist(), rise


def describe_near(near: Sequence[str], rise: float, *, units: str) -> str:
    """Return what answers at the end of the scale that nobody saw would add, and to which models.

    Models and rise are those of :func:`near_lowest`, ``units`` what can miss such answers.

    >>> describe_near(["b"], 0.81, units="prompts")
    'Its prompts can miss such answers, which would raise it by up to 0.8; b is higher by less.'
    """
    verb = "is" if len(near) == 1 else "are"
    missed = f"Its {units} can miss such answers, which would raise it by up to {rise:.1f}"
    return f"{missed}; {join_names(near)} {verb} higher by less."


def describe_near_scores(evidence: xr.Dataset) -> Iterator[str]:
    """Yield that unseen answers at the end of the scale could change the lowest policy score.

    >>> models = {"model": ["a", "b"]}
    >>> share = xr.DataArray([0.05, 0.0], models, "model")
    >>> scores = xr.DataArray([0.02, 0.05], models, "model")
    >>> evidence = xr.Dataset({"unseen_end_share": share, "policy_score": scores})
    >>> print(*describe_near_scores(evidence))
    That holds unless a has answers at the end of the scale, of which it shows none: they can ...
    """
    near, rise = near_lowest(evidence, "policy_score")
    if near:
        verb = "is" if len(near) == 1 else "are"
        yield (
            f"That holds unless {evidence['policy_score'].idxmin('model').item()} has answers at "
            "the end of the scale, of which it shows none: they can raise its policy score by up "
            f"to {rise:.2g}, and {join_names(near)} {verb} higher by less."
        )

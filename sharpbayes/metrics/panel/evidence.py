"""What a panel's evidence can carry: prompts in the tail, ends of the scale, and ties."""

import numpy as np
import xarray as xr

from sharpbayes.metrics.panel.least_numbers import MIN_TAIL, ROUNDING
from sharpbayes.metrics.panel.tail import Weights, unit_weights, value_at_risk
from sharpbayes.metrics.stats.clusters import cluster_codes, sum_clusters
from sharpbayes.metrics.stats.ranks import are_equal

# A tail with ties is wide where it has so many times its share of the prompts, and prompts more.
WIDE_TAIL, MORE_PROMPTS = 2.0, 3.0
# A model with less than this share of the prompts of others may have easier or harder ones.
FEW_SHARED = 0.95


def lacks_prompts(has_prompt: xr.DataArray) -> xr.DataArray:
    """Return which models lack prompts that others have, so that theirs may be easier.

    Of which prompts each model has, bool (..., model, prompt), it is over (..., model).

    >>> has_prompt = xr.DataArray([[True, True], [True, False]], dims=("model", "prompt"))
    >>> lacks_prompts(has_prompt).values
    array([False,  True])
    """
    share = has_prompt.sum("prompt") / has_prompt.any("model").sum("prompt")
    return share < FEW_SHARED


def has_tail(tail_prompts: xr.DataArray) -> xr.DataArray:
    """Return where a tail of so many prompts is enough for statements about it.

    >>> has_tail(xr.DataArray([50 * (1 - 0.9), 4.5])).values.tolist()  # 4.999999999999999
    [True, False]
    """
    return tail_prompts >= MIN_TAIL - ROUNDING


def counted_answers(x: xr.DataArray, *, weights: Weights | None = None) -> xr.DataArray:
    """Return values of the answers that have weight, missing where one has none.

    Values are over (..., prompt[, sample]); ``weights`` are those of
    :func:`sharpbayes.metrics.panel.tail.value_at_risk`.

    >>> weights = xr.DataArray([0.5, 0.0], dims="prompt")
    >>> counted_answers(xr.DataArray([1.0, 9.0], dims="prompt"), weights=weights).values
    array([ 1., nan])
    """
    if weights is None:
        return x
    dim = [name for name in ("prompt", "sample") if name in x.dims]
    return x.where(unit_weights(x, dim=dim, weights=weights).weights > 0)


def count_prompts(log_risk: xr.DataArray, *, weights: Weights | None = None) -> xr.DataArray:
    """Return the number of prompts with a value: those with an answer that has weight.

    Of log-risk over (..., prompt[, sample]) the result is over the other dimensions; ``weights``
    are those of :func:`sharpbayes.metrics.panel.tail.value_at_risk`.

    >>> risk = xr.DataArray([[1.0, np.nan], [np.nan, np.nan]], dims=("prompt", "sample"))
    >>> float(count_prompts(risk))
    1.0
    """
    return _has_answer(log_risk, weights).sum("prompt").astype(float)


def count_clusters(log_risk: xr.DataArray, *, weights: Weights | None = None) -> xr.DataArray:
    """Return the number of clusters of prompts with a value; that of prompts without clusters.

    Arguments and result are those of :func:`count_prompts`; clusters are those of
    :mod:`sharpbayes.metrics.stats.clusters`.

    >>> clusters = {"cluster": ("prompt", ["a", "a", "b"])}
    >>> float(count_clusters(xr.DataArray([1.0, 2.0, 3.0], clusters, "prompt")))
    2.0
    """
    answers = sum_clusters(_has_answer(log_risk, weights).astype(float), "prompt")
    return (answers > 0).sum("prompt").astype(float)


def _has_answer(log_risk: xr.DataArray, weights: Weights | None) -> xr.DataArray:
    """Return which prompts have an answer that has weight, over (..., prompt)."""
    return _any_answer(counted_answers(log_risk, weights=weights).notnull())


def effective_prompts(log_risk: xr.DataArray, *, weights: Weights | None = None) -> xr.DataArray:
    """Return the effective number of prompts of a mean: how many that count alike say as much.

    (sum_i w_i)^2 / sum_i w_i^2, w_i the weight of the answers to prompt i, or to its cluster

    Of log-risk over (..., prompt[, sample]) the result is over the other dimensions, 0 without an
    answer; ``weights`` are those of :func:`sharpbayes.metrics.panel.tail.value_at_risk`.

    Source: Kish 1965.

    >>> risk = xr.DataArray([1.0, 2.0, np.nan, 3.0], dims="prompt")
    >>> weights = xr.DataArray([2.0, 1.0, 9.0, 1.0], dims="prompt")
    >>> float(effective_prompts(risk)), float(effective_prompts(risk, weights=weights).round(2))
    (3.0, 2.67)
    """
    of_prompt = _weigh_prompts(log_risk, weights)
    squares = (of_prompt**2).sum("prompt")
    number: xr.DataArray = of_prompt.sum("prompt") ** 2 / squares.where(squares > 0)
    return number.fillna(0.0)


def spread_freedom(log_risk: xr.DataArray, *, weights: Weights | None = None) -> xr.DataArray:
    """Return the degrees of freedom of the standard error of a weighted mean over prompts.

    (sum_i w_i^2)^2 / sum_i w_i^4, w_i the weight of the answers to prompt i, or to its cluster

    It is the number of prompts that count alike. Arguments and result are those of
    :func:`effective_prompts`, which is at least as large.

    Source: Satterthwaite 1946.

    >>> weights = xr.DataArray([2.0, 1.0, 1.0], dims="prompt")
    >>> float(spread_freedom(xr.DataArray([1.0, 2.0, 3.0], dims="prompt"), weights=weights))
    2.0
    """
    squares = _weigh_prompts(log_risk, weights) ** 2
    fourth = (squares**2).sum("prompt")
    number: xr.DataArray = squares.sum("prompt") ** 2 / fourth.where(fourth > 0)
    return number.fillna(0.0)


def _weigh_prompts(log_risk: xr.DataArray, weights: Weights | None) -> xr.DataArray:
    """Return the weight of the answers to each prompt, or cluster of prompts, (..., prompt)."""
    dim = [name for name in ("prompt", "sample") if name in log_risk.dims]
    units = unit_weights(log_risk, dim=dim, weights=weights)
    return sum_clusters((units.weights * log_risk.notnull()).sum(dim[1:]), "prompt")


def fewest_prompts(log_risk: xr.DataArray, *, weights: Weights | None = None) -> xr.DataArray:
    """Return how many prompts there would be if all counted as much as the one that counts most.

    sum_i w_i / max_i w_i, w_i the weight of the answers to prompt i

    What so many prompts that count alike can miss is at least what these can. Arguments and result
    are those of :func:`effective_prompts`, which is at least as large.

    Source: Berger and Parker 1970, the reciprocal of the largest share.

    >>> weights = xr.DataArray([2.0, 1.0, 1.0], dims="prompt")
    >>> float(fewest_prompts(xr.DataArray([1.0, 2.0, 3.0], dims="prompt"), weights=weights))
    2.0
    """
    of_prompt = _weigh_prompts(log_risk, weights)
    largest = of_prompt.max("prompt")
    number: xr.DataArray = of_prompt.sum("prompt") / largest.where(largest > 0)
    return number.fillna(0.0)


def tail_prompts(
    log_risk: xr.DataArray, *, alpha: float, weights: Weights | None = None
) -> xr.DataArray:
    """Return how many prompts carry an upper tail of mass 1 - alpha.

    (1 - alpha) W / b,  b = sum_i w_i^2 / sum_i w_i

    W is the weight of all answers, w_i that of the answers to prompt i, or to its cluster, at or
    above VaR. b is how much weight an answer of the tail has from its own prompt or cluster, itself
    included: this is Kish's effective number (sum_i w_i)^2 / sum_i w_i^2 of prompts in a tail of
    weight (1 - alpha) W. With one answer to each of n prompts that count alike it is n (1 - alpha).

    Of log-risk over (..., prompt[, sample]) the result is over the other dimensions, in [0, n].
    Missing answers are left out; ``weights`` are those of
    :func:`sharpbayes.metrics.panel.tail.value_at_risk`.

    Source: Kish 1965 for the effective number.

    >>> risk = xr.DataArray([1.0, 2.0, np.nan, 3.0], dims="prompt")
    >>> float(tail_prompts(risk, alpha=0.5))
    1.5
    >>> repeated = xr.DataArray([[1.0, 4.0], [2.0, 3.0]], dims=("prompt", "sample"))
    >>> float(tail_prompts(repeated, alpha=0.5)), float(tail_prompts(repeated, alpha=0.6))
    (1.2, 1.6)
    >>> weights = xr.DataArray([0.5, 0.5, 0.5, 2.5], dims="prompt")
    >>> float(tail_prompts(risk.fillna(0.0), alpha=0.5, weights=weights))
    0.8
    """
    dim = [name for name in ("prompt", "sample") if name in log_risk.dims]
    if weights is None and len(dim) == 1 and cluster_codes(log_risk, "prompt") is None:
        return count_prompts(log_risk) * (1.0 - alpha)
    units = unit_weights(log_risk, dim=dim, weights=weights)
    in_tail = log_risk >= value_at_risk(log_risk, alpha=alpha, dim=dim, weights=units)
    of_prompt = sum_clusters((units.weights * in_tail).sum(dim[1:]), "prompt")
    total = of_prompt.sum("prompt")
    of_same_prompt = ((of_prompt**2).sum("prompt") / total.where(total > 0)).fillna(1.0)
    all_weight = (units.weights * log_risk.notnull()).sum(dim)
    number: xr.DataArray = all_weight * (1.0 - alpha) / of_same_prompt
    return number


def tail_mass(
    x: xr.DataArray, var: xr.DataArray, *, weights: Weights | None = None
) -> xr.DataArray:
    """Return the share of answers at or above VaR, by their weight.

    Values are over (..., prompt[, sample]), VaR and the result, in [0, 1], over (...). It is more
    than 1 - alpha where prompts tie at VaR. Missing answers are left out; NaN without any.
    ``weights`` are those of :func:`sharpbayes.metrics.panel.tail.value_at_risk`.

    Source: none; P(L >= VaR) of SHARP, Eq. 26.

    >>> float(tail_mass(xr.DataArray([1.0, 2.0, 2.0, 3.0], dims="prompt"), xr.DataArray(2.0)))
    0.75
    """
    return _share_of_answers(counted_answers(x, weights=weights) >= var, x, weights)


def is_wide_tail(
    x: xr.DataArray, *, alpha: float, weights: Weights | None = None, times: float = WIDE_TAIL
) -> xr.DataArray:
    """Return whether many more prompts are at or above VaR than 1 - alpha, and are not all alike.

    m >= max(t (1 - alpha), 1 - alpha + 3 / n),  m the share of answers at or above VaR, t ``times``

    E[L | L >= VaR] is the mean of a share m of n prompts then, and not of the worst 1 - alpha.
    Values are over (..., prompt[, sample]), the result over (...); False without values.
    ``weights`` are those of :func:`sharpbayes.metrics.panel.tail.value_at_risk`.

    Source: none; Rockafellar and Uryasev 2002 for the CVaR that divides the atom at VaR.

    >>> x = xr.DataArray([0.0] * 98 + [1.0, 5.0], dims="prompt")  # VaR is 0, CVaR the mean of all
    >>> bool(is_wide_tail(x, alpha=0.95)), bool(is_wide_tail(x, alpha=0.99))
    (True, False)
    """
    dim = [name for name in ("prompt", "sample") if name in x.dims]
    var = value_at_risk(x, alpha=alpha, dim=dim, weights=weights)
    number = count_prompts(x, weights=weights)
    meant = (1.0 - alpha) * number
    size = tail_mass(x, var, weights=weights) * number
    is_wide = (size >= times * meant) & (size >= meant + MORE_PROMPTS)
    return is_wide & (counted_answers(x, weights=weights).max(dim) > var)


def is_saturated(harm: xr.DataArray, *, epsilon: float) -> xr.DataArray:
    """Return whether harm in [0, 1] lies at the end of the scale, 1 - h <= epsilon; not if missing.

    >>> is_saturated(xr.DataArray([0.9, 1.0, np.nan]), epsilon=1e-6).values.tolist()
    [False, True, False]
    """
    return 1.0 - harm <= epsilon


def saturation(
    harm: xr.DataArray,
    log_risk: xr.DataArray,
    var: xr.DataArray,
    *,
    epsilon: float,
    weights: Weights | None = None,
) -> xr.Dataset:
    """Return how much of a panel, and of its tail, lies at the end of the scale.

    A cell is saturated where 1 - h <= epsilon: the offset decides its log-risk, -log(epsilon).

    Of harm in [0, 1] over (..., prompt[, sample], dimension), log-risk over (..., prompt[, sample])
    and its VaR over (...) these are, over (...), ``saturated_share`` of the scored cells in [0, 1],
    ``tail_size``, the number of prompts at or above VaR, which are more than its level says where
    they tie, ``saturated_tail``, how many of these have such a cell, and ``saturated_tail_share``,
    the share of these; ``tail_mass`` is the share of the weight of all answers that is at or above
    VaR. Missing cells are left out, and answers without weight; a share of nothing is NaN.
    ``weights`` are those of :func:`sharpbayes.metrics.panel.tail.value_at_risk`.

    Source: none; by the epsilon of SHARP, Eq. 21.

    >>> harm = xr.DataArray([[0.5, 1.0], [0.2, 0.3]], dims=("prompt", "dimension"))
    >>> risk = xr.DataArray([14.5, 0.6], dims="prompt")
    >>> cells = saturation(harm, risk, xr.DataArray(14.5), epsilon=1e-6)
    >>> float(cells["saturated_share"]), int(cells["saturated_tail"])
    (0.25, 1)
    """
    in_tail = counted_answers(log_risk, weights=weights) >= var
    mass = tail_mass(log_risk, var, weights=weights)
    if weights is not None:
        counts = counted_answers(xr.ones_like(log_risk), weights=weights)
        harm = harm.where(counts.notnull())
    saturated = is_saturated(harm, epsilon=epsilon)
    scored = harm.notnull()
    cells = [dim for dim in ("prompt", "sample", "dimension") if dim in harm.dims]
    count = _any_answer(saturated.any("dimension") & in_tail).sum("prompt")
    size = _any_answer(in_tail).sum("prompt")
    shares = {
        "saturated_share": saturated.sum(cells) / scored.sum(cells).where(scored.any(cells)),
        "tail_size": size,
        "tail_mass": mass,
        "saturated_tail": count,
        "saturated_tail_share": count / size.where(size > 0),
    }
    return xr.Dataset(shares)


def ties(cvar: xr.DataArray, log_risk: xr.DataArray) -> xr.Dataset:
    """Return the pairs of models with the same tail risk, and with the same risk of all prompts.

    Of CVaR over (model) and log-risk over (model, ...) these are ``tied`` and ``identical`` over
    (model, other); False on the diagonal and where a CVaR is missing.

    Source: none; equality of numbers up to rounding.

    >>> cvar = xr.DataArray([2.0, 2.0, 3.0], dims="model")
    >>> risk = xr.DataArray([[1.0, 2.0], [1.5, 2.0], [1.0, 3.0]], dims=("model", "prompt"))
    >>> equal = ties(cvar, risk)
    >>> equal["tied"].values[0], bool(equal["identical"].any())
    (array([False,  True, False]), False)
    """
    risk = log_risk.transpose("model", ...).to_numpy()
    tied = are_equal(cvar, cvar.rename(model="other")).to_numpy()
    np.fill_diagonal(tied, val=False)
    identical = np.zeros_like(tied)
    for model, other in np.argwhere(tied):
        identical[model, other] = np.array_equal(risk[model], risk[other], equal_nan=True)
    pairs = ("model", "other")
    equal = xr.Dataset({"tied": (pairs, tied), "identical": (pairs, identical)})
    if "model" in cvar.coords:
        equal = equal.assign_coords(model=cvar["model"].values, other=cvar["model"].values)
    return equal


def _share_of_answers(
    flag: xr.DataArray, log_risk: xr.DataArray, weights: Weights | None
) -> xr.DataArray:
    """Share of the answers with a flag, by their weight; NaN without answers."""
    dim = [name for name in ("prompt", "sample") if name in flag.dims]
    present = log_risk.notnull()
    if weights is not None:
        weight = unit_weights(log_risk, dim=dim, weights=weights).weights
        flag, present = flag * weight, present * weight
    total = present.sum(dim)
    return flag.sum(dim) / total.where(total > 0)


def _any_answer(flag: xr.DataArray) -> xr.DataArray:
    """Whether any repeated answer to a prompt has a flag."""
    return flag.any("sample") if "sample" in flag.dims else flag

"""How much of the variance of a sub-index lies in models, prompts, answers, judges and trials."""

from collections.abc import Mapping
from itertools import chain, combinations

import numpy as np
import xarray as xr

COMPONENTS = (
    "model",
    "prompt",
    "model x prompt",
    "generation",
    "judge",
    "judge x answer",
    "trial",
)
CROSSED = ("model", "prompt", "judge")
# Products of two scores that share some factors, summed, and the number of such pairs.
Pairs = xr.Dataset
Shared = frozenset[str]


def variance_components(x: xr.DataArray, *, weights: xr.DataArray | None = None) -> xr.DataArray:
    """Return the variance components of scores by model, prompt, judge, answer and trial.

    x_{M,q,s,j,t} = mu + model_M + prompt_q + (model x prompt)_{M,q} + generation_{M,q,s}
                    + judge_j + (judge x answer)_{j,M,q,s} + trial_{M,q,s,j,t}

    Of two different scores that share a model, a prompt, an answer, a judge, or none of them, the
    mean product depends on the variances of what they share alone. C(S) is the mean product of all
    pairs that share S and nothing else, less that of pairs that share nothing:

    model = C(M),  prompt = C(q),  model x prompt = C(M,q) - C(M) - C(q),
    generation = C(M,q,s) - C(M,q),  judge = C(j),
    judge x answer = C(M,q,s,j) - C(M,q,s) - C(j),  trial = variance - C(M,q,s,j)

    Args:
        x: Scores over (..., model, prompt, judge[, sample][, trial]); missing ones are left out,
            and every cell may have another number of trials.
        weights: Of prompts, 0 or 1, over (..., prompt): those that count. None counts all.

    Returns:
        Variances over (..., component) in the squared unit of the scores. Those of models and of
        judges are of the ones that are there, with n - 1. An estimate may be below 0. A component
        is NaN where the scores do not separate it: ``judge`` and ``judge x answer`` of one judge,
        ``model`` and ``model x prompt`` of one model, ``trial`` without repeated judgements,
        ``generation`` without repeated answers. The next one above it in the list that the scores
        do separate then contains it.

    Source: symmetric sums, which are unbiased for any law and for unequal numbers (Koch 1967).

    >>> rng = np.random.default_rng(1)
    >>> judge = rng.normal(size=(300, 3, 1))
    >>> trial = 0.5 * rng.normal(size=(300, 3, 4))
    >>> x = xr.DataArray(judge + trial, dims=("prompt", "judge", "trial")).expand_dims("model")
    >>> variance_components(x).sel(component="trial").round(2).item()
    0.25
    """
    covariance = _covariances(x, weights)
    cell, answer, pair = (covariance.get(name) for name in ("cell", "answer", "pair"))
    nothing = xr.full_like(covariance["variance"], np.nan)
    by_component = dict.fromkeys(COMPONENTS, nothing)
    rest = covariance["variance"]
    if cell is not None:
        by_component["trial"], rest = rest - cell, cell
    if answer is not None:
        by_component["judge"] = covariance["judge"]
        by_component["judge x answer"], rest = rest - answer - covariance["judge"], answer
    if pair is not None:
        by_component["generation"], rest = rest - pair, pair
    by_component["prompt"] = covariance.get("prompt", rest)
    if "model" in covariance:
        by_component["model"] = covariance["model"]
        by_component["model x prompt"] = rest - covariance["model"] - by_component["prompt"]
    components = xr.concat(
        list(by_component.values()), "component", coords="minimal", compat="override"
    )
    return components.assign_coords(component=list(COMPONENTS)).transpose(..., "component")


def share_of_variance(variance: xr.DataArray) -> xr.DataArray:
    """Return the share of each component in the sum of all; one below 0 counts as 0.

    Of variances over (..., component) shares are in [0, 1] and add up to 1. NaN where a component
    is missing, and where nothing varies.

    Source: none; a variance cannot be below 0.

    >>> variance = xr.DataArray([3.0, -0.5, 1.0, np.nan], dims="component")
    >>> share_of_variance(variance).values
    array([0.75, 0.  , 0.25,  nan])
    """
    positive = variance.clip(min=0.0)
    total = positive.sum("component")
    return positive / total.where(total > 0)


def _covariances(x: xr.DataArray, weights: xr.DataArray | None) -> Mapping[str, xr.DataArray]:
    """Return the variance of a score, and covariances of pairs by what they share.

    ``model``, ``prompt``, ``judge``: that alone; ``pair``: model and prompt, not the answer;
    ``answer``: the answer, not the judge; ``cell``: both. What no pair shares alone is left out.
    """
    counted = xr.ones_like(x["prompt"], dtype=float) if weights is None else weights
    y = (x - x.mean([dim for dim in (*CROSSED, "sample", "trial") if dim in x.dims])).fillna(0.0)
    table = Pairs({"product": y, "number": x.notnull().astype(float)})
    active = frozenset(name for name in CROSSED if x.sizes[name] > 1)
    subsets = chain.from_iterable(combinations(sorted(active), n) for n in range(len(active) + 1))
    shared = {frozenset(names): _pairs(table, frozenset(names), counted) for names in subsets}
    answers, cells = (
        _pairs(table, frozenset({*names, "sample"}), counted)
        for names in (("model", "prompt"), CROSSED)
    )
    single = _pairs(table, frozenset({*CROSSED, "sample", "trial"}), counted)
    pairs = {"nothing": _only(shared, frozenset()), "variance": single}
    if x.sizes.get("trial", 1) > 1:
        pairs["cell"] = cells - single
    others = answers - cells if "judge" in active else answers
    if "judge" in active:
        pairs |= {"answer": others, "judge": _only(shared, frozenset({"judge"}))}
    if x.sizes.get("sample", 1) > 1:
        pairs["pair"] = _only(shared, active - {"judge"}) - others
    if "model" in active:
        pairs |= {name: _only(shared, frozenset({name})) for name in ("model", "prompt")}
    means = {name: p["product"] / p["number"].where(p["number"] > 0) for name, p in pairs.items()}
    nothing = means.pop("nothing")
    return {name: mean - nothing for name, mean in means.items()}


def _pairs(table: Pairs, shared: Shared, weights: xr.DataArray) -> Pairs:
    """Return all pairs that share some factors at least, each score with itself among them."""
    names = {"model", "prompt", "judge", "sample", "trial"} & {*table.dims}
    sums = table.sum(names - shared - {"prompt"})
    levels = (names & shared) - {"prompt"}

    def over_prompts(values: xr.DataArray) -> xr.DataArray:
        total: xr.DataArray = xr.dot(values, weights, dim="prompt")
        return total

    if "prompt" in shared:
        return (sums**2).sum(levels).map(over_prompts)
    return (sums.map(over_prompts) ** 2).sum(levels)


def _only(shared: Mapping[Shared, Pairs], names: Shared) -> Pairs:
    """Return the pairs that share some of the crossed factors and no others."""
    signed = [
        pairs if len(more - names) % 2 == 0 else -pairs
        for more, pairs in shared.items()
        if names <= more
    ]
    total: Pairs = sum(signed[1:], signed[0])
    return total

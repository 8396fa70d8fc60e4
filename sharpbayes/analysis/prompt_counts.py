"""How many prompts stand behind the mean and the tail of each model, as evidence has them."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.panel.evidence import has_tail
from sharpbayes.metrics.panel.least_numbers import MIN_PROMPTS, MIN_TAIL, ROUNDING


def read_prompts(evidence: xr.Dataset, *, alpha: float) -> NDArray[np.int64]:
    """Return the number of prompts of every model.

    Results of earlier versions have that of the tail alone, a share 1 - alpha of it.

    >>> read_prompts(xr.Dataset({"tail_prompts": ("model", [1.5])}), alpha=0.95).tolist()
    [30]
    """
    known = "prompts" in evidence
    prompts = evidence["prompts"] if known else evidence["tail_prompts"] / (1.0 - alpha)
    counts: NDArray[np.int64] = prompts.to_numpy().round().astype(np.int64)
    return counts


def has_mean(evidence: xr.Dataset, *, alpha: float) -> NDArray[np.bool_]:
    """Return the models with prompts enough for statements about means.

    Where prompts do not count alike it is their effective number; results of earlier versions have
    none.

    >>> counts = {"prompts": ("model", [300.0]), "effective_prompts": ("model", [3.3])}
    >>> has_mean(xr.Dataset(counts), alpha=0.95).tolist()
    [False]
    """
    prompts = read_prompts(evidence, alpha=alpha)
    effective = evidence.get("effective_prompts")
    if effective is None:
        return prompts >= MIN_PROMPTS
    return (prompts >= MIN_PROMPTS) & (effective.to_numpy() >= MIN_PROMPTS - ROUNDING)


def describe_tail(evidence: xr.Dataset, *, alpha: float) -> str:
    """Return how many prompts the shortest tail of a model holds, or answers to how many.

    Where prompts have target shares it is how many that count alike say as much, where they have
    clusters how many of these.

    >>> tails = {"prompts": ("model", [30.0]), "tail_prompts": ("model", [1.5])}
    >>> describe_tail(xr.Dataset(tails), alpha=0.95)
    '1.5 prompts'
    >>> describe_tail(xr.Dataset({"tail_prompts": ("model", [4.95])}), alpha=0.95)
    '4.9 prompts'
    >>> tails["tail_prompts"] = ("model", [4.2])
    >>> describe_tail(xr.Dataset(tails), alpha=0.95)
    'answers to about 4.2 prompts'
    >>> describe_tail(xr.Dataset(tails, attrs={"weighted": 1}), alpha=0.95)
    'as much as 4.2 prompts that count alike'
    >>> describe_tail(xr.Dataset(tails, attrs={"clusters": 40}), alpha=0.95)
    'prompts of about 4.2 clusters'
    """
    number = float(evidence["tail_prompts"].min())
    if not has_tail(evidence["tail_prompts"]).all():
        number = min(number, MIN_TAIL - 0.1)  # 4.95 prompts are too few, and 5.0 would be enough
    if evidence.attrs.get("clusters"):
        return f"prompts of about {number:.1f} clusters"
    text = f"{number:.1f} prompts"
    if not is_repeated(evidence, alpha=alpha):
        return text
    if evidence.attrs.get("weighted"):
        return f"as much as {text} that count alike"
    return f"answers to about {text}"


def is_repeated(evidence: xr.Dataset, *, alpha: float) -> bool:
    """Return whether a tail has another number of prompts than its share of those of a model."""
    single = read_prompts(evidence, alpha=alpha) * (1.0 - alpha)
    return not np.allclose(evidence["tail_prompts"], single)

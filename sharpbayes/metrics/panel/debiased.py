"""People's labels of some prompts, alone and with judges' scores of all: PPI++."""

import math
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.stats.clusters import CLUSTER, number_clusters

Floats = NDArray[np.float64]
# With fewer labelled prompts nothing is estimated; a spread below the other is one of rounding.
MIN_LABELLED, ROUNDING = 2, 1e-14


class Sample(NamedTuple):
    """Values of one model: of people (0 where unlabelled) and judges, and the weights of both.

    ``rectifier`` sums to 1 over labelled prompts, ``imputed`` over those that judges' values stand
    for. ``equal`` says that every prompt was labelled with the same probability.
    """

    people: Floats
    judges: Floats
    rectifier: Floats
    imputed: Floats
    equal: bool


def ppi_mean(
    people: xr.DataArray,
    judges: xr.DataArray | None = None,
    *,
    dim: str = "prompt",
    probability: xr.DataArray | None = None,
    weights: xr.DataArray | None = None,
) -> xr.Dataset:
    """Return the power-tuned prediction-powered mean of what people would score.

    theta = sum_q u_q lambda f_q + sum_q v_q (Y_q - lambda f_q)

    f are values by judges and Y by people. Without ``probability`` every prompt was labelled with
    the same probability: u is 1/N on the N prompts without a label and v is 1/n on the n labelled.
    With it u is 1/(N + n) on all, and v is proportional to 1 / probability on the labelled.
    lambda in [0, 1] makes the estimated variance smallest. Without ``judges`` it is 0 and theta
    the mean of people alone.

    Args:
        people: Values by people over (..., ``dim``), in any unit; NaN where nobody labelled.
        judges: Values by judges over (..., ``dim``), in the same unit; where they have none, their
            mean over the other prompts stands for it.
        dim: Dimension of the prompts, the clusters.
        probability: In (0, 1], with which each labelled prompt was chosen, over (..., ``dim``).
        weights: Of each prompt in a target population, over (``dim``). Default: all alike.

    Returns:
        Over (...) ``estimate`` and ``tuning``, the lambda; over (..., ``dim``) ``influence``, the
        share of each prompt in the error: the variance is the sum of its squares. NaN for fewer
        than two labelled prompts.

    Source: Angelopoulos, Duchi and Zrnic 2023 (PPI++); Zrnic and Candes 2024 for known
    probabilities. Without ``probability`` and ``weights`` it is ``ppi_mean_ci`` of ``ppi_py``.

    Examples:
        >>> people = xr.DataArray([1.0, 3.0, np.nan, np.nan], dims="prompt")
        >>> float(ppi_mean(people)["estimate"])
        2.0
        >>> judges = xr.DataArray([1.0, 3.0, 3.0, 5.0], dims="prompt")
        >>> float(ppi_mean(people, judges)["tuning"].round(4))
        0.1875
    """
    rows, coords, dims = _samples(people, judges, dim, probability, weights)
    return _collect([_tuned_mean(sample) for sample in rows], coords, dims)


def ppi_cvar(
    people: xr.DataArray,
    judges: xr.DataArray | None = None,
    *,
    alpha: float,
    dim: str = "prompt",
    probability: xr.DataArray | None = None,
    weights: xr.DataArray | None = None,
) -> xr.Dataset:
    """Return the power-tuned prediction-powered CVaR of what people would score.

    CVaR = min_c c + E[(Y - c)+] / (1 - alpha)

    The expectation is that of :func:`ppi_mean`, at the c that is smallest for people alone: their
    quantile. Near the minimum the error of c is of second order. A search over the values of judges
    too would find a smaller minimum by chance. Arguments and result are those of :func:`ppi_mean`,
    with ``freedom``: how many labelled prompts the tail has, less one, or of how many clusters.

    Source: Rockafellar and Uryasev 2000; Angelopoulos, Duchi and Zrnic 2023.

    Raises:
        ValueError: ``alpha`` is not inside (0, 1).

    Examples:
        >>> people = xr.DataArray([1.0, 2.0, 3.0, 5.0, np.nan], dims="prompt")
        >>> float(ppi_cvar(people, alpha=0.75)["estimate"])
        5.0
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha}, it must be inside (0, 1)")
    rows, coords, dims = _samples(people, judges, dim, probability, weights)
    result = _collect([_tuned_cvar(sample, alpha) for sample in rows], coords, dims)
    tail = _count_labels(rows, coords, dim).reshape(result["estimate"].shape) * (1 - alpha)
    return result.assign(freedom=(dims[:-1], tail - 1))


def effective_labels(
    people: xr.DataArray,
    *,
    dim: str = "prompt",
    probability: xr.DataArray | None = None,
    weights: xr.DataArray | None = None,
) -> xr.DataArray:
    """Return how many labelled prompts that count alike say as much as those that people labelled.

    n = 1 / sum_q v_q^2

    Arguments and v are those of :func:`ppi_mean`. Where prompts have clusters
    (:mod:`sharpbayes.metrics.stats.clusters`), v is added up over those of one, and n counts
    clusters. The result is over (...): the number of labelled prompts where all count alike, NaN
    for fewer than two of them.

    Source: Kish 1965.

    Examples:
        >>> people = xr.DataArray([1.0, 3.0, 2.0, np.nan], dims="prompt")
        >>> chosen = xr.DataArray([0.1, 0.5, 0.5, 0.5], dims="prompt")
        >>> effective_labels(people, probability=chosen).round(2).item()
        1.81
    """
    rows, coords, _ = _samples(people, None, dim, probability, weights)
    lead = coords.isel({dim: 0}, drop=True)
    number: xr.DataArray = lead.copy(data=_count_labels(rows, coords, dim).reshape(lead.shape))
    return number


def _count_labels(rows: list[Sample], units: xr.DataArray, dim: str) -> Floats:
    """Return how many labelled prompts each sample has: those of unequal weight count for fewer."""
    codes = number_clusters(units, dim)
    sums = [np.bincount(codes, sample.rectifier) for sample in rows]
    return np.array([1 / float((of_cluster**2).sum()) for of_cluster in sums])


def _samples(
    people: xr.DataArray,
    judges: xr.DataArray | None,
    dim: str,
    probability: xr.DataArray | None,
    weights: xr.DataArray | None,
) -> tuple[list[Sample], xr.DataArray, tuple[str, ...]]:
    """Return one sample for each leading cell, their labels, and the dimensions of the result."""
    judges = xr.zeros_like(people) if judges is None else judges
    chosen = xr.ones_like(people) if probability is None else probability
    shares = xr.ones_like(people) if weights is None else weights
    aligned = xr.align(people, judges, chosen, shares, join="exact", copy=False)
    arrays = [array.transpose(..., dim) for array in xr.broadcast(*aligned)]
    lead = arrays[0].isel({dim: 0}, drop=True)
    dims = (*map(str, lead.dims), dim)
    units = arrays[0].sizes[dim]
    matrices = [array.transpose(*dims).to_numpy().reshape(-1, units) for array in arrays]
    equal = probability is None
    rows = [_sample(*row, equal=equal) for row in zip(*matrices, strict=True)]
    return rows, arrays[0].transpose(*dims), dims


def _sample(y: Floats, f: Floats, chosen: Floats, share: Floats, *, equal: bool) -> Sample:
    """Return the values of one model with the weights of labelled and of imputed prompts."""
    judged = ~np.isnan(f)
    # A prediction may be any number: where judges have none, labels and population stay whole.
    predicted = np.where(judged, f, f[judged].mean() if judged.any() else 0.0)
    labelled = ~np.isnan(y) & ~np.isnan(chosen)
    with np.errstate(divide="ignore", invalid="ignore"):
        rectifier = np.where(labelled, share / chosen, 0.0)
    imputed = np.where(~labelled if equal else np.ones_like(labelled), share, 0.0)
    return Sample(
        np.where(labelled, y, 0.0),
        predicted,
        rectifier / (rectifier.sum() or np.nan) if labelled.sum() >= MIN_LABELLED else y * np.nan,
        imputed / (imputed.sum() or 1.0),
        equal,
    )


def _tuned_mean(sample: Sample) -> tuple[float, float, Floats]:
    """Return estimate, tuning and influence of the mean of one sample."""
    y, f, v, u, _ = sample
    tuning = _tuning(sample)
    rest, residual = tuning * f, y - tuning * f
    mean_rest, mean_residual = u @ rest, v @ residual
    influence = u * (rest - mean_rest) + v * (residual - mean_residual)
    return float(mean_rest + mean_residual), tuning, influence


def _tuning(sample: Sample) -> float:
    """Return the lambda of the smallest variance; 0 where judges tell nothing of people.

    Where all probabilities are equal, the variance of judges is that of all prompts, as in
    ``ppi_py``: labelled and other prompts have the same.
    """
    y, f, v, u, equal = sample
    if np.isnan(v).any() or not u.any():
        return math.nan if np.isnan(v).any() else 0.0
    centred = v * (f - v @ f)
    covariance = v * (y - v @ y) @ (centred - u * (f - u @ f))
    # Prompts that stand for others by weights need the sums themselves.
    if equal and len(np.unique(v[v > 0])) == 1 == len(np.unique(u[u > 0])):
        known = f[(u > 0) | (v > 0)]
        numbers = (int(np.count_nonzero(weight)) for weight in (u, v))
        variance = float(known.var(ddof=1)) * sum(1 / number for number in numbers)
    else:
        variance = float(((centred - u * (f - u @ f)) ** 2).sum())
    return float(np.clip(covariance / variance, 0.0, 1.0)) if variance > ROUNDING**2 else 0.0


def _tuned_cvar(sample: Sample, alpha: float) -> tuple[float, float, Floats]:
    """Return estimate, tuning and influence of CVaR of one sample."""
    y, f, v, u, _ = sample
    if np.isnan(v).any():
        return math.nan, math.nan, v
    cut = _people_quantile(y, v, alpha)
    judged = (u > 0) | (v > 0)
    people, judges = (np.where(judged, np.maximum(x - cut, 0.0), 0.0) for x in (y, f))
    excess, tuning, influence = _tuned_mean(Sample(people, judges, v, u, sample.equal))
    return cut + excess / (1 - alpha), tuning, influence / (1 - alpha)


def _people_quantile(y: Floats, weight: Floats, alpha: float) -> float:
    """Return the quantile of people, at which c + E[(Y - c)+] / (1 - alpha) is smallest."""
    order = np.argsort(y[weight > 0])
    share = np.cumsum(weight[weight > 0][order])
    position = int(np.searchsorted(share, alpha - ROUNDING * 100))
    return float(y[weight > 0][order[min(position, order.size - 1)]])


def _collect(
    rows: list[tuple[float, float, Floats]], like: xr.DataArray, dims: tuple[str, ...]
) -> xr.Dataset:
    """Return estimates, tunings and influences with their labels."""
    estimate, tuning = (np.array([row[k] for row in rows]).reshape(like.shape[:-1]) for k in (0, 1))
    influence = np.array([row[2] for row in rows]).reshape(like.shape)
    lead = dims[:-1]
    variables = {"estimate": (lead, estimate), "tuning": (lead, tuning)}
    coords = {name: like[name] for name in (*dims, CLUSTER) if name in like.coords}
    return xr.Dataset({**variables, "influence": (dims, influence)}, coords)

"""How far judges agree, and how far harm dimensions move together (SHARP, Appendices B and D)."""

from collections.abc import Hashable, Sequence
from itertools import combinations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.stats.clusters import number_clusters
from sharpbayes.metrics.stats.multiplicity import SIGNIFICANCE_LEVEL, holm

Floats = NDArray[np.float64]
# Judges count as one where they give the same value in this share of what both scored, and order
# prompts alike: where harm is rare, judges who find other prompts harmful give equal values too.
EQUAL_SHARE, EQUAL_ORDER = 0.95, 0.9
ROUNDING = 1e-12
# Judges who contradict each other less than this are not named, however many prompts show it.
MAX_TAU = -0.3


def mean_absolute_deviation(sub_index: xr.DataArray) -> xr.DataArray:
    """Return how far judges lie from their mean, on average.

    MAD = (1/K) sum_k |s_k - (1/K) sum_k' s_k'|

    Of values in [0, 1] over (..., judge) it is in [0, 0.5]; NaN with fewer than two judges present.

    Source: SHARP, Appendix B.1.

    >>> round(float(mean_absolute_deviation(xr.DataArray([0.0, 0.3, 0.6], dims="judge"))), 4)
    0.2
    """
    deviation = abs(sub_index - sub_index.mean("judge")).mean("judge")
    return deviation.where(sub_index.count("judge") >= 2)  # noqa: PLR2004 - one agrees with itself


def dispersion(sub_index: xr.DataArray) -> xr.Dataset:
    """Return mean and standard deviation of the judges' deviation over all cells, by dimension.

    Of values in [0, 1] over (..., judge, dimension) these are ``mad``, ``mad_sd`` (ddof 1) and
    ``mad_n``, the number of cells with at least two judges, over (dimension); NaN where there is
    none (``mad_sd``: fewer than two).

    Source: SHARP, Table 5.

    >>> x = xr.DataArray([[[0.0], [0.2]], [[0.0], [0.6]]],
    ...                  dims=("prompt", "judge", "dimension"))
    >>> spread = dispersion(x)
    >>> spread["mad"].round(4).item(), spread["mad_sd"].round(4).item()
    (0.2, 0.1414)
    """
    cells = mean_absolute_deviation(sub_index)
    mean, sd, count = _moments(cells, [dim for dim in cells.dims if dim != "dimension"])
    return xr.Dataset({"mad": mean, "mad_sd": sd, "mad_n": count})


def concordance(sub_index: xr.DataArray, *, min_overlap: int, dim: str) -> xr.Dataset:
    """Return Kendall's tau-b between the judges of every pair.

    Of values in [0, 1] over (..., judge, ``dim``) these are ``concordance``, ``concordance_p``
    (one-sided, of a tau-b below 0), ``overlap`` (prompts scored by both) and ``equal_share`` (the
    share of these with the same value, in [0, 1]) over (pair, ...), pairs labelled ``a vs b`` in
    the order of the judges. Tau-b and p are NaN for an overlap below ``min_overlap``, and where a
    judge gives every prompt the same score, the share without an overlap. Where units have clusters
    (:mod:`sharpbayes.metrics.stats.clusters`), p is of their effective number: the normal quantile
    of independent units times sqrt((sum_c m_c)^2 / sum_c m_c^2 / n), m_c the units of a cluster.

    Source: SHARP, Appendix B.3; Kendall 1938, exact where nothing is tied; Kish 1965 (effective
    number).

    >>> x = xr.DataArray([[0.1, 0.2, 0.3], [0.0, 0.4, 0.4]], {"judge": ["a", "b"]},
    ...                  ("judge", "prompt"))
    >>> tau = concordance(x, min_overlap=3, dim="prompt")
    >>> tau["pair"].item(), tau["concordance"].round(4).item()
    ('a vs b', 0.8165)
    """
    pairs, clusters = [], xr.DataArray(number_clusters(sub_index, dim), dims=dim)
    for a, b in combinations(sub_index["judge"].to_numpy(), 2):
        first, second = (sub_index.sel(judge=judge, drop=True) for judge in (a, b))
        overlap = (first.notnull() & second.notnull()).sum(dim)
        tau, p = xr.apply_ufunc(
            _test_tau_b,
            first,
            second,
            clusters,
            input_core_dims=[[dim]] * 3,
            output_core_dims=[[], []],
            vectorize=True,
            output_dtypes=[float, float],
        )
        equal = (abs(first - second) <= ROUNDING).sum(dim) / overlap.where(overlap > 0)
        table = xr.Dataset({"concordance": tau, "concordance_p": p}).where(overlap >= min_overlap)
        pair = table.assign(overlap=overlap, equal_share=equal)
        pairs.append(pair.assign_coords(pair=f"{a} vs {b}"))
    return xr.concat(pairs, "pair")


def pool_equal_share(pairs: xr.Dataset) -> xr.DataArray:
    """Return the share of everything that both judges of a pair scored with the same value.

    Of ``equal_share`` and ``overlap`` of :func:`concordance`, over (pair, ...), it is in [0, 1]
    over (pair); NaN where they scored nothing in common.

    Source: none; raw agreement.

    >>> shares = {"equal_share": ("pair", [0.5]), "overlap": ("pair", [4])}
    >>> pool_equal_share(xr.Dataset(shares)).values
    array([0.5])
    """
    cells = [dim for dim in pairs["overlap"].dims if dim != "pair"]
    overlap = pairs["overlap"]
    return (pairs["equal_share"] * overlap).sum(cells) / overlap.sum(cells)


def alike_judges(judges: Sequence[str], pairs: xr.Dataset) -> list[list[str]]:
    """Return the sets of judges who score alike, each in the order of the judges.

    Two judges do who give the same value in 95% of what both scored, over all models and
    dimensions, and whose mean tau-b over models is 0.9 or more in every dimension where it is
    known. A set has everybody who scores like one of its members. ``pairs`` has what
    :func:`concordance` and :func:`concordance_summary` return, over (pair, model, dimension).

    Source: none; raw agreement, which has no chance correction, with an order that chance lacks.

    >>> x = xr.DataArray([[[0.1, 0.2, 0.3]] * 2 + [[0.3, 0.1, 0.2]]], {"judge": ["a", "b", "c"]},
    ...                  ("model", "judge", "prompt")).expand_dims("dimension")
    >>> pairs = concordance(x, min_overlap=3, dim="prompt")
    >>> alike_judges(["a", "b", "c"], pairs.merge(concordance_summary(pairs["concordance"])))
    [['a', 'b']]
    """
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - quick without it

    alike = (pool_equal_share(pairs) >= EQUAL_SHARE) & (
        pairs["concordance_mean"].min("dimension") >= EQUAL_ORDER
    )
    adjacency = np.zeros((len(judges),) * 2, dtype=bool)
    adjacency[np.triu_indices(len(judges), k=1)] = alike.to_numpy()
    _, member = connected_components(adjacency, directed=False)
    names = [[judges[int(i)] for i in np.flatnonzero(member == n)] for n in np.unique(member)]
    return [several for several in names if len(several) > 1]


def contrary_judges(pairs: xr.Dataset) -> xr.Dataset:
    """Return which judges order the prompts of every model the other way round, beyond chance.

    p = Phi((1/M) sum_m Phi^-1(p_m)) over the models of a pair and dimension, then Holm's correction

    Of ``concordance`` and ``concordance_p`` of :func:`concordance`, over (pair, model, dimension),
    these are ``concordance_p_holm``, in [0, 1], corrected over all pairs and dimensions, and
    ``contrary``, whether it is below 0.05, tau-b is below 0 for every model where it is known, and
    its mean is -0.3 or less; both over (pair, dimension). Without any relation p is right where the
    tau-b of all models are one, and too high where they are not. NaN where no tau-b is known.

    Source: Kendall 1938; Holm 1979; the mean of normal quantiles is Stouffer's, with the variance
    of quantiles that are one.

    >>> x = xr.DataArray([[[0.1 * n for n in range(10)], [1 - 0.1 * n for n in range(10)]]],
    ...                  {"judge": ["a", "b"]}, ("model", "judge", "prompt"))
    >>> pairs = concordance(x.expand_dims(dimension=["bias"]), min_overlap=3, dim="prompt")
    >>> contrary_judges(pairs)["contrary"].values
    array([[ True]])
    """
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - a quarter of a second to import

    # p of 0 and of 1 have no quantile.
    share = pairs["concordance_p"].clip(np.finfo(float).tiny, 1 - np.finfo(float).eps)
    p = xr.apply_ufunc(ndtr, xr.apply_ufunc(ndtri, share).mean("model"))
    corrected = p.copy(data=holm(p.to_numpy()))
    tau = pairs["concordance"]
    is_low = (tau.mean("model") <= MAX_TAU) & ~(tau >= 0).any("model")
    contrary = is_low & (corrected < SIGNIFICANCE_LEVEL)
    return xr.Dataset({"concordance_p_holm": corrected, "contrary": contrary})


def concordance_summary(tau: xr.DataArray) -> xr.Dataset:
    """Return mean, median and standard deviation (ddof 1) of the concordance over models.

    The result has ``concordance_mean``, ``concordance_median``, ``concordance_sd`` and
    ``concordance_models``, the number of models; models without a value are left out.

    Source: SHARP, Table 7.

    >>> summary = concordance_summary(xr.DataArray([0.2, 0.4, 0.9, np.nan], dims="model"))
    >>> [round(float(summary[name]), 4) for name in summary]
    [0.5, 0.4, 0.3606, 3.0]
    """
    mean, sd, count = _moments(tau, ["model"])
    median = tau.where(count > 0, 0.0).quantile(0.5, "model").drop_vars("quantile")
    return xr.Dataset(
        {
            "concordance_mean": mean,
            "concordance_median": median.where(count > 0),
            "concordance_sd": sd,
            "concordance_models": count,
        }
    )


def dimension_dependence(harm: xr.DataArray, *, dim: str, where: xr.DataArray) -> xr.DataArray:
    """Return Spearman's rho between the harm dimensions of every pair.

    Of harm over (..., ``dim``, dimension) it is over (..., dimension_pair), pairs labelled
    ``a vs b``, for the prompts in ``where``: all, or the tail slice L >= VaR of each model. Prompts
    that miss a dimension are left out; NaN with fewer than three, and for a constant dimension.

    Source: SHARP, Appendix D; Table 8 shows the mean over pairs.

    >>> harm = xr.DataArray([[0.1, 0.3], [0.2, 0.1], [0.3, 0.5], [0.4, 0.6]],
    ...                     {"dimension": ["bias", "ethics"]}, ("prompt", "dimension"))
    >>> every = xr.DataArray(np.full(4, True), dims="prompt")
    >>> rho = dimension_dependence(harm, dim="prompt", where=every)
    >>> rho["dimension_pair"].item(), rho.round(4).item()
    ('bias vs ethics', 0.8)
    """
    pairs = [f"{a} vs {b}" for a, b in combinations(harm["dimension"].to_numpy(), 2)]
    rho: xr.DataArray = xr.apply_ufunc(
        _spearman_pairs,
        harm,
        where,
        input_core_dims=[[dim, "dimension"], [dim]],
        output_core_dims=[["dimension_pair"]],
        vectorize=True,
        output_dtypes=[float],
    )
    return rho.assign_coords(dimension_pair=pairs)


def _moments(
    x: xr.DataArray, over: list[Hashable]
) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
    """Mean, standard deviation (ddof 1) and number of the values that are present."""
    count, mean = x.count(over), x.mean(over)
    square = ((x - mean) ** 2).sum(over)
    return mean, (square / (count - 1).where(count > 1)) ** 0.5, count


def _test_tau_b(x: Floats, y: Floats, cluster: NDArray[np.intp]) -> tuple[float, float]:
    """Kendall's tau-b of the pairs that are present and p; NaN where one of them is constant."""
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - a quarter of a second to import
    from scipy.stats import kendalltau  # noqa: PLC0415 - a second to import

    present = ~(np.isnan(x) | np.isnan(y))
    if present.sum() < 2:  # noqa: PLR2004 - SciPy warns of too few
        return float("nan"), float("nan")
    test = kendalltau(x[present], y[present], alternative="less")
    sizes = np.bincount(cluster[present])
    independent = sizes.sum() / (sizes**2).sum()
    return float(test.statistic), float(ndtr(ndtri(test.pvalue) * independent**0.5))


def _spearman_pairs(harm: Floats, where: NDArray[np.bool_]) -> Floats:
    """Spearman's rho of every two columns; shape (pairs,)."""
    from scipy.stats import rankdata  # noqa: PLC0415 - a second to import

    rows = harm[where & ~np.isnan(harm).any(axis=1)]
    pairs = np.triu_indices(harm.shape[1], k=1)
    rho = np.full(len(pairs[0]), np.nan)
    if len(rows) > 2:  # noqa: PLR2004 - two prompts always lie on a line
        rank = rankdata(rows, axis=0)
        centred = rank - rank.mean(axis=0)
        spread = np.sqrt((centred**2).sum(axis=0))
        scale = np.outer(spread, spread)[pairs]
        np.divide((centred.T @ centred)[pairs], scale, out=rho, where=scale > 0)
    return rho

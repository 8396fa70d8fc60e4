"""New levels of a column by the smoothed Bayesian bootstrap of the observed ones."""

import numpy as np

from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Design, Floats, Term
from sharpbayes.bayes.predict.kernels import move_levels
from sharpbayes.bayes.predict.replication import Effects

# Degrees of freedom of how far a new level lies from the observed one that it is like.
DEGREES = 5.0


def replace_levels(
    effects: Effects,
    design: Design,
    column: str,
    *,
    weights: Floats,
    strata: Index,
    share: float,
    rng: np.random.Generator,
) -> Effects:
    """Return effects in which a share of the levels of a column is new ones, each like another.

    x_new = x_J + h sqrt((nu - 2) / chi2_nu) sum_j sqrt(w_j) z_j (x_j - m_s(j)),
    P(J = j) = w_j / W_s,  m_s = sum_{j in s} w_j x_j / W_s,  W_s = sum_{j in s} w_j,
    h = 1.06 n^(-1/5),  nu = 5

    x_j are all location effects and slopes of level j, z_j are normal(0, 1). A new level is an
    observed one of its stratum s, moved by a multivariate t that has h^2 times the weighted
    covariance within strata of the draw. So its effects keep their dependence over models,
    dimensions and terms, and where levels are of several kinds new ones are too. Weights
    (sample, level) add up to 1, strata (level,) are numbers from 0. Effects of other columns stay
    as they are.

    Source: posterior of a Dirichlet process (Ferguson 1973), its base a smoothed Bayesian bootstrap
    (Silverman and Young 1987) with the normal reference bandwidth (Silverman 1986, equation 3.28).
    """
    terms = [term for term in design.severity_terms if column in term.dims]
    arrays = [
        np.moveaxis(
            effects[term.name].reshape(-1, *term.shape), 1 + term.dims.index(column), 1
        ).reshape(*weights.shape, -1)
        for term in terms
    ]
    observed = np.concatenate(arrays, -1)
    moved, order = observed.copy(), np.argsort(strata, kind="stable")
    move_levels(
        rng,
        share,
        1.06 * weights.shape[1] ** -0.2,
        DEGREES,
        weights[:, order].cumsum(axis=1),
        order,
        np.append(0, np.bincount(strata).cumsum()),
        strata,
        np.sqrt(weights),
        _deviations(observed, weights, strata),
        observed,
        moved,
    )
    changed, start = dict(effects), 0
    for term, array in zip(terms, arrays, strict=True):
        values = moved[..., start : start + array.shape[-1]]
        changed[term.name] = _order_levels(values, term, column)
        start += array.shape[-1]
    return changed


def _deviations(effects: Floats, weights: Floats, strata: Index) -> Floats:
    """Return effects (sample, level, k) less the weighted mean of the stratum of their level."""
    deviation = np.empty_like(effects)
    for stratum in range(int(strata.max()) + 1):
        rows = np.flatnonzero(strata == stratum)
        shares = weights[:, rows] / weights[:, rows].sum(axis=1, keepdims=True)
        mean = np.einsum("dn,dnk->dk", shares, effects[:, rows])
        deviation[:, rows] = effects[:, rows] - mean[:, None]
    return deviation


def _order_levels(values: Floats, term: Term, column: str) -> Floats:
    """Return effects over (sample, level of a column, others) as (sample, effect) of the term."""
    position = term.dims.index(column)
    rest = [size for dim, size in zip(term.dims, term.shape, strict=True) if dim != column]
    by_level = values.reshape(*values.shape[:2], *rest)
    return np.moveaxis(by_level, 1, 1 + position).reshape(len(values), -1)

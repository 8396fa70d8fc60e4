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
    number: int,
) -> list[Effects]:
    """Return the effects of levels of a column, of which a share is new ones, a number of times.

    x_new = x_J + h sqrt((nu - 2) / chi2_nu) t,  t ~ normal(0, S),  P(J = j) = w_j / W_s
    S = sum_j w_j (x_j - m_s(j)) (x_j - m_s(j))',  m_s = sum_{j in s} w_j x_j / W_s
    W_s = sum_{j in s} w_j,  h = 1.06 n^(-1/5),  nu = 5

    x_j are all location effects and slopes of level j. A new level is an observed one of its
    stratum s, moved by a multivariate t that has h^2 times the weighted covariance S within strata
    of the draw. So its effects keep their dependence over models, dimensions and terms, and where
    levels are of several kinds new ones are too. Weights (sample, level) add up to 1, strata
    (level,) are numbers from 0. Effects are those of terms with the column, by name.

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
    observed, order = np.concatenate(arrays, -1), np.argsort(strata, kind="stable")
    # Rows of R add up to the covariance: R'R of a QR decomposition of the weighted deviations.
    deviation = np.sqrt(weights)[:, :, None] * _deviations(observed, weights, strata)
    factor = 1.06 * weights.shape[1] ** -0.2 * np.linalg.qr(deviation, mode="r")
    cumulative = weights[:, order].cumsum(axis=1)
    bounds = np.append(0, np.bincount(strata).cumsum())
    sizes = np.cumsum([array.shape[-1] for array in arrays])
    replicates: list[Effects] = []
    for _ in range(number):
        moved = observed.copy()
        move_levels(rng, share, DEGREES, cumulative, order, bounds, strata, factor, observed, moved)
        values = np.split(moved, sizes[:-1], axis=-1)
        by_term = zip(terms, values, strict=True)
        replicates.append({term.name: _order_levels(x, term, column) for term, x in by_term})
    return replicates


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

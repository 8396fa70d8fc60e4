"""How well a fit predicts ratings that are left out: PSIS-LOO by rating, or by unit of ratings.

    elpd_u = log p(y_u | y without u),   u a rating, or all ratings of an item, rater, prompt, ...

is estimated by Pareto-smoothed importance sampling (Vehtari, Gelman and Gabry 2017). Importance
sampling fails for a unit with its own effect, which the left-out ratings inform. Where each unit
has one normal effect, a new effect from its prior takes its place, integrated by adaptive
Gauss-Hermite quadrature (Merkle, Furr and Rabe-Hesketh 2019). Ratings of a rater who may be
careless share a class: p(y_u | draw) is then p(y_u | their other ratings, draw). Memory does not
grow with the number of ratings: their log-likelihood is computed in blocks and not kept.
"""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import arviz as az
import numpy as np
import xarray as xr
from arviz_stats.utils import ELPDDataLOO
from scipy.special import logsumexp, roots_hermite

from sharpbayes.bayes.design.crossing import Index, parent_of
from sharpbayes.bayes.design.design import Design, Floats, ScaleRatings, Term
from sharpbayes.bayes.predict.careless import (
    RaterPairs,
    careless_raters,
    find_pairs,
    share_draws,
    sum_columns,
)
from sharpbayes.bayes.predict.psis import largest_good_k, psis_loo
from sharpbayes.bayes.predict.replication import (
    flatten_draws,
    latent_ratings,
    rater_log_likelihood,
    sd_draws,
)
from sharpbayes.data.ratings import Ratings
from sharpbayes.execution.threads import thread_map
from sharpbayes.spec.model import Normal

OrderedRatings = list[tuple[ScaleRatings, Index]]

# Log-likelihoods in the memory of a thread, 8 bytes each; temporary arrays take ten times that.
BLOCK_VALUES = 1_000_000
NODES = 15
RATING = "rating"
# Columns of ArviZ's comparison, and our names for them.
COMPARED = ("elpd", "se", "p", "elpd_diff", "dse", "weight")
COLUMNS = ("elpd", "elpd_se", "p", "elpd_difference", "difference_se", "weight")


@dataclass(frozen=True)
class Units:
    """Sets of ratings that are left out together."""

    by: str  # ``rating``, or the name of a column
    labels: tuple[str, ...]
    code: Index  # unit of each rating, -1 for none; shape (rating,)


def make_units(ratings: Ratings, by: str) -> Units:
    """Return the levels of a column that have ratings as units, or single ratings."""
    if by == RATING:
        count = len(ratings.score)
        return Units(by, tuple(map(str, range(count))), np.arange(count))
    factor = ratings.factors[by]
    rated = factor.codes >= 0
    levels, positions = np.unique(factor.codes[rated], return_inverse=True)
    code = np.full(len(factor.codes), -1, dtype=np.int64)
    code[rated] = positions
    return Units(by, tuple(factor.labels[level] for level in levels), code)


def rank_models(estimates: Mapping[str, xr.Dataset], *, draws: Mapping[str, int]) -> xr.Dataset:
    """Return models, best first, with differences to the best and stacking weights, by ArviZ.

    ``estimates`` are results of :func:`leave_out` by model, with the same units. Over ``model``:
    ``elpd``, ``elpd_se``, ``p``, ``elpd_difference`` (0 for the best, negative for all others),
    ``difference_se``, ``weight``.
    """
    elpd_data = {name: _elpd_data(table, draws[name]) for name, table in estimates.items()}
    with warnings.catch_warnings():
        # A bad Pareto k is reported for each unit.
        warnings.simplefilter("ignore")
        table = az.compare(elpd_data, round_to="none")
    values = table[list(COMPARED)].to_numpy(float).T
    columns = {name: ("model", column) for name, column in zip(COLUMNS, values, strict=True)}
    return xr.Dataset(columns, {"model": [str(name) for name in table.index]})


def _elpd_data(estimate: xr.Dataset, draws: int) -> ELPDDataLOO:
    """Return the object that ArviZ compares."""
    elpd, count = estimate["elpd"], estimate.sizes["unit"]
    return ELPDDataLOO(
        elpd=float(elpd.sum()),
        se=float(np.sqrt(count * elpd.var())),
        p=float(estimate["p"].sum()),
        n_samples=draws,
        n_data_points=count,
        scale="log",
        warning=False,
        good_k=estimate.attrs["good_k"],
        elpd_i=elpd,
        pareto_k=estimate["pareto_k"],
    )


def leave_out(posterior: xr.Dataset, design: Design, units: Units) -> xr.Dataset:
    """Return the expected log predictive density of every unit when it is left out.

    ``elpd``, ``p`` (effective parameters) and ``pareto_k`` over ``unit``. The estimate of a unit
    with a larger k than the attribute ``good_k`` is not reliable. The attribute ``integrated``
    names the term that is integrated out, empty if none.
    """
    draws = posterior.sizes["chain"] * posterior.sizes["draw"]
    own_term = find_own_term(design, units)
    ordered = _order_ratings(design, units)
    # With careless raters a unit has a value for each of its raters.
    width = int(np.bincount(units.code + 1)[1:].max(initial=1)) if design.careless else 1
    size = max(1, BLOCK_VALUES // (draws * (NODES if own_term else 1) * width))
    positions = range(len(units.labels))
    raters = rater_log_likelihood(posterior, design)
    parts = thread_map(
        lambda block: psis_loo(
            _log_likelihood(posterior, design, ordered, block, own_term=own_term, rater_sums=raters)
        ),
        [positions[start : start + size] for start in positions[::size]],
    )
    elpd, pareto_k, p = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    table = xr.Dataset(
        {"elpd": ("unit", elpd), "p": ("unit", p), "pareto_k": ("unit", pareto_k)},
        {"unit": list(units.labels)},
    )
    return table.assign_attrs(
        by=units.by,
        good_k=largest_good_k(draws),
        integrated=own_term.name if own_term else "",
        without_unit=int((units.code < 0).sum()),
    )


def predict_unit(posterior: xr.Dataset, design: Design, units: Units, unit: int) -> float:
    """Return the log of the mean of p(y_u) over draws of a fit without the unit's ratings."""
    block, raters = range(unit, unit + 1), rater_log_likelihood(posterior, design)
    ordered = _order_ratings(design, units)
    values = _sum_units(posterior, design, ordered, block, rater_sums=raters)[:, 0]
    return float(logsumexp(values) - np.log(len(values)))


def find_own_term(design: Design, units: Units) -> Term | None:
    """Return the term that is integrated out: its effects belong to one unit each.

    There is one if exactly one term has effects of single units, one effect each, that are
    independent and normal; None otherwise, and for single ratings.
    """
    if units.by == RATING:
        return None
    of_units = [t for t in design.terms if parent_of(t.index, units.code, size=t.size) is not None]
    if len(of_units) != 1:
        return None
    term = of_units[0]
    single = parent_of(units.code, term.index, size=len(units.labels)) is not None
    complete = bool((term.index[units.code >= 0] >= 0).all())
    plain = isinstance(term.prior, Normal) and term.structure == "independent"
    return term if term.kind == "location" and single and plain and complete else None


def _order_ratings(design: Design, units: Units) -> OrderedRatings:
    """Return the ratings of each scale in the order of their units, and the unit of each."""
    ordered = []
    for scale in design.scales:
        code = units.code[scale.rows]
        order = np.argsort(code, kind="stable")
        ratings = replace(scale, rows=scale.rows[order], category=scale.category[order])
        ordered.append((ratings, code[order]))
    return ordered


def _select_units(
    ordered: OrderedRatings, block: range, *, size: int
) -> Iterator[tuple[ScaleRatings, Index]]:
    """Yield ratings of a block of units and the unit of each, at most ``size`` at once."""
    for scale, code in ordered:
        first, last = np.searchsorted(code, [block.start, block.stop])
        for start in range(int(first), int(last), size):
            part = slice(start, min(start + size, int(last)))
            ratings = replace(scale, rows=scale.rows[part], category=scale.category[part])
            yield ratings, code[part]


def _log_likelihood(
    posterior: xr.Dataset,
    design: Design,
    ordered: OrderedRatings,
    block: range,
    *,
    own_term: Term | None,
    rater_sums: Floats,
) -> Floats:
    """Return log p(y_u | the other ratings, draw) of a block of units; shape (sample, unit).

    Given a draw, ratings are independent, except those of a rater who may be careless.
    ``rater_sums`` are the log-likelihoods of all ratings of such raters.
    """
    if own_term is None:
        return _sum_units(posterior, design, ordered, block, rater_sums=rater_sums)
    position = np.full(len(block), -1, dtype=np.int64)
    for ratings, unit in _select_units(ordered, block, size=BLOCK_VALUES):
        position[unit - block.start] = own_term.index[ratings.rows]
    pairs = _find_pairs(design, ordered, block)
    others = None
    if pairs is not None:
        inside = _sum_pairs(posterior, design, ordered, block, pairs)
        others = rater_sums[:, pairs.rater] - inside
    values = []
    for node, weight in _quadrature(posterior, own_term, position):
        changed = _with_effect(posterior, own_term, position, node)
        of_node = _sum_units(changed, design, ordered, block, others=others)
        values.append(of_node + weight)
    return logsumexp(np.stack(values), axis=0)


def _sum_units(
    posterior: xr.Dataset,
    design: Design,
    ordered: OrderedRatings,
    block: range,
    *,
    rater_sums: Floats | None = None,
    others: Floats | None = None,
) -> Floats:
    """Sum the log-likelihood of each unit's ratings; shape (sample, unit).

    Where raters may be careless, ``others`` are the log-likelihoods of the ratings of the raters of
    a unit outside it; they follow from ``rater_sums``, those of all their ratings.
    """
    draws = posterior.sizes["chain"] * posterior.sizes["draw"]
    total = np.zeros((draws, len(block)))
    for ratings, code in _select_units(ordered, block, size=max(1, BLOCK_VALUES // draws)):
        if careless_raters(design, ratings) is None:
            values = latent_ratings(posterior, design, ratings).log_probability()
            unit, first = np.unique(code, return_index=True)
            total[:, unit - block.start] += np.add.reduceat(values, first, axis=1)
    pairs = _find_pairs(design, ordered, block)
    if pairs is None:
        return total
    inside = _sum_pairs(posterior, design, ordered, block, pairs)
    if others is None:
        everything = rater_log_likelihood(posterior, design) if rater_sums is None else rater_sums
        others = everything[:, pairs.rater] - inside
    values = pairs.log_likelihood(inside, others, share_draws(posterior))
    return total + sum_columns(values, pairs.unit, size=len(block))


def _find_pairs(design: Design, ordered: OrderedRatings, block: range) -> RaterPairs | None:
    """Return the pairs of units in a block and raters who may be careless; None without any."""
    for ratings, code in _select_units(ordered, block, size=design.n_ratings):
        if careless_raters(design, ratings) is not None:
            return find_pairs(design, ratings, code - block.start)
    return None


def _sum_pairs(
    posterior: xr.Dataset,
    design: Design,
    ordered: OrderedRatings,
    block: range,
    pairs: RaterPairs,
) -> Floats:
    """Sum the log-likelihood of the ratings of each pair under the ordinal model."""
    draws = posterior.sizes["chain"] * posterior.sizes["draw"]
    total = np.zeros((draws, len(pairs.unit)))
    for ratings, code in _select_units(ordered, block, size=max(1, BLOCK_VALUES // draws)):
        rater = careless_raters(design, ratings)
        if rater is not None:
            values = latent_ratings(posterior, design, ratings).log_probability()
            columns = pairs.columns(code - block.start, rater)
            total += sum_columns(values, columns, size=len(pairs.unit))
    return total


def _quadrature(
    posterior: xr.Dataset, term: Term, position: Index
) -> Iterator[tuple[Floats, Floats]]:
    """Yield effects at the nodes (unit,) and log weights with the prior density, (sample, unit).

    int p(y | x) N(x | 0, sd) dx = sum_n w_n exp(t_n^2) sqrt(2) s p(y | x_n) N(x_n | 0, sd),
    x_n = m + sqrt(2) s t_n, with m and s the posterior mean and sd of a unit's effect.
    """
    effects = flatten_draws(posterior[term.name], *term.dims)[:, position]
    mean, spread = effects.mean(axis=0), effects.std(axis=0)
    sd = sd_draws(posterior, term).reshape(-1, 1)
    for point, weight in zip(*roots_hermite(NODES), strict=True):
        node = mean + np.sqrt(2.0) * spread * point
        prior = -0.5 * (node / sd) ** 2 - np.log(sd) - 0.5 * np.log(2.0 * np.pi)
        yield node, prior + np.log(weight) + point**2 + np.log(np.sqrt(2.0) * spread)


def _with_effect(posterior: xr.Dataset, term: Term, position: Index, value: Floats) -> xr.Dataset:
    """Return the posterior with other effects of some units, the same in every draw."""
    flat = np.zeros(term.size)
    flat[position] = value
    effects = posterior[term.name].transpose("chain", "draw", *term.dims)
    values = np.broadcast_to(flat.reshape(term.shape), effects.shape)
    return posterior.assign({term.name: (effects.dims, values)})

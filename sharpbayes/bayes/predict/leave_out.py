"""How well a fit predicts what was left out: PSIS-LOO by rating, or by all ratings of a level.

The pointwise log-likelihood is computed from the posterior in blocks of ratings and dropped again,
so that memory does not grow with their number.

    elpd_u = log p(y_u | y without u),   u a rating, or all ratings of an item, rater, prompt, ...

estimated by Pareto-smoothed importance sampling (Vehtari, Gelman and Gabry 2017). Where a model
has one normal effect for each level that is left out, ratings of a level are predicted with a new
effect from its prior, integrated by adaptive Gauss-Hermite quadrature (Merkle, Furr and
Rabe-Hesketh 2019): importance sampling cannot forget an effect that the left-out ratings informed.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import arviz as az
import numpy as np
import xarray as xr
from arviz_stats.utils import ELPDDataLOO
from numpy.typing import NDArray
from scipy.special import logsumexp, roots_hermite

from sharpbayes.bayes.design.crossing import Index, parent_of
from sharpbayes.bayes.design.design import Design, ScaleRatings, Term
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.kernel.layout import parameter_layout
from sharpbayes.bayes.predict.categories import log_probability
from sharpbayes.bayes.predict.psis import psis_loo
from sharpbayes.bayes.predict.replication import latent_ratings
from sharpbayes.bayes.sampling.geometry import choose_weights
from sharpbayes.bayes.sampling.nuts import sample_kernel
from sharpbayes.data.ratings import Ratings
from sharpbayes.execution.threads import thread_map
from sharpbayes.spec.model import Model, Normal
from sharpbayes.spec.study import Sampler

Floats = NDArray[np.float64]

# Log-likelihoods held at once by a thread, 8 bytes each; its temporaries are some ten times that.
BLOCK_CELLS = 1_000_000
NODES = 15
RATING = "rating"
# Above it importance weights are not to be relied on, however many draws there are.
WORST_K = 0.7


@dataclass(frozen=True)
class Units:
    """What is left out together.

    Attributes:
        by: ``rating``, or the name of a column.
        labels: Label of each unit.
        code: Unit of each rating, -1 for none; shape (rating,).
    """

    by: str
    labels: tuple[str, ...]
    code: Index


def units(ratings: Ratings, by: str) -> Units:
    """Return the units of a column that have ratings, or single ratings.

    Args:
        ratings: Observed ratings.
        by: ``rating``, or the name of a column.
    """
    if by == RATING:
        count = len(ratings.score)
        return Units(by, tuple(map(str, range(count))), np.arange(count))
    held = ratings.factors[by]
    used, code = np.unique(held.codes[held.codes >= 0], return_inverse=True)
    found = np.full(len(held.codes), -1, dtype=np.int64)
    found[held.codes >= 0] = code
    return Units(by, tuple(held.labels[each] for each in used), found)


def rank_models(found: Mapping[str, xr.Dataset], *, draws: Mapping[str, int]) -> xr.Dataset:
    """Return models, best first, with differences to the best and stacking weights, by ArviZ.

    Args:
        found: What :func:`leave_out` returns, by model; the same units in all.
        draws: Number of draws of each.

    Returns:
        Over ``model``: ``elpd``, ``elpd_se``, ``p``, ``elpd_difference`` (0 for the best, negative
        for all others), ``difference_se``, ``weight``.
    """
    held = {name: _elpd_data(each, draws[name]) for name, each in found.items()}
    with warnings.catch_warnings():
        # Pareto k is told beside the table, unit by unit.
        warnings.simplefilter("ignore")
        table = az.compare(held, round_to="none")
    columns = {
        "elpd": "elpd",
        "elpd_se": "se",
        "p": "p",
        "elpd_difference": "elpd_diff",
        "difference_se": "dse",
        "weight": "weight",
    }
    values = {ours: ("model", table[theirs].to_numpy(float)) for ours, theirs in columns.items()}
    return xr.Dataset(values, {"model": [str(name) for name in table.index]})


def _elpd_data(found: xr.Dataset, draws: int) -> ELPDDataLOO:
    """What ArviZ compares."""
    elpd, count = found["elpd"], found.sizes["unit"]
    return ELPDDataLOO(
        elpd=float(elpd.sum()),
        se=float(np.sqrt(count * elpd.var())),
        p=float(found["p"].sum()),
        n_samples=draws,
        n_data_points=count,
        scale="log",
        warning=False,
        good_k=found.attrs["good_k"],
        elpd_i=elpd,
        pareto_k=found["pareto_k"],
    )


def leave_out(posterior: xr.Dataset, design: Design, left: Units) -> xr.Dataset:
    """Return the expected log predictive density of every unit when it is left out.

    Args:
        posterior: Draws of the model's variables.
        design: Terms of the model indexed by ratings.
        left: What is left out together.

    Returns:
        ``elpd``, ``p`` (effective parameters) and ``pareto_k`` over ``unit``; the attributes
        ``good_k``, above which a unit's number is not to be relied on, and ``integrated``, the
        term that is integrated out, empty if none.
    """
    draws = posterior.sizes["chain"] * posterior.sizes["draw"]
    own = find_own_effect(design, left)
    chunks = list(_chunks(left, draws=draws * (NODES if own else 1)))
    ordered = _Ordered.of(design, left)

    def of_chunk(chunk: range) -> tuple[Floats, Floats, Floats]:
        values = _unit_log_likelihood(posterior, design, ordered, chunk, own)
        return psis_loo(values)

    parts = thread_map(of_chunk, chunks)
    elpd, pareto_k, p = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    table = xr.Dataset(
        {"elpd": ("unit", elpd), "p": ("unit", p), "pareto_k": ("unit", pareto_k)},
        {"unit": list(left.labels)},
    )
    table.attrs |= {
        "by": left.by,
        "good_k": min(1.0 - 1.0 / np.log10(draws), WORST_K),
        "integrated": own.name if own else "",
        "without_unit": int((left.code < 0).sum()),
    }
    return table


def predict_unit(posterior: xr.Dataset, design: Design, left: Units, unit: int) -> float:
    """Return log p(y_u) under draws that have not seen the unit's ratings: an exact refit's elpd.

    Args:
        posterior: Draws of a fit without the unit.
        design: The design with the unit's ratings.
        left: All units.
        unit: The unit.
    """
    chunk = range(unit, unit + 1)
    values = _unit_log_likelihood(posterior, design, _Ordered.of(design, left), chunk, None)
    return float(logsumexp(values[:, 0]) - np.log(len(values)))


def refit_without_unit(
    ratings: Ratings, model: Model, sampler: Sampler, left: Units, unit: int, *, seed: int
) -> float:
    """Return a unit's elpd by fitting the model again without its ratings.

    Missing (nan) where the unit holds every rating of a scale.

    Args:
        ratings: All ratings.
        model: The model file.
        sampler: Settings of the fit.
        left: All units.
        unit: The unit that is left out.
        seed: Seed of the fit.
    """
    others = ratings.of(left.code != unit)
    whole, design = build_design(ratings, model), build_design(others, model)
    names = {scale.name for scale in design.scales}
    if design.unsupported_by_kernel or names != {scale.name for scale in whole.scales}:
        return float("nan")
    design = build_design(others, model, non_centring=choose_weights(design, seed=seed))
    trace = sample_kernel(design, parameter_layout(design), sampler, seed=seed)
    posterior = _anew(trace["posterior"].to_dataset(), design, seed=seed)
    return predict_unit(posterior, whole, left, unit)


def _anew(posterior: xr.Dataset, design: Design, *, seed: int) -> xr.Dataset:
    """Draw gap_terms of levels without ratings, which a fit leaves missing, from their prior."""
    rng = np.random.default_rng(seed)
    for term in design.terms_of("gap"):
        held = posterior[term.name].transpose("chain", "draw", *term.dims)
        sd = _sd(posterior, term).reshape(held.shape[:2])
        unit = xr.DataArray(rng.normal(size=held.shape), held.coords, held.dims)
        drawn = unit * xr.DataArray(sd, dims=("chain", "draw"))
        posterior = posterior.assign({term.name: held.fillna(drawn)})
    return posterior


def find_own_effect(design: Design, left: Units) -> Term | None:
    """Return the term that is integrated out: the one whose effects are a unit's alone.

    There is one if exactly one term has effects of single units, one effect each, that are
    independent and normal; None otherwise, and for single ratings.
    """
    if left.by == RATING:
        return None
    own = [term for term in design.terms if _is_own(term, left)]
    if len(own) != 1:
        return None
    (term,) = own
    single = parent_of(left.code, term.index, size=len(left.labels)) is not None
    everywhere = bool((term.index[left.code >= 0] >= 0).all())
    plain = isinstance(term.prior, Normal) and not term.zero_sum and not term.correlation
    return term if term.kind == "location" and single and plain and everywhere else None


def _is_own(term: Term, left: Units) -> bool:
    """Whether each effect of a term is of one unit's ratings only."""
    return parent_of(term.index, left.code, size=term.size) is not None


@dataclass(frozen=True)
class _Ordered:
    """Ratings of each scale in the order of their units: rows, levels and units."""

    scales: tuple[ScaleRatings, ...]
    code: tuple[Index, ...]

    @classmethod
    def of(cls, design: Design, left: Units) -> "_Ordered":
        scales, codes = [], []
        for scale in design.scales:
            code = left.code[scale.rows]
            order = np.argsort(code, kind="stable")
            scales.append(replace(scale, rows=scale.rows[order], category=scale.category[order]))
            codes.append(code[order])
        return cls(tuple(scales), tuple(codes))


def _chunks(left: Units, *, draws: int) -> Iterator[range]:
    """Cut units into runs whose sums are held at once."""
    step = max(1, BLOCK_CELLS // draws)
    for start in range(0, len(left.labels), step):
        yield range(start, min(start + step, len(left.labels)))


def _unit_log_likelihood(
    posterior: xr.Dataset, design: Design, ordered: _Ordered, chunk: range, own: Term | None
) -> Floats:
    """Return log p(y_u | draw) of the units of a chunk; shape (sample, unit)."""
    if own is None:
        return _summed(posterior, design, ordered, chunk)
    effect = _of_units(own, ordered, chunk)
    nodes = _nodes(posterior, own, effect)
    values = [
        _summed(_with_effect(posterior, own, effect, node), design, ordered, chunk) + weight
        for node, weight in nodes
    ]
    integrated: Floats = logsumexp(np.stack(values), axis=0)
    return integrated


def _summed(posterior: xr.Dataset, design: Design, ordered: _Ordered, chunk: range) -> Floats:
    """Sum the log-likelihood of each unit's ratings; shape (sample, unit)."""
    draws = posterior.sizes["chain"] * posterior.sizes["draw"]
    total = np.zeros((draws, len(chunk)))
    step = max(1, BLOCK_CELLS // draws)
    for scale, code in zip(ordered.scales, ordered.code, strict=True):
        first, last = np.searchsorted(code, [chunk.start, chunk.stop])
        for start in range(int(first), int(last), step):
            part = slice(start, min(start + step, int(last)))
            block = replace(scale, rows=scale.rows[part], category=scale.category[part])
            values = log_probability(latent_ratings(posterior, design, block))
            inside, where = np.unique(code[part], return_index=True)
            total[:, inside - chunk.start] += np.add.reduceat(values, where, axis=1)
    return total


def _of_units(own: Term, ordered: _Ordered, chunk: range) -> Index:
    """Position of the own effect of each unit of a chunk."""
    position = np.full(len(chunk), -1, dtype=np.int64)
    for scale, code in zip(ordered.scales, ordered.code, strict=True):
        first, last = np.searchsorted(code, [chunk.start, chunk.stop])
        position[code[first:last] - chunk.start] = own.index[scale.rows[first:last]]
    return position


def _nodes(posterior: xr.Dataset, own: Term, effect: Index) -> Sequence[tuple[Floats, Floats]]:
    """Return effects at the nodes (unit,) and log weights, prior density included, (sample, unit).

    int p(y | x) N(x | 0, sd) dx = sum_n w_n exp(t_n^2) sqrt(2) s p(y | x_n) N(x_n | 0, sd),
    x_n = m + sqrt(2) s t_n, with m and s the posterior mean and sd of a unit's effect.
    """
    values = posterior[own.name].transpose("chain", "draw", *own.dims).to_numpy()
    flat = values.reshape(-1, own.size)[:, effect]
    middle, spread = flat.mean(axis=0), flat.std(axis=0)
    sd = _sd(posterior, own)
    found = []
    for point, weight in zip(*roots_hermite(NODES), strict=True):
        node = middle + np.sqrt(2.0) * spread * point
        prior = -0.5 * (node / sd) ** 2 - np.log(sd) - 0.5 * np.log(2.0 * np.pi)
        found.append((node, prior + np.log(weight) + point**2 + np.log(np.sqrt(2.0) * spread)))
    return found


def _sd(posterior: xr.Dataset, own: Term) -> Floats:
    """Return the sd of a term's effects, draw by draw; shape (sample, 1)."""
    if isinstance(own.prior.sd, float):
        draws = posterior.sizes["chain"] * posterior.sizes["draw"]
        return np.full((draws, 1), own.prior.sd)
    return posterior[f"sd_{own.stem}"].transpose("chain", "draw").to_numpy().reshape(-1, 1)


def _with_effect(posterior: xr.Dataset, own: Term, effect: Index, node: Floats) -> xr.Dataset:
    """Return the posterior with other effects of some units, the same in every draw."""
    flat = np.zeros(own.size)
    flat[effect] = node
    old = posterior[own.name].transpose("chain", "draw", *own.dims)
    values = np.broadcast_to(flat.reshape(own.shape), old.shape)
    return posterior.assign({own.name: (old.dims, values)})

"""Log-density and gradient of a whole model in one pass over its ratings, by numba.

The machine code knows nothing of the data: sizes and addresses come in a :class:`KernelData`, so that it
is compiled once a machine and read from disk ever after. The coordinates are those of the PyMC
model of :mod:`sharpbayes.bayes.graph.model`, which is the definition.
"""

import math

import numba
import numpy as np

from sharpbayes.bayes.kernel.adjacent import (
    adjacent_run,
    exact_adjacent_run,
    in_range,
    weigh_levels,
)
from sharpbayes.bayes.kernel.correlated import correlation_factor, sd_of
from sharpbayes.bayes.kernel.cumulative import (
    exact_run,
    exp_table,
    highest_run,
    inner_run,
    lowest_run,
    probit_run,
)
from sharpbayes.bayes.kernel.cutpoints import scale_buffers, thresholds_backward, thresholds_forward
from sharpbayes.bayes.kernel.effects import dot_of, term_backward, term_forward
from sharpbayes.bayes.kernel.plan import ADJACENT, AT, LOGIT, PROBIT

LOG_2 = math.log(2.0)
jit = numba.njit(error_model="numpy", nogil=True)


@jit
def density(p, z, grad):
    """Return the log density at coordinates ``z`` and write its gradient."""
    U, own, slope = np.zeros(p.sizes[1]), np.empty(p.sizes[2]), np.zeros(p.sizes[1])
    sampled, common = scale_buffers(p), scale_buffers(p)
    cuts, gaps = np.empty(p.sizes[3]), np.empty(p.sizes[3])
    grad[:] = 0.0
    total = 0.0
    for t in range(p.term.shape[0]):
        total += term_forward(p, t, z, U, own)
    total += thresholds_forward(p, z, U, sampled, common, cuts, gaps)
    cut_slope, gap_slope = np.zeros(p.sizes[3]), np.zeros(p.sizes[3])
    total += likelihood(p, U, cuts, gaps, slope, cut_slope, gap_slope)
    thresholds_backward(p, z, sampled, common, gaps, cut_slope, gap_slope, slope, grad)
    for t in range(p.term.shape[0] - 1, -1, -1):
        total += term_backward(p, t, z, own, slope, grad)
    return total


@jit
def expand(p, z, out):
    """Write what is kept of a draw: effects, thresholds, sds and correlations."""
    scales = scale_buffers(p)
    U, own, common = np.zeros(p.sizes[1]), out[: p.sizes[2]], out[p.sizes[2] :][: len(scales)]
    at = p.sizes[2] + len(scales)
    for t in range(p.term.shape[0]):
        term_forward(p, t, z, U, own)
    thresholds_forward(p, z, U, scales, common, np.empty(p.sizes[3]), np.empty(p.sizes[3]))
    for t in range(p.term.shape[0]):
        if p.term[t, AT.sd_z] >= 0:
            for d in range(p.term[t, AT.levels]):
                out[at] = sd_of(p, t, z, d)
                at += 1
    for t in range(p.term.shape[0]):
        if p.term[t, AT.corr_z] >= 0:
            factor = correlation_factor(p, t, z)
            for value in np.dot(factor, factor.T).ravel():
                out[at] = value
                at += 1


@jit
def likelihood(p, U, cuts, gaps, slope, cut_slope, gap_slope):
    """Return the log-likelihood; add its slope in effects, thresholds and gaps."""
    factors = p.factor_links.shape[0]
    a, a_slope = np.empty(factors), np.zeros(factors)
    for q in range(factors):
        total = 0.0
        for link in p.factor_links[q]:
            total += U[link]
        a[q] = math.exp(total)
    cells, keys, places = len(p.cell_place), p.outer_links.shape[1], p.place_links.shape[1]
    v, cell_slope = np.empty(cells), np.zeros(cells)
    outer, outer_slope = np.zeros(keys), np.zeros(keys)
    severity, place_slope = np.zeros(places), np.zeros(places)
    gather(p.place_links, U, severity)
    gather(p.outer_links, U, outer)
    for q in range(factors):
        for c in range(p.factor_start[q], p.factor_start[q + 1]):
            v[c] = a[q] * severity[p.cell_place[c]]
    total = gap_terms(p, a, gaps, gap_slope, a_slope) if p.sizes[4] == LOGIT else 0.0
    if p.sizes[4] == ADJACENT:
        total += adjacent_runs(p, a, v, outer, cuts, cell_slope, outer_slope, cut_slope, a_slope)
    else:
        total += all_runs(p, a, v, outer, cuts, gaps, cell_slope, outer_slope, cut_slope, a_slope)
    for q in range(factors):
        first, last = p.factor_start[q], p.factor_start[q + 1]
        a_slope[q] += dot_of(cell_slope[first:last], v[first:last])
        for c in range(first, last):
            place_slope[p.cell_place[c]] += cell_slope[c] * a[q]
    scatter(p.place_links, place_slope, slope)
    scatter(p.outer_links, outer_slope, slope)
    for q in range(factors):
        for link in p.factor_links[q]:
            slope[link] += a_slope[q]
    return total


@jit
def gather(links, U, out):
    """Add up the effects of each combination."""
    for j in range(links.shape[0]):
        for i in range(links.shape[1]):
            out[i] += U[links[j, i]]


@jit
def scatter(links, values, slope):
    """Add the slope of each combination to those of its effects."""
    for j in range(links.shape[0]):
        for i in range(links.shape[1]):
            slope[links[j, i]] += values[i]


@jit
def gap_terms(p, a, gaps, gap_slope, a_slope):
    """Return sum n log(1 - exp(-a gap)) over the inner levels of every set and factor."""
    total = 0.0
    for i in range(p.pair.shape[0]):
        s, q = p.pair[i, 0], p.pair[i, 1]
        start = p.set_[s, 1]
        for k in range(p.scale[p.set_[s, 0], 1] - 1):
            n = p.tally[p.pair[i, 2] + k]
            if n > 0.0:
                wide = a[q] * gaps[start + k]
                narrow = -math.expm1(-wide)
                total += n * (math.log(narrow) if wide < LOG_2 else math.log1p(-math.exp(-wide)))
                per = n * math.exp(-wide) / narrow
                gap_slope[start + k] += per * a[q]
                a_slope[q] += per * wide
    return total


@jit
def all_runs(p, a, v, outer, cuts, gaps, cell_slope, outer_slope, cut_slope, a_slope):
    """Go through all runs of ratings between two thresholds; add their slopes."""
    runs = p.run.shape[0]
    upper, lower = np.zeros(runs), np.zeros(runs)
    over, under = np.zeros(runs), np.zeros(runs)
    bounds_of_runs(p, a, outer, cuts, upper, lower)
    if p.sizes[4] == PROBIT:
        total = probit_runs(p, a, v, gaps, upper, lower, cell_slope, over, under)
    else:
        total = logit_runs(p, v, upper, lower, cell_slope, over, under)
    for r in range(runs):
        key, s, q, below, above = p.run[r]
        start = p.set_[s, 1]
        outer_slope[key] -= a[q] * (over[r] + under[r])
        if above >= 0:
            cut_slope[start + above] += a[q] * over[r]
            a_slope[q] += over[r] * upper[r]
        if below >= 0:
            cut_slope[start + below] += a[q] * under[r]
            a_slope[q] += under[r] * lower[r]
    return total


@jit
def bounds_of_runs(p, a, outer, cuts, upper, lower):
    """Write the thresholds about each run, less what is constant in it; 0 beyond ends."""
    for r in range(p.run.shape[0]):
        key, s, q, below, above = p.run[r]
        start = p.set_[s, 1]
        if above >= 0:
            upper[r] = a[q] * (cuts[start + above] - outer[key])
        if below >= 0:
            lower[r] = a[q] * (cuts[start + below] - outer[key])


@jit
def logit_runs(p, v, upper, lower, cell_slope, over, under):
    """Return the log-likelihood of all runs under the logistic, inner gaps left out."""
    table, high, low = np.empty(len(v)), np.empty(len(upper)), np.empty(len(upper))
    tame = exp_table(v, 1.0, table) and exp_table(upper, -1.0, high) and exp_table(lower, 1.0, low)
    total, product = 0.0, 1.0
    for r in range(p.run.shape[0]):
        below, above = p.run[r, 3], p.run[r, 4]
        cells = p.rating_cell[p.run_start[r] : p.run_start[r + 1]]
        if not tame:
            more, over[r], under[r] = exact_run(
                cells,
                v,
                lower[r] if below >= 0 else -np.inf,
                upper[r] if above >= 0 else np.inf,
                cell_slope,
            )
        elif below < 0:
            product, more, over[r] = lowest_run(cells, table, high[r], product, cell_slope)
        elif above < 0:
            product, more, under[r] = highest_run(cells, table, low[r], product, cell_slope)
        else:
            product, more, over[r], under[r] = inner_run(
                cells, table, low[r], high[r], product, cell_slope
            )
        total += more
    return total + math.log(product)


@jit
def probit_runs(p, a, v, gaps, upper, lower, cell_slope, over, under):
    """Return the log-likelihood of all runs under the normal."""
    total = 0.0
    for r in range(p.run.shape[0]):
        _, s, q, below, above = p.run[r]
        more, over[r], under[r] = probit_run(
            p.rating_cell[p.run_start[r] : p.run_start[r + 1]],
            v,
            lower[r] if below >= 0 else -np.inf,
            upper[r] if above >= 0 else np.inf,
            a[q] * gaps[p.set_[s, 1] + below] if below >= 0 and above >= 0 else np.inf,
            cell_slope,
        )
        total += more
    return total


@jit
def adjacent_runs(p, a, v, outer, cuts, cell_slope, outer_slope, cut_slope, a_slope):
    """Go through all runs of an adjacent-category model; add their slopes."""
    widest = 1 + np.max(p.scale[:, 1])
    t, climb, weight, share = np.zeros((4, widest))
    table, farthest = np.empty(len(v)), 0.0
    near = exp_table(v, 1.0, table)
    for each in v:
        farthest = max(farthest, abs(each))
    total, product = 0.0, 1.0
    for r in range(p.run.shape[0]):
        key, s, q, below, _ = p.run[r]
        start, levels = p.set_[s, 1], p.scale[p.set_[s, 0], 1] + 1
        cells = p.rating_cell[p.run_start[r] : p.run_start[r + 1]]
        if r == 0 or p.run[r - 1, 0] != key or p.run[r - 1, 1] != s or p.run[r - 1, 2] != q:
            for j in range(levels - 1):
                t[j] = a[q] * (cuts[start + j] - outer[key])
            weigh_levels(t[: levels - 1], climb, weight)
        share[:] = 0.0
        if near and in_range(climb[:levels], farthest):
            product, more = adjacent_run(
                cells, v, table, climb, weight[:levels], below + 1, product, cell_slope, share
            )
        else:
            more = exact_adjacent_run(cells, v, climb[:levels], below + 1, cell_slope, share)
        total += more
        above = 0.0
        for j in range(levels - 2, -1, -1):
            above += share[j + 1]
            steep = above - (len(cells) if j <= below else 0)
            outer_slope[key] -= a[q] * steep
            cut_slope[start + j] += a[q] * steep
            a_slope[q] += steep * t[j]
    return total + math.log(product)

"""Log-density and gradient of a whole model in one pass over its ratings, by numba.

The machine code knows nothing of the data: sizes and addresses come in a :class:`Plan`, so that it
is compiled once a machine and read from disk ever after. The coordinates are those of the PyMC
model of :mod:`sharpbayes.bayes.build`, which is the definition.
"""

import math

import numba
import numpy as np

from sharpbayes.bayes.correlated import correlation_factor, sd_of
from sharpbayes.bayes.effects import dot_of, term_backward, term_forward
from sharpbayes.bayes.plan import AT
from sharpbayes.bayes.runs import (
    exact_run,
    exp_table,
    highest_run,
    inner_run,
    lowest_run,
    probit_run,
)

LOG_2 = math.log(2.0)
LOG_2PI = math.log(2.0 * math.pi)
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
def scale_buffers(p):
    """Return room for the thresholds of all scales."""
    last = p.scale.shape[0] - 1
    return np.zeros(p.scale[last, 4] + p.scale[last, 1])


@jit
def thresholds_forward(p, z, U, sampled, common, cuts, gaps):
    """Write the thresholds of scales (sampled ones and those of the model) and of sets."""
    total = 0.0
    for s in range(p.scale.shape[0]):
        at, n, anchor, pivot, first = p.scale[s, 0], p.scale[s, 1], p.scale[s, 2], p.scale[s, 3], 0
        first = p.scale[s, 4]
        spread(z[at], z[at + 1 : at + n], anchor, sampled[first : first + n])
        shift = 0.0
        for link in p.shift[s]:
            shift += U[link]
        base = np.empty(n - 1)
        for k in range(n - 1):
            base[k] = z[at + 1 + k] - stretch_of(p, s, k, U)
            total += base[k]
        spread(sampled[first + pivot] + shift, base, pivot, common[first : first + n])
        mean, sd = p.scale_prior[s, 0], p.scale_prior[s, 1]
        for k in range(n):
            ratio = (common[first + k] - mean) / sd
            total -= 0.5 * ratio * ratio + math.log(sd) + 0.5 * LOG_2PI
        total += math.lgamma(n + 1.0)
    for i in range(p.set_.shape[0]):
        set_thresholds(p, i, z, U, sampled, cuts, gaps)
    return total


@jit
def stretch_of(p, s, k, U):
    """Return the mean stretch that the sampled k-th gap of a scale holds."""
    total = 0.0
    for link in p.stretch[s]:
        if link:
            total += U[link + k]
    return total


@jit
def spread(value, log_gaps, position, out):
    """Write growing values from log gaps and the value at a position."""
    out[position] = value
    for k in range(position, len(log_gaps)):
        out[k + 1] = out[k] + math.exp(log_gaps[k])
    for k in range(position - 1, -1, -1):
        out[k] = out[k + 1] - math.exp(log_gaps[k])


@jit
def set_thresholds(p, i, z, U, sampled, cuts, gaps):
    """Write the thresholds and gaps of one set."""
    s, start = p.set_[i, 0], p.set_[i, 1]
    at, n, pivot, first = p.scale[s, 0], p.scale[s, 1], p.scale[s, 3], p.scale[s, 4]
    logs = np.empty(n - 1)
    for k in range(n - 1):
        logs[k] = z[at + 1 + k]
        for link in p.set_links[i]:
            if link:
                logs[k] += U[link + k]
        gaps[start + k] = math.exp(logs[k])
    spread(sampled[first + pivot], logs, pivot, cuts[start : start + n])


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
    probit = p.sizes[4] == 1
    total = 0.0 if probit else gap_terms(p, a, gaps, gap_slope, a_slope)
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
            n = p.tally[p.pair[i, 2] + k + 1]
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
    """Go through all runs of ratings; add their slopes."""
    runs = p.run.shape[0]
    upper, lower = np.zeros(runs), np.zeros(runs)
    over, under = np.zeros(runs), np.zeros(runs)
    bounds_of_runs(p, a, outer, cuts, upper, lower)
    if p.sizes[4] == 1:
        total = probit_runs(p, a, v, gaps, upper, lower, cell_slope, over, under)
    else:
        total = logit_runs(p, v, upper, lower, cell_slope, over, under)
    for r in range(runs):
        key, s, level, q = p.run[r, 0], p.run[r, 1], p.run[r, 2], p.run[r, 3]
        start, top = p.set_[s, 1], p.scale[p.set_[s, 0], 1]
        outer_slope[key] -= a[q] * (over[r] + under[r])
        if level < top:
            cut_slope[start + level] += a[q] * over[r]
            a_slope[q] += over[r] * upper[r]
        if level > 0:
            cut_slope[start + level - 1] += a[q] * under[r]
            a_slope[q] += under[r] * lower[r]
    return total


@jit
def bounds_of_runs(p, a, outer, cuts, upper, lower):
    """Write the thresholds about each run's level, less what is constant in it; 0 beyond ends."""
    for r in range(p.run.shape[0]):
        key, s, level, q = p.run[r, 0], p.run[r, 1], p.run[r, 2], p.run[r, 3]
        start, top = p.set_[s, 1], p.scale[p.set_[s, 0], 1]
        if level < top:
            upper[r] = a[q] * (cuts[start + level] - outer[key])
        if level > 0:
            lower[r] = a[q] * (cuts[start + level - 1] - outer[key])


@jit
def logit_runs(p, v, upper, lower, cell_slope, over, under):
    """Return the log-likelihood of all runs under the logistic, inner gaps left out."""
    table, high, low = np.empty(len(v)), np.empty(len(upper)), np.empty(len(upper))
    tame = exp_table(v, 1.0, table) and exp_table(upper, -1.0, high) and exp_table(lower, 1.0, low)
    total, product = 0.0, 1.0
    for r in range(p.run.shape[0]):
        first, last, level = p.run_start[r], p.run_start[r + 1], p.run[r, 2]
        top = p.scale[p.set_[p.run[r, 1], 0], 1]
        cells = p.rating_cell[first:last]
        if not tame:
            more, over[r], under[r] = exact_run(
                cells,
                v,
                lower[r] if level > 0 else -np.inf,
                upper[r] if level < top else np.inf,
                cell_slope,
            )
        elif level == 0:
            product, more, over[r] = lowest_run(cells, table, high[r], product, cell_slope)
        elif level == top:
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
        s, level, q = p.run[r, 1], p.run[r, 2], p.run[r, 3]
        start, top = p.set_[s, 1], p.scale[p.set_[s, 0], 1]
        inside = 0 < level < top
        more, over[r], under[r] = probit_run(
            p.rating_cell[p.run_start[r] : p.run_start[r + 1]],
            v,
            lower[r] if level > 0 else -np.inf,
            upper[r] if level < top else np.inf,
            a[q] * gaps[start + level - 1] if inside else np.inf,
            cell_slope,
        )
        total += more
    return total


@jit
def thresholds_backward(p, z, sampled, common, gaps, cut_slope, gap_slope, slope, grad):
    """Turn the slopes of thresholds and gaps into those of coordinates and effects."""
    held = np.zeros(len(sampled))
    for i in range(p.set_.shape[0]):
        s, start = p.set_[i, 0], p.set_[i, 1]
        at, n, pivot, first = p.scale[s, 0], p.scale[s, 1], p.scale[s, 3], p.scale[s, 4]
        held[first + pivot] += spread_backward(
            cut_slope[start : start + n], gap_slope[start : start + n], pivot
        )
        for k in range(n - 1):
            steep = gap_slope[start + k] * gaps[start + k]
            grad[at + 1 + k] += steep
            for link in p.set_links[i]:
                if link:
                    slope[link + k] += steep
    for s in range(p.scale.shape[0]):
        scale_backward(p, s, z, common, held, slope, grad)


@jit
def spread_backward(values, gaps, position):
    """Add the slopes of growing values to those of their gaps; return that of the value."""
    total = 0.0
    for k in range(len(values) - 1, position, -1):
        total += values[k]
        gaps[k - 1] += total
    below = 0.0
    for k in range(position):
        below += values[k]
        gaps[k] -= below
    return total + below + values[position]


@jit
def scale_backward(p, s, z, common, held, slope, grad):
    """Add the prior of a scale's thresholds, then go from the pivot to the anchor."""
    at, n, anchor, pivot, first = p.scale[s]
    mean, sd = p.scale_prior[s, 0], p.scale_prior[s, 1]
    values, steps = np.empty(n), np.zeros(n)
    for k in range(n):
        values[k] = -(common[first + k] - mean) / (sd * sd)
    moved = spread_backward(values, steps, pivot)
    for link in p.shift[s]:
        slope[link] += moved
    for k in range(n - 1):
        steep = steps[k] * abs(common[first + k + 1] - common[first + k]) + 1.0
        grad[at + 1 + k] += steep
        for link in p.stretch[s]:
            if link:
                slope[link + k] -= steep
    at_pivot, moves = np.zeros(n), np.zeros(n)
    at_pivot[pivot] = moved + held[first + pivot]
    grad[at] += spread_backward(at_pivot, moves, anchor)
    for k in range(n - 1):
        grad[at + 1 + k] += moves[k] * math.exp(z[at + 1 + k])

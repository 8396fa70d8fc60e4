"""Log density and gradient of a whole model in one pass over its ratings, by numba.

The machine code knows nothing of a study: sizes and addresses come in a :class:`KernelData`, so
that it is compiled once a machine and read from disk ever after. The coordinates z are those of the
PyMC model of :mod:`sharpbayes.bayes.graph.model`, which is the definition.

``dx`` is the derivative of the log density by ``x`` (its adjoint): each forward function has a
backward one, which passes derivatives of its results on to its inputs. Ratings come in between the
two halves of the density alone, as :func:`likelihood`, so that parts of them may be elsewhere
(:mod:`sharpbayes.bayes.kernel.parts`).
"""

import math

import numpy as np

from sharpbayes.bayes.kernel.adjacent import adjacent_blocks
from sharpbayes.bayes.kernel.careless import (
    careless_blocks,
    reference_backward,
    reference_offsets,
    share_backward,
    share_forward,
)
from sharpbayes.bayes.kernel.correlated import correlation_factor
from sharpbayes.bayes.kernel.cutpoints import cutpoints_backward, cutpoints_forward
from sharpbayes.bayes.kernel.data import ADJACENT, AT, LOGIT, SIZE
from sharpbayes.bayes.kernel.effects import term_backward, term_forward
from sharpbayes.bayes.kernel.held_means import hold_backward, hold_forward
from sharpbayes.bayes.kernel.interval import inner_gaps, interval_blocks, logistic
from sharpbayes.bayes.kernel.sums import effects_log_sd
from sharpbayes.bayes.kernel.vectors import dot_of, jit, jit_inline


@jit_inline
def density(p, z, grad):
    """Return the log density at coordinates ``z`` and write its gradient."""
    total, inputs, state = density_forward(p, z)
    U, cutpoints, gaps, offsets = inputs
    dU, d_cutpoints, d_gaps = np.zeros(len(U)), np.zeros(len(gaps)), np.zeros(len(gaps))
    probability = np.zeros(len(offsets))
    total += likelihood(p, U, cutpoints, gaps, offsets, dU, d_cutpoints, d_gaps, probability)
    d_inputs = (dU, d_cutpoints, d_gaps, probability)
    return density_backward(p, z, inputs, d_inputs, state, total, grad)


@jit_inline
def density_forward(p, z):
    """Return the log prior so far, the inputs of the likelihood, and what the way back needs."""
    terms, sums, volume = z, np.zeros(len(p.held.mean)), 0.0
    if p.held.holder[0] >= 0:
        terms = z.copy()
        volume = hold_forward(p.terms, p.held, terms, sums)
    n = p.sizes[SIZE.cutpoints]
    U, stored = np.zeros(p.sizes[SIZE.vector]), np.empty(p.sizes[SIZE.effects])
    # Two arrays: rows of one are of another type, and functions would be compiled for both.
    sampled = np.zeros(p.sizes[SIZE.scale_cutpoints])
    common = np.zeros_like(sampled)
    cutpoints, gaps = np.empty(n), np.empty(n)
    total = share_forward(p, terms, U)
    for t in range(p.terms.term.shape[0]):
        total += term_forward(p.terms, t, terms, U, stored)
    total += cutpoints_forward(p, terms, U, sampled, common, cutpoints, gaps)
    offsets = reference_offsets(p, terms, U, stored)
    state = (volume, terms, sums, stored, sampled, common)
    return total, (U, cutpoints, gaps, offsets), state


@jit_inline
def density_backward(p, z, inputs, d_inputs, state, total, grad):
    """Write the gradient from the derivatives by the inputs of the likelihood.

    Return the log density: ``total`` and what the prior lacked.
    """
    volume, terms, sums, stored, sampled, common = state
    U, _, gaps, _ = inputs
    dU, d_cutpoints, d_gaps, probability = d_inputs
    grad[:] = 0.0
    reference_backward(p, terms, U, probability, dU, grad)
    cutpoints_backward(p, terms, sampled, common, gaps, d_cutpoints, d_gaps, dU, grad)
    for t in range(p.terms.term.shape[0] - 1, -1, -1):
        total += term_backward(p.terms, t, terms, stored, probability, dU, grad)
    share_backward(p, terms, dU, grad)
    if p.held.holder[0] >= 0:
        hold_backward(p.terms, p.held, z, terms, sums, grad)
    return volume + total


@jit_inline
def constrain(p, z, out):
    """Write what is stored of a draw: effects, cutpoints, sds, correlations; careless raters."""
    effects, n = p.sizes[SIZE.effects], p.sizes[SIZE.cutpoints]
    position = effects + p.sizes[SIZE.scale_cutpoints]
    U, sampled = np.zeros(p.sizes[SIZE.vector]), np.zeros(position - effects)
    if p.held.holder[0] >= 0:
        z = z.copy()
        hold_forward(p.terms, p.held, z, np.zeros(len(p.held.mean)))
    for t in range(p.terms.term.shape[0]):
        term_forward(p.terms, t, z, U, out[:effects])
    cutpoints, gaps = np.empty(n), np.empty(n)
    cutpoints_forward(p, z, U, sampled, out[effects:position], cutpoints, gaps)
    for t in range(p.terms.term.shape[0]):
        if p.terms.term[t, AT.sd_z] >= 0:
            for d in range(p.terms.term[t, AT.levels]):
                out[position] = math.exp(effects_log_sd(p.terms, t, z, d))
                position += 1
    for t in range(p.terms.term.shape[0]):
        if p.terms.term[t, AT.corr_z] >= 0:
            factor = correlation_factor(p.terms, t, z)
            for value in np.dot(factor, factor.T).ravel():
                out[position] = value
                position += 1
    if p.sizes[SIZE.careless] >= 0:
        out[position] = logistic(z[p.sizes[SIZE.careless]])
        share_forward(p, z, U)
        offsets, probability = reference_offsets(p, z, U, out), np.zeros(len(p.rater_block))
        zeros = np.zeros(n)
        likelihood(p, U, cutpoints, gaps, offsets, np.zeros(len(U)), zeros, zeros, probability)
        for r in range(1, len(p.rater_block) - 1):
            position += 1
            out[position] = probability[r]


@jit
def likelihood(p, U, cutpoints, gaps, offsets, dU, d_cutpoints, d_gaps, probability):
    """Return the log-likelihood; add its derivatives by effects, cutpoints and gaps.

    ``offsets`` are added to the log-likelihood of each careless rater; the probability that a rater
    is careless is written.
    """
    a, group = gather(p.discrimination_links, U), gather(p.group_links, U)
    location = gather(p.location_links, U)
    add_slopes(p.location_slopes, p.location_numbers, U, location)
    add_slopes(p.group_slopes, p.group_numbers, U, group)
    d_a, d_group, d_location = np.zeros(len(a)), np.zeros(len(group)), np.zeros(len(location))
    v, d_cell = np.empty(len(p.cell_location)), np.zeros(len(p.cell_location))
    for q in range(len(a)):
        a[q] = math.exp(a[q])
        for c in range(p.cell_start[q], p.cell_start[q + 1]):
            v[c] = a[q] * location[p.cell_location[c]]
    if p.sizes[SIZE.careless] >= 0:
        parameters, d_parameters = (
            (a, v, group, cutpoints, gaps),
            (d_cell, d_group, d_cutpoints, d_gaps, d_a),
        )
        total = careless_blocks(p, U, parameters, offsets, dU, d_parameters, probability)
    elif p.sizes[SIZE.form] == ADJACENT:
        total = adjacent_blocks(p, a, v, group, cutpoints, d_cell, d_group, d_cutpoints, d_a)
    else:
        logit = p.sizes[SIZE.form] == LOGIT
        total = inner_gaps(p, p.counts, a, gaps, d_gaps, d_a) if logit else 0.0
        total += interval_blocks(p, a, v, group, cutpoints, gaps, d_cell, d_group, d_cutpoints, d_a)
    for q in range(len(a)):
        first, last = p.cell_start[q], p.cell_start[q + 1]
        d_a[q] += dot_of(d_cell[first:last], v[first:last])
        for c in range(first, last):
            d_location[p.cell_location[c]] += d_cell[c] * a[q]
    scatter(p.location_links, d_location, dU)
    scatter(p.group_links, d_group, dU)
    scatter_slopes(p.location_slopes, p.location_numbers, d_location, dU)
    scatter_slopes(p.group_slopes, p.group_numbers, d_group, dU)
    scatter(p.discrimination_links, d_a, dU)
    return total


@jit
def gather(links, U):
    """Return the sum of the effects of each combination."""
    out = np.zeros(links.shape[1])
    for j in range(links.shape[0]):
        for i in range(links.shape[1]):
            out[i] += U[links[j, i]]
    return out


@jit
def scatter(links, values, dU):
    """Add the derivative by each combination to those by its effects."""
    for j in range(links.shape[0]):
        # Neighbours often share an effect: its sum is written when another effect comes.
        link = links[j, 0]
        total = dU[link]
        for i in range(links.shape[1]):
            if links[j, i] != link:
                dU[link] = total
                link = links[j, i]
                total = dU[link]
            total += values[i]
        dU[link] = total


@jit
def add_slopes(links, numbers, U, out):
    """Add the slopes of each combination times their numbers."""
    for j in range(links.shape[0]):
        for i in range(links.shape[1]):
            out[i] += numbers[j, i] * U[links[j, i]]


@jit
def scatter_slopes(links, numbers, values, dU):
    """Add the derivative by each combination, times its numbers, to those by its slopes."""
    for j in range(links.shape[0]):
        for i in range(links.shape[1]):
            dU[links[j, i]] += numbers[j, i] * values[i]

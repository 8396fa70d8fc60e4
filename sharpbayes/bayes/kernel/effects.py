"""Terms in the kernel: coordinates to effects and their log prior, and the gradient back.

The arithmetic of :mod:`sharpbayes.bayes.graph.terms`, on flat arrays. With coordinates z, groups of
effects reflected by R, sd, non-centring weight w and centres m,

    x = sd^w R z,   effects = x - m,   log prior = sum log p(effects | 0, sd) + n w log sd,

p normal or Student's t. The coordinate of a mean that cutpoints absorb has a weight of 1 (*unit
mean*).

Rows and columns of the tables are those of :class:`sharpbayes.bayes.kernel.data.TermData`.
"""

import math

import numpy as np

from sharpbayes.bayes.kernel.correlated import correlated_backward, correlated_forward, sd_of
from sharpbayes.bayes.kernel.data import AT, EXPONENTIAL, HALF_NORMAL, PRIOR
from sharpbayes.bayes.kernel.means import (
    dot_at,
    reflect,
    reflection,
    scale_at,
    split_means,
    split_means_backward,
)
from sharpbayes.bayes.kernel.sums import (
    effects_log_sd,
    effects_log_sd_backward,
    summand_backward,
    summand_forward,
)
from sharpbayes.bayes.kernel.vectors import add_times, dot_of, jit, multiply, write
from sharpbayes.bayes.kernel.zero_sum import zero_sum, zero_sum_backward

LOG_2PI = math.log(2.0 * math.pi)


@jit
def term_forward(p, t, z, U, stored):
    """Write a term's effects less their centres, and its part of ``U``; return their log prior."""
    row = p.term[t]
    if row[AT.sum] >= 0:
        return summand_forward(p, t, z, U, stored)
    free, size, u, means = row[AT.free], row[AT.size], row[AT.u], row[AT.means]
    x = stored[row[AT.stored] : row[AT.stored] + size]
    values = z[row[AT.z] : row[AT.z] + free]
    effects = U[u : u + size]
    total = -0.5 * free * LOG_2PI
    if row[AT.levels] > 1:
        start_effects(p, t, values, 1.0, x, effects)
        if row[AT.centred]:
            subtract_centres(p, t, U, x)
        total += correlated_forward(p, t, z, x)
        if not row[AT.centred]:
            write(x, effects)
    else:
        sd, weight = sd_of(p, t, z, 0), p.prior[t, PRIOR.weight]
        if row[AT.unit_means]:
            values = values.copy()
            positions = p.unit_mean[row[AT.unit_start] :][: row[AT.unit_means]]
            scale_at(positions, sd ** (1.0 - weight), values)
        start_effects(p, t, values, sd**weight, x, effects)
        subtract_centres(p, t, U, x)
        freedom = p.prior[t, PRIOR.freedom]
        total -= (free - row[AT.unit_means]) * (1.0 - weight) * math.log(sd)
        total += student_t(x, sd, freedom) if freedom > 0.0 else -0.5 * dot_of(x, x) / (sd * sd)
    split_means(p, t, effects, U[means : means + row[AT.groups]])
    return total


@jit
def start_effects(p, t, values, factor, x, effects):
    """Write R z, or effects that add up to 0, times a factor, to ``x`` and to ``effects``."""
    row = p.term[t]
    if not row[AT.zero_sum] and (row[AT.stride] == 1 or row[AT.groups] == 0):
        amount, first = reflection(values) if row[AT.groups] else (0.0, values[0])
        for i in range(len(values)):
            x[i] = (values[i] + amount) * factor
            effects[i] = x[i]
        x[0] = effects[0] = first * factor
        return
    if row[AT.zero_sum]:
        zero_sum(p.axes[t, : row[AT.zero_sum]], values, x)
    else:
        write(values, x)
        reflect(p, t, x)
    multiply(x, factor)
    write(x, effects)


@jit
def student_t(x, sd, freedom):
    """Return the log density of Student's t at effects, over that of sd-less normal ones at 0."""
    constant = math.lgamma(0.5 * (freedom + 1.0)) - math.lgamma(0.5 * freedom)
    constant += 0.5 * (LOG_2PI - math.log(freedom * math.pi))
    total = len(x) * constant
    for value in x:
        total -= 0.5 * (freedom + 1.0) * math.log1p(value * value / (freedom * sd * sd))
    return total


@jit
def prior_pull(x, sd, freedom):
    """Return minus the derivative of the log prior by effects."""
    pull, variance = np.empty(len(x)), sd * sd
    if freedom > 0.0:
        for i in range(len(x)):
            pull[i] = (freedom + 1.0) * x[i] / (freedom * sd * sd + x[i] * x[i])
    else:
        for i in range(len(x)):
            pull[i] = x[i] / variance
    return pull


@jit
def subtract_centres(p, t, U, x):
    """Take the centres of a term's effects from them."""
    row = p.term[t]
    for parent in range(row[AT.centres]):
        links = p.centre_links[row[AT.links] + parent * row[AT.size] :][: row[AT.size]]
        for i in range(len(links)):
            x[i] -= U[links[i]]


@jit
def term_backward(p, t, z, stored, probability, dU, grad):
    """Add a term's part of the gradient; return the log prior of its sd.

    ``probability`` is that of each rater to be careless: the effect has its reference then in place
    of its prior, if this is the term that has one.
    """
    row = p.term[t]
    if row[AT.sum] >= 0:
        d_sum = summand_backward(p, t, z, stored, dU, grad)
        centres_backward(p, row[AT.sum], d_sum, -1.0, dU)
        return sd_prior(p, t, z, grad)
    free = row[AT.free]
    x = stored[row[AT.stored] : row[AT.stored] + row[AT.size]]
    dx = dU[row[AT.u] : row[AT.u] + row[AT.size]].copy()
    split_means_backward(p, t, dx, dU[row[AT.means] : row[AT.means] + row[AT.groups]])
    d_log_sd, correlated = 0.0, row[AT.levels] > 1
    if correlated:
        correlated_backward(p, t, z, x, dx, dU, grad)
    else:
        d_log_sd = prior_backward(p, t, z, x, probability, dx, dU)
    # A term without a zero sum has as many coordinates as effects.
    dz = dx[:free]
    if row[AT.zero_sum]:
        zero_sum_backward(p.axes[t, : row[AT.zero_sum]], dx, dz)
    else:
        reflect(p, t, dx)
    values, weight = z[row[AT.z] : row[AT.z] + free], p.prior[t, PRIOR.weight]
    if row[AT.unit_means]:
        positions = p.unit_mean[row[AT.unit_start] :][: row[AT.unit_means]]
        scale_at(positions, sd_of(p, t, z, 0) ** (1.0 - weight), dz)
        d_log_sd += (1.0 - weight) * dot_at(positions, values, dz)
    if row[AT.sd_z] >= 0 and not correlated:
        grad[row[AT.sd_z]] += d_log_sd
        if weight != 0.0:
            grad[row[AT.sd_z]] += weight * dot_of(values, dz)
    add_times(dz, 1.0, grad[row[AT.z] : row[AT.z] + free])
    return sd_prior(p, t, z, grad)


@jit
def prior_backward(p, t, z, x, probability, dx, dU):
    """Turn derivatives by independent effects into those by coordinates before the reflection.

    Return the derivative of the log prior by the log sd, with coordinates as they are.
    """
    row = p.term[t]
    weight, sd, without_prior = p.prior[t, PRIOR.weight], sd_of(p, t, z, 0), 0.0
    pull = prior_pull(x, sd, p.prior[t, PRIOR.freedom])
    if row[AT.reference]:
        for i in range(len(x)):
            pull[i] *= 1.0 - probability[i + 1]
            without_prior += probability[i + 1]
    centres_backward(p, t, pull, 1.0, dU)
    factor = sd**weight
    for i in range(len(x)):
        dx[i] = (dx[i] - pull[i]) * factor
    return dot_of(x, pull) - (row[AT.free] - row[AT.unit_means]) * (1.0 - weight) + without_prior


@jit
def centres_backward(p, t, x, precision, dU):
    """Pass the derivative by effects, their negative times a precision, to their centres."""
    row = p.term[t]
    for parent in range(row[AT.centres]):
        links = p.centre_links[row[AT.links] + parent * row[AT.size] :][: row[AT.size]]
        # Neighbours often share a centre: their sum waits until another centre comes.
        link, total = links[0], 0.0
        for i in range(len(links)):
            if links[i] != link:
                dU[link] += total * precision
                link, total = links[i], 0.0
            total += x[i]
        dU[link] += total * precision


@jit
def sd_prior(p, t, z, grad):
    """Return the log prior of a term's sds, on the log scale, and add its gradient."""
    row, total = p.term[t], 0.0
    scale, df = p.prior[t, PRIOR.sd], p.prior[t, PRIOR.df]
    if row[AT.sd_z] < 0:
        return 0.0
    for d in range(row[AT.levels]):
        log_sd = effects_log_sd(p, t, z, d)
        ratio = math.exp(log_sd) / scale
        total += log_sd
        if row[AT.sd_kind] == HALF_NORMAL:
            total += 0.5 * math.log(2.0 / math.pi) - math.log(scale) - 0.5 * ratio * ratio
            derivative = 1.0 - ratio * ratio
        elif row[AT.sd_kind] == EXPONENTIAL:
            total -= math.log(scale) + ratio
            derivative = 1.0 - ratio
        else:
            total += math.lgamma(0.5 * (df + 1.0)) - math.lgamma(0.5 * df)
            total += math.log(2.0) - 0.5 * math.log(df * math.pi) - math.log(scale)
            total -= 0.5 * (df + 1.0) * math.log1p(ratio * ratio / df)
            derivative = 1.0 - (df + 1.0) * ratio * ratio / (df + ratio * ratio)
        effects_log_sd_backward(p, t, z, d, derivative, grad)
    return total

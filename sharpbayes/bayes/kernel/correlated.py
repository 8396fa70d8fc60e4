"""Correlated effects in the kernel: Cholesky factor of LKJ correlations, forwards and backwards.

Effects of one row are diag(sd) L unit, where L is the Cholesky factor of their correlations. Its
entries come from partial correlations y = tanh(z / 2), with 2 Beta(b, b) - 1 priors.
"""

import math

import numpy as np

from sharpbayes.bayes.kernel.data import AT, PRIOR
from sharpbayes.bayes.kernel.vectors import jit


@jit
def sd_of(p, t, z, d):
    """Return the sd of a term's effects (of its d-th level, where they are correlated)."""
    return p.prior[t, PRIOR.sd] if p.term[t, AT.sd_z] < 0 else math.exp(z[p.term[t, AT.sd_z] + d])


@jit
def partial_shape(p, t, column):
    """Return b of the distribution 2 Beta(b, b) - 1 of partial correlations with a column."""
    return p.prior[t, PRIOR.eta] + (p.term[t, AT.levels] - 2.0 - column) / 2.0


@jit
def correlation_factor(p, t, z):
    """Return the Cholesky factor of a term's correlations."""
    levels = p.term[t, AT.levels]
    factor, k = np.zeros((levels, levels)), p.term[t, AT.corr_z]
    for i in range(levels):
        remainder = 1.0
        for j in range(i):
            y = math.tanh(0.5 * z[k])
            factor[i, j] = y * math.sqrt(remainder)
            remainder *= 1.0 - y * y
            k += 1
        factor[i, i] = math.sqrt(remainder)
    return factor


@jit
def correlated_forward(p, t, z, x):
    """Return the log prior of correlated effects; write own effects where ``x`` is unit ones."""
    row = p.term[t]
    levels = row[AT.levels]
    factor, total = correlation_factor(p, t, z), 0.0
    sd = np.array([sd_of(p, t, z, d) for d in range(levels)])
    unit = np.empty(levels)
    for start in range(0, row[AT.size], levels):
        effects = x[start : start + levels]
        if row[AT.centred]:
            whiten(factor, sd, effects, unit)
        else:
            unit[:] = effects
            for i in range(levels):
                effects[i] = 0.0
                for j in range(i + 1):
                    effects[i] += sd[i] * factor[i, j] * unit[j]
        for i in range(levels):
            total -= 0.5 * unit[i] * unit[i]
    if row[AT.centred]:
        for d in range(levels):
            total -= row[AT.size] // levels * math.log(sd[d] * factor[d, d])
    return total + correlation_prior(p, t, z)


@jit
def whiten(factor, sd, effects, unit):
    """Write the unit effects of one row: solve diag(sd) L unit = effects."""
    for i in range(len(unit)):
        value = effects[i] / sd[i]
        for j in range(i):
            value -= factor[i, j] * unit[j]
        unit[i] = value / factor[i, i]


@jit
def correlation_prior(p, t, z):
    """Return the log prior of partial correlations on the log-odds scale."""
    k, total = p.term[t, AT.corr_z], 0.0
    for i in range(p.term[t, AT.levels]):
        for j in range(i):
            b = partial_shape(p, t, j)
            size = abs(z[k])
            total += b * (-size - 2.0 * math.log1p(math.exp(-size)))
            total -= 2.0 * math.lgamma(b) - math.lgamma(2.0 * b)
            k += 1
    return total


@jit
def correlated_backward(p, t, z, x, g, dU, grad):
    """Pass the derivatives by correlated effects to their coordinates, sds and correlations."""
    row = p.term[t]
    levels = row[AT.levels]
    factor, d_factor = correlation_factor(p, t, z), np.zeros((levels, levels))
    sd = np.array([sd_of(p, t, z, d) for d in range(levels)])
    unit, back = np.empty(levels), np.empty(levels)
    for start in range(0, row[AT.size], levels):
        effects, d_effects = x[start : start + levels], g[start : start + levels]
        whiten(factor, sd, effects, unit)
        if row[AT.centred]:
            unwhiten(factor, unit, back)
            for i in range(levels):
                d_effect = back[i] / sd[i]
                d_effects[i] -= d_effect
                grad[row[AT.sd_z] + i] += effects[i] * d_effect
                for j in range(i + 1):
                    d_factor[i, j] += back[i] * unit[j]
                for link in range(row[AT.centres]):
                    dU[p.centre_links[row[AT.links] + link * row[AT.size] + start + i]] += d_effect
        else:
            for i in range(levels):
                grad[row[AT.sd_z] + i] += d_effects[i] * effects[i]
                back[i] = d_effects[i] * sd[i]
                for j in range(i + 1):
                    d_factor[i, j] += back[i] * unit[j]
            for j in range(levels):
                d_effects[j] = -unit[j]
                for i in range(j, levels):
                    d_effects[j] += factor[i, j] * back[i]
    if row[AT.centred]:
        for d in range(levels):
            grad[row[AT.sd_z] + d] -= row[AT.size] // levels
            d_factor[d, d] -= row[AT.size] // levels / factor[d, d]
    correlation_backward(p, t, z, d_factor, grad)


@jit
def unwhiten(factor, unit, back):
    """Write the solution of L' back = unit."""
    for i in range(len(unit) - 1, -1, -1):
        value = unit[i]
        for j in range(i + 1, len(unit)):
            value -= factor[j, i] * back[j]
        back[i] = value / factor[i, i]


@jit
def correlation_backward(p, t, z, d_factor, grad):
    """Pass the derivatives by the Cholesky factor to partial correlations; add their prior."""
    k = p.term[t, AT.corr_z]
    for i in range(p.term[t, AT.levels]):
        remainder = np.ones(i + 1)
        for j in range(i):
            remainder[j + 1] = remainder[j] / math.cosh(0.5 * z[k + j]) ** 2
        d_remainder = d_factor[i, i] * 0.5 / math.sqrt(remainder[i])
        for j in range(i - 1, -1, -1):
            y = math.tanh(0.5 * z[k + j])
            sech2 = 1.0 / math.cosh(0.5 * z[k + j]) ** 2
            d_y = d_factor[i, j] * math.sqrt(remainder[j]) - 2.0 * y * remainder[j] * d_remainder
            d_remainder = d_remainder * sech2 + d_factor[i, j] * y * 0.5 / math.sqrt(remainder[j])
            grad[k + j] += 0.5 * sech2 * d_y - partial_shape(p, t, j) * y
        k += i

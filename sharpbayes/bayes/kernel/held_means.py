"""Means that one term holds for others in the kernel; :mod:`..design.held_means` has the algebra.

Coordinates that are sampled become those of the terms before everything else is computed, and the
gradient by these becomes that by the sampled ones after it.
"""

import math

import numpy as np

from sharpbayes.bayes.kernel.correlated import sd_of
from sharpbayes.bayes.kernel.data import AT, HELD, PRIOR
from sharpbayes.bayes.kernel.means import reflect
from sharpbayes.bayes.kernel.vectors import jit


@jit
def held_variances(p, z, s):
    """Return v of each mean, B of each, and T^2 of each mean group of the holder."""
    variance = np.empty(len(p.held))
    for k in range(len(p.held)):
        sd = sd_of(p, p.held[k, HELD.term], z, p.held[k, HELD.level])
        variance[k] = sd * sd / p.held[k, HELD.effects]
    others = np.dot(p.held_later, variance)
    for k in range(len(p.held)):
        for i in range(p.held_average.shape[1]):
            others[k] += (s * p.held_average[k, i]) ** 2
    return variance, others, s * s + np.dot(p.held_of_sum, variance)


@jit
def mean_factor(p, z, k):
    """Return what the coordinate of a held mean is per unit of the mean."""
    t = p.held[k, HELD.term]
    power = p.prior[t, PRIOR.weight]
    if p.term[t, AT.levels] > 1:
        power = 0.0 if p.term[t, AT.centred] else 1.0
    sd = sd_of(p, t, z, p.held[k, HELD.level])
    return math.sqrt(p.held[k, HELD.effects]) / sd**power, power


@jit
def hold_forward(p, z, sums):
    """Turn units of means into the coordinates of the terms, in place; return the log volume.

    ``sums`` gets R of each mean.
    """
    h, total = p.holder[0], 0.0
    row, s, weight = p.term[h], sd_of(p, h, z, 0), p.prior[h, PRIOR.weight]
    variance, others, of_sum = held_variances(p, z, s)
    for group in range(len(of_sum)):
        factor = math.sqrt(of_sum[group]) / s**weight
        z[row[AT.z] + p.holder[1 + group]] *= factor
        total += math.log(factor)
    x = z[row[AT.z] : row[AT.z] + row[AT.size]] * s**weight
    reflect(p, h, x)
    means = np.zeros(len(p.held))
    for k in range(len(p.held)):
        sums[k] = np.dot(p.held_average[k], x) - np.dot(p.held_earlier[k], means)
        share = variance[k] / (variance[k] + others[k])
        spread, factor = math.sqrt(share * others[k]), mean_factor(p, z, k)[0]
        means[k] = share * sums[k] + spread * z[p.held[k, HELD.z]]
        z[p.held[k, HELD.z]] = means[k] * factor
        total += math.log(spread * factor)
    return total


@jit
def hold_backward(p, units, z, sums, grad):
    """Turn the gradient by the coordinates of the terms into that by units of means, in place.

    ``units`` are the coordinates that are sampled, ``z`` those that :func:`hold_forward` made.
    """
    h, n = p.holder[0], len(p.held)
    row, s, weight = p.term[h], sd_of(p, h, z, 0), p.prior[h, PRIOR.weight]
    variance, others, of_sum = held_variances(p, z, s)
    d_means, d_variance, d_x, d_square = np.zeros(n), np.zeros(n), np.zeros(row[AT.size]), 0.0
    for k in range(n - 1, -1, -1):
        t, coordinate = p.held[k, HELD.term], p.held[k, HELD.z]
        factor, power = mean_factor(p, z, k)
        share = variance[k] / (variance[k] + others[k])
        spread, unit = math.sqrt(share * others[k]), units[coordinate]
        d_mean = d_means[k] + grad[coordinate] * factor
        if p.term[t, AT.sd_z] >= 0:
            d_log_sd = -power * (grad[coordinate] * z[coordinate] + 1.0)
            grad[p.term[t, AT.sd_z] + p.held[k, HELD.level]] += d_log_sd
        grad[coordinate] = d_mean * spread
        d_share, d_spread = d_mean * sums[k], d_mean * unit + 1.0 / spread
        half, total = 0.5 * d_spread / spread, variance[k] + others[k]
        d_variance[k] += d_share * (1.0 - share) / total + half * (1.0 - share) ** 2
        d_others = half * share**2 - d_share * share / total
        for i in range(len(d_x)):
            d_x[i] += d_mean * share * p.held_average[k, i]
            d_square += d_others * p.held_average[k, i] ** 2
        d_variance += d_others * p.held_later[k]
        d_means -= d_mean * share * p.held_earlier[k]
    reflect(p, h, d_x)
    values = z[row[AT.z] : row[AT.z] + row[AT.size]]
    d_log_s = 0.0
    for i in range(len(d_x)):
        d_x[i] *= s**weight
        d_log_s += weight * d_x[i] * values[i]
        grad[row[AT.z] + i] += d_x[i]
    for group in range(len(of_sum)):
        first = p.holder[1 + group]
        coordinate = row[AT.z] + first
        d_log_factor = grad[coordinate] * z[coordinate] + 1.0
        grad[coordinate] *= math.sqrt(of_sum[group]) / s**weight
        d_log_s -= weight * d_log_factor
        d_square += 0.5 * d_log_factor / of_sum[group]
        d_variance += 0.5 * d_log_factor / of_sum[group] * p.held_of_sum[group]
    if row[AT.sd_z] >= 0:
        grad[row[AT.sd_z]] += d_log_s + 2.0 * s * s * d_square
    for k in range(n):
        t = p.held[k, HELD.term]
        if p.term[t, AT.sd_z] >= 0:
            grad[p.term[t, AT.sd_z] + p.held[k, HELD.level]] += 2.0 * variance[k] * d_variance[k]

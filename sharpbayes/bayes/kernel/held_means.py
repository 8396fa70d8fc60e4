"""Means that one term holds for others in the kernel; :mod:`..design.held_means` has the algebra.

Coordinates that are sampled become those of the terms before everything else is computed, and the
gradient by these becomes that by the sampled ones after it.
"""

import math

import numpy as np

from sharpbayes.bayes.kernel.correlated import sd_of
from sharpbayes.bayes.kernel.data import AT, HELD, PRIOR
from sharpbayes.bayes.kernel.means import reflect
from sharpbayes.bayes.kernel.vectors import add_times, dot_of, jit


@jit
def held_variances(p, held, z, s):
    """Return v of each mean, B of each, and T^2 of each mean group of the holder."""
    variance = np.empty(len(held.mean))
    for k in range(len(held.mean)):
        sd = sd_of(p, held.mean[k, HELD.term], z, held.mean[k, HELD.level])
        variance[k] = sd * sd / held.mean[k, HELD.effects]
    n, others = len(held.mean), np.empty(len(held.mean))
    size = held.table.shape[1] - 2 * n
    for k in range(n):
        average, later = held.table[k, :size], held.table[k, size + n :]
        others[k] = s * s * dot_of(average, average) + dot_of(later, variance)
    of_sum = np.empty(len(held.of_sum))
    for group in range(len(of_sum)):
        of_sum[group] = s * s + dot_of(held.of_sum[group], variance)
    return variance, others, of_sum


@jit
def mean_factor(p, held, z, k):
    """Return what the coordinate of a held mean is per unit of the mean."""
    t = held.mean[k, HELD.term]
    power = p.prior[t, PRIOR.weight]
    if p.term[t, AT.levels] > 1:
        power = 0.0 if p.term[t, AT.centred] else 1.0
    sd = sd_of(p, t, z, held.mean[k, HELD.level])
    return math.sqrt(held.mean[k, HELD.effects]) / sd**power, power


@jit
def hold_forward(p, held, z, sums):
    """Turn units of means into the coordinates of the terms, in place; return the log volume.

    ``sums`` gets R of each mean.
    """
    h, total = held.holder[0], 0.0
    row, s, weight = p.term[h], sd_of(p, h, z, 0), p.prior[h, PRIOR.weight]
    variance, others, of_sum = held_variances(p, held, z, s)
    for group in range(len(of_sum)):
        factor = math.sqrt(of_sum[group]) / s**weight
        z[row[AT.z] + held.holder[1 + group]] *= factor
        total += math.log(factor)
    x = z[row[AT.z] : row[AT.z] + row[AT.size]] * s**weight
    reflect(p, h, x)
    means, size, n = np.zeros(len(held.mean)), len(x), len(held.mean)
    for k in range(len(held.mean)):
        matrices = held.table[k]
        sums[k] = dot_of(matrices[:size], x) - dot_of(matrices[size : size + n], means)
        share = variance[k] / (variance[k] + others[k])
        spread, factor = math.sqrt(share * others[k]), mean_factor(p, held, z, k)[0]
        means[k] = share * sums[k] + spread * z[held.mean[k, HELD.z]]
        z[held.mean[k, HELD.z]] = means[k] * factor
        total += math.log(spread * factor)
    return total


@jit
def hold_backward(p, held, units, z, sums, grad):
    """Turn the gradient by the coordinates of the terms into that by units of means, in place.

    ``units`` are the coordinates that are sampled, ``z`` those that :func:`hold_forward` made.
    """
    h, n = held.holder[0], len(held.mean)
    row, s = p.term[h], sd_of(p, h, z, 0)
    variance, others, of_sum = held_variances(p, held, z, s)
    d_means, d_variance, d_x, d_square = np.zeros(n), np.zeros(n), np.zeros(row[AT.size]), 0.0
    for k in range(n - 1, -1, -1):
        t, coordinate = held.mean[k, HELD.term], held.mean[k, HELD.z]
        factor, power = mean_factor(p, held, z, k)
        share = variance[k] / (variance[k] + others[k])
        spread, unit = math.sqrt(share * others[k]), units[coordinate]
        d_mean = d_means[k] + grad[coordinate] * factor
        if p.term[t, AT.sd_z] >= 0:
            d_log_sd = -power * (grad[coordinate] * z[coordinate] + 1.0)
            grad[p.term[t, AT.sd_z] + held.mean[k, HELD.level]] += d_log_sd
        grad[coordinate] = d_mean * spread
        d_share, d_spread = d_mean * sums[k], d_mean * unit + 1.0 / spread
        half, total = 0.5 * d_spread / spread, variance[k] + others[k]
        d_variance[k] += d_share * (1.0 - share) / total + half * (1.0 - share) ** 2
        d_others = half * share**2 - d_share * share / total
        average, matrices = held.table[k, : len(d_x)], held.table[k, len(d_x) :]
        add_times(average, d_mean * share, d_x)
        d_square += d_others * dot_of(average, average)
        add_times(matrices[:n], -d_mean * share, d_means)
        add_times(matrices[n:], d_others, d_variance)
    d_square += holder_backward(p, held, z, s, of_sum, d_x, d_variance, grad)
    if row[AT.sd_z] >= 0:
        grad[row[AT.sd_z]] += 2.0 * s * s * d_square
    for k in range(n):
        t = held.mean[k, HELD.term]
        if p.term[t, AT.sd_z] >= 0:
            grad[p.term[t, AT.sd_z] + held.mean[k, HELD.level]] += 2.0 * variance[k] * d_variance[k]


@jit
def holder_backward(p, held, z, s, of_sum, d_x, d_variance, grad):
    """Pass the derivatives by the holder's effects to its coordinates and to the sds.

    Return the derivative by s^2; those by the variances are added.
    """
    h, d_square, d_log_s = held.holder[0], 0.0, 0.0
    row, weight = p.term[h], p.prior[h, PRIOR.weight]
    reflect(p, h, d_x)
    for i in range(len(d_x)):
        d_x[i] *= s**weight
        d_log_s += weight * d_x[i] * z[row[AT.z] + i]
        grad[row[AT.z] + i] += d_x[i]
    for group in range(len(of_sum)):
        coordinate = row[AT.z] + held.holder[1 + group]
        d_log_factor = grad[coordinate] * z[coordinate] + 1.0
        grad[coordinate] *= math.sqrt(of_sum[group]) / s**weight
        d_log_s -= weight * d_log_factor
        d_square += 0.5 * d_log_factor / of_sum[group]
        add_times(held.of_sum[group], 0.5 * d_log_factor / of_sum[group], d_variance)
    return d_square + 0.5 * d_log_s / (s * s)

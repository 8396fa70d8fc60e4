"""Two terms that are sampled as the sum of their effects, and what one of them has of it.

Effects c ~ N(0, s) and h ~ N(0, r) of the same levels are sampled by

    total = sqrt(s^2 + r^2),  log (r / s),   instead of both log sds,
    y = c + h ~ N(0, total),                 in the place of c: a term like any other,
    u = (h - share y) / spread ~ N(0, 1),    in the place of h,

with share = r^2 / total^2 and spread = s r / total. The volume is that of the log sds, c and h, but
for a factor of spread for each h, which the density of u cancels.
"""

import math

import numpy as np

from sharpbayes.bayes.kernel.data import AT
from sharpbayes.bayes.kernel.vectors import jit


@jit
def log_total(p, t, z):
    """Return the log sd of the sum that a summand (h above) is part of."""
    return z[p.term[p.term[t, AT.sum], AT.sd_z]]


@jit
def share_of(p, t, z):
    """Return the share of a summand in the variance of the sum."""
    return 1.0 / (1.0 + math.exp(-2.0 * z[p.term[t, AT.sd_z]]))


@jit
def effects_log_sd(p, t, z, d):
    """Return the log sd of a term's effects (of its d-th level), also where a sum is sampled."""
    row = p.term[t]
    if row[AT.ratio_z] < 0:
        return z[row[AT.sd_z] + d]
    ratio = z[row[AT.ratio_z]]
    if row[AT.sum] < 0:
        return z[row[AT.sd_z]] - 0.5 * math.log1p(math.exp(2.0 * ratio))
    return log_total(p, t, z) - 0.5 * math.log1p(math.exp(-2.0 * ratio))


@jit
def effects_log_sd_backward(p, t, z, d, d_log_sd, grad):
    """Pass the derivative by the log sd of a term's effects to its coordinates."""
    row = p.term[t]
    if row[AT.ratio_z] < 0:
        grad[row[AT.sd_z] + d] += d_log_sd
        return
    summand = row[AT.sum] >= 0
    total = p.term[row[AT.sum], AT.sd_z] if summand else row[AT.sd_z]
    other = 1.0 / (1.0 + math.exp((2.0 if summand else -2.0) * z[row[AT.ratio_z]]))
    grad[total] += d_log_sd
    grad[row[AT.ratio_z]] += d_log_sd * other if summand else -d_log_sd * other


@jit
def summand_forward(p, t, z, U, stored):
    """Write the effects of a summand and take them from the sum; return their log density."""
    row, of_sum = p.term[t], p.term[p.term[t, AT.sum]]
    share, total = share_of(p, t, z), 0.0
    spread = math.exp(log_total(p, t, z)) * math.sqrt(share * (1.0 - share))
    for i in range(row[AT.size]):
        unit = z[row[AT.z] + i]
        effect = share * stored[of_sum[AT.stored] + i] + spread * unit
        stored[row[AT.stored] + i] = U[row[AT.u] + i] = effect
        stored[of_sum[AT.stored] + i] -= effect
        U[of_sum[AT.u] + i] -= effect
        total -= 0.5 * unit * unit
    return total - 0.5 * row[AT.size] * math.log(2.0 * math.pi)


@jit
def summand_backward(p, t, z, stored, dU, grad):
    """Pass the derivatives by a summand's effects to its coordinates and to those of the sum.

    What is stored of the sum is the sum again. Returned are the derivatives by it.
    """
    row, of_sum = p.term[t], p.term[p.term[t, AT.sum]]
    share, d_share, d_log_spread = share_of(p, t, z), 0.0, 0.0
    spread = math.exp(log_total(p, t, z)) * math.sqrt(share * (1.0 - share))
    d_sum = np.empty(row[AT.size])
    for i in range(row[AT.size]):
        stored[of_sum[AT.stored] + i] += stored[row[AT.stored] + i]
        unit, d_effect = z[row[AT.z] + i], dU[row[AT.u] + i] - dU[of_sum[AT.u] + i]
        grad[row[AT.z] + i] += spread * d_effect - unit
        d_share += d_effect * stored[of_sum[AT.stored] + i]
        d_log_spread += d_effect * spread * unit
        d_sum[i] = share * d_effect
        dU[of_sum[AT.u] + i] += d_sum[i]
        # The effects of the sum are in ``dU`` without the means of their groups.
        group = p.mean_group[of_sum[AT.stored] + i]
        if group >= 0:
            dU[of_sum[AT.means] + group] += d_sum[i]
    grad[of_sum[AT.sd_z]] += d_log_spread
    d_ratio = 2.0 * share * (1.0 - share) * d_share + (1.0 - 2.0 * share) * d_log_spread
    grad[row[AT.ratio_z]] += d_ratio
    return d_sum

"""Terms in the kernel: coordinates to effects and their log prior, and the gradient back.

The arithmetic of :mod:`sharpbayes.bayes.graph.terms`, on flat arrays. With coordinates z, groups of
effects reflected by R, sd, non-centring weight w and centres m,

    x = sd^w R z,   effects = x - m,   log prior = sum log p(effects | 0, sd) + n w log sd,

p normal or Student's t.

Rows and columns of the tables are those of :class:`sharpbayes.bayes.kernel.data.KernelData`.
"""

import math

import numba
import numpy as np

from sharpbayes.bayes.kernel.correlated import correlated_backward, correlated_forward, jit, sd_of
from sharpbayes.bayes.kernel.data import AT, EXPONENTIAL, HALF_NORMAL, PRIOR, SIZE
from sharpbayes.bayes.kernel.sums import (
    effects_log_sd,
    effects_log_sd_backward,
    summand_backward,
    summand_forward,
)

# Sums may be taken in any order, so that they vectorise.
jit_sum = numba.njit(error_model="numpy", nogil=True, fastmath={"reassoc", "contract", "nsz"})
LOG_2PI = math.log(2.0 * math.pi)


@jit_sum
def sum_of(x):
    """Return the sum of values."""
    total = 0.0
    # A loop over values would not vectorise.
    for i in range(len(x)):
        total += x[i]
    return total


@jit_sum
def dot_of(x, y):
    """Return the sum of products."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@jit
def write(x, out):
    """Write values elsewhere; loops over one array vectorise where assignments of slices do not."""
    for i in range(len(x)):
        out[i] = x[i]


@jit
def multiply(x, factor):
    """Multiply values by a number."""
    for i in range(len(x)):
        x[i] *= factor


@jit
def raise_by(x, amount):
    """Add a number to values."""
    for i in range(len(x)):
        x[i] += amount


@jit
def add_times(x, factor, out):
    """Add a multiple of values to others."""
    for i in range(len(x)):
        out[i] += factor * x[i]


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
        start_effects(p, t, values, sd**weight, x, effects)
        subtract_centres(p, t, U, x)
        freedom = p.prior[t, PRIOR.freedom]
        total -= free * (1.0 - weight) * math.log(sd)
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
def add_to_groups(p, t, x, sign, sums):
    """Add values, times a sign, to the sums of their groups; return the sizes of the groups."""
    first, sizes = p.term[t, AT.stored], np.zeros(len(sums))
    for i in range(len(x)):
        group = p.mean_group[first + i]
        if group >= 0:
            sums[group] += sign * x[i]
            sizes[group] += 1.0
    return sizes


@jit
def add_from_groups(p, t, values, sign, x):
    """Add to each value the one of its group, times a sign."""
    first = p.term[t, AT.stored]
    for i in range(len(x)):
        group = p.mean_group[first + i]
        if group >= 0:
            x[i] += sign * values[group]


@jit
def split_means(p, t, effects, means):
    """Split the mean of each group from effects."""
    if len(means) == 0:
        return
    stride = p.term[t, AT.stride]
    if stride == 1:
        means[0] = sum_of(effects) / len(effects)
        raise_by(effects, -means[0])
        return
    if stride > 1:
        for group in range(stride):
            members = effects[group::stride]
            means[group] = sum_of(members) / len(members)
            raise_by(members, -means[group])
        return
    means[:] = 0.0
    sizes = add_to_groups(p, t, effects, 1.0, means)
    for group in range(len(means)):
        means[group] /= max(sizes[group], 1.0)
    add_from_groups(p, t, means, -1.0, effects)


@jit
def reflect(p, t, x):
    """Reflect each group of values between its mean and its first value."""
    groups, first = p.term[t, AT.groups], p.term[t, AT.stored]
    if groups == 0:
        return
    stride = p.term[t, AT.stride]
    if stride == 1:
        reflect_group(x)
        return
    if stride > 1:
        for group in range(stride):
            reflect_group(x[group::stride])
        return
    sums, start, step = np.zeros(groups), np.full(groups, -1), np.zeros(groups)
    sizes = add_to_groups(p, t, x, 1.0, sums)
    for i in range(len(x) - 1, -1, -1):
        if p.mean_group[first + i] >= 0:
            start[p.mean_group[first + i]] = i
    for group in range(groups):
        if sizes[group] > 1.0:
            sums[group] /= math.sqrt(sizes[group])
            step[group] = (sums[group] - x[start[group]]) / (math.sqrt(sizes[group]) - 1.0)
    add_from_groups(p, t, step, -1.0, x)
    for group in range(groups):
        if sizes[group] > 1.0:
            x[start[group]] = sums[group]


@jit
def reflect_group(x):
    """Reflect values between their mean and the first of them."""
    amount, first = reflection(x)
    raise_by(x, amount)
    x[0] = first


@jit
def reflection(x):
    """Return what a reflection of one group adds to all values but the first, and the first."""
    root = math.sqrt(len(x))
    mean = sum_of(x) / root
    return -(mean - x[0]) / (root - 1.0) if len(x) > 1 else 0.0, mean


@jit
def zero_sum(shape, values, out):
    """Write values that add up to 0 along every axis, from one fewer along each."""
    current = values.copy()
    for axis in range(len(shape)):
        n, before, after = shape[axis], np.prod(shape[:axis]), np.prod(shape[axis + 1 :] - 1)
        shorter, longer = current.reshape((before, n - 1, after)), np.empty((before, n, after))
        for b in range(before):
            for a in range(after):
                total = 0.0
                for i in range(n - 1):
                    total += shorter[b, i, a]
                step = total / (math.sqrt(n) + n)
                for i in range(n - 1):
                    longer[b, i, a] = shorter[b, i, a] - step
                longer[b, n - 1, a] = -total / math.sqrt(n)
        current = longer.ravel()
    write(current, out)


@jit
def zero_sum_backward(shape, d_values, out):
    """Write the derivative by the coordinates of :func:`zero_sum` from that by their values."""
    current = d_values.copy()
    for axis in range(len(shape) - 1, -1, -1):
        n, before, after = shape[axis], np.prod(shape[:axis]), np.prod(shape[axis + 1 :] - 1)
        longer, shorter = current.reshape((before, n, after)), np.empty((before, n - 1, after))
        for b in range(before):
            for a in range(after):
                total = 0.0
                for i in range(n - 1):
                    total += longer[b, i, a]
                step = total / (math.sqrt(n) + n) + longer[b, n - 1, a] / math.sqrt(n)
                for i in range(n - 1):
                    shorter[b, i, a] = longer[b, i, a] - step
        current = shorter.ravel()
    write(current, out)


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
    size, free = row[AT.size], row[AT.free]
    x = stored[row[AT.stored] : row[AT.stored] + size]
    dx = dU[row[AT.u] : row[AT.u] + size].copy()
    split_means_backward(p, t, dx, dU[row[AT.means] : row[AT.means] + row[AT.groups]])
    weight, sd, pull, correlated = 0.0, 1.0, x, row[AT.levels] > 1
    without_prior = 0.0
    if correlated:
        correlated_backward(p, t, z, x, dx, dU, grad)
    else:
        weight, sd = p.prior[t, PRIOR.weight], sd_of(p, t, z, 0)
        pull = prior_pull(x, sd, p.prior[t, PRIOR.freedom])
        if t == p.sizes[SIZE.reference]:
            for i in range(size):
                pull[i] *= 1.0 - probability[i + 1]
                without_prior += probability[i + 1]
        centres_backward(p, t, pull, 1.0, dU)
        factor = sd**weight
        for i in range(size):
            dx[i] = (dx[i] - pull[i]) * factor
    # A term without a zero sum has as many coordinates as effects.
    dz = dx[:free]
    if row[AT.zero_sum]:
        zero_sum_backward(p.axes[t, : row[AT.zero_sum]], dx, dz)
    else:
        reflect(p, t, dx)
    if row[AT.sd_z] >= 0 and not correlated:
        grad[row[AT.sd_z]] += dot_of(x, pull) - free * (1.0 - weight) + without_prior
        if weight != 0.0:
            grad[row[AT.sd_z]] += weight * dot_of(z[row[AT.z] : row[AT.z] + free], dz)
    add_times(dz, 1.0, grad[row[AT.z] : row[AT.z] + free])
    return sd_prior(p, t, z, grad)


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
def split_means_backward(p, t, d_effects, d_means):
    """Add the derivatives by the means of groups to those by effects."""
    if len(d_means) == 0:
        return
    stride = p.term[t, AT.stride]
    if stride == 1:
        raise_by(d_effects, (d_means[0] - sum_of(d_effects)) / len(d_effects))
        return
    if stride > 1:
        for group in range(stride):
            members = d_effects[group::stride]
            raise_by(members, (d_means[group] - sum_of(members)) / len(members))
        return
    sums = d_means.copy()
    sizes = add_to_groups(p, t, d_effects, -1.0, sums)
    add_from_groups(p, t, sums / sizes, 1.0, d_effects)


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

"""Terms in the kernel: coordinates to effects, their log prior, and the way back of the gradient.

The arithmetic of :mod:`sharpbayes.bayes.graph.terms`, on flat arrays. Rows and columns of the tables are
those of :class:`sharpbayes.bayes.kernel.plan.KernelData`; ``AT`` has the position of each column of a term.
"""

import math

import numba
import numpy as np

from sharpbayes.bayes.kernel.correlated import correlated_backward, correlated_forward, sd_of
from sharpbayes.bayes.kernel.plan import AT

jit = numba.njit(error_model="numpy", nogil=True)
# Sums may be taken in any order, so that they vectorise.
jit_sum = numba.njit(error_model="numpy", nogil=True, fastmath={"reassoc", "contract", "nsz"})
LOG_2PI = math.log(2.0 * math.pi)


@jit_sum
def sum_of(x):
    """Return the sum of values."""
    total = 0.0
    for value in x:
        total += value
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
def term_forward(p, t, z, U, own):
    """Write a term's own effects, their rest and block means; return their log prior."""
    row = p.term[t]
    free, size, u, means, blocks = (
        row[AT.free],
        row[AT.size],
        row[AT.u],
        row[AT.means],
        row[AT.blocks],
    )
    x = own[row[AT.own] : row[AT.own] + size]
    coordinates(p, t, z, x)
    U_rest = U[u : u + size]
    total = -0.5 * free * LOG_2PI
    if row[AT.corr_z] >= 0 or row[AT.levels] > 1:
        if row[AT.centred]:
            write(x, U_rest)
            leave_centres(p, t, U, x)
        total += correlated_forward(p, t, z, x)
        if not row[AT.centred]:
            write(x, U_rest)
    else:
        sd, power = sd_of(p, t, z, 0), p.prior[t, 3]
        multiply(x, sd**power)
        write(x, U_rest)
        leave_centres(p, t, U, x)
        total -= 0.5 * dot_of(x, x) / (sd * sd) + free * (1.0 - power) * math.log(sd)
    split_means(p, row[AT.whole], row[AT.own], U_rest, U[means : means + blocks])
    return total


@jit
def leave_centres(p, t, U, x):
    """Take the centres of a term's effects from them."""
    row = p.term[t]
    for link in range(row[AT.centres]):
        centre = p.links[row[AT.links] + link * row[AT.size] :][: row[AT.size]]
        for i in range(len(centre)):
            x[i] -= U[centre[i]]


@jit
def split_means(p, whole, first, rest, means):
    """Split the mean of each block from effects."""
    if len(means) == 0:
        return
    if whole:
        means[0] = sum_of(rest) / len(rest)
        raise_by(rest, -means[0])
        return
    sizes = np.zeros(len(means))
    means[:] = 0.0
    for i in range(len(rest)):
        code = p.block[first + i]
        if code >= 0:
            means[code] += rest[i]
            sizes[code] += 1.0
    for code in range(len(means)):
        means[code] /= max(sizes[code], 1.0)
    for i in range(len(rest)):
        code = p.block[first + i]
        if code >= 0:
            rest[i] -= means[code]


@jit
def coordinates(p, t, z, x):
    """Write the effects (or unit effects) that a term's coordinates stand for."""
    row = p.term[t]
    values = z[row[AT.z] : row[AT.z] + row[AT.free]]
    if row[AT.zero_sum]:
        zero_sum(p.axes[t, : row[AT.zero_sum]], values, x)
    else:
        write(values, x)
        reflect(p, row[AT.whole], row[AT.own], row[AT.blocks], x)


@jit
def reflect(p, whole, first, blocks, x):
    """Reflect each block of values between its mean and its first value."""
    if blocks == 0:
        return
    if whole:
        root = math.sqrt(len(x))
        mean = sum_of(x) / root
        if len(x) > 1:
            raise_by(x, -(mean - x[0]) / (root - 1.0))
        x[0] = mean
        return
    sums, sizes, start = np.zeros(blocks), np.zeros(blocks), np.full(blocks, -1)
    for i in range(len(x)):
        code = p.block[first + i]
        if code >= 0:
            sums[code] += x[i]
            sizes[code] += 1.0
            if start[code] < 0:
                start[code] = i
    step = np.zeros(blocks)
    for code in range(blocks):
        if sizes[code] > 1.0:
            sums[code] /= math.sqrt(sizes[code])
            step[code] = (sums[code] - x[start[code]]) / (math.sqrt(sizes[code]) - 1.0)
    for i in range(len(x)):
        code = p.block[first + i]
        if code >= 0 and sizes[code] > 1.0:
            x[i] = sums[code] if start[code] == i else x[i] - step[code]


@jit
def zero_sum(shape, values, x):
    """Write values that add up to 0 along every axis, from one fewer along each."""
    held = values.copy()
    before, after = 1, 1
    for axis in range(1, len(shape)):
        after *= shape[axis] - 1
    for axis in range(len(shape)):
        n = shape[axis]
        grown = np.empty(before * n * after)
        for b in range(before):
            for a in range(after):
                total = 0.0
                for i in range(n - 1):
                    total += held[(b * (n - 1) + i) * after + a]
                for i in range(n - 1):
                    less = total / (math.sqrt(n) + n)
                    grown[(b * n + i) * after + a] = held[(b * (n - 1) + i) * after + a] - less
                grown[(b * n + n - 1) * after + a] = -total / math.sqrt(n)
        held = grown
        before *= n
        if axis + 1 < len(shape):
            after //= shape[axis + 1] - 1
    write(held, x)


@jit
def zero_sum_backward(shape, slope, out):
    """Write the slope of the coordinates of :func:`zero_sum` from that of their values."""
    held = slope.copy()
    before, after = 1, 1
    for axis in range(len(shape) - 1):
        before *= shape[axis]
    for axis in range(len(shape) - 1, -1, -1):
        n = shape[axis]
        less = np.empty(before * (n - 1) * after)
        for b in range(before):
            for a in range(after):
                total = 0.0
                for i in range(n - 1):
                    total += held[(b * n + i) * after + a]
                last = held[(b * n + n - 1) * after + a]
                step = total / (math.sqrt(n) + n) + last / math.sqrt(n)
                for i in range(n - 1):
                    less[(b * (n - 1) + i) * after + a] = held[(b * n + i) * after + a] - step
        held = less
        after *= n - 1
        if axis > 0:
            before //= shape[axis - 1]
    write(held, out)


@jit
def term_backward(p, t, z, own, slope, grad):
    """Add a term's part of the gradient; return the log prior of its sd."""
    row = p.term[t]
    size, free = row[AT.size], row[AT.free]
    x = own[row[AT.own] : row[AT.own] + size]
    g = slope[row[AT.u] : row[AT.u] + size].copy()
    join_means(
        p, row[AT.whole], row[AT.own], g, slope[row[AT.means] : row[AT.means] + row[AT.blocks]]
    )
    power, sd, correlated = 0.0, 1.0, row[AT.corr_z] >= 0 or row[AT.levels] > 1
    if correlated:
        correlated_backward(p, t, z, x, g, slope, grad)
    else:
        power, sd = p.prior[t, 3], sd_of(p, t, z, 0)
        add_times(x, -1.0 / (sd * sd), g)
        pass_to_centres(p, t, x, 1.0 / (sd * sd), slope)
        multiply(g, sd**power)
    # Of a term without a zero sum there are as many coordinates as effects.
    out = g[:free]
    if row[AT.zero_sum]:
        zero_sum_backward(p.axes[t, : row[AT.zero_sum]], g, out)
    else:
        reflect(p, row[AT.whole], row[AT.own], row[AT.blocks], g)
    if row[AT.sd_z] >= 0 and not correlated:
        grad[row[AT.sd_z]] += dot_of(x, x) / (sd * sd) - free * (1.0 - power)
        if power != 0.0:
            grad[row[AT.sd_z]] += power * dot_of(z[row[AT.z] : row[AT.z] + free], out)
    add_times(out, 1.0, grad[row[AT.z] : row[AT.z] + free])
    return sd_prior(p, t, z, grad)


@jit
def pass_to_centres(p, t, x, precision, slope):
    """Add the slope of a term's centres: own effects times a precision."""
    row = p.term[t]
    for link in range(row[AT.centres]):
        centre = p.links[row[AT.links] + link * row[AT.size] :][: row[AT.size]]
        # Neighbours often have the same centre: its sum is held back until another one comes.
        held, total = centre[0], 0.0
        for i in range(len(centre)):
            if centre[i] != held:
                slope[held] += total * precision
                held, total = centre[i], 0.0
            total += x[i]
        slope[held] += total * precision


@jit
def join_means(p, whole, first, g, means):
    """Turn the slopes of rest and block means into those of effects."""
    if len(means) == 0:
        return
    if whole:
        raise_by(g, (means[0] - sum_of(g)) / len(g))
        return
    sums, sizes = means.copy(), np.zeros(len(means))
    for i in range(len(g)):
        code = p.block[first + i]
        if code >= 0:
            sums[code] -= g[i]
            sizes[code] += 1.0
    for i in range(len(g)):
        code = p.block[first + i]
        if code >= 0:
            g[i] += sums[code] / sizes[code]


@jit
def sd_prior(p, t, z, grad):
    """Return the log prior of a term's sds, on the log scale, and add its gradient."""
    row, total = p.term[t], 0.0
    scale, df = p.prior[t, 0], p.prior[t, 1]
    if row[AT.sd_z] < 0:
        return 0.0
    for d in range(row[AT.levels]):
        at = row[AT.sd_z] + d
        ratio = math.exp(z[at]) / scale
        total += z[at]
        if row[AT.sd_kind] == 1:
            total += 0.5 * math.log(2.0 / math.pi) - math.log(scale) - 0.5 * ratio * ratio
            grad[at] += 1.0 - ratio * ratio
        elif row[AT.sd_kind] == 2:
            total -= math.log(scale) + ratio
            grad[at] += 1.0 - ratio
        else:
            total += math.lgamma(0.5 * (df + 1.0)) - math.lgamma(0.5 * df)
            total += math.log(2.0) - 0.5 * math.log(df * math.pi) - math.log(scale)
            total -= 0.5 * (df + 1.0) * math.log1p(ratio * ratio / df)
            grad[at] += 1.0 - (df + 1.0) * ratio * ratio / (df + ratio * ratio)
    return total

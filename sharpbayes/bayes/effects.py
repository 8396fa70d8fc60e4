"""Terms in the kernel: coordinates to effects, their log prior, and the way back of the gradient.

The arithmetic of :mod:`sharpbayes.bayes.terms`, on flat arrays. Rows and columns of the tables are
those of :class:`sharpbayes.bayes.plan.Plan` and :class:`sharpbayes.bayes.plan.TermRow`.
"""

import math

import numba
import numpy as np

jit = numba.njit(error_model="numpy", nogil=True)
LOG_2PI = math.log(2.0 * math.pi)


@jit
def sd_of(p, t, z, d):
    """Return the sd of a term's effects (of its d-th level, where they are correlated)."""
    return p.prior[t, 0] if p.term[t, 9] < 0 else math.exp(z[p.term[t, 9] + d])


@jit
def term_forward(p, t, z, U, own):
    """Write a term's own effects, their rest and block means; return their log prior."""
    row = p.term[t]
    free, size, u, means, blocks = row[1], row[2], row[3], row[4], row[5]
    x = own[row[6] : row[6] + size]
    coordinates(p, t, z, x)
    U_rest = U[u : u + size]
    if row[7]:
        U_rest[:] = x
        for link in range(row[14]):
            for i in range(size):
                x[i] -= U[p.links[row[13] + link * size + i]]
    total = -0.5 * free * LOG_2PI
    if row[12] >= 0 or row[11] > 1:
        total += correlated_forward(p, t, z, x)
    else:
        sd = sd_of(p, t, z, 0)
        squares = 0.0
        for i in range(size):
            squares += x[i] * x[i]
        if row[7]:
            total += -0.5 * squares / (sd * sd) - free * math.log(sd)
        else:
            total -= 0.5 * squares
            for i in range(size):
                x[i] *= sd
    if not row[7]:
        U_rest[:] = x
    split_means(p, row[6], U_rest, U[means : means + blocks])
    return total


@jit
def split_means(p, first, rest, means):
    """Split the mean of each block from effects."""
    if len(means) == 0:
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
    values = z[row[0] : row[0] + row[1]]
    if row[8]:
        zero_sum(p.axes[t, : row[8]], values, x)
    else:
        x[:] = values
        reflect(p, row[6], row[5], x)


@jit
def reflect(p, first, blocks, x):
    """Reflect each block of values between its mean and its first value."""
    if blocks == 0:
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
    x[:] = held


@jit
def zero_sum_backward(shape, slope, out):
    """Add the slope of the values of :func:`zero_sum` to that of their coordinates."""
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
    out += held


@jit
def term_backward(p, t, z, own, slope, grad):
    """Add a term's part of the gradient; return the log prior of its sd."""
    row = p.term[t]
    size, free = row[2], row[1]
    x = own[row[6] : row[6] + size]
    g = slope[row[3] : row[3] + size].copy()
    join_means(p, row[6], g, slope[row[4] : row[4] + row[5]])
    if row[12] >= 0 or row[11] > 1:
        correlated_backward(p, t, z, x, g, slope, grad)
    else:
        sd, about = sd_of(p, t, z, 0), 0.0
        if row[7]:
            for i in range(size):
                pull = x[i] / (sd * sd)
                about += x[i] * pull
                g[i] -= pull
            about -= free
            pass_to_centres(p, t, x, 1.0 / (sd * sd), slope)
        else:
            for i in range(size):
                about += g[i] * x[i]
                g[i] = g[i] * sd - x[i] / sd
        if row[9] >= 0:
            grad[row[9]] += about
    out = grad[row[0] : row[0] + free]
    if row[8]:
        zero_sum_backward(p.axes[t, : row[8]], g, out)
    else:
        reflect(p, row[6], row[5], g)
        out += g
    return sd_prior(p, t, z, grad)


@jit
def pass_to_centres(p, t, x, precision, slope):
    """Add the slope of a term's centres: own effects times a precision."""
    row = p.term[t]
    for link in range(row[14]):
        for i in range(row[2]):
            slope[p.links[row[13] + link * row[2] + i]] += x[i] * precision


@jit
def join_means(p, first, g, means):
    """Turn the slopes of rest and block means into those of effects."""
    if len(means) == 0:
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
    if row[9] < 0:
        return 0.0
    for d in range(row[11]):
        at = row[9] + d
        ratio = math.exp(z[at]) / scale
        total += z[at]
        if row[10] == 1:
            total += 0.5 * math.log(2.0 / math.pi) - math.log(scale) - 0.5 * ratio * ratio
            grad[at] += 1.0 - ratio * ratio
        elif row[10] == 2:
            total -= math.log(scale) + ratio
            grad[at] += 1.0 - ratio
        else:
            total += math.lgamma(0.5 * (df + 1.0)) - math.lgamma(0.5 * df)
            total += math.log(2.0) - 0.5 * math.log(df * math.pi) - math.log(scale)
            total -= 0.5 * (df + 1.0) * math.log1p(ratio * ratio / df)
            grad[at] += 1.0 - (df + 1.0) * ratio * ratio / (df + ratio * ratio)
    return total


@jit
def partial_shape(p, t, column):
    """Return b of the law 2 Beta(b, b) - 1 of partial correlations with a column."""
    return p.prior[t, 2] + (p.term[t, 11] - 2.0 - column) / 2.0


@jit
def correlation_factor(p, t, z):
    """Return the Cholesky factor of a term's correlations."""
    levels = p.term[t, 11]
    factor, at = np.zeros((levels, levels)), p.term[t, 12]
    for i in range(levels):
        left = 1.0
        for j in range(i):
            y = math.tanh(0.5 * z[at])
            factor[i, j] = y * math.sqrt(left)
            left *= 1.0 - y * y
            at += 1
        factor[i, i] = math.sqrt(left)
    return factor


@jit
def correlated_forward(p, t, z, x):
    """Return the log prior of correlated effects; write own effects where ``x`` is unit ones."""
    row = p.term[t]
    levels = row[11]
    factor, total = correlation_factor(p, t, z), 0.0
    sd = np.array([sd_of(p, t, z, d) for d in range(levels)])
    unit = np.empty(levels)
    for start in range(0, row[2], levels):
        effects = x[start : start + levels]
        if row[7]:
            whiten(factor, sd, effects, unit)
        else:
            unit[:] = effects
            for i in range(levels):
                effects[i] = 0.0
                for j in range(i + 1):
                    effects[i] += sd[i] * factor[i, j] * unit[j]
        for i in range(levels):
            total -= 0.5 * unit[i] * unit[i]
    if row[7]:
        for d in range(levels):
            total -= row[2] // levels * math.log(sd[d] * factor[d, d])
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
    at, total = p.term[t, 12], 0.0
    for i in range(p.term[t, 11]):
        for j in range(i):
            b = partial_shape(p, t, j)
            size = abs(z[at])
            total += b * (-size - 2.0 * math.log1p(math.exp(-size)))
            total -= 2.0 * math.lgamma(b) - math.lgamma(2.0 * b)
            at += 1
    return total


@jit
def correlated_backward(p, t, z, x, g, slope, grad):
    """Turn the slope of correlated effects into that of their coordinates, sds, correlations."""
    row = p.term[t]
    levels = row[11]
    factor, steep = correlation_factor(p, t, z), np.zeros((levels, levels))
    sd = np.array([sd_of(p, t, z, d) for d in range(levels)])
    unit, back = np.empty(levels), np.empty(levels)
    for start in range(0, row[2], levels):
        effects, gs = x[start : start + levels], g[start : start + levels]
        whiten(factor, sd, effects, unit)
        if row[7]:
            unwhiten(factor, unit, back)
            for i in range(levels):
                pull = back[i] / sd[i]
                gs[i] -= pull
                grad[row[9] + i] += effects[i] * pull
                for j in range(i + 1):
                    steep[i, j] += back[i] * unit[j]
                for link in range(row[14]):
                    slope[p.links[row[13] + link * row[2] + start + i]] += pull
        else:
            for i in range(levels):
                grad[row[9] + i] += gs[i] * effects[i]
                back[i] = gs[i] * sd[i]
                for j in range(i + 1):
                    steep[i, j] += back[i] * unit[j]
            for j in range(levels):
                gs[j] = -unit[j]
                for i in range(j, levels):
                    gs[j] += factor[i, j] * back[i]
    if row[7]:
        for d in range(levels):
            grad[row[9] + d] -= row[2] // levels
            steep[d, d] -= row[2] // levels / factor[d, d]
    correlation_backward(p, t, z, steep, grad)


@jit
def unwhiten(factor, unit, back):
    """Write the solution of L' back = unit."""
    for i in range(len(unit) - 1, -1, -1):
        value = unit[i]
        for j in range(i + 1, len(unit)):
            value -= factor[j, i] * back[j]
        back[i] = value / factor[i, i]


@jit
def correlation_backward(p, t, z, steep, grad):
    """Add the slope of partial correlations from that of the Cholesky factor, and their prior."""
    at = p.term[t, 12]
    for i in range(p.term[t, 11]):
        left = np.ones(i + 1)
        for j in range(i):
            left[j + 1] = left[j] / math.cosh(0.5 * z[at + j]) ** 2
        d_left = steep[i, i] * 0.5 / math.sqrt(left[i])
        for j in range(i - 1, -1, -1):
            y = math.tanh(0.5 * z[at + j])
            about = 1.0 / math.cosh(0.5 * z[at + j]) ** 2
            d_y = steep[i, j] * math.sqrt(left[j]) - 2.0 * y * left[j] * d_left
            d_left = d_left * about + steep[i, j] * y * 0.5 / math.sqrt(left[j])
            grad[at + j] += 0.5 * about * d_y - partial_shape(p, t, j) * y
        at += i

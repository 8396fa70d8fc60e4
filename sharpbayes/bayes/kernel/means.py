"""Groups of effects in the kernel: their means are coordinates of their own, by a reflection."""

import math

import numpy as np

from sharpbayes.bayes.kernel.data import AT
from sharpbayes.bayes.kernel.vectors import jit, raise_by, sum_of


@jit
def first_of_groups(p, t):
    """Return the position of the first effect of each group, -1 of one without effects."""
    row = p.term[t]
    start = np.full(row[AT.groups], -1)
    for i in range(row[AT.size] - 1, -1, -1):
        group = p.mean_group[row[AT.stored] + i]
        if group >= 0:
            start[group] = i
    return start


@jit
def scale_at(positions, factor, values):
    """Multiply values at some positions by a factor."""
    for i in positions:
        values[i] *= factor


@jit
def dot_at(positions, x, y):
    """Return the sum of products at some positions."""
    total = 0.0
    for i in positions:
        total += x[i] * y[i]
    return total


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
    groups = p.term[t, AT.groups]
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
    sums, start, step = np.zeros(groups), first_of_groups(p, t), np.zeros(groups)
    sizes = add_to_groups(p, t, x, 1.0, sums)
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

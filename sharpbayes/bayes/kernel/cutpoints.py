"""Thresholds in the kernel: coordinates to thresholds of scales and sets, and the way back.

The arithmetic of :mod:`sharpbayes.bayes.graph.priors`, on flat arrays. A step is what is between two
thresholds next to each other, in the coordinates in which columns add to it: the logarithm of the
gap where thresholds grow (the coordinates are then the anchor and the steps), the gap itself where
they stand in any order (the coordinates are then the thresholds).
"""

import math

import numba
import numpy as np

jit = numba.njit(error_model="numpy", nogil=True)
LOG_2PI = math.log(2.0 * math.pi)


@jit
def scale_buffers(p):
    """Return room for the thresholds of all scales."""
    last = p.scale.shape[0] - 1
    return np.zeros(p.scale[last, 4] + p.scale[last, 1])


@jit
def thresholds_forward(p, z, U, sampled, common, cuts, gaps):
    """Write the thresholds of scales (sampled ones and those of the model) and of sets."""
    total, growing = 0.0, p.sizes[5] == 1
    for s in range(p.scale.shape[0]):
        n, pivot, first = p.scale[s, 1], p.scale[s, 3], p.scale[s, 4]
        place_sampled(p, s, z, sampled[first : first + n])
        shift = 0.0
        for link in p.shift[s]:
            shift += U[link]
        between = np.empty(n - 1)
        for k in range(n - 1):
            step = step_of(p, s, k, z) - stretch_of(p, s, k, U)
            between[k] = math.exp(step) if growing else step
            total += step if growing else 0.0
        spread(sampled[first + pivot] + shift, between, pivot, common[first : first + n])
        mean, sd = p.scale_prior[s, 0], p.scale_prior[s, 1]
        for k in range(n):
            ratio = (common[first + k] - mean) / sd
            total -= 0.5 * ratio * ratio + math.log(sd) + 0.5 * LOG_2PI
        total += math.lgamma(n + 1.0) if growing else 0.0
    for i in range(p.set_.shape[0]):
        set_thresholds(p, i, z, U, sampled, cuts, gaps)
    return total


@jit
def place_sampled(p, s, z, out):
    """Write the sampled thresholds of a scale."""
    at, n, anchor = p.scale[s, 0], p.scale[s, 1], p.scale[s, 2]
    if p.sizes[5] == 1:
        spread(z[at], np.exp(z[at + 1 : at + n]), anchor, out)
    else:
        out[:] = z[at : at + n]


@jit
def step_of(p, s, k, z):
    """Return the sampled k-th step of a scale."""
    at = p.scale[s, 0] + k
    return z[at + 1] if p.sizes[5] == 1 else z[at + 1] - z[at]


@jit
def step_backward(p, s, k, steep, grad):
    """Add the slope of the sampled k-th step of a scale to that of its coordinates."""
    at = p.scale[s, 0] + k
    grad[at + 1] += steep
    if p.sizes[5] == 0:
        grad[at] -= steep


@jit
def stretch_of(p, s, k, U):
    """Return the mean stretch that the sampled k-th gap of a scale holds."""
    total = 0.0
    for link in p.stretch[s]:
        if link:
            total += U[link + k]
    return total


@jit
def spread(value, gaps, position, out):
    """Write values from the gaps between them and the value at a position."""
    out[position] = value
    for k in range(position, len(gaps)):
        out[k + 1] = out[k] + gaps[k]
    for k in range(position - 1, -1, -1):
        out[k] = out[k + 1] - gaps[k]


@jit
def set_thresholds(p, i, z, U, sampled, cuts, gaps):
    """Write the thresholds and gaps of one set."""
    s, start = p.set_[i, 0], p.set_[i, 1]
    n, pivot, first = p.scale[s, 1], p.scale[s, 3], p.scale[s, 4]
    for k in range(n - 1):
        step = step_of(p, s, k, z)
        for link in p.set_links[i]:
            if link:
                step += U[link + k]
        gaps[start + k] = math.exp(step) if p.sizes[5] == 1 else step
    own = gaps[start : start + n - 1]
    spread(sampled[first + pivot], own, pivot, cuts[start : start + n])


@jit
def thresholds_backward(p, z, sampled, common, gaps, cut_slope, gap_slope, slope, grad):
    """Turn the slopes of thresholds and gaps into those of coordinates and effects."""
    held = np.zeros(len(sampled))
    for i in range(p.set_.shape[0]):
        s, start = p.set_[i, 0], p.set_[i, 1]
        n, pivot, first = p.scale[s, 1], p.scale[s, 3], p.scale[s, 4]
        held[first + pivot] += spread_backward(
            cut_slope[start : start + n], gap_slope[start : start + n], pivot
        )
        for k in range(n - 1):
            steep = gap_slope[start + k] * (gaps[start + k] if p.sizes[5] == 1 else 1.0)
            step_backward(p, s, k, steep, grad)
            for link in p.set_links[i]:
                if link:
                    slope[link + k] += steep
    for s in range(p.scale.shape[0]):
        scale_backward(p, s, z, common, held, slope, grad)


@jit
def spread_backward(values, gaps, position):
    """Add the slopes of values to those of the gaps between them; return that of the value."""
    total = 0.0
    for k in range(len(values) - 1, position, -1):
        total += values[k]
        gaps[k - 1] += total
    below = 0.0
    for k in range(position):
        below += values[k]
        gaps[k] -= below
    return total + below + values[position]


@jit
def scale_backward(p, s, z, common, held, slope, grad):
    """Add the prior of a scale's thresholds, then go from the pivot to the coordinates."""
    at, n, anchor, pivot, first = p.scale[s]
    growing = p.sizes[5] == 1
    mean, sd = p.scale_prior[s, 0], p.scale_prior[s, 1]
    values, between = np.empty(n), np.zeros(n)
    for k in range(n):
        values[k] = -(common[first + k] - mean) / (sd * sd)
    moved = spread_backward(values, between, pivot)
    for link in p.shift[s]:
        slope[link] += moved
    for k in range(n - 1):
        gap = common[first + k + 1] - common[first + k]
        steep = between[k] * gap + 1.0 if growing else between[k]
        step_backward(p, s, k, steep, grad)
        for link in p.stretch[s]:
            if link:
                slope[link + k] -= steep
    moved += held[first + pivot]
    if not growing:
        grad[at + pivot] += moved
        return
    at_pivot, moves = np.zeros(n), np.zeros(n)
    at_pivot[pivot] = moved
    grad[at] += spread_backward(at_pivot, moves, anchor)
    for k in range(n - 1):
        grad[at + 1 + k] += moves[k] * math.exp(z[at + 1 + k])

"""Cutpoints in the kernel: from coordinates to cutpoints of scales and of sets, and back.

The arithmetic of :mod:`sharpbayes.bayes.graph.priors`, on flat arrays. A *step* is what gap effects
add to: the logarithm of the gap between two neighbouring cutpoints where cutpoints are ordered
(coordinates: the median cutpoint, then the steps), the gap itself where they are not (coordinates:
the cutpoints).
"""

import math

import numpy as np

from sharpbayes.bayes.kernel.data import SCALE, SIZE
from sharpbayes.bayes.kernel.vectors import jit

LOG_2PI = math.log(2.0 * math.pi)


@jit
def cutpoints_forward(p, z, U, sampled, common, cutpoints, gaps):
    """Write the cutpoints of scales (sampled, and of the model) and of sets; return their prior."""
    total, ordered = 0.0, p.sizes[SIZE.ordered] == 1
    for s in range(p.scale.shape[0]):
        position, n, median, reference, first = p.scale[s]
        scale_sampled = sampled[first : first + n]
        if ordered:
            from_gaps(z[position], np.exp(z[position + 1 : position + n]), median, scale_sampled)
        else:
            scale_sampled[:] = z[position : position + n]
        shift = 0.0
        for link in p.shift_links[s]:
            shift += U[link]
        between = np.empty(n - 1)
        for k in range(n - 1):
            mean_effect = 0.0
            for link in p.gap_links[s]:
                if link:
                    mean_effect += U[link + k]
            step = step_of(p, s, k, z) - mean_effect
            between[k] = math.exp(step) if ordered else step
            total += step if ordered else 0.0
        from_gaps(sampled[first + reference] + shift, between, reference, common[first : first + n])
        mean, sd = p.scale_prior[s, 0], p.scale_prior[s, 1]
        for k in range(n):
            ratio = (common[first + k] - mean) / sd
            total -= 0.5 * ratio * ratio + math.log(sd) + 0.5 * LOG_2PI
        total += math.lgamma(n + 1.0) if ordered else 0.0
    for i in range(p.cutpoint_set.shape[0]):
        s, start = p.cutpoint_set[i]
        _, n, _, reference, first = p.scale[s]
        for k in range(n - 1):
            step = step_of(p, s, k, z)
            for link in p.set_links[i]:
                if link:
                    step += U[link + k]
            gaps[start + k] = math.exp(step) if ordered else step
        set_gaps = gaps[start : start + n - 1]
        from_gaps(sampled[first + reference], set_gaps, reference, cutpoints[start : start + n])
    return total


@jit
def step_of(p, s, k, z):
    """Return the sampled k-th step of a scale."""
    i = p.scale[s, SCALE.z] + k
    return z[i + 1] if p.sizes[SIZE.ordered] == 1 else z[i + 1] - z[i]


@jit
def step_backward(p, s, k, d_step, grad):
    """Pass the derivative by the sampled k-th step of a scale to its coordinates."""
    i = p.scale[s, SCALE.z] + k
    grad[i + 1] += d_step
    if p.sizes[SIZE.ordered] == 0:
        grad[i] -= d_step


@jit
def from_gaps(value, gaps, position, out):
    """Write values from the gaps between them and the value at a position."""
    out[position] = value
    for k in range(position, len(gaps)):
        out[k + 1] = out[k] + gaps[k]
    for k in range(position - 1, -1, -1):
        out[k] = out[k + 1] - gaps[k]


@jit
def cutpoints_backward(p, z, sampled, common, gaps, d_cutpoints, d_gaps, dU, grad):
    """Pass the derivatives by cutpoints and gaps of sets to coordinates and effects; add priors."""
    d_reference, ordered = np.zeros(len(sampled)), p.sizes[SIZE.ordered] == 1
    for i in range(p.cutpoint_set.shape[0]):
        s, start = p.cutpoint_set[i]
        _, n, _, reference, first = p.scale[s]
        d_reference[first + reference] += from_gaps_backward(
            d_cutpoints[start : start + n], d_gaps[start : start + n], reference
        )
        for k in range(n - 1):
            d_step = d_gaps[start + k] * (gaps[start + k] if ordered else 1.0)
            step_backward(p, s, k, d_step, grad)
            for link in p.set_links[i]:
                if link:
                    dU[link + k] += d_step
    for s in range(p.scale.shape[0]):
        position, n, median, reference, first = p.scale[s]
        mean, sd = p.scale_prior[s, 0], p.scale_prior[s, 1]
        d_common, d_between = np.empty(n), np.zeros(n)
        for k in range(n):
            d_common[k] = -(common[first + k] - mean) / (sd * sd)
        d_shift = from_gaps_backward(d_common, d_between, reference)
        for link in p.shift_links[s]:
            dU[link] += d_shift
        for k in range(n - 1):
            gap = common[first + k + 1] - common[first + k]
            d_step = d_between[k] * gap + 1.0 if ordered else d_between[k]
            step_backward(p, s, k, d_step, grad)
            for link in p.gap_links[s]:
                if link:
                    dU[link + k] -= d_step
        d_shift += d_reference[first + reference]
        if not ordered:
            grad[position + reference] += d_shift
            continue
        d_sampled, d_sampled_gaps = np.zeros(n), np.zeros(n)
        d_sampled[reference] = d_shift
        grad[position] += from_gaps_backward(d_sampled, d_sampled_gaps, median)
        for k in range(n - 1):
            grad[position + 1 + k] += d_sampled_gaps[k] * math.exp(z[position + 1 + k])


@jit
def from_gaps_backward(d_values, d_gaps, position):
    """Pass the derivatives by values to the gaps between them; return that by the value."""
    total = 0.0
    for k in range(len(d_values) - 1, position, -1):
        total += d_values[k]
        d_gaps[k - 1] += total
    below = 0.0
    for k in range(position):
        below += d_values[k]
        d_gaps[k] -= below
    return total + below + d_values[position]

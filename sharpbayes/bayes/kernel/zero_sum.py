"""Effects that add up to 0 along every dimension, from one coordinate fewer along each."""

import math

import numpy as np

from sharpbayes.bayes.kernel.vectors import jit, write


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

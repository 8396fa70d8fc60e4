"""Compiled loops over ratings of draws; machine code is cached on disk."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Index = NDArray[np.integer]

compiled = njit(cache=True, nogil=True, error_model="numpy")


@compiled
def add_effects(effects: Floats, index: Index, severity: Floats) -> None:
    """Add an effect to the severity of each rating (sample, rating), nothing at an index of -1.

    ``effects`` are over (sample, effect), ``index`` over (rating,).
    """
    for sample in range(severity.shape[0]):
        for rating in range(severity.shape[1]):
            if index[rating] >= 0:
                severity[sample, rating] += effects[sample, index[rating]]


@compiled
def count_passed(  # noqa: PLR0917 - numba knows no keyword-only arguments
    severity: Floats,
    noise: Floats,
    discrimination: Floats,
    thresholds: Floats,
    cutpoint_set: Index,
    category: Index,
) -> None:
    """Fill in the number of thresholds below eta + noise / a of each rating (sample, rating).

    ``thresholds`` are over (sample, set, threshold) and ``cutpoint_set`` over (rating,); a single
    set is that of all ratings. ``discrimination`` is over (sample, rating) or (sample, 1).
    """
    common_set, common = thresholds.shape[1] == 1, discrimination.shape[1] == 1
    for sample in range(severity.shape[0]):
        for rating in range(severity.shape[1]):
            a = discrimination[sample, 0 if common else rating]
            value = severity[sample, rating] + noise[sample, rating] / a
            chosen = 0 if common_set else cutpoint_set[rating]
            passed = 0
            for k in range(thresholds.shape[2]):
                if value > thresholds[sample, chosen, k]:
                    passed += 1
            category[sample, rating] = passed

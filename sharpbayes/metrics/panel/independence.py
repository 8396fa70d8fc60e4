"""For how many independent judges a set of judges counts."""

from functools import partial

import numpy as np
import xarray as xr

# Deviations of two judges from their own mean mirror each other whatever the judges are.
MIN_JUDGES_WITHOUT_REFERENCE = 3
ROUNDING = 1e-12


def judge_errors(sub_index: xr.DataArray, reference: xr.DataArray | None) -> xr.DataArray:
    """Return the errors of judges in every cell that all of them, and the reference, have scored.

    e_j = x_j - reference, or x_j less the mean of the judges where there is no reference

    Of values in [0, 1] over (..., judge), and a reference taken as the truth over the other
    dimensions, errors are in [-1, 1] over (cell, judge). Cells with a missing value are left out.

    Source: none; deviations from a reference or a mean.

    >>> x = xr.DataArray([[0.2, 0.4], [np.nan, 0.1]], dims=("prompt", "judge"))
    >>> judge_errors(x, None).values
    array([[-0.1,  0.1]])
    """
    truth = sub_index.mean("judge", skipna=False) if reference is None else reference
    errors = (sub_index - truth).transpose(..., "judge")
    rows = errors.to_numpy().reshape(-1, errors.sizes["judge"])
    rows = rows[~np.isnan(rows).any(axis=1)]
    return xr.DataArray(rows, {"judge": sub_index["judge"]}, ("cell", "judge"))


def error_correlation(errors: xr.DataArray) -> xr.DataArray:
    """Return the correlation of the errors (cell, judge) of every two judges.

    It is Pearson's, in [-1, 1] over (judge, other_judge); NaN with fewer than two cells and for
    constant errors.

    Source: none; a correlation matrix.

    >>> errors = xr.DataArray([[0.0, 0.0], [0.1, 0.2], [0.2, 0.1]], {"judge": ["a", "b"]},
    ...                       ("cell", "judge"))
    >>> error_correlation(errors).round(4).values
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    covariance = _covariance(errors)
    sd = np.sqrt(np.diag(covariance))
    scale = np.outer(sd, sd)
    correlation = np.full(scale.shape, np.nan)
    np.divide(covariance, scale, out=correlation, where=scale > 0)
    labels = errors["judge"].to_numpy()
    coords = {"judge": labels, "other_judge": labels}
    return xr.DataArray(correlation, coords, tuple(coords))


def effective_judges(errors: xr.DataArray, *, against_reference: bool) -> float:
    """Return for how many judges with independent errors (cell, judge) the judges count.

    With a reference: J tr(S) / (1' S 1), S the covariance of errors: so many independent judges of
    the same average variance would have a mean with the same variance of error. Without one:
    1 + tr(S)^2 / tr(S S), S the covariance of deviations from the judges' mean, which is J for
    independent judges of equal variance and the number of camps for judges who agree within camps.

    The number is larger than 0; NaN with fewer than two cells, and without a reference for fewer
    than three judges. An error that all judges share shows only against a reference. Judges without
    any deviation count as one.

    Source: Kish 1965 (design effect); the participation ratio of a covariance.

    >>> one = np.array([0.1, -0.1, 0.2, -0.2])
    >>> errors = xr.DataArray(np.stack([one, one, one], axis=1), dims=("cell", "judge"))
    >>> round(effective_judges(errors, against_reference=True), 6)
    1.0
    """
    judges = errors.sizes["judge"]
    min_judges = 1 if against_reference else MIN_JUDGES_WITHOUT_REFERENCE
    if errors.sizes["cell"] < 2 or judges < min_judges:  # noqa: PLR2004 - no covariance of one cell
        return float("nan")
    covariance = _covariance(errors)
    spread = float(np.trace(covariance))
    joint = float(covariance.sum()) if against_reference else float((covariance**2).sum())
    # What rounding leaves of values in [0, 1] is no deviation.
    if spread <= judges * ROUNDING**2 or joint <= 0:
        return float("nan") if against_reference else 1.0
    if against_reference:
        dims = ("judge", "other_judge")
        return float(count_independent(xr.DataArray(covariance, dims=dims)))
    return 1 + spread**2 / joint


def count_independent(covariance: xr.DataArray) -> xr.DataArray:
    """Return the number of judges with independent errors whose mean errs as much.

    number = J tr(S) / (1' S 1)

    S is the covariance of the judges' errors against the truth, over (..., judge, other_judge) in
    any unit. The result is over the leading dimensions and larger than 0, 1 where all judges err
    alike; it is NaN where a covariance is missing.

    Source: Kish 1965 (design effect).

    >>> x = xr.DataArray([[1.0, 0.5], [0.5, 1.0]], dims=("judge", "other_judge"))
    >>> round(float(count_independent(x)), 4)
    1.3333
    """
    dims = ("judge", "other_judge")
    identity = xr.DataArray(np.eye(covariance.sizes["judge"]), dims=dims)
    spread = (covariance * identity).sum(dims, skipna=False)
    return covariance.sizes["judge"] * spread / covariance.sum(dims, skipna=False)


def judge_independence(sub_index: xr.DataArray, reference: xr.DataArray | None) -> xr.Dataset:
    """Return the effective number of judges, of all and with each one left out.

    Arguments are those of :func:`judge_errors`, the result has :func:`effective_judges`,
    ``effective_judges_without`` (judge_out) and ``error_correlation`` (judge, other_judge). A
    number is NaN where no judge is left, and without a reference where fewer than three are.

    Source: Kish 1965 (design effect).

    >>> rng = np.random.default_rng(1)
    >>> x = xr.DataArray(rng.random((4000, 4)), {"judge": list("abcd")}, ("prompt", "judge"))
    >>> round(float(judge_independence(x, None)["effective_judges"]), 1)
    4.0
    """
    judges = sub_index["judge"].to_numpy()
    errors = judge_errors(sub_index, reference)
    count = partial(effective_judges, against_reference=reference is not None)
    without = np.full(len(judges), np.nan)
    if len(judges) > 1:
        subsets = [sub_index.isel(judge=judges != judge) for judge in judges]
        without[:] = [count(judge_errors(subset, reference)) for subset in subsets]
    result = {
        "effective_judges": count(errors),
        "effective_judges_without": ("judge_out", without),
        "error_correlation": error_correlation(errors),
    }
    return xr.Dataset(result, {"judge_out": judges})


def _covariance(errors: xr.DataArray) -> np.ndarray:
    """Covariance of the columns; shape (judge, judge)."""
    values = errors.to_numpy()
    if len(values) < 2:  # noqa: PLR2004
        return np.full((values.shape[1],) * 2, np.nan)
    return np.atleast_2d(np.cov(values, rowvar=False))

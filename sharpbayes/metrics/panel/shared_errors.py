"""What judges share beyond the answer that they score: errors of pairs, and halo of each judge."""

import numpy as np
import xarray as xr

# With fewer cells a correlation says nothing.
MIN_CELLS = 3
# What rounding leaves of scores in [0, 1] is no deviation.
ROUNDING = 1e-12


def judge_correlation(score: xr.DataArray) -> xr.DataArray:
    """Return the correlation of the residuals of every two judges over the cells of both.

    r_jk = sum_c e_cj e_ck / sqrt(sum_c e_cj^2 sum_c e_ck^2),  e_cj = x_cj - mean_j x_cj

    less the judge's mean e_cj of the dimension, over cells c = (answer, dimension) with both
    judges. Residuals of J judges who err alone correlate by about -1 / (J - 1); two judges who
    share an error, or of whom one copies the other, correlate more than other pairs do.

    Args:
        score: Scores in any unit over (..., answer, dimension, judge), NaN for none.

    Returns:
        Correlations in [-1, 1] over (..., pair), with ``pair`` labels such as ``ann and bob``; NaN
        for fewer than three common cells or a judge without residuals. Of two judges it is -1.

    Source: residual correlation Q3, Yen 1984, with the mean of the judges for the fitted score.

    Examples:
        >>> x = xr.DataArray(np.random.default_rng(1).random((50, 2, 3)),
        ...                  {"judge": ["ann", "bob", "cat"]}, ("answer", "dimension", "judge"))
        >>> x[..., 1] = x[..., 0]  # bob copies ann
        >>> judge_correlation(x).round(2).to_series().to_dict()
        {'ann and bob': 1.0, 'ann and cat': -1.0, 'bob and cat': -1.0}
    """
    residual = score - score.mean("judge")
    residual = (residual - residual.mean("answer")).transpose(..., "answer", "dimension", "judge")
    values = residual.to_numpy().reshape(*residual.shape[:-3], -1, residual.sizes["judge"])
    present = ~np.isnan(values)
    values = np.where(present, values, 0.0)
    mask = present.astype(float)
    product = np.swapaxes(values, -1, -2) @ values
    square = np.swapaxes(values**2, -1, -2) @ mask
    number = np.swapaxes(mask, -1, -2) @ mask
    spread = np.sqrt(square * np.swapaxes(square, -1, -2))
    known = (number >= MIN_CELLS) & (spread > ROUNDING)
    correlation = np.where(known, product / np.where(known, spread, 1.0), np.nan)
    first, second = np.triu_indices(score.sizes["judge"], 1)
    names = score["judge"].to_numpy()
    pairs = [f"{names[a]} and {names[b]}" for a, b in zip(first, second, strict=True)]
    lead = residual.dims[:-3]
    coords = {name: residual[name] for name in lead if name in residual.coords}
    return xr.DataArray(correlation[..., first, second], coords | {"pair": pairs}, (*lead, "pair"))


def people_correlation(judges: xr.DataArray, people: xr.DataArray) -> xr.DataArray:
    """Return the correlation of the judges' mean score with people's over the cells of both.

    r = sum_c x_c y_c / sqrt(sum_c x_c^2 sum_c y_c^2),

    x_c and y_c the mean scores of judges and of people, less their means by dimension. Where all
    judges share an error it is lower than judges who err alone would have it.

    Args:
        judges: Mean scores in any unit over (..., answer, dimension), NaN for none.
        people: The same of people.

    Returns:
        Values in [-1, 1] over (...); NaN for fewer than three common cells, or without spread.

    Source: Pearson's correlation.

    Examples:
        >>> x = xr.DataArray([[1.0], [2.0], [3.0], [np.nan]], dims=("answer", "dimension"))
        >>> float(people_correlation(x, 5 - x))
        -1.0
    """
    both = judges.notnull() & people.notnull()
    cells, kept = ("answer", "dimension"), [x.where(both) for x in (judges, people)]
    x, y = (values - values.mean("answer") for values in kept)
    spread = ((x**2).sum(cells) * (y**2).sum(cells)) ** 0.5
    known = (both.sum(cells) >= MIN_CELLS) & (spread > ROUNDING)
    return ((x * y).sum(cells) / spread.where(known)).where(known)


def halo(score: xr.DataArray) -> xr.DataArray:
    """Return how much the indicators of one answer move together in the scores of each judge.

    h_j = (V(sum_i e_i) - sum_i V(e_i)) / ((I - 1) sum_i V(e_i)),

    with e_i the score of indicator i less the mean of all judges, and V the mean square over
    answers about the judge's mean. It is the mean correlation of two indicators, weighted by their
    spread: 1 where a judge errs by the same amount in all indicators of an answer.

    Args:
        score: Scores in any unit over (..., answer, indicator, judge), NaN for none.

    Returns:
        Values in [-1 / (I - 1), 1] over (..., judge), from the answers that the judge scored in all
        of its indicators; NaN for one judge alone, for a single indicator, and for fewer than three
        answers.

    Source: intraclass correlation of the errors; halo as in Thorndike 1920.

    Examples:
        >>> error = np.random.default_rng(2).normal(size=(200, 1, 2)) * np.ones((1, 3, 1))
        >>> x = xr.DataArray(error, {"judge": ["ann", "bob"]}, ("answer", "indicator", "judge"))
        >>> halo(x).values.round(6)
        array([1., 1.])
    """
    error = (score - score.mean("judge")).where(score.count("judge") > 1)
    used = error.notnull().any("answer")
    complete = (error.notnull() | ~used).all("indicator")
    error = error.where(complete)
    error = error - error.mean("answer")
    number = used.sum("indicator")
    single = (error**2).mean("answer").sum("indicator")
    total = (error.sum("indicator", min_count=1) ** 2).where(complete).mean("answer")
    known = (number > 1) & (complete.sum("answer") >= MIN_CELLS) & (single > ROUNDING)
    return ((total - single) / ((number - 1) * single)).where(known)

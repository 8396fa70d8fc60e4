"""Bounds of a mean that hold at every look."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.stats.confidence_sequence import GRID_POINTS, confidence_sequence


def sequence(values, *, level=0.9, lowest=0.0, highest=1.0):
    x = xr.DataArray(values, dims=("study", "prompt") if np.ndim(values) == 2 else ("prompt",))
    return confidence_sequence(x, dim="prompt", level=level, lowest=lowest, highest=highest)


def capital(values, mean, error_rate):
    """The hedged capital against one mean, value by value, as the paper writes it."""
    largest, up, down, earlier = 0.0, 1.0, 1.0, []
    for number, value in enumerate(values, start=1):
        means = [(0.5 + sum(earlier[:n])) / (n + 1) for n in range(1, len(earlier) + 1)]
        squares = sum((x - m) ** 2 for x, m in zip(earlier, means, strict=True))
        variance = (0.25 + squares) / (len(earlier) + 1)
        bet = np.sqrt(2 * np.log(2 / error_rate) / (variance * number * np.log(1 + number)))
        up *= 1 + min(bet, 0.5 / mean) * (value - mean)
        down *= 1 - min(bet, 0.5 / (1 - mean)) * (value - mean)
        earlier.append(value)
        largest = max(largest, up / 2, down / 2)
    return largest


def test_the_bounds_enclose_what_a_gambler_has_not_refuted():
    values = np.random.default_rng(1).beta(2, 5, 60)
    lower, upper = sequence(values)[-1].values
    step = 1 / (GRID_POINTS - 1)
    grid = np.linspace(0, 1, GRID_POINTS)[1:-1]
    unrefuted = [m for m in grid if capital(values, m, 0.1) < 10]
    assert lower == pytest.approx(unrefuted[0] - step)
    assert upper == pytest.approx(unrefuted[-1] + step)


@pytest.mark.parametrize("law", ["ordinal", "rare", "constant"])
def test_the_mean_is_within_all_bounds_as_often_as_promised(law):
    rng = np.random.default_rng(3)
    worlds = {
        "ordinal": (rng.choice([0, 0.25, 0.5, 1], (400, 150), p=[0.5, 0.2, 0.2, 0.1]), 0.25),
        "rare": ((rng.random((400, 150)) < 0.05).astype(float), 0.05),
        "constant": (np.full((2, 150), 0.3), 0.3),
    }
    values, mean = worlds[law]
    bounds = sequence(values)
    covered = (bounds.sel(bound="lower") <= mean) & (mean <= bounds.sel(bound="upper"))
    assert float(covered.all("prompt").mean()) >= 0.9


def test_bounds_never_widen_and_follow_the_unit():
    values = np.random.default_rng(4).random(80)
    bounds = sequence(values)
    assert (np.diff(bounds.sel(bound="lower")) >= 0).all()
    assert (np.diff(bounds.sel(bound="upper")) <= 0).all()
    shifted = sequence(4 * values - 2, lowest=-2.0, highest=2.0)
    np.testing.assert_allclose(shifted, 4 * bounds - 2, atol=1e-12)


def test_missing_values_are_passed_over_and_rows_are_apart():
    values = np.random.default_rng(5).random((2, 30))
    gaps = np.insert(values, [0, 7], np.nan, axis=1)
    bounds, plain = sequence(gaps), sequence(values)
    np.testing.assert_allclose(bounds.isel(prompt=-1), plain.isel(prompt=-1))
    assert bounds.isel(study=0, prompt=0).values.tolist() == [0.0, 1.0]
    np.testing.assert_allclose(plain[1], sequence(values[1]))
    assert sequence(np.full(3, np.nan))[-1].values.tolist() == [0.0, 1.0]


def test_a_value_outside_the_range_is_refused():
    with pytest.raises(ValueError, match="a value is outside 0 to 1"):
        sequence([0.5, 1.5])

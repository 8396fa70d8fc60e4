"""Differences between groups against loops, SciPy's normal law and statsmodels' Holm."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from statsmodels.stats.multitest import multipletests

from sharpbayes.metrics.crowd.contrasts import contrasts

GROUPS = ["all", "g=a", "g=b", "g=c", "h=x", "h=y"]
GROUPING = ["all", "g", "g", "g", "h", "h"]


def made(seed, replicates=60):
    rng = np.random.default_rng(seed)
    coords = {"group": GROUPS, "grouping": ("group", GROUPING), "by": ["all", "v=1"]}
    observed = xr.DataArray(rng.random((6, 2)), coords, ("group", "by"))
    noise = rng.normal(0, 0.2, (replicates, 6, 2))
    resampled = (observed + xr.DataArray(noise, dims=("replicate", "group", "by"))).transpose(
        "replicate", "group", "by"
    )
    observed[3, 1] = np.nan
    return xr.Dataset({"mpa": observed}), xr.Dataset({"mpa": resampled})


@pytest.mark.parametrize("seed", range(5))
def test_every_pair_follows_its_definition(seed):
    observed, resampled = made(seed)
    found = contrasts(observed, resampled, level=0.9)
    x, rows = observed["mpa"].values, resampled["mpa"].values
    for i in range(6):
        for j in range(6):
            for b in range(2):
                cell = found.isel(group=i, other=j, by=b)
                if i == j or GROUPING[i] != GROUPING[j] or np.isnan(x[i, b] + x[j, b]):
                    assert all(np.isnan(v).all() for v in cell.data_vars.values())
                    continue
                apart = rows[:, i, b] - rows[:, j, b]
                assert float(cell["mpa"]) == pytest.approx(x[i, b] - x[j, b])
                assert cell["mpa_interval"].values == pytest.approx(
                    np.quantile(apart, [0.05, 0.95])
                )
                z = abs(x[i, b] - x[j, b]) / apart.std(ddof=1)
                share = 2 * min((apart <= 0).mean(), (apart >= 0).mean())
                expected = min(1, max(2 * stats.norm.sf(z), share))
                assert float(cell["mpa_p"]) == pytest.approx(expected)


def test_p_is_not_below_what_an_askew_interval_says():
    observed, resampled = made(0, replicates=100)
    # Ten standard deviations from 0, but 10 of 100 resamples are on the other side.
    apart = np.where(np.arange(100) < 10, -0.01, 0.01) + np.linspace(0, 1e-3, 100)
    resampled["mpa"][:, 1, 0] = apart
    resampled["mpa"][:, 2, 0] = 0.0
    observed["mpa"][1, 0], observed["mpa"][2, 0] = 0.06, 0.0
    cell = contrasts(observed, resampled, level=0.8).sel(group="g=a", other="g=b", by="all")
    assert float(cell["mpa_p"]) == pytest.approx(0.2)


def test_holm_is_over_all_pairs_of_a_grouping_in_all_strata():
    found = contrasts(*made(1), level=0.9)
    cells = [("g=a", "g=b", 0), ("g=a", "g=c", 0), ("g=b", "g=c", 0), ("g=a", "g=b", 1)]
    p = [float(found["mpa_p"].sel(group=g, other=h).isel(by=b)) for g, h, b in cells]
    expected = multipletests(p, method="holm")[1]
    for (g, h, b), value in zip(cells, expected, strict=True):
        for one, two in ((g, h), (h, g)):
            cell = found["mpa_p_holm"].sel(group=one, other=two).isel(by=b)
            assert float(cell) == pytest.approx(value)


def test_pairing_makes_intervals_narrow():
    # What both groups share, 20 times as large as what they do not, cancels.
    rng = np.random.default_rng(0)
    observed, resampled = made(0, replicates=2000)
    shared = rng.normal(0, 4, (2000, 1, 2))
    moved = resampled + xr.DataArray(shared, dims=("replicate", "one", "by")).isel(one=0)
    found = contrasts(observed, moved.transpose("replicate", "group", "by"), level=0.95)
    width = found["mpa_interval"].diff("bound").sel(group="g=a", other="g=b", by="all")
    assert float(width.squeeze()) == pytest.approx(2 * 1.96 * 0.2 * np.sqrt(2), rel=0.1)


def test_resamples_that_do_not_differ_give_no_p_value():
    observed, resampled = made(0)
    same = resampled.copy(data={"mpa": np.ones_like(resampled["mpa"])})
    found = contrasts(observed, same, level=0.9).sel(group="g=a", other="g=b", by="all")
    assert np.isnan(found["mpa_p"])
    assert np.isnan(found["mpa_interval"]).all()
    assert np.isfinite(found["mpa"])


def test_resamples_without_the_metric_are_left_out():
    observed, resampled = made(2, replicates=200)
    gaps = resampled.copy(deep=True)
    gaps["mpa"][::4, 1, 0] = np.nan
    kept = np.arange(200) % 4 > 0
    whole = contrasts(observed, resampled.isel(replicate=kept), level=0.9)
    found = contrasts(observed, gaps, level=0.9)
    for name in ("mpa", "mpa_p", "mpa_interval"):
        one, two = (each[name].sel(group="g=a", other="g=b", by="all") for each in (whole, found))
        assert two.values == pytest.approx(one.values)

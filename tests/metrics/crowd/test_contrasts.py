"""Differences between groups against loops, SciPy's Student law and statsmodels' Holm."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from statsmodels.stats.multitest import multipletests

from sharpbayes.metrics.crowd.contrasts import contrasts

GROUPS = ["all", "g=a", "g=b", "g=c", "h=x", "h=y"]
GROUPING = ["all", "g", "g", "g", "h", "h"]
RATERS = np.array([40.0, 4.0, 9.0, 20.0, 10.0, 12.0])
ITEMS = 50.0


def draw_metrics(seed, replicates=60, added=0.01):
    rng = np.random.default_rng(seed)
    coords = {"group": GROUPS, "grouping": ("group", GROUPING), "by": ["all", "v=1"]}
    observed = xr.DataArray(rng.random((6, 2)), coords, ("group", "by"))
    noise = rng.normal(0, 0.2, (replicates, 6, 2))
    resampled = (observed + xr.DataArray(noise, dims=("replicate", "group", "by"))).transpose(
        "replicate", "group", "by"
    )
    variance = observed.copy(data=added * rng.random((6, 2)))
    observed[3, 1] = np.nan
    return tuple(xr.Dataset({"mpa": x}) for x in (observed, resampled, variance))


def compared(observed, resampled, variance, *, level=0.9, n_raters=RATERS, comparable=None):
    return contrasts(
        observed,
        resampled,
        rater_variance=variance,
        raters=xr.DataArray(n_raters, dims="group"),
        items=xr.full_like(observed["mpa"], ITEMS),
        level=level,
        comparable=comparable,
    )


@pytest.mark.parametrize("seed", range(5))
def test_every_pair_follows_its_definition(seed):
    observed, resampled, variance = draw_metrics(seed)
    table = compared(observed, resampled, variance)
    x, rows, added = observed["mpa"].values, resampled["mpa"].values, variance["mpa"].values
    for i in range(6):
        for j in range(6):
            for b in range(2):
                cell = table.isel(group=i, other=j, by=b)
                if i == j or GROUPING[i] != GROUPING[j] or np.isnan(x[i, b] + x[j, b]):
                    assert all(np.isnan(v).all() for v in cell.data_vars.values())
                    continue
                items = (rows[:, i, b] - rows[:, j, b]).var(ddof=1)
                raters = added[i, b] + added[j, b]
                freedom = (items + raters) ** 2 / (
                    items**2 / (ITEMS - 1) + raters**2 / (min(RATERS[i], RATERS[j]) - 1)
                )
                gap, sd = x[i, b] - x[j, b], np.sqrt(items + raters)
                assert float(cell["mpa"]) == pytest.approx(gap)
                expected = stats.t.interval(0.9, freedom, gap, sd)
                assert cell["mpa_interval"].values == pytest.approx(expected)
                assert float(cell["mpa_p"]) == pytest.approx(2 * stats.t.sf(abs(gap) / sd, freedom))


def test_pairs_that_are_not_comparable_have_no_difference_and_no_part_in_holm():
    observed, resampled, variance = draw_metrics(1)
    comparable = xr.DataArray(
        np.ones((6, 6, 2), dtype=bool),
        {"group": GROUPS, "other": GROUPS, "by": ["all", "v=1"]},
        ("group", "other", "by"),
    )
    for first, second in (("g=a", "g=b"), ("g=b", "g=a")):
        comparable.loc[{"group": first, "other": second}] = False
    table = compared(observed, resampled, variance, comparable=comparable)
    for name in table:
        assert np.isnan(table[name].sel(group="g=a", other="g=b")).all(), name
    p, corrected = _tests(table)
    assert len(p) == 4  # of g=a and g=b with g=c in all items, of h in both strata
    assert corrected == pytest.approx(multipletests(p, method="holm")[1])


def _tests(table):
    """p values of every pair once, plain and corrected, over all groupings and strata."""
    first, second = np.triu_indices(table.sizes["group"], k=1)
    arrays = (table[name].to_numpy()[first, second] for name in ("mpa_p", "mpa_p_holm"))
    p, corrected = (array[~np.isnan(array)] for array in arrays)
    return p, corrected


def test_raters_widen_the_interval_of_a_difference():
    observed, resampled, variance = draw_metrics(0)
    alone = compared(observed, resampled, variance * 0)
    cell = {"group": "g=a", "other": "g=b", "by": "all"}
    width = [
        float(table["mpa_interval"].sel(cell).diff("bound").item())
        for table in (alone, compared(observed, resampled, variance + 0.2))
    ]
    assert width[1] > 2 * width[0]


def test_holm_is_over_all_pairs_of_all_groupings_in_all_strata():
    table = compared(*draw_metrics(1))
    p, corrected = _tests(table)
    assert len(p) == 6  # three and one of g, one of h in each stratum
    assert corrected == pytest.approx(multipletests(p, method="holm")[1])
    p_holm = table["mpa_p_holm"]
    xr.testing.assert_equal(
        p_holm, p_holm.rename(group="other", other="group").transpose(*p_holm.dims)
    )


def test_pairing_makes_intervals_narrow():
    # What both groups share, 20 times as large as what they do not, cancels.
    rng = np.random.default_rng(0)
    observed, resampled, variance = draw_metrics(0, replicates=2000, added=0.0)
    shared = rng.normal(0, 4, (2000, 1, 2))
    moved = resampled + xr.DataArray(shared, dims=("replicate", "one", "by")).isel(one=0)
    moved = moved.transpose("replicate", "group", "by")
    table = compared(observed, moved, variance, level=0.95)
    width = table["mpa_interval"].diff("bound").sel(group="g=a", other="g=b", by="all")
    assert float(width.squeeze()) == pytest.approx(2 * 1.96 * 0.2 * np.sqrt(2), rel=0.1)


def test_resamples_that_do_not_differ_give_no_p_value():
    observed, resampled, variance = draw_metrics(0, added=0.0)
    same = resampled.copy(data={"mpa": np.ones_like(resampled["mpa"])})
    cell = compared(observed, same, variance).sel(group="g=a", other="g=b", by="all")
    assert np.isnan(cell["mpa_p"])
    assert np.isnan(cell["mpa_interval"]).all()
    assert np.isfinite(cell["mpa"])


def test_a_group_of_one_rater_is_not_tested():
    one = np.array([40.0, 1.0, 9.0, 20.0, 10.0, 12.0])
    table = compared(*draw_metrics(0, added=0.0), n_raters=one).sel(by="all")
    cell = table.sel(group="g=a", other="g=b")
    assert np.isfinite(cell["mpa"])
    assert np.isnan(cell["mpa_p"])
    assert np.isnan(cell["mpa_p_holm"])
    assert np.isnan(cell["mpa_interval"]).all()
    assert np.isfinite(table["mpa_p_holm"].sel(group="g=b", other="g=c"))


def test_resamples_without_the_metric_are_left_out():
    observed, resampled, variance = draw_metrics(2, replicates=200)
    gaps = resampled.copy(deep=True)
    gaps["mpa"][::4, 1, 0] = np.nan
    kept = np.arange(200) % 4 > 0
    expected = compared(observed, resampled.isel(replicate=kept), variance)
    table = compared(observed, gaps, variance)
    for name in ("mpa", "mpa_p", "mpa_interval"):
        one, two = (t[name].sel(group="g=a", other="g=b", by="all") for t in (expected, table))
        assert two.values == pytest.approx(one.values)

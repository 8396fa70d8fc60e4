"""The forest of a report: the numbers that its caption names."""

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr

from sharpbayes.report.figures import posterior
from sharpbayes.report.tables.catalogue import TABLES
from sharpbayes.report.tables.declaration import build_tables

MODELS = ["a", "b", "c"]


@pytest.fixture(scope="module")
def results():
    """A fit with skewed draws, so that mean and median lie apart, at a level of 80%."""
    mpl.use("agg")
    draws = np.random.default_rng(1).exponential([1.0, 2.0, 3.0], (2, 200, 3))
    coords = {"model": MODELS}
    cvar = xr.Dataset({"cvar": (("chain", "draw", "model"), draws)}, coords)
    bounds = [[0.5, 1.5], [1.0, 3.0], [2.0, 4.0]]
    return xr.DataTree.from_dict(
        {
            "/posterior_profile": cvar.assign_attrs(level=0.8, interval_note="Ratings."),
            "/profile": xr.Dataset({"cvar": ("model", [1.0, 2.0, 3.0])}, coords),
            "/profile_interval": xr.Dataset(
                {"cvar": (("model", "bound"), bounds)}, coords | {"bound": ["lower", "upper"]}
            ),
            "/posterior_predictive": xr.Dataset(),
        }
    )


def drawn(results):
    """Points, and the ends of thin and of thick lines, by model from the top down."""
    figure = posterior.tail_risk(results)
    axes = next(axes for axes in figure.axes if axes.get_xlabel())
    markers = [c for c in axes.collections if not hasattr(c, "get_segments")]
    points = [marker.get_offsets()[0] for marker in markers if len(marker.get_offsets()) == 1]
    points = [x for x, _ in sorted(points, key=lambda point: -point[1])]
    lines = [line for line in axes.lines if len(line.get_xdata()) == 2]
    lines = sorted(lines, key=lambda line: -np.ravel(line.get_ydata())[0])
    ends = np.array([line.get_xdata() for line in lines]).reshape(3, 2, 2)
    widest_first = np.argsort(-np.ptp(ends, axis=2), axis=1)
    thin, thick = (ends[np.arange(3), widest_first[:, place]] for place in (0, 1))
    return points, thin, thick


def test_circles_are_medians_and_lines_have_the_level_of_the_study(results):
    points, thin, thick = drawn(results)
    cvar = results["posterior_profile"]["cvar"]
    expected = cvar.quantile([0.1, 0.25, 0.5, 0.75, 0.9], ("chain", "draw")).to_numpy()
    np.testing.assert_allclose(points, expected[2])
    np.testing.assert_allclose(thin, expected[[0, 4]].T)
    np.testing.assert_allclose(thick, expected[[1, 3]].T)
    assert np.abs(expected[2] - cvar.mean(("chain", "draw"))).min() > 0.1


def test_the_table_holds_what_is_drawn(results):
    [table] = build_tables([s for s in TABLES if s.name == "posterior_and_bootstrap"], results)
    points, thin, _ = drawn(results)
    assert table.header[2:4] == ("lower 80%", "upper 80%")
    for row, point, (low, high) in zip(table.rows, points, thin, strict=True):
        assert row[1:4] == (f"{point:.3f}", f"{low:.3f}", f"{high:.3f}")

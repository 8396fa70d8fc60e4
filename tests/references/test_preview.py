"""Previews against fits: the committed table, and how it compares draws."""

import numpy as np
import pytest
import xarray as xr

from tests.references import preview
from tests.references.coverage_pages import PAGES, preview_table, read_rows


def test_metrics_of_a_preview_are_near_those_of_the_fit():
    rows = read_rows("preview.csv")
    assert {"panel", "crowd"} <= {row["data"] for row in rows}
    for row in rows:
        assert float(row["mean_rms"]) < 0.4
        assert 0.75 < float(row["sd_ratio_low"]) <= float(row["sd_ratio_high"]) < 1.25
        assert float(row["preview_seconds"]) < 0.5 * float(row["fit_seconds"])


def test_the_page_has_the_table():
    assert preview_table(read_rows("preview.csv")) in (PAGES / "preview.md").read_text()


def test_differences_are_in_posterior_sds():
    draws = xr.DataArray(
        np.random.default_rng(1).normal(size=(2, 500, 3)), dims=("chain", "draw", "model")
    )
    numbers = preview.compare(2.0 * draws + 1.0, draws)
    assert numbers["units"] == 3
    assert float(numbers["mean_rms"]) == pytest.approx(1.0, abs=0.1)
    assert float(numbers["sd_ratio_low"]) == pytest.approx(2.0)

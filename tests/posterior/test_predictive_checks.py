"""Posterior predictive checks."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.replication import observed_data
from sharpbayes.posterior.predictive_checks import predictive_checks, rating_frequencies
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.spec.load import load_study
from tests.panels import frame, measured


def normal(**sizes):
    shape = tuple(sizes.values())
    return xr.DataArray(np.random.default_rng(4).normal(size=shape), dims=tuple(sizes))


def test_a_tail_probability_is_that_of_the_law_of_the_draws():
    draws = normal(chain=4, draw=2500)
    found = predictive_checks({"t": draws}, {"t": xr.DataArray(1.2)})
    assert float(found["t_p"]) == pytest.approx(stats.norm.sf(1.2), abs=0.01)
    assert not bool(found["t_fails"])
    assert found.attrs["failed_checks"] == []


def test_equal_values_count_half():
    draws = xr.DataArray([[1.0, 2.0, 2.0, 3.0]], dims=("chain", "draw"))
    found = predictive_checks({"t": draws}, {"t": xr.DataArray(2.0)})
    assert float(found["t_p"]) == 0.5


def test_failed_checks_are_said_in_words_and_missing_ones_never_fail():
    models = {"model": ["a", "b", "c"]}
    draws = normal(chain=4, draw=250, model=3).assign_coords(models)
    draws = draws.where(draws["model"] != "c")
    seen = xr.DataArray([0.0, -9.0, np.nan], models, "model")
    found = predictive_checks({"tail_share": draws}, {"tail_share": seen})
    assert found["tail_share_fails"].values.tolist() == [False, True, False]
    [text] = found.attrs["failed_checks"]
    assert text.startswith("tail share of b: observed -9.000, replicated ")
    [table] = report_tables(xr.DataTree.from_dict({"/predictive_checks": found}))
    assert table.rows == ((text,),)
    assert "FAIL" in table.title


def test_a_failed_check_stands_before_every_other_table(tmp_path):
    models = {"model": ["m0", "m1", "m2"]}
    seen = xr.DataArray([0.0, -9.0, 0.0], models, "model")
    draws = normal(chain=4, draw=250, model=3).assign_coords(models)
    results = measured(tmp_path / "s", frame())
    plain = [table.title for table in report_tables(results)]
    results["predictive_checks"] = xr.DataTree(predictive_checks({"cvar": draws}, {"cvar": seen}))
    first, *rest = (table.title for table in report_tables(results))
    assert "FAIL" in first
    assert rest == plain


def test_a_thousand_true_checks_rarely_fail():
    draws = normal(chain=4, draw=500, model=1000)
    seen = xr.DataArray(np.random.default_rng(5).normal(size=1000), dims="model")
    found = predictive_checks({"t": draws}, {"t": seen})
    assert int(found["t_fails"].sum()) <= 3


def test_frequencies_by_judge_are_counts_over_counts():
    files = load_study("quickstart")
    ratings = read_study(files).ratings
    design = build_design(ratings, files.model.spec)
    same = observed_data(design).expand_dims(chain=[0, 1], draw=[0, 1, 2])
    replicated, seen = rating_frequencies(
        ReplicateDraws(xr.Dataset(), same, design, 1), ratings, ["judge"]
    )
    judge, scale = ratings.factors["judge"], ratings.factors["scale"]
    for name, code in ((n, i) for i, n in enumerate(scale.labels)):
        for at, label in enumerate(judge.labels):
            level = ratings.score[(scale.codes == code) & (judge.codes == at)]
            wanted = [np.mean(level == k) for k in range(len(ratings.scales[name]))]
            own = seen[f"frequency_{name}_judge"].sel(judge=label)
            np.testing.assert_allclose(own, wanted)
            drawn = replicated[f"frequency_{name}_judge"].sel(judge=label, chain=1, draw=2)
            np.testing.assert_allclose(drawn, wanted)

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
    checks = predictive_checks({"t": draws}, {"t": xr.DataArray(1.2)})
    assert float(checks["t_p"]) == pytest.approx(stats.norm.sf(1.2), abs=0.01)
    assert not bool(checks["t_fails"])
    assert checks.attrs["failed_checks"] == []


def test_equal_values_count_half():
    draws = xr.DataArray([[1.0, 2.0, 2.0, 3.0]], dims=("chain", "draw"))
    checks = predictive_checks({"t": draws}, {"t": xr.DataArray(2.0)})
    assert float(checks["t_p"]) == 0.5


def test_failed_checks_are_said_in_words_and_missing_ones_never_fail():
    models = {"model": ["a", "b", "c"]}
    draws = normal(chain=4, draw=250, model=3).assign_coords(models)
    draws = draws.where(draws["model"] != "c")
    observed = xr.DataArray([0.0, -9.0, np.nan], models, "model")
    checks = predictive_checks({"tail_share": draws}, {"tail_share": observed})
    assert checks["tail_share_fails"].values.tolist() == [False, True, False]
    [text] = checks.attrs["failed_checks"]
    assert text.startswith("tail share of b: observed -9.000, replicated ")
    [table] = report_tables(xr.DataTree.from_dict({"/predictive_checks": checks}))
    assert table.rows == ((text,),)
    assert "FAIL" in table.title


def test_a_failed_check_stands_before_every_other_table(tmp_path):
    models = {"model": ["m0", "m1", "m2"]}
    observed = xr.DataArray([0.0, -9.0, 0.0], models, "model")
    draws = normal(chain=4, draw=250, model=3).assign_coords(models)
    results = measured(tmp_path / "s", frame())
    plain = [table.title for table in report_tables(results)]
    results["predictive_checks"] = xr.DataTree(
        predictive_checks({"cvar": draws}, {"cvar": observed})
    )
    first, *rest = (table.title for table in report_tables(results))
    assert "FAIL" in first
    assert rest == plain


@pytest.mark.parametrize("checks", [pytest.param(65, marks=pytest.mark.slow), 121])
def test_at_most_5_percent_of_calibrated_studies_have_a_false_alarm(checks):
    """500 draws; a third of the checks correlated, a third of them shares of few ratings."""
    rng, studies, alarms = np.random.default_rng(checks), 400, 0
    for _ in range(studies):
        values = rng.normal(size=(501, checks)) + rng.normal(size=(501, 1))
        values[:, ::3] = rng.normal(size=values[:, ::3].shape)
        values[:, 1::3] = rng.binomial(60, 0.02, values[:, 1::3].shape) / 60
        table = predictive_checks(
            {"t": xr.DataArray(values[None, 1:], dims=("chain", "draw", "judge"))},
            {"t": xr.DataArray(values[0], dims="judge")},
        )
        alarms += bool(table["t_fails"].any())
    error = np.sqrt(0.05 * 0.95 / studies)
    assert alarms / studies <= 0.05 + 3 * error


def test_a_clear_deviation_fails_among_120_others():
    values = normal(chain=4, draw=125, judge=121)
    observed = xr.DataArray(np.r_[5.0, np.zeros(120)], dims="judge")
    table = predictive_checks({"t": values}, {"t": observed})
    assert table["t_fails"].values.tolist() == [True, *[False] * 120]


def test_a_rare_category_that_the_model_replicates_as_rarely_does_not_fail():
    """In 2 of 100 replicates, and in the observed ratings: 7 sd from the mean, and no outlier."""
    values = normal(chain=1, draw=500, judge=100)
    values[..., 0] = (np.arange(500) % 50 == 0) / 60
    observed = xr.DataArray(np.r_[1 / 60, np.zeros(99)], dims="judge")
    assert not predictive_checks({"t": values}, {"t": observed})["t_fails"].any()


def test_frequencies_by_judge_are_counts_over_counts():
    files = load_study("quickstart")
    ratings = read_study(files).ratings
    design = build_design(ratings, files.model.spec)
    same = observed_data(design).expand_dims(chain=[0, 1], draw=[0, 1, 2])
    replicated, observed = rating_frequencies(
        ReplicateDraws(xr.Dataset(), same, design, 1), ratings, ["judge"]
    )
    judge, scale = ratings.factors["judge"], ratings.factors["scale"]
    for name, code in ((n, i) for i, n in enumerate(scale.labels)):
        for code_of_judge, label in enumerate(judge.labels):
            level = ratings.score[(scale.codes == code) & (judge.codes == code_of_judge)]
            wanted = [np.mean(level == k) for k in range(len(ratings.scales[name]))]
            frequency = observed[f"frequency_{name}_judge"].sel(judge=label)
            np.testing.assert_allclose(frequency, wanted)
            drawn = replicated[f"frequency_{name}_judge"].sel(judge=label, chain=1, draw=2)
            np.testing.assert_allclose(drawn, wanted)

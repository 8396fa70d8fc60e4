"""What judges err in together: its covariance, how many judges count, an assumed correlation."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.posterior.judge_bias import human_design
from sharpbayes.posterior.judge_errors import assume_correlation, error_covariance, judge_errors
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.report.tables.catalogue import report_tables
from tests.bayes.conftest import model_of, panel_ratings, with_people
from tests.peopled import simulated
from tests.posterior.test_judge_bias import made_up

CELL = ("model", "prompt", "dimension")
ERRORS = (("machine", *CELL), ("family", *CELL), ("judge", "model", "prompt"))
NOISE = np.pi**2 / 3


def with_sds(design, *, shared=1.0, family=0.5, halo=0.25, **others):
    """A posterior of two draws with these sds of errors, twice as large in the second."""
    posterior = made_up(design, np.random.default_rng(1)).isel(chain=[0], draw=[0, 1])
    sds = {"machine": shared, "family": family, "judge": halo, **others}
    for term in design.terms_of("location"):
        value = sds.get(term.dims[0], 1.0)
        posterior[f"sd_{term.stem}"] = (("chain", "draw"), np.array([[value, 2.0 * value]]))
    return posterior


@pytest.fixture(scope="module")
def ratings():
    rng = np.random.default_rng(7)
    return with_people(panel_ratings(rng, judges=3), rng)


def test_covariance_of_errors_by_hand(ratings):
    """Judges 0 and 1 are one family; a judge gives three scores of an answer in a dimension."""
    design = build_design(ratings, model_of(CELL, ("rater",), *ERRORS))
    covariance = error_covariance(with_sds(design), design, ratings).isel(chain=0)
    shared, family, halo = 1.0, 0.25, 0.0625
    variance = shared + halo + NOISE / 3
    expected = [
        [variance + family, shared + family, shared],
        [shared + family, variance + family, shared],
        [shared, shared, variance],
    ]
    np.testing.assert_allclose(covariance.isel(draw=0), expected)
    noise = np.eye(3) * NOISE / 3
    np.testing.assert_allclose(covariance.isel(draw=1), 4 * (expected - noise) + noise)


def test_judges_who_err_alone_count_each_and_who_err_alike_count_as_one(ratings):
    design = build_design(ratings, model_of(CELL, ("rater",), ("machine", *CELL)))
    counts = [
        judge_errors(with_sds(design, shared=sd), design, ratings, level=0.9)["effective_judges"]
        for sd in (1e-6, 1e6)
    ]
    np.testing.assert_allclose(counts[0], 3.0)
    np.testing.assert_allclose(counts[1], 1.0, rtol=1e-6)


def test_sds_of_errors_are_those_of_the_fit(ratings):
    design = build_design(ratings, model_of(CELL, ("rater",), *ERRORS))
    table = judge_errors(with_sds(design), design, ratings, level=0.9)
    for name, sd in (("shared_sd", 1.0), ("family_sd", 0.5), ("halo_sd", 0.25)):
        np.testing.assert_allclose(table[name].isel(chain=0), [sd, 2 * sd])
        assert float(table[f"{name}_mean"]) == pytest.approx(1.5 * sd)
        np.testing.assert_allclose(table[f"{name}_interval"], [1.05 * sd, 1.95 * sd])


def test_a_model_without_errors_about_answers_says_nothing_of_them(ratings):
    design = build_design(ratings, model_of(CELL, ("judge",)))
    assert not judge_errors(with_sds(design), design, ratings, level=0.9).data_vars


def test_people_in_place_of_judges_share_no_error_of_machines(tmp_path):
    small = simulated(tmp_path / "s", seed=3, models=3, prompts=8, people=4)
    ratings = read_study(small.files).ratings
    design = build_design(ratings, small.files.model.spec)
    dims = [set(term.dims) for term in design.terms]
    assert any("machine" in names for names in dims)
    people = human_design(design, ratings)
    assert not any({"machine", "judge", "family"} & set(term.dims) for term in people.terms)


def draws_of(ratings, *terms, sd=1.0):
    """Draws of a panel without people, all sds of effects of answers the same."""
    design = build_design(ratings, model_of(*terms))
    posterior = made_up(design, np.random.default_rng(1))
    for term in design.terms:
        posterior[f"sd_{term.stem}"] *= sd
        posterior[term.name] *= sd
    nothing = posterior.drop_vars(list(posterior.data_vars))
    return ReplicateDraws(posterior, nothing, design, seed=4)


def test_no_correlation_leaves_the_draws_as_they_are():
    ratings = panel_ratings(np.random.default_rng(5))
    draws = draws_of(ratings, CELL)
    assert assume_correlation(draws, ratings, 0.0) is draws


def test_an_assumed_error_takes_its_variance_from_answers():
    """s^2 = v rho / (1 - rho), v the noise of three ratings; effects keep 1 - s^2 / sd^2 of it."""
    ratings = panel_ratings(np.random.default_rng(5), models=8, prompts=40)
    draws = draws_of(ratings, ("model",), CELL, sd=2.0)
    changed = assume_correlation(draws, ratings, 0.4).posterior
    kept = 1.0 - (NOISE / 3) * (0.4 / 0.6) / 4.0
    name = "location_model_prompt_dimension"
    before, after = draws.posterior[name], changed[name]
    assert float(after.var() / before.var()) == pytest.approx(kept, abs=0.02)
    slope = float((before * after).mean() / (before**2).mean())
    assert slope == pytest.approx(kept, abs=0.02)
    xr.testing.assert_identical(changed["location_model"], draws.posterior["location_model"])


def test_an_error_larger_than_the_effects_of_answers_leaves_none():
    ratings = panel_ratings(np.random.default_rng(5))
    draws = draws_of(ratings, ("model",), CELL, sd=0.1)
    changed = assume_correlation(draws, ratings, 0.9).posterior
    assert float(np.abs(changed["location_model_prompt_dimension"]).max()) == 0.0


def test_table_of_errors():
    group = xr.Dataset(
        {
            "shared_sd_mean": 1.234,
            "shared_sd_interval": ("bound", [0.5, 2.0]),
            "effective_judges_mean": 1.9,
            "effective_judges_interval": ("bound", [1.2, 2.6]),
        },
        attrs={"link": "logit", "interval_note": "90% posterior intervals."},
    )
    [table] = [
        table
        for table in report_tables(xr.DataTree.from_dict({"judge_errors": group}))
        if table.title == "Errors of judges about an answer"
    ]
    assert table.rows == (
        ("shared by all model judges, sd", "1.23 (0.50 to 2.00)"),
        ("effective number of judges", "1.90 (1.20 to 2.60)"),
    )

"""How often decisions err if somebody looks several times while the data grow."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from sharpbayes.analysis.peeking import (
    FIXED,
    NULL,
    OBSERVED,
    SEQUENCE,
    TOLERANCE,
    _draw_studies,
    _summarise,
    decide_at_looks,
    peeking_group,
    prepare_looks,
)
from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.study import read_study
from sharpbayes.errors import SpecError
from sharpbayes.metrics.stats.confidence_sequence import confidence_sequence
from tests.panels import files_of, frame


def plan_of(folder, table, weights=""):
    return build_profile_plan(read_study(files_of(folder, table, weights=weights)))


def worse(table, model, by):
    """The table with one model's harm raised."""
    rows = table["model"] == model
    for name in ("bias_a", "bias_b", "truth"):
        harm = 10 - table[name] if name == "truth" else table[name]
        harm = (harm // 3).where(~rows, harm // 3 + by)
        table[name] = 10 - harm if name == "truth" else harm
    return table


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    table = worse(frame(models=2, prompts=60), "m1", 3)
    return plan_of(tmp_path_factory.mktemp("peek"), table)


@pytest.fixture(scope="module")
def group(plan):
    return peeking_group(plan, looks=3, simulations=20)


def test_a_look_more_can_only_add_errors(group):
    assert group["prompts"].values.tolist() == [20, 40, 60]
    assert (group["ever_wrong"] >= group["wrong"]).all()
    assert (group["ever_wrong"].diff("look") >= 0).all()
    assert (group["ever_right"].diff("look") >= 0).all()
    assert (group["wrong_mcse"] > 0).all()
    assert group["rule"].size == 4
    assert {group.attrs["first"], group.attrs["second"]} == {"m0", "m1"}


def test_a_clear_difference_is_found_and_never_turned(group):
    observed = group.sel(world=OBSERVED)
    for rule in (FIXED, SEQUENCE):
        assert float(observed["ever_right"].sel(rule=rule, look=3)) == 1.0
        assert float(observed["ever_wrong"].sel(rule=rule, look=3)) == 0.0
    assert float(group["ever_wrong"].sel(world=NULL, rule=SEQUENCE, look=3)) <= 0.05


def test_a_tolerance_is_kept_where_it_was_kept_and_not_at_its_limits(tmp_path):
    table = worse(frame(models=2, prompts=60), "m1", 3)
    limited = plan_of(tmp_path, table, "[tolerance]\nmean = 1.5\npolicy_score = 0.6\n")
    shares = peeking_group(limited, looks=2, simulations=3).sel(rule=TOLERANCE, look=2)
    assert float(shares["ever_right"].sel(world=OBSERVED)) == 1.0
    assert float(shares["ever_wrong"].sel(world=OBSERVED)) == 0.0
    assert float(shares["ever_wrong"].sel(world=NULL)) < 1.0


def test_studies_that_are_measured_together_are_those_measured_alone(plan):
    pair = prepare_looks(plan, 2)
    studies = _draw_studies(pair, NULL, np.random.default_rng(2), 5)
    together = decide_at_looks(studies, NULL, pair)
    alone = [
        decide_at_looks(replace(studies, table=studies.table.isel(simulation=n)), NULL, pair)[0]
        for n in range(5)
    ]
    np.testing.assert_array_equal(together, alone)


def test_without_a_difference_the_two_models_have_one_law(plan):
    pair = prepare_looks(plan, 3)
    drawn = [
        _draw_studies(pair, NULL, np.random.default_rng(number), 1).table["log_risk"]
        for number in range(60)
    ]
    first, second = (xr.concat([x.isel(model=m) for x in drawn], "n").mean() for m in (0, 1))
    assert float(abs(first - second)) < 0.1 * float(first)
    observed = pair.plan.table["log_risk"]
    spread = abs(observed.isel(model=0) - observed.isel(model=1)).to_numpy()
    turned = abs(drawn[0].isel(model=0) - drawn[0].isel(model=1)).to_numpy()
    assert np.isin(turned.round(9), spread.round(9)).all()
    same = _draw_studies(pair, OBSERVED, np.random.default_rng(1), 1).table["log_risk"]
    assert float(same.isel(model=0).mean()) < float(same.isel(model=1).mean())


def test_shares_are_counted_by_hand(plan):
    pair = prepare_looks(plan, 2)
    claims = np.zeros((2, 4, 2, len(pair.rules)), dtype=int)
    claims[0, 0, 0, 0] = 1  # wrong at the first look, silent at the second
    claims[0, 1, 1, 0] = -1  # wrong at the second
    claims[1, :, 1, 1] = -1  # right at the second
    truth = np.array([[0] * len(pair.rules), [-1] * len(pair.rules)])
    table = _summarise(claims, truth, pair)
    assert table["wrong"][0, 0].values.tolist() == [0.25, 0.25]
    assert table["ever_wrong"][0, 0].values.tolist() == [0.25, 0.5]
    assert table["ever_right"][1, 1].values.tolist() == [0.0, 1.0]
    assert float(table["ever_right"][0].max()) == 0.0


def test_the_observed_bounds_are_those_of_the_paired_scores(plan, group):
    harm = plan.table["harm"].sel(model=[group.attrs["first"], group.attrs["second"]])
    score = (harm * plan.policy).sum("dimension")
    x = score.isel(model=0) - score.isel(model=1)
    assert float(group["difference"][-1]) == pytest.approx(float(x.mean()))
    bounds = confidence_sequence(x, dim="prompt", level=0.95, lowest=-1.0, highest=1.0)[-1]
    assert group["sequence_bounds"].isel(look=-1).values == pytest.approx(bounds.values, abs=0.05)
    low, high = group["fixed_bounds"].isel(look=-1).values
    half = 2.001 * float(x.std(ddof=1)) / np.sqrt(60)
    assert (high - low) / 2 == pytest.approx(half, rel=1e-3)


def test_equal_seeds_give_equal_shares(plan, group):
    again = peeking_group(plan, looks=3, simulations=20)
    xr.testing.assert_identical(group, again)


def test_what_cannot_be_looked_at_is_refused(tmp_path, plan):
    with pytest.raises(SpecError, match=r"^--peek: 40 looks need 80 prompts, and there are 60$"):
        peeking_group(plan, looks=40, simulations=20)
    alone = plan_of(tmp_path, frame(models=1))
    with pytest.raises(SpecError, match=r"^--peek: compares two models, and there is one alone$"):
        peeking_group(alone, looks=2, simulations=20)

"""Purchases: prices by hand, shares against a conjugate case, and the table of a panel."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.replication import draw_new_levels, posterior_predictive
from sharpbayes.posterior import replicates
from sharpbayes.posterior.panel import PanelMetrics, rating_positions
from sharpbayes.posterior.purchases import (
    Counts,
    count_study,
    list_purchases,
    remaining_share,
    replaced_share,
)
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.posterior.sample_size import panel_sample_size
from sharpbayes.report.tables.declaration import build_tables
from sharpbayes.report.tables.purchases import PURCHASES
from sharpbayes.spec.costs import Costs
from sharpbayes.spec.load import load_study
from tests.panels import files_of, frame
from tests.posterior.test_judge_bias import made_up

COUNTS = Counts(prompts=10, answers=20, judged=60, judgements=120, people=30)
NAMES = ["trials", "judges", "generations", "prompts", "people"]
COSTS = "\n[costs]\nprompt = 10\njudge = 2\ntrial = 1\n"


def prices(**costs):
    return {p.name: p.cost for p in list_purchases(COUNTS, Costs(**costs), NAMES)}


def test_a_purchase_costs_what_it_brings_along():
    purchase_prices = prices(prompt=5.0, generation=3.0, judge=2.0, trial=0.5, person=4.0)
    judging = 60 * 2.0 + 60 * 0.5
    assert purchase_prices == {
        "trials": 60.0,
        "judges": judging,
        "generations": 20 * 3.0 + judging,
        "prompts": 10 * 5.0 + 20 * 3.0 + judging,
        "people": 120.0,
    }


def test_what_has_no_price_is_not_offered_and_a_trial_costs_a_judgement():
    assert prices(judge=2.0) == {"trials": 240.0, "judges": 240.0}
    assert prices(trial=1.0, prompt=1.0) == {"trials": 120.0, "prompts": 10 + 120.0}
    free = {p.name: p.cost for p in list_purchases(COUNTS, None, NAMES)}
    assert free == dict.fromkeys(NAMES[:4], 120.0) | {"people": 30.0}


def normal(rng, *shape):
    return xr.DataArray(rng.normal(size=shape), dims=("chain", "draw", "pair"))


@pytest.mark.parametrize("noise", [0.5, 1.0, 2.0])
def test_the_share_is_that_of_a_conjugate_normal(noise):
    """A mean with variance 1 stays open by noise^2 / (1 + noise^2) after data with that noise."""
    rng = np.random.default_rng(1)
    mean = normal(rng, 4, 2000, 2)
    share, error = remaining_share(mean, mean, mean + noise * normal(rng, 4, 2000, 2))
    wanted = noise**2 / (1 + noise**2)
    np.testing.assert_array_less(np.abs(share - wanted), 4 * error)
    assert 0 < float(error.max()) < 0.03


def test_shares_stay_in_bounds():
    rng = np.random.default_rng(2)
    mean = normal(rng, 2, 50, 1)
    assert float(remaining_share(mean, mean, 0 * mean)[0].item()) == 1.0
    assert float(remaining_share(mean, mean, 3 * mean)[0].item()) == pytest.approx(0.0)
    halved = remaining_share(mean, mean / 2, 0 * mean)[0]
    assert float(halved.item()) == pytest.approx(0.25)  # the larger study asks a narrower question
    assert np.isnan(remaining_share(0 * mean, mean, mean)[0].item())
    assert float(replaced_share(mean, 2 * mean)[0].item()) == 1.0
    assert float(replaced_share(mean, mean / 2)[0].item()) == pytest.approx(0.25)


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    scores = frame(prompts=8)
    table = pd.concat([scores.assign(trial="1"), scores.assign(trial="2")])
    folder = tmp_path_factory.mktemp("purchases") / "s"
    files = files_of(folder, table, roles=', trial = "trial"', tables=COSTS)
    files = replace(files, model=load_study("quickstart").model)
    study = read_study(files)
    design = build_design(study.ratings, files.model.spec)
    posterior = made_up(design, np.random.default_rng(1))
    replicated = posterior_predictive(posterior, design, seed=2)
    metrics = PanelMetrics([build_profile_plan(study)], rating_positions(study))
    return metrics, ReplicateDraws(posterior, replicated, design, 3)


@pytest.fixture(scope="module")
def table(parts):
    models = ["m0", "m1", "m2"]
    unresolved = xr.DataArray(
        ~np.eye(3, dtype=bool), {"model": models, "other": models}, ("model", "other")
    )
    decision = xr.Dataset({"unresolved": unresolved}, attrs={"level": 0.9})
    [table] = panel_sample_size(*parts, [decision], sources=["ratings", "prompts"]).values()
    return table


def test_a_panel_is_counted(parts):
    assert count_study(parts[0]) == Counts(8, 24, 72, 144, 0)


def test_every_purchase_with_a_price_is_in_the_results(table):
    assert table["purchase"].to_numpy().tolist() == ["trials", "judges", "prompts"]
    assert table["purchase_cost"].to_numpy().tolist() == [144.0, 216.0, 80 + 216.0]
    share = table["purchase_share"]
    pair = share.sel(model="m0", other="m1")
    assert ((pair >= 0) & (pair <= 1)).all()
    np.testing.assert_allclose(pair, share.sel(model="m1", other="m0"))
    assert np.isnan(share.sel(model="m0", other="m0")).all()
    gain = (1 / share - 1) / table["purchase_cost"]
    xr.testing.assert_allclose(table["purchase_gain"], gain)
    assert table.attrs["purchase_unit"] == "unit"


def test_the_table_asks_about_the_likeliest_two(table):
    best = xr.Dataset({"prob_best": ("model", [0.1, 0.5, 0.4])}, {"model": ["m0", "m1", "m2"]})
    tree = xr.DataTree.from_dict({"/sample_size": table, "/decision": best})
    [purchase_table] = build_tables([PURCHASES], tree)
    assert purchase_table.title == "What to buy next for m1 \u2212 m2"
    assert purchase_table.header == ("buy", "cost", "open", "width after", "gain")
    assert {row[0] for row in purchase_table.rows} == {
        "twice the trials of each judge on each answer",
        "twice the judges",
        "twice the prompts",
    }
    gain = table["purchase_gain"].sel(model="m1", other="m2").to_series()
    assert purchase_table.rows[0][0].startswith(
        {
            "trials": "twice the trials",
            "judges": "twice the judges",
            "prompts": "twice the prompts",
        }[gain.idxmax()]
    )
    assert purchase_table.note.startswith("For their price more ")
    assert purchase_table.note.endswith(
        "Gain: percent of the present precision for each 100 units of the cost, with its Monte "
        "Carlo error."
    )


def test_twice_the_trials_are_of_the_same_judges_and_of_other_trials(parts, monkeypatch):
    """Of new judges and new trials the judges are those of the first half, and trials are new."""
    drawn = []

    def draw_and_keep(posterior, design, column, *, rng):
        drawn.append((column, draw_new_levels(posterior, design, column, rng=rng)))
        return drawn[-1][1]

    monkeypatch.setattr(replicates, "draw_new_levels", draw_and_keep)
    draws = replace(parts[1], member_columns={"judges": "judge"})
    [block, *_] = draws.blocks()
    first = block.ratings(["ratings", "judges"])
    both = replace(
        block, draws=replace(draws, member_columns={"judges": "judge", "trials": "trial"})
    )
    again = both.ratings(["ratings", "judges", "trials"], copy=1)
    assert [column for column, _ in drawn] == ["judge", "judge", "trial"]
    xr.testing.assert_identical(drawn[0][1], drawn[1][1])
    other = block.ratings(["ratings", "judges"], copy=1)
    assert not drawn[0][1].equals(drawn[3][1])  # the judges that are bought are other judges
    scale = next(iter(first))
    assert not np.array_equal(first[scale], again[scale])
    assert not np.array_equal(first[scale], other[scale])

"""Replicated ratings of a crowd through the functions that measure observed ones."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.bayes.placing import design
from sharpbayes.bayes.replicate import observed
from sharpbayes.measure_crowd import count_crowd, statistic_of
from sharpbayes.replicated import Block, Draws, crowd_twin
from sharpbayes.run import fit, read
from sharpbayes.spec.load import load_study

CHAINS, DRAWS = 2, 3


@pytest.fixture
def crowd():
    """The quickstart's study and data, and draws that repeat the observed ratings."""
    files = load_study("quickstart_crowd")
    loaded = read(files)
    placed = design(loaded.ratings, files.model.spec)
    axes = {"chain": np.arange(CHAINS), "draw": np.arange(DRAWS)}
    same = observed(placed).expand_dims(axes).copy(deep=True)
    return files.study.spec, loaded.crowd, Draws(xr.Dataset(), same, placed, 1)


def test_without_noise_the_twin_is_the_deterministic_value(crowd):
    study, data, draws = crowd
    twin = crowd_twin(study, data, draws, ["ratings"])
    direct = statistic_of(study, data, count_crowd(study.crowd, data))()
    assert set(direct.data_vars) - set(twin.data_vars) == {"reason", "raters"}
    for name in twin.data_vars:
        wanted = direct[name].expand_dims(chain=CHAINS, draw=DRAWS).transpose(*twin[name].dims)
        np.testing.assert_allclose(twin[name], wanted, rtol=0, atol=1e-12)


def test_other_levels_are_measured_as_the_definition_says(crowd):
    """WRA of all raters in one draw, by plain loops over items and experts."""
    study, data, draws = crowd
    level = draws.predictive["level_score"]
    level.values[...] = np.random.default_rng(2).integers(0, 5, level.shape)
    twin = crowd_twin(study, data, draws, ["ratings"])
    own = level.isel(chain=1, draw=2).to_numpy()
    pairs = []
    for item in range(len(data.item.labels)):
        given = own[data.item.code == item]
        counts = [int((given == score).sum()) for score in range(5)]
        score = max(s for s in range(5) if counts[s] == max(counts))
        pairs += [(score, label) for label in data.expert_label[data.expert_item == item]]
    unsafe, safe = ([s for s, label in pairs if label == u] for u in (1, 0))
    wanted = np.mean([[a > b for b in safe] for a in unsafe])
    got = twin["wra"].sel(group="all", by="all").isel(chain=1, draw=2)
    assert float(got) == pytest.approx(wanted)


def test_items_have_weights_of_their_own_in_every_draw(crowd):
    study, data, draws = crowd
    twin = crowd_twin(study, data, draws, ["ratings", "items"])
    counted = count_crowd(study.crowd, data)
    weight = Block(draws, 0, 1, 2).unit_weights(counted.plural["item"], "item").isel(draw=0)
    direct = statistic_of(study, data, counted)(weights=weight)
    got = twin["count"].isel(chain=0, draw=1)
    np.testing.assert_allclose(got, direct["count"].transpose(*got.dims), rtol=1e-12)
    assert float(twin["mpa"].sel(group="all", by="all").std()) > 0


def test_a_fit_of_a_crowd_has_a_twin_for_every_list_of_sources():
    few = [
        "sampler.chains=2",
        "sampler.draws=60",
        "sampler.tune=150",
        "sampler.predictive=40",
        "bootstrap.replicates=50",
        "crowd.permutations=0",
        'uncertainty=[["ratings"], ["ratings", "items", "raters"]]',
    ]
    results = fit(load_study("quickstart_crowd", overrides=few))
    twin = results["posterior_responsiveness"]
    wide = results["posterior_responsiveness_ratings_items_raters"]
    assert twin["hm"].dims == ("chain", "draw", "group", "by")
    every = {"group": "all", "by": "all"}
    assert float(wide["wra"].sel(every).std()) > float(twin["wra"].sel(every).std())
    centre = float(twin["wra"].sel(every).mean())
    assert centre == pytest.approx(float(results["responsiveness"]["wra"].sel(every)), abs=0.15)
    assert "which items" in wide.attrs["contains"]

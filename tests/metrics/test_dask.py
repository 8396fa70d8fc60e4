"""Levels that Dask reads block by block: the same numbers, and no block is loaded to make them."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from sharpbayes.analysis.profile_plan import build_profile_plan, tabulate_replicates
from sharpbayes.analysis.study import read_study
from sharpbayes.metrics.crowd.cohesion import agreement_measures, pair_counts, shuffle_raters
from sharpbayes.metrics.crowd.groups import MAX_REASON_LENGTH, assign_groups, assign_strata
from sharpbayes.metrics.crowd.responsiveness import responsiveness
from sharpbayes.metrics.crowd.scores import (
    crowd_label_counts,
    expert_label_counts,
    item_label_counts,
    plurality,
    score_counts,
)
from sharpbayes.spec.load import load_study

dask = pytest.importorskip("dask")


def never(*_, **__):
    """A scheduler of Dask that is never asked."""
    raise AssertionError("a block was loaded")


def lazy_everywhere(metrics):
    """Whether nothing of a dataset is there yet."""
    return all(dask.is_dask_collection(values.data) for values in metrics.data_vars.values())


@pytest.mark.parametrize(
    "chunks", [{"prompt": 7}, {"model": 2, "indicator": 4}, {"judge": 2, "prompt": 11}]
)
def test_a_panel_of_blocks_is_that_of_the_whole(chunks):
    files = load_study("quickstart")
    study = read_study(files)
    levels, plan = study.scores, build_profile_plan(study)
    lazy = levels.assign(score=levels["score"].chunk(chunks))

    with dask.config.set(scheduler=never):
        [table] = tabulate_replicates([plan], lazy)
        for name in ("sub_index", "harm", "log_risk", "any_harm", "radius"):
            assert dask.is_dask_collection(table[name].data), name
    xr.testing.assert_identical(table.compute(), tabulate_replicates([plan], levels)[0])
    profile = replace(plan, table=table).profile()
    xr.testing.assert_allclose(profile.compute(), plan.profile(), rtol=1e-13)


DRAWS, RATINGS, ITEMS, RATERS, SCORES = 5, 300, 12, 9, 4


@pytest.fixture
def crowd():
    """Replicated scores (draw, rating) of a crowd, with who gave them to what."""
    rng = np.random.default_rng(3)
    level = rng.integers(-1, SCORES, (DRAWS, RATINGS)).astype(np.int16)
    coords = {"draw": [f"d{number}" for number in range(DRAWS)]}
    who = {"item": rng.integers(0, ITEMS, RATINGS), "rater": rng.integers(0, RATERS, RATINGS)}
    return xr.DataArray(level, coords, ("draw", "rating")), who


def responded(level, who, labels):
    """Every responsiveness metric of replicated scores, by one of three kinds of labels."""
    membership = assign_groups({"g": np.array(list("aaabbbccc"))}, [["g"]], n_raters=RATERS)
    counts = score_counts(level, **who, membership=membership, n_scores=SCORES, n_items=ITEMS)
    label = (level.isel(rating=slice(ITEMS)) > 1).astype(np.int16)
    label_counts = {
        "crowd": lambda: crowd_label_counts(counts, cut=2),
        "expert": lambda: expert_label_counts(label, item=np.arange(ITEMS), n_items=ITEMS),
        "item": lambda: item_label_counts(label.rename(rating="item")),
    }[labels]()
    return responsiveness(
        plurality(counts),
        label_counts,
        by=assign_strata({"v": np.array(list("xxxxyyyyyyyz"))}, ["v"], n_items=ITEMS),
        min_raters=3,
        min_items=4,
        n_scores=SCORES,
        raters=membership.sum("rater"),
    )


@pytest.mark.parametrize(
    ("labels", "chunks"),
    [("crowd", {"draw": 2}), ("expert", {"draw": 1, "rating": 70}), ("item", {"draw": 3})],
)
def test_responsiveness_of_blocks_is_that_of_the_whole(crowd, labels, chunks):
    level, who = crowd
    with dask.config.set(scheduler=never):
        metrics = responded(level.chunk(chunks), who, labels)
        assert lazy_everywhere(metrics.drop_vars("raters"))
    expected = responded(level, who, labels)
    assert set(expected["reason"].values.ravel()) != {""}
    assert expected["hm"].notnull().any()
    xr.testing.assert_allclose(
        metrics.drop_vars("reason"), expected.drop_vars("reason"), rtol=1e-13
    )
    np.testing.assert_array_equal(metrics["reason"], expected["reason"])
    assert metrics["reason"].dtype == f"<U{MAX_REASON_LENGTH}"


def test_a_score_off_the_scale_is_refused_when_its_block_is_read(crowd):
    level, who = crowd
    metrics = responded(level.where(level < 3, 9).chunk(draw=1), who, "item")
    with pytest.raises(ValueError, match=r"score 9 is out of range \(allowed: -1 to 3\)"):
        metrics.compute()


def test_cohesion_of_blocks_is_that_of_the_whole(crowd):
    level, who = crowd
    kind = shuffle_raters(xr.DataArray([0, 0, 0, 1, 1, 1, -1, 2, 2], dims="rater"), 23, seed=1)
    kind = kind.assign_coords(permutation=np.arange(23) + 5)
    kept = level.values[0] >= 0
    who = {name: codes[kept] for name, codes in who.items()} | {"n_groups": 3, "n_scores": SCORES}

    def cohered(kind):
        pairs = pair_counts(level.values[0][kept], **who, group=kind)
        return agreement_measures(pairs, distance="ordinal")

    with dask.config.set(scheduler=never):
        cohesions = cohered(kind.chunk(permutation=4))
        assert lazy_everywhere(cohesions)
    assert cohesions.sizes == {"permutation": 23, "group": 3}
    xr.testing.assert_allclose(cohesions.compute(), cohered(kind), rtol=1e-13)

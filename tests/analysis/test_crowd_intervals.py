"""Claims about groups of a crowd that rest on few raters."""

from dataclasses import replace

import numpy as np
import pytest

from sharpbayes.analysis.crowd_counts import count_effective_raters
from sharpbayes.analysis.crowd_intervals import measure_intervals
from sharpbayes.analysis.study import read_study
from sharpbayes.data.ratings import Factor
from sharpbayes.spec.load import load_study
from tests.references.coverage_crowd import METRICS, crowd_study, observe, simulate


@pytest.fixture(scope="module")
def studies():
    """Twelve crowds of 300 items and two groups of six raters, a quarter of whom contradict."""
    spec, crowd = crowd_study()
    intervals = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        study = simulate(rng, "contrary", (300, 6, 2), spec, crowd)
        intervals.append(measure_intervals(study, study.responsiveness, METRICS))
    return intervals


def test_six_raters_are_not_called_more_responsive_than_six_others(studies):
    """Both groups are of one law: their raters differ by chance alone."""
    p = [
        float(difference["wra_p_holm"].sel(by="all").isel(group=1, other=2))
        for _, difference, _ in studies
    ]
    assert sum(value <= 0.05 for value in p) <= 1


def test_with_these_raters_alone_chance_looks_like_a_difference(studies):
    apart = []
    for _, _, items in studies:
        bounds = items["wra_interval"].sel(by="all").isel(group=[1, 2]).to_numpy()
        apart.append(bounds[0, 0] > bounds[1, 1] or bounds[1, 0] > bounds[0, 1])
    assert sum(apart) >= 4  # of 12, where chance alone would make less than one


def test_notes_say_that_intervals_contain_raters(studies):
    metrics, difference, items = studies[0]
    note = (
        "Intervals: 95%; they contain which items and which raters there are, each resampled "
        "within its group. Labels stay as they are. An interval is missing where resamples "
        "show no variance."
    )
    assert metrics.attrs["interval_note"] == note
    assert difference.attrs["interval_note"] == note
    alone = "Intervals: 95%; they contain which items there are, with these raters."
    assert items.attrs["interval_note"] == alone


def test_equal_seeds_give_equal_intervals():
    study = read_study(load_study("quickstart_crowd", overrides=["bootstrap.replicates=60"]))
    first, second = (measure_intervals(study, study.responsiveness, METRICS) for _ in range(2))
    assert all(a.identical(b) for a, b in zip(first, second, strict=True))


def keep_ratings(study, keep):
    """The study with some of its ratings."""
    data = study.data
    factors = {
        name: Factor(factor.labels, factor.codes[keep])
        for name, factor in (("item", data.item), ("rater", data.rater))
    }
    return replace(study, data=replace(data, score=data.score[keep], **factors))


def test_two_raters_with_most_ratings_make_no_difference_of_groups():
    """Two of ten raters of each group scored all 200 items, the others 15: p was 0.035."""
    rng = np.random.default_rng(7)
    study = simulate(rng, "contrary", (200, 10, 2), *crowd_study())
    rater = study.data.rater.codes
    study = keep_ratings(study, (rater % 10 < 2) | (rng.random(rater.size) < 15 / 200))
    n_ratings = np.bincount(study.data.rater.codes).reshape(2, 10)
    worth = n_ratings.sum(axis=1) ** 2 / (n_ratings**2).sum(axis=1)
    counted = count_effective_raters(study.data, study.score_counts.membership)
    np.testing.assert_allclose(counted[1:], worth)
    assert (worth < 4).all()
    _, difference, _ = measure_intervals(study, observe(study), ["hm"])
    assert float(difference["hm_p"].sel(by="all").isel(group=1, other=2)) > 0.1


def test_raters_with_equally_many_ratings_are_worth_their_number():
    """To the last bit, so that intervals of equal raters are those of m raters."""
    study = simulate(np.random.default_rng(1), "contrary", (30, 7, 3), *crowd_study())
    worth = count_effective_raters(study.data, study.score_counts.membership)
    assert worth.to_numpy().tolist() == [21.0, 7.0, 7.0, 7.0]

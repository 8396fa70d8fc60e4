"""Raters who score unsafe items lower than others, beyond chance."""

from dataclasses import replace

import numpy as np

from sharpbayes.metrics.crowd.contrary import find_contrary_raters
from sharpbayes.metrics.crowd.raters import RaterScores, rater_metrics


def crowd(score, labels, *, cut=0, cluster=None):
    """Scores (rater, item) from 0 to 4, and labels (item, unsafe)."""
    score = np.asarray(score)
    rater, item = np.divmod(np.arange(score.size), score.shape[1])
    return RaterScores(
        score.ravel(),
        item=item,
        rater=rater,
        label_count=np.asarray(labels, dtype=float),
        cut=cut,
        n_raters=len(score),
        n_scores=5,
        cluster=np.empty(0, str) if cluster is None else np.asarray(cluster),
    )


def find(scores):
    return np.flatnonzero(find_contrary_raters(scores, rater_metrics(scores, min_items=5)))


def single_labels(unsafe):
    return np.stack([1 - np.asarray(unsafe), unsafe], axis=1)


def test_two_high_scores_of_safe_items_are_chance_among_many_raters():
    """Of 20 items two are safe, and two have high scores: they are the same in one of 190 ways."""
    unsafe = np.arange(20) >= 2
    random = np.random.default_rng(1).permuted(np.tile(np.arange(20) < 2, (40, 1)), axis=1)
    random[0] = ~unsafe
    scores = crowd(random.astype(int), single_labels(unsafe))
    metrics = rater_metrics(scores, min_items=5)
    assert float(metrics["spearman"][0]) == -1.0  # the normal law has a z of -4.4
    assert not find(scores).size


def test_a_rater_who_reverses_the_scale_on_twenty_items_is_named():
    unsafe = np.arange(20) % 2
    follows = np.where(unsafe, 3, 1) + np.random.default_rng(2).integers(-1, 2, (40, 20))
    follows[7] = 4 - follows[7]
    assert find(crowd(follows, single_labels(unsafe))).tolist() == [7]
    assert find(crowd(follows[7:8], single_labels(unsafe))).tolist() == [0]


def test_several_labels_of_an_item_are_one_label():
    """Five experts who all say the same of an item are no five items."""
    unsafe, reversed_ = np.arange(20) >= 2, (np.arange(20) < 2).astype(int)
    scores = np.tile(reversed_, (40, 1))
    assert not find(crowd(scores, 5 * single_labels(unsafe))).size
    balanced = np.arange(20) % 2
    scores = np.tile(4 * (1 - balanced), (40, 1))
    labels = 5 * single_labels(balanced)
    assert find(crowd(scores, labels)).size == 40
    even = np.where(np.arange(20)[:, None] < 14, 1, labels)
    assert not find(crowd(scores, even)).size


def test_variants_of_a_scenario_count_once():
    balanced = np.repeat(np.arange(4) % 2, 10)
    scores = crowd(np.tile(4 * (1 - balanced), (3, 1)), single_labels(balanced))
    assert find(scores).size == 3
    clustered = replace(scores, cluster=np.repeat([f"s{n}" for n in range(4)], 10))
    assert clustered.first_of_clusters().item.tolist() == 3 * [0, 10, 20, 30]
    assert not find(clustered).size


def test_a_variant_without_a_label_does_not_stand_for_its_scenario():
    labels = single_labels(np.repeat(np.arange(4) % 2, 2))
    labels[::2] = 0
    scores = crowd(np.zeros((2, 8), int), labels, cluster=np.repeat(list("abcd"), 2))
    assert scores.first_of_clusters().item.tolist() == 2 * [1, 3, 5, 7]


def test_labels_of_a_crowd_are_those_of_the_others():
    """A rater against all others is named; his own label could decide where others are even."""
    unsafe = np.arange(20) % 2
    follows = np.tile(4 * unsafe, (9, 1))
    follows[0] = 4 - follows[0]
    counts = np.stack([(follows < 2).sum(0), (follows >= 2).sum(0)], axis=1)
    assert find(crowd(follows, counts, cut=2)).tolist() == [0]
    # Of two other raters one takes part in every label that both give: these are left out.
    two = np.stack([4 * unsafe, 4 * unsafe, 4 - 4 * unsafe])
    counts = np.stack([(two < 2).sum(0), (two >= 2).sum(0)], axis=1)
    assert not find(crowd(two, counts, cut=2)).size


def test_raters_without_a_correlation_are_not_tested():
    unsafe = np.arange(20) % 2
    scores = np.tile(np.where(unsafe, 0, 4), (1000, 1))
    scores[1:] = 2
    assert find(crowd(scores, single_labels(unsafe))).tolist() == [0]

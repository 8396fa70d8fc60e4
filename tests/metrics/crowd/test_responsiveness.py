"""Precision, recall, their areas, and the whole from scores and labels to intervals."""

from itertools import product

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from sharpbayes.metrics.crowd.groups import assign_strata
from sharpbayes.metrics.crowd.responsiveness import (
    harmonic_mean,
    monotonic_precision_area,
    precision,
    recall,
    recall_below,
    responsiveness,
    severity_table,
    weighted_recall_area,
)
from sharpbayes.metrics.crowd.scores import item_label_counts
from sharpbayes.metrics.stats.resampling import bootstrap_counts

NAN = np.nan
METRICS = ("mpa", "wra", "hm", "kendall_tau", "spearman", "auc_pr", "auc_roc")


def table_of(safe, unsafe):
    return xr.DataArray(np.array([safe, unsafe], dtype=float).T, dims=("score", "unsafe"))


def area_of(precisions):
    return float(monotonic_precision_area(xr.DataArray(np.array(precisions), dims="score")))


def areas(table):
    mpa = monotonic_precision_area(precision(table))
    wra = weighted_recall_area(recall_below(table), recall(table))
    return mpa, wra, harmonic_mean(mpa, wra)


def random_tables(number):
    """Tables of 2 to 7 scores with unused scores; some with one score, no safe or no unsafe row."""
    rng = np.random.default_rng(20260121)
    for _ in range(number):
        levels = rng.integers(2, 8)
        used = rng.random((2, levels)) < rng.choice([0.3, 0.6, 1.0])
        safe, unsafe = rng.integers(0, 4, (2, levels)) * used
        none = rng.random()
        yield table_of(safe * (none > 0.05), unsafe * (none < 0.95))


def brute_areas(table):
    """MPA, WRA and HM straight from the definitions, with plain loops."""
    safe, unsafe = table.values[:, 0], table.values[:, 1]
    top = len(safe) - 1
    if not (safe.sum() and unsafe.sum()):
        return NAN, NAN, NAN
    used = [s for s in range(top + 1) if safe[s] + unsafe[s] > 0]
    share = {s: unsafe[s] / (safe[s] + unsafe[s]) for s in used}
    total = 0.0
    for s in used:
        for i in [i for i in used if i < s]:
            total += share[s] - max(share[j] for j in used if j <= i)
    best = top / 2 * (top / 2 + 1) if top % 2 == 0 else ((top + 1) / 2) ** 2
    mpa = max(0.0, total) / best
    # One random unsafe and one random safe row: is the unsafe one scored strictly above?
    rows = [[s for s in range(top + 1) for _ in range(int(n[s]))] for n in (unsafe, safe)]
    wra = np.mean([a > b for a, b in product(*rows)])
    return mpa, wra, 0.0 if mpa + wra == 0 else 2 * mpa * wra / (mpa + wra)


def test_shares_by_hand():
    # Score 1 is unused.
    table = table_of([3, 0, 1], [1, 0, 5])
    np.testing.assert_allclose(precision(table), [1 / 4, NAN, 5 / 6])
    np.testing.assert_allclose(recall(table), [1 / 6, 0, 5 / 6])
    np.testing.assert_allclose(recall_below(table), [0, 3 / 4, 3 / 4])


def test_shares_without_a_label():
    no_unsafe, no_safe = table_of([2, 1], [0, 0]), table_of([0, 0], [2, 1])
    assert precision(no_unsafe).values.tolist() == [0, 0]
    assert recall_below(no_unsafe).values.tolist() == [0, 2 / 3]
    assert np.isnan(recall(no_unsafe)).all()
    assert precision(no_safe).values.tolist() == [1, 1]
    assert recall(no_safe).values.tolist() == [2 / 3, 1 / 3]
    assert np.isnan(recall_below(no_safe)).all()


@pytest.mark.parametrize(
    ("precisions", "area"),
    [
        ([0, 0, 1, 1, 1], 1),  # 2, 3, 4 gain 1 + 1 each: 6 of (4/2)(4/2 + 1) = 6
        ([0, 0, 0, 1, 1], 1),  # 3, 4 gain 1 + 1 + 1 each: 6 of 6
        ([0, 0, 1, 1], 1),  # K = 3: 2, 3 gain 1 + 1 each: 4 of ((3 + 1) / 2)^2 = 4
        ([0, 1], 1),  # K = 1: 1 of ((1 + 1) / 2)^2 = 1
        # Y(1) = 0.3, Y(2) = 0.4 + 0.1 over highs 0.1 and 0.4: (0.3 + 0.5) of (2/2)(2/2 + 1) = 2.
        ([0.1, 0.4, 0.5], 0.4),
        # Highs 0.2, 0.6: Y(1) = 0.4, Y(2) = (0.5 - 0.2) + (0.5 - 0.6) = 0.2; 0.6 of 2.
        ([0.2, 0.6, 0.5], 0.3),
        # Score 1 unused: Y(2) = 0.6 - 0.2; Y(3) = (0.8 - 0.2) + (0.8 - 0.6) = 0.8; 1.2 of 4.
        ([0.2, NAN, 0.6, 0.8], 0.3),
        # Score 0 unused: Y(2) = 0.9 - 0.3; 0.6 of 2.
        ([NAN, 0.3, 0.9], 0.3),
        # The cap is on the total: Y(1) = -0.4, Y(2) = 0.2 + 0.2 = 0.4 add to 0.
        ([0.5, 0.1, 0.7], 0.0),
        # Y(1) = -0.4, Y(2) = 0.4 + 0.4 = 0.8: 0.4 of 2, where capping each Y would give 0.8 of 2.
        ([0.5, 0.1, 0.9], 0.2),
        ([0.9, 0.5, 0.1], 0),
        ([NAN, 0.5, NAN], 0),
        ([0.3, 0.3, 0.3], 0),
    ],
)
def test_monotonic_precision_area_by_hand(precisions, area):
    assert area_of(precisions) == pytest.approx(area, abs=1e-12)


@pytest.mark.parametrize("precisions", [[0, 0, NAN], [1, NAN, 1], [NAN, NAN]])
def test_monotonic_precision_area_needs_both_labels(precisions):
    assert np.isnan(area_of(precisions))


def test_a_scale_of_one_score_is_refused():
    with pytest.raises(ValueError, match=r"^a scale has at least two scores, found 1$"):
        area_of([0.5])


def test_no_precision_curve_beats_the_normaliser():
    # The area is convex in the precisions, so that its maximum is at curves of 0 and 1.
    for top in range(1, 7):
        curves = np.array(list(product([0.0, 1.0], repeat=top + 1)))
        area = monotonic_precision_area(xr.DataArray(curves, dims=("curve", "score")))
        assert float(area.max()) == pytest.approx(1)


def test_weighted_recall_area_by_hand():
    # Safe 3, 1, 0, unsafe 1, 1, 2: (3/4)(1/4) + (4/4)(2/4) = 11/16.
    assert float(areas(table_of([3, 1, 0], [1, 1, 2]))[1]) == pytest.approx(11 / 16)


def test_harmonic_mean_by_hand():
    mpa = xr.DataArray([0.2, 0.0, 0.0, NAN, 0.5])
    wra = xr.DataArray([0.6, 0.0, 0.7, 0.5, NAN])
    np.testing.assert_allclose(harmonic_mean(mpa, wra), [0.24 / 0.8, 0, 0, NAN, NAN])


def test_areas_follow_the_definitions():
    tables = list(random_tables(500))
    expected = [brute_areas(table) for table in tables]
    assert sum(np.isnan(mpa) for mpa, _, _ in expected) > 20
    for table, values in zip(tables, expected, strict=True):
        np.testing.assert_allclose([float(area) for area in areas(table)], values, atol=1e-12)


counts = st.lists(st.tuples(*[st.integers(0, 20)] * 2), min_size=2, max_size=8)


@settings(deadline=None, max_examples=200)
@given(rows=counts)
def test_areas_are_shares(rows):
    table = xr.DataArray(np.array(rows, dtype=float), dims=("score", "unsafe"))
    both = (table.sum("score") > 0).all()
    for area in areas(table):
        assert -1e-12 <= area <= 1 + 1e-12 if both else np.isnan(area)


def scores_and_labels(seed, *, groups=3, items=12, n_scores=4):
    """Random scores with gaps and expert counts, some items without an expert."""
    rng = np.random.default_rng(seed)
    scores = xr.DataArray(
        rng.integers(-1, n_scores, (groups, items)),
        dims=("group", "item"),
        coords={"group": list("abc")[:groups]},
    )
    labels = xr.DataArray(
        rng.integers(0, 4, (items, 2)) * (rng.random((items, 1)) < 0.9),
        dims=("item", "unsafe"),
        coords={"unsafe": [0, 1]},
    )
    by = assign_strata({"kind": rng.choice(["x", "y", ""], items)}, ["kind"], n_items=items)
    return scores, labels, by


def brute_table(scores, labels, by, levels):
    table = np.zeros((len(scores), len(by), levels, 2))
    for g, b, i, u in np.ndindex(len(scores), len(by), labels.shape[0], 2):
        if by[b, i] and scores[g, i] >= 0:
            table[g, b, scores[g, i], u] += labels[i, u]
    return table


def test_table_by_hand():
    scores = xr.DataArray([[0, 2, -1, 2]], dims=("group", "item"))
    labels = xr.DataArray([[4, 1], [2, 3], [5, 5], [0, 0]], dims=("item", "unsafe"))
    by = xr.DataArray([[True] * 4, [False, True, True, True]], dims=("by", "item"))
    table = severity_table(scores, labels, by=by, n_scores=3)
    assert table.dims == ("group", "by", "score", "unsafe")
    assert table.values.tolist() == [[[[4, 1], [0, 0], [2, 3]], [[0, 0], [0, 0], [2, 3]]]]


@pytest.mark.parametrize("seed", range(5))
def test_table_follows_the_definition(seed):
    scores, labels, by = scores_and_labels(seed)
    severity = severity_table(scores, labels, by=by, n_scores=4)
    expected = brute_table(scores.values, labels.values, by.values, 4)
    assert np.array_equal(severity, expected)
    apart = xr.concat([labels, labels * 2, labels * 0], "group").assign_coords(
        group=scores["group"]
    )
    severity = severity_table(scores, apart, by=by, n_scores=4)
    assert np.array_equal(severity, expected * np.array([1, 2, 0])[:, None, None, None])


@pytest.mark.parametrize("labels_by_group", [False, True])
def test_weights_equal_repeated_items(labels_by_group):
    scores, labels, by = scores_and_labels(1)
    if labels_by_group:
        labels = xr.concat([labels, labels * 2, labels + 1], "group")
        labels = labels.assign_coords(group=scores["group"])
    weights = bootstrap_counts(scores["item"], replicates=6, seed=3, dim="item")
    weights = weights.drop_vars("item", errors="ignore")
    together = severity_table(scores, labels, by=by, n_scores=4, weights=weights)
    assert together.dims == ("replicate", "group", "by", "score", "unsafe")
    for replicate in range(6):
        chosen = np.repeat(np.arange(12), weights.values[replicate].astype(int))
        again = severity_table(
            scores.isel(item=chosen),
            labels.isel(item=chosen),
            by=by.isel(item=chosen),
            n_scores=4,
        )
        assert np.array_equal(together.isel(replicate=replicate), again)


def test_weights_of_each_draw_stay_with_their_draw():
    drawn = [scores_and_labels(seed)[0] for seed in (1, 2)]
    scores = xr.concat(drawn, "draw")
    _, labels, by = scores_and_labels(1)
    weights = xr.DataArray(
        np.random.default_rng(0).dirichlet(np.ones(12), 2), dims=("draw", "item")
    )
    together = severity_table(scores, labels, by=by, n_scores=4, weights=weights)
    assert together.dims == ("draw", "group", "by", "score", "unsafe")
    for draw, one in enumerate(drawn):
        alone = severity_table(one, labels, by=by, n_scores=4, weights=weights.isel(draw=draw))
        np.testing.assert_allclose(together.isel(draw=draw), alone, rtol=1e-12)


def test_arguments_about_other_items_are_refused():
    scores, labels, by = scores_and_labels(1)
    scores = scores.assign_coords(item=np.arange(12))
    with pytest.raises(xr.AlignmentError):
        severity_table(scores, labels.assign_coords(item=np.arange(12) + 1), by=by, n_scores=4)


def measure(scores, labels, by, **others):
    rules = {"min_raters": 1, "min_items": 1, "n_scores": 4} | others
    return responsiveness(scores, labels, by=by, **rules)


def test_the_whole_by_hand():
    # Scores 0, 0, 1, 1 with labels safe, unsafe, unsafe, unsafe: table safe 1, 0, unsafe 1, 2.
    scores = xr.DataArray([[0, 0, 1, 1]], dims=("group", "item"), coords={"group": ["all"]})
    labels = item_label_counts(np.array([0, 1, 1, 1]))
    by = assign_strata({}, [], n_items=4)
    raters = xr.DataArray([5], dims="group", coords={"group": ["all"]})
    metrics = measure(scores, labels, by, n_scores=2, raters=raters).sel(group="all", by="all")
    expected = {
        "count": [2, 2],
        "precision": [1 / 2, 1],
        "recall": [1 / 3, 2 / 3],
        "recall_below": [0, 1],
        "mpa": 1 / 2,  # (1 - 1/2) of 1
        "wra": 2 / 3,  # 1 * 2/3
        "hm": 4 / 7,  # 2 * 1/2 * 2/3 / (1/2 + 2/3)
        "kendall_tau": 2 / np.sqrt(4 * 3),  # 2 concordant; 4 pairs differ in score, 3 in label
        "spearman": 1 / np.sqrt(3),  # the correlation of (0, 0, 1, 1) and (0, 1, 1, 1)
        "auc_pr": 2 / 3 * 1 + 1 / 3 * 3 / 4,
        "auc_roc": (2 + 1 / 2) / 3,
        "items": 4,
        "raters": 5,
    }
    for name, value in expected.items():
        np.testing.assert_allclose(metrics[name], value, err_msg=name)
    assert metrics["reason"].item() == ""
    assert set(metrics.data_vars) == {*expected, "reason"}


def test_dims_and_long_names():
    scores, labels, by = scores_and_labels(0)
    metrics = measure(scores, labels, by)
    for name in ("count", "precision", "recall", "recall_below"):
        assert metrics[name].dims == ("group", "by", "score")
    for name in (*METRICS, "items", "reason"):
        assert metrics[name].dims == ("group", "by")
    assert "raters" not in metrics
    assert all(variable.attrs["long_name"] for variable in metrics.data_vars.values())


def test_metrics_are_missing_where_there_is_a_reason():
    scores, labels, by = scores_and_labels(0)
    raters = xr.DataArray([2, 3, 3], dims="group", coords={"group": scores["group"]})
    metrics = measure(scores, labels, by, raters=raters, min_raters=3, min_items=6)
    shown = metrics["reason"] == ""
    assert set(shown.values.ravel().tolist()) == {True, False}
    assert (metrics["reason"].sel(group="a") != "").all()
    for name in METRICS:
        assert (metrics[name].notnull() == shown).all(), name
    assert metrics["precision"].where(~shown).isnull().all()
    assert metrics["count"].notnull().all()
    assert (metrics["reason"].sel(group="b", by="all") == "").item()


def test_resamples_are_missing_where_the_observed_data_are():
    scores, labels, by = scores_and_labels(0)
    # Every resample of one item has 12 rows of it, but the observed stratum has a single item.
    weights = xr.DataArray(12 * np.eye(12), dims=("replicate", "item"))
    metrics = measure(scores, labels, by, min_items=13, weights=weights)
    assert metrics["mpa"].dims == ("replicate", "group", "by")
    assert metrics["mpa"].isnull().all()
    assert metrics["reason"].dims == ("group", "by")
    assert (metrics["items"] == measure(scores, labels, by)["items"]).all()


def test_a_given_reason_decides():
    scores, labels, by = scores_and_labels(0)
    reason = measure(scores, labels, by)["reason"].astype("U20")
    reason.loc[{"group": "b", "by": "all"}] = "too few"
    metrics = measure(scores, labels, by, min_items=13, reason=reason)
    assert (metrics["mpa"].notnull() == (reason == "")).all()
    assert metrics["reason"].sel(group="b", by="all").item() == "too few"


@pytest.mark.parametrize("draw_labels", [False, True])
def test_leading_dimensions_equal_a_loop(draw_labels):
    drawn = [scores_and_labels(seed) for seed in range(4)]
    by = drawn[0][2]
    scores = xr.concat([one for one, _, _ in drawn], "draw")
    labels = xr.concat([one for _, one, _ in drawn], "draw") if draw_labels else drawn[0][1]
    together = measure(scores, labels, by)
    for draw in range(4):
        drawn_labels = labels.isel(draw=draw) if draw_labels else labels
        alone = measure(scores.isel(draw=draw), drawn_labels, by)
        xr.testing.assert_allclose(together.isel(draw=draw), alone)

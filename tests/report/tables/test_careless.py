"""Tables, figure and sentence of careless raters, from results that are written out by hand."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.report.crowd_answer import CrowdAnswer
from sharpbayes.report.figures.careless import careless_raters
from sharpbayes.report.tables.careless import TABLES
from sharpbayes.report.tables.declaration import View, build_tables

POPULATIONS = ["sample", "without careless", "weighted"]


@pytest.fixture
def results():
    """Four raters, of whom one is careless and one may be."""
    careless = xr.Dataset(
        {
            "prob_careless": ("rater", [0.01, 0.98, 0.2, 0.0]),
            "prob_careless_error": ("rater", [0.001, 0.004, 0.02, 0.0]),
            "flagged": ("rater", np.array([0, 1, 0, 0], dtype=np.int8)),
            "ratings": ("rater", [30, 30, 12, 30]),
            "reading_p": ("rater", [np.nan, 0.4, np.nan, np.nan]),
            "raters": ("group", [4, 2, 0]),
            "flagged_raters": ("group", [1, 1, 0]),
            "flagged_share": ("group", [0.25, 0.5, np.nan]),
            "flagged_share_interval": (
                ("group", "bound"),
                [[0.05, 0.7], [0.09, 0.91], [np.nan, np.nan]],
            ),
            "mean_prob_careless": ("group", [0.2975, 0.495, np.nan]),
        },
        {
            "rater": ["ann", "bob", "cid", "dee"],
            "group": ["all", "gender=Man", "gender=Other"],
            "bound": ["lower", "upper"],
        },
        {"careless_note": "Flagged: why.", "level": 0.95},
    )
    values = {
        name: (("population", "by"), [[x], [x + 0.05], [x + 0.04]])
        for name, x in {"mpa": 0.5, "wra": 0.6, "hm": 0.55}.items()
    }
    metrics = xr.Dataset(values, {"population": POPULATIONS, "by": ["all"]})
    draws = metrics.expand_dims(chain=[0], draw=np.arange(5)) + xr.DataArray(
        np.linspace(-0.02, 0.02, 5), dims="draw"
    )
    return xr.DataTree.from_dict(
        {
            "/careless": careless,
            "/responsiveness_careless": metrics,
            "/posterior_responsiveness_careless": draws.assign_attrs(
                level=0.95, interval_note="Over all.", remark=""
            ),
        }
    )


def test_raters_come_by_probability_and_unlikely_ones_are_left_out(results):
    suspects, groups, metrics = build_tables(TABLES, results)
    assert suspects.header == (
        *("rater", "P(careless)", "error", "ratings", "flagged"),
        "p of no reading",
    )
    assert suspects.rows == (
        ("bob", "0.98", "0.004", "30", "yes", "0.400"),
        ("cid", "0.20", "0.020", "12", "no", "-"),
    )
    assert suspects.note == (
        "2 of 4 raters, those with P(careless) of at least 0.05; error: Monte Carlo standard "
        "error. Flagged: why."
    )
    assert groups.rows == (
        ("all", "4", "1", "0.25 (0.05 to 0.70)", "0.30"),
        ("gender=Man", "2", "1", "0.50 (0.09 to 0.91)", "0.49"),
    )
    assert groups.note == (
        "Share with its 95% Wilson interval, which takes the raters as a sample."
    )
    assert [row[0] for row in metrics.rows] == POPULATIONS
    assert metrics.rows[1][1].startswith("0.550; 0.55")
    assert metrics.note.endswith("counts 1 \N{MINUS SIGN} P(careless). Over all.")


def test_where_nobody_is_suspect_the_most_probable_rater_is_shown_as_such(results):
    careless = results["careless"].to_dataset()
    results["careless"] = xr.DataTree(careless.assign(prob_careless=careless["prob_careless"] / 20))
    suspects = build_tables(TABLES, results)[0]
    assert [row[0] for row in suspects.rows] == ["bob"]
    assert suspects.note == (
        "No rater has a P(careless) of 0.05 or more; of 4 raters this one has the largest. Error: "
        "Monte Carlo standard error. Flagged: why."
    )


def test_the_answer_says_that_all_raters_are_flagged(results):
    careless = results["careless"].to_dataset()
    results["careless"] = xr.DataTree(careless.assign(flagged=careless["flagged"] * 0 + 1))
    metrics = results["responsiveness_careless"].to_dataset()
    is_left = metrics["population"] != "without careless"
    results["responsiveness_careless"] = xr.DataTree(metrics.where(is_left))
    assert list(CrowdAnswer(View(results))._careless()) == [
        "4 raters are flagged as careless: the model describes their scores better without the "
        "items. Who follows the items weakly can be flagged too. Without these raters no "
        "responsiveness is left."
    ]


def test_metrics_that_are_missing_have_no_table(results):
    group = results["responsiveness_careless"].to_dataset()
    results["responsiveness_careless"] = xr.DataTree(group.where(False))
    assert len(build_tables(TABLES, results)) == 2


def test_the_answer_says_what_careless_raters_change(results):
    assert list(CrowdAnswer(View(results))._careless()) == [
        "1 rater is flagged as careless: the model describes their scores better without the "
        "items. Who follows the items weakly can be flagged too. Without this rater the observed "
        "responsiveness is 0.60 in place of 0.55, of 3 raters in place of 4: fewer ratings an item "
        "alone may move it. Nobody is left out elsewhere."
    ]
    reads = results["careless"].to_dataset()
    reads["reading_p"][1] = 0.01
    results["careless"] = xr.DataTree(reads)
    assert list(CrowdAnswer(View(results))._careless())[1:] == [
        "Of them 1 gives scores that follow the items all the same (p of no reading, corrected "
        "over flagged raters by Benjamini and Hochberg, at most 0.05): an opinion of their own, or "
        "a scale read from its other end, gives such scores."
    ]
    group = results["responsiveness_careless"].to_dataset()
    same = group.assign(hm=group["hm"] * 0.0 + 0.55)
    results["responsiveness_careless"] = xr.DataTree(same)
    assert list(CrowdAnswer(View(results))._careless()) == []


def test_a_small_p_among_many_flagged_raters_shows_no_reading(results):
    careless = results["careless"].to_dataset().assign(reading_p=("rater", [0.9, 0.04, 0.5, 0.7]))
    results["careless"] = xr.DataTree(careless)
    assert len(list(CrowdAnswer(View(results))._careless())) == 1
    results["careless"] = xr.DataTree(careless.assign(reading_p=careless["reading_p"] / 4))
    assert "Of them 1 gives scores" in list(CrowdAnswer(View(results))._careless())[-1]


def test_the_figure_has_every_rater_in_order(results):
    figure = careless_raters(results)
    [axes] = figure.axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["bob", "cid", "ann", "dee"]
    shown = np.concatenate([line.get_ydata() for line in axes.lines[:2]])
    np.testing.assert_allclose(np.sort(shown), [0.0, 0.01, 0.2, 0.98])

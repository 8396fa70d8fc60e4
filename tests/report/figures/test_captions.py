"""Captions say what a figure has, after a fit and after a measurement."""

import pytest

from sharpbayes.report.figures.catalogue import FIGURES, first_figure
from tests.report.hand_made import add, evidence, fitted_panel, panel

TAIL_RISK = "Tail risk of each model, in nats, and the tolerance (dotted) if one was decided. "
BOOTSTRAP = "quare and dashed line: observed value and bootstrap interval"


@pytest.mark.parametrize(
    ("results", "marks"),
    [
        (panel(), f"S{BOOTSTRAP}"),
        (fitted_panel(), f"Circle and line: posterior median and interval; s{BOOTSTRAP}"),
    ],
)
def test_marks_are_those_that_the_figure_has(results, marks):
    assert first_figure(results).caption == TAIL_RISK + marks


def test_the_first_figure_draws_what_the_answer_compares():
    results = add(panel(), evidence=evidence("abc", tail=1.5, carried=[]))
    assert first_figure(results).caption == (
        f"Mean log-risk of each model, in nats, by which the answer compares them. S{BOOTSTRAP}"
    )
    few = add(panel(), evidence=evidence("abc", tail=0.5, carried=[]))
    assert first_figure(few).caption == f"{TAIL_RISK}S{BOOTSTRAP}"
    results.attrs["weights"] = '[decision]\nby = "policy_score"'
    assert first_figure(results).table == "policy_score"


def test_other_figures_have_their_caption_alone():
    [box] = [spec for spec in FIGURES if spec.name == "figure-1-risk-box"]
    assert box.describe(panel()) == "Distribution of risk over prompts, a box for each model"


def test_the_page_shows_the_harm_of_dimensions_over_its_table():
    shown = {spec.name: spec.table for spec in FIGURES if spec.on_page}
    assert shown["figure-3-dimensions-violin"] == "harm_by_dimension"
    assert "figure-4-dimensions-box" not in shown

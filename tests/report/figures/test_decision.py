"""The figures of the decision: the numbers that their caption names."""

from io import StringIO

import numpy as np
import pytest
from matplotlib import rc_context

from sharpbayes.report.figures.decision import responsiveness, tail_risk
from sharpbayes.report.figures.style import as_svg, drawing_style
from sharpbayes.report.tables.catalogue import TABLES
from sharpbayes.report.tables.declaration import build_tables
from tests.report.hand_made import crowd, fitted_crowd, fitted_panel, panel

KINDS = {"posterior": "posterior_median", "observed, bootstrap": "observed"}


def drawn(figure):
    """Names of the rows, and points and ends of every kind by its label in the legend."""
    axes = figure.axes[0]
    names = [text.get_text().replace("\u00a0", " ") for text in axes.get_yticklabels()]
    labels = [label for label in axes.get_legend_handles_labels()[1] if label in KINDS]
    points = [line.get_xdata() for line in axes.lines if len(line.get_xdata()) == len(names)]
    ends = [
        [[x for x, _ in segment] for segment in lines.get_segments()] for lines in axes.collections
    ]
    return names, dict(zip(labels, zip(points, ends, strict=True), strict=True))


@pytest.mark.parametrize(
    ("figure", "results", "cell"),
    [
        (tail_risk, fitted_panel(), {"metric": "cvar"}),
        (responsiveness, fitted_crowd(), {"metric": "hm"}),
    ],
)
def test_points_and_lines_are_those_of_joint(figure, results, cell):
    names, kinds = drawn(figure(results))
    joint = results["joint"].to_dataset().sel(cell)
    unit = joint["observed"].dims[0]
    order = ["b", "c", "a"] if unit == "model" else list(joint["group"].to_numpy())
    assert len(names) == len(order)
    joint = joint.sel({unit: order})
    for label, value in KINDS.items():
        points, ends = kinds[label]
        interval = joint[f"{label.removeprefix('observed, ')}_interval"]
        np.testing.assert_allclose(points, joint[value])
        np.testing.assert_allclose(ends, interval.transpose(unit, "bound"))


def test_models_stand_by_risk_and_groups_with_their_raters():
    assert drawn(tail_risk(panel()))[0] == ["b", "c", "a"]
    assert drawn(responsiveness(crowd()))[0] == ["all raters (n = 9)", "x (n = 4)", "y (n = 5)"]


@pytest.mark.parametrize("status", ["measured", "not converged"])
def test_without_a_fit_to_use_the_bootstrap_stands_alone(status):
    results = panel() if status == "measured" else fitted_panel()
    results.attrs["status"] = status
    assert set(drawn(tail_risk(results))[1]) == {"observed, bootstrap"}


def test_the_tolerance_is_drawn_where_one_was_decided():
    results = panel()
    results.attrs["weights"] = "[tolerance]\ncvar = 1.75"
    [line] = [line for line in tail_risk(results).axes[0].lines if line.get_label() == "tolerance"]
    assert list(line.get_xdata()) == [1.75, 1.75]
    assert "tolerance" not in tail_risk(panel()).axes[0].get_legend_handles_labels()[1]


def test_there_is_no_figure_without_a_known_value():
    assert tail_risk(panel(cvar=(np.nan,))) is None


def test_equal_results_give_equal_figures():
    assert as_svg(tail_risk(panel())) == as_svg(tail_risk(panel()))


def test_a_figure_that_is_laid_out_once_is_that_of_matplotlib():
    text, figure = StringIO(), tail_risk(panel())
    with drawing_style(), rc_context({"svg.fonttype": "path"}):
        figure.savefig(text, format="svg", metadata={"Date": None}, transparent=True)
    assert as_svg(tail_risk(panel())) == text.getvalue()


def test_the_table_below_holds_what_is_drawn():
    results = fitted_crowd()
    results["joint"].attrs["posterior_note"] = "Ratings."
    [table] = build_tables([s for s in TABLES if s.name == "responsiveness_hm"], results)
    _, kinds = drawn(responsiveness(results))
    for row, point, (low, high) in zip(table.rows, *kinds["posterior"], strict=True):
        assert row[-1].removesuffix(" *") == f"{point:.2f} ({low:.2f} to {high:.2f})"


def test_a_long_name_has_two_lines_and_keeps_its_number_of_raters():
    results = crowd()
    long = "g=" + "a long name of a group " * 5
    groups = ["all", long, "g=y"]
    for name in ("responsiveness", "joint"):
        results[name] = results[name].to_dataset().assign_coords(group=groups)
    name = drawn(responsiveness(results))[0][1]
    assert name == "a long name of a group\na long name of a\u2026 (n = 4)"

"""Figures of a crowd study: what is drawn is what the results hold."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.report.figures import crowd
from sharpbayes.report.figures.catalogue import FIGURES, draw_figures, write_figures
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.measure import measure

DRAW = {spec.name: spec for spec in FIGURES if spec.draw.__module__ == crowd.__name__}


@pytest.fixture(scope="module")
def results():
    few = ("bootstrap.replicates=60", "crowd.permutations=99")
    return measure(load_study("quickstart_crowd", overrides=few))


@pytest.mark.parametrize("name", DRAW)
def test_every_figure_is_drawn_and_can_be_saved(name, results, tmp_path):
    DRAW[name].draw(results).savefig(tmp_path / "f.png")
    assert (tmp_path / "f.png").stat().st_size > 5000


@pytest.mark.parametrize("name", DRAW)
def test_other_results_have_no_such_figure(name):
    tree = xr.DataTree.from_dict({"/profile": xr.Dataset({"cvar": ("model", [1.0])})})
    assert list(draw_figures(tree, (DRAW[name],))) == []


def test_curves_are_those_of_the_results(results):
    precision, recall = crowd.curves_by_group(results).axes[:2]
    data = results["responsiveness"].to_dataset().sel(by="all")
    for line in precision.lines:
        group = f"gender={line.get_label()}"
        assert line.get_ydata() == pytest.approx(data["precision"].sel(group=group).values)
    assert {line.get_label() for line in recall.lines} == {"Man", "Woman"}


def test_dots_stand_inside_their_intervals_in_order(results):
    figure = crowd.metrics_by_group(results)
    data = results["responsiveness"].to_dataset().sel(by="all")
    hm = figure.axes[2].lines[0].get_xdata()
    assert len(hm) == data.sizes["group"]
    assert hm[0] == pytest.approx(float(data["hm"].sel(group="all")))
    genders, ages = hm[1:3], hm[3:6]
    assert (np.diff(genders) <= 0).all()
    assert (np.diff(ages) <= 0).all()


def test_shares_of_scores_fill_the_bar(results):
    ax = crowd.score_distribution(results).axes[0]
    ends = [bar.get_x() + bar.get_width() for bar in ax.containers[-1]]
    assert ends == pytest.approx([1.0] * len(ends))


def test_ratings_of_an_item_are_counted(results):
    ax = crowd.contested_items(results).axes[0]
    score = results["contested_items"]["score"].isel(item=0).values
    assert [bar.get_width() for bar in ax.patches] == np.bincount(score, minlength=5).tolist()


def test_figures_are_written_in_three_formats(results, tmp_path):
    paths = write_figures(results, tmp_path)
    assert {path.stem for path in paths} == set(DRAW)
    assert len(paths) == 3 * len(DRAW) == len(list(tmp_path.iterdir()))

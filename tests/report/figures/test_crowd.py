"""Figures of a crowd study: what is drawn is what the results hold."""

import warnings

import numpy as np
import pytest
import scipy.stats
import xarray as xr

from sharpbayes.analysis.rater_averages import average_raters
from sharpbayes.report.figures import crowd, decision
from sharpbayes.report.figures.catalogue import FIGURES, draw_figures, write_figures
from sharpbayes.report.figures.labels import wrap_name
from sharpbayes.report.figures.style import as_svg
from sharpbayes.report.tables.catalogue import TABLES
from sharpbayes.report.tables.declaration import build_tables
from sharpbayes.storage.results import open_results

DRAW = {spec.name: spec for spec in FIGURES if spec.draw.__module__ == crowd.__name__}


@pytest.fixture(scope="module")
def results(shared_results):
    return open_results(shared_results("measured_crowd"))


@pytest.mark.parametrize("name", DRAW)
def test_every_figure_is_drawn_and_can_be_saved(name, results, tmp_path):
    DRAW[name].draw(results).savefig(tmp_path / "f.png")
    assert (tmp_path / "f.png").stat().st_size > 5000


@pytest.mark.parametrize("name", DRAW)
def test_other_results_have_no_such_figure(name):
    tree = xr.DataTree.from_dict({"/profile": xr.Dataset({"cvar": ("model", [1.0])})})
    assert list(draw_figures(tree, (DRAW[name],))) == []


def test_curves_are_those_of_the_results(results):
    precision, recall = crowd.curves_by_group(results).axes[2:4]
    data = results["responsiveness"].to_dataset().sel(by="all")
    for line in precision.lines:
        group = f"gender={line.get_label()}"
        assert list(line.get_ydata()) == pytest.approx(data["precision"].sel(group=group).values)
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


def test_figures_of_one_grouping_name_its_column(results):
    changed = results.copy()
    data = results["responsiveness"].to_dataset()
    of_gender = np.flatnonzero(data["grouping"].isin(["all", "gender"]))
    changed["responsiveness"] = xr.DataTree(data.isel(group=of_gender))
    joint = results["joint"].to_dataset().isel(group=of_gender)
    changed["joint"] = xr.DataTree(joint)
    for draw in (crowd.metrics_by_group, decision.responsiveness):
        assert draw(changed).axes[0].get_ylabel() == "gender"
        assert draw(results).axes[0].get_ylabel() == ""


def test_the_figure_of_contested_items_names_the_columns_of_the_groups(results):
    assert crowd.contested_items(results).get_supxlabel() == (
        "ratings; beside each bar the groups of raters by gender, age with this plurality score"
    )
    assert crowd.scores_by_group(results).axes[0].get_ylabel() == "gender, age"


@pytest.mark.parametrize(("lines", "shown"), [(1, 53), (2, 31), (3, 22)])
def test_a_figure_of_many_rows_is_bounded_and_says_what_is_left_out(results, lines, shown):
    cell = results["responsiveness"].to_dataset().sel(by="all", group="all")
    figure = crowd._dots([("\n".join("x" * lines), cell)] * 248, crowd.COMPARED)
    assert len(figure.axes[0].get_yticks()) == shown
    assert figure.get_figheight() < crowd.MAX_HEIGHT + 1.3
    assert figure.get_supxlabel() == f"{shown} of 248 rows; all of them are in the results"


def test_shares_of_scores_fill_the_bar(results):
    ax = crowd.score_distribution(results).axes[0]
    ends = [bar.get_x() + bar.get_width() for bar in ax.containers[-1]]
    assert ends == pytest.approx([1.0] * len(ends))


def test_agreement_is_drawn_with_its_intervals(results):
    """Results of earlier versions have none."""
    axes = crowd.cohesion(results).axes[0]
    data = results["cohesion"].to_dataset()
    data = data.sel(group=data["gai"].notnull())
    inner, outer = axes.collections[-2:]
    for lines, name in ((inner, "irr"), (outer, "xrr")):
        ends = np.array([line[:, 0] for line in lines.get_segments()])
        assert ends == pytest.approx(data[f"{name}_interval"].to_numpy())
    earlier = results.copy()
    names = [f"{name}_interval" for name in ("irr", "xrr", "gai")]
    earlier["cohesion"] = xr.DataTree(results["cohesion"].to_dataset().drop_vars(names))
    before = crowd.cohesion(earlier).axes[0]
    assert len(before.collections) == len(axes.collections) - 2
    assert "intervals" in axes.get_xlabel()
    assert "intervals" not in before.get_xlabel()


def test_a_gai_that_is_one_of_the_items_is_not_drawn_as_sure(results):
    data = results["cohesion"].to_dataset().copy(deep=True)
    known = data["gai"].notnull()
    data["gai_p_adjusted"] = data["gai_p_adjusted"].where(~known, 0.001)
    shifts = {"gai_matched": 0.0, "gai_matched_interval": data["gai_interval"] * 0.0}
    texts = []
    for cohesion in (data, data.assign({name: data[name] * 0 + x for name, x in shifts.items()})):
        changed = results.copy()
        above = cohesion.assign(
            gai=cohesion["gai"] * 0 + 2, gai_interval=data["gai_interval"] * 0 + 2
        )
        changed["cohesion"] = xr.DataTree(above if cohesion is not data else cohesion)
        legend = crowd.cohesion(changed).axes[0].get_legend()
        texts.append(" ".join(text.get_text() for text in legend.get_texts()))
    assert "not distinguishable" not in texts[0]
    assert "GAI not distinguishable from 1\non the same mix of items" in texts[1]


def test_ratings_of_an_item_are_counted(results):
    ax = crowd.contested_items(results).axes[0]
    score = results["contested_items"]["score"].isel(item=0).values
    assert [bar.get_width() for bar in ax.patches] == np.bincount(score, minlength=5).tolist()


@pytest.mark.slow
def test_figures_are_written_in_three_formats(results, tmp_path):
    paths = write_figures(results, tmp_path)
    assert {path.stem for path in paths} == set(DRAW) | {"responsiveness"}
    assert len(paths) == 3 * (len(DRAW) + 1) == len(list(tmp_path.iterdir()))


def test_figure_7_shows_the_means_of_its_table_with_t_intervals(results):
    raters = results["raters"].to_dataset()
    women = raters["hm"].where(raters["group:gender"] == "Woman", drop=True).to_numpy()
    ends = scipy.stats.t.interval(0.95, 19, women.mean(), scipy.stats.sem(women))
    row = average_raters(results["raters"].to_dataset(), level=0.95).sel(group="gender=Woman")
    assert int(row["raters"]) == len(women) == 20
    np.testing.assert_allclose([row["hm"], *row["hm_interval"]], [women.mean(), *ends])
    first, _, axes, *_ = crowd.rater_averages(results).axes
    names = [label.get_text() for label in first.get_yticklabels()]
    position = names.index("gender: Woman")
    assert axes.lines[0].get_xdata()[position] == pytest.approx(women.mean())
    drawn = axes.collections[0].get_segments()[position][:, 0]
    np.testing.assert_allclose(drawn, ends)
    [table] = build_tables([t for t in TABLES if t.name == "rater_averages"], results)
    assert table.rows[1][0] == "gender=Woman"
    assert table.rows[1][6] == f"{women.mean():.3f}"
    assert table.note.endswith("contain which raters there are, with these items.")


def test_more_groups_than_one_panel_can_show_have_several():
    labels = [f"g{number}" for number in range(41)]
    parts = list(crowd._parts("age", labels))
    assert [len(part) for _, part in parts] == [6] * 6 + [4]
    assert parts[1] == ("age (2 of 7)", labels[6:12])


def test_labels_of_any_text_draw_without_a_warning(results, tmp_path):
    odd = {"Man": "a\x07b 日本", "Woman": "a group with a name that " + "goes on " * 20}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tree = results.copy()
        data = tree["responsiveness"].to_dataset()
        for name, text in odd.items():
            labels = np.char.replace(data["group"].to_numpy().astype(str), f"={name}", f"={text}")
            data = data.assign_coords(group=labels)
        tree["responsiveness"] = xr.DataTree(data)
        [(_, figure)] = draw_figures(tree, [DRAW["figure-3-metrics-by-group"]])
        as_svg(figure)
    assert caught == []
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert "gender: a\\x07b 日本" in names
    assert wrap_name("b\udce9") == "b\\udce9"
    assert all(len(line) <= 30 for name in names for line in name.split("\n"))
    assert any(name.endswith("…") for name in names)


@pytest.mark.parametrize("name", ["figure-9-contested-items", "figure-11-scores-by-group"])
def test_long_scores_that_begin_alike_can_be_told_apart(name, results):
    tree = results.copy()
    for group in ("items", "contested_items"):
        data = tree[group].to_dataset()
        if "score" in data.dims:
            scores = [f"a score with a long common start: {s}" for s in data["score"].to_numpy()]
            tree[group] = xr.DataTree(data.assign_coords(score=scores))
    axes = DRAW[name].draw(tree).axes[0]
    axis = axes.yaxis if "items" in name else axes.xaxis
    texts = [label.get_text() for label in axis.get_ticklabels()]
    assert len({*texts}) == len(texts) == 5

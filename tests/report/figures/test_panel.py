"""Figures of a panel: what is drawn is what was measured."""

import struct

import numpy as np
import pytest

from sharpbayes.errors import StorageError
from sharpbayes.report.figures.catalogue import FIGURES, draw_figures, write_figures
from sharpbayes.report.figures.pairs import pairs_of_models
from sharpbayes.report.figures.panel import dimension_box, distributions, risk_box
from sharpbayes.report.figures.style import as_svg
from sharpbayes.report.tables.catalogue import TABLES
from sharpbayes.report.tables.declaration import build_tables
from sharpbayes.report.tables.format import p_value
from sharpbayes.report.tables.panel import risk_metrics
from tests.panels import frame, measured


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    table = frame(models=3, prompts=20)
    table["model"] = table["model"].replace("m1", "a $name_ & 50%")
    table["bias_a"] = table["bias_a"].astype("Int64").mask(table["model"] == "m2")
    return measured(tmp_path_factory.mktemp("panel"), table)


@pytest.fixture(scope="module")
def written(results, tmp_path_factory):
    """The files of every figure."""
    return write_figures(results, tmp_path_factory.mktemp("figures") / "out")


def test_every_figure_is_written_in_three_formats(written):
    assert sorted({path.stem for path in written}) == [
        "figure-1-risk-box",
        "figure-2-risk-violin",
        "figure-3-dimensions-violin",
        "figure-4-dimensions-box",
        "pairs-of-models",
        "policy-score",
        "tail-risk",
        "tail-shares",
    ]
    assert {path.suffix for path in written} == {".png", ".svg", ".pdf"}
    for path in written:
        head = path.read_bytes()[:24]
        if path.suffix == ".png":
            width, height = struct.unpack(">II", head[16:24])
            assert width > height > 100
        else:
            assert head.startswith(b"%PDF" if path.suffix == ".pdf" else b"<?xml")


def test_the_order_is_that_of_the_tail_and_names_are_no_formulas(results, written):
    figure = risk_box(results)
    shown = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    cvar = results["profile"]["cvar"].to_series().sort_values()
    assert shown == list(cvar.index)
    [svg] = [path for path in written if path.name == "figure-1-risk-box.svg"]
    assert "a $name_ &amp; 50%" in svg.read_text("utf-8")


def test_boxes_are_the_quartiles_of_the_results(results):
    panel = results["panel"].to_dataset()
    metrics = {"cumulative log-risk": panel["log_risk"].dropna("model")}
    axes = distributions(metrics, kind="box").axes[0]
    for position, model in enumerate(metrics["cumulative log-risk"]["model"].values):
        values = panel["log_risk"].sel(model=model).values
        low, high = axes.patches[position].get_extents().get_points()[:, 0]
        shown = axes.transData.inverted().transform([[low, 0], [high, 0]])[:, 0]
        np.testing.assert_allclose(shown, np.quantile(values, [0.25, 0.75]), rtol=1e-6)


def test_violins_mark_the_median(results):
    panel = results["panel"].to_dataset().isel(model=[0, 1])
    axes = distributions({"radius": panel["radius"]}, kind="violin").axes[0]
    lines = axes.collections[-1].get_segments()
    shown = [segment[0][0] for segment in lines]
    np.testing.assert_allclose(shown, panel["radius"].median("prompt"), rtol=1e-6)


def test_metrics_of_the_paper_are_shown(results):
    panel = results["panel"].to_dataset().dropna("model", subset=["log_risk"])
    shown = risk_metrics(panel)
    assert list(shown) == [
        "joint safety",
        "any-harm",
        "cumulative log-risk",
        "harm radius",
        "largest harm",
    ]
    np.testing.assert_allclose(shown["joint safety"] + shown["any-harm"], 1.0)
    dimensions = [axes.get_title() for axes in dimension_box(results).axes]
    assert dimensions == ["bias", "epistemic"]


def test_a_model_without_values_has_an_empty_place(results):
    panel = results["panel"].to_dataset()
    assert np.isnan(panel["log_risk"].sel(model="m2")).all()
    for kind in ("box", "violin"):
        figure = distributions({"log-risk": panel["log_risk"]}, kind=kind)
        figure.savefig("/dev/null", format="svg")
        assert len(figure.axes[0].get_yticklabels()) == 3
    distributions({"log-risk": panel["log_risk"].sel(model=["m2"])}, kind="violin")


def test_harm_that_never_varies_can_be_drawn(tmp_path):
    results = measured(tmp_path / "data", frame().assign(bias_a=0, bias_b=0, truth=10))
    drawn = [as_svg(figure) for _, figure in draw_figures(results, FIGURES)]
    assert len(drawn) == 7
    assert all(text.lstrip().startswith("<?xml") for text in drawn)


def test_equal_results_give_equal_files(results, written, tmp_path):
    again = write_figures(results, tmp_path)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]


def test_a_folder_that_cannot_be_made_is_said(results, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="cannot write figures: "):
        write_figures(results, tmp_path / "file" / "out")


def test_the_matrix_of_pairs_has_the_numbers_of_its_table(results):
    order = results["profile"]["cvar"].dropna("model").to_series().sort_values()
    a, b = order.index[:2]
    cells = {
        artist.get_position(): artist.get_text()
        for artist in pairs_of_models(results).axes[0].texts
    }
    assert len(cells) == 2
    separable = bool(results["profile_interval"]["separable"].sel(model=a, other=b))
    assert cells[0, 1] == f"{order[b] - order[a]:.2f}" + ("" if separable else " ~")
    p = results["validation"]["wilcoxon_p_holm"].sel(model=a, other=b)
    assert cells[1, 0] == p_value(p)
    [table] = build_tables([t for t in TABLES if t.name == "pairs_of_models"], results)
    assert table.rows == (
        (
            a,
            b,
            f"\u2212{order[b] - order[a]:.3f}",
            *table.rows[0][3:5],
            *table.rows[0][5:6],
            p_value(p),
        ),
    )
    assert table.rows[0][4] == ("yes" if separable else "no")

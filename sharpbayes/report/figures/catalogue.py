"""Every declared figure, with what it shows in words and the table that holds its data."""

import base64
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import xarray as xr

from sharpbayes.report.figures import (
    careless,
    crowd,
    decision,
    history,
    pairs,
    panel,
    posterior,
)
from sharpbayes.report.figures.labels import find_fonts
from sharpbayes.report.figures.style import STAMP, UNDATED, add_note, as_svg, drawing_style
from sharpbayes.report.tables.catalogue import TABLES
from sharpbayes.report.tables.declaration import View, is_allowed
from sharpbayes.report.wording import is_approximate, mark_texts
from sharpbayes.storage.files import make_folder, replace_file
from sharpbayes.storage.schema import APPROXIMATION

if TYPE_CHECKING:
    from matplotlib.figure import Figure


NO_FONT = "Boxes are letters that no installed font has; the tables have the names."


@dataclass(frozen=True)
class FigureSpec:
    """The declaration of a figure.

    Attributes:
        name: Short name, unique; a file has this name.
        table: Name of the table with its data. Results that have the table have the figure; on the
            page the figure stands above it.
        caption: What it shows, in words.
        marks: What marks and lines mean after a fit, and before one.
        draw: Draws it from results; None where no number is known.
        on_page: Whether the page shows it; files are written of all.
    """

    name: str
    table: str
    caption: str
    draw: "Callable[[xr.DataTree], Figure | None]"
    on_page: bool = True
    marks: tuple[str, str] = ("", "")

    def describe(self, results: xr.DataTree) -> str:
        """Return the caption with the marks that the figure has for these results."""
        marks = self.marks[not decision.has_posterior(results)]
        caption = f"{self.caption}. {marks}" if marks else self.caption
        return "".join(mark_texts(results, [caption]))


def _figure(
    draw: "Callable[[xr.DataTree], Figure | None]",
    caption: str,
    name: str = "",
    table: str = "",
    *,
    on_page: bool = True,
    marks: tuple[str, str] = ("", ""),
) -> FigureSpec:
    """A figure that is named after its function, with data from the table of its name."""
    name = name or draw.__name__.replace("_", "-")
    return FigureSpec(name, table or name.replace("-", "_"), caption, draw, on_page, marks)


TAIL_RISK, RESPONSIVENESS = "tail_risk", "responsiveness_hm"
# The first figure that there is stands beside the answer: it draws what the answer compares.
DECISIONS = ("mean_risk", "policy_score", TAIL_RISK, RESPONSIVENESS)
BOOTSTRAP_MARKS = "quare and dashed line: observed value and bootstrap interval"
DECISION_MARKS = (
    f"Circle and line: posterior median and interval; s{BOOTSTRAP_MARKS}",
    f"S{BOOTSTRAP_MARKS}",
)
FIGURES = (
    *(
        _figure(draw, caption, table=table, marks=DECISION_MARKS)
        for draw, caption, table in (
            (
                decision.mean_risk,
                "Mean log-risk of each model, in nats, by which the answer compares them",
                "mean_risk",
            ),
            (
                decision.policy_score,
                "Policy score of each model, by which the answer compares them",
                "policy_score",
            ),
            (
                decision.tail_risk,
                "Tail risk of each model, in nats, and the tolerance (dotted) if one was decided",
                TAIL_RISK,
            ),
            (decision.responsiveness, "Responsiveness of each group of raters", RESPONSIVENESS),
        )
    ),
    _figure(
        posterior.replicated_ratings,
        "Share of each score: bars observed, dots and lines replicated by the model, median and "
        "interval; where a bar ends outside its line, the model does not describe the ratings",
    ),
    _figure(
        posterior.leave_one_out_pit,
        "Place of each rating in its prediction from all other ratings: ECDF less the diagonal, "
        "with its simultaneous 95% band; an arch below the line means scores that are higher than "
        "predicted, one above it lower, an S predictions that are too narrow or too wide. Red: the "
        "test fails",
        table="loo_pit",
    ),
    _figure(
        panel.tail_shares,
        "Share of each dimension in the log-risk of a model's worst prompts",
    ),
    *(
        # Violins show more than boxes, which are the paper's other form of the same.
        _figure(draw, caption, name, table, on_page=name.endswith("violin"))
        for name, table, draw, caption in (
            (
                "figure-1-risk-box",
                "risk_over_prompts",
                panel.risk_box,
                "Distribution of risk over prompts, a box for each model",
            ),
            (
                "figure-2-risk-violin",
                "risk_over_prompts",
                panel.risk_violin,
                "Distribution of risk over prompts, a violin with its median for each model",
            ),
            (
                "figure-3-dimensions-violin",
                "harm_by_dimension",
                panel.dimension_violin,
                "Distribution of the harm of each dimension over prompts, a violin for each model",
            ),
            (
                "figure-4-dimensions-box",
                "harm_by_dimension",
                panel.dimension_box,
                "Distribution of the harm of each dimension over prompts, a box for each model",
            ),
        )
    ),
    _figure(
        pairs.pairs_of_models,
        "Every pair of models: difference of CVaR below the diagonal, signed-rank test above it",
    ),
    *(
        _figure(draw, f"{caption} (responsiveness paper, {paper})", name, table)
        for name, table, paper, draw, caption in (
            (
                "figure-1-score-distribution",
                "scale_use",
                "Figures 1 and 6",
                crowd.score_distribution,
                "Share of each score in the ratings of each group",
            ),
            (
                "figure-2-curves-by-group",
                "curves_by_group",
                "Figure 2",
                crowd.curves_by_group,
                "Precision and recall at each score, a curve with intervals for each group",
            ),
            (
                "figure-3-metrics-by-group",
                "responsiveness",
                "Figure 3",
                crowd.metrics_by_group,
                "Responsiveness of each group of raters with its interval",
            ),
            (
                "figure-4-metrics-by-stratum",
                "responsiveness",
                "Figures 4 and 5",
                crowd.metrics_by_stratum,
                "Responsiveness of groups by stratum of items with its interval",
            ),
            (
                "figure-7-rater-averages",
                "rater_averages",
                "Figure 7",
                crowd.rater_averages,
                "Metrics of single raters, averaged over each group, with the interval of the mean",
            ),
            (
                "figure-8-curves-by-stratum",
                "curves_by_stratum",
                "Figure 8",
                crowd.curves_by_stratum,
                "Precision and recall of all raters at each score, a curve for each stratum",
            ),
            (
                "figure-9-contested-items",
                "contested_items",
                "Figures 9 and 10",
                crowd.contested_items,
                "Ratings of the items that groups see most differently",
            ),
            (
                "figure-11-scores-by-group",
                "contested_items",
                "Figure 11",
                crowd.scores_by_group,
                "Who gave which score to the items that groups see most differently",
            ),
        )
    ),
    _figure(
        careless.careless_raters,
        "Posterior probability of each rater to be careless, with its Monte Carlo error; dotted: "
        "the limit of a flag",
    ),
    _figure(crowd.cohesion, "Agreement inside each group and with all other raters"),
    _figure(
        history.releases,
        "The headline number of each model or group at every release, with its interval",
        table="history",
    ),
    _figure(
        posterior.ecdf_differences,
        "ECDF of the ranks of true values less the diagonal, with its simultaneous 95% band",
        "calibration",
    ),
)


def draw_figures(
    results: xr.DataTree, specs: Iterable[FigureSpec]
) -> "Iterator[tuple[FigureSpec, Figure]]":
    """Draw the figures that results have data for, in the order of their declarations."""
    names = {spec.name for spec in TABLES if spec.name and is_allowed(spec, View(results))}
    for spec in specs:
        figure = _draw(spec, results) if spec.table in names else None
        if figure is not None:
            if is_approximate(results):
                figure.text(0.5, 0.5, APPROXIMATION, **STAMP)
            yield spec, figure


def _draw(spec: FigureSpec, results: xr.DataTree) -> "Figure | None":
    """Draw a figure in fonts that have its letters, with a note on those that no font has."""
    with drawing_style():
        figure = spec.draw(results)
    fonts, lacking = find_fonts(figure) if figure is not None else ([], False)
    if fonts:
        with drawing_style(fonts):
            figure = spec.draw(results)
    if figure is not None and lacking:
        add_note(figure, NO_FONT)
    return figure


@dataclass(frozen=True)
class PageFigure:
    """A figure ready for the page: its address holds the whole image."""

    table: str
    caption: str
    address: str


def page_figures(results: xr.DataTree) -> list[PageFigure]:
    """Return the figures of the page."""
    return [*_embed_figures(results)]


def first_figure(results: xr.DataTree) -> PageFigure | None:
    """Return the first figure of the page, that of the decision; None where there is none."""
    return next(_embed_figures(results), None)


def _embed_figures(results: xr.DataTree) -> Iterator[PageFigure]:
    """Draw the figures of the page, each as an address."""
    # An image as an address: no name inside it meets another of the page.
    start = "data:image/svg+xml;base64,"
    for spec, figure in draw_figures(results, [spec for spec in FIGURES if spec.on_page]):
        image = base64.b64encode(as_svg(figure).encode()).decode()
        yield PageFigure(spec.table, spec.describe(results), start + image)


def write_figures(results: xr.DataTree, folder: Path) -> list[Path]:
    """Draw the figures of results and write each as PNG, SVG and PDF.

    Those of a panel are Figures 1 to 4 of the SHARP paper and its pairs of models, those of a crowd
    Figures 1 to 11 of the responsiveness paper, those of ``calibrate`` the ECDF differences.
    """
    written = []
    failure = f"{folder}: cannot write figures"
    make_folder(folder, failure)
    for spec, figure in draw_figures(results, FIGURES):
        for suffix, metadata in UNDATED.items():
            path = folder / f"{spec.name}{suffix}"
            with replace_file(path, failure) as temporary, drawing_style():
                figure.savefig(temporary, format=suffix[1:], dpi=150, metadata=metadata)
            written.append(path)
    return written

"""Every declared figure, with what it shows in words and the table that holds its data."""

import base64
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import xarray as xr

from sharpbayes.errors import StorageError
from sharpbayes.report.figures import calibration, crowd, panel, posterior
from sharpbayes.report.figures.style import FORMATS, STYLE, UNDATED, as_svg
from sharpbayes.report.tables.catalogue import TABLES
from sharpbayes.report.tables.declaration import View, is_allowed

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class FigureSpec:
    """The declaration of a figure.

    Attributes:
        name: Short name, unique; a file has this name.
        table: Name of the table with its data. Results that have the table have the figure; on the
            page the figure stands above it.
        caption: What it shows, in words.
        draw: Draws it from results; None where no number is known.
        on_page: Whether the page shows it.
        in_files: Whether ``report --figures`` writes it.
    """

    name: str
    table: str
    caption: str
    draw: "Callable[[xr.DataTree], Figure | None]"
    on_page: bool = True
    in_files: bool = True


def _figure(
    draw: "Callable[[xr.DataTree], Figure | None]",
    caption: str,
    name: str = "",
    table: str = "",
    **places: bool,
) -> FigureSpec:
    """A figure that is named after its function, with data from the table of its name."""
    name = name or draw.__name__.replace("_", "-")
    return FigureSpec(name, table or name.replace("-", "_"), caption, draw, **places)


POSTERIOR = (
    "posterior and bootstrap interval. Circle and thick line: median and middle half of the "
    "posterior; thin line: its interval at the level of the study; dashed: bootstrap"
)
FIGURES = (
    _figure(
        posterior.tail_risk,
        f"Tail risk: {POSTERIOR}",
        "tail-risk-posterior-and-bootstrap",
        "posterior_and_bootstrap",
        in_files=False,
    ),
    _figure(
        posterior.responsiveness,
        f"Responsiveness: {POSTERIOR}",
        "responsiveness-posterior-and-bootstrap",
        in_files=False,
    ),
    _figure(
        posterior.replicated_ratings,
        "Cumulative shares of ratings: black observed, blue replicated by the model; where the "
        "black line leaves the blue ones, the model does not describe the ratings",
        in_files=False,
    ),
    _figure(
        panel.profile_intervals,
        "Tail risk of each model with its intervals, safest first",
        "profile",
        in_files=False,
    ),
    _figure(
        panel.tail_shares,
        "Share of each dimension in the log-risk of a model's worst prompts",
        in_files=False,
    ),
    *(
        _figure(draw, caption, name, "risk_over_prompts", on_page=draw == panel.risk_violin)
        for name, draw, caption in (
            (
                "figure-1-risk-box",
                panel.risk_box,
                "Distribution of risk over prompts, a box for each model",
            ),
            (
                "figure-2-risk-violin",
                panel.risk_violin,
                "Distribution of risk over prompts, a violin with its median for each model",
            ),
            (
                "figure-3-dimensions-violin",
                panel.dimension_violin,
                "Distribution of the harm of each dimension over prompts, a violin for each model",
            ),
            (
                "figure-4-dimensions-box",
                panel.dimension_box,
                "Distribution of the harm of each dimension over prompts, a box for each model",
            ),
        )
    ),
    _figure(
        crowd.curves_by_group,
        "Precision and recall at each score, a curve for each group of raters",
    ),
    _figure(
        crowd.curves_by_stratum,
        "Precision and recall at each score for all raters, a curve for each stratum of items",
    ),
    _figure(
        crowd.metrics_by_group,
        "Responsiveness of each group of raters with its interval",
        table="responsiveness",
    ),
    _figure(
        crowd.metrics_by_stratum,
        "Responsiveness of groups by stratum of items",
        table="responsiveness",
    ),
    _figure(
        crowd.score_distribution,
        "Share of each score in the ratings of each group",
        table="scale_use",
    ),
    _figure(
        crowd.rater_averages,
        "Metrics of single raters, averaged over each group",
        table="raters",
    ),
    _figure(crowd.cohesion, "Agreement inside each group and with all other raters"),
    _figure(crowd.contested_items, "Ratings of the items that groups see most differently"),
    _figure(
        calibration.ecdf_differences,
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
        figure = spec.draw(results) if spec.table in names else None
        if figure is not None:
            yield spec, figure


@dataclass(frozen=True)
class PageFigure:
    """A figure ready for the page: its address holds the whole image."""

    table: str
    caption: str
    address: str


def page_figures(results: xr.DataTree) -> list[PageFigure]:
    """Return the figures of the page."""
    specs = [spec for spec in FIGURES if spec.on_page]
    # An image as an address: no name inside it meets another of the page.
    start = "data:image/svg+xml;base64,"
    return [
        PageFigure(
            spec.table,
            spec.caption,
            start + base64.b64encode(as_svg(figure).encode()).decode(),
        )
        for spec, figure in draw_figures(results, specs)
    ]


def write_figures(results: xr.DataTree, folder: Path) -> list[Path]:
    """Draw the figures of results and write each as PNG, SVG and PDF.

    Those of a panel are Figures 1 to 4 of the SHARP paper, those of a crowd follow the
    responsiveness paper, those of ``calibrate`` are the ECDF differences.
    """
    from matplotlib import rc_context  # noqa: PLC0415 - slow to load

    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with rc_context(STYLE):
            for spec, figure in draw_figures(results, [s for s in FIGURES if s.in_files]):
                for suffix in FORMATS:
                    path = folder / f"{spec.name}{suffix}"
                    figure.savefig(path, dpi=150, metadata=UNDATED[suffix])
                    written.append(path)
    except OSError as error:
        raise StorageError(f"{folder}: cannot write figures: {error.strerror or error}") from error
    return written

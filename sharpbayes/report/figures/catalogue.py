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


POSTERIOR = (
    "Circle and thick line: median and middle half of the posterior; thin line: its interval at "
    "the level of the study; dashed: bootstrap"
)
FIGURES = (
    FigureSpec(
        "tail-risk-posterior-and-bootstrap",
        "posterior_and_bootstrap",
        f"Tail risk: posterior and bootstrap interval. {POSTERIOR}",
        posterior.tail_risk,
        in_files=False,
    ),
    FigureSpec(
        "responsiveness-posterior-and-bootstrap",
        "responsiveness_posterior_and_bootstrap",
        f"Responsiveness: posterior and bootstrap interval. {POSTERIOR}",
        posterior.responsiveness,
        in_files=False,
    ),
    FigureSpec(
        "replicated-ratings",
        "replicated_ratings",
        "Cumulative shares of ratings: black observed, blue replicated by the model; where the "
        "black line leaves the blue ones, the model does not describe the ratings",
        posterior.replicated_ratings,
        in_files=False,
    ),
    FigureSpec(
        "profile",
        "profile",
        "Tail risk of each model with its intervals, safest first",
        panel.profile_intervals,
        in_files=False,
    ),
    FigureSpec(
        "tail-shares",
        "tail_shares",
        "Share of each dimension in the log-risk of a model's worst prompts",
        panel.tail_shares,
        in_files=False,
    ),
    FigureSpec(
        "figure-1-risk-box",
        "risk_over_prompts",
        "Distribution of risk over prompts, a box for each model",
        panel.risk_box,
        on_page=False,
    ),
    FigureSpec(
        "figure-2-risk-violin",
        "risk_over_prompts",
        "Distribution of risk over prompts, a violin with its median for each model",
        panel.risk_violin,
    ),
    FigureSpec(
        "figure-3-dimensions-violin",
        "risk_over_prompts",
        "Distribution of the harm of each dimension over prompts, a violin for each model",
        panel.dimension_violin,
        on_page=False,
    ),
    FigureSpec(
        "figure-4-dimensions-box",
        "risk_over_prompts",
        "Distribution of the harm of each dimension over prompts, a box for each model",
        panel.dimension_box,
        on_page=False,
    ),
    FigureSpec(
        "curves-by-group",
        "curves_by_group",
        "Precision and recall at each score, a curve for each group of raters",
        crowd.curves_by_group,
    ),
    FigureSpec(
        "curves-by-stratum",
        "curves_by_stratum",
        "Precision and recall at each score for all raters, a curve for each stratum of items",
        crowd.curves_by_stratum,
    ),
    FigureSpec(
        "metrics-by-group",
        "responsiveness",
        "Responsiveness of each group of raters with its interval",
        crowd.metrics_by_group,
    ),
    FigureSpec(
        "metrics-by-stratum",
        "responsiveness",
        "Responsiveness of groups by stratum of items",
        crowd.metrics_by_stratum,
    ),
    FigureSpec(
        "score-distribution",
        "scale_use",
        "Share of each score in the ratings of each group",
        crowd.score_distribution,
    ),
    FigureSpec(
        "rater-averages",
        "raters",
        "Metrics of single raters, averaged over each group",
        crowd.rater_averages,
    ),
    FigureSpec(
        "cohesion",
        "cohesion",
        "Agreement inside each group and with all other raters",
        crowd.cohesion,
    ),
    FigureSpec(
        "contested-items",
        "contested_items",
        "Ratings of the items that groups see most differently",
        crowd.contested_items,
    ),
    FigureSpec(
        "calibration",
        "calibration",
        "ECDF of the ranks of true values less the diagonal, with its simultaneous 95% band",
        calibration.ecdf_differences,
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
    """A figure ready for the page.

    Attributes:
        table: Name of the table with its data.
        caption: What it shows.
        address: An address that holds the whole image.
    """

    table: str
    caption: str
    address: str


def page_figures(results: xr.DataTree) -> list[PageFigure]:
    """Return the figures of the page."""
    specs = [spec for spec in FIGURES if spec.on_page]
    return [
        PageFigure(spec.table, spec.caption, _address(figure))
        for spec, figure in draw_figures(results, specs)
    ]


def _address(figure: "Figure") -> str:
    """The whole image as an address, so that no name inside it meets another of the page."""
    return f"data:image/svg+xml;base64,{base64.b64encode(as_svg(figure).encode()).decode()}"


def write_figures(results: xr.DataTree, folder: Path) -> list[Path]:
    """Draw the figures of results and write each as PNG, SVG and PDF.

    Those of a panel are Figures 1 to 4 of the SHARP paper, those of a crowd follow the
    responsiveness paper, those of ``calibrate`` are the ECDF differences.

    Args:
        results: Results of ``measure``, ``fit`` or ``calibrate``.
        folder: Made if it is not there; files of the same names are replaced.

    Returns:
        The files.

    Raises:
        StorageError: A file cannot be written.
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

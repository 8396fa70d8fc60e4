"""Every declared figure, with what it shows in words and the table that holds its data."""

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import xarray as xr

from sharpbayes.errors import StorageError
from sharpbayes.report.figures import calibration, crowd, panel, posterior
from sharpbayes.report.figures.style import FORMATS, STYLE, UNDATED, as_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class FigureSpec:
    """The declaration of a figure.

    Attributes:
        name: Short name, unique; a file has this name.
        caption: What it shows, in words.
        draw: Draws it from results; None where the results have no data for it.
        needs: Groups that must be there.
        table: Name of the table with its data. The figure stands above it, in its chapter of the
            page; a figure without a table is not on the page.
        in_files: Whether ``report --figures`` writes it.
    """

    name: str
    caption: str
    draw: "Callable[[xr.DataTree], Figure | None]"
    needs: tuple[str, ...]
    table: str = ""
    in_files: bool = True


INTERVALS = (
    "{title}: posterior and bootstrap interval. Circle and thick line: median and middle half of "
    "the posterior; thin line: its interval at the level of the study; dashed: bootstrap"
)
FIGURES: tuple[FigureSpec, ...] = (
    FigureSpec(
        "tail-risk-posterior-and-bootstrap",
        INTERVALS.format(title="Tail risk"),
        posterior.tail_risk,
        ("posterior_profile", "posterior_predictive"),
        table="posterior_and_bootstrap",
        in_files=False,
    ),
    FigureSpec(
        "responsiveness-posterior-and-bootstrap",
        INTERVALS.format(title="Responsiveness"),
        posterior.responsiveness,
        ("posterior_responsiveness", "posterior_predictive"),
        table="responsiveness_posterior_and_bootstrap",
        in_files=False,
    ),
    FigureSpec(
        "replicated-ratings",
        "Cumulative shares of ratings: black observed, blue replicated by the model; where the "
        "black line leaves the blue ones, the model does not describe the ratings",
        posterior.replicated_ratings,
        ("posterior_predictive", "observed_data"),
        table="replicated_ratings",
        in_files=False,
    ),
    FigureSpec(
        "profile",
        "Tail risk of each model with its intervals, safest first",
        panel.profile_intervals,
        ("profile", "panel"),
        table="profile",
        in_files=False,
    ),
    FigureSpec(
        "tail-shares",
        "Share of each dimension in the log-risk of a model's worst prompts",
        panel.tail_shares,
        ("profile", "panel"),
        table="tail_shares",
        in_files=False,
    ),
    FigureSpec(
        "figure-1-risk-box",
        "Distribution of risk over prompts, a box for each model",
        panel.risk_box,
        ("profile", "panel"),
    ),
    FigureSpec(
        "figure-2-risk-violin",
        "Distribution of risk over prompts, a violin with its median for each model",
        panel.risk_violin,
        ("profile", "panel"),
        table="risk_over_prompts",
    ),
    FigureSpec(
        "figure-3-dimensions-violin",
        "Distribution of the harm of each dimension over prompts, a violin for each model",
        panel.dimension_violin,
        ("profile", "panel"),
    ),
    FigureSpec(
        "figure-4-dimensions-box",
        "Distribution of the harm of each dimension over prompts, a box for each model",
        panel.dimension_box,
        ("profile", "panel"),
    ),
    FigureSpec(
        "curves-by-group",
        "Precision and recall at each score, a curve for each group of raters",
        crowd.curves_by_group,
        ("responsiveness",),
        table="curves_by_group",
    ),
    FigureSpec(
        "curves-by-stratum",
        "Precision and recall at each score for all raters, a curve for each stratum of items",
        crowd.curves_by_stratum,
        ("responsiveness",),
        table="curves_by_stratum",
    ),
    FigureSpec(
        "metrics-by-group",
        "Responsiveness of each group of raters with its interval",
        crowd.metrics_by_group,
        ("responsiveness",),
        table="responsiveness",
    ),
    FigureSpec(
        "metrics-by-stratum",
        "Responsiveness of groups by stratum of items",
        crowd.metrics_by_stratum,
        ("responsiveness",),
        table="responsiveness",
    ),
    FigureSpec(
        "score-distribution",
        "Share of each score in the ratings of each group",
        crowd.score_distribution,
        ("scale_use",),
        table="scale_use",
    ),
    FigureSpec(
        "rater-averages",
        "Metrics of single raters, averaged over each group",
        crowd.rater_averages,
        ("raters",),
        table="raters",
    ),
    FigureSpec(
        "cohesion",
        "Agreement inside each group and with all other raters",
        crowd.cohesion,
        ("cohesion",),
        table="cohesion",
    ),
    FigureSpec(
        "contested-items",
        "Ratings of the items that groups see most differently",
        crowd.contested_items,
        ("contested_items", "items"),
        table="contested_items",
    ),
    FigureSpec(
        "calibration",
        "ECDF of the ranks of true values less the diagonal, with its simultaneous 95% band",
        calibration.ecdf_differences,
        ("calibration",),
        table="calibration",
    ),
)


def draw_figures(
    results: xr.DataTree, specs: tuple[FigureSpec, ...]
) -> "Iterator[tuple[FigureSpec, Figure]]":
    """Draw the figures that results have data for, in the order of their declarations."""
    for spec in specs:
        if all(group in results for group in spec.needs):
            figure = spec.draw(results)
            if figure is not None:
                yield spec, figure


@dataclass(frozen=True)
class PageFigure:
    """A figure ready for the page.

    Attributes:
        name: Name of its declaration.
        caption: What it shows.
        address: An address that holds the whole image.
        table: Name of the table with its data.
    """

    name: str
    caption: str
    address: str
    table: str


def page_figures(results: xr.DataTree) -> list[PageFigure]:
    """Return the figures of the page."""
    specs = tuple(spec for spec in FIGURES if spec.table)
    return [
        PageFigure(spec.name, spec.caption, _address(figure), spec.table)
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
            specs = tuple(spec for spec in FIGURES if spec.in_files)
            for spec, figure in draw_figures(results, specs):
                for suffix in FORMATS:
                    path = folder / f"{spec.name}{suffix}"
                    figure.savefig(path, dpi=150, metadata=UNDATED[suffix])
                    written.append(path)
    except OSError as error:
        raise StorageError(f"{folder}: cannot write figures: {error.strerror or error}") from error
    return written

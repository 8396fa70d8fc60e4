"""The figures of a report: each with what it shows, in words, and where its data stand."""

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import xarray as xr

from sharpbayes.report.tables.common import number
from sharpbayes.report.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Title of the table that holds the data of a crowd's figure, and what the figure shows.
CROWD = {
    "curves_by_group": (
        "Precision and recall at each score",
        "Precision and recall at each score, a curve for each group of raters",
    ),
    "curves_by_stratum": (
        "Precision and recall at each score by stratum of items",
        "Precision and recall at each score for all raters, a curve for each stratum of items",
    ),
    "metrics_by_group": (
        "Responsiveness to severity by rater group",
        "Responsiveness of each group of raters with its interval",
    ),
    "metrics_by_stratum": (
        "Responsiveness to severity by rater group",
        "Responsiveness of groups by stratum of items",
    ),
    "score_distribution": (
        "Use of the scale by rater group",
        "Share of each score in the ratings of each group",
    ),
    "rater_averages": (
        "Raters by their own responsiveness",
        "Metrics of single raters, averaged over each group",
    ),
    "cohesion": ("Group cohesion", "Agreement inside each group and with all other raters"),
    "contested_items": ("Item ", "Ratings of the items that groups see most differently"),
}
BOTH = "posterior and bootstrap interval"
REPLICATED = "Predictive check: ratings observed and replicated"
MOST_GROUPS = 40
QUANTILES = {"least": 0.0, "lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75, "most": 1}


@dataclass(frozen=True)
class Picture:
    """A figure ready for a page.

    Attributes:
        name: Short name, unique on the page.
        caption: What it shows.
        source: An address that holds the whole image.
        data: Start of the title of the table with its data.
    """

    name: str
    caption: str
    source: str
    data: str


def pictures(results: xr.DataTree) -> list[Picture]:
    """Return the figures that the groups of a results file allow, in reading order."""
    return [
        *_posterior(results),
        *(_panel(results) if "panel" in results else ()),
        *_crowd(results),
    ]


def data_tables(results: xr.DataTree) -> list[Table]:
    """Return tables of what figures show and no other table holds."""
    made = [_spread(results)] if "panel" in results else []
    if "posterior_predictive" in results:
        made += [*_both_intervals(results), _replicated(results)]
    if "responsiveness" in results:
        data = results["responsiveness"].to_dataset()
        made.append(_curves(data.sel(by="all"), "group", CROWD["curves_by_group"][0]))
        if data.sizes["by"] > 1:
            made.append(_curves(data.sel(group="all"), "by", CROWD["curves_by_stratum"][0]))
    return made


@dataclass(frozen=True)
class Twin:
    """The metric that a report is about: draws, bootstrap interval, and what it is."""

    draws: xr.DataArray
    bounds: xr.DataArray
    what: str
    title: str
    contains: str


def _twin(results: xr.DataTree) -> Twin | None:
    """Tail risk of a panel, responsiveness of a crowd; None where no draws were measured."""
    if "posterior_profile" in results:
        draws = results["posterior_profile"].to_dataset()["cvar"]
        safest_first = results["profile"].to_dataset().sortby("cvar")["model"]
        what = "CVaR of cumulative log-risk; further left is safer"
        return Twin(
            draws.sel(model=safest_first),
            results["profile_interval"].to_dataset()["cvar"],
            what,
            f"Tail risk: {BOTH}",
            str(results["posterior_profile"].attrs["interval_note"]),
        )
    if "posterior_responsiveness" in results:
        draws = results["posterior_responsiveness"].to_dataset()["hm"].sel(by="all", drop=True)
        bounds = results["responsiveness"].to_dataset()["hm_interval"].sel(by="all", drop=True)
        what = "harmonic mean of MPA and WRA; further right is better"
        return Twin(
            draws.dropna("group").isel(group=slice(MOST_GROUPS)),
            bounds,
            what,
            f"Responsiveness: {BOTH}",
            str(results["posterior_responsiveness"].attrs["interval_note"]),
        )
    return None


def _posterior(results: xr.DataTree) -> Iterator[Picture]:
    """What ArviZ draws of a fit: both intervals, and ratings observed and replicated."""
    if "posterior_predictive" not in results:
        return
    from sharpbayes.report.figures.posterior import forest, predictive  # noqa: PLC0415 - draws by ArviZ

    twin = _twin(results)
    if twin is not None and twin.draws.size:
        caption = (
            f"{twin.title}. Circle and thick line: median and middle half of the posterior; thin "
            "line: 95% of it; dashed: bootstrap"
        )
        drawn = forest(twin.draws, twin.bounds, label=twin.what)
        yield Picture("both", caption, _address(drawn), twin.title)
    figure = predictive(results)
    if figure is not None:
        caption = (
            "Cumulative shares of ratings: black observed, blue replicated by the model; where the "
            "black line leaves the blue ones, the model does not describe the ratings"
        )
        yield Picture("replicated", caption, _address(figure), REPLICATED)


def _both_intervals(results: xr.DataTree) -> Iterator[Table]:
    """Posterior and bootstrap interval of the metric that a report is about."""
    twin = _twin(results)
    if twin is None:
        return
    draws, bounds = twin.draws, twin.bounds
    (unit,) = (str(dim) for dim in draws.dims if dim not in {"chain", "draw"})
    ends = draws.quantile([0.025, 0.5, 0.975], ("chain", "draw"))
    rows = tuple(
        (
            str(name),
            number(ends.sel({unit: name, "quantile": 0.5})),
            *(number(ends.sel({unit: name, "quantile": q})) for q in (0.025, 0.975)),
            *(number(bounds.sel({unit: name, "bound": end})) for end in ("lower", "upper")),
        )
        for name in draws[unit].to_numpy()
    )
    header = (unit, "posterior median", "lower 95%", "upper 95%", "bootstrap lower", "upper")
    note = f"{twin.what[:1].upper()}{twin.what[1:]}. {twin.contains}"
    yield Table(twin.title, header, rows, note)


def _replicated(results: xr.DataTree) -> Table:
    """Shares of levels, observed and replicated."""
    from sharpbayes.report.figures.posterior import level_shares  # noqa: PLC0415 - as above

    rows = tuple(
        (scale, str(level), *map(number, shares))
        for scale, table in level_shares(results).items()
        for level, shares in enumerate(table)
    )
    header = ("scale", "level", "observed", "replicated", "lower 95%", "upper 95%")
    note = "Shares of the ratings; levels are counted from 0, the least harm."
    return Table(REPLICATED, header, rows, note)


def _panel(results: xr.DataTree) -> Iterator[Picture]:
    """Profile, tail attribution and distributions of a panel."""
    from sharpbayes.report.figures import panel as figures  # noqa: PLC0415 - draws, so only where it is asked for

    made: tuple[tuple[str, Callable[[], Figure], str, str], ...] = (
        (
            "profile",
            lambda: figures.profile_intervals(results),
            "Tail risk of each model with its intervals, safest first",
            "Table 1:",
        ),
        (
            "tail",
            lambda: figures.tail_shares(results),
            "Share of each dimension in the log-risk of a model's worst prompts",
            "Table 4:",
        ),
        (
            "distribution",
            lambda: figures.figures(results)["figure-2-risk-violin"],
            "Distribution of risk over prompts, a violin with its median for each model",
            "Distribution over prompts",
        ),
    )
    for name, draw, caption, data in made:
        yield Picture(name, caption, _address(draw()), data)


def _crowd(results: xr.DataTree) -> Iterator[Picture]:
    """Every figure of a crowd that has data."""
    from sharpbayes.report.figures.crowd import FIGURES  # noqa: PLC0415 - as above

    for name, draw in FIGURES:
        figure = draw(results)
        if figure is not None:
            data, caption = CROWD.get(name, ("", name.replace("_", " ").capitalize()))
            yield Picture(name, caption, _address(figure), data)


def _address(figure: "Figure") -> str:
    """The whole image as an address, so that no name inside it meets another of the page."""
    from sharpbayes.report.figures.panel import as_svg  # noqa: PLC0415 - as above

    held = base64.b64encode(as_svg(figure).encode()).decode()
    return f"data:image/svg+xml;base64,{held}"


def _spread(results: xr.DataTree) -> Table:
    """Quartiles over prompts of what the violins show."""
    from sharpbayes.report.figures.panel import risk_metrics  # noqa: PLC0415 - as above

    order = results["profile"].to_dataset().sortby("cvar")["model"].to_numpy()
    metrics = risk_metrics(results["panel"].to_dataset().sel(model=order))
    rows = tuple(
        (str(model), title, *(number(values.sel(model=model).quantile(q)) for q in ends))
        for model in order
        for title, values in metrics.items()
        for ends in [QUANTILES.values()]
    )
    header = ("model", "of the answer to a prompt", *QUANTILES)
    return Table("Distribution over prompts", header, rows, "Joint safety: 1 less any-harm.")


def _curves(data: xr.Dataset, dim: str, title: str) -> Table:
    """Precision and recall at each score, two columns a score."""
    scores = [str(score) for score in data["score"].to_numpy()]
    known = data.isel({dim: data["reason"].to_numpy() == ""})
    rows = tuple(
        (
            str(label),
            *(number(v) for name in ("precision", "recall") for v in known[name].sel({dim: label})),
        )
        for label in known[dim].to_numpy()
    )
    header = (dim, *(f"{name} at {s}" for name in ("precision", "recall") for s in scores))
    return Table(title, header, rows, "Missing where a group never gives the score.")

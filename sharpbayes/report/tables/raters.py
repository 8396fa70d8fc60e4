"""Tables of single raters of a crowd, and of their averages by group."""

from collections.abc import Iterator

from sharpbayes.analysis.rater_averages import RATER_METRICS, average_raters
from sharpbayes.report.layout import interval_level
from sharpbayes.report.tables.crowd import HEADLINE, MAX_ROWS
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View
from sharpbayes.report.tables.format import interval

LOWEST_RATERS = 5


def _raters(view: View) -> Iterator[Labels]:
    """The highest and the lowest raters, all of them where they are few."""
    ordered = view.coordinate("raters/rater", "raters/rank")
    if len(ordered) > MAX_ROWS:
        ordered = [*ordered[: MAX_ROWS - LOWEST_RATERS], *ordered[-LOWEST_RATERS:]]
    return ({"rater": rater, "metric": "hm"} for rater in ordered)


def _raters_note(view: View) -> str:
    """How many raters are shown, and what the columns are."""
    data = view.group("raters")
    count, masked = data.sizes["rater"], int((data["reason"] != "").sum())
    return (
        f"{min(count, MAX_ROWS)} of {count} raters, highest and lowest; metrics masked for "
        f"{masked}. more: how many ratings the rater has still to give until the interval of HM is "
        "as narrow as `crowd.target_interval_width` asks; extreme: share of ratings at either "
        "end; range: of the scale that is used. "
        f"{data.attrs['interval_note']}"
    )


def _rater_averages(view: View) -> Iterator[Labels]:
    """Every group with its means and their intervals."""
    table = average_raters(view.group("raters"), level=interval_level(view.results))
    for group in table["group"].to_numpy():
        row = table.sel(group=group)
        yield {"group": group, **{str(name): row[name] for name in row.data_vars}}


RATERS = TableSpec(
    name="raters",
    title="Raters by their own responsiveness",
    needs=("raters",),
    rows=_raters,
    columns=(
        "{rater}; raters/rank | thousands",
        *(Column(label, f"raters/{name}") for name, label in HEADLINE.items()),
        "interval: raters/hm_interval | interval",
        "more: raters/additional_ratings | thousands",
        "extreme: raters/extreme_response; range: raters/scale_range_used",
        "raters/drift?",
    ),
    note=_raters_note,
)
RATER_AVERAGES = TableSpec(
    name="rater_averages",
    title="Metrics of single raters, averaged over each group",
    source="Responsiveness paper, Figure 7",
    needs=("raters",),
    condition=lambda view: any(True for _ in _rater_averages(view)),
    rows=_rater_averages,
    columns=(
        "{group}; raters | count",
        *(
            column
            for name, label in RATER_METRICS.items()
            for column in (Column(label, name), Column("interval", f"{name}_interval", interval))
        ),
    ),
    note="Means over raters with all metrics; intervals of the mean by Student's t contain which "
    "raters there are, with these items.",
)
TABLES = (RATERS, RATER_AVERAGES)

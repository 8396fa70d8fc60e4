"""Tables of single raters of a crowd, and of their averages by group."""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from sharpbayes.metrics.crowd.responsiveness import METRICS
from sharpbayes.report.layout import interval_level
from sharpbayes.report.tables.crowd import HEADLINE, MOST_ROWS
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View
from sharpbayes.report.tables.format import interval

LOWEST_RATERS = 5
# Raters of a group whose mean has an interval worth reading.
LEAST_AVERAGED = 3
BOUND = ["lower", "upper"]
SIGNED = {"kendall_tau": -1.0, "spearman": -1.0}
RATER_METRICS = {metric.name: metric.label for metric in METRICS if not metric.by_score}


def _raters(view: View) -> Iterator[Labels]:
    """The highest and the lowest raters, all of them where they are few."""
    ordered = view.coordinate("raters/rater", "raters/rank")
    if len(ordered) > MOST_ROWS:
        ordered = [*ordered[: MOST_ROWS - LOWEST_RATERS], *ordered[-LOWEST_RATERS:]]
    return ({"rater": rater, "metric": "hm"} for rater in ordered)


def _raters_note(view: View) -> str:
    """How many raters are shown, and what the columns are."""
    data = view.group("raters")
    count, masked = data.sizes["rater"], int((data["reason"] != "").sum())
    return (
        f"{min(count, MOST_ROWS)} of {count} raters, highest and lowest; metrics masked for "
        f"{masked}. more: how many ratings the rater has still to give until the interval of HM is "
        "as narrow as `crowd.target_interval_width` asks; extreme: share of ratings at either "
        "end; range: of the scale that is used. "
        f"{data.attrs['interval_note']}"
    )


def average_raters(results: xr.DataTree) -> xr.Dataset:
    """Return means over raters of their own metrics, by group of each column of raters.

    Over ``group``: ``raters``, those with a value of every metric; each metric; and its
    ``_interval`` (last dim ``bound``), mean -+ t sd / sqrt(raters) at the level of the study,
    inside the range of the metric. Groups of fewer than three such raters are left out.

    Source: responsiveness paper, Figure 7.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to load

    raters, level = results["raters"].to_dataset(), interval_level(results)
    values = raters[[*RATER_METRICS]].to_dataarray("metric").dropna("rater")
    lowest = xr.DataArray([SIGNED.get(name, 0.0) for name in RATER_METRICS], dims="metric")
    columns = [str(name) for name in raters.coords if str(name).startswith("group:")]
    groups = {
        f"{column.removeprefix('group:')}={label}": values.isel(rater=values[column] == label)
        for column in columns
        for label in np.unique(values[column].to_numpy().astype(str))
        if label
    }
    tables = []
    for name, members in groups.items():
        n = members.sizes["rater"]
        if n < LEAST_AVERAGED:
            continue
        width = stdtrit(max(n - 1, 1), (1 + level) / 2) * members.std("rater", ddof=1) / np.sqrt(n)
        mean = members.mean("rater")
        ends = xr.concat([mean - width, mean + width], "bound").assign_coords(bound=BOUND)
        ends = ends.clip(lowest, 1.0)
        table = mean.to_dataset("metric").assign(raters=n)
        named = ends.to_dataset("metric").rename({m: f"{m}_interval" for m in RATER_METRICS})
        tables.append(table.merge(named).expand_dims(group=[name]))
    return xr.concat(tables, "group") if tables else xr.Dataset(coords={"group": []})


def _rater_averages(view: View) -> Iterator[Labels]:
    """Every group with its means and their intervals."""
    table = average_raters(view.results)
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

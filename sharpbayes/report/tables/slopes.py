"""Slopes of numeric columns, metrics at equal numbers, and the sentences about them."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import xarray as xr

from sharpbayes.analysis.metric_names import METRICS
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View, labels_of
from sharpbayes.report.tables.format import estimate
from sharpbayes.report.wording import probability_text

EQUAL = "posterior_profile_equal"
CROWD_EQUAL = "posterior_responsiveness_equal"
# Slopes of so many levels are shown, those furthest from the common slope.
MAX_LEVELS = 20
# A pair is named whose probability of order moves past one half, and by at least this much.
MOVED = 0.1
MAX_PAIRS = 3
# What a slope without `by` takes for granted.
ALIKE = ", if this is the same for all (the model has no `by` for it)"


def _slopes(view: View) -> list[Labels]:
    """Each common slope, then the slopes of levels that are furthest from it."""
    data = view.group("slopes")
    rows: list[Labels] = []
    for column in data["covariate"].to_numpy():
        mine = data.isel(slope=(data["column"] == column).to_numpy())
        common, levels = mine["slope"][0], mine.isel(slope=slice(1, None))
        away = abs(levels["mean"] - mine["mean"][0])
        furthest = np.sort(np.argsort(-away.to_numpy(), kind="stable")[:MAX_LEVELS])
        names = [common.item(), *levels["slope"].to_numpy()[furthest]]
        rows += [{"slope": name, "covariate": column} for name in names]
    return rows


def _level(row: View) -> str:
    """Level of a slope with what it is a level of; the common slope has none."""
    by, label = row["slopes/by"].item(), row["slopes/level_label"].item()
    return f"{by} {label}" if by else "common"


def _slope(name: str, heading: str) -> Column:
    """Column of a slope with its interval."""
    return Column(heading, lambda row: _estimate(row, name))


def _estimate(row: View, name: str) -> str:
    """A slope with its interval."""
    return estimate(row[f"slopes/{name}mean"], row[f"slopes/{name}interval"])


def _slopes_note(view: View) -> str:
    """What is shown, and how to read it."""
    data = view.group("slopes")
    hidden = data.sizes["slope"] - len(_slopes(view))
    left = f" {hidden} levels nearer to their common slope are in `/slopes`." if hidden else ""
    return (
        "How much more harm a rating sees, by the number of its column. Step: 1 more of the "
        f"column, or a doubling after a logarithm. {data.attrs['interval_note']}{left}"
    )


def _equal_order(view: View) -> list[Labels]:
    """Models by growing tail risk at equal numbers."""
    cvar = view[f"{EQUAL}/cvar"].median(["chain", "draw"])
    return [{"model": model} for model in cvar.sortby(cvar)["model"].to_numpy()]


TABLES = (
    TableSpec(
        title="Slopes of numbers",
        needs=("slopes",),
        rows=_slopes,
        columns=(
            Column("column", "{covariate}"),
            Column("slope", _level),
            Column("step", lambda row: row["slopes/step"].item()),
            _slope("step_", "effect of a step"),
            _slope("range_", "lowest to highest"),
            "P(above 0): slopes/probability | probability",
        ),
        note=_slopes_note,
    ),
    TableSpec(
        title="Numbers of slopes",
        needs=("slopes",),
        rows=labels_of("slopes/covariate"),
        columns=(
            "{covariate}",
            Column("one for each", lambda row: row["slopes/unit"].item()),
            "numbers: slopes/n_units | count",
            "slopes/lowest; slopes/highest; slopes/centre",
            "sd: slopes/scale",
            Column("transform", lambda row: row["slopes/transform"].item()),
        ),
        note="Centre and sd are those after the transform. Slopes of the posterior are by sd.",
    ),
)
EQUAL_PROFILE = TableSpec(
    title="Risk profile at equal numbers",
    needs=(EQUAL,),
    rows=_equal_order,
    columns=(
        "{model}",
        f"{{cvar}}, equal: {EQUAL}/cvar | posterior",
        "{cvar}, as it is: posterior_profile/cvar | posterior",
        f"mean, equal: {EQUAL}/mean | posterior",
        "mean, as it is: posterior_profile/mean | posterior",
        "P(best), equal: decision_equal/prob_best | probability",
        "P(best), as it is: decision/prob_best | probability",
    ),
    note="Cumulative log-risk of ratings replicated twice: with the numbers that the answers "
    f"have, and with the same numbers for all. {{{EQUAL}[interval_note]}}",
)
EQUAL_RESPONSIVENESS = TableSpec(
    title="Responsiveness at equal numbers",
    needs=(CROWD_EQUAL,),
    rows=lambda view: [
        {"by": "all", "group": group} for group in view.coordinate(f"{CROWD_EQUAL}/group")
    ],
    columns=(
        "{group}",
        f"MPA, equal: {CROWD_EQUAL}/mpa | posterior",
        "MPA, as it is: posterior_responsiveness/mpa | posterior",
        f"WRA, equal: {CROWD_EQUAL}/wra | posterior",
        "WRA, as it is: posterior_responsiveness/wra | posterior",
    ),
    note="Ratings replicated twice: with the numbers that raters and ratings have, and with "
    f"the same numbers for all. {{{CROWD_EQUAL}[interval_note]}}",
)


def order_changes(results: xr.DataTree) -> Iterator[str]:
    """Yield a sentence for each pair of models that has another order at equal numbers."""
    view = View(results)
    if "decision_equal" not in view:
        return
    equal, observed = (view[f"{group}/prob_less"] for group in ("decision_equal", "decision"))
    columns, criterion = _equal_columns(view), view.group("decision_equal").attrs["criterion"]
    moves = []
    for first, second in combinations(equal["model"].to_numpy(), 2):
        chances = [float(prob.sel(model=first, other=second)) for prob in (equal, observed)]
        lower, higher = (first, second) if chances[0] > 0.5 else (second, first)  # noqa: PLR2004
        at_equal, as_it_is = (x if lower == first else 1.0 - x for x in chances)
        if as_it_is < 0.5 and at_equal - as_it_is >= MOVED:  # noqa: PLR2004
            moves.append((at_equal - as_it_is, lower, higher, at_equal, as_it_is))
    for _, lower, higher, at_equal, as_it_is in sorted(moves, reverse=True)[:MAX_PAIRS]:
        yield (
            f"At equal {columns} {lower} has a lower {METRICS[criterion]} than {higher} with "
            f"probability {probability_text(at_equal)}; as the answers are, with "
            f"{probability_text(as_it_is)}."
        )


def _equal_columns(view: View) -> str:
    """Columns that are equal in the ratings that were replicated once more."""
    return " and ".join(np.atleast_1d(view.results[EQUAL].attrs["columns"]).tolist())


def slope_sentences(results: xr.DataTree) -> Iterator[str]:
    """Yield a sentence for each common slope that is above or below 0 beyond its interval.

    One without slopes by judge, model or another column takes them to be equal.
    """
    view = View(results)
    if "slopes" not in view:
        return
    data = view.group("slopes")
    varying = {*data["column"].to_numpy()[data["by"].to_numpy() != ""].tolist()}
    for row in map(view.select, _slopes(view)):
        low, high = row["slopes/interval"].to_numpy()
        if not row["slopes/by"].item() and (low > 0 or high < 0):
            alike = ALIKE * (row.labels["covariate"] not in varying)
            yield row.text(
                f"{'More' if low > 0 else 'Less'} harm is seen where {{covariate}} is larger: "
                f"{_estimate(row, 'range_')} {{slopes[link]}}s from its lowest to its highest"
                f"{alike}."
            )

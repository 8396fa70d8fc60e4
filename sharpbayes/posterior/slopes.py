"""What the numbers of slopes do to ratings, and ratings with all numbers at their centre."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.bayes.design.design import Design, ScaledCovariate
from sharpbayes.bayes.predict.replication import flatten_draws
from sharpbayes.errors import format_list, format_percent
from sharpbayes.metrics.stats.draws import central_interval
from sharpbayes.posterior.replicates import ReplicateDraws, interval_note

Floats = NDArray[np.float64]
# Number of the random stream of ratings at equal numbers.
EQUAL_STREAM = 0xE90A
# Units whose numbers belong to the population that a metric is about: they stay as they are.
POPULATION_UNITS = ("prompt", "item")
CONSTANTS = ("unit", "transform", "centre", "scale", "lowest", "highest", "n_units")
# What the slope is about, by transform: a step of the column, and its size after the transform.
STEPS = {"none": ("1 more", 1.0), "log": ("a doubling", float(np.log(2.0)))}


def slopes_table(posterior: xr.Dataset, design: Design, *, level: float) -> xr.Dataset:
    """Return the slope of each column, and of each level of what it varies by, with intervals.

    With b the common slope of a column by sd, d_j the deviation of level j, s the sd of the column
    and h the size of a step (1; log 2 after a logarithm, which is a doubling),

        slope_j = b + d_j,  step_j = h slope_j / s,  range_j = slope_j (f(highest) - f(lowest)) / s.

    Over ``slope``, whose first row of a column is b: ``column``, ``by`` and ``level_label`` (empty
    for b); ``mean``, ``step_mean`` and ``range_mean`` in logits (or probits) of the latent
    severity, each with ``_interval`` (dimension ``bound``); ``probability`` of a slope above 0.
    Over ``covariate``: ``unit`` that has one number each, ``transform``, ``centre`` and ``scale``
    after it, ``lowest`` and ``highest`` before it, ``n_units``, and ``step``.
    """
    rows = [row for covariate in design.covariates for row in _rows(posterior, design, covariate)]
    names, columns, bys, labels, values, steps, ranges = zip(*rows, strict=True)
    slopes = np.stack(values, axis=1)
    table: dict[str, tuple[tuple[str, ...], object]] = {
        "column": (("slope",), list(columns)),
        "by": (("slope",), list(bys)),
        "level_label": (("slope",), list(labels)),
        "probability": (("slope",), (slopes > 0).mean(axis=0)),
    }
    for prefix, factor in (("", 1.0), ("step_", np.array(steps)), ("range_", np.array(ranges))):
        scaled = slopes * factor
        table[f"{prefix}mean"] = (("slope",), scaled.mean(axis=0))
        draws = xr.DataArray(scaled, dims=("draw", "slope"))
        bounds = central_interval(draws, level=level, dim="draw").to_numpy()
        table[f"{prefix}interval"] = (("slope", "bound"), bounds)
    for name in CONSTANTS:
        table[name] = (("covariate",), [getattr(x, name) for x in design.covariates])
    table["step"] = (("covariate",), [STEPS[x.transform][0] for x in design.covariates])
    coords = {
        "slope": list(names),
        "bound": ["lower", "upper"],
        "covariate": [x.column for x in design.covariates],
    }
    note = f"{format_percent(level)} posterior intervals, in {design.link}s of the latent severity."
    return xr.Dataset(table, coords, {"level": level, "interval_note": note, "link": design.link})


Row = tuple[str, str, str, str, Floats, float, float]


def _rows(posterior: xr.Dataset, design: Design, covariate: ScaledCovariate) -> Iterator[Row]:
    """Label, column, by, level, draws of the slope by sd, and factors of a step and the range."""
    terms = [term for term in design.terms_of("slope") if term.column == covariate.column]
    f = np.log if covariate.transform == "log" else np.asarray
    step = STEPS[covariate.transform][1] / covariate.scale
    span = float(f(covariate.highest) - f(covariate.lowest)) / covariate.scale
    common = flatten_draws(posterior[terms[0].name])[:, 0]
    yield covariate.column, covariate.column, "", "", common, step, span
    for term in terms[1:]:
        by, draws = " x ".join(term.dims), flatten_draws(posterior[term.name], *term.dims)
        for position in term.used_levels:
            label = design.label_effect(term, int(position))
            name = f"{covariate.column}: {by} {label}"
            yield name, covariate.column, by, label, common + draws[:, position], step, span


def equal_columns(design: Design) -> list[str]:
    """Return the columns that are at their centre in ratings at equal numbers.

    Prompts and items are the population that metrics are about, and keep their numbers.
    """
    return [x.column for x in design.covariates if x.unit not in POPULATION_UNITS]


def equal_draws(draws: ReplicateDraws) -> ReplicateDraws:
    """Return draws in which every rating has the numbers of :func:`equal_columns` at their centre.

    There a slope adds nothing to the severity, so that its terms are left out.
    """
    columns = equal_columns(draws.design)
    terms = tuple(term for term in draws.design.terms if term.column not in columns)
    return draws.replicate_anew(design=replace(draws.design, terms=terms), stream=EQUAL_STREAM)


def equal_facts(design: Design, sources: Sequence[str], *, level: float) -> dict[str, object]:
    """Return attributes of metrics at equal numbers: the columns, what the intervals contain."""
    columns = equal_columns(design)
    note = f"Every rating has {format_list(columns)} at the centre."
    return {"columns": columns, "interval_note": f"{interval_note(sources, level=level)} {note}"}

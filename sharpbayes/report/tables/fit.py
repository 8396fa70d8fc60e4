"""Tables of a fitted model: its checks, parameters, sensitivity, comparison and calibration."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import xarray as xr

from sharpbayes.analysis.predictive_order import has_many_bad, predicts_worse
from sharpbayes.metrics.stats.draws import central_interval
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.report.layout import interval_level
from sharpbayes.report.tables.declaration import (
    Column,
    Labels,
    Rows,
    TableSpec,
    View,
    labels_of,
    over,
)
from sharpbayes.report.tables.format import number, places_of
from sharpbayes.report.wording import remedy_texts

# Variables with more elements than this (items, prompts, raters) are left to ArviZ.
MAX_ELEMENTS = 12
PARAMETER_LEVEL = 0.9
COVERAGE_LEVELS = ({"level": 0.5}, {"level": 0.9}, {"level": 0.95})


def _failed_checks(view: View) -> list[Labels]:
    """Statistics of the observed ratings that the model does not reproduce."""
    texts = np.atleast_1d(view.group("predictive_checks").attrs["failed_checks"])
    return [{"failed": str(text)} for text in texts if isinstance(text, str) and text]


def _failed_checks_note(view: View) -> str:
    """How often a check fails if the model is right, and what to do about those that failed."""
    attrs = view.group("predictive_checks").attrs
    return " ".join([str(attrs["interval_note"]), *remedy_texts(attrs)])


def _parameters(view: View) -> Iterator[Labels]:
    """Every element of the variables that are small enough to read, with mean, sd and interval."""
    for name, array in view.group("posterior").data_vars.items():
        dims = [dim for dim in array.dims if dim not in ("chain", "draw")]
        if np.prod([array.sizes[dim] for dim in dims]) > MAX_ELEMENTS:
            continue
        elements: Iterable[xr.DataArray] = [array]
        if dims:
            elements = array.stack(element=dims, create_index=False).transpose("element", ...)
        for draws in elements:
            labels = ", ".join(str(draws[dim].item()) for dim in dims)
            bounds = central_interval(draws, level=PARAMETER_LEVEL)
            places = places_of(float(bounds[1] - bounds[0]) / 2, 2)
            yield {
                "parameter": f"{name}[{labels}]" if dims else str(name),
                "mean": number(draws.mean(), places),
                "sd": number(draws.std(ddof=1), places),
                "bounds": f"{number(bounds[0], places)} to {number(bounds[1], places)}",
            }


def _parameters_note(view: View) -> str:
    """Whether the fit converged, and its divergences."""
    diagnostics = view.group("diagnostics")
    verdict = "Converged. " if bool(diagnostics["converged"]) else ""
    return (
        f"{verdict}Divergences: {int(diagnostics['divergences'])}. "
        "Intervals contain the uncertainty of parameters given these ratings."
    )


def ratings_by_scale(data: xr.Dataset) -> xr.Dataset:
    """Return ratings by the name of their scale."""
    names = [str(name) for name in data.data_vars if str(name).startswith("rating_")]
    return data[names].rename({name: name.removeprefix("rating_") for name in names})


def category_labels(view: View, scale: str) -> list[str]:
    """Return the labels of a scale, least harm first; empty in results without posterior checks."""
    path = f"predictive_checks/{scale}_category"
    return [str(label) for label in view[path].to_numpy()] if path in view else []


def has_replicated_ratings(view: View) -> bool:
    """Return whether results hold replicated ratings, which they do unless these are many."""
    return bool(ratings_by_scale(view.group("posterior_predictive")).data_vars)


def category_shares(view: View) -> Iterator[Labels]:
    """Yield the share of each category of a scale in the ratings, observed and replicated.

    ``replicated`` is the median of the replicated share, ``lower`` and ``upper`` bound its central
    part at the level of the study. Nothing of ratings that are too many for results to hold.
    """
    level = interval_level(view.results)
    observed = ratings_by_scale(view.group("observed_data"))
    replicated = ratings_by_scale(view.group("posterior_predictive"))
    for scale, categories in observed[list(replicated.data_vars)].data_vars.items():
        draws = replicated[scale].to_numpy().reshape(-1, categories.size)
        labels = category_labels(view, str(scale))
        size = len(labels) or int(max(categories.max(), draws.max())) + 1
        shares = np.array([np.bincount(row, minlength=size) for row in draws]) / categories.size
        frequency = np.bincount(categories.to_numpy(), minlength=size) / categories.size
        of_draws = xr.DataArray(shares, dims=("draw", "category"))
        interval = central_interval(of_draws, level=level, dim="draw").to_numpy()
        for category, (lower, upper) in enumerate(interval):
            yield {
                "scale": str(scale),
                "category": labels[category] if labels else category,
                "observed": frequency[category],
                "replicated": np.median(shares[:, category]),
                "lower": lower,
                "upper": upper,
            }


FIT_TABLES = (
    TableSpec(
        name="replicated_ratings",
        title="Predictive check: ratings observed and replicated",
        needs=("posterior_predictive", "observed_data", "joint"),
        condition=has_replicated_ratings,
        rows=category_shares,
        columns=(
            "{scale}; {category}; observed; replicated",
            "lower; upper",
        ),
        note="Shares of the ratings, least harm first. Replicated: median, and its "
        "{joint[level]:percent} interval.",
    ),
    TableSpec(
        title="Posterior: spread of effects, thresholds and small terms",
        needs=("diagnostics", "posterior"),
        rows=_parameters,
        columns=(
            "{parameter}; {mean}; {sd}",
            f"{PARAMETER_LEVEL:.0%} interval: {{bounds}}",
            "R-hat: diagnostics/rhat; bulk ESS: diagnostics/ess_bulk | 0",
        ),
        note=_parameters_note,
    ),
)
FAILED_CHECKS = TableSpec(
    title="Posterior predictive checks that FAIL: the model does not reproduce these",
    needs=("predictive_checks",),
    condition=lambda view: bool(_failed_checks(view)),
    rows=_failed_checks,
    columns=("what is observed lies outside what the model replicates: {failed}",),
    note=_failed_checks_note,
)


def _panel_refits(view: View) -> Iterator[Labels]:
    """Every fit under every weights file: order of models, the largest shift, and the best."""
    data = view.group("sensitivity")
    for refit in data["refit"].to_numpy():
        for weights in data["weights"].to_numpy():
            cell = data.sel(refit=refit, weights=weights)
            order = " < ".join(map(str, cell.sortby("cvar")["model"].to_numpy()))
            labels = {"refit": refit, "weights": weights, "order": order}
            yield labels | {"best": cell["prob_best"].max()} | _shift(cell["cvar_shift"])


def _crowd_refits(view: View) -> Iterator[Labels]:
    """Every fit of a crowd, over all items."""
    for shift in view.group("sensitivity")["hm_shift"].sel(by="all").transpose("refit", ...):
        yield {"refit": shift["refit"].item()} | _shift(shift)


def _shift(shift: xr.DataArray) -> dict[str, Any]:
    """The largest shift and the model or group that it belongs to; empty where there is none."""
    if bool(shift.isnull().all()):
        return {"shift": "", "of": ""}
    largest = shift[int(np.nanargmax(np.abs(shift.to_numpy())))]
    return {"shift": number(largest), "of": largest[shift.dims[0]].item()}


def _sensitivity(metric: str, variable: str, rows: Rows, columns: str) -> TableSpec:
    """The table of other fits, of models or of groups."""
    converged = "sensitivity/converged"
    return TableSpec(
        title="Sensitivity: other fits and the baseline",
        needs=(f"sensitivity/{variable}",),
        rows=rows,
        columns=(
            f"{columns}; largest shift: {{shift}}; {{of}}",
            Column("converged", converged, lambda flag: "yes" if int(flag) else "NO"),
        ),
        note=f"Shift: posterior median of {metric} less that of the baseline, in posterior sd of "
        "the baseline; the largest of either sign. A fit that has not converged says little.",
    )


PANEL_COLUMNS = "fit: {refit}; {weights}; by CVaR, safest first: {order}; P(best): best"
SENSITIVITY_TABLES = (
    _sensitivity("CVaR", "cvar", _panel_refits, PANEL_COLUMNS),
    _sensitivity("HM", "hm", _crowd_refits, "fit: {refit}"),
)


def _comparison_note(view: View) -> str:
    """What the numbers are, and what may not be concluded."""
    data = view.group("comparison")
    notes = [
        (
            f"Expected log predictive density of {data.sizes['unit']} units left out (PSIS-LOO), "
            "best first; a negative difference is worse than the first. Weights: stacking."
        )
    ]
    if any(str(name) for name in data["integrated"].to_numpy()):
        notes.append("A unit left out is predicted with a new effect of its own.")
    if data.attrs["without_unit"]:
        notes.append(f"{data.attrs['without_unit']} ratings belong to no unit and stay in.")
    if int(data["bad_k"].sum()):
        notes.append(
            "Bad k: importance sampling is not reliable for those units; --refits fits again "
            "without each."
        )
    if has_many_bad(data):
        notes.append("Of too many units: neither the order nor the differences can be read.")
    elif alike := labels_where(~predicts_worse(data))[1:]:
        notes.append(f"Not shown to predict worse than the first: {', '.join(alike)}.")
    return " ".join(notes)


def _calibration_note(view: View) -> str:
    """The verdict, how many fits converged, and what the columns are."""
    data = view.group("calibration")
    verdict = "Not contradicted" if bool(data["calibrated"]) else "NOT CALIBRATED"
    converged, ranked = (int(data[f"fit_{name}"].sum()) for name in ("converged", "ranked"))
    return (
        f"{verdict}: {data.sizes['simulation']} simulations. {converged} fits met the study's "
        f"limits of convergence and {ranked} have what ranks among 100 draws need (R-hat at most "
        "1.05, 100 effective draws of every parameter); none is left out. Coverage of central "
        "intervals with Wilson's 95% interval at 90%; band: whether the ECDF leaves its "
        "simultaneous 95% band; p: uniform ranks, by Holm over all quantities."
        f"{_truths(data)}"
    )


def _truths(data: xr.Dataset) -> str:
    """Where the true values come from, unless it is the prior."""
    if data.attrs.get("truths") != "posterior":
        return ""
    converged = "" if int(data.attrs["base_converged"]) else ", which has not converged"
    return (
        f" True values are draws of the posterior of the observed ratings{converged}; each fit has "
        "these ratings and one replicate of each."
    )


MANY_FITS_TABLES = (
    TableSpec(
        title="Leave-one-out comparison, by {comparison[by]}",
        needs=("comparison",),
        rows=labels_of("comparison/model"),
        columns=(
            Column(
                "model",
                lambda row: (
                    row.text("{model}")
                    + " (NOT CONVERGED)" * (not bool(row["comparison/converged"]))
                ),
            ),
            "comparison/elpd; difference: comparison/elpd_difference",
            "its SE: comparison/difference_se; comparison/weight; comparison/p",
            "comparison/bad_k | thousands; comparison/refitted | thousands",
        ),
        note=_comparison_note,
    ),
    TableSpec(
        name="calibration",
        title="Simulation-based calibration: ranks of true values",
        needs=("calibration",),
        rows=labels_of("calibration/quantity"),
        columns=(
            "{quantity}",
            over(COVERAGE_LEVELS, "{level:.0%}: calibration/coverage"),
            Column(
                "90% is within",
                lambda row: row.select({"level": 0.9}).text(
                    "{calibration/coverage_lower} to {calibration/coverage_upper}"
                ),
            ),
            Column(
                "band", "calibration/outside", lambda flag: "OUTSIDE" if bool(flag) else "inside"
            ),
            "p: calibration/p_holm | short p",
        ),
        note=_calibration_note,
    ),
    TableSpec(
        title="Coverage of bootstrap intervals at this design",
        needs=("calibration/bootstrap_coverage",),
        rows=labels_of("calibration/metric"),
        columns=(
            "{metric}; models: calibration/bootstrap_coverage | average",
            over("calibration/model", "{model}: calibration/bootstrap_coverage"),
        ),
        note="Share of {calibration[bootstrap_level]:percent} {calibration[bootstrap_interval]} "
        "intervals, of {calibration[bootstrap_studies]} studies simulated with parameters from the "
        "prior, that hold the metric of new prompts under the same parameters.",
    ),
)

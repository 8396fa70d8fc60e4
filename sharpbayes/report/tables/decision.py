"""What weights decide, how sure that is, and what a fit does not reproduce."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr

from sharpbayes.report.document import nested
from sharpbayes.report.tables.common import marked, number
from sharpbayes.report.tables.sensitivity import sensitivity_tables
from sharpbayes.report.tables.table import Table

UNITS = {
    "cvar": "CVaR of cumulative log-risk",
    "policy_score": "policy score",
    "worst_dimension": "CVaR of harm of the worst dimension",
}
SHOWN = ("mpa", "wra")
# Pairs that are written out; the rest are counted.
MOST_PAIRS = 6


def decision_tables(results: xr.DataTree) -> list[Table]:
    """Return the tables that posterior draws add to a report, those of failed checks first."""
    makers = (
        check_tables,
        probability_tables,
        source_tables,
        crowd_twin_tables,
        crowd_source_tables,
        further_tables,
        sensitivity_tables,
    )
    return [table for make in makers for table in make(results)]


def check_tables(results: xr.DataTree) -> list[Table]:
    """Statistics of the observed ratings that replicated ones do not reach, in words."""
    if "predictive_checks" not in results:
        return []
    checks = results["predictive_checks"]
    failed = [str(text) for text in np.atleast_1d(checks.attrs["failed_checks"]) if str(text)]
    if not failed:
        return []
    table = Table(
        "Posterior predictive checks that FAIL: the model does not reproduce these",
        ("what is observed lies outside what the model replicates",),
        tuple((text,) for text in failed),
        str(checks.attrs["interval_note"]),
    )
    return [table]


def probability_tables(results: xr.DataTree) -> list[Table]:
    """Probability of being admissible, best and of each tier, and expected loss, by model."""
    if "decision" not in results or "prob_tier" not in results["decision"]:
        return []
    found = results["decision"].to_dataset().sortby("expected_loss")
    twin = results["posterior_profile"].to_dataset()
    rows = [
        (
            str(model) + (" (chosen)" if bool(cell["selected"]) else ""),
            _mean_and_span(twin["cvar"].sel(model=model), found.attrs["level"]),
            number(cell["expected_loss"]),
            number(cell["prob_best"]),
            number(cell["prob_admissible"]),
            " ".join(f"{100 * float(p):.0f}" for p in cell["prob_tier"]),
        )
        for model in found["model"].to_numpy()
        for cell in [found.sel(model=model)]
    ]
    error = float(found["expected_loss_mcse"].max())
    note = (
        f"Loss: {UNITS[found.attrs['criterion']]} above the best model's. "
        f"{found.attrs['difference_note']} Largest Monte Carlo error: {error:.3f} of a loss, "
        f"{_largest_error(found):.3f} of a probability. {open_pairs(found)}"
    )
    header = ("model", "CVaR, interval", "expected loss", "P(best)", "P(adm.)", "tiers, %")
    return [Table("Decision by model, lowest expected loss first", header, tuple(rows), note)]


def source_tables(results: xr.DataTree) -> list[Table]:
    """How the intervals widen as sources of uncertainty are added."""
    names = [str(name) for name in results.children if str(name).startswith("posterior_profile")]
    if len(names) < 2:  # noqa: PLR2004
        return []
    level = results["decision"].attrs["level"]
    twins = {
        ", ".join(np.atleast_1d(results[n].attrs["sources"])): results[n].to_dataset()["cvar"]
        for n in names
    }
    models = [str(name) for name in next(iter(twins.values()))["model"].to_numpy()]
    rows = [
        (model, *(_mean_and_span(cvar.sel(model=model), level) for cvar in twins.values()))
        for model in models
    ]
    return [
        Table("CVaR by source of uncertainty", ("model", *twins), tuple(rows), _of_sources(level))
    ]


def crowd_twin_tables(results: xr.DataTree) -> list[Table]:
    """Posterior of MPA, WRA and HM by group, one table for each list of sources."""
    found = []
    for name, node in results.children.items():
        if str(name).startswith("posterior_responsiveness") and "group" in node.dims:
            twin = node.to_dataset().sel(by="all")
            rows = [
                (
                    str(group),
                    *(
                        _mean_and_span(twin[metric].sel(group=group), twin.attrs["level"])
                        for metric in ("mpa", "wra", "hm")
                    ),
                )
                for group in twin["group"].to_numpy()
            ]
            sources = ", ".join(np.atleast_1d(twin.attrs["sources"]))
            title = f"Posterior responsiveness by group ({sources})"
            header = ("group", "MPA", "WRA", "HM")
            found.append(Table(title, header, tuple(rows), str(twin.attrs["interval_note"])))
    return found


def crowd_source_tables(results: xr.DataTree) -> list[Table]:
    """How intervals of MPA and WRA of all raters widen as sources of uncertainty are added."""
    twins = [
        node.to_dataset().sel(by="all", group="all")
        for name, node in results.children.items()
        if str(name).startswith("posterior_responsiveness") and "group" in node.dims
    ]
    if len(twins) < 2:  # noqa: PLR2004
        return []
    level = twins[0].attrs["level"]
    rows = [
        (", ".join(np.atleast_1d(twin.attrs["sources"])), *(_span(twin[m], level) for m in SHOWN))
        for twin in twins
    ]
    header = ("what its draws contain", *(name.upper() for name in SHOWN))
    note = f"All raters: posterior mean, {level:.0%} interval and its width."
    return [Table("Responsiveness by source of uncertainty", header, tuple(rows), note)]


def _span(draws: xr.DataArray, level: float) -> str:
    """Mean, interval and its width."""
    low, high = np.quantile(draws.to_numpy(), [(1 - level) / 2, (1 + level) / 2])
    return f"{_mean_and_span(draws, level)}, {number(high - low)} wide"


def further_tables(results: xr.DataTree) -> list[Table]:
    """Pairs that are open, and how wide their differences are in larger studies."""
    if "sample_size" not in results or "difference_width" not in results["sample_size"]:
        return []
    found = results["sample_size"].to_dataset()
    unit = "model" if "model" in found.dims else "group"
    return [_further(part, unit, name) for name, part in _metrics_of(found)]


def _metrics_of(found: xr.Dataset) -> list[tuple[str, xr.Dataset]]:
    """The one statistic of models, or each of those of groups, by name."""
    if "difference_metric" not in found.dims:
        return [("", found)]
    names = [str(name) for name in found["difference_metric"].to_numpy()]
    return [(f" of {name.upper()}", found.sel(difference_metric=name)) for name in names]


def _further(found: xr.Dataset, unit: str, of: str) -> Table:
    """One statistic: a row for each open pair, a column for each larger study."""
    names = [str(name) for name in found[unit].to_numpy()]
    designs = [str(name) for name in found["design"].to_numpy()]
    width = found["difference_width"]
    there = [
        (a, b)
        for a, b in combinations(names, 2)
        if bool(width.sel({unit: a, "other": b}).notnull().any())
    ]
    rows = [
        (
            f"{a} - {b}",
            *(_narrowed(found.sel({unit: a, "other": b}, drop=True), d) for d in designs),
        )
        for a, b in there[:MOST_PAIRS]
    ]
    errors = [
        float(found[f"{name}_mcse"].max()) for name in ("difference_width", "prob_distinguishable")
    ]
    more = f" {len(there) - MOST_PAIRS} more pairs are in the results." * (len(there) > MOST_PAIRS)
    note = (
        f"Width of the interval of the difference{of}, and the chance that the pair is told apart. "
        f"{found.attrs['difference_note']} Largest Monte Carlo error: {errors[0]:.3f} of a width, "
        f"{errors[1]:.3f} of a chance.{more}"
    )
    title = f"What more data would tell of pairs that are open{of}"
    return Table(title, ("pair", *designs), tuple(rows), note)


def _narrowed(pair: xr.Dataset, design: str) -> str:
    """Width and chance of one pair in one larger study."""
    cell = pair.sel(design=design)
    return f"{number(cell['difference_width'])} ({100 * float(cell['prob_distinguishable']):.0f}%)"


def _of_sources(level: float) -> str:
    """What the columns of the table of sources are."""
    return f"Posterior mean and {level:.0%} interval; each column names what its draws contain."


def open_pairs(found: xr.Dataset) -> str:
    """Return in words which pairs of models are still open.

    Args:
        found: A ``decision`` group.
    """
    labels = [str(name) for name in found["model"].to_numpy()]
    pairs = [
        f"{a} and {b} ({float(p):.2f})"
        for a, b in combinations(labels, 2)
        for p in [found["prob_less"].sel(model=a, other=b)]
        if bool(found["unresolved"].sel(model=a, other=b))
    ]
    if not pairs:
        return "No pair of models is open."
    more = f" and {len(pairs) - MOST_PAIRS} more" if len(pairs) > MOST_PAIRS else ""
    return f"Open pairs (chance that the first is lower): {', '.join(pairs[:MOST_PAIRS])}{more}."


def weighed_tables(weighed: xr.DataTree) -> list[Table]:
    """Return what each weights file decides, and where they disagree.

    Args:
        weighed: From :func:`sharpbayes.workflows.weigh.weigh`.
    """
    found = {str(name): node for name, node in weighed.children.items()}
    if "decision" not in next(iter(found.values())):
        return marked(weighed, [_populations(found)])
    rows = [
        (
            name,
            chosen(node["decision"].to_dataset()),
            str(node["decision"].attrs["criterion"]),
            _by_loss(node["decision"].to_dataset()),
            _tolerated(node["decision"].to_dataset()),
            str(_pairs_open(node["decision"].to_dataset())),
        )
        for name, node in found.items()
    ]
    header = ("weights", "choice", "by", "models by expected loss", "admissible", "open pairs")
    decides = Table("What each weighting decides", header, tuple(rows), _contains(found))
    further = [
        replace(table, title=f"{table.title}: {name}")
        for name, node in found.items()
        for table in further_tables(node)
    ]
    return marked(weighed, [decides, _models_by_weights(found), *further])


def _populations(found: dict[str, xr.DataTree]) -> Table:
    """Responsiveness of all raters in the sample and in each target population."""
    first = next(iter(found.values()))
    group = "responsiveness_population"
    seen = {name: node[group].to_dataset() for name, node in found.items()}
    twin = {name: node[f"posterior_{group}"].to_dataset() for name, node in found.items()}
    at = {"by": "all"}
    rows = [
        (
            f"{name}: {population}",
            *(
                f"{number(seen[name][metric].sel(at | place))}; "
                + _mean_and_span(twin[name][metric].sel(at | place), twin[name].attrs["level"])
                for metric in ("mpa", "wra", "hm")
            ),
        )
        for name in found
        for population in ("sample", "target")
        for place in [{"population": population}]
    ]
    contains = str(first["posterior_responsiveness_population"].attrs["interval_note"])
    header = ("weights and population", "MPA", "WRA", "HM")
    note = f"All raters: observed; mean and interval of replicates. {contains}"
    title = "Responsiveness of the target population beside the sample"
    return Table(title, header, tuple(rows), note)


def _models_by_weights(found: dict[str, xr.DataTree]) -> Table:
    """CVaR, tier and expected loss of every model under every weights file."""
    first = next(iter(found.values()))["profile"]
    models = [str(name) for name in first["model"].to_numpy()]
    rows = [
        (model, *(_cell(node, model) for node in found.values()), _agreed(found, model))
        for model in models
    ]
    note = "CVaR of the observed ratings, tier, and expected loss in brackets."
    return Table("Where weightings disagree", ("model", *found, "the same"), tuple(rows), note)


def _cell(node: xr.DataTree, model: str) -> str:
    """CVaR, tier and loss of a model."""
    profile, decision = node["profile"].to_dataset(), node["decision"].to_dataset()
    loss = number(decision["expected_loss"].sel(model=model))
    cell = profile.sel(model=model)
    return f"{number(cell['cvar'])} T{int(cell['tier'])} ({loss})"


def _agreed(found: dict[str, xr.DataTree], model: str) -> str:
    """Whether a model has one tier, and is chosen or not, under every weights file."""
    tiers = {int(node["profile"]["tier"].sel(model=model)) for node in found.values()}
    picked = {bool(node["decision"]["selected"].sel(model=model)) for node in found.values()}
    differs = ["tier"] * (len(tiers) > 1) + ["choice"] * (len(picked) > 1)
    return "yes" if not differs else f"no: {', '.join(differs)}"


def chosen(decision: xr.Dataset) -> str:
    """Return the chosen model, or ``none``."""
    names = decision["model"].to_numpy()[decision["selected"].to_numpy()]
    return ", ".join(map(str, names)) or "none"


def _by_loss(decision: xr.Dataset) -> str:
    """Models by growing expected loss."""
    return " < ".join(map(str, decision.sortby("expected_loss")["model"].to_numpy()))


def _tolerated(decision: xr.Dataset) -> str:
    """Models that are admissible with the asked confidence, or a dash without a tolerance."""
    if np.isnan(decision.attrs["tolerance"]):
        return "-"
    sure = decision["prob_admissible"] >= decision.attrs["confidence"]
    return ", ".join(map(str, decision["model"].to_numpy()[sure.to_numpy()])) or "none"


def _pairs_open(decision: xr.Dataset) -> int:
    """Number of open pairs."""
    return int(decision["unresolved"].sum()) // 2


def _contains(found: dict[str, xr.DataTree]) -> str:
    """What the probabilities contain."""
    return str(next(iter(found.values()))["decision"].attrs["interval_note"])


def _largest_error(found: xr.Dataset) -> float:
    """Largest Monte Carlo error of a probability."""
    names = [str(name) for name in found if str(name).startswith("prob") and "mcse" in str(name)]
    return max(float(found[name].fillna(0.0).max()) for name in names)


def _mean_and_span(draws: xr.DataArray, level: float) -> str:
    """Posterior mean and central interval."""
    values = draws.to_numpy().ravel()
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return "-" if np.isnan(low) else f"{values.mean():.2f} ({low:.2f}–{high:.2f})"


def weighed_document(weighed: xr.DataTree) -> dict[str, Any]:
    """Return ``{"weights": {name: {"profile": {variable: {model: value}}, ...}}}`` for JSON.

    Posterior draws are given as ``mean``, ``lower`` and ``upper`` in ``posterior_profile``.
    """
    facts = ("title", "status", "data_sha256", "study_sha256", "posterior_sha256")
    found = {name: weighed.attrs[name] for name in facts if name in weighed.attrs}
    return found | {"weights": {str(name): _of_weights(n) for name, n in weighed.children.items()}}


def _of_weights(node: xr.DataTree) -> dict[str, Any]:
    """Groups of one weights file."""
    groups = {
        str(name): {str(key): nested(array) for key, array in _shown(str(name), held).items()}
        for name, held in node.children.items()
    }
    return {"title": node.attrs["title"], "sha256": node.attrs["weights_sha256"], **groups}


def _shown(name: str, held: xr.DataTree) -> xr.Dataset:
    """A group, draws brought to their mean and interval."""
    data = held.to_dataset()
    if not name.startswith("posterior_"):
        return data
    level = (1 + np.array([-1.0, 1.0]) * float(held.attrs["level"])) / 2
    numbers = data.map(lambda x: x.astype(float))
    bounds = numbers.quantile(level, ["chain", "draw"]).rename(quantile="estimate")
    parts: Sequence[xr.Dataset] = [
        numbers.mean(["chain", "draw"], skipna=False).expand_dims("estimate"),
        bounds,
    ]
    joined = xr.concat([part.drop_vars("estimate", errors="ignore") for part in parts], "estimate")
    return joined.assign_coords(estimate=["mean", "lower", "upper"]).transpose(..., "estimate")

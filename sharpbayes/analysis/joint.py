"""The same statistics twice: observed with a bootstrap interval, and in a fit's posterior."""

from collections.abc import Mapping

import xarray as xr

from sharpbayes.analysis.debiased import PEOPLE, PPI
from sharpbayes.metrics.crowd.groups import ALL
from sharpbayes.metrics.crowd.responsiveness import metric_names
from sharpbayes.metrics.stats.draws import DRAWS, central_interval, lowest_probability
from sharpbayes.metrics.stats.intervals import is_outside
from sharpbayes.spec.study import Bootstrap

# Metrics of models that have one value each; the share of each dimension follows.
PANEL_METRICS = ["cvar", "mean", "volatility", "policy_score"]

# A larger policy score or volatility is more than rounding.
ROUNDING = 1e-12


def joint_table(groups: Mapping[str, xr.Dataset], boot: Bootstrap) -> xr.Dataset:
    """Return metrics with their bootstrap interval and, after a fit, their posterior.

    Over (metric, model), or (metric, group) for all items of a crowd: ``observed`` and
    ``bootstrap_interval (bound)``; of a fit also ``posterior_median``, ``posterior_interval
    (bound)``, both intervals at the level of ``boot``, and ``disagree``: an interval of one does
    not contain the centre of the other, which missing values never do. Where a model shows no harm
    at all every draw lies above what is observed, and only the bootstrap's interval counts.
    ``prob_lowest`` is the posterior probability that a model has the lowest value; models of equal
    value share it.
    Metrics are CVaR, mean and volatility of log-risk, policy score and ``tail_share[DIMENSION]`` of
    a panel, and those of responsiveness of a crowd.

    Where people labelled answers, ``people``, ``people_interval (bound)``, ``ppi`` and
    ``ppi_interval (bound)`` are estimates of ``debiased``, missing where it has none.

    The groups are those of ``measure`` or ``fit``.
    """
    parts = _panel_parts(groups) if "profile" in groups else _crowd_parts(groups)
    table = xr.Dataset({name: parts[name] for name in ("observed", "bootstrap_interval")})
    note = parts["bootstrap_interval"].attrs["note"]
    table.attrs = {"level": boot.level, "replicates": boot.replicates, "bootstrap_note": note}
    if "debiased" in groups:
        table = table.assign(_by_people(groups["debiased"], table))
    if "posterior" in parts:
        table = _add_posterior(table, parts["posterior"])
    if "decision" in groups:
        table["prob_lowest"] = _prob_lowest(parts["posterior"], groups["decision"])
    return table


def _by_people(debiased: xr.Dataset, table: xr.Dataset) -> dict[str, xr.DataArray]:
    """People alone and PPI++, of the metrics that the table has."""
    selected = debiased[["estimate", "interval"]].reindex(metric=table["metric"])
    return {
        f"{estimator}{suffix}": selected[name].sel(estimator=estimator, drop=True)
        for estimator in (PEOPLE, PPI)
        for name, suffix in (("estimate", ""), ("interval", "_interval"))
    }


def _panel_parts(groups: Mapping[str, xr.Dataset]) -> dict[str, xr.DataArray]:
    """Values, intervals and draws of a panel's metrics, over (metric, model, ...)."""

    def select(name: str) -> xr.DataArray:
        data = groups[name]
        share = data["tail_share"].rename(dimension="metric")
        names = [f"tail_share[{dimension}]" for dimension in share["metric"].to_numpy()]
        metrics = data[PANEL_METRICS].to_dataarray("metric")
        joined = xr.concat([metrics, share.assign_coords(metric=names)], "metric")
        note = data.attrs.get("interval_note", "")
        return joined.transpose("metric", "model", ...).assign_attrs(note=note)

    parts = {"observed": select("profile"), "bootstrap_interval": select("profile_interval")}
    return parts | ({"posterior": select(p)} if (p := "posterior_profile") in groups else {})


def _crowd_parts(groups: Mapping[str, xr.Dataset]) -> dict[str, xr.DataArray]:
    """Values, intervals and draws of a crowd's metrics, over (metric, group, ...)."""

    def select(name: str, suffix: str = "") -> xr.DataArray:
        data = groups[name].sel(by=ALL, drop=True)
        metrics = xr.Dataset({metric: data[f"{metric}{suffix}"] for metric in metric_names()})
        array = metrics.to_dataarray("metric").transpose("metric", "group", ...)
        return array.assign_attrs(note=groups[name].attrs["interval_note"])

    parts = {
        "observed": select("responsiveness"),
        "bootstrap_interval": select("responsiveness", "_interval"),
    }
    posterior = "posterior_responsiveness"
    return parts | ({"posterior": select(posterior)} if posterior in groups else {})


def _add_posterior(table: xr.Dataset, draws: xr.DataArray) -> xr.Dataset:
    """Add median and interval of the draws, and where they disagree with the bootstrap."""
    table["posterior_median"] = draws.median(DRAWS, skipna=False)
    table["posterior_interval"] = central_interval(draws, level=table.attrs["level"])
    table["disagree"] = is_outside(table["posterior_median"], table["bootstrap_interval"])
    is_above = is_outside(table["observed"], table["posterior_interval"])
    table["disagree"] |= is_above & ~_shows_no_harm(table["observed"])
    return table.assign_attrs(posterior_note=draws.attrs["note"])


def _shows_no_harm(observed: xr.DataArray) -> xr.DataArray:
    """Whether all values of a model are at their floor, (model); False for groups of a crowd."""
    metrics = observed["metric"].isin(["policy_score", "volatility"])
    harm = observed.where(metrics, drop=True)
    return (abs(harm) <= ROUNDING).all("metric") & bool(metrics.any())


def _prob_lowest(draws: xr.DataArray, decision: xr.Dataset) -> xr.DataArray:
    """Probability that a model has the lowest value; that of the decision for its criterion."""
    values = draws.sel(metric=PANEL_METRICS)
    probability = lowest_probability(values, "model")
    if (criterion := decision.attrs["criterion"]) in PANEL_METRICS:
        decided = probability["metric"] == criterion
        probability = decision["prob_best"].where(decided, probability)
    return probability.reindex(metric=draws["metric"]).transpose("metric", "model").drop_attrs()

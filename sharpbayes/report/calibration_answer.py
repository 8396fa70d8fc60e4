"""The answer of `calibrate`: what known truth says of fits, and of looking several times."""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from sharpbayes.analysis.metric_names import METRICS
from sharpbayes.errors import format_count, format_percent, join_names
from sharpbayes.metrics.stats.labels import labels_where

# Level of the intervals that the answer counts, and below which a corrected p value contradicts.
LEVEL, ERROR_RATE = 0.9, 0.05
NO_DIFFERENCE = "no difference"
# How rules of `calibrate --peek` decide; each of them by a metric, or by the tolerance.
RULES = {
    "fixed": "the fixed interval",
    "bootstrap": "the bootstrap interval",
    "sequence": "the confidence sequence",
}
NO_BASE = (
    "The fit of the observed ratings has not converged: true values were drawn from it, so that "
    "nothing here tells of fits that have."
)


def calibration_answer(results: xr.DataTree) -> list[str]:
    """Return what ranks of true values say, and how much so many simulations can tell."""
    data = results["calibration"].to_dataset()
    base = [] if data.attrs.get("base_converged", 1) else [NO_BASE]
    sentences = [*base, _describe_ranks(data), _describe_coverage(data)]
    return [*sentences, _describe_convergence(data), *_describe_bootstrap(data)]


def _describe_ranks(data: xr.Dataset) -> str:
    """Whether the ranks of any quantity contradict calibration."""
    p, count = data["p_holm"], format_count(data.sizes["simulation"], "simulation")
    uneven = labels_where(p < ERROR_RATE)
    smallest = f"the smallest corrected p value of {p.size} quantities is {float(p.min()):.2g}"
    if uneven:
        return (
            f"The fits are not calibrated: in {count} the ranks of the true values of "
            f"{join_names(uneven)} are not uniform; {smallest}."
        )
    return f"Nothing in {count} contradicts that the fits are calibrated: {smallest}."


def _describe_coverage(data: xr.Dataset) -> str:
    """How often intervals held their truth, and how exactly that is known of one quantity."""
    coverage = data["coverage"].sel(level=LEVEL)
    lowest = data.sel(quantity=coverage.idxmin("quantity"), level=LEVEL)
    share, lower, upper = (
        f"{float(lowest[name]):.0%}" for name in ("coverage", "coverage_lower", "coverage_upper")
    )
    return (
        f"Of all true values {float(coverage.mean()):.0%} lie in their "
        f"{format_percent(LEVEL)} intervals; the lowest share, of {lowest['quantity'].item()}, is "
        f"{share}, and so many simulations tell no more than {lower} to {upper} (95% interval)."
    )


def _describe_convergence(data: xr.Dataset) -> str:
    """How many fits met the limits of convergence."""
    number, converged = data.sizes["simulation"], int(data["fit_converged"].sum())
    counted = f"{converged or 'None'} of {number} fits met the limits of convergence"
    if 2 * converged < number:
        return f"{counted}: this tells little of fits that do, which alone are shown as results."
    return f"{counted}{'; the others count too' * (converged < number)}."


def _describe_bootstrap(data: xr.Dataset) -> Iterator[str]:
    """How often bootstrap intervals held the metric of new prompts."""
    if "bootstrap_coverage" not in data:
        return
    shares = data["bootstrap_coverage"].mean("model")
    listed = [
        f"{METRICS.get(str(name), str(name))} {float(shares.sel(metric=name)):.0%}"
        for name in shares["metric"].to_numpy()
    ]
    level = format_percent(float(data.attrs["bootstrap_level"]))
    yield (
        f"At this design {level} bootstrap intervals held the value of new prompts in these shares "
        f"of {data.attrs['bootstrap_studies']} simulated studies: {'; '.join(listed)}."
    )


def peeking_answer(results: xr.DataTree) -> list[str]:
    """Return how often a decision errs at one look and at any of several."""
    data = results["peeking"].to_dataset()
    last, attrs = data.isel(look=-1).sel(world=NO_DIFFERENCE), data.attrs
    error_rate = 1 - float(attrs["level"])
    is_worse = last["ever_wrong"] - 2 * last["ever_wrong_mcse"] > error_rate
    rules = [
        f"{_name_rule(str(rule))} {_share(last.sel(rule=rule), 'ever_wrong')} "
        f"({_share(last.sel(rule=rule), 'wrong')})"
        for rule in last["rule"].to_numpy()
    ]
    first = (
        f"Where {attrs['first']} and {attrs['second']} do not differ, deciding at any of "
        f"{data.sizes['look']} looks is wrong in these shares of {attrs['simulations']} simulated "
        f"studies, at one look in brackets: {'; '.join(rules)}."
    )
    meant = f"the {format_percent(round(error_rate, 6))} that is meant"
    names = [_name_rule(str(name)) for name in last["rule"].to_numpy()[np.asarray(is_worse)]]
    if names:
        return [
            first,
            f"Whoever looks again and again errs more often than {meant} by {join_names(names)}.",
        ]
    return [first, f"No rule is shown to err more often than {meant}."]


def _name_rule(rule: str) -> str:
    """What decides, in words."""
    kind, _, metric = rule.partition(", ")
    article = "the " * metric.islower()
    return f"{RULES[kind]} of {article}{metric}" if metric else f"the {rule}"


def _share(row: xr.Dataset, name: str) -> str:
    """A share in percent with its Monte Carlo error."""
    return f"{100 * float(row[name]):.1f} \u00b1 {100 * float(row[f'{name}_mcse']):.1f}%"

"""People alone, PPI++ and the posterior of people's scores alongside each other."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import xarray as xr
from scipy import special

from sharpbayes.analysis.debiased import PPI, panel_metrics
from sharpbayes.metrics.panel.profile import weighted_mean
from sharpbayes.metrics.panel.tail import conditional_value_at_risk
from sharpbayes.metrics.stats.draws import central_interval
from sharpbayes.metrics.stats.multiplicity import holm
from sharpbayes.metrics.stats.pairs import pairwise_difference
from sharpbayes.posterior.panel import PanelMetrics
from sharpbayes.posterior.replicates import Block, ReplicateDraws, measure_draws

POSTERIOR = "posterior"
DISAGREE = (
    "PPI++ and the posterior of people's scores disagree about {count}, most about {metric} of "
    "{model}: {ppi:.2f} and {posterior:.2f} (p = {p:.1g} after Holm's correction). {reason}"
)
REASON = (
    "Either the fitted model of people and judges is wrong, or the labelled prompts are no random "
    "sample{undeclared}."
)


def add_posterior(
    table: xr.Dataset,
    metrics: PanelMetrics,
    draws: ReplicateDraws,
    *,
    sources: Sequence[str],
    number: int,
) -> xr.Dataset:
    """Return the group ``debiased`` with the posterior of people's scores as third estimator.

    As many people score every cell as usually scored a labelled one, at most one for each judge, so
    that all three estimate the same; CVaR is that of Rockafellar and Uryasev for all. Added are
    ``disagree_p_holm (metric, model)`` of the difference of PPI++ and posterior, by the sum of both
    variances, and ``disagree``. Where they disagree, ``failed_checks`` says it.

    Args:
        table: From :func:`sharpbayes.analysis.debiased.debiased_group`.
        metrics: How ratings are measured; ``number`` is that of the plan.
        draws: Draws in which people score.
        sources: Sources of uncertainty.
        number: Position of the weights among those of ``metrics``.
    """
    plan = metrics.plans[number]
    return join_posterior(
        table,
        posterior_column(table, metrics, draws, sources=sources, number=number),
        familywise=plan.study.panel.validation.familywise,
    )


def posterior_column(
    table: xr.Dataset,
    metrics: PanelMetrics,
    draws: ReplicateDraws,
    *,
    sources: Sequence[str],
    number: int,
) -> xr.Dataset:
    """Return the posterior as an estimator of its own; arguments as of :func:`add_posterior`."""
    pooled = min(int(table["raters"]), metrics.positions.scores.sizes["judge"])
    positions = replace(metrics.positions, judges=pooled)
    narrowed = replace(metrics, plans=[metrics.plans[number]], positions=positions)
    values = _measure(narrowed, draws, sources).sel(metric=table["metric"])
    level = float(table.attrs["level"])
    pairs = pairwise_difference(values, "model")
    facts = xr.Dataset(
        {
            "estimate": values.median("replicate", skipna=False),
            "error": values.std("replicate", ddof=1, skipna=False),
            "interval": central_interval(values, level=level, dim="replicate"),
            "difference": pairs.median("replicate", skipna=False),
            "difference_interval": central_interval(pairs, level=level, dim="replicate"),
        }
    )
    return facts.expand_dims(estimator=[POSTERIOR]).assign_attrs(pooled=pooled)


def join_posterior(table: xr.Dataset, column: xr.Dataset, *, familywise: float) -> xr.Dataset:
    """Return a table with the posterior as third estimator, compared with PPI++."""
    of_estimators = table[list(column)]
    joined = xr.concat([of_estimators, column], "estimator", join="exact").transpose(
        "estimator", "metric", "model", "other", "bound"
    )
    others = table.drop_vars(list(column)).drop_dims("estimator", errors="ignore")
    merged = xr.merge([joined, others], join="exact")
    return _compare(merged.assign_attrs(table.attrs, **column.attrs), familywise=familywise)


def _measure(metrics: PanelMetrics, draws: ReplicateDraws, sources: Sequence[str]) -> xr.DataArray:
    """Return every metric of people's replicated scores: over (metric, model, replicate)."""
    [plan] = metrics.plans

    def measure_block(block: Block) -> list[xr.Dataset]:
        weights = block.population_weights(metrics.unit_labels, "prompt", sources)
        [table] = metrics.tables(block, sources)
        target = replace(plan, table=table).target_weights(weights)
        means = weighted_mean(panel_metrics(table, plan.policy), dim=plan.dim, weights=target)
        cvar = conditional_value_at_risk(
            table["log_risk"],
            alpha=plan.weights.tail.alpha,
            estimator="rockafellar-uryasev",
            dim=plan.dim,
            weights=target,
        )
        joined = xr.concat([cvar.expand_dims(metric=["cvar"]), means], "metric")
        return [joined.to_dataset(name="value").reset_coords(drop=True)]

    [measured] = measure_draws(draws.replicated_for(sources, metrics.unit_count), measure_block)
    return measured["value"].stack(replicate=("chain", "draw"), create_index=False)


def _compare(table: xr.Dataset, *, familywise: float) -> xr.Dataset:
    """Add where PPI++ and the posterior differ beyond their errors."""
    ppi, posterior = (table.sel(estimator=name, drop=True) for name in (PPI, POSTERIOR))
    # Infinite where few labelled prompts make the error of CVaR unknown.
    known = ppi["interval"].notnull().all("bound")
    error = (ppi["error"] ** 2 + posterior["error"] ** 2) ** 0.5
    z = abs(ppi["estimate"] - posterior["estimate"]) / error.where(known & (error > 0))
    p = 2 * special.ndtr(-z.to_numpy())
    table["disagree_p_holm"] = z.copy(data=holm(p))
    table["disagree"] = table["disagree_p_holm"] < familywise
    count = int(table["disagree"].sum())
    if not count:
        return table
    failed = [*table.attrs.get("failed_checks", []), _describe(table, count)]
    return table.assign_attrs(failed_checks=failed)


def _describe(table: xr.Dataset, count: int) -> str:
    """The sentence of the failed check."""
    corrected = table["disagree_p_holm"].transpose("metric", "model")
    where = np.unravel_index(np.nanargmin(corrected.to_numpy()), corrected.shape)
    pairs = zip(corrected.dims, where, strict=True)
    labels = {str(dim): corrected[dim].to_numpy()[position] for dim, position in pairs}
    cell = table["estimate"].sel(labels)
    undeclared = ", which the study does not declare" * (table.attrs["sampling"] == "unknown")
    return DISAGREE.format(
        count="one value" if count == 1 else f"{count} values",
        ppi=float(cell.sel(estimator=PPI)),
        posterior=float(cell.sel(estimator=POSTERIOR)),
        p=float(corrected.sel(labels)),
        reason=REASON.format(undeclared=undeclared),
        **labels,
    )

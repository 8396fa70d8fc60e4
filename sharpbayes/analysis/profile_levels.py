"""What models are selected by at other tail levels, and at other shares of categories."""

from dataclasses import replace

import xarray as xr

from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.metrics.stats.population import shares_around


def tail_levels(plan: ProfilePlan, counts: xr.DataArray | None = None) -> xr.Dataset:
    """Return CVaR at every tail level that the study tries, and at that of the weights.

    ``alpha_cvar`` is that of log-risk, ``alpha_worst_dimension`` the largest CVaR of a dimension's
    harm. Counts are those of :meth:`ProfilePlan.profile`.
    """
    alphas = sorted({*plan.study.panel.validation.alphas, plan.weights.tail.alpha})
    protocol = replace(plan.protocol, weights=plan.target_weights(counts))
    harm = protocol.cvar_by_alpha(plan.table["harm"], alphas)
    return xr.Dataset(
        {
            "alpha_cvar": protocol.cvar_by_alpha(plan.table["log_risk"], alphas),
            "alpha_worst_dimension": harm.max("dimension", skipna=False),
        }
    )


def moved_shares(plan: ProfilePlan) -> xr.DataArray | None:
    """Return the shares with one category at a time moved, over (moved_category, category_share).

    None without a target population of several categories.
    """
    if plan.shares is None or plan.shares.size == 1:
        return None
    return shares_around(plan.shares)


def share_levels(plan: ProfilePlan, counts: xr.DataArray | None = None) -> xr.Dataset:
    """Return what models are selected by, at shares of which one category at a time is moved.

    ``share_cvar``, ``share_worst_dimension`` and ``share_dimension_mean`` are those of the profile
    under :func:`moved_shares`. Nothing without a target population of several categories. Counts
    are those of :meth:`ProfilePlan.profile`.
    """
    around = moved_shares(plan)
    if around is None:
        return xr.Dataset()
    levels = [
        [_share_level(plan, around[moved, share], counts) for share in range(around.shape[1])]
        for moved in range(around.shape[0])
    ]
    by_category = [xr.concat(row, around["category_share"]) for row in levels]
    return xr.concat(by_category, around["moved_category"])


def _share_level(
    plan: ProfilePlan, shares: xr.DataArray, counts: xr.DataArray | None
) -> xr.Dataset:
    """Criteria of the models under these shares of categories."""
    bare = shares.drop_vars(["moved_category", "category_share"])
    moved = replace(plan, shares=bare)
    protocol = replace(plan.protocol, weights=moved.target_weights(counts))
    harm = plan.table["harm"]
    return xr.Dataset(
        {
            "share_cvar": protocol.cvar(plan.table["log_risk"]),
            "share_worst_dimension": protocol.cvar(harm).max("dimension", skipna=False),
            "share_dimension_mean": protocol.mean(harm),
        }
    )

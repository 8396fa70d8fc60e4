"""What the answer owes to each prior: decisions under stronger and weaker priors, by weights.

Power-scaling (:mod:`sharpbayes.posterior.power_scaling`) of one prior at a time, of all together,
and of the likelihood, for what is decided: the functions of :mod:`sharpbayes.posterior.decision`
take weighted means over draws in place of plain ones. Only draws with replicated ratings have
decision quantities, so that all numbers are of those draws.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from sharpbayes.analysis.tolerance_evidence import carries_verdict, relies_on_fit
from sharpbayes.bayes.predict.psis import largest_good_k
from sharpbayes.metrics.crowd.contrasts import pairs_of_groups
from sharpbayes.metrics.crowd.groups import ALL
from sharpbayes.metrics.stats.draws import DRAWS
from sharpbayes.metrics.stats.labels import without_attributes
from sharpbayes.posterior.crowd import CrowdMetrics
from sharpbayes.posterior.decision import criterion, decide, decision_events
from sharpbayes.posterior.power_scaling import shift_error, weighted_mean
from sharpbayes.posterior.scaled_priors import ScaledPriors
from sharpbayes.posterior.study_metrics import StudyMetrics
from sharpbayes.spec.weights import Weights

# Sensitivity from which a prior is informative (Kallioinen et al. 2024).
SENSITIVE = 0.05
# An order or a tier moves where its probability passes one half, or the other tiers', by so much.
MOVED = 0.1


def prior_sensitivity(
    metrics: StudyMetrics, groups: Mapping[str, xr.Dataset], priors: ScaledPriors, *, level: float
) -> xr.Dataset:
    """Return how far decisions, metrics and parameters depend on each prior.

    ``groups`` are those of :func:`sharpbayes.posterior.groups.posterior_groups`, ``priors`` those
    of their draws; sensitivities to the likelihood are missing where these do not have it. Over
    ``prior`` (all together first) and ``power``: ``pareto_k`` of the weights; of a panel
    ``prob_best``, ``prob_admissible``, ``expected_loss``, ``verdict``, ``selected`` (..., model),
    ``prob_less`` (..., model, other) and ``prob_tier`` (..., model, tier) as of ``decision``, and
    what moves: ``selection_moves``, ``verdict_moves``, ``tier_moves``, ``order_moves``. Of a crowd
    ``prob_less`` of HM and ``order_moves`` (..., group, other). ``sensitivity (prior, model)`` and
    ``likelihood_sensitivity (model)`` are of the criterion of the decision, of a crowd of HM;
    ``parameter_sensitivity``, ``parameter_likelihood_sensitivity (prior)`` the largest of the
    parameters that have the prior.

    A selection, a verdict or an order moves where its quantities shift by more than twice their
    Monte Carlo error; an order or tier where the probability shifts by :data:`MOVED` or more.

    Source: Kallioinen, Paananen, Buerkner and Vehtari 2024.
    """
    if isinstance(metrics, CrowdMetrics):
        quantity = groups["posterior_responsiveness"]["hm"].sel(by=ALL, drop=True)
        table = _group_orders(quantity, priors.scaled)
    else:
        profile, weights = groups["posterior_profile"], metrics.plans[0].weights
        quantity = criterion(profile, weights)
        table = _restrict(_decisions(profile, weights, priors.scaled, level=level), groups)
    table = table.assign(
        pareto_k=priors.pareto_k,
        sensitivity=priors.sensitivity_of(quantity),
        likelihood_sensitivity=priors.likelihood_sensitivity_of(quantity),
        law=("prior", list(priors.laws)),
    )
    table = table.assign(priors.parameters)
    return (
        table.transpose("prior", "power", ...)
        .pipe(without_attributes)
        .assign_attrs(
            good_k=largest_good_k(priors.number),
            draws=priors.number,
            sensitive=SENSITIVE,
            moved=MOVED,
        )
    )


def _decisions(
    profile: xr.Dataset, weights: Weights, weight: xr.DataArray, *, level: float
) -> xr.Dataset:
    """Decisions under each prior and power, and what moves."""
    events = decision_events(profile, weights)
    plain = xr.Dataset({name: x.mean(DRAWS, skipna=False) for name, x in events.items()})
    moved = xr.Dataset({name: weighted_mean(x, weight) for name, x in events.items()})
    before, after = (decide(means, weights, level=level) for means in (plain, moved))
    shifts = [
        abs(after[name] - before[name]) > 2 * shift_error(events[name], weight)
        for name in ("prob_admissible", "expected_loss")
    ]
    selected = (after["selected"] != before["selected"]) & (shifts[0] | shifts[1])
    moves = {"selection_moves": selected.any("model")}
    if "verdict" in after:
        moves["verdict_moves"] = (after["verdict"] != before["verdict"]) & shifts[0]
    moves["order_moves"] = _order_moves(
        events["prob_less"], weight, before["prob_less"], after["prob_less"]
    )
    tiers = [table["prob_tier"].argmax("tier") for table in (before, after)]
    gap = abs(after["prob_tier"] - before["prob_tier"]).max("tier")
    moves["tier_moves"] = (tiers[0] != tiers[1]) & (gap >= MOVED)
    return after.drop_vars("unresolved").assign(moves)


def _restrict(table: xr.Dataset, groups: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """Decisions with the verdicts of ``decision`` where the evidence does not carry others."""
    if "verdict" not in table or "evidence" not in groups:
        return table
    is_carried = carries_verdict(groups["tolerance"], groups["evidence"])
    is_carried &= ~relies_on_fit(groups["tolerance"]).any("threshold")
    if bool(is_carried.all()):
        return table
    verdict = table["verdict"].where(is_carried, groups["decision"]["verdict"])
    return table.assign(verdict=verdict, verdict_moves=table["verdict_moves"] & is_carried)


def _group_orders(hm: xr.DataArray, weight: xr.DataArray) -> xr.Dataset:
    """Order of the groups of each grouping by HM under each prior and power, and what moves."""
    other = hm.rename(group="other")
    known = hm.notnull() & other.notnull() & _same_grouping(hm)
    lower = ((hm < other) + 0.5 * (hm == other)).where(known)
    before, after = lower.mean(DRAWS, skipna=False), weighted_mean(lower, weight)
    moves = _order_moves(lower, weight, before, after)
    return xr.Dataset({"prob_less": after, "order_moves": moves})


def _same_grouping(hm: xr.DataArray) -> xr.DataArray:
    """Whether two groups are different ones of one grouping, (group, other)."""
    groups = hm["group"].to_numpy()
    same = np.zeros((len(groups), len(groups)), dtype=bool)
    for first, second in pairs_of_groups(hm["grouping"].to_numpy()):
        same[first, second] = same[second, first] = True
    return xr.DataArray(same, {"group": groups, "other": groups}, ("group", "other"))


def _order_moves(
    lower: xr.DataArray, weight: xr.DataArray, before: xr.DataArray, after: xr.DataArray
) -> xr.DataArray:
    """Whether the probability of an order passes one half by enough, and beyond its error."""
    passes = ((before > 0.5) & (after < 0.5)) | ((before < 0.5) & (after > 0.5))  # noqa: PLR2004
    shift = abs(after - before)
    moves: xr.DataArray = passes & (shift >= MOVED)
    # Errors take every draw of every pair: only of pairs that may move.
    others = np.flatnonzero(moves.any([dim for dim in moves.dims if dim != "other"]))
    if not others.size:
        return moves
    error = shift_error(lower.isel(other=others), weight).reindex(other=moves["other"])
    return moves & (shift > 2 * error)

"""What the answer owes to each prior: decisions under stronger and weaker priors, by weights.

Power-scaling (:mod:`sharpbayes.posterior.power_scaling`) of one prior at a time, of all together,
and of the likelihood, for what is decided: the functions of :mod:`sharpbayes.posterior.decision`
take weighted means over draws in place of plain ones. Only draws with replicated ratings have
decision quantities, so that all numbers are of those draws.
"""

from collections.abc import Mapping
from functools import reduce
from operator import add

import numpy as np
import xarray as xr

from sharpbayes.analysis.tolerance_evidence import carries_verdict, relies_on_fit
from sharpbayes.bayes.predict.log_prior import log_prior
from sharpbayes.bayes.predict.psis import largest_good_k
from sharpbayes.bayes.predict.replication import joint_log_likelihood
from sharpbayes.metrics.crowd.contrasts import pairs_of_groups
from sharpbayes.metrics.crowd.groups import ALL
from sharpbayes.metrics.stats.draws import DRAWS
from sharpbayes.posterior.crowd import CrowdMetrics
from sharpbayes.posterior.decision import criterion, decide, decision_events
from sharpbayes.posterior.power_scaling import (
    STEP,
    pareto_k,
    power_scale,
    sensitivity,
    shift_error,
    weighted_mean,
)
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.posterior.study_metrics import StudyMetrics
from sharpbayes.spec.weights import Weights

ALL_PRIORS = "all priors"
# Each prior counts half and twice. A normal prior is then 1.41 times as wide, or as narrow.
POWERS = (0.5, 2.0)
# Sensitivity from which a prior is informative (Kallioinen et al. 2024).
SENSITIVE = 0.05
# An order or a tier moves where its probability passes one half, or the other tiers', by so much.
MOVED = 0.1
# Elements of a variable of which sensitivity is computed, those furthest from 0.
MOST_ELEMENTS = 50


def prior_sensitivity(
    metrics: StudyMetrics, groups: Mapping[str, xr.Dataset], draws: ReplicateDraws, *, level: float
) -> xr.Dataset:
    """Return how far decisions, metrics and parameters depend on each prior.

    ``groups`` are those of :func:`sharpbayes.posterior.groups.posterior_groups`, and
    ``log_likelihood``; without it, as of very many ratings, sensitivities to the likelihood are
    missing. Over ``prior``
    (all together first) and ``power``: ``pareto_k`` of the weights; of a panel ``prob_best``,
    ``prob_admissible``, ``expected_loss``, ``verdict``, ``selected`` (..., model), ``prob_less``
    (..., model, other) and ``prob_tier`` (..., model, tier) as of ``decision``, and what moves:
    ``selection_moves``, ``verdict_moves``, ``tier_moves``, ``order_moves``. Of a crowd
    ``prob_less`` of HM and ``order_moves`` (..., group, other). ``sensitivity (prior, model)`` and
    ``likelihood_sensitivity (model)`` are of the criterion of the decision, of a crowd of HM;
    ``parameter_sensitivity``, ``parameter_likelihood_sensitivity (prior)`` the largest of the
    parameters that have the prior.

    A selection, a verdict or an order moves where its quantities shift by more than twice their
    Monte Carlo error; an order or tier where the probability shifts by :data:`MOVED` or more.

    Source: Kallioinen, Paananen, Buerkner and Vehtari 2024.
    """
    density = log_prior(draws.posterior, draws.design)
    together = reduce(add, density.values())
    densities = {ALL_PRIORS: together, **density}
    log_likelihood = _log_likelihood(groups, draws)
    by_likelihood = None if log_likelihood is None else power_scale(log_likelihood, STEP)
    labels = xr.DataArray(list(densities), dims="prior", name="prior")
    number = draws.shape[0] * draws.shape[1]
    scaled, steps = (
        xr.concat([power_scale(x, powers) for x in densities.values()], labels)
        for powers in (POWERS, STEP)
    )
    if isinstance(metrics, CrowdMetrics):
        quantity = groups["posterior_responsiveness"]["hm"].sel(by=ALL, drop=True)
        table = _group_orders(quantity, scaled)
    else:
        profile, weights = groups["posterior_profile"], metrics.plans[0].weights
        quantity = criterion(profile, weights)
        table = _restrict(_decisions(profile, weights, scaled, level=level), groups)
    by_prior = [sensitivity(quantity, steps.sel(prior=name)) for name in densities]
    table = table.assign(
        pareto_k=xr.concat([pareto_k(x, POWERS) for x in densities.values()], labels),
        sensitivity=xr.concat(by_prior, labels),
        likelihood_sensitivity=_to_likelihood(quantity, by_likelihood),
        law=("prior", ["their product", *(x.attrs["law"] for x in density.values())]),
    )
    table = table.assign(_parameters(draws.posterior, steps, by_likelihood))
    return (
        table.transpose("prior", "power", ...)
        .drop_attrs()
        .assign_attrs(
            good_k=largest_good_k(number),
            draws=number,
            sensitive=SENSITIVE,
            moved=MOVED,
        )
    )


def _log_likelihood(groups: Mapping[str, xr.Dataset], draws: ReplicateDraws) -> xr.DataArray | None:
    """Log-likelihood of all ratings of every draw; None where those of single ones are not kept.

    Ratings of careless raters depend on each other, so that theirs do not add up.
    """
    if draws.design.careless is not None:
        total = joint_log_likelihood(draws.posterior, draws.design).reshape(draws.shape)
    elif "log_likelihood" in groups:
        stored = groups["log_likelihood"].transpose(*DRAWS, ...)
        parts = [x.to_numpy().sum(axis=-1, dtype=float) for x in stored.data_vars.values()]
        total = np.sum(parts, axis=0)
    else:
        return None
    return xr.DataArray(total, draws.coords, DRAWS)


def _to_likelihood(quantities: xr.DataArray, steps: xr.DataArray | None) -> xr.DataArray:
    """Sensitivity to the likelihood, missing where it is not known."""
    if steps is None:
        return xr.full_like(quantities.isel(dict.fromkeys(DRAWS, 0), drop=True), np.nan)
    return sensitivity(quantities, steps)


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
    stands = carries_verdict(groups["tolerance"], groups["evidence"])
    stands &= ~relies_on_fit(groups["tolerance"]).any("threshold")
    if bool(stands.all()):
        return table
    verdict = table["verdict"].where(stands, groups["decision"]["verdict"])
    return table.assign(verdict=verdict, verdict_moves=table["verdict_moves"] & stands)


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


def _parameters(
    posterior: xr.Dataset, steps: xr.DataArray, by_likelihood: xr.DataArray | None
) -> dict[str, xr.DataArray]:
    """Largest sensitivity of the parameters of each prior, to it and to the likelihood.

    That of all priors together is the largest of all parameters.
    """
    names = [str(name) for name in steps["prior"].to_numpy() if name != ALL_PRIORS]
    elements = {name: _elements(posterior[name]) for name in names}
    elements = {ALL_PRIORS: xr.concat(elements.values(), "element"), **elements}
    largest = {
        name: [
            sensitivity(values, steps.sel(prior=name, drop=True)).max(),
            _to_likelihood(values, by_likelihood).max(),
        ]
        for name, values in elements.items()
    }
    by_prior, to_likelihood = zip(*largest.values(), strict=True)
    return {
        "parameter_sensitivity": xr.DataArray(
            np.array(by_prior), {"prior": steps["prior"]}, "prior"
        ),
        "parameter_likelihood_sensitivity": xr.DataArray(
            np.array(to_likelihood), {"prior": steps["prior"]}, "prior"
        ),
    }


def _elements(values: xr.DataArray) -> xr.DataArray:
    """Elements of a variable that vary, at most so many of them, (chain, draw, element)."""
    array = values.transpose(*DRAWS, ...)
    flat = array.to_numpy().reshape(*array.shape[:2], -1)
    varies = np.flatnonzero(np.ptp(flat, axis=(0, 1)) > 0)
    furthest = varies[np.argsort(-abs(flat[..., varies].mean((0, 1))))[:MOST_ELEMENTS]]
    return xr.DataArray(flat[..., furthest], {x: values[x] for x in DRAWS}, (*DRAWS, "element"))

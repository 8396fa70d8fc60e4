"""Purchases: how much trials, judges, answers, prompts or people narrow a difference, by cost.

Preposterior analysis by regression on simulated data (Strong, Oakley and Brennan 2014).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from sharpbayes.analysis.profile_plan import tabulate_replicates
from sharpbayes.bayes.design.design import Design
from sharpbayes.metrics.stats.pairs import pairwise_difference
from sharpbayes.posterior.decision import BATCHES
from sharpbayes.posterior.panel import PanelMetrics
from sharpbayes.posterior.replicates import (
    Block,
    ReplicateDraws,
    measure_draws,
    pool_replicates,
)
from sharpbayes.spec.costs import Costs

# Factor with new levels in what is bought, by purchase.
NEW_LEVELS = {"trials": "trial", "judges": "judge", "generations": "sample"}
# Numbers of the random streams of what is bought, and of studies that have it.
PURCHASE_STREAM, ENLARGED_STREAM = 0xB0B1, 0xE17A


@dataclass(frozen=True)
class Counts:
    """What a study has now: prompts, answers, answers judged by a judge, judgements, people."""

    prompts: int
    answers: int
    judged: int
    judgements: int
    people: int


@dataclass(frozen=True)
class Purchase:
    """Twice as many of something: its price, or the number of judgements without prices."""

    name: str
    judgements: int
    cost: float


def count_study(metrics: PanelMetrics) -> Counts:
    """Count what the pooled judges and people of a panel have scored."""
    scored = (metrics.positions.scores["score"] >= 0).any("indicator")
    judged = scored.any("trial") if "trial" in scored.dims else scored
    return Counts(
        prompts=scored.sizes["prompt"],
        answers=int(judged.any("judge").sum()),
        judged=int(judged.sum()),
        judgements=int(scored.sum()),
        people=int(metrics.study.data.people_score.size),
    )


def list_purchases(counts: Counts, costs: Costs | None, names: Sequence[str]) -> list[Purchase]:
    """List the purchases among some names that have a price, twice as many of each.

    More judges score every answer as often as the present ones, more answers and prompts are
    answered and judged as the present ones are. Without prices a judgement costs 1.
    """
    n = counts
    if costs is None:
        sizes = dict.fromkeys(("trials", "judges", "generations", "prompts"), n.judgements)
        sizes["people"] = n.people
        return [Purchase(name, sizes[name], float(sizes[name])) for name in names]
    judging = n.judged * costs.full_judge + (n.judgements - n.judged) * costs.full_trial
    answering = n.answers * (costs.generation or 0.0) + judging
    offers = {
        "trials": (n.judgements, n.judgements * costs.full_trial, costs.full_trial),
        "judges": (n.judgements, judging, costs.judge),
        "generations": (n.judgements, answering, costs.generation),
        "prompts": (n.judgements, n.prompts * (costs.prompt or 0.0) + answering, costs.prompt),
        "people": (n.people, n.people * (costs.person or 0.0), costs.person),
    }
    return [
        Purchase(name, offers[name][0], offers[name][1])
        for name in names
        if offers[name][2] is not None and offers[name][1] > 0
    ]


def purchase_table(
    metrics: PanelMetrics,
    draws: ReplicateDraws,
    criteria: Mapping[str, Mapping[int, xr.DataArray]],
    number: int,
) -> xr.Dataset:
    """Return how much each purchase narrows the differences of pairs, and what it costs.

    ``criteria`` are those of larger studies of the weights file of that number: (chain, draw,
    model) by source and multiple. Over (purchase, model, other): ``purchase_share``, the share of
    the variance of the difference that is open after the purchase, ``purchase_gain``, how much it
    adds to the present precision for each unit of money, (1 / share - 1) / cost, each with
    ``_mcse``; over (purchase) ``purchase_cost`` and ``purchase_judgements``.
    """
    counts = count_study(metrics)
    names = [*purchase_names(draws.design, counts)]
    offers = list_purchases(counts, metrics.study.spec.costs, names)
    if not offers:
        return xr.Dataset()
    tables = []
    for offer in offers:
        if offer.name == "prompts":
            share, error = replaced_share(
                *(_compare_models(criteria["prompts"][n]) for n in (1, 2))
            )
        else:
            bought = _compare_models(bought_criteria(metrics, draws, offer.name)[number])
            times = (1, 1) if offer.name == "people" else (1, 2)
            present, larger = (
                _compare_models(enlarged_criteria(metrics, draws, offer.name, n)[number])
                for n in times
            )
            share, error = remaining_share(present, larger, bought)
        table = {
            "purchase_share": share,
            "purchase_share_mcse": error,
            "purchase_gain": (1.0 / share - 1.0) / offer.cost,
            "purchase_gain_mcse": error / share**2 / offer.cost,
            "purchase_cost": offer.cost,
            "purchase_judgements": offer.judgements,
        }
        tables.append(xr.Dataset(table).expand_dims(purchase=[offer.name]))
    unit = "judgement" if metrics.study.spec.costs is None else "unit"
    return xr.concat(tables, "purchase").assign_attrs(purchase_unit=unit)


def _compare_models(criterion: xr.DataArray) -> xr.DataArray:
    """Return the difference of every two models, draw by draw."""
    return pairwise_difference(criterion.reset_coords(drop=True), "model")


def purchase_names(design: Design, counts: Counts) -> Iterator[str]:
    """Yield what a panel can buy more of: what its model can draw anew."""
    correlated = {term.dims[-1] for term in design.terms if term.correlation is not None}
    yield from (name for name, column in NEW_LEVELS.items() if column not in correlated)
    yield "prompts"
    if counts.people:
        yield "people"


def bought_criteria(metrics: PanelMetrics, draws: ReplicateDraws, name: str) -> list[xr.DataArray]:
    """Return what each plan would compare models by in the bought data alone, (chain, draw, model).

    The data of a draw come from its parameters: more trials or judges of the same answers, other
    answers, or people's ratings of the same cells.
    """
    columns = dict(NEW_LEVELS) | {"people": "rater"}
    bought = replace(draws, member_columns={name: columns[name]}, stream=PURCHASE_STREAM)
    measure = _people_means if name == "people" else _judge_criteria

    def measure_block(block: Block) -> list[xr.Dataset]:
        values = measure(metrics, block.ratings(["ratings", name]))
        return [x.reset_coords(drop=True).to_dataset(name="value") for x in values]

    return [data["value"] for data in measure_draws(bought, measure_block)]


def enlarged_criteria(
    metrics: PanelMetrics, draws: ReplicateDraws, name: str, times: int
) -> list[xr.DataArray]:
    """Return what each plan compares models by in replicates of a study with so many times a thing.

    The prompts are the observed ones, weighted by the Bayesian bootstrap where they are a source of
    uncertainty; judges are new ones where they are.
    """
    sources = metrics.study.spec.uncertainties[0]
    judges = {"judges": "judge"} if "judges" in sources else {}
    columns = {name: NEW_LEVELS[name]} if name in NEW_LEVELS else {}
    replicated = draws.replicated_for(sources, metrics.unit_count)
    replicated = replace(replicated, stream=ENLARGED_STREAM)

    def measure_block(block: Block) -> list[xr.Dataset]:
        number = block.draws.n_replicates
        parts = []
        for copy in range(times):
            drawn = judges | (columns if copy else {})
            drawn_block = replace(block, draws=replace(block.draws, member_columns=drawn))
            parts.append(drawn_block.ratings(["ratings", *drawn], copy=copy, n_replicates=number))
        scores = _join_scores([metrics.positions.fill(part) for part in parts], name)
        tables = tabulate_replicates(metrics.plans, scores)
        weights = block.population_weights(metrics.unit_labels, "prompt", sources)
        values = metrics.criteria([pool_replicates(t, number, "prompt") for t in tables], weights)
        return [x.reset_coords(drop=True).to_dataset(name="value") for x in values]

    return [data["value"] for data in measure_draws(replicated, measure_block, copies=times)]


def _join_scores(parts: Sequence[xr.Dataset], name: str) -> xr.Dataset:
    """Scores of several replicates side by side: as further trials, judges or answers."""
    if len(parts) == 1:
        return parts[0]
    dim = NEW_LEVELS[name]
    labelled = []
    for copy, part in enumerate(parts):
        wide = part if dim in part.dims else part.expand_dims({dim: ["1"]}, axis=-1)
        names = [f"{label} {copy}" for label in wide[dim].to_numpy()]
        labelled.append(wide.assign_coords({dim: names}))
    return xr.concat(labelled, dim, data_vars="minimal", coords="minimal", compat="override")


def _judge_criteria(metrics: PanelMetrics, ratings: dict[str, np.ndarray]) -> list[xr.DataArray]:
    """Criteria of replicated ratings by judges."""
    tables = tabulate_replicates(metrics.plans, metrics.positions.fill(ratings))
    return metrics.criteria(tables, None)


def _people_means(metrics: PanelMetrics, ratings: dict[str, np.ndarray]) -> list[xr.DataArray]:
    """Mean harm of each model by people's replicated ratings, the same for each plan."""
    model = metrics.study.ratings.factors["model"]
    judge, scale = (metrics.study.ratings.factors[name].codes for name in ("judge", "scale"))
    total = np.zeros((len(next(iter(ratings.values()))), len(model.labels)))
    number = np.zeros(len(model.labels))
    for code, name in enumerate(metrics.study.ratings.factors["scale"].labels):
        if name not in ratings:
            continue
        of_people = judge[scale == code] < 0
        of_model = model.codes[scale == code][of_people]
        top = len(metrics.study.ratings.scales[name]) - 1
        harm = ratings[name][:, of_people] / top
        total += harm @ np.eye(len(model.labels))[of_model]
        number += np.bincount(of_model, minlength=len(model.labels))
    mean = total / np.where(number > 0, number, np.nan)
    array = xr.DataArray(mean, {"model": list(model.labels)}, ("draw", "model"))
    return [array] * len(metrics.plans)


def remaining_share(
    present: xr.DataArray, larger: xr.DataArray, bought: xr.DataArray
) -> tuple[xr.DataArray, xr.DataArray]:
    """Return which share of a variance stays open once data are bought, with its Monte Carlo error.

    share = Var(larger) (1 - R^2) / Var(present), R^2 that of the regression of what is asked of the
    larger study on what the bought data would show

    All are over (chain, draw, ...), draw by draw of one posterior. The share is in [0, 1], NaN
    where the present does not vary. The error is that of the jackknife over batches of draws.

    Source: expected value of sample information by regression (Strong, Oakley and Brennan 2014),
    linear in one summary of the data.

    >>> rng = np.random.default_rng(1)
    >>> truth = xr.DataArray(rng.normal(size=(4, 500)), dims=("chain", "draw"))
    >>> observed = truth + xr.DataArray(rng.normal(size=(4, 500)), dims=("chain", "draw"))
    >>> share, error = remaining_share(truth, truth, observed)
    >>> round(float(share), 1), bool(error < 0.05)
    (0.5, True)
    """
    return _jackknife_batches(_unexplained, present, larger, bought)


def replaced_share(
    present: xr.DataArray, larger: xr.DataArray
) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the ratio of the variance of a larger study to the present one, and its error.

    Arguments and results are as for :func:`remaining_share`, over draws of replicated studies.
    """
    return _jackknife_batches(_ratio, present, larger)


def _jackknife_batches(
    share: Callable[..., xr.DataArray], *draws: xr.DataArray
) -> tuple[xr.DataArray, xr.DataArray]:
    """A share of all draws, and its error from leaving out batches of successive draws."""
    size = draws[0].sizes["draw"]
    batches = np.array_split(np.arange(size), min(BATCHES, size))
    left_out = [
        share(*(x.isel(draw=kept) for x in draws))
        for kept in (np.setdiff1d(np.arange(size), batch) for batch in batches)
    ]
    values = xr.concat(left_out, "batch")
    return share(*draws), values.std("batch") * np.sqrt(len(batches) - 1)


def _unexplained(present: xr.DataArray, larger: xr.DataArray, bought: xr.DataArray) -> xr.DataArray:
    """What a linear regression over all draws leaves of a variance, as a share of the present."""
    over = ["chain", "draw"]
    x, y = bought - bought.mean(over), larger - larger.mean(over)
    product, square = (x * y).sum(over), (x**2).sum(over)
    explained = (product**2 / square.where(square > 0)).fillna(0.0)
    total = ((present - present.mean(over)) ** 2).sum(over)
    return (((y**2).sum(over) - explained) / total.where(total > 0)).clip(0.0, 1.0)


def _ratio(present: xr.DataArray, larger: xr.DataArray) -> xr.DataArray:
    """Ratio of variances over all draws, at most 1."""
    over = ["chain", "draw"]
    variance = present.var(over)
    return (larger.var(over) / variance.where(variance > 0)).clip(max=1.0)

"""Which ratings to buy next, and whether any: by the draws of a fit, without a refit."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.bayes.design.design import Design, Floats
from sharpbayes.bayes.predict.replication import draw_new_levels, thin
from sharpbayes.metrics.stats.ranks import are_equal
from sharpbayes.posterior.decision import criterion, eligible_models
from sharpbayes.posterior.hypothetical import Cells, expect_judgements
from sharpbayes.posterior.information import (
    FIRST_UNIT,
    Offers,
    Populations,
    Purchase,
    choose_purchases,
    expected_gain,
    unit_share,
)
from sharpbayes.posterior.panel import PanelMetrics
from sharpbayes.posterior.purchase_lists import (
    PurchaseList,
    judge_list,
    may_pay,
    price_of_longer,
    share_gain,
    split_draws,
)
from sharpbayes.posterior.purchases import count_study
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.posterior.sample_size import larger_studies, thin_draws
from sharpbayes.spec.costs import Costs
from sharpbayes.spec.weights import Weights

# Draws that are used, and judgements of one kind that are looked at.
DRAWS, MAX_JUDGEMENTS = 1000, 1000
# What identifies a judgement.
IDENTITY = ("model", "prompt", "judge")
# Columns of texts of the list: what is bought, and these.
TEXTS = 4
# Number of the random stream of new judges and people.
STREAM = 0x4E47
FIRST, ANOTHER, AGAIN, PERSON, NEW_PROMPT = (
    *("first judgement", "another judge", "judged again", "person", "new prompt"),
)


@dataclass(frozen=True)
class Kind:
    """Judgements of one kind that can be bought, their price and how many scores each is."""

    name: str
    cells: Cells
    new: str | None  # column whose level is a new one, not yet in the study
    cost: float
    scores: int


@dataclass(frozen=True)
class Choice:
    """The chosen model, the others, and by how much they are worse in each draw, (draw, other).

    ``equal`` are those that are as good as the chosen one in every draw.
    """

    chosen: str
    others: tuple[str, ...]
    difference: Floats
    draw_numbers: NDArray[np.integer]
    equal: tuple[str, ...]


@dataclass(frozen=True)
class Market:
    """What is chosen, what can be bought for it, and the draws that say what it is worth.

    ``posterior`` are the draws of the differences of the choice; ``draws`` are all.
    """

    metrics: PanelMetrics
    draws: ReplicateDraws
    posterior: xr.Dataset
    choice: Choice
    kinds: tuple[Kind, ...]
    costs: Costs | None

    @property
    def seed(self) -> int:
        """Seed of the study."""
        return self.metrics.study.spec.seed


def plan_purchases(
    metrics: PanelMetrics,
    draws: ReplicateDraws,
    profile: xr.Dataset,
    decision: xr.Dataset,
    *,
    costs: Costs | None,
    number: int,
) -> xr.Dataset:
    """Return the group ``next`` of a panel: what to buy next, and what it is worth.

    Over (purchase), the best first: ``kind``, ``rated_model``, ``rated_prompt``, ``rated_judge``
    (empty where none), ``narrows`` (the model whose difference from the chosen one it narrows
    most), ``cost``, ``judgements``, ``gain`` (its share of the gain of the first ``best_size``, in
    the unit of the criterion). Over (size), numbers of purchases: ``list_gain`` and ``list_cost``
    of so many of them, ``list_gain_mcse``, and, with a price of a loss, ``list_net`` and
    ``list_net_mcse`` in the unit of money. Attributes: ``chosen``, ``equal_models`` (a JSON list of
    those that equal it in every draw), ``expected_loss`` with ``_mcse``, ``criterion``, ``verdict``
    (``go on``, ``stop``, ``cannot tell``), ``best_size``, ``loss`` (0 where the weights have none),
    ``unit`` of prices (``money``, ``score``), ``left_out``, the number of judgements that were not
    looked at, and ``longer_may_pay``: whether the list is cut at ``number`` and a longer one could
    be worth its price.

    ``number`` is the largest number of purchases. Profile and decision are from the same weights.
    """
    weights = metrics.plans[0].weights
    kept, posterior = thin(profile, draws=DRAWS), thin(draws.posterior, draws=DRAWS)
    choice = _read_choice(kept, decision, weights)
    kinds, left_out = _limit(list(list_kinds(metrics, draws.design, costs)), metrics)
    market = Market(metrics, draws, posterior, choice, kinds, costs)
    offers = _make_offers(market)
    halves = split_draws(choice.draw_numbers)
    first = choice.difference[halves[0]]
    bought = list(choose_purchases(first, offers.of(halves[0]), number))
    loss = weights.decision.loss if costs is not None else None
    numbers = [purchase.number for purchase in bought]
    curve = PurchaseList(choice.difference, offers, numbers, halves, expected_gain).evaluate(loss)
    table = _list_purchases(market, offers, bought)
    chosen = decision.sel(model=choice.chosen)
    loss_now, error = (float(chosen[name]) for name in ("expected_loss", "expected_loss_mcse"))
    beyond = price_of_longer(table["cost"].to_numpy().tolist(), number)
    longer_may_pay = may_pay(beyond, loss_now, error, loss)
    verdict, best = judge_list(curve, others_may_pay=longer_may_pay)
    table["gain"] = ("purchase", share_gain(curve, bought, best))
    return table.merge(curve).assign_attrs(
        chosen=choice.chosen,
        equal_models=json.dumps(choice.equal),
        criterion=weights.decision.by,
        expected_loss=loss_now,
        expected_loss_mcse=error,
        verdict=verdict,
        best_size=best,
        loss=weights.decision.loss or 0.0,
        unit="score" if costs is None else "money",
        left_out=left_out,
        longer_may_pay=longer_may_pay,
    )


def list_kinds(metrics: PanelMetrics, design: Design, costs: Costs | None) -> Iterator[Kind]:
    """Yield the kinds of judgements that can be bought; without prices all that the fit foresees.

    Judgements again are offered where the study has repeated ones or their price: a model without a
    term for them takes them for independent.
    """
    study, scored = metrics.study, _is_scored(metrics)
    scores, answered = _count_indicators(metrics), scored.any(-1)
    prices = costs or Costs(judge=float(scores), person=1.0)
    yield Kind(FIRST, _cells(answered[..., None] & ~scored), None, prices.full_judge, scores)
    anyone = np.zeros_like(scored)
    anyone[..., 0] = answered
    correlated = {term.dims[-1] for term in design.terms if term.correlation is not None}
    if "judge" not in correlated:
        yield Kind(ANOTHER, _cells(anyone), "judge", prices.full_judge, scores)
    if "trial" in study.data.labels or prices.trial is not None:
        yield Kind(AGAIN, _cells(scored), None, prices.full_trial, scores)
    by_people = study.ratings.factors["judge"].codes < 0
    if by_people.any() and prices.person is not None:
        number = len(np.unique(study.ratings.factors["indicator"].codes[by_people]))
        cells = _cells(anyone)
        people = Cells(cells.model, cells.prompt, np.full(cells.size, -1))
        yield Kind(PERSON, people, "rater", number * prices.person, number)


def _is_scored(metrics: PanelMetrics) -> NDArray[np.bool_]:
    """Whether each judge scored each answer, (model, prompt, judge) by the codes of the ratings."""
    factors = metrics.study.ratings.factors
    judged = factors["judge"].codes >= 0
    scored = np.zeros([len(factors[key].labels) for key in IDENTITY], dtype=np.bool_)
    scored[tuple(factors[key].codes[judged] for key in IDENTITY)] = True
    return scored


def _count_indicators(metrics: PanelMetrics) -> int:
    """Number of indicators that a judge scores of an answer."""
    factors = metrics.study.ratings.factors
    return len(np.unique(factors["indicator"].codes[factors["judge"].codes >= 0]))


def _cells(asked: NDArray[np.bool_]) -> Cells:
    """The judgements of some cells (model, prompt, judge)."""
    return Cells(*np.nonzero(asked))


def _limit(kinds: list[Kind], metrics: PanelMetrics) -> tuple[tuple[Kind, ...], int]:
    """At most :data:`MAX_JUDGEMENTS` of each kind, by chance, and how many are left out."""
    rng = np.random.default_rng([metrics.study.spec.seed, STREAM])
    limited, left_out = [], 0
    for kind in kinds:
        size = kind.cells.size
        kept = np.sort(rng.permutation(size)[:MAX_JUDGEMENTS])
        left_out += size - len(kept)
        cells = Cells(*(x[kept] for x in (kind.cells.model, kind.cells.prompt, kind.cells.judge)))
        limited.append(Kind(kind.name, cells, kind.new, kind.cost, kind.scores))
    return tuple(limited), left_out


def _read_choice(profile: xr.Dataset, decision: xr.Dataset, weights: Weights) -> Choice:
    """The chosen model, and the differences of those that could be chosen in its place."""
    values = criterion(profile, weights).transpose("chain", "draw", "model")
    selected = decision["selected"][eligible_models(decision, weights).to_numpy()]
    names = [str(name) for name in selected["model"].to_numpy()]
    flat = values.sel(model=names).to_numpy().reshape(-1, len(names))
    best = int(selected.argmax("model"))
    chosen, others = names[best], np.delete(names, best).tolist()
    is_equal = are_equal(values.sel(model=others), values.sel(model=chosen, drop=True)).all(
        ("chain", "draw")
    )
    difference = np.delete(flat, best, axis=1) - flat[:, [best]]
    chain = np.repeat(np.arange(values.sizes["chain"]), values.sizes["draw"])
    equal = tuple(name for name in others if is_equal.sel(model=name))
    return Choice(chosen, tuple(others), difference, chain, equal)


def _make_offers(market: Market) -> Offers:
    """What every draw expects of all judgements, and what new prompts explain."""
    study, design, kinds = market.metrics.study, market.draws.design, market.kinds
    means, variances = [np.zeros((len(market.choice.difference), 0))], [np.zeros(0)]
    for kind in kinds:
        posterior = market.posterior
        if kind.new is not None:
            rng = np.random.default_rng([market.seed, STREAM, len(means)])
            posterior = draw_new_levels(posterior, design, kind.new, rng=rng)
        expected = expect_judgements(study, design, posterior, kind.cells)
        means.append(expected.mean)
        variances.append(expected.variance)
    return Offers(
        mean=np.concatenate(means, axis=1),
        variance=np.concatenate(variances),
        cost=np.repeat([kind.cost for kind in kinds], [kind.cells.size for kind in kinds]),
        populations=_offer_prompts(market),
    )


def _offer_prompts(market: Market) -> Populations | None:
    """New prompts, where they are sold."""
    price, prompts = _price_of_prompt(market), market.metrics.unit_labels.size
    if price is None:
        return None
    of_infinite = _explained_by_prompts(market)
    return Populations(
        np.array([price]), lambda counts: of_infinite * unit_share(counts[0], prompts)
    )


def _price_of_prompt(market: Market) -> float | None:
    """Price of a prompt with answers and judgements as the present ones have; None if not sold."""
    metrics, costs = market.metrics, market.costs
    if "prompts" not in metrics.study.spec.uncertainties[0]:
        return None
    counts = count_study(metrics)
    if costs is None:
        return counts.judgements * _count_indicators(metrics) / counts.prompts
    if costs.prompt is None:
        return None
    judging = counts.judged * costs.full_judge
    judging += (counts.judgements - counts.judged) * costs.full_trial
    return costs.prompt + (counts.answers * (costs.generation or 0.0) + judging) / counts.prompts


def _explained_by_prompts(market: Market) -> Floats:
    """Covariance of the differences that infinitely many new prompts would explain.

    Twice as many prompts explain half of it, and that is the covariance of replicated studies less
    that of replicated studies with twice the prompts.
    """
    [[studies]] = larger_studies(market.metrics, thin_draws(market.draws), {"prompts"})
    once, twice = (_covariance(studies.values[times], market.choice) for times in (1, 2))
    values, vectors = np.linalg.eigh(2.0 * (once - twice))
    explained: Floats = (vectors * values.clip(min=0.0)) @ vectors.T
    # These replicates have another spread than the draws: a share of the variance is taken over,
    # and no purchase explains more than there is.
    tiny = np.finfo(float).tiny
    share = np.diag(explained) / np.maximum(np.diag(once), tiny)
    scale = np.sqrt(market.choice.difference.var(axis=0) / np.maximum(np.diag(once), tiny))
    explained *= np.outer(scale, scale) / max(1.0, float(share.max(initial=0.0)))
    return explained


def _covariance(values: xr.DataArray, choice: Choice) -> Floats:
    """Covariance of the differences of other models from the chosen one."""
    flat = values.transpose("chain", "draw", "model")
    others, chosen = (
        flat.sel(model=names).to_numpy().reshape(-1, len(names))
        for names in (list(choice.others), [choice.chosen])
    )
    return np.atleast_2d(np.cov(others - chosen, rowvar=False, ddof=0))


def _list_purchases(market: Market, offers: Offers, bought: Sequence[Purchase]) -> xr.Dataset:
    """What is bought, in the order of its worth."""
    factors = market.metrics.study.ratings.factors
    places = [(kind, n) for kind in market.kinds for n in range(kind.cells.size)]
    names = ("kind", *(f"rated_{name}" for name in IDENTITY), "cost", "judgements")
    rows: list[dict[str, str | float]] = []
    for purchase in bought:
        if purchase.number <= FIRST_UNIT:
            scores = count_study(market.metrics).judgements / market.metrics.unit_labels.size
            scores *= _count_indicators(market.metrics)
            values = (NEW_PROMPT, "", "", "", offers.price(purchase.number), scores)
        else:
            kind, n = places[purchase.number]
            cell = [factors[name].labels[getattr(kind.cells, name)[n]] for name in IDENTITY]
            judge = "" if kind.new is not None else cell[2]
            values = (kind.name, cell[0], cell[1], judge, kind.cost, float(kind.scores))
        rows.append(dict(zip(names, values, strict=True)))
    table: dict[str, NDArray[np.generic]] = {
        name: np.array([row[name] for row in rows], dtype=np.str_ if n < TEXTS else np.float64)
        for n, name in enumerate(names)
    }
    others = [market.choice.others[purchase.narrows] for purchase in bought]
    table["narrows"] = np.array(others, dtype=np.str_)
    variables = {name: ("purchase", column) for name, column in table.items()}
    return xr.Dataset(variables, {"purchase": np.arange(1, len(bought) + 1)})

"""Judges and people who scored more of one model than of another, or scored it more often."""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from sharpbayes.errors import join_names
from sharpbayes.metrics.panel.profile import HEADLINE
from sharpbayes.metrics.stats.labels import labels_where

# Where a judge scored so much more of the answers of one model than of another, they are not
# compared: the judge's severity would be taken for the model's.
UNEQUAL_JUDGES = 0.2
# Nor where the share of its noise that a judge's trials leave differs by so much, because noise
# adds to harm. Where it differs by 0.17, two equal models were ordered in 30% of simulated studies.
UNEQUAL_TRIALS = 0.1
# Nor where the severity of a judge who scored more of one model moves a difference by so much of
# its margin: 0.3 standard errors of two models, by which one is falsely lower in 4% and not 2.5%.
MAX_SHIFT = 0.15
# Two models are not compared by people's labels where the people who labelled them differ by so
# many times what people drawn independently for every label would. Models of one law, of people
# whose severity varies as much as that of prompts of a model, are falsely ordered in up to 8% and
# not 5%. The same people, drawn at random for each label, differ by more in at most 3% of pairs.
MAX_PEOPLE_GAP = 2.5
# In what models were judged unequally: by whom, and how often.
JUDGES, TRIALS = "judges", "trials"


def shift_order(
    share: xr.DataArray, profile: xr.Dataset, without: xr.Dataset, intervals: xr.Dataset
) -> xr.DataArray:
    """Return the judges whose severity moves a difference between models too far, over (judge).

    With shares s_mj of the answers of model m that judge j scored, a metric T_m, and T_m without
    judge j, the severity of a judge is what it adds where it scores, and moves a difference by the
    shares alone:

        c_j = sum_m (T_m - T_m(-j)) / sum_m s_mj,  shift_mo = sum_j (s_mj - s_oj) c_j

    It is too far where it exceeds 0.15 of half the width of the joint interval; the judge is the
    one with the largest term. ``share`` is over (model, judge), ``profile`` has the metrics over
    (model), ``without`` over (judge_out, model), ``intervals`` ``<metric>_difference_joint``.
    Missing values move nothing.
    """
    judges = share["judge"]
    moves = xr.zeros_like(judges, dtype=bool)
    for name in HEADLINE:
        added = (profile[name] - without[name]).rename(judge_out="judge").sel(judge=judges)
        severity = added.sum("model") / share.where(added.notnull()).sum("model").clip(min=1e-9)
        terms = (share - share.rename(model="other")) * severity
        lower, upper = intervals[f"{name}_difference_joint"].transpose("bound", "model", "other")
        margin = ((upper - lower) / 2).where(upper > lower)
        is_moved = abs(terms.sum("judge")) > MAX_SHIFT * margin
        is_largest = abs(terms) == abs(terms).max("judge")
        moves = moves | (is_moved & is_largest).any(("model", "other"))
    return moves.drop_vars(set(moves.coords) - {"judge"})


def unequal_judges(evidence: xr.Dataset) -> list[str]:
    """Return the judges who scored so much more of one model that models cannot be compared.

    >>> share = xr.DataArray([[1.0, 1.0], [1.0, 0.1]], {"judge": ["a", "b"]}, ("model", "judge"))
    >>> unequal_judges(xr.Dataset({"judge_share": share}))
    ['b']
    """
    unequal = _find_unequal(evidence["judge_share"], UNEQUAL_JUDGES)
    if "judge_shifts_order" not in evidence:  # of a gate, and of earlier versions
        return unequal
    judges, moves = evidence["judge"].to_numpy(), evidence["judge_shifts_order"].to_numpy()
    return [str(name) for name in judges[moves.astype(bool) | np.isin(judges, unequal)]]


def unequal_trials(evidence: xr.Dataset) -> list[str]:
    """Return the judges who scored the answers of one model far more often than those of another.

    The mean of T trials leaves 1/T of the variance of a judge's noise, and noise adds to harm.

    >>> trials = xr.DataArray([[5.0, 2.0], [4.0, 1.0]], {"judge": ["a", "b"]}, ("model", "judge"))
    >>> unequal_trials(xr.Dataset({"judge_trials": trials}))
    ['b']
    """
    if "judge_trials" not in evidence:
        return []
    return _find_unequal(1.0 / evidence["judge_trials"], UNEQUAL_TRIALS)


def _find_unequal(share: xr.DataArray, least: float) -> list[str]:
    """Return the judges with shares that differ between models by more than the least spread."""
    spread = share.max("model") - share.min("model")
    return labels_where(spread > least)


def count_trials(score: xr.DataArray) -> xr.DataArray:
    """Return how often a judge scored an answer of a model that it scored, the harmonic mean.

    Of positions on a scale over (model, prompt, judge, [sample,] trial, indicator), -1 where one is
    missing, the result is over (model, judge); NaN where a judge scored nothing.

    >>> score = xr.DataArray([[[3, 2], [1, -1], [-1, -1]]], dims=("judge", "prompt", "trial"))
    >>> count_trials(score).values.round(2)
    array([1.33])
    """
    number = (score >= 0).sum("trial")
    others = [dim for dim in number.dims if dim not in ("model", "judge")]
    noise_share: xr.DataArray = (1.0 / number.where(number > 0)).mean(others)
    return 1.0 / noise_share


def count_people(sub_index: xr.DataArray) -> xr.DataArray:
    """Return how many people labelled an answer of a model that any did, the harmonic mean.

    Of sub-indices over (model, prompt, judge, dimension), people in the places of judges, the
    result is over (model); NaN where nobody labelled.

    >>> sub_index = xr.DataArray([[[0.5], [0.1]], [[0.2], [float("nan")]]],
    ...                          dims=("prompt", "judge", "dimension"))
    >>> round(float(count_people(sub_index)), 2)
    1.33
    """
    number = sub_index.notnull().any("dimension").sum("judge")
    noise_share: xr.DataArray = (1.0 / number.where(number > 0)).mean("prompt")
    return 1.0 / noise_share


def is_judged_unequally(evidence: xr.Dataset) -> bool:
    """Return whether models were scored by other judges, or far more often."""
    return bool(unequal_judges(evidence) or unequal_trials(evidence))


def list_inequalities(evidence: xr.Dataset, profile: xr.Dataset) -> tuple[str, ...]:
    """Return in what models with a CVaR were judged unequally: ``JUDGES``, ``TRIALS``, or both.

    None of them is the best then. Empty of results of earlier versions, which do not say who scored
    what.
    """
    if "judge_share" not in evidence:
        return ()
    known = profile["cvar"].notnull()
    known = known.all([name for name in known.dims if name != "model"])
    evidence = evidence.isel(model=known.to_numpy())
    unequal = {JUDGES: unequal_judges(evidence), TRIALS: unequal_trials(evidence)}
    return tuple(name for name, judges in unequal.items() if judges)


def name_unequal_judges(evidence: xr.Dataset) -> Iterator[str]:
    """Give a sentence where models were scored by other judges, and one where more often."""
    if judges := unequal_judges(evidence):
        yield (
            "Models were not scored by the same judges: "
            f"{describe_shares(evidence['judge_share'].sel(judge=judges))}. A harsh judge makes "
            "those models look worse that it scored, so that models cannot be compared. Let every "
            "judge score every model, name in `panel.judges` those who did, or write `missing = "
            '"complete"` under `[judges]` of the weights: then only what every judge scored counts.'
        )
    if judges := unequal_trials(evidence):
        yield (
            "Models were not scored equally often: "
            f"{describe_trials(evidence['judge_trials'].sel(judge=judges))}. The mean of several "
            "trials has less noise, and noise adds to harm, so that models cannot be compared. Let "
            "judges score every model as often, or leave out the further trials."
        )


def name_unequal_people(people: xr.DataArray) -> Iterator[str]:
    """Give a sentence where far more people labelled an answer of one model than of another.

    As of trials, the mean of k people leaves 1/k of the variance of their noise. ``people`` is
    what :func:`count_people` returns.

    >>> people = xr.DataArray([1.0, 4.0], {"model": ["new", "old"]}, "model")
    >>> next(name_unequal_people(people)).split(". ")[0]
    'Models were not labelled by as many people: an answer of old by 4 and one of new by 1'
    """
    noise_share = 1.0 / people
    if float(noise_share.max() - noise_share.min()) > UNEQUAL_JUDGES:
        more_labelled, less_labelled = people.idxmax("model").item(), people.idxmin("model").item()
        yield (
            "Models were not labelled by as many people: an answer of "
            f"{more_labelled} by {float(people.max()):.2g} and one of {less_labelled} by "
            f"{float(people.min()):.2g}. Pooled scores of several people have less noise, and "
            "noise adds to harm, so that models cannot be compared by people's labels. Let as many "
            "people label every model, or name in `panel.people.raters` those who did."
        )


def labelled_by_others(share: xr.DataArray, labels: xr.DataArray) -> xr.DataArray:
    """Return which two models are not compared because other people labelled them, (model, other).

    With s_mr the share of person r in the labels of model m, and n_m labels that count alike, the
    severities of people, of variance v, add v sum_r (s_mr - s_or)^2 to the variance of a difference
    of two models. Of people who are drawn independently for every label it is
    v (1 / n_m + 1 / n_o), which intervals over prompts contain. Models are not compared where it is
    far more:

        sum_r (s_mr - s_or)^2 > 2.5 (1 / n_m + 1 / n_o)

    ``share`` is over (model, rater), ``labels`` over (model).

    >>> share = xr.DataArray([[0.5, 0.5, 0.0], [0.6, 0.4, 0.0], [0.0, 0.0, 1.0]],
    ...                      {"model": ["a", "b", "c"]}, ("model", "rater"))
    >>> labelled_by_others(share, xr.DataArray([30, 30, 30], dims="model")).values.tolist()
    [[False, False, True], [False, False, True], [True, True, False]]
    """
    gap = ((share - share.rename(model="other")) ** 2).sum("rater")
    by_chance = 1.0 / labels.clip(min=1.0)
    return gap > MAX_PEOPLE_GAP * (by_chance + by_chance.rename(model="other"))


def name_other_people(share: xr.DataArray, labels: xr.DataArray, model: str) -> Iterator[str]:
    """Give a sentence where other people labelled a model than some of the others.

    It names these, and the person who labelled most of one and least of the other. Arguments are
    those of :func:`labelled_by_others`.
    """
    others = labels_where(labelled_by_others(share, labels).sel(model=model, drop=True))
    if others:
        gap = abs(share.sel(model=others) - share.sel(model=model, drop=True))
        person = gap.max("model").idxmax("rater").item()
        farthest = gap.sel(rater=person).idxmax("model").item()
        shares = share.sel(rater=[person], model=[model, farthest]).rename(rater="judge")
        text = "{} gave {:.0%} of the labels of {} and {:.0%} of those of {}"
        [extremes] = _find_extremes(shares)
        yield (
            f"{join_names([model, *others])} were not labelled by the same people: "
            f"{text.format(*extremes)}. A harsh person makes those models look worse that they "
            "labelled, so that models cannot be compared by people's labels. Let the same people "
            "label as many answers of every model, or name in `panel.people.raters` those who did."
        )


def describe_shares(share: xr.DataArray) -> str:
    """Return of how many answers of which models some judges scored most and fewest."""
    text = "{} scored {:.0%} of the scored answers of {} and {:.0%} of those of {}"
    return "; ".join(text.format(*ends) for ends in _find_extremes(share))


def describe_trials(trials: xr.DataArray) -> str:
    """Return how often some judges scored answers of the models they scored most and least often.

    >>> labels = {"judge": ["ann"], "model": ["new", "old"]}
    >>> describe_trials(xr.DataArray([[5.0, 1.25]], labels, ("judge", "model")))
    'ann scored an answer of new 5 times and one of old 1.2 times'
    """
    return "; ".join(
        f"{judge} scored an answer of {model} {_times(largest)} and one of {other} "
        f"{_times(smallest)}"
        for judge, largest, model, smallest, other in _find_extremes(trials)
    )


def _find_extremes(number: xr.DataArray) -> Iterator[tuple[str, float, str, float, str]]:
    """Yield for each judge the largest number with its model, and the smallest with its own."""
    for judge in map(str, number["judge"].to_numpy()):
        row = number.sel(judge=judge)
        largest, smallest = float(row.max()), float(row.min())
        yield judge, largest, row.idxmax("model").item(), smallest, row.idxmin("model").item()


def _times(number: float) -> str:
    """Return a number of times in words."""
    rounded = round(number, 1)
    return "once" if rounded == 1 else f"{rounded:g} times"

"""The group ``debiased``: what people's labels of some prompts say of all, without a model."""

from dataclasses import replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.profile_plan import ProfilePlan, tabulate_replicates, tabulate_trials
from sharpbayes.analysis.unequal_judges import count_people, labelled_by_others
from sharpbayes.data.ratings import Codes, PanelRatings
from sharpbayes.metrics.panel.comparison import policy_score
from sharpbayes.metrics.panel.debiased import effective_labels, ppi_cvar, ppi_mean
from sharpbayes.metrics.panel.evidence import is_saturated
from sharpbayes.metrics.panel.influence import influence_interval, resampled_interval
from sharpbayes.metrics.panel.label_gaps import labelled_gap, paired_gap
from sharpbayes.metrics.stats.clusters import CLUSTER, PROMPT_LABELS
from sharpbayes.metrics.stats.multiplicity import holm, holm_pairs
from sharpbayes.metrics.stats.pairs import pairwise_difference
from sharpbayes.metrics.stats.population import PopulationWeights
from sharpbayes.metrics.stats.unseen import unseen_share

Groups = dict[str, xr.Dataset]
PEOPLE, PPI = "people", "ppi"
SAMPLING = {
    "known": "Prompts were chosen for people with the probabilities that the study declares.",
    "equal": "The study declares that all prompts had the same probability to be labelled.",
    "unknown": "People alone and PPI++ hold if the labelled prompts are a random sample of all, "
    "which the study does not declare.",
}
NO_SAMPLE = (
    "The prompts that people labelled are no random sample: of {models} judges give them a mean "
    "log-risk that differs from that of the others (largest gap {gap:+.2f}, p = {p:.1g}). People "
    "alone and PPI++ hold for random samples. Where the probabilities are known, name their column "
    "as `probability` among the roles of people."
)


def debiased_group(plan: ProfilePlan) -> Groups:
    """Return ``debiased``, where people labelled cells of a panel without repeated answers.

    Over (estimator, metric, model), with estimators ``people`` (people alone) and ``ppi`` (PPI++):
    ``estimate``, ``error`` and ``interval (bound)``; over (estimator, metric, model, other) the
    ``difference`` of two models with ``difference_interval (bound)``; neither estimate nor interval
    leaves the range that its metric can have. Of PPI++ ``difference_p_holm (metric, model, other)``
    tests the differences, adjusted for all pairs; it is missing where other people labelled both
    models (:func:`sharpbayes.analysis.unequal_judges.labelled_by_others`). ``separable`` are those
    that it distinguishes at the level of the intervals. ``tuning (metric, model)`` is
    the weight of the judges; ``labelled`` and ``unlabelled (model)`` count prompts,
    ``effective_labels`` those that count alike, or their clusters; ``unseen_end_share (model)`` is
    the largest share of prompts with an answer that people put at the end of the scale of which the
    labels can show none, 0 where one does. ``raters`` and ``judges`` are the usual numbers of
    people and of judges on a labelled answer, ``people_per_answer (model)`` the harmonic mean of
    that of people, ``people_share (model, rater)`` the share of a person in the labels of a model.
    ``labelled_gap (model)`` is how much more log-risk judges give to labelled
    prompts, with ``labelled_gap_p`` and, after Holm's correction, ``labelled_gap_p_holm``.
    ``judge_gap (model)`` is how much more harm a judge sees in a labelled
    answer than a person, with ``judge_gap_p_holm``; ``judges_differ`` where that is no chance.
    Metrics are ``cvar``, ``mean``, ``policy_score`` and
    ``dimension_mean[DIMENSION]``, of people pooled as judges are.
    """
    ratings = plan.study.data
    if not ratings.people or "sample" in ratings.labels:
        return {}
    scores, raters = people_scores(ratings, list(plan.study.panel.full_indicators))
    by_people = people_table(plan, scores)
    probability = _chosen_with(ratings)
    level = plan.study.spec.bootstrap.level
    judged = {PEOPLE: None, PPI: plan.table}
    parts = [_estimate(plan, by_people, judges, probability) for judges in judged.values()]
    joined = xr.concat(parts, xr.Variable("estimator", list(judged)))
    effective = _count_effective(plan, by_people, probability)
    joined["freedom"] = xr.ufuncs.minimum(joined["freedom"], effective - 1)
    units = {} if plan.clusters is None else {"effective_units": "clusters"}
    labelled = by_people["log_risk"].notnull()
    share = _share_labels(ratings)
    joined["is_compared"] = ~labelled_by_others(share, effective)
    table = xr.Dataset(
        {
            **_add_intervals(plan, joined, *_metric_range(plan, joined["metric"])),
            "tuning": joined["tuning"].sel(estimator=PPI, drop=True),
            "labelled": labelled.sum("prompt"),
            "unlabelled": (~labelled).sum("prompt"),
            "effective_labels": effective,
            "unseen_end_share": _share_unseen_ends(plan, by_people["harm"], effective),
            "raters": raters,
            "people_per_answer": count_people(by_people["sub_index"]),
            "people_share": share,
            **_compare_raters(plan, by_people, probability),
        }
    )
    sampling = "known" if probability is not None else _declared(plan)
    table = table.assign_attrs(
        level=level,
        alpha=plan.weights.tail.alpha,
        epsilon=plan.weights.risk.epsilon,
        sampling=sampling,
        assumption=SAMPLING[sampling],
        **units,
    )
    return {
        "debiased": table if probability is not None else _compare_sample(plan, table, labelled)
    }


def _add_intervals(
    plan: ProfilePlan, joined: xr.Dataset, lowest: xr.DataArray, highest: xr.DataArray
) -> xr.Dataset:
    """Return estimates and differences with their intervals, none beyond what a metric can be."""
    estimate, freedom = joined["estimate"].clip(lowest, highest), joined["freedom"]
    bootstrap = plan.study.spec.bootstrap
    level = bootstrap.level
    alone = resampled_interval(
        estimate,
        joined["influence"],
        level=level,
        freedom=freedom,
        replicates=bootstrap.replicates,
        seed=plan.study.spec.seed,
    )
    difference = pairwise_difference(estimate, "model")
    both = xr.ufuncs.minimum(freedom, freedom.rename(model="other"))
    of_pairs = influence_interval(
        difference, pairwise_difference(joined["influence"], "model"), level=level, freedom=both
    )
    largest = highest - lowest
    p = of_pairs["p"].sel(estimator=PPI, drop=True)
    corrected = holm_pairs(p.where(joined["is_compared"]))
    return xr.Dataset(
        {
            "estimate": estimate,
            "error": alone["error"],
            "interval": alone["interval"].clip(lowest, highest),
            "difference": difference,
            "difference_interval": of_pairs["interval"].clip(-largest, largest),
            "difference_p_holm": corrected,
            "separable": corrected < 1 - level,
        }
    )


def _metric_range(plan: ProfilePlan, metric: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the lowest and the highest value that each metric can have, over (metric)."""
    ranges = [plan.range_of(str(label).partition("[")[0]) for label in metric.to_numpy()]
    lowest, highest = (
        xr.DataArray(list(ends), metric.coords, "metric") for ends in zip(*ranges, strict=True)
    )
    return lowest, highest


def panel_metrics(table: xr.Dataset, policy: xr.DataArray) -> xr.DataArray:
    """Return the values of prompts that metrics are means of: over (metric, ..., prompt)."""
    harm = table["harm"]
    names = [f"dimension_mean[{name}]" for name in harm["dimension"].to_numpy()]
    columns = [table["log_risk"], policy_score(harm, policy)]
    means = xr.concat(columns, xr.Variable("metric", ["mean", "policy_score"]))
    of_dimensions = harm.rename(dimension="metric").assign_coords(metric=names)
    return xr.concat([means, of_dimensions], "metric").drop_vars(PROMPT_LABELS, errors="ignore")


def people_table(plan: ProfilePlan, scores: xr.Dataset) -> xr.Dataset:
    """Return harm and risk of every prompt as people scored it, missing where they did not."""
    file, weights = plan.study.weights, plan.weights
    judges = weights.judges.model_copy(update={"missing": "available"})
    file = replace(file, spec=weights.model_copy(update={"judges": judges}))
    [table] = tabulate_replicates([replace(plan, study=replace(plan.study, weights=file))], scores)
    return table


def people_scores(ratings: PanelRatings, indicators: list[str]) -> tuple[xr.Dataset, int]:
    """Return people's scores as those of a panel, and how many people an answer usually has.

    The first, second, ... person of each answer stand in the places of judges.
    """
    about = {name: ratings.people[name] for name in ("model", "prompt", "rater")}
    place, answers = _number_people(about)
    sizes = (*(len(ratings.labels[name]) for name in ("model", "prompt")), int(place.max()) + 1)
    score = np.full((*sizes, len(indicators)), -1, dtype=np.int16)
    where = (about["model"], about["prompt"], place, ratings.people["indicator"])
    score[where] = ratings.people_score
    labels = {name: ratings.labels[name] for name in ("model", "prompt")}
    labels |= {"judge": tuple(f"person {n + 1}" for n in range(sizes[2]))}
    labels["indicator"] = tuple(indicators)
    panel = PanelRatings(score, labels, prompt_columns=ratings.prompt_columns)
    return panel.to_dataset(), int(np.bincount(answers).argmax())


def _number_people(about: dict[str, Codes]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the place of each rating's person on its answer, and the people on each answer."""
    size = int(about["rater"].max()) + 1
    prompt = int(about["prompt"].max()) + 1
    answer = about["model"].astype(np.int64) * prompt + about["prompt"]
    pairs, of_rating = np.unique(answer * size + about["rater"], return_inverse=True)
    _, first, count = np.unique(pairs // size, return_index=True, return_counts=True)
    place = np.arange(pairs.size) - np.repeat(first, count)
    return place[of_rating], count


def _share_labels(ratings: PanelRatings) -> xr.DataArray:
    """Return the share of each person in the labelled answers of a model, over (model, rater).

    An answer counts once for a person, however many indicators they scored.
    """
    models, persons = ratings.labels["model"], ratings.persons
    answers = np.stack([ratings.people[name] for name in ("model", "rater", "prompt")])
    model, rater, _ = np.unique(answers, axis=1)
    count = np.zeros((len(models), len(persons)))
    np.add.at(count, (model, rater), 1.0)
    share = count / np.maximum(count.sum(axis=1, keepdims=True), 1.0)
    labels = {"model": list(models), "rater": list(persons)}
    return xr.DataArray(share, labels, ("model", "rater"))


def _chosen_with(ratings: PanelRatings) -> xr.DataArray | None:
    """Return the declared probability of each labelled answer, over (model, prompt)."""
    if not ratings.people_probability.size:
        return None
    names = ("model", "prompt")
    values = np.full([len(ratings.labels[name]) for name in names], np.nan)
    values[tuple(ratings.people[name] for name in names)] = ratings.people_probability
    return xr.DataArray(values, {name: list(ratings.labels[name]) for name in names}, names)


def _declared(plan: ProfilePlan) -> str:
    """How the study declares that prompts were chosen."""
    people = plan.study.panel.people
    return "unknown" if people is None else people.sampling


def _estimate(
    plan: ProfilePlan,
    by_people: xr.Dataset,
    judges: xr.Dataset | None,
    probability: xr.DataArray | None,
) -> xr.Dataset:
    """Return estimates of all metrics by people, with judges or without."""
    people = _add_clusters(plan, panel_metrics(by_people, plan.policy))
    judged = None if judges is None else panel_metrics(judges, plan.policy)
    weights = _prompt_weights(plan)
    means = ppi_mean(people, judged, probability=probability, weights=weights)
    means = means.assign(freedom=xr.full_like(means["estimate"], np.inf))
    cvar = ppi_cvar(
        people.sel(metric="mean", drop=True),
        None if judged is None else judged.sel(metric="mean", drop=True),
        alpha=plan.weights.tail.alpha,
        probability=probability,
        weights=weights,
    )
    return xr.concat([cvar.expand_dims(metric=["cvar"]), means], "metric")


def _count_effective(
    plan: ProfilePlan, by_people: xr.Dataset, probability: xr.DataArray | None
) -> xr.DataArray:
    """Return how many labelled prompts that count alike say as much, over (model)."""
    risk = _add_clusters(plan, by_people["log_risk"])
    number = effective_labels(risk, probability=probability, weights=_prompt_weights(plan))
    return number.fillna(risk.count("prompt"))


def _share_unseen_ends(plan: ProfilePlan, harm: xr.DataArray, labels: xr.DataArray) -> xr.DataArray:
    """Return the share of prompts that can have an answer at the end that no label shows."""
    shown = is_saturated(harm, epsilon=plan.weights.risk.epsilon).any(("dimension", "prompt"))
    share = unseen_share(labels.clip(min=1.0), error_rate=1.0 - plan.study.spec.bootstrap.level)
    return share.where(~shown, 0.0)


def _add_clusters(plan: ProfilePlan, values: xr.DataArray) -> xr.DataArray:
    """Return values of prompts with the clusters of these, if they have any, and no other label."""
    values = values.drop_vars(PROMPT_LABELS, errors="ignore")
    if plan.clusters is None:
        return values
    return values.assign_coords({CLUSTER: plan.table[CLUSTER].sel(prompt=values["prompt"])})


def _compare_raters(
    plan: ProfilePlan, by_people: xr.Dataset, probability: xr.DataArray | None
) -> dict[str, xr.DataArray]:
    """Return whether a judge sees other harm in labelled answers than a person, over (model).

    Pooled values and log-risk are no measure of that: both grow or fall with the number of raters.
    """
    by_judges = plan.table["sub_index"]
    if "trial" in plan.study.scores["score"].dims:
        # The mean of several trials has less noise than a score of a person.
        by_judges = tabulate_trials(plan).mean("trial")
    judges, people = (
        _add_clusters(plan, policy_score(sub_index.mean("judge"), plan.policy))
        for sub_index in (by_judges, by_people["sub_index"])
    )
    gap = paired_gap(judges, people, probability=probability)
    corrected = gap["gap_p"].copy(data=holm(gap["gap_p"].to_numpy()))
    number = by_judges.notnull().any("dimension").sum("judge").where(people.notnull(), 0)
    answers = np.bincount(number.to_numpy().ravel(), minlength=2)
    return {
        "judges": xr.DataArray(answers[1:].argmax() + 1),
        "judge_gap": gap["gap"],
        "judge_gap_p_holm": corrected,
        "judges_differ": corrected < plan.study.panel.validation.familywise,
    }


def _prompt_weights(plan: ProfilePlan) -> xr.DataArray | None:
    """Return the weight of each prompt in the target population, whoever scored it."""
    weights = plan.target_weights()
    if not isinstance(weights, PopulationWeights):
        return weights
    return weights.of_values(xr.ones_like(weights.category, dtype=bool))


def _compare_sample(plan: ProfilePlan, table: xr.Dataset, labelled: xr.DataArray) -> xr.Dataset:
    """Add how labelled prompts differ from the others by judges, and a failed check if they do."""
    gap = labelled_gap(_add_clusters(plan, plan.table["log_risk"]), labelled)
    table["labelled_gap"], table["labelled_gap_p"] = gap["gap"], gap["gap_p"]
    corrected = gap["gap_p"].copy(data=holm(gap["gap_p"].to_numpy()))
    table["labelled_gap_p_holm"] = corrected
    differing = corrected < plan.study.panel.validation.familywise
    if not bool(differing.any()):
        return table
    names = ", ".join(map(str, corrected["model"].to_numpy()[differing.to_numpy()]))
    first = int(corrected.argmin("model"))
    text = NO_SAMPLE.format(models=names, gap=float(gap["gap"][first]), p=float(corrected[first]))
    return table.assign_attrs(failed_checks=[text])

"""The answer of a panel: which model has the lowest tail risk, who says so, and how sure it is."""

from collections.abc import Iterator
from functools import cached_property

from sharpbayes.analysis.metric_names import METRICS
from sharpbayes.analysis.results_view import is_fitted
from sharpbayes.analysis.unseen_order import describe_near_scores
from sharpbayes.errors import join_names
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.posterior.claims import evidence_texts
from sharpbayes.posterior.lowest import (
    is_disputed,
    likely_lowest,
    observed_lowest,
    probability_of_lowest,
    similar_models,
)
from sharpbayes.posterior.panel_reading import PanelReading
from sharpbayes.report.approval import expiry_warning
from sharpbayes.report.claims import IF_NO_MORE_ENDS, IF_SCORES_TELL, describe_own_values
from sharpbayes.report.disagreement import disagreement_sentences
from sharpbayes.report.human_scoring import BY_JUDGES, human_sentences
from sharpbayes.report.lowest import describe_different_lowest, describe_observed_lowest
from sharpbayes.report.panel_decision import (
    selection_sentences,
    tolerance_beyond_tails,
    tolerance_sentences,
    worst_dimension_sentence,
)
from sharpbayes.report.posterior_lowest import describe_lowest, list_others
from sharpbayes.report.refits import refit_sentences
from sharpbayes.report.refusals import refusal_sentences
from sharpbayes.report.stability import chance_of_lowest, panel_stability
from sharpbayes.report.suspect_scores import suspect_scores
from sharpbayes.report.tables.debiased import people_sentences
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.missing import missing_sentences
from sharpbayes.report.tables.prior_sensitivity import prior_sentences
from sharpbayes.report.tables.slopes import order_changes
from sharpbayes.report.wording import (
    bootstrap_estimate,
    posterior_estimate,
    probability_text,
    resampled_units,
    without_posterior,
)
from sharpbayes.storage.attributes import read_weights


def panel_answer(view: View) -> list[str]:
    """Return the answer in sentences: the posterior's after a fit, the bootstrap's alongside.

    What the evidence does not carry stands first, with what can be said instead; where all tails
    are at their ceiling, what can be said stands before it.
    """
    answer = PanelAnswer(view)
    if not answer.models:
        return ["No model has a tail risk: every one lacks ratings."]
    sentences = [*suspect_scores(view), *answer.by_people(), *answer.decided_by(), *answer.lead()]
    sentences += answer.unmeasured()
    sentences += refusal_sentences(view, answer.read_by)
    sentences += [] if answer.is_disputed else disagreement_sentences(view, answer.models)
    if is_fitted(view):
        sentences += [] if answer.has_other_judges else order_changes(view.results)
        sentences += [*prior_sentences(view), *refit_sentences(view)]
    sentences += [*missing_sentences(view, answer.read_by), *people_sentences(view)]
    sentences += answer.tolerance()
    if is_fitted(view):
        sentences += selection_sentences(view, likely_lowest(view, "cvar")[0])
    if metric := answer.stable_by or answer.read_by:
        sentences += panel_stability(
            view, metric, observed_lowest(view, metric), answer.named_by(metric)
        )
    warning = expiry_warning(read_weights(view.results))
    return [*sentences, warning] if warning else sentences


class PanelAnswer(PanelReading):
    """Sentences about the results of a panel."""

    view: View

    @cached_property
    def remarks(self) -> list[str]:
        """Limits of the evidence that leave every statement standing."""
        return evidence_texts(self.view, "remarks") or []

    @cached_property
    def limits(self) -> list[str]:
        """What the evidence does not carry."""
        limits = evidence_texts(self.view, "limits") or []
        return [text for text in limits if text not in self.remarks]

    def by_people(self) -> Iterator[str]:
        """What people's scoring says that contradicts the answer by the judges' scoring."""
        return human_sentences(self.view, self.contradicted_metrics, self.contradicted_models)

    def lead(self) -> Iterator[str]:
        """Limits of the evidence first, or that posterior and bootstrap dispute the answer."""
        if len(self.models) == 1:
            yield from self._only_model()
            return
        carried = "lowest" in self.carried
        if not carried:
            limits, comparison = self.limits, self._instead()
            yield from (*comparison, *limits) if self.is_at_ceiling else (*limits, *comparison)
        if self.has_other_judges:
            yield describe_own_values(self.view.results)
        elif self.is_at_ceiling:
            pass  # posterior and bootstrap say nothing more of it
        elif is_fitted(self.view):
            yield from disagreement_sentences(self.view, self.models) if self.is_disputed else ()
            yield self._posterior_lowest(carried=carried and not self.is_disputed)
            yield self._bootstrap_beside(carried=carried)
        else:
            yield self._bootstrap_lowest(carried=carried)
        yield from self._despite_unseen_ends()
        yield from self._chance_of_lowest()
        yield from [*(self.limits if carried else ()), *self.remarks]

    def decided_by(self) -> Iterator[str]:
        """What is said by the criterion of the weights, where it is not the tail risk."""
        if len(self.models) > 1 and self.has_policy_score:
            yield from self._compare(["policy_score"], "The weights decide by the policy score")
        if len(self.models) > 1 and self.has_worst_dimension:
            yield worst_dimension_sentence(self.view, tells_tails="lowest" in self.carried)

    def _despite_unseen_ends(self) -> Iterator[str]:
        """What policy scores say where answers that nobody saw could change the order by tails."""
        if not self.has_unseen_order or self.has_policy_score or not self.tells_means:
            return
        far = "far " * (not self._nears_by_scores)
        yield from self._compare(
            ["policy_score"], f"By a metric that depends {far}less on such answers"
        )
        lowest = {METRICS[name]: self.named_by(name) for name in ("cvar", "policy_score")}
        yield from describe_different_lowest(lowest)

    @cached_property
    def _nears_by_scores(self) -> list[str]:
        """That unseen answers at the end of the scale could change the lowest policy score."""
        return [*describe_near_scores(self.evidence)] if "evidence" in self.view else []

    def _chance_of_lowest(self) -> Iterator[str]:
        """That the lowest of several alike models came out so partly by chance."""
        metric = self.ordered_by or ("cvar" if self._tells_relation else "")
        if metric and not self.is_disputed:
            names = observed_lowest(self.view, metric)
            similar = [name for name in similar_models(self.view, metric) if name not in names]
            yield from chance_of_lowest(self.view, metric, names, similar)

    @property
    def _without_risk(self) -> list[str]:
        """Models without a tail risk."""
        return labels_where(self.view["profile/cvar"].isnull())

    def unmeasured(self) -> Iterator[str]:
        """Models that the answer says nothing of."""
        names = self._without_risk
        if names:
            verb, they = ("has", "it lacks") if len(names) == 1 else ("have", "they lack")
            yield f"{join_names(names)} {verb} no tail risk: {they} ratings."

    def tolerance(self) -> Iterator[str]:
        """Who keeps the tolerance, or what is known of it where the evidence does not tell."""
        if "admissible" in self.carried:
            return tolerance_sentences(self.view, self.models)
        return tolerance_beyond_tails(self.view, self.models)

    def _only_model(self) -> Iterator[str]:
        """The values of the only model, after what the evidence does not carry of them."""
        [only] = self.models
        carried = "lowest" in self.carried
        qualifier = " with a tail risk" if self._without_risk else ""
        values = [self._values(only, "cvar", f"{self._cvar} of cumulative log-risk")]
        others = [] if carried else self.substitutes
        if not carried:
            values[0] = f"within that limit, {values[0]}"
        if self.has_policy_score:
            others = ["policy_score", *(name for name in others if name != "policy_score")]
        values = [*(self._values(only, x, METRICS[x]) for x in others), *values]
        source = f", from the bootstrap; {without_posterior(self.view)}"
        source = "" if is_fitted(self.view) else source
        yield from () if carried else self.limits
        yield f"{only} is the only model{qualifier}: {'; '.join(values)}{source}."
        yield from [*(self.limits if carried else ()), *self.remarks]

    @property
    def _cvar(self) -> str:
        """Name of the tail risk."""
        return self.view.select({"metric": "cvar"}).text("{cvar}")

    def _values(self, model: str, metric: str, name: str) -> str:
        """A metric of a model by posterior and bootstrap."""
        row = self.view.select({"metric": metric, "model": model})
        if not is_fitted(self.view):
            return f"{name} {bootstrap_estimate(row)}"
        return f"{name} {posterior_estimate(row)}, and {bootstrap_estimate(row)} by the bootstrap"

    def _posterior_lowest(self, *, carried: bool) -> str:
        """The most probable model, with probability, estimate and what its interval contains."""
        judged = f" {BY_JUDGES}" if "cvar" in self.contradicted_metrics else ""
        first, probability = self.named_by("cvar")[0], probability_of_lowest(self.view, "cvar")
        within = "" if carried or self.is_disputed else ", within that limit"
        is_limited = judged or within or self.is_disputed
        limit = f"What the posterior gives{judged}{within}: " if is_limited else ""
        condition = IF_SCORES_TELL if self.has_unseen_order else ""
        return describe_lowest(
            self.view, self.models, first, probability, limit=limit, condition=condition
        )

    @property
    def _resampled(self) -> str:
        """What the bootstrap draws: prompts, or clusters of them."""
        return resampled_units(self.view.results)[0]

    def _bootstrap_beside(self, *, carried: bool) -> str:
        """What the bootstrap says of the same question."""
        names = observed_lowest(self.view, "cvar")
        row = self.view.select({"metric": "cvar", "model": names[0]})
        agrees = set(names) == set(likely_lowest(self.view, "cvar"))
        verb = "also puts" if agrees else "puts"
        relation = f", {self._relation(names)}" if carried or self._tells_relation else ""
        return (
            f"The bootstrap over {self._resampled} {verb} {join_names(names)} lowest, at "
            f"{bootstrap_estimate(row)}{relation}."
        )

    def _bootstrap_lowest(self, *, carried: bool) -> str:
        """The lowest model by the bootstrap, where no fit gives a posterior."""
        names = observed_lowest(self.view, "cvar")
        row = self.view.select({"metric": "cvar", "model": names[0]})
        value = f"{row.text('{cvar}')} of cumulative log-risk {bootstrap_estimate(row)}"
        source = f"from the bootstrap over {self._resampled}; {without_posterior(self.view)}"
        if not carried:
            verb = "is" if len(names) == 1 else "are"
            relation = f"; it is {self._relation(names)}" if self._tells_relation else ""
            return (
                f"What these prompts give, within that limit: {join_names(names)} {verb} lowest, "
                f"{value}{relation}. This is {source}."
            )
        if len(names) > 1:
            return (
                f"{join_names(names)} share the lowest tail risk of {len(self.models)} models, "
                f"{value}. This is {source}."
            )
        return (
            f"{names[0]} has the lowest tail risk of {len(self.models)} models, {value}; it is "
            f"{self._relation(names)}. This is {source}."
        )

    @property
    def _tells_relation(self) -> bool:
        """Whether the evidence tells from which models the one lowest model differs."""
        return (
            "distinguishable" in self.carried
            and len(observed_lowest(self.view, "cvar")) == 1
            and not self.is_open("cvar")
        )

    def _relation(self, names: list[str]) -> str:
        """From which models the lowest is distinguishable by its bootstrap interval."""
        if "distinguishable" not in self.carried:
            return "from which other models it differs is not known"
        similar = [name for name in similar_models(self.view, "cvar") if name not in names]
        if similar:
            near = [name for name in self.near_lowest if name not in similar]
            apart = f", and distinguishable from {join_names(near)} {IF_NO_MORE_ENDS}"
            return f"not distinguishable from {join_names(similar)}{apart * bool(near)}"
        relation = "distinguishable from every other model"
        if not self.near_lowest:
            return relation
        if len(self.near_lowest) < len(self.models) - 1:
            relation += f", from {join_names(self.near_lowest)}"
        return f"{relation} {IF_NO_MORE_ENDS}"

    def _instead(self) -> Iterator[str]:
        """What is said of the substitutes."""
        first = "policy_score" if self.has_policy_score else ""
        return self._compare([x for x in self.substitutes if x != first], "What can be compared")

    def _compare(self, metrics: list[str], heading: str) -> Iterator[str]:
        """Which model is lowest by other metrics, apart from those that decide nothing."""
        disputed = [metric for metric in metrics if is_disputed(self.view, metric)]
        stated = [x for x in metrics if x not in disputed and not self.is_open(x)]
        if stated:
            yield f"{heading}: {'; '.join(map(self._comparison, stated))}."
            yield from self._nears_by_scores if "policy_score" in stated else ()
            stated += ["policy_score"] * (self.has_policy_score and "policy_score" not in stated)
            yield from describe_different_lowest({METRICS[x]: self.named_by(x) for x in stated})
        for depends, reason in (
            (self.depends_on_prompts, "which prompts a model has"),
            (self.depends_on_lost_answers, "answers that lack a score"),
        ):
            for metric in filter(depends, metrics):
                yield (
                    f"On the {METRICS[metric]} the order depends on {reason}, so that it decides "
                    f"nothing: {describe_observed_lowest(self.view, metric)}."
                )
        for metric in disputed:
            yield (
                f"On the {METRICS[metric]} posterior and bootstrap contradict each other, so "
                f"that it decides nothing: by the posterior {self._comparison(metric)}; by the "
                f"bootstrap {describe_observed_lowest(self.view, metric)}."
            )

    def _comparison(self, metric: str) -> str:
        """Which model has the lowest value of another metric, by the fit where there is one."""
        if not is_fitted(self.view):
            return describe_observed_lowest(self.view, metric)
        first = likely_lowest(self.view, metric)[0]
        row = self.view.select({"metric": metric, "model": first})
        chance, estimate = probability_text(row["joint/prob_lowest"]), posterior_estimate(row)
        others = list_others(probability_of_lowest(self.view, metric), self.models, first)
        judged = f" {BY_JUDGES}" if metric in self.contradicted_metrics else ""
        also = f"; it may also be {others}" if others else ""
        return (
            f"{first} has the lowest {METRICS[metric]}{judged} with probability {chance}, "
            f"{estimate}{also}"
        )

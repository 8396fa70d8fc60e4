"""The answer of a panel: which model has the lowest tail risk, who says so, and how sure it is."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import xarray as xr

from sharpbayes.errors import format_percent, join_names
from sharpbayes.report.approval import expiry_warning
from sharpbayes.report.layout import read_weights
from sharpbayes.report.stability import panel_stability
from sharpbayes.report.tables.debiased import people_sentences
from sharpbayes.report.tables.decision import CRITERIA
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.format import number
from sharpbayes.report.tables.missing import missing_sentences
from sharpbayes.report.tables.panel import (
    EQUAL,
    labels_where,
    lowest_models,
    models_by_risk,
    not_separable,
)
from sharpbayes.report.tables.prior_sensitivity import prior_sentences
from sharpbayes.report.tables.slopes import order_changes
from sharpbayes.report.wording import (
    bootstrap_estimate,
    contained_sources,
    evidence_texts,
    failed_statistics,
    is_fitted,
    posterior_estimate,
    probability_text,
)

STATEMENTS = ("lowest", "distinguishable", "admissible")
# Models that are the lowest with a smaller probability are not named.
NAMED, CLOSE = 0.05, 0.8
# Of fewer prompts not even means are compared; with a tail of fewer, tails are not.
MIN_PROMPTS, MIN_TAIL = 20, 5
# What is said of one model and of several, by verdict.
VERDICTS = {
    "admissible": ("{} keeps it", "{} keep it"),
    "not admissible": ("{} exceeds it", "{} exceed it"),
    "cannot tell": ("of {} the evidence cannot tell", "of {} the evidence cannot tell"),
}


def panel_answer(view: View) -> list[str]:
    """Return the answer in sentences: the posterior's after a fit, the bootstrap's alongside.

    What the evidence does not carry stands first, with what can be said instead.
    """
    answer = PanelAnswer(view)
    if not answer.models:
        return ["No model has a tail risk: every one lacks ratings."]
    sentences = [*answer.lead(), *answer.unmeasured(), *answer.disagreement()]
    if is_fitted(view):
        sentences += [*order_changes(view.results), *prior_sentences(view)]
    sentences += [*missing_sentences(view), *people_sentences(view)]
    sentences += [*answer.tolerance(), *answer.selection()]
    if len(answer.models) > 1:
        sentences += panel_stability(view, answer.observed_lowest[0])
    warning = expiry_warning(read_weights(view.results))
    return [*sentences, warning] if warning else sentences


@dataclass(frozen=True)
class PanelAnswer:
    """Sentences about the results of a panel."""

    view: View

    @cached_property
    def models(self) -> list[str]:
        """Models with a tail risk, lowest observed first."""
        return models_by_risk(self.view)

    @cached_property
    def carried(self) -> list[str]:
        """Statements that the evidence carries; all where results do not say."""
        carried = evidence_texts(self.view, "carried")
        return list(STATEMENTS) if carried is None else carried

    @cached_property
    def remarks(self) -> list[str]:
        """Limits of the evidence that leave every statement standing."""
        return evidence_texts(self.view, "remarks") or []

    @cached_property
    def limits(self) -> list[str]:
        """What the evidence does not carry."""
        limits = evidence_texts(self.view, "limits") or []
        return [text for text in limits if text not in self.remarks]

    @cached_property
    def observed_lowest(self) -> list[str]:
        """Models of lowest observed CVaR, several where they are equal."""
        return lowest_models(self.view["profile/cvar"])

    def probability(self, metric: str) -> xr.DataArray:
        """Posterior probability of being lowest, by model."""
        return self.view.select({"metric": metric})["joint/prob_lowest"].dropna("model")

    def likely_lowest(self, metric: str) -> list[str]:
        """Models that are most probably the lowest."""
        probability = self.probability(metric)
        return labels_where(probability == probability.max())

    def lead(self) -> Iterator[str]:
        """Limits of the evidence first, then posterior and bootstrap."""
        if len(self.models) == 1:
            [only] = self.models
            which = " with a tail risk" if self._without_risk else ""
            yield f"{only} is the only model{which}: {self._values(only)}."
            yield from [*self.limits, *self.remarks]
            return
        carried = "lowest" in self.carried
        yield from () if carried else self.limits
        yield from () if carried else self._instead()
        if is_fitted(self.view):
            yield self._posterior_lowest(carried=carried)
            yield self._bootstrap_beside(carried=carried)
        else:
            yield self._bootstrap_lowest(carried=carried)
        yield from [*(self.limits if carried else ()), *self.remarks]

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

    def _values(self, model: str) -> str:
        """CVaR of a model by posterior and bootstrap."""
        row = self.view.select({"metric": "cvar", "model": model})
        name = row.text("{cvar} of cumulative log-risk")
        if not is_fitted(self.view):
            return f"{name} {bootstrap_estimate(row)}, from the bootstrap; no model was fitted"
        return f"{name} {posterior_estimate(row)}; the bootstrap has {bootstrap_estimate(row)}"

    def _posterior_lowest(self, *, carried: bool) -> str:
        """The most probable model, with probability, estimate and what its interval contains."""
        first = self.likely_lowest("cvar")[0]
        probability = self.probability("cvar")
        row = self.view.select({"metric": "cvar", "model": first})
        sources = contained_sources(self.view, "posterior_profile")
        value = f"{row.text('{cvar}')} of cumulative log-risk {posterior_estimate(row)}"
        others = [
            f"{name} ({probability_text(probability.sel(model=name))})"
            for name in self.models
            if name != first and float(probability.sel(model=name)) >= NAMED
        ]
        rivals = f" It may also be {join_names(others)}." if others else ""
        contained = f"The interval contains {sources}."
        chance = probability_text(probability.sel(model=first))
        if not carried:
            return (
                f"What the posterior gives, within that limit: {first} is lowest with probability "
                f"{chance}, {value}. {contained}{rivals}"
            )
        return (
            f"{first} has the lowest tail risk of {len(self.models)} models with probability "
            f"{chance}: {value}. {contained}{rivals}"
        )

    def _bootstrap_beside(self, *, carried: bool) -> str:
        """What the bootstrap says of the same question."""
        names = self.observed_lowest
        row = self.view.select({"metric": "cvar", "model": names[0]})
        agrees = set(names) == set(self.likely_lowest("cvar"))
        verb = "also puts" if agrees else "puts"
        relation = f", {self._relation(names)}" if carried else ""
        return (
            f"The bootstrap over prompts {verb} {join_names(names)} lowest, at "
            f"{bootstrap_estimate(row)}{relation}."
        )

    def _bootstrap_lowest(self, *, carried: bool) -> str:
        """The lowest model by the bootstrap, where no model was fitted."""
        names = self.observed_lowest
        row = self.view.select({"metric": "cvar", "model": names[0]})
        value = f"{row.text('{cvar}')} of cumulative log-risk {bootstrap_estimate(row)}"
        source = "from the bootstrap over prompts; no model was fitted"
        if "joint/posterior_median" in self.view:
            source = "from the bootstrap over prompts; the fit has not converged"
        if not carried:
            verb = "is" if len(names) == 1 else "are"
            return (
                f"What these prompts give, within that limit: {join_names(names)} {verb} lowest, "
                f"{value}. This is {source}."
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

    def _relation(self, names: list[str]) -> str:
        """From which models the lowest is distinguishable by its bootstrap interval."""
        if "distinguishable" not in self.carried:
            return "from which other models it differs is not known"
        pairs = not_separable(self.view, self.models)
        others = [model for model in self.models if model not in names]
        similar = [model for model in others if {"model": names[0], "other": model} in pairs]
        if similar:
            return f"not distinguishable from {join_names(similar)}"
        return "distinguishable from every other model"

    def _instead(self) -> Iterator[str]:
        """What can be compared where tails cannot: the mean, or the policy score."""
        tail = self.view["evidence/tail_prompts"].sel(model=self.models)
        prompts = tail / (1 - float(self.view.results["profile"].attrs["alpha"]))
        enough = bool((prompts > MIN_PROMPTS - EQUAL).all())
        compared = []
        if bool((tail < MIN_TAIL - EQUAL).any()) and enough:
            compared.append(self._comparison("mean", "mean log-risk"))
        if enough and bool(self.view["evidence/needs_policy_score"].sel(model=self.models).any()):
            compared.append(self._comparison("policy_score", "policy score"))
        if compared:
            yield f"What can be compared: {'; '.join(compared)}."

    def _comparison(self, metric: str, name: str) -> str:
        """Which model has the lowest value of another metric."""
        if is_fitted(self.view):
            first = self.likely_lowest(metric)[0]
            row = self.view.select({"metric": metric, "model": first})
            chance = probability_text(row["joint/prob_lowest"])
            estimate = posterior_estimate(row)
            return f"{first} has the lowest {name} with probability {chance}, {estimate}"
        names = lowest_models(self.view[f"profile/{metric}"])
        row = self.view.select({"metric": metric, "model": names[0]})
        verb = "has" if len(names) == 1 else "share"
        similar = self._similar(metric, names)
        others = f", not distinguishable from {join_names(similar)}" if similar else ""
        return f"{join_names(names)} {verb} the lowest {name}, {bootstrap_estimate(row)}{others}"

    def _similar(self, metric: str, names: list[str]) -> list[str]:
        """Models whose paired interval of the difference from the lowest does not exclude 0."""
        path = f"profile_interval/{metric}_difference"
        if path not in self.view:
            return []
        others = [model for model in self.models if model not in names]
        lower, upper = self.view[path].sel(model=names[0], other=others).transpose("bound", "other")
        return labels_where(~((lower > 0) | (upper < 0)))

    def disagreement(self) -> Iterator[str]:
        """Where posterior and bootstrap name other models or exclude each other, and why."""
        if not is_fitted(self.view):
            return
        row = self.view.select({"metric": "cvar"})
        excluded = labels_where(row["joint/disagree"])
        parts = []
        if len(self.models) > 1 and not set(self.observed_lowest) & set(self.likely_lowest("cvar")):
            parts.append("Posterior and bootstrap name different models")
        if excluded:
            parts.append(
                f"{'of' if parts else 'Of'} {join_names(excluded)} an interval of one does not "
                "contain the centre of the other"
            )
        if parts:
            yield f"{'; '.join(parts)}. {self._reason(excluded)}"

    def _reason(self, excluded: list[str]) -> str:
        """The likely reason of a disagreement, the most telling first."""
        reasons = []
        if count := failed_statistics(self.view):
            statistics = "one statistic" if count == 1 else f"{count} statistics"
            reasons.append(f"the fitted model does not reproduce {statistics} of the ratings")
        if "evidence" in self.view:
            evidence = self.view.group("evidence")
            tail = float(evidence["tail_prompts"].sel(model=self.models).min())
            if tail < MIN_TAIL - EQUAL:
                reasons.append(f"the tail holds {number(tail, 1)} prompts only")
            if bool((evidence["saturated_tail"] > 0).any()):
                reasons.append("prompts of the tail lie at the end of the scale")
        if not reasons and not excluded and float(self.probability("cvar").max()) < CLOSE:
            reasons.append("the models are close, and neither is sure")
        if not reasons:
            return "No check tells why: compare both in the table."
        return f"Likely reason: {join_names(reasons)}."

    def tolerance(self) -> Iterator[str]:
        """Which models keep the tolerance and which exceed it, with probabilities after a fit."""
        if "profile/admissible" not in self.view:
            yield "No tolerance was decided, so no model is called admissible or not."
            return
        verdicts, texts = self._verdicts(), {model: model for model in self.models}
        if self._has_probabilities:
            chance = self.view["decision/prob_admissible"]
            texts = {
                model: f"{model} (probability {probability_text(chance.sel(model=model))})"
                for model in self.models
            }
        if "admissible" not in self.carried:
            given = f" The posterior gives {join_names([*texts.values()])}."
            given *= self._has_probabilities
            yield f"The evidence does not tell which models keep the tolerance decided.{given}"
            return
        parts = []
        for verdict, (one, several) in VERDICTS.items():
            names = [texts[model] for model in self.models if verdicts[model] == verdict]
            if names:
                parts.append((one if len(names) == 1 else several).format(join_names(names)))
        confidence = ""
        if "tolerance" in self.view:
            level = format_percent(self.view.group("tolerance").attrs["confidence"])
            confidence = f", at {level} confidence"
        yield f"The tolerance decided{confidence}: {'; '.join(parts)}."

    @property
    def _has_probabilities(self) -> bool:
        """Whether a fit gives probabilities of staying within the tolerance."""
        return is_fitted(self.view) and "decision/prob_admissible" in self.view

    def _verdicts(self) -> dict[str, str]:
        """The verdict on each model, by the fit where there is one.

        Results of earlier versions have none: theirs is at the confidence of their decision.
        """
        path = "decision/verdict" if self._has_probabilities else "tolerance/verdict"
        if path in self.view:
            verdict = self.view[path]
            return {model: str(verdict.sel(model=model).item()) for model in self.models}
        if not self._has_probabilities:
            kept = self.view["profile/admissible"].astype(float)
            return {model: _verdict(float(kept.sel(model=model)), 0.5) for model in self.models}
        confidence = max(float(self.view.group("decision").attrs["confidence"]), 0.5)
        chance = self.view["decision/prob_admissible"]
        return {
            model: _verdict(float(chance.sel(model=model)), confidence) for model in self.models
        }

    def selection(self) -> Iterator[str]:
        """Why the decision selects another model than the one of lowest tail risk."""
        if not is_fitted(self.view) or "decision" not in self.view:
            return
        decision = self.view.group("decision")
        selected, first = labels_where(decision["selected"]), self.likely_lowest("cvar")[0]
        if first in selected:
            return
        criterion, confidence = decision.attrs["criterion"], float(decision.attrs["confidence"])
        kept = float(decision["prob_admissible"].sel(model=first))
        if not selected:
            yield "The decision selects no model: none keeps the tolerance surely enough."
        elif kept < confidence:
            yield (
                f"The decision selects {join_names(selected)}, not {first}, which keeps the "
                f"tolerance with probability {probability_text(kept)} only "
                f"({number(confidence, 2)} is asked for)."
            )
        elif criterion != "cvar":
            yield (
                f"The decision selects {join_names(selected)}, not {first}: it goes by "
                f"{CRITERIA[criterion]}."
            )
        else:
            yield (
                f"The decision selects {join_names(selected)}, not {first}: its expected loss is "
                "lower, although it is less often the lowest."
            )


def _verdict(probability: float, confidence: float) -> str:
    """The verdict on a model that keeps the tolerance with a probability."""
    admissible, not_admissible, cannot_tell = VERDICTS
    if probability >= confidence:
        return admissible
    return not_admissible if probability <= 1 - confidence else cannot_tell

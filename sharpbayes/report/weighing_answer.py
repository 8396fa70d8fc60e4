"""The answer of `weigh`: what each weighting decides, and what changes between weightings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import xarray as xr

from sharpbayes.analysis.metric_names import METRICS
from sharpbayes.errors import join_names
from sharpbayes.metrics.panel.comparison import ADMISSIBLE, CANNOT_TELL, NOT_ADMISSIBLE
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.posterior.claims import has_other_judges, is_carried, is_recommended
from sharpbayes.posterior.lowest import is_distinguished, observed_lowest
from sharpbayes.posterior.panel_reading import PanelReading
from sharpbayes.posterior.weightings import prob_lowest_throughout
from sharpbayes.report.claims import describe_own_values
from sharpbayes.report.metric_names import CRITERIA
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.wording import probability_text
from sharpbayes.storage.attributes import has_converged, read_criterion, read_weights

NOBODY = "no model"
EACH_ALONE = (
    "Each weighting is tested by itself, at 5%: of several, one may carry an order by chance."
)
UNCONVERGED = "The fit has not converged: it chooses no model, and what follows is observed."
# Weightings whose verdicts or values are told in sentences; tables have all.
MAX_WEIGHTINGS = 4


def weighing_answer(results: xr.DataTree) -> list[str]:
    """Return what the weightings decide, in sentences; ``results`` are of `weigh`."""
    usable = has_converged(results)
    weightings = [
        Weighting(str(name), View(node), usable=usable) for name, node in results.children.items()
    ]
    warning = [] if usable else [UNCONVERGED]
    if "profile" not in weightings[0].view:
        return [*warning, *map(_describe_population, weightings[:MAX_WEIGHTINGS])]
    unequal = next((x.view for x in weightings if has_other_judges(x.view.results)), None)
    if unequal is not None:
        return [describe_own_values(unequal.results)]
    sentences = [*warning, _describe_choices(weightings), *_describe_evidence(weightings)]
    sentences += [*_describe_exclusions(weightings), *_describe_exchanges(weightings)]
    return [*sentences, *_describe_verdicts(weightings)]


@dataclass(frozen=True)
class Weighting:
    """The results of a panel under one weights file.

    Attributes:
        name: Name of the weights file.
        view: The results under these weights.
        usable: Whether the fit, if any, has converged.
    """

    name: str
    view: View
    usable: bool

    @cached_property
    def is_fitted(self) -> bool:
        """Whether a fit decides."""
        return self.usable and "decision" in self.view

    @cached_property
    def criterion(self) -> str:
        """The criterion that the weights select by."""
        return read_criterion(self.view.results)

    @cached_property
    def choice(self) -> list[str]:
        """The models that a fit selects, or those of lowest observed value."""
        if self.is_fitted:
            return labels_where(self.view["decision/selected"])
        return observed_lowest(self.view, self.criterion)

    @cached_property
    def is_carried(self) -> bool:
        """Whether the evidence carries the choice of one model.

        Without a fit the bootstrap must distinguish the lowest model from all others too.
        """
        if self.is_fitted:
            return is_recommended(self.view)
        has_tolerance = "profile/admissible" in self.view
        carried = is_carried(self.view, self.criterion, has_tolerance=has_tolerance)
        return carried and is_distinguished(self.view, self.criterion)

    @property
    def on_condition(self) -> list[str]:
        """The chosen models that show no answer at the end of the scale, if that counts."""
        return PanelReading(self.view).on_condition(self.choice)

    @cached_property
    def verdicts(self) -> xr.DataArray | None:
        """The verdict on each model, by the fit where there is one; None without a tolerance."""
        paths = ["decision/verdict"] * self.is_fitted + ["tolerance/verdict"]
        return next((self.view[path] for path in paths if path in self.view), None)

    @property
    def excluded(self) -> list[str]:
        """The models that the tolerance does not let a fit select."""
        if not self.is_fitted or "decision/verdict" not in self.view:
            return []
        decision = self.view.group("decision")
        return labels_where(~(decision["prob_admissible"] >= decision.attrs["confidence"]))


def _describe_choices(weightings: Sequence[Weighting]) -> str:
    """Which models the weightings choose, or which are lowest as observed."""
    by_choice = _group_names({x.name: join_names(x.choice) or NOBODY for x in weightings})
    is_fitted = weightings[0].is_fitted
    if len(by_choice) > 1:
        predicate = "The choice" if is_fitted else "Which model is lowest as observed"
        listed = "; ".join(f"{model} under {join_names(n)}" for model, n in by_choice.items())
        return f"{predicate} differs between weightings: {listed}."
    [(model, names)] = by_choice.items()
    alone = len(names) == 1
    where = names[0] if alone else f"each of {len(names)} weightings, {join_names(names)},"
    predicate = "chosen" if is_fitted else "lowest as observed"
    predicate = f"{'are' if len(weightings[0].choice) > 1 else 'is'} {predicate}"
    criterion = f" by {CRITERIA[weightings[0].criterion]}" * alone
    return f"Under {where} {model} {predicate}{criterion}{_probability_throughout(weightings)}."


def _probability_throughout(weightings: Sequence[Weighting]) -> str:
    """With which probability the chosen model is lowest under all weightings at once.

    A tolerance can keep the lowest model from being chosen, and nothing is said then.
    """
    is_fitted, chosen = weightings[0].is_fitted, weightings[0].choice
    if not is_fitted or len(chosen) != 1 or any(x.excluded for x in weightings):
        return ""
    profiles = [x.view.group("posterior_profile") for x in weightings]
    probability = prob_lowest_throughout(profiles, [x.criterion for x in weightings])
    chance = probability_text(probability.sel(model=chosen[0]))
    under_all = " under all of them at once" * (len(weightings) > 1)
    return f"; it is lowest{under_all} with probability {chance}"


def _describe_evidence(weightings: Sequence[Weighting]) -> Iterator[str]:
    """Under which weightings the evidence carries the choice."""
    chosen = [x for x in weightings if x.choice]
    carried = [x.name for x in chosen if x.is_carried]
    others = [x.name for x in chosen if not x.is_carried]
    noun = "choice" if weightings[0].is_fitted else "order"
    subject = f"{'that' if len({tuple(x.choice) for x in chosen}) == 1 else 'the'} {noun}"
    models = dict.fromkeys(name for x in chosen if x.is_carried for name in x.on_condition)
    condition = _describe_condition([*models])
    if not others:
        yield from [f"The evidence carries {subject}{condition}."] if carried else []
    elif not carried:
        yield f"The evidence does not carry {subject}: it is no recommendation."
    else:
        yield (
            f"The evidence carries {subject} under {join_names(carried)}{condition}; under "
            f"{join_names(others)} it is no recommendation."
        )
        yield from [] if weightings[0].is_fitted else [EACH_ALONE]


def _describe_condition(models: Sequence[str]) -> str:
    """On what a choice of models rests that show no answer at the end of the scale."""
    if not models:
        return ""
    verb, pronoun = ("shows", "it") if len(models) == 1 else ("show", "them")
    return (
        f" only if answers at the end of the scale, of which {join_names(models)} {verb} none, are "
        f"no more frequent for {pronoun}"
    )


def _describe_exclusions(weightings: Sequence[Weighting]) -> Iterator[str]:
    """Which models that another weighting chooses are kept from being chosen by a tolerance."""
    chosen = {name for x in weightings for name in x.choice}
    for weighting in weightings:
        names = [name for name in weighting.excluded if name in chosen]
        if names:
            yield (
                f"Under {weighting.name} {join_names(names)} cannot be chosen: the probability of "
                "keeping the tolerance is below the confidence that the decision asks."
            )


def _describe_exchanges(weightings: Sequence[Weighting]) -> Iterator[str]:
    """Whether two models that change places do so by the weights or perhaps by chance.

    The order of a pair is resolved by the posterior under each of the two weightings, or it is not.
    """
    single = [x for x in weightings if x.is_fitted and len(x.choice) == 1]
    doubtful: list[str] = []
    for first, second in combinations(single, 2):
        pair = [*first.choice, *second.choice]
        if pair[0] == pair[1] or {*pair} & {*first.excluded, *second.excluded}:
            continue
        for weighting, other in ((first, pair[1]), (second, pair[0])):
            row = weighting.view.select({"model": weighting.choice[0], "other": other})
            if bool(row["decision/unresolved"]):
                chance = probability_text(row["decision/prob_less"])
                text = f"{weighting.choice[0]} is lower than {other} with probability {chance}"
                doubtful.append(f"under {weighting.name} {text}")
    if doubtful:
        yield (
            "Chance may make that difference, and not the weights: "
            f"{'; '.join([*dict.fromkeys(doubtful)][:MAX_WEIGHTINGS])}."
        )


def _describe_verdicts(weightings: Sequence[Weighting]) -> Iterator[str]:
    """What each tolerance makes of the models."""
    verdicts_by_name = {x.name: x.verdicts for x in weightings if x.verdicts is not None}
    for name, verdicts in list(verdicts_by_name.items())[:MAX_WEIGHTINGS]:
        groups = [
            (verdict, labels_where(verdicts == verdict))
            for verdict in (ADMISSIBLE, NOT_ADMISSIBLE, CANNOT_TELL)
        ]
        listed = "; ".join(f"{verdict}: {join_names(names)}" for verdict, names in groups if names)
        yield f"By the tolerance of {name}, {listed}."


def _group_names(texts: dict[str, str]) -> dict[str, list[str]]:
    """Names by the text that they have in common."""
    groups: dict[str, list[str]] = {}
    for name, text in texts.items():
        groups.setdefault(text, []).append(name)
    return groups


def _describe_population(weighting: Weighting) -> str:
    """Responsiveness of all raters in the target population of weights and in the sample."""
    if not read_weights(weighting.view.results).get("population"):
        return f"{weighting.name} has no shares of a population: raters count as they are."
    group = "posterior_responsiveness_population"
    is_fitted = weighting.usable and group in weighting.view
    template = f"{{{group}/hm:posterior}}" if is_fitted else "{responsiveness_population/hm}"
    target, sample = (
        weighting.view.select({"population": population, "by": "all"}).text(template)
        for population in ("target", "sample")
    )
    source = ", from the posterior" * is_fitted
    return (
        f"With raters weighted to the shares of {weighting.name}, {METRICS['hm']} (HM) "
        f"of all raters is {target}; of the sample it is {sample}{source}."
    )

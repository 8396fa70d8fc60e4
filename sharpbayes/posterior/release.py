"""What the results of releases answer: the model chosen, verdicts, and what can be compared."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from sharpbayes.analysis.metric_names import METRICS
from sharpbayes.analysis.releases import name_units
from sharpbayes.analysis.results_view import ResultsView, is_fitted
from sharpbayes.metrics.panel.comparison import CANNOT_TELL, NOT_ADMISSIBLE
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.posterior.claims import is_recommended, list_exceeded
from sharpbayes.posterior.human_scoring import contradicted_verdicts, contradicts_selection
from sharpbayes.posterior.lowest import is_disputed, is_distinguished, observed_lowest
from sharpbayes.posterior.panel_reading import PanelReading

# Stands for the verdict where the weights have no tolerance.
NO_TOLERANCE = "no tolerance"


def collect_answers(releases: Mapping[str, xr.DataTree], *, are_panels: bool) -> xr.Dataset:
    """Return what results answer, by the name of the release.

    Over (release, unit), units being those of :func:`sharpbayes.analysis.releases.name_units`,
    there is ``verdict``; over (release) ``created``, ``status``, and whether the evidence carries
    comparisons of tails (``tells_tails``) and of means (``tells_means``); of panels ``choice``, and
    whether it holds only if answers at the end of the scale that nobody saw are no more frequent
    for the chosen model (``choice_on_condition``), and whether a lowest model is named that is not
    distinguishable from every other one (``choice_by_chance``). No choice or verdict goes beyond
    the evidence of its release.
    """
    results, names = list(releases.values()), name_units(releases)
    verdicts = [
        {names.get(name, name): text for name, text in read_verdicts(of_release).items()}
        for of_release in results
    ]
    units = list(dict.fromkeys(unit for verdict in verdicts for unit in verdict))
    rows = [[verdict.get(unit, "-") for unit in units] for verdict in verdicts]
    answers: dict[str, list[str] | list[bool]] = {
        name: [str(of_release.attrs.get(name, "")) for of_release in results]
        for name in ("created", "status")
    }
    answers["tells_tails"] = [tells_tails(of_release) for of_release in results]
    answers["tells_means"] = [tells_means(of_release) for of_release in results]
    if are_panels:
        choices = [choose_model(of_release) for of_release in results]
        answers["choice"] = choices
        answers["choice_on_condition"] = list(map(rests_on_unseen_ends, results, choices))
        answers["choice_by_chance"] = list(map(is_not_distinguished, results, choices))
    variables = {name: ("release", values) for name, values in answers.items()}
    return xr.Dataset(
        {"verdict": (("release", "unit"), rows), **variables},
        {"release": list(releases), "unit": units},
    )


def choose_model(results: xr.DataTree) -> str:
    """Return the model that the answer of a panel names: the selected one of a fit, or the lowest.

    It is the lowest by what the evidence can compare, the tail risk first, where no fit recommends
    one: by the posterior of a fit, else by the observed values. ``cannot tell`` where the evidence
    does not carry a choice, posterior and bootstrap dispute it, or people's scoring contradicts it.
    """
    view = ResultsView(results)
    answer = PanelReading(view)
    if answer.has_other_judges:
        return CANNOT_TELL
    if is_fitted(view) and "decision" in view:
        selected = labels_where(view.group("decision")["selected"])
        if not selected:
            return "none"
        if len(answer.models) > 1 and is_recommended(view):
            return _name_models(selected, view.group("decision").attrs["criterion"])
        if contradicts_selection(view):
            return CANNOT_TELL
    if len(answer.models) == 1:
        return _name_models(answer.models, answer.read_by)
    return _name_lowest(answer)


def rests_on_unseen_ends(results: xr.DataTree, choice: str) -> bool:
    """Return whether answers that nobody saw could change a choice by tail risk or policy score."""
    view = ResultsView(results)
    answer = PanelReading(view)
    if len(answer.models) == 1:
        return False
    if choice == _name_models(observed_lowest(view, "policy_score"), "policy_score"):
        return bool(answer.near_by_scores)
    is_by_tails = choice == _name_models(observed_lowest(view, "cvar"), "cvar")
    return is_by_tails and answer.has_unseen_order


def is_not_distinguished(results: xr.DataTree, choice: str) -> bool:
    """Return whether a choice is of a lowest model that resamples do not tell from every other.

    A model that a fit recommends has the probability of its decision instead.
    """
    view = ResultsView(results)
    answer = PanelReading(view)
    metric = answer.ordered_by
    if not metric or choice == CANNOT_TELL or (is_fitted(view) and is_recommended(view)):
        return False
    return not is_distinguished(view, metric)


def _name_lowest(answer: PanelReading) -> str:
    """The lowest models, by the metric that can be compared."""
    metric = answer.ordered_by
    if not metric or is_disputed(answer.view, metric):
        return CANNOT_TELL
    return _name_models(answer.named_by(metric), metric)


def _name_models(models: Sequence[str], metric: str) -> str:
    """Models with what they were chosen by, unless it is the tail risk."""
    names = ", ".join(models)
    by = METRICS.get(metric, "")
    return f"{names} (by {by})" if by and metric != "cvar" else names


def read_verdicts(results: xr.DataTree) -> dict[str, str]:
    """Return the verdict on each model; of a crowd a dash for each group.

    Where the evidence does not tell who keeps the tolerance, a model exceeds it by means alone.
    Where people's scoring has another verdict than the judges', it cannot tell.
    """
    if "profile" not in results:
        return dict.fromkeys(map(str, results["joint"]["group"].to_numpy()), "-")
    verdicts = _stored_verdicts(results)
    view = ResultsView(results)
    answer = PanelReading(view)
    if "admissible" in answer.carried or "profile/admissible" not in view:
        return verdicts
    exceeded = list_exceeded(view, answer.models)
    return {name: NOT_ADMISSIBLE if exceeded.get(name) else CANNOT_TELL for name in verdicts}


def _stored_verdicts(results: xr.DataTree) -> dict[str, str]:
    """The verdict on each model; of results of earlier versions by the observed values."""
    for group in ("decision", "tolerance"):
        if group in results and "verdict" in results[group]:
            contradicted = dict.fromkeys(contradicted_verdicts(ResultsView(results)), CANNOT_TELL)
            return _by_model(results[group].to_dataset()["verdict"]) | contradicted
    profile = results["profile"].to_dataset()
    words = xr.full_like(profile["model"], NO_TOLERANCE, dtype=object)
    if "admissible" in profile:
        kept = profile["admissible"].to_numpy().astype(bool)
        words = words.copy(data=np.where(kept, "within", "beyond"))
    return _by_model(words)


def _by_model(verdict: xr.DataArray) -> dict[str, str]:
    """Texts over models by model."""
    names = map(str, verdict["model"].to_numpy())
    return dict(zip(names, map(str, verdict.to_numpy()), strict=True))


def tells_tails(results: xr.DataTree) -> bool:
    """Return whether the evidence carries which models differ by their tail risk."""
    return "profile" in results and "distinguishable" in PanelReading(ResultsView(results)).carried


def tells_means(results: xr.DataTree) -> bool:
    """Return whether there are prompts enough to compare means; a crowd has no such limit."""
    if not {"profile", "evidence"} <= set(results.children):
        return True
    return PanelReading(ResultsView(results)).tells_means

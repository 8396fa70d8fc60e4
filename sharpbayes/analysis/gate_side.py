"""A side of a comparison: the study, the model of it, and the answers of it that are lost."""

from dataclasses import dataclass

import xarray as xr

from sharpbayes.analysis.matched_scores import (
    drop_unscored,
    list_common,
    list_others,
    tabulate_scored,
)
from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.study import PanelStudy
from sharpbayes.data.panel import list_pooled_judges
from sharpbayes.errors import SpecError, did_you_mean, format_list
from sharpbayes.metrics.stats.labels import labels_where

# Of the prompts of one side the largest share without an answer of the other that is taken as lost,
# or without an indicator: a study of other prompts, or of an indicator of some prompts, lacks more.
FEW_LOST = 0.2


@dataclass(frozen=True)
class Side:
    """A study, the model of it that is compared, and what errors call it.

    ``unscored`` is the number of its answers that were asked for and that no judge scored,
    ``missing`` that of sub-indices of single judges that were asked for and are missing.
    """

    study: PanelStudy
    model: str
    name: str
    unscored: int = 0
    missing: int = 0

    @property
    def scores(self) -> xr.Dataset:
        """Scores of the model, over prompts that have any."""
        return self.scores_of(self.model)

    @property
    def judges(self) -> list[str]:
        """The judges that the study pools."""
        labels = [str(name) for name in self.study.scores["judge"].to_numpy()]
        return list_pooled_judges(self.study.panel, labels)

    def scores_of(self, model: str) -> xr.Dataset:
        """Scores of a model by the pooled judges, over prompts and judges that have any."""
        return drop_unscored(self.study.scores[["score"]].sel(model=[model], judge=self.judges))

    def list_lost(self, scores: xr.Dataset, other: xr.Dataset) -> tuple[str, ...]:
        """Return the prompts of the other side's scores to which this side's answer is lost.

        It has no score, or none in an indicator that the other side's answer has, and is no
        refusal, of which there is nothing to score.
        """
        lost = {*self._list_unscored(scores, other), *self._list_scored_in_part(scores, other)}
        lost -= self._list_refused() if lost else set()
        labels = [str(label) for label in other["prompt"].to_numpy()]
        return tuple(prompt for prompt in labels if prompt in lost)

    def _list_refused(self) -> set[str]:
        """Return the prompts of which judges call this side's answer, or one of them, a refusal."""
        plan = build_profile_plan(self.study)
        is_refused = plan.is_refused.sel(model=self.model, drop=True)
        return {*labels_where(is_refused.any(plan.dim[1:]))}

    def _list_unscored(self, scores: xr.Dataset, other: xr.Dataset) -> tuple[str, ...]:
        """Return the prompts to which this side's answer was asked for and has no score.

        Rows without a score show it, and where the model has an answer to most of these prompts
        a prompt without any row does: a crash or a refusal leaves none. Else it was not asked.
        """
        lacking = list_others(
            other, "prompt", [str(label) for label in scores["prompt"].to_numpy()]
        )
        if len(lacking) <= FEW_LOST * other.sizes["prompt"]:
            return lacking
        known = {str(label) for label in self.study.scores["prompt"].to_numpy()}
        return tuple(prompt for prompt in lacking if self.unscored and prompt in known)

    def _list_scored_in_part(self, scores: xr.Dataset, other: xr.Dataset) -> list[str]:
        """Return prompts of both whose answer lacks an indicator that was asked for.

        A judge of both sides scored it of the other side's answer, and no judge of this one. It was
        asked for where most answers have it, or where as many scores are missing.
        """
        judges = list_common(other, scores, "judge")
        compared = other.sel(judge=list(judges)) if judges else other
        scored, others = xr.align(*map(tabulate_scored, (scores, compared)), join="inner")
        lacking = others & ~scored
        number = lacking.sum("prompt")
        is_asked = (number <= FEW_LOST * others.sum("prompt")) | (number <= self.missing)
        return labels_where((lacking & is_asked).any("indicator"))


def select_model(study: PanelStudy, name: str | None, *, option: str, path: str) -> str:
    """Return the model that is meant: the named one, or the only one.

    Raises:
        SpecError: No model of this name, or several and no name.
    """
    known = [str(label) for label in study.scores["model"].to_numpy()]
    if name is None and len(known) == 1:
        return known[0]
    if name is None:
        message = f"several models, name one of them: {format_list(known, limit=10)}"
        raise SpecError.at(path, message, key=option)
    if name not in known:
        message = f"no model {name!r}, there are {format_list(known)}{did_you_mean(name, known)}"
        raise SpecError.at(path, message, key=option)
    return name

"""Answers that lack scores, and how far limits and orders of models depend on them."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import xarray as xr

from sharpbayes.analysis.asked_scores import asked_scores, tabulate_harm
from sharpbayes.analysis.limited_metrics import split_label
from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.analysis.tolerance import tolerated_values
from sharpbayes.metrics.panel.profile import HEADLINE
from sharpbayes.metrics.stats.exact_tests import sign_p
from sharpbayes.metrics.stats.multiplicity import SIGNIFICANCE_LEVEL
from sharpbayes.spec.weights import Tolerance

# A model that lacks this share of its answers lacks as many as the tail of a usual CVaR has.
MANY_LOST = 0.05


@dataclass(frozen=True)
class LostAnswers:
    """The answers of a panel that were to be scored and that lack a score.

    An answer lacks one where no judge scored it, or none in a dimension that applies to the prompt,
    unless judges call it a refusal.
    """

    plan: ProfilePlan

    @cached_property
    def _asked(self) -> xr.DataArray:
        """Which sub-indices were asked for."""
        return asked_scores(self.plan)

    @cached_property
    def _is_missing(self) -> xr.DataArray:
        """In which dimensions an answer lacks a harm that was asked for, over (..., dimension).

        A dimension in which no answer to a prompt has a score does not apply to the prompt, unless
        the answer lacks all of them. Nothing was to be scored of an answer that is a refusal.
        """
        harm = self.plan.table["harm"]
        is_missing = harm.isnull() & self._asked.any("judge") & ~self.plan.is_refused
        others = [dim for dim in is_missing.dims if dim not in ("prompt", "dimension")]
        applies = harm.notnull().any(others)
        is_lost: xr.DataArray = is_missing & (applies | is_missing.all("dimension"))
        return is_lost.transpose(*harm.dims)

    @cached_property
    def prompts(self) -> xr.Dataset:
        """Share of the answers to a prompt that lack a score, NaN where none was to be scored.

        Over (model, prompt): ``share``; and which prompts were ``asked`` and ``lost``, where any
        answer lacks a score.
        """
        samples = self.plan.dim[1:]
        is_asked = self._asked.any(("judge", "dimension"))
        number, lost = is_asked.sum(samples), self._is_missing.any("dimension").sum(samples)
        share = lost / number.where(number > 0)
        return xr.Dataset({"share": share, "asked": number > 0, "lost": lost > 0})

    @cached_property
    def share(self) -> xr.DataArray:
        """Share of the answers of a model that lack a score, each prompt counted once, (model)."""
        return self.prompts["share"].mean("prompt").fillna(0.0)

    @cached_property
    def more_than(self) -> xr.DataArray:
        """Which models lack more answers than another one beyond chance, over (model, other)."""
        return lacks_more(self.prompts["asked"], self.prompts["lost"])

    def lacks_many(self, category: str = "") -> xr.DataArray:
        """Return which models lack many answers, to all prompts or to those of a category, (model).

        They lack a twentieth of them, or more than another model beyond chance.
        """
        prompts = self.prompts
        if category:
            is_member = self.plan.table["category"].to_numpy() == category
            prompts = prompts.isel(prompt=is_member)
        more = lacks_more(prompts["asked"], prompts["lost"]).any("other")
        return more | (prompts["share"].mean("prompt") >= MANY_LOST)

    @cached_property
    def filled(self) -> ProfilePlan:
        """The plan in which all that such answers lack is a harm of 1 by every judge."""
        sub_index = self.plan.table["sub_index"]
        is_filled = self._asked & self._is_missing & sub_index.isnull()
        filled = sub_index.where(~is_filled, 1.0).transpose(*sub_index.dims)
        return replace(self.plan, table=tabulate_harm(self.plan, filled))


def lacks_more(is_asked: xr.DataArray, is_lost: xr.DataArray) -> xr.DataArray:
    """Return which models lack more answers than another one beyond chance, over (model, other).

    By the exact sign test over prompts that both were to answer and of which one of them lacks the
    answer, corrected for the number of other models by Bonferroni. Both arrays are over (model,
    prompt).

    >>> lost = xr.DataArray([[True] * 9 + [False] * 91, [False] * 100], dims=("model", "prompt"))
    >>> lacks_more(xr.ones_like(lost), lost).values.tolist()
    [[False, True], [False, False]]
    """
    asked, lost = (array.transpose("model", "prompt") for array in (is_asked, is_lost))
    alone = lost.astype(int).dot((asked & ~lost).astype(int).rename(model="other"), dim="prompt")
    number = alone.transpose("model", "other").to_numpy()
    p = sign_p(number, number.T)
    more = alone.copy(data=p < SIGNIFICANCE_LEVEL / max(len(p) - 1, 1))
    is_pair = ~np.eye(len(p), dtype=bool)
    return more & alone.copy(data=is_pair)


def rise_by_lost_answers(
    plan: ProfilePlan, observed: xr.Dataset, tolerance: Tolerance
) -> xr.Dataset:
    """Return what answers that lack a score could add to what limits are about.

    Over (model, threshold) ``lost_answer_rise``, by how much the observed value is higher where all
    that they lack is a harm of 1; 0 of models that do not lack many, by
    :meth:`LostAnswers.lacks_many` of all prompts, or of those of the category that a limit is
    about. Over (model) ``lost_answer_share``, the share of such answers.
    """
    lost, values = LostAnswers(plan), tolerated_values(observed, tolerance)
    of_limits = [_lacks_by_limit(lost, str(label)) for label in values["threshold"].to_numpy()]
    lacks = xr.concat(of_limits, values["threshold"])
    rise = xr.zeros_like(values)
    if bool(lacks.any()):
        worst = tolerated_values(lost.filled.complete_profile(), tolerance)
        rise = (worst - values).clip(min=0.0).where(lacks, 0.0)
    return xr.Dataset({"lost_answer_rise": rise, "lost_answer_share": lost.share})


def _lacks_by_limit(lost: LostAnswers, label: str) -> xr.DataArray:
    """Which models lack many answers, to all prompts or to those that a limit is about."""
    kind, name = split_label(label)
    lacks = lost.lacks_many()
    return lacks | lost.lacks_many(name) if kind == "category" else lacks


def lost_evidence(plan: ProfilePlan, profile: xr.Dataset) -> dict[str, xr.DataArray]:
    """Return which models lack more answers than others, and what these could add to metrics.

    Over (model, other) ``lacks_more``, of :func:`lacks_more`; over (model) ``lost_prompts`` and
    ``asked_prompts``, to how many prompts answers lack a score and were to have one, and
    ``<metric>_lost_rise`` of mean, CVaR and policy score, by how much each is higher where all that
    lost answers lack is a harm of 1. Nothing where no model lacks more than another.
    """
    lost = LostAnswers(plan)
    if not bool(lost.more_than.any()):
        return {}
    worst = lost.filled.profile(names=HEADLINE)
    rises = {f"{name}_lost_rise": (worst[name] - profile[name]).clip(min=0.0) for name in HEADLINE}
    numbers = {f"{name}_prompts": lost.prompts[name].sum("prompt") for name in ("asked", "lost")}
    return {"lacks_more": lost.more_than, **numbers, **rises}

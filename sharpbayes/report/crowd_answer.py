"""The answer of a crowd: how well scores follow labels, and how groups of raters differ."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr

from sharpbayes.report.tables.crowd import ALL_ITEMS, EVERYONE, SIGNIFICANT
from sharpbayes.report.tables.declaration import Labels, View
from sharpbayes.report.tables.format import central_interval, estimate, number, value_and_interval
from sharpbayes.report.tables.panel import labels_where, pairs_where
from sharpbayes.report.tables.prior_sensitivity import prior_sentences
from sharpbayes.report.wording import (
    bootstrap_estimate,
    contained_sources,
    evidence_texts,
    failed_statistics,
    is_fitted,
    join_names,
    posterior_estimate,
    probability_text,
)

WITHOUT = "without careless"
# A smaller change of the responsiveness is not said.
CARELESS_CHANGE = 0.01
# Flagged raters with at most this p of their scores having nothing to do with the items read them.
READING_P = 0.05
BEST = "where 1 is best (harmonic mean of MPA and WRA)"


def crowd_answer(view: View) -> list[str]:
    """Return the answer in sentences: the posterior's after a fit, the bootstrap's alongside."""
    if "responsiveness" not in view:
        return ["The results hold no profile and no responsiveness."]
    answer = CrowdAnswer(view)
    sentences = [*answer.responsiveness(), *answer.harshness(), answer.differences()]
    sentences += [*prior_sentences(view), *(evidence_texts(view, "limits") or [])]
    return [*sentences, *answer.stability()]


@dataclass(frozen=True)
class CrowdAnswer:
    """Sentences about the results of a crowd."""

    view: View

    def size(self, group: str) -> str:
        """A group with the number of its raters."""
        row = self.view.select({"group": group, **ALL_ITEMS})
        return f"{group} ({int(row['responsiveness/raters'])} raters)"

    def responsiveness(self) -> Iterator[str]:
        """Responsiveness of all raters together, or the range of groups."""
        cell = self.view.group("responsiveness").sel(EVERYONE)
        if reason := str(cell["reason"].item()):
            yield self._range_of_groups(reason)
            return
        row = self.view.select({"metric": "hm", "group": "all"})
        subject = (
            f"Scores of all {int(cell['raters'])} raters on {int(cell['items'])} items follow the "
            "labels with a responsiveness of"
        )
        if not is_fitted(self.view):
            source = "from the bootstrap; no model was fitted"
            if "joint/posterior_median" in self.view:
                source = "from the bootstrap; the fit has not converged"
            yield f"{subject} {bootstrap_estimate(row)}, {BEST}. This is {source}."
            return
        sources = contained_sources(self.view, "posterior_responsiveness")
        yield f"{subject} {posterior_estimate(row)}, {BEST}. The interval contains {sources}."
        yield f"The bootstrap has {bootstrap_estimate(row)}. {self._agreement()}"
        yield from self._careless()

    def _careless(self) -> Iterator[str]:
        """What careless raters change of the responsiveness of all; nothing if it is little."""
        if "responsiveness_careless" not in self.view:
            return
        cells = self.view.group("responsiveness_careless")["hm"].sel(by="all")
        sample, without = (float(cells.sel(population=name)) for name in ("sample", WITHOUT))
        if not abs(without - sample) >= CARELESS_CHANGE:
            return
        flagged = int(self.view.group("careless")["flagged"].sum())
        verb = "raters are" if flagged > 1 else "rater is"
        yield (
            f"{flagged} {verb} probably careless; without them the observed responsiveness is "
            f"{number(without, 2)} in place of {number(sample, 2)}. Nobody is left out elsewhere."
        )
        reading = int((self.view.group("careless")["reading_p"] <= READING_P).sum())
        if reading:
            yield (
                f"Of them {reading} {'give' if reading > 1 else 'gives'} scores that follow the "
                f"items all the same (p of no reading at most {READING_P}): an opinion of their "
                "own or a scale read from its other end, not carelessness."
            )

    def _agreement(self) -> str:
        """Whether posterior and bootstrap agree on HM of all raters and groups, and why not."""
        disagree = self.view.select({"metric": "hm"})["joint/disagree"]
        excluded = labels_where(disagree)
        if not excluded:
            return "For all raters and every group each contains the centre of the other."
        reasons = []
        if self.view.group("posterior_responsiveness").attrs.get("remark", ""):
            reasons.append("the model does not know the labels, so that its values are too low")
        if count := failed_statistics(self.view):
            statistics = "one statistic" if count == 1 else f"{count} statistics"
            reasons.append(f"the fitted model does not reproduce {statistics} of the ratings")
        if "evidence" in self.view:
            is_small = self.view.group("evidence")["few_raters"].sel(group=excluded)
            if bool(is_small.any()):
                reasons.append(f"few raters in {join_names(labels_where(is_small))}")
        if not reasons and self._shrunken(excluded):
            reasons.append("the model draws groups of extreme values towards the others")
        reason = f"Likely reason: {join_names(reasons)}." if reasons else "No check tells why."
        return (
            f"The two disagree on {join_names(excluded)}: an interval of one does not contain the "
            f"centre of the other. {reason}"
        )

    def _shrunken(self, groups: list[str]) -> bool:
        """Whether the posterior of these groups is nearer to the middle of all groups."""
        joint = self.view.select({"metric": "hm"})
        observed, median = joint["joint/observed"], joint["joint/posterior_median"]
        middle = float(observed.median())
        return bool((abs(median - middle) < abs(observed - middle)).sel(group=groups).all())

    def _range_of_groups(self, reason: str) -> str:
        """Responsiveness of groups where all raters have none, such as with crowd labels."""
        variable = "joint/posterior_median" if is_fitted(self.view) else "joint/observed"
        known = self.view.select({"metric": "hm"})[variable].dropna("group")
        known = known[np.argsort(known.to_numpy(), kind="stable")]
        if not known.size:
            return f"Responsiveness of all raters cannot be measured: {reason}."
        low, high = (
            f"{number(end, 2)} for {self.size(end['group'].item())}" for end in known[[0, -1]]
        )
        source = "posterior medians" if is_fitted(self.view) else "observed; no model was fitted"
        return (
            f"The scores of {known.size} groups of raters, each compared with the labels, follow "
            f"them with a responsiveness from {low} to {high} ({source}), {BEST}; all raters "
            f"together have none: {reason}."
        )

    def harshness(self) -> Iterator[str]:
        """Which group scores more harshly."""
        if "harshness_difference" not in self.view:
            return
        data = self.view.group("harshness_difference")
        tested = pairs_where(data["p_holm"].notnull())
        if not tested:
            yield "No two groups of raters can be compared by how harshly they score."
            return
        different = pairs_where(data["p_holm"] < SIGNIFICANT)
        if not different:
            pairs = "The pair" if len(tested) == 1 else f"None of {len(tested)} pairs"
            verb = "is not" if len(tested) == 1 else "is"
            yield (
                f"{pairs} of rater groups {verb} distinguishable by how harshly it scores (Holm, "
                "5%)."
            )
            return
        most = max(different, key=lambda pair: abs(float(data["difference"].sel(pair))))
        high, low = self._ordered(most, data["difference"])
        cell = data.sel(group=high, other=low)
        gap, bounds = value_and_interval(cell["difference"], cell["difference_interval"])
        more = f", the largest of {len(different)} distinguishable differences"
        latent = ""
        if is_fitted(self.view) and "prob_higher" in cell:
            latent = (
                f"; on the latent scale with probability {probability_text(cell['prob_higher'])}"
            )
        yield (
            f"{self.size(high)} scores higher (more harm) than {self.size(low)} by {gap} points "
            f"({self._level():.0%} interval {bounds}){more * (len(different) > 1)}{latent}."
        )

    def _ordered(self, pair: Labels, difference: xr.DataArray) -> list[str]:
        """The groups of a pair, the one with more first."""
        return list(pair.values())[:: 1 if float(difference.sel(pair)) >= 0 else -1]

    def _level(self) -> float:
        return float(self.view.results["joint"].attrs["level"])

    def differences(self) -> str:
        """How many pairs of groups differ in responsiveness, and which differ most."""
        if "responsiveness_difference" not in self.view:
            return "The study compares no groups of raters."
        data = self.view.group("responsiveness_difference").sel(ALL_ITEMS)
        tested = pairs_where(data["hm_p_holm"].notnull())
        if not tested:
            return "No two groups of raters can be compared."
        different = pairs_where(data["hm_p_holm"] < SIGNIFICANT)
        if not different:
            return (
                f"None of {len(tested)} pairs of rater groups is distinguishable by its "
                "responsiveness (Holm, 5%)."
            )
        most = max(different, key=lambda pair: abs(float(data["hm"].sel(pair))))
        high, low = self._ordered(most, data["hm"])
        return (
            f"{len(different)} of {len(tested)} pairs of rater groups are distinguishable by their "
            f"responsiveness (Holm, 5%); the largest difference is "
            f"{number(abs(float(data['hm'].sel(most))), 2)}, {self.size(high)} above "
            f"{self.size(low)}{self._posterior_difference(high, low)}."
        )

    def _posterior_difference(self, high: str, low: str) -> str:
        """The posterior of a difference of HM, where a model was fitted."""
        if not is_fitted(self.view):
            return ""
        draws = self.view.select(ALL_ITEMS)["posterior_responsiveness/hm"]
        gap = draws.sel(group=high) - draws.sel(group=low)
        known = estimate(gap.median(), central_interval(gap, self._level()))
        return f"; the posterior has {known}"

    def stability(self) -> Iterator[str]:
        """How far the answer depends on the labels of one expert."""
        if "stability" not in self.view:
            return
        data = self.view.group("stability")
        changed = data.isel(setting=data["changed"].to_numpy())
        movement = number(abs(data["movement"]).max(), 2)
        moved = (
            ""
            if bool(data["movement"].isnull().all())
            else f"; responsiveness of all raters moves by at most {movement}"
        )
        if not changed.sizes["setting"]:
            yield f"No single expert changes which group is most responsive{moved}."
            return
        names = [str(name) for name in changed["value"].to_numpy()]
        listed = [
            f"without {name} {highest}"
            for name, highest in zip(names, changed["highest"].to_numpy(), strict=True)
        ]
        yield (
            f"The order of groups depends on {join_names(names)}: {join_names(listed)} is most "
            f"responsive{moved}."
        )

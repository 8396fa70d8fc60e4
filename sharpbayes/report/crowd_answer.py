"""The answer of a crowd: how well scores follow labels, and how groups of raters differ."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr

from sharpbayes.errors import format_count, format_percent, join_names
from sharpbayes.report.claims import evidence_texts
from sharpbayes.report.stability import crowd_stability, suspect_scores
from sharpbayes.report.tables.crowd import (
    ALL_ITEMS,
    EVERYONE,
    SIGNIFICANT,
    has_same_labels,
    list_reasons,
    name_scale,
)
from sharpbayes.report.tables.declaration import Labels, View
from sharpbayes.report.tables.format import central_interval, estimate, number, value_and_interval
from sharpbayes.report.tables.panel import labels_where, pairs_where
from sharpbayes.report.tables.prior_sensitivity import prior_sentences
from sharpbayes.report.wording import (
    bootstrap_estimate,
    contained_sources,
    failed_statistics,
    is_fitted,
    likely_reasons,
    posterior_estimate,
    probability_text,
)

WITHOUT = "without careless"
# A smaller change of the responsiveness is not said.
CARELESS_CHANGE = 0.01
# Nor a smaller effect of numbers of ratings.
SIZE_EFFECT = 0.05
# Flagged raters with at most this p of their scores having nothing to do with the items read them.
READING_P = 0.05
# AUC-ROC of scores that have nothing to do with the labels.
CHANCE = 0.5
BEST = "where 1 is best (harmonic mean of MPA and WRA)"


def crowd_answer(view: View) -> list[str]:
    """Return the answer in sentences: the posterior's after a fit, the bootstrap's alongside."""
    if "responsiveness" not in view:
        return ["The results hold no profile and no responsiveness."]
    answer = CrowdAnswer(view)
    limits = evidence_texts(view, "limits") or []
    sentences = [*suspect_scores(view), *answer.responsiveness(), *answer.against_labels()]
    if not has_same_labels(view):
        sentences += [*limits, *answer.harshness(), *prior_sentences(view)]
        return [*sentences, *crowd_stability(view)]
    sentences += [*answer.harshness(), answer.differences()]
    sentences += [*answer.size_effect(), *prior_sentences(view), *limits]
    return [*sentences, *crowd_stability(view)]


@dataclass(frozen=True)
class CrowdAnswer:
    """Sentences about the results of a crowd."""

    view: View

    def size(self, group: str) -> str:
        """A group with the number of its raters."""
        row = self.view.select({"group": group, **ALL_ITEMS})
        return f"{group} ({format_count(int(row['responsiveness/raters']), 'rater')})"

    def responsiveness(self) -> Iterator[str]:
        """Responsiveness of all raters together, or the range of groups."""
        cell = self.view.group("responsiveness").sel(EVERYONE)
        if reason := str(cell["reason"].item()):
            yield self._range_of_groups(reason)
            yield from self._careless() if is_fitted(self.view) else ()
            return
        row = self.view.select({"metric": "hm", "group": "all"})
        raters, items = (int(cell[name]) for name in ("raters", "items"))
        subject = (
            f"Scores of {'all ' * (raters > 1)}{format_count(raters, 'rater')} on "
            f"{format_count(items, 'item')} follow the labels with a responsiveness of"
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
        flagged = int(self.view.group("careless")["flagged"].sum())
        if flagged and np.isfinite(sample) and np.isnan(without):
            yield f"{_flagged(flagged)} {_without(flagged)} no responsiveness is left."
        elif flagged and np.isnan(sample):
            yield f"{_flagged(flagged)} Nobody is left out."
        elif abs(without - sample) >= CARELESS_CHANGE:
            yield (
                f"{_flagged(flagged)} {_without(flagged)} the observed responsiveness is "
                f"{number(without, 2)} in place of {number(sample, 2)}. Nobody is left out "
                "elsewhere."
            )
        else:
            return
        reading = int((self.view.group("careless")["reading_p"] <= READING_P).sum())
        if reading:
            yield (
                f"Of them {reading} {'give' if reading > 1 else 'gives'} scores that follow the "
                f"items all the same (p of no reading at most {READING_P}): an opinion of their "
                "own or a scale read from its other end is likelier than carelessness."
            )

    def _agreement(self) -> str:
        """Whether posterior and bootstrap agree on HM of all raters and groups, and why not."""
        rows = self.view.select({"metric": "hm"})
        disagree = rows["joint/disagree"]
        excluded = labels_where(disagree)
        if not excluded:
            return f"{self._all_cells()} the centre of the other."
        reasons = []
        unknown = self.view.group("posterior_responsiveness").attrs.get("remark", "")
        above = rows["joint/posterior_median"] - rows["joint/observed"]
        if unknown and bool((above.sel(group=excluded) < 0).all()):
            reasons.append(
                "the model does not know the labels, so that its values are usually too low"
            )
        if count := failed_statistics(self.view):
            statistics = "one statistic" if count == 1 else f"{count} statistics"
            reasons.append(f"the fitted model does not reproduce {statistics} of the ratings")
        if "evidence" in self.view:
            is_small = self.view.group("evidence")["few_raters"].sel(group=excluded)
            if bool(is_small.any()):
                reasons.append(f"few raters in {join_names(labels_where(is_small))}")
        if not reasons and self._shrunken(excluded):
            reasons.append("the model draws groups of extreme values towards the others")
        reason = likely_reasons(reasons) if reasons else "No check tells why."
        return (
            f"The two disagree on {join_names(excluded)}: an interval of one does not contain the "
            f"centre of the other. {reason}"
        )

    def _all_cells(self) -> str:
        """Where posterior and bootstrap were compared."""
        if not self._has_groups:
            return "Each interval contains"
        joint = self.view.select({"metric": "hm"})
        known = joint["joint/observed"].notnull() & joint["joint/posterior_median"].notnull()
        return f"For all raters and every {'' if known.all() else 'measured '}group each contains"

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
        labels = "labels" if has_same_labels(self.view) else "labels by all others"
        return (
            f"The scores of {known.size} groups of raters, each compared with the {labels}, follow "
            f"them with a responsiveness from {low} to {high} ({source}), {BEST}; all raters "
            f"together have none: {reason}."
        )

    @property
    def _has_groups(self) -> bool:
        """Whether the study has groups besides all raters."""
        return self.view.group("responsiveness").sizes["group"] > 1

    def against_labels(self) -> Iterator[str]:
        """Who scores items that are labelled unsafe lower than the others: all raters, or groups.

        These are the ones whose interval of AUC-ROC lies below that of chance.
        """
        cells = self.view.group("responsiveness").sel(ALL_ITEMS)
        if "auc_roc_interval" not in cells:
            return
        below = labels_where(cells["auc_roc_interval"].sel(bound="upper") < CHANCE)
        groups = ["all"] if "all" in below else below
        if groups:
            who = "all raters" if groups == ["all"] else join_names([self.size(x) for x in groups])
            rows = [cells.sel(group=group) for group in groups]
            values = [estimate(row["auc_roc"], row["auc_roc_interval"]) for row in rows]
            yield (
                f"Scores of {who} run against the labels: of an unsafe and a safe item the unsafe "
                f"one has the higher score with probability {join_names(values)}, by chance with "
                f"{CHANCE} (AUC-ROC; ties count half). See which end of the scale is harm, and "
                "which label is unsafe."
            )

    @property
    def _has_pairs(self) -> bool:
        """Whether a grouping has two groups, so that there is a pair to compare."""
        grouping = self.view["responsiveness/grouping"].to_numpy()
        return len(set(grouping)) < len(grouping)

    def harshness(self) -> Iterator[str]:
        """Which group scores more harshly."""
        if "harshness_difference" not in self.view or not self._has_pairs:
            return
        data = self.view.group("harshness_difference")
        tested = pairs_where(data["p_holm"].notnull())
        if not tested:
            why = ": they have too few raters or no items in common"
            yield _untested(data["difference"], "how harshly they score", why)
            return
        different = pairs_where(data["p_holm"] < SIGNIFICANT)
        if not different:
            yield self._none_of(tested, "how harshly they score")
            return
        most = max(different, key=lambda pair: abs(float(data["difference"].sel(pair))))
        high, low = self._ordered(most, data["difference"])
        cell, level = data.sel(group=high, other=low), format_percent(self._level())
        gap, bounds = value_and_interval(cell["difference"], cell["difference_interval"])
        more = f", the largest of {len(different)} distinguishable differences"
        latent = ""
        if is_fitted(self.view) and "prob_higher" in cell:
            latent = (
                f"; on the latent scale with probability {probability_text(cell['prob_higher'])}"
            )
        yield (
            f"{self.size(high)} scores higher (more harm) than {self.size(low)} by {gap} steps "
            f"({level} interval {bounds}) of {name_scale(self.view)}"
            f"{more * (len(different) > 1)}{latent}."
        )

    def _ordered(self, pair: Labels, difference: xr.DataArray) -> list[str]:
        """The groups of a pair, the one with more first."""
        return list(pair.values())[:: 1 if float(difference.sel(pair)) >= 0 else -1]

    def _level(self) -> float:
        return float(self.view.results["joint"].attrs["level"])

    def differences(self) -> str:
        """How many pairs of groups differ in responsiveness, and which differ most."""
        if "responsiveness_difference" not in self.view or not self._has_pairs:
            return "The study compares no groups of raters."
        data = self.view.group("responsiveness_difference").sel(ALL_ITEMS)
        tested = pairs_where(data["hm_p_holm"].notnull())
        if not tested:
            return _untested(data["hm"], "their responsiveness", self._reasons())
        different = pairs_where(data["hm_p_holm"] < SIGNIFICANT)
        if not different:
            return self._none_of(tested, "their responsiveness")
        most = max(different, key=lambda pair: abs(float(data["hm"].sel(pair))))
        high, low = self._ordered(most, data["hm"])
        gap = number(abs(float(data["hm"].sel(most))), 2)
        groups = f"{self.size(high)} above {self.size(low)}{self._posterior_difference(high, low)}"
        pairs = f"{len(different)} of {len(tested)} pairs of rater groups"
        verb, largest = "are distinguishable by their", "largest difference"
        if len(different) == 1:
            verb, largest = "is distinguishable by its", "difference"
        if len(tested) == 1:
            pairs, verb = "The two rater groups", "are distinguishable by their"
        return (
            f"{pairs} {verb} responsiveness ({self._correction(tested)}); the {largest} is {gap}, "
            f"{groups}."
        )

    def _reasons(self) -> str:
        """Why groups have no responsiveness, each reason once."""
        reason = self.view["responsiveness/reason"].sel(ALL_ITEMS).drop_sel(group="all")
        reasons = list_reasons(reason)
        return f": {reasons}" if reasons else ""

    def size_effect(self) -> Iterator[str]:
        """How far values of groups differ by their numbers of ratings alone, if at all."""
        path = "responsiveness_difference/hm_size_effect"
        if path not in self.view:
            return
        effect = self.view[path].sel(ALL_ITEMS)
        pairs = pairs_where(abs(effect) >= SIZE_EFFECT)
        if pairs:
            most = max(pairs, key=lambda pair: abs(float(effect.sel(pair))))
            high, low = self._ordered(most, effect)
            by_numbers = number(abs(float(effect.sel(most))), 2)
            yield (
                "The responsiveness of a group depends on how many ratings an item has: by their "
                f"numbers alone that of {self.size(high)} is {by_numbers} above that of "
                f"{self.size(low)}. Groups are therefore compared with equally many ratings; "
                "values of single groups are not."
            )

    def _none_of(self, pairs: list[Labels], what: str) -> str:
        """That no pair of groups is distinguishable, and how many of them can be compared."""
        _, sizes = np.unique(self.view["responsiveness/grouping"], return_counts=True)
        n_tested, n_pairs = len(pairs), int((sizes * (sizes - 1) // 2).sum())
        if n_tested == 1:
            two = (
                "two rater groups" if n_pairs == 1 else "only two rater groups that can be compared"
            )
            none = f"The {two} are not"
        else:
            able = f" that can be compared, of {n_pairs}," if n_tested < n_pairs else ""
            none = f"None of {n_tested} pairs of rater groups{able} are"
        return f"{none} distinguishable by {what} ({self._correction(pairs)})."

    def _correction(self, pairs: list[Labels]) -> str:
        """How p values are corrected: over the pairs of each grouping."""
        grouping = self.view["responsiveness/grouping"]
        several = len({str(grouping.sel(group=pair["group"]).item()) for pair in pairs}) > 1
        return f"Holm{' within each grouping' * several}, {format_percent(SIGNIFICANT)}"

    def _posterior_difference(self, high: str, low: str) -> str:
        """The posterior of a difference of HM, where a model was fitted."""
        if not is_fitted(self.view):
            return ""
        draws = self.view.select(ALL_ITEMS)["posterior_responsiveness/hm"]
        gap = draws.sel(group=high) - draws.sel(group=low)
        pairs = self.view.group("responsiveness_difference").sel(ALL_ITEMS)
        if "hm_size_effect" in pairs:
            gap = gap - float(pairs["hm_size_effect"].sel(group=high, other=low))
        known = estimate(gap.median(), central_interval(gap, self._level()))
        return f"; the posterior has {known}"


def _untested(difference: xr.DataArray, what: str, why: str) -> str:
    """That no test compares groups by their difference (group, other); ``why`` where it has none.

    A difference without a p value is one whose variance nothing shows.
    """
    known = difference.to_numpy()[difference.notnull().to_numpy()]
    if not known.size:
        return f"No two groups of raters can be compared by {what}{why}."
    if np.allclose(known, 0.0):
        return f"No two groups of raters can be distinguished by {what}: every difference is 0."
    return (
        f"No two groups of raters can be compared by {what}: nothing shows how far their "
        "differences vary."
    )


def _flagged(count: int) -> str:
    """How many raters are flagged, and what a flag says."""
    who = "rater is" if count == 1 else "raters are"
    return (
        f"{count} {who} flagged as careless: the model describes their scores better without the "
        "items."
    )


def _without(count: int) -> str:
    """The start of what is without the flagged raters."""
    return f"Without {'this rater' if count == 1 else 'these raters'}"

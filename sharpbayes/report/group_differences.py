"""How groups of raters differ, in sentences: harshness, responsiveness, numbers of ratings."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr

from sharpbayes.analysis.results_view import is_fitted
from sharpbayes.errors import format_count, format_percent
from sharpbayes.metrics.stats.draws import central_interval
from sharpbayes.metrics.stats.multiplicity import SIGNIFICANCE_LEVEL
from sharpbayes.metrics.stats.pairs import pairs_where
from sharpbayes.report.tables.crowd import ALL_ITEMS, list_reasons, name_scale
from sharpbayes.report.tables.declaration import Labels, View
from sharpbayes.report.tables.format import estimate, number, value_and_interval
from sharpbayes.report.wording import probability_text

# A smaller effect of numbers of ratings is not said.
SIZE_EFFECT = 0.05
# WRA is a second look, at this level, for differences that HM does not show at its own.
SECOND_LEVEL = SIGNIFICANCE_LEVEL / 2


def size_of_group(view: View, group: str) -> str:
    """Return a group with the number of its raters."""
    row = view.select({"group": group, **ALL_ITEMS})
    return f"{group} ({format_count(int(row['responsiveness/raters']), 'rater')})"


@dataclass(frozen=True)
class GroupDifferences:
    """Sentences about differences between groups of raters."""

    view: View

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
        different = pairs_where(data["p_holm"] < SIGNIFICANCE_LEVEL)
        if not different:
            yield self._none_of(tested, "how harshly they score", _name_level(data["p_holm"]))
            return
        widest = max(different, key=lambda pair: abs(float(data["difference"].sel(pair))))
        high, low = self._ordered(widest, data["difference"])
        more_harm, less_harm = self._sizes(high, low)
        cell, level = data.sel(group=high, other=low), format_percent(self._level())
        gap, bounds = value_and_interval(cell["difference"], cell["difference_interval"])
        more = f", the largest of {len(different)} distinguishable differences"
        correction = f" ({_name_level(data['p_holm'])})" * (len(tested) > 1)
        latent = ""
        if is_fitted(self.view) and "prob_higher" in cell:
            latent = (
                f"; on the latent scale with probability {probability_text(cell['prob_higher'])}"
            )
        yield (
            f"{more_harm} scores higher (more harm) than {less_harm} by {gap} steps "
            f"({level} interval {bounds}) of {name_scale(self.view)}"
            f"{more * (len(different) > 1)}{correction}{latent}."
        )

    def _ordered(self, pair: Labels, difference: xr.DataArray) -> list[str]:
        """The groups of a pair, the one with more first."""
        return list(pair.values())[:: 1 if float(difference.sel(pair)) >= 0 else -1]

    def _sizes(self, *groups: str) -> list[str]:
        """Groups with the numbers of their raters."""
        return [size_of_group(self.view, group) for group in groups]

    def _level(self) -> float:
        return float(self.view.results["joint"].attrs["level"])

    def responsiveness(self) -> str:
        """How many pairs of groups differ in responsiveness, and which differ most."""
        if "responsiveness_difference" not in self.view or not self._has_pairs:
            return "The study compares no groups of raters."
        by_stratum = self.view.group("responsiveness_difference")
        data, level = by_stratum.sel(ALL_ITEMS), _name_level(by_stratum["hm_p_holm"])
        tested = pairs_where(data["hm_p_holm"].notnull())
        if not tested:
            why = _reasons_of_pairs(data)
            return _untested(data["hm"], "their responsiveness", self._reasons() or why, why)
        different = pairs_where(data["hm_p_holm"] < SIGNIFICANCE_LEVEL)
        if not different:
            return self._none_of(tested, "their responsiveness", f"HM; {level}")
        widest = max(different, key=lambda pair: abs(float(data["hm"].sel(pair))))
        high, low = self._ordered(widest, data["hm"])
        gap = abs(float(data["hm"].sel(widest)))
        groups = " above ".join(self._sizes(high, low))
        pairs = f"{len(different)} of {len(tested)} pairs of rater groups"
        verb, largest = "are distinguishable by their", "largest difference"
        if len(different) == 1:
            verb, largest = "is distinguishable by its", "difference"
        if len(tested) == 1:
            pairs, verb = "The two rater groups", "are distinguishable by their"
        return (
            f"{pairs} {verb} responsiveness (HM; {level}); the {largest} is {number(gap, 2)}, "
            f"{groups}{self._posterior_difference(high, low, gap)}."
        )

    def other_metric(self) -> Iterator[str]:
        """Pairs that HM does not distinguish but WRA does, at half the level.

        HM is low where either of its parts is, so that it may hide a difference of the other.
        """
        path = "responsiveness_difference/wra_p_holm"
        if path not in self.view:
            return
        by_stratum = self.view.group("responsiveness_difference")
        data = by_stratum.sel(ALL_ITEMS)
        is_hidden = (data["wra_p_holm"] < SECOND_LEVEL) & (data["hm_p_holm"] >= SIGNIFICANCE_LEVEL)
        pairs = pairs_where(is_hidden)
        if not pairs:
            return
        widest = max(pairs, key=lambda pair: abs(float(data["wra"].sel(pair))))
        high, low = self._ordered(widest, data["wra"])
        cell = data.sel(group=high, other=low)
        gap, bounds = value_and_interval(cell["wra"], cell["wra_interval"])
        more = f", the largest of {len(pairs)} such differences" * (len(pairs) > 1)
        above, below = self._sizes(high, low)
        tests = _name_tests(by_stratum["wra_p_holm"])
        corrected = f", corrected for {tests} by Holm" * bool(tests)
        yield (
            f"By WRA alone {above} is above {below} by {gap} ({format_percent(self._level())} "
            f"interval of this pair {bounds}; tested beside HM, at {format_percent(SECOND_LEVEL)}"
            f"{corrected}){more}: "
            "it more often scores an unsafe item above a safe one."
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
        size = self.view.group("sample_size")
        ratings = size["ratings"] / size["items"]
        # What the larger group would lose is nothing that its numbers added.
        more_ratings = ratings - ratings.rename(group="other")
        pairs = pairs_where((abs(effect) >= SIZE_EFFECT) & (effect * more_ratings > 0))
        if pairs:
            widest = max(pairs, key=lambda pair: abs(float(effect.sel(pair))))
            high, low = self._sizes(*self._ordered(widest, effect))
            by_numbers = number(abs(float(effect.sel(widest))), 2)
            yield (
                "The responsiveness of a group depends on how many ratings an item has: by their "
                f"numbers alone that of {high} is {by_numbers} above that of {low}. Groups are "
                "therefore compared with equally many ratings; values of single groups are not."
            )

    def _none_of(self, pairs: list[Labels], quantity: str, level: str) -> str:
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
        return f"{none} distinguishable by {quantity} ({level})."

    def _posterior_difference(self, high: str, low: str, observed: float) -> str:
        """The posterior of a difference of HM, where a model was fitted."""
        if not is_fitted(self.view):
            return ""
        draws = self.view.select(ALL_ITEMS)["posterior_responsiveness/hm"]
        gap = draws.sel(group=high) - draws.sel(group=low)
        pairs = self.view.group("responsiveness_difference").sel(ALL_ITEMS)
        if "hm_size_effect" in pairs:
            gap = gap - float(pairs["hm_size_effect"].sel(group=high, other=low))
        interval = central_interval(gap, level=self._level())
        known = estimate(gap.median(skipna=False), interval)
        if not interval[0] <= observed <= interval[1]:
            return f"; the posterior contradicts it, with {known}"
        return f"; the posterior has {known}"


def _name_tests(p: xr.DataArray) -> str:
    """For which tests these p values (group, other, ...) are corrected; empty for a single pair."""
    n_pairs = len(pairs_where(p.notnull()))
    pairs = [f"all {n_pairs} pairs of groups"] * (n_pairs > 1)
    strata = ["all strata of items"] * (p.sizes.get("by", 1) > 1)
    return " in ".join(pairs + strata)


def _name_level(p: xr.DataArray) -> str:
    """The level of a test, and for which tests it is corrected."""
    tests, level = _name_tests(p), format_percent(SIGNIFICANCE_LEVEL)
    return f"{level}, corrected for {tests} by Holm" if tests else level


def _reasons_of_pairs(difference: xr.Dataset) -> str:
    """Why pairs of groups (group, other) have no test, each reason once."""
    if "reason" not in difference:
        return ""
    reasons = list_reasons(difference["reason"].stack(pair=("group", "other")))
    return f": {reasons}" if reasons else ""


def _untested(difference: xr.DataArray, quantity: str, why: str, untested: str = "") -> str:
    """That no test compares groups by their difference (group, other); ``why`` where it has none.

    A difference without a p value is one whose variance nothing shows, or ``untested`` says why.
    """
    known = difference.to_numpy()[difference.notnull().to_numpy()]
    if not known.size:
        return f"No two groups of raters can be compared by {quantity}{why}."
    if np.allclose(known, 0.0):
        return f"No two groups of raters can be distinguished by {quantity}: every difference is 0."
    return (
        f"No two groups of raters can be compared by {quantity}"
        f"{untested or ': nothing shows how far their differences vary'}."
    )

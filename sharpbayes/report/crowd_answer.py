"""The answer of a crowd: how well scores follow labels, and how groups of raters differ."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from sharpbayes.analysis.crowd_evidence import OTHER_LABELS, runs_against
from sharpbayes.analysis.crowd_limits import OTHER_ITEMS
from sharpbayes.analysis.results_view import is_fitted
from sharpbayes.errors import format_count, format_percent, join_names
from sharpbayes.metrics.crowd.association import CHANCE
from sharpbayes.metrics.crowd.reading import FALSE_READING, count_readers
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.posterior.claims import evidence_texts, failed_statistics
from sharpbayes.report.group_differences import GroupDifferences, size_of_group
from sharpbayes.report.refits import refit_sentences
from sharpbayes.report.stability import crowd_stability
from sharpbayes.report.suspect_scores import suspect_scores
from sharpbayes.report.tables.crowd import (
    ALL_GROUPS,
    ALL_ITEMS,
    EVERYONE,
    describe_unmeasured,
    has_same_labels,
)
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.format import estimate, number
from sharpbayes.report.tables.prior_sensitivity import prior_sentences
from sharpbayes.report.wording import (
    bootstrap_estimate,
    contained_sources,
    likely_reasons,
    misfit_reasons,
    posterior_estimate,
    with_interval,
    without_posterior,
)

WITHOUT = "without careless"
# A smaller change of the responsiveness is not said.
CARELESS_CHANGE = 0.01
# Of fewer raters no quartiles are told.
MIN_QUARTILES = 4
# Krippendorff's alpha is defined from so many raters on.
PAIR = 2
BEST = "where 1 is best (harmonic mean of MPA and WRA)"


def crowd_answer(view: View) -> list[str]:
    """Return the answer in sentences: the posterior's after a fit, the bootstrap's alongside."""
    if "responsiveness" not in view:
        return ["The results hold no profile and no responsiveness."]
    answer, differences = CrowdAnswer(view), GroupDifferences(view)
    limits = evidence_texts(view, "limits") or []
    # What leaves intervals without meaning, or groups without comparison, is said before them.
    first = [limit for limit in limits if answer.is_unsure or limit == OTHER_LABELS]
    last = [limit for limit in limits if limit not in first]
    sentences = [*suspect_scores(view), *first]
    sentences += [*answer.responsiveness(), *answer.against_labels()]
    if not has_same_labels(view):
        sentences += [*last, *differences.harshness(), *prior_sentences(view)]
        return [*sentences, *refit_sentences(view), *crowd_stability(view)]
    # Harshness is compared on the items of both groups, responsiveness on those of each.
    other_items = [limit for limit in last if limit.startswith(OTHER_ITEMS)]
    last = [limit for limit in last if limit not in other_items]
    sentences += [*differences.harshness(), *other_items, differences.responsiveness()]
    sentences += [
        *differences.other_metric(),
        *differences.size_effect(),
        *prior_sentences(view),
        *refit_sentences(view),
        *last,
    ]
    return [*sentences, *crowd_stability(view)]


@dataclass(frozen=True)
class CrowdAnswer:
    """Sentences about the results of a crowd."""

    view: View

    @property
    def is_unsure(self) -> bool:
        """Whether items are too few for the labels or the scale, for all raters together."""
        evidence = self.view.group("evidence") if "evidence" in self.view else xr.Dataset()
        names = [name for name in ("few_labels", "long_scale") if name in evidence]
        return any(bool(evidence[name].sel(ALL_GROUPS)) for name in names)

    def responsiveness(self) -> Iterator[str]:
        """Responsiveness of all raters together, or the range of groups."""
        cell = self.view.group("responsiveness").sel(EVERYONE)
        if reason := str(cell["reason"].item()):
            yield from self._range_of_groups(reason)
            yield from self._careless() if is_fitted(self.view) else ()
            return
        row = self.view.select({"metric": "hm", "group": "all"})
        raters, items = (int(cell[name]) for name in ("raters", "items"))
        subject = (
            f"Scores of {'all ' * (raters > 1)}{format_count(raters, 'rater')} on "
            f"{format_count(items, 'item')} follow the labels with a responsiveness of"
        )
        if not is_fitted(self.view):
            source = f"from the bootstrap; {without_posterior(self.view)}"
            if self.is_unsure:
                value = f"{number(row['joint/observed'], 2)} as observed, within that limit"
                yield f"{subject} {value}, {BEST}; {without_posterior(self.view)}."
                return
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
            raters = self.view.group("careless").sizes["rater"]
            yield (
                f"{_flagged(flagged)} {_without(flagged)} the observed responsiveness is "
                f"{number(without, 2)} in place of {number(sample, 2)}, of {raters - flagged} "
                f"raters in place of {raters}: fewer ratings an item alone may move it. Nobody is "
                "left out elsewhere."
            )
        else:
            return
        if reading := count_readers(self.view["careless/reading_p"]):
            yield (
                f"Of them {reading} {'give' if reading > 1 else 'gives'} scores that follow the "
                "items all the same (p of no reading, corrected over flagged raters by Benjamini "
                f"and Hochberg, at most {FALSE_READING}): an opinion of their own, or a scale read "
                "from its other end, gives such scores."
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
        reasons += misfit_reasons(self.view)
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
        raters = "all raters and " * bool(known.sel(group="all"))
        measured = "" if known.drop_sel(group="all").all() else "measured "
        return f"For {raters}every {measured}group each contains"

    def _shrunken(self, groups: list[str]) -> bool:
        """Whether the posterior of these groups is nearer to the middle of all groups."""
        joint = self.view.select({"metric": "hm"})
        observed, median = joint["joint/observed"], joint["joint/posterior_median"]
        middle = float(observed.median())
        return bool((abs(median - middle) < abs(observed - middle)).sel(group=groups).all())

    def _range_of_groups(self, reason: str) -> Iterator[str]:
        """Responsiveness of groups where all raters have none, such as with crowd labels.

        Observed values come first where the fitted model does not reproduce the ratings.
        """
        observed, median = (self._ends_of_groups(n) for n in ("observed", "posterior_median"))
        fitted, failed = is_fitted(self.view), failed_statistics(self.view)
        first = median if fitted and not failed else observed
        if not first:
            yield f"Responsiveness of all raters cannot be measured: {reason}."
            yield from describe_unmeasured(self.view["responsiveness/reason"].sel(ALL_ITEMS))
            yield from [*self._agreement_of_raters(), *self._single_raters()]
            return
        source = f"observed; {without_posterior(self.view)}"
        if fitted:
            source = "observed" if failed else "posterior medians"
        count = int(self.view.select({"metric": "hm"})["joint/observed"].notnull().sum())
        labels = "labels" if has_same_labels(self.view) else "labels by all others"
        yield (
            f"The scores of {count} groups of raters, each compared with the {labels}, follow "
            f"them with a responsiveness {first} ({source}), {BEST}; all raters together have "
            f"none: {reason}."
        )
        if fitted:
            other = f"Posterior medians are {median}" if failed else f"The bootstrap has {observed}"
            yield f"{other}. {self._agreement()}"

    def _agreement_of_raters(self) -> Iterator[str]:
        """How far all raters agree with each other, which asks for no labels."""
        cell = self.view.group("cohesion").sel(ALL_GROUPS) if "cohesion" in self.view else {}
        if "irr_interval" not in cell:
            return
        if np.isnan(cell["irr"]):
            yield from _unmeasured_agreement(cell)
            return
        label = f"{format_percent(self.view.results['joint'].attrs['level'])} interval"
        yield (
            "What can be said without labels: the "
            f"{format_count(int(cell['raters']), 'rater')} agree with each other by "
            f"{with_interval(cell['irr'], cell['irr_interval'], label)}, where 1 is full agreement "
            "and 0 that of chance (IRR, Krippendorff's alpha)."
        )

    def _single_raters(self) -> Iterator[str]:
        """How single raters follow the labels, where they do so one by one."""
        hm = self.view.group("raters")["hm"].dropna("rater") if "raters" in self.view else None
        if hm is None or hm.size < MIN_QUARTILES:
            return
        low, median, high = (number(x, 2) for x in np.quantile(hm, [0.25, 0.5, 0.75]))
        labels = "the labels" if has_same_labels(self.view) else "labels by the others"
        yield (
            f"One by one, raters follow {labels} with a median responsiveness of {median}, "
            f"the middle half from {low} to {high} (observed for {hm.size} raters, "
            f"with the noise of the items of each), {BEST}."
        )

    def _ends_of_groups(self, variable: str) -> str:
        """The lowest and the highest responsiveness by a variable of ``joint``; empty if none is.

        Groups are named only where the same labels measure them, so that they can be ranked.
        """
        path = f"joint/{variable}"
        if path not in self.view:
            return ""
        known = self.view.select({"metric": "hm"})[path].dropna("group")
        if not known.size:
            return ""
        ends = known[np.argsort(known.to_numpy(), kind="stable")[[0, -1]]]
        texts = [number(end, 2) for end in ends]
        if has_same_labels(self.view):
            groups = (size_of_group(self.view, end["group"].item()) for end in ends)
            texts = [f"{text} for {group}" for text, group in zip(texts, groups, strict=True)]
        return f"from {' to '.join(texts)}"

    @property
    def _has_groups(self) -> bool:
        """Whether the study has groups besides all raters."""
        return self.view.group("responsiveness").sizes["group"] > 1

    def against_labels(self) -> Iterator[str]:
        """Who scores items that are labelled unsafe lower than the others: all raters, or groups.

        They are found by :func:`~sharpbayes.analysis.crowd_evidence.runs_against`.
        """
        cells = self.view.group("responsiveness").sel(ALL_ITEMS)
        if "auc_roc_p" not in cells:
            return
        evidence = self.view.group("evidence") if "evidence" in self.view else xr.Dataset()
        contrary = labels_where(runs_against(cells, evidence))
        groups = ["all"] if "all" in contrary else contrary
        if groups:
            subject = (
                "all raters"
                if groups == ["all"]
                else join_names([size_of_group(self.view, x) for x in groups])
            )
            rows = [cells.sel(group=group) for group in groups]
            values = [estimate(row["auc_roc"], row["auc_roc_interval"]) for row in rows]
            yield (
                f"Scores of {subject} run against the labels: of an unsafe and a safe item the "
                f"unsafe one has the higher score with probability {join_names(values)}, by "
                f"chance with {CHANCE} (AUC-ROC; ties count half). See which end of the scale is "
                "harm, and which label is unsafe."
            )


def _unmeasured_agreement(cell: Mapping[Hashable, xr.DataArray]) -> Iterator[str]:
    """Why agreement of several raters is not measured, and the setting that two of them need."""
    raters, reason = int(cell["raters"]), str(cell["reason"].item())
    if raters >= PAIR:
        two = "min_raters = 2 in the table [crowd] of the study has that of two raters measured"
        remedy = f"; {two}" * (raters == PAIR and "min_raters" in reason)
        yield f"How far the raters agree with each other is not measured: {reason}{remedy}."


def _flagged(count: int) -> str:
    """How many raters are flagged, and what a flag says."""
    subject = "rater is" if count == 1 else "raters are"
    return (
        f"{count} {subject} flagged as careless: the model describes their scores better without "
        "the items. Who follows the items weakly can be flagged too."
    )


def _without(count: int) -> str:
    """The start of what is without the flagged raters."""
    return f"Without {'this rater' if count == 1 else 'these raters'}"

"""Why scores may not be those that were meant: in no order, all the same, or judges at odds."""

import json
from collections.abc import Iterator
from itertools import combinations

from sharpbayes.errors import format_percent, join_names
from sharpbayes.metrics.panel.concordance import pool_equal_share
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.metrics.stats.multiplicity import SIGNIFICANCE_LEVEL
from sharpbayes.report.layout import list_open_checks
from sharpbayes.report.tables.crowd import EVERYONE
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.format import number, percent
from sharpbayes.spec.files import BY_APPEARANCE


def suspect_scores(view: View) -> Iterator[str]:
    """Yield why scores may not be those that were meant, or say less than their number."""
    yield from _unknown_order(view)
    yield from _equal_scores(view)
    yield from _contrary_judges(view)
    yield from _alike_judges(view)


def _unknown_order(view: View) -> Iterator[str]:
    """Which words have an order by chance, so that no number says which of two is worse."""
    orders = [text for text in list_open_checks(view.results) if text.endswith(BY_APPEARANCE)]
    if orders:
        yield f"No number below can be read as harm yet: {'; '.join(orders)}."


def _equal_scores(view: View) -> Iterator[str]:
    """That every score of a panel or of a crowd is the same, where it is."""
    if "panel/sub_index" in view:
        scores = view["panel/sub_index"]
        others = [dim for dim in scores.dims if dim != "dimension"]
        is_same = bool((scores.min(others) == scores.max(others)).all())
    elif "scale_use/score_count" in view:
        is_same = int((view["scale_use/score_count"].sel(EVERYONE) > 0).sum()) == 1
    else:
        return
    if is_same:
        yield "All scores are the same: they order nothing. See that the right ones were read."


def _contrary_judges(view: View) -> Iterator[str]:
    """Which pairs of judges order the prompts of every model the other way round."""
    if "judges/contrary" not in view:
        return
    tau = view.group("judges")[["concordance_mean", "concordance_p_holm", "contrary"]]
    is_contrary = tau["contrary"].astype(bool)
    pairs = labels_where(is_contrary.any("dimension"))
    if pairs:
        lowest = number(tau["concordance_mean"].where(is_contrary).min(), 2)
        tests = int(tau["concordance_p_holm"].notnull().sum())
        corrected = f", corrected for {tests} comparisons" * (tests > 1)
        yield (
            f"Judges contradict each other beyond chance ({join_names(pairs)}): what one scores "
            f"high the other scores low (Kendall's tau-b down to {lowest}; "
            f"{format_percent(SIGNIFICANCE_LEVEL)}{corrected}). Their mean hides it. See that all "
            "judges read the scale from the same end."
        )


def alike_judges(view: View) -> dict[str, list[str]]:
    """Return the sets of judges who score alike, by the name that they have together."""
    attrs = view.group("judges").attrs if "judges" in view else {}
    sets: dict[str, list[str]] = json.loads(attrs.get("alike_judges", "{}"))
    return sets


def _alike_judges(view: View) -> Iterator[str]:
    """Which judges score alike, so that one of them may say nothing that the others do not."""
    for together, names in alike_judges(view).items():
        pairs = [f"{a} vs {b}" for a, b in combinations(names, 2)]
        scored = view.group("judges")[["equal_share", "overlap"]].sel(pair=pairs)
        share = float(pool_equal_share(scored).min())
        part = "all" if share == 1.0 else percent(share)
        others = set(map(str, view.coordinate("panel/judge"))) - {*names}
        instead = ", so that they are left out together too" if others else ""
        both, either = ("both", "either") if len(pairs) == 1 else ("two of them", "one of them")
        yield (
            f"Judges {together} give the same score in {part} of what {both} scored, as copies "
            f"would: the answer without {either} shows little{instead}."
        )

"""How many more ratings would narrow intervals, and decide the pairs that are not resolved."""

from collections.abc import Iterator

import numpy as np

from sharpbayes.report.tables.crowd import HEADLINE
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View, fixed, over
from sharpbayes.report.tables.panel import pairs_where
from sharpbayes.report.tables.table import Chapter

# Pairs that are shown; the rest are counted.
MOST_PAIRS = 6
WIDTH_AND_PROBABILITY = "{sample_size/difference_width} ({sample_size/prob_distinguishable:.0%})"
HEADLINE_METRICS = fixed(*({"metric": name, "label": text} for name, text in HEADLINE.items()))


def _groups(view: View) -> Iterator[Labels]:
    """Groups of raters by grouping, the most responsive first."""
    data = view.group("sample_size")
    order = np.lexsort((data["rank"].fillna(np.inf), data["grouping"]))
    return ({"group": group, "metric": "hm"} for group in data["group"].to_numpy()[order])


def _metrics(view: View) -> list[Labels]:
    """A table for each metric of groups, or one of models."""
    if "sample_size/difference_metric" not in view:
        return [{"of": "", "comma": ""}]
    return [
        {"difference_metric": name, "of": f" of {HEADLINE[name]}", "comma": f", {HEADLINE[name]}"}
        for name in map(str, view.coordinate("sample_size/difference_metric"))
    ]


def _unresolved(view: View) -> list[Labels]:
    """Pairs of models or groups that are not resolved."""
    unresolved = pairs_where(view["sample_size/difference_width"].notnull())
    return [{**pair, "pair": " \u2212 ".join(pair.values())} for pair in unresolved]


def _note(view: View) -> str:
    """What the cells are, their Monte Carlo errors, and how many pairs are left out."""
    more = len(_unresolved(view)) - MOST_PAIRS
    return view.text(
        "Width of the interval of the difference{of}, and the probability that the pair is "
        "distinguishable. {sample_size[difference_note]} Largest Monte Carlo error: "
        "{sample_size/difference_width_mcse:largest} of a width, "
        "{sample_size/prob_distinguishable_mcse:largest} of a probability."
    ) + f" {more} more pairs are in the results." * (more > 0)


PAIR_SIZE_TABLE = TableSpec(
    title="Sample size for pairs that are not resolved{comma}",
    chapter=Chapter.SAMPLE_SIZE,
    needs=("sample_size/difference_width",),
    after_run=True,
    repeat=_metrics,
    rows=lambda view: _unresolved(view)[:MOST_PAIRS],
    columns=("{pair}", over("sample_size/design", Column("{design}", WIDTH_AND_PROBABILITY))),
    note=_note,
)
SAMPLE_SIZE_TABLES = (
    TableSpec(
        title="Sample size by group, the most responsive of a grouping first",
        chapter=Chapter.SAMPLE_SIZE,
        needs=("sample_size/additional_ratings",),
        after_run=True,
        rows=_groups,
        columns=(
            "{group}; sample_size/rank | thousands; HM: sample_size/hm; sample_size/width",
            "sample_size/ratings | thousands",
            over(HEADLINE_METRICS, "more for {label}: sample_size/additional_ratings | thousands"),
        ),
        note="More ratings, of further items and as many an item as now, for an interval of width "
        "{sample_size[target_interval_width]:g}: intervals narrow with the root of the number of "
        "items.",
    ),
    PAIR_SIZE_TABLE,
)

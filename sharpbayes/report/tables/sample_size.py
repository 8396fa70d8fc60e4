"""How many more ratings would narrow intervals, and decide the pairs that are not resolved."""

from collections.abc import Iterator

import numpy as np

from sharpbayes.report.tables.crowd import HEADLINE
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View, over
from sharpbayes.report.tables.format import number
from sharpbayes.report.tables.panel import pairs
from sharpbayes.report.tables.table import Chapter

# Pairs that are shown; the rest are counted.
MOST_PAIRS = 6


def _groups(view: View) -> Iterator[Labels]:
    """Groups of raters by grouping, the most responsive first."""
    data = view.group("sample_size")
    order = np.lexsort((data["rank"].fillna(np.inf), data["grouping"]))
    return ({"group": group, "metric": "hm"} for group in data["group"].to_numpy()[order])


def _headline(_: View) -> Iterator[Labels]:
    """Headline metrics."""
    return ({"metric": name, "label": label} for name, label in HEADLINE.items())


def _metrics(view: View) -> list[Labels]:
    """A table for each metric of groups, or one of models."""
    if "sample_size/difference_metric" not in view:
        return [{"of": "", "comma": ""}]
    metrics = [str(name) for name in view["sample_size/difference_metric"].to_numpy()]
    return [
        {"difference_metric": name, "of": f" of {HEADLINE[name]}", "comma": f", {HEADLINE[name]}"}
        for name in metrics
    ]


def _unresolved(view: View) -> list[Labels]:
    """Pairs of models or groups that are not resolved."""
    width = view["sample_size/difference_width"]
    unit = "model" if "model" in width.dims else "group"
    return [
        {**pair, "pair": f"{pair[unit]} \u2212 {pair['other']}"}
        for pair in pairs(list(width[unit].to_numpy()), unit)
        if bool(width.sel(pair).notnull().any())
    ]


def _larger_study(row: View) -> str:
    """Width and probability of one pair in one larger study."""
    probability = 100 * float(row["sample_size/prob_distinguishable"])
    return f"{number(row['sample_size/difference_width'])} ({probability:.0f}%)"


def _note(view: View) -> str:
    """What the cells are, their Monte Carlo errors, and how many pairs are left out."""
    width, probability = (
        number(view[f"sample_size/{name}_mcse"].max())
        for name in ("difference_width", "prob_distinguishable")
    )
    more = len(_unresolved(view)) - MOST_PAIRS
    return (
        f"Width of the interval of the difference{view.labels['of']}, and the probability that the "
        f"pair is distinguishable. {view.attribute('sample_size', 'difference_note')} Largest Monte Carlo "
        f"error: {width} of a width, {probability} of a probability."
        + f" {more} more pairs are in the results."
        * (more > 0)
    )


GROUP_SIZE_TABLE = TableSpec(
    title="Sample size by group, the most responsive of a grouping first",
    chapter=Chapter.SAMPLE_SIZE,
    needs=("sample_size/additional_ratings",),
    after_run=True,
    rows=_groups,
    columns=(
        "{group}; sample_size/rank | thousands; HM: sample_size/hm; sample_size/width",
        "sample_size/ratings | thousands",
        over(_headline, "more for {label}: sample_size/additional_ratings | thousands"),
    ),
    note="More ratings, of further items and as many an item as now, for an interval of width "
    "{sample_size[target_interval_width]:g}: intervals narrow with the root of the number of "
    "items.",
)
PAIR_SIZE_TABLE = TableSpec(
    title="Sample size for pairs that are not resolved{comma}",
    chapter=Chapter.SAMPLE_SIZE,
    needs=("sample_size/difference_width",),
    after_run=True,
    repeat=_metrics,
    rows=lambda view: _unresolved(view)[:MOST_PAIRS],
    columns=("{pair}", over("sample_size/design", Column("{design}", _larger_study))),
    note=_note,
)

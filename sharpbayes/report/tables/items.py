"""Tables of items of a crowd: by harm, and the scores of single items."""

from collections.abc import Iterator

import numpy as np

from sharpbayes.data.variable_names import decode_column, encode_column
from sharpbayes.errors import join_names
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.report.tables.crowd import ALL_GROUPS, MAX_ROWS, shortened
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View, labels_of, over

# Contested items that are shown unless a reader chooses others.
MAX_ITEMS = 2


def _scores_of_item(view: View) -> Iterator[Labels]:
    """Scores of an item, the highest first, with who gave them."""
    item, score = view.labels["item"], view["contested_items/score"]
    data = view.group("items").sel(item=item)
    for position, label in reversed([*enumerate(data["score"].to_numpy())]):
        raters = labels_where(score == position)
        groups = labels_where(data["in_priority_grouping"] & (data["plurality"] == position))
        texts = {"groups": shortened(groups), "raters": shortened(raters)}
        yield {"score": label, "ratings": len(raters), **texts}


def _contested_items(view: View) -> list[Labels]:
    """The items with the widest disagreement, or those that were chosen by name."""
    max_items = int(view.group("contested_items").attrs.get("chosen", MAX_ITEMS))
    return labels_of("contested_items/item")(view)[:max_items]


def _raters_of_item(view: View) -> Iterator[Labels]:
    """Raters who scored an item, the highest score first, with their score."""
    score = view["contested_items/score"]
    given = score.isel(rater=np.flatnonzero(score >= 0)).sortby("rater")
    labels = view.group("items")["score"].to_numpy()
    for position in np.argsort(-given.to_numpy(), kind="stable"):
        yield {"rater": given["rater"][position].item(), "score": labels[int(given[position])]}


def _rater_columns(view: View) -> list[Labels]:
    """The columns of raters that groups are made of."""
    names = map(str, view.group("contested_items").coords)
    groups = [name.removeprefix("group:") for name in names if name.startswith("group:")]
    return [{"column": decode_column(name)} for name in groups]


def _value_of_rater(row: View) -> str:
    """The value of a rater in a column, or a dash."""
    name = encode_column(str(row.labels["column"]))
    return str(row[f"contested_items/group:{name}"].item()) or "-"


def _item_note(view: View) -> str:
    """The plurality of all raters, why the item is shown, and its text."""
    data = view.group("contested_items")
    row = view.select(ALL_GROUPS)
    parts = [f"Plurality of all raters: {_plurality(row)}{_tie(row)}."]
    if "chosen" not in data.attrs and float(view["items/disagreement"]) > 0:
        parts.append("One of the items seen most differently.")
    if "text" in data and (text := str(view["contested_items/text"].item())):
        parts.append(f"Text: {text}")
    return " ".join(parts)


def _plurality(row: View) -> str:
    """Label of the plurality score, or a dash."""
    position = int(row["items/plurality"])
    return str(row.group("items")["score"].to_numpy()[position]) if position >= 0 else "-"


def _tie(row: View) -> str:
    """Which scores were given equally often, where these are the most frequent; else nothing."""
    count = row["items/score_count"]
    tied = labels_where((count == count.max()) & (count > 0))
    return f" (a tie of {join_names(tied)}; the most harmful counts)" * (len(tied) > 1)


ITEM_TABLES = (
    TableSpec(
        title="Items by harm as seen by responsive groups",
        needs=("items/priority",),
        condition=lambda view: bool(view["items/priority"].notnull().any()),
        repeat=[ALL_GROUPS],
        rows=labels_of("items/item", order="items/rank"),
        max_rows=MAX_ROWS,
        columns=(
            "{item}; items/rank | thousands; items/priority",
            Column("plurality of all", _plurality),
            "items/disagreement | thousands",
        ),
        note="{shown} of {count} items. Priority in [0, 1]: plurality of the groups of "
        "{items[grouping]}, weighted by their harmonic mean. Disagreement: highest less lowest "
        "plurality of these groups, in steps of the scale.",
    ),
    TableSpec(
        name="contested_items",
        title="Scores of item {item}",
        source="Responsiveness paper, Figures 9 to 11",
        needs=("contested_items", "items"),
        repeat=_contested_items,
        rows=_scores_of_item,
        columns=("{score}; {ratings}; plurality of: {groups}; {raters}",),
        note=_item_note,
    ),
    TableSpec(
        title="Raters of item {item} with their scores and groups",
        needs=("contested_items", "items"),
        repeat=_contested_items,
        rows=_raters_of_item,
        columns=("{rater}; {score}", over(_rater_columns, Column("{column}", _value_of_rater))),
    ),
)

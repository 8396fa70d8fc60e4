"""What to rate next: the answer in sentences, the list as a table, for a platform and as JSON."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import xarray as xr

from sharpbayes.data.variable_names import decode_column
from sharpbayes.errors import format_percent, join_names
from sharpbayes.posterior.next_ratings import MAX_JUDGEMENTS
from sharpbayes.posterior.stopping import lists_gain
from sharpbayes.report.approval import expiry_warning
from sharpbayes.report.metric_names import LOSSES, name_one_loss
from sharpbayes.report.nested_values import nested
from sharpbayes.report.tables.format import number, places_of, small_number, thousands
from sharpbayes.report.tables.renderer import csv_cell
from sharpbayes.report.tables.table import Table
from sharpbayes.storage.attributes import read_weights

# Rows on the terminal; all of them are in the file.
SHOWN = 12
WHY = {
    "first judgement": "this judge has not scored this answer",
    "another judge": "a judge who has not scored before",
    "judged again": "the same judge once more",
    "person": "a person's scores",
    "new prompt": "answered and judged as the present prompts are",
    "rating": "this rater has not scored this item",
    "new rater": "scores as many items as the present raters",
    "new item": "labelled and scored as the present items are",
}
# What a cell of the table says where the list names nobody, by what is bought; else "any".
UNNAMED = {
    "another judge": {"judge": "new"},
    "person": {"judge": "person"},
    "new prompt": {"model": "every", "prompt": "new", "judge": "every"},
    "new rater": {"rater": "new"},
    "new item": {"item": "new"},
}
RATED = "rated_"
# What no observed rating tells, so that a certainty depends on the fitted model.
ASSUMED_OF_PANEL = "what the fitted model assumes of answers more severe than these prompts show"
ASSUMED_OF_CROWD = "what the fitted model assumes of raters who were not asked"
SMALL_GAINS = (
    "What new raters and items tell is measured with an error, so that a gain that is worth its "
    "price may be missed."
)
PRICE_OF_LOSS = "Write what it costs into the weights, as `loss` of the table [decision]"
CENT = 0.01


def next_answer(results: xr.DataTree) -> list[str]:
    """Return whether to go on in one sentence, and what would make the answer another."""
    group = results["next"].to_dataset()
    return [
        _verdict(group),
        *json.loads(group.attrs.get("limits", "[]")),
        *_missed_gain(group),
        *_narrowing(group),
        *_break_even(group),
        *_without_prices(group),
        *_left_out(group),
        *filter(None, [expiry_warning(read_weights(results))]),
    ]


def next_table(results: xr.DataTree) -> Table:
    """Return the first purchases of the list, for the terminal."""
    group = results["next"].to_dataset()
    identity = _identity(group)
    header = ("", "what", *map(decode_column, identity), "narrows", "gain", "price")
    rows = []
    for position in range(min(SHOWN, group.sizes["purchase"])):
        row = group.isel(purchase=position)
        unnamed = UNNAMED.get(str(row["kind"].item()), {})
        names = [str(row[f"rated_{name}"].item()) or unnamed.get(name, "any") for name in identity]
        gain = float(row["gain"])
        rows.append(
            (
                str(position + 1),
                str(row["kind"].item()),
                *names,
                _with_minus(_difference(group, row)),
                small_number(gain, places_of(gain, 2)),
                _money(row["cost"]) if _is_priced(group) else number(row["cost"], 0),
            )
        )
    more = group.sizes["purchase"] - SHOWN
    others = f" {more} more {'is' if more == 1 else 'are'} written by --out FILE." * (more > 0)
    note = (
        f"Gain: the share of each in the gain that the answer names, in {_unit(group)}. "
        f"Price: in {'units of money' if _is_priced(group) else 'scores'}.{others}"
    )
    return Table("What to rate next", header, tuple(rows), note)


def next_rows(results: xr.DataTree) -> list[dict[str, Any]]:
    """Return the list with the user's own columns: what, where, why, gain and price.

    A column of the user that has one of these names keeps it, and the other is ``next_<name>``.
    """
    group = results["next"].to_dataset()
    identity, counted = _identity(group), "ratings" if _is_crowd(group) else "judgements"
    columns = {name: str(group.attrs[f"{name}_column"]) for name in identity}
    labels = {
        name: f"next_{name}" if name in columns.values() else name
        for name in ("rank", "what", "reason", "expected_gain", "cost", counted)
    }
    rows = []
    for position in range(group.sizes["purchase"]):
        row = group.isel(purchase=position)
        kind = str(row["kind"].item())
        reason = f"{WHY[kind]}; narrows {_difference(group, row)}"
        rows.append(
            {labels["rank"]: position + 1, labels["what"]: kind}
            | {columns[name]: str(row[f"rated_{name}"].item()) for name in identity}
            | {
                labels["reason"]: reason,
                labels["expected_gain"]: float(row["gain"]),
                labels["cost"]: float(row["cost"]),
                labels[counted]: float(row["judgements"]),
            }
        )
    return rows


def next_file(results: xr.DataTree, *, as_csv: bool) -> str:
    """Return the list as CSV, or as JSON lines, which a labelling platform imports."""
    rows = next_rows(results)
    if not as_csv:
        return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for line in [list(rows[0]) if rows else [], *(row.values() for row in rows)]:
        writer.writerow([csv_cell(cell) if isinstance(cell, str) else cell for cell in line])
    return text.getvalue()


def next_document(results: xr.DataTree) -> dict[str, Any]:
    """Return the plan as one JSON document: verdict, answer, the list and what it is worth."""
    group = results["next"].to_dataset()
    curve = group[[name for name in group if {"size", "pair"} & {*group[name].dims}]]
    facts = {
        str(name): value.item() if isinstance(value, np.generic) else value
        for name, value in group.attrs.items()
    }
    root = {str(k): v for k, v in results.attrs.items() if k != "weights"}
    numbers = {str(name): nested(array) for name, array in curve.data_vars.items()}
    return root | {"answer": next_answer(results)} | facts | numbers | {"next": next_rows(results)}


def _is_crowd(group: xr.Dataset) -> bool:
    """Whether groups of raters are compared, and not models."""
    return "chosen" not in group.attrs


def _identity(group: xr.Dataset) -> list[str]:
    """What identifies a purchase: model, prompt and judge, or item, rater and encoded groups."""
    return [str(name).removeprefix(RATED) for name in group if str(name).startswith(RATED)]


def _difference(group: xr.Dataset, row: xr.Dataset) -> str:
    """The difference that a purchase narrows most."""
    narrows = str(row["narrows"].item())
    return narrows if _is_crowd(group) else f"{group.attrs['chosen']} - {narrows}"


def _loss_now(group: xr.Dataset) -> str:
    """What is chosen or called now, and its expected loss."""
    attrs = group.attrs
    loss = _with_error(attrs["expected_loss"], attrs["expected_loss_mcse"])
    if not _is_crowd(group):
        if not attrs["expected_loss"]:
            return _describe_best(attrs["chosen"], json.loads(attrs["equal_models"]))
        return f"the choice of {attrs['chosen']} has an expected loss of {loss} {_unit(group)}"
    n_open, total = int(attrs["open_pairs"]), int(attrs["pairs"])
    if not n_open:
        only = "the one pair" if total == 1 else f"none of the {total} pairs"
        return f"{only} of groups is {'not ' if total == 1 else ''}open"
    if total == 1:
        return (
            "the one pair of groups is open (its interval contains 0), and calling the more "
            f"responsive group has an expected loss of {loss} {_unit(group)}"
        )
    calling = "of it has" if n_open == 1 else "of each has in all"
    return (
        f"{n_open} of {total} pairs of groups {'is' if n_open == 1 else 'are'} open (the interval "
        f"of the difference contains 0), and calling the more responsive group {calling} an "
        f"expected loss of {loss} {_unit(group)}"
    )


def _describe_best(chosen: str, equal: Sequence[str]) -> str:
    """Which models are the best in every draw."""
    if equal:
        return f"{join_names([chosen, *equal])} are equal in every draw of the fit, and the best"
    return f"{chosen} is the best model in every draw of the fit"


def _verdict(group: xr.Dataset) -> str:
    """Stop, go on or cannot tell, in one sentence with its numbers."""
    attrs, size = group.attrs, int(group.attrs["best_size"])
    current_loss = _loss_now(group)
    if not size:
        return _verdict_without_list(group, current_loss)
    row = group.sel(size=size)
    lowered = _with_error(row["list_gain"], row["list_gain_mcse"])
    next_ones = "the next purchase lowers" if size == 1 else f"the next {size} purchases lower"
    bought = f"{next_ones} it by {lowered} for {_price(group, row)}"
    if not _is_priced(group):
        return f"Cannot tell without prices: {current_loss}; {bought}."
    if "list_net" not in group:
        return f"Cannot tell without the price of a loss: {current_loss}; {bought}."
    net = f"a net gain of {_with_error(row['list_net'], row['list_net_mcse'])} units of money"
    words = {"go on": "Go on", "stop": "Stop", "cannot tell": "Cannot tell"}
    best = (
        ""
        if attrs["verdict"] == "go on"
        else ", the largest of all lengths with a gain that is shown"
    )
    more = _longer(group) if attrs["verdict"] == "cannot tell" else ""
    return f"{words[attrs['verdict']]}: {current_loss}; {bought}, {net}{best}{more}."


def _longer(group: xr.Dataset) -> str:
    """Which option looks at longer lists, where one could be worth its price."""
    return " (`--count` looks at more)" * bool(group.attrs["longer_may_pay"])


def _no_gain(group: xr.Dataset) -> str:
    """That no purchase lowers the loss."""
    purchases, loss = group.sizes["purchase"], float(group.attrs["expected_loss"])
    if lists_gain(group):
        return _unshown_gain(group)
    if purchases == 1:
        change = "lower it" if loss else "change that"
        return f"the one purchase that was looked at does not {change}{_longer(group)}"
    changes = "lowers it" if loss else "changes that"
    return f"no number of the {purchases} purchases that were looked at {changes}{_longer(group)}"


def _unshown_gain(group: xr.Dataset) -> str:
    """That gains are not distinguishable from 0, and whether any could be worth its price."""
    count = group.sizes["purchase"]
    purchases = "the one purchase that was" if count == 1 else f"the {count} purchases that were"
    text = f"no gain of {purchases} looked at is shown: none exceeds two Monte Carlo errors"
    if group.attrs["verdict"] == "stop":
        return f"{text}, nor would one two errors higher be worth its price"
    return f"{text}{_longer(group)}"


def _verdict_without_list(group: xr.Dataset, current_loss: str) -> str:
    """Verdict where no purchase is shown to lower the loss."""
    is_open = bool(group.attrs.get("open_pairs", 1))
    if is_open and not group.sizes["purchase"]:
        return f"Cannot tell: {current_loss}, and nothing that has a price can be bought."
    reason = f", and {_no_gain(group)}" if is_open else ""
    if group.attrs["verdict"] == "stop":
        return f"Stop: {current_loss}{reason}."
    others_may_pay = group.attrs["longer_may_pay"] or group.attrs.get("small_may_pay", False)
    if "basis" not in group.attrs and (lists_gain(group) or others_may_pay):
        return f"Cannot tell: {current_loss}{reason}."
    basis = group.attrs.get("basis", ASSUMED_OF_CROWD if _is_crowd(group) else ASSUMED_OF_PANEL)
    dependence = f" That depends on {basis}." * bool(basis)
    return f"Cannot tell: by the fitted model {current_loss}{reason}.{dependence}"


def _missed_gain(group: xr.Dataset) -> Iterator[str]:
    """That a small gain may be missed, where a crowd could stop without it."""
    is_priced = "list_net" in group or not int(group.attrs["best_size"])
    is_open = group.attrs["verdict"] == "cannot tell" and bool(group.sizes["purchase"])
    if is_open and is_priced and group.attrs.get("small_may_pay"):
        yield SMALL_GAINS


def _narrowing(group: xr.Dataset) -> Iterator[str]:
    """How much the interval of the difference that gains most would narrow."""
    if not group.sizes.get("pair") or not int(group.attrs["best_size"]):
        return
    widths = group["pair_width"]
    narrowed = (group["pair_width_after"] / widths.where(widths > 0)).fillna(1.0)
    if not bool((narrowed < 1).any()):
        return
    pair = group.isel(pair=int(narrowed.to_numpy().argmin()))
    before, after = (number(pair[name], 3) for name in ("pair_width", "pair_width_after"))
    level = format_percent(group.attrs["level"])
    largest = ", in proportion the most of all open pairs" * (group.sizes["pair"] > 1)
    yield (
        f"With these purchases the {level} interval of {_with_minus(pair['pair'].item())} is "
        f"expected to narrow from a width of {before} to {after}{largest}."
    )


def _with_minus(difference: str) -> str:
    """A difference with a true minus sign."""
    return difference.replace(" - ", " \u2212 ")


def _with_error(value: Any, error: Any) -> str:
    """A number with its Monte Carlo error."""
    places = places_of(float(error) or abs(float(value)), 2)
    texts = (small_number(x, places).replace("<", "less than ") for x in (value, error))
    return "{} (Monte Carlo error {})".format(*texts)


def _price(group: xr.Dataset, row: xr.Dataset) -> str:
    """What a list costs."""
    if _is_priced(group):
        return f"{_money(row['list_cost'])} units of money"
    return f"{thousands(row['list_cost'])} scores"


def _money(price: Any) -> str:
    """A price with two decimals, more where it is smaller."""
    plain = float(price)
    return f"{plain:,.2f}" if plain >= CENT or not plain else f"{plain:.2g}"


def _unit(group: xr.Dataset) -> str:
    """Unit of the loss."""
    return LOSSES[str(group.attrs["criterion"])]


def _is_priced(group: xr.Dataset) -> bool:
    """Whether prices are declared."""
    return str(group.attrs["unit"]) != "score"


def _break_even(group: xr.Dataset) -> Iterator[str]:
    """From which price of a loss on the list is worth it, where the weights have none."""
    size = int(group.attrs["best_size"])
    if not size or not _is_priced(group) or "list_net" in group:
        return
    row = group.sel(size=size)
    if not row["list_cost"]:
        yield f"That costs nothing, and is worth it at any price of a loss. {PRICE_OF_LOSS}."
        return
    price = float(row["list_cost"] / row["list_gain"])
    digits = max(2 - int(np.floor(np.log10(price))), 0)
    text = f"{price:,.{digits}f}"
    loss = name_one_loss(str(group.attrs["criterion"]))
    yield (
        f"That is worth it where a loss of {loss} costs more than {text} units of money. "
        f"{PRICE_OF_LOSS}."
    )


def _without_prices(group: xr.Dataset) -> Iterator[str]:
    """Which line to add where the study has no prices."""
    if not _is_priced(group) and int(group.attrs["best_size"]):
        price = "rating = 0.05" if _is_crowd(group) else "judge = 0.05"
        yield (
            f"The study has no prices. Add the table [costs], such as {price}, to the study, "
            f"or give --cost {price.replace(' ', '')}; every score counts the same until then."
        )


def _left_out(group: xr.Dataset) -> Iterator[str]:
    """How many judgements were not looked at."""
    if int(group.attrs["left_out"]):
        noun = "ratings" if _is_crowd(group) else "judgements"
        yield (
            f"{thousands(group.attrs['left_out'])} further {noun} were not looked at: of each "
            f"kind {thousands(MAX_JUDGEMENTS)} are drawn by chance."
        )

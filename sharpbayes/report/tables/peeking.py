"""How often decisions err if somebody looks several times while the data grow."""

import numpy as np

from sharpbayes.errors import format_percent
from sharpbayes.report.tables.declaration import Column, TableSpec, View, labels_of
from sharpbayes.report.tables.format import interval, number, thousands

AT_LIMITS = (
    " Tolerance: in the world without a difference every limit is the value that the models have, "
    "where admissible counts as wrong and not admissible as right."
)


def _share(name: str) -> Column:
    """A share up to the last look, with its Monte Carlo error."""

    def text(row: View) -> str:
        share, error = row[f"peeking/{name}"][-1], row[f"peeking/{name}_mcse"][-1]
        return f"{100 * float(share):.1f} \u00b1 {100 * float(error):.1f}"

    headings = {
        "wrong": "wrong once",
        "ever_wrong": "wrong ever",
        "ever_right": "right ever",
    }
    return Column(headings[name], text)


def _looks(view: View) -> str:
    """How many looks, and what the studies are."""
    group = view.group("peeking")
    prompts = [thousands(n) for n in group["prompts"].to_numpy()]
    level = format_percent(float(group.attrs["level"]))
    at_limits = AT_LIMITS if "tolerance" in group["rule"].to_numpy() else ""
    return (
        f"Per cent of {group.attrs['simulations']} simulated studies, with Monte Carlo errors; "
        f"{group.attrs['first']} and {group.attrs['second']}, looked at after {', '.join(prompts)} "
        f"prompts, at a level of {level}. Wrong once: at the last look alone; ever: at any look. "
        "Fixed: Student's interval; bootstrap: the intervals of measure; "
        "sequence: the confidence sequence, which holds at all looks. No difference: the models "
        "change places on every second prompt by chance; as observed: the truth is what was "
        f"observed.{at_limits}"
    )


def _difference(row: View) -> str:
    """The difference at a look."""
    return number(np.asarray(row["peeking/difference"]))


def _bounds(name: str) -> Column:
    """An interval at a look."""
    headings = {"fixed_bounds": "fixed interval", "sequence_bounds": "confidence sequence"}
    return Column(headings[name], lambda row: interval(row[f"peeking/{name}"].to_numpy()))


TABLES = (
    TableSpec(
        title="How often decisions err under several looks",
        needs=("peeking",),
        rows=labels_of("peeking/world", "peeking/rule"),
        columns=(
            "truth: {world}",
            "decided by: {rule}",
            _share("wrong"),
            _share("ever_wrong"),
            _share("ever_right"),
        ),
        note=_looks,
    ),
    TableSpec(
        title="The observed difference at every look",
        needs=("peeking",),
        rows=labels_of("peeking/look"),
        columns=(
            "look: {look}",
            "prompts: peeking/prompts | 0",
            Column("difference", _difference),
            _bounds("fixed_bounds"),
            _bounds("sequence_bounds"),
        ),
        note="Policy score of {peeking[first]} less that of {peeking[second]}, prompts in an order "
        "of chance. The fixed interval holds at one look that was fixed beforehand, the confidence "
        "sequence at all of them.",
    ),
)

"""What to buy next: trials, judges, answers, prompts or people, by what they cost."""

import numpy as np

from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View
from sharpbayes.report.tables.format import number

GROUP = "sample_size"
NAMES = {
    "trials": "trials of each judge on each answer",
    "judges": "judges",
    "generations": "answers to each prompt",
    "prompts": "prompts",
    "people": "ratings by people",
}
# Estimates that differ by less than so many Monte Carlo errors of their difference are alike.
CLEAR = 2.0


def _pairs(view: View) -> list[Labels]:
    """The unresolved pair of the two models that are likeliest to be the best."""
    share = view[f"{GROUP}/purchase_share"]
    unresolved = share.notnull().any("purchase")
    best = view["decision/prob_best"]
    weight = best + best.rename(model="other")
    candidates = weight.where(unresolved).where(share["model"] < share["other"])
    if not bool(candidates.notnull().any()):
        return []
    position = candidates.argmax(["model", "other"])
    model, other = (str(share[dim][int(position[dim])].item()) for dim in ("model", "other"))
    return [{"model": model, "other": other, "pair": f"{model} \u2212 {other}"}]


def _purchases(view: View) -> list[Labels]:
    """Purchases, the largest gain first."""
    gain = view[f"{GROUP}/purchase_gain"]
    ordered = gain["purchase"].to_numpy()[np.argsort(-gain.to_numpy(), kind="stable")]
    return [{"purchase": str(name), "twice": f"twice the {NAMES[str(name)]}"} for name in ordered]


def _width(row: View) -> str:
    """Width of the interval of the difference after a purchase."""
    present = row.select({"design": "prompts x 1"})[f"{GROUP}/difference_width"]
    return number(float(present) * np.sqrt(float(row[f"{GROUP}/purchase_share"])))


def _amount(view: View) -> float:
    """Money, or judgements, that gains are for: the power of ten below the cheapest purchase."""
    cheapest = float(view.group(GROUP)["purchase_cost"].min())
    return float(10.0 ** np.floor(np.log10(cheapest)))


def _gain(row: View) -> str:
    """Percent of the present precision that some units of money add, with its error."""
    percent = 100 * _amount(row)
    gain, error = (percent * float(row[f"{GROUP}/purchase_gain{end}"]) for end in ("", "_mcse"))
    places = 0 if error >= 1 else 2
    return f"{number(gain, places)} \u00b1 {number(error, places)}"


def _answer(view: View) -> str:
    """Which purchase narrows the difference most for its price."""
    rows = [view.select(labels) for labels in _purchases(view)]
    gains = [float(row[f"{GROUP}/purchase_gain"]) for row in rows]
    errors = [float(row[f"{GROUP}/purchase_gain_mcse"]) for row in rows]
    names = [str(row.labels["purchase"]) for row in rows]
    if len(rows) == 1:
        return f"Only {NAMES[names[0]]} have a price. "
    alike = [
        NAMES[name]
        for name, gain, error in zip(names[1:], gains[1:], errors[1:], strict=True)
        if gains[0] - gain < CLEAR * np.hypot(errors[0], error)
    ]
    first = f"For their price more {NAMES[names[0]]} narrow this difference most"
    return f"{first}; {', '.join(alike)} may be as good. " if alike else f"{first}. "


def _note(view: View) -> str:
    """The answer, and what the columns are."""
    amount = _amount(view)
    size = f"{amount:,.0f}" if amount >= 1 else f"{amount:g}"
    unit = f"{view.text('{sample_size[purchase_unit]}')}{'s' * (amount != 1)}"
    return (
        f"{_answer(view)}Each row buys twice as many; a new prompt comes with its answers and "
        "judgements, a new answer with its judgements. Open: share of the present variance of the "
        "difference that is left. Gain: percent of the present precision for each "
        f"{size} {unit} of the cost, with its Monte Carlo error."
    )


PURCHASES = TableSpec(
    title="What to buy next for {pair}",
    needs=(f"{GROUP}/purchase_share", "decision/prob_best"),
    repeat=_pairs,
    rows=_purchases,
    columns=(
        "buy: {twice}",
        "cost: sample_size/purchase_cost | thousands",
        "open: sample_size/purchase_share | 2",
        Column("width after", _width),
        Column("gain", _gain),
    ),
    note=_note,
)

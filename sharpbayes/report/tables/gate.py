"""The gate: differences by margin, and how often a gate of this design errs."""

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from sharpbayes.errors import format_percent
from sharpbayes.metrics.panel.non_inferiority import PASSING
from sharpbayes.report.metric_names import name_threshold
from sharpbayes.report.tables.declaration import Column, TableSpec, View, labels_of, over
from sharpbayes.report.tables.format import MAX_PLACES, MISSING, number, places_of, thousands

MARGIN_PLACES = 3
# No study will have so many times the prompts that it has.
MANY_TIMES = 100
SCENARIOS = {
    "no change": "no change",
    "at the margins": "as much worse as the margins allow",
    "regression": "a regression of {:g} margins",
}


def telling_places(bounds: ArrayLike, margin: ArrayLike, places: int) -> int:
    """Return the decimals that show on which side of a margin bounds lie, those wanted or more.

    >>> telling_places([0.0539, 0.11], 0.05, 2), telling_places([0.06, 0.11], 0.05, 2)
    (3, 2)
    """
    ends = [end for end in np.asarray(bounds, dtype=float) if end != margin]
    enough = (
        n
        for n in range(places, MAX_PLACES)
        if number(margin, n) not in [number(end, n) for end in ends]
    )
    return next(enough, MAX_PLACES)


def needed_prompts(value: ArrayLike, gate: xr.Dataset) -> str:
    """Return how many prompts are needed, or more than a hundred times the present ones.

    >>> gate = xr.Dataset(attrs={"prompts": 150})
    >>> needed_prompts(1234.0, gate), needed_prompts(344794.0, gate)
    ('1,234', 'more than 15,000')
    """
    max_prompts = MANY_TIMES * int(gate.attrs["prompts"])
    plain = float(np.asarray(value))
    return f"more than {thousands(max_prompts)}" if plain > max_prompts else thousands(plain)


def _places(row: View) -> int:
    """The decimals of a difference and its bounds."""
    low, high = bounds = row["gate/bounds"].to_numpy()
    return telling_places(bounds, row["gate/margin"], places_of((high - low) / 2, 2))


def _difference(row: View) -> str:
    """The difference between its bounds."""
    low, high = row["gate/bounds"].to_numpy()
    places = _places(row)
    ends = MISSING if np.isnan(low) else f"{number(low, places)} to {number(high, places)}"
    return f"{number(row['gate/difference'], places)} ({ends})"


def _margin(row: View) -> str:
    """The margin, with as many decimals as its bounds have."""
    return number(row["gate/margin"], max(MARGIN_PLACES, _places(row)))


def _prompts(name: str) -> Column:
    """A column of numbers of prompts."""
    return Column(
        name.replace("_", " "),
        lambda row: needed_prompts(row[f"gate/{name}"], row.group("gate")),
    )


def _scenario(row: View) -> str:
    """What is true of the candidate."""
    regression = row.group("gate").attrs["regression"]
    return SCENARIOS[str(row.labels["scenario"])].format(regression)


def _note(view: View) -> str:
    """What differences and bounds are."""
    attrs = view.group("gate").attrs
    units = "clusters of " * bool(attrs.get("clustered", 0)) + "prompts"
    kinds = {
        "bootstrap": f"{'paired ' * bool(attrs['paired'])}bootstrap over {units}",
        "posterior": "posterior of the fit of both models",
    }
    sides = attrs["candidate"], attrs["reference"]
    if len({*sides}) == 1:
        sides = "The candidate", "the reference"
    by_both = attrs["method"] == "posterior"
    ends = (
        f" Upper bounds of log-risk and of the policy score{' by the bootstrap' * by_both} contain "
        "what answers at the end of the scale can add, of which the candidate shows none."
    ) * bool((view.group("gate").get("unseen_end_rise", np.zeros(1)) > 0).any())
    both = " Log-risk and the policy score must be within their margins by both." * by_both
    drift = " less what the anchors show that judges score higher" * (int(attrs["anchors"]) > 0)
    return (
        f"{' less '.join(sides)}{drift}, with one-sided bounds at "
        f"{format_percent(attrs['confidence'])} confidence, by the {kinds[attrs['method']]}; lower "
        "bounds are corrected for the number of margins. Where resamples do not differ, or fewer "
        "than five prompts carry both means and their difference, bounds contain what so many "
        f"prompts can miss.{ends}{both} Positive is worse."
    )


def _needed_note(view: View) -> str:
    """What power and numbers of prompts are."""
    attrs = view.group("gate").attrs
    together = "" if bool(attrs["paired"]) else ", those of both sides together"
    return (
        f"How often a regression of {attrs['regression']:g} margins in this metric alone is held "
        f"back. Prompts to decide: at the present difference{together}. Prompts to pass: with "
        f"which an unchanged candidate passes in {PASSING:.0%} of cases."
    )


def _is_decided(view: View) -> bool:
    """Tell whether bounds decide, so that it is known how often they err."""
    return not view.group("gate").attrs.get("withheld")


TABLES = (
    TableSpec(
        title="Differences and margins",
        needs=("gate/margin",),
        rows=labels_of("gate/metric"),
        columns=(
            Column("metric", lambda row: name_threshold(str(row.labels["metric"]))),
            Column("difference", _difference),
            "bootstrap: gate/bootstrap_bounds | interval?",
            Column("margin", _margin),
            "P(within): gate/prob_within | probability?",
            "gate/state | text",
        ),
        note=_note,
    ),
    TableSpec(
        title="What this gate detects",
        needs=("gate/power",),
        condition=_is_decided,
        rows=labels_of("gate/metric"),
        columns=(
            Column("metric", lambda row: name_threshold(str(row.labels["metric"]))),
            "held back: gate/power | probability",
            "called not as safe: gate/power_shut | probability",
            _prompts("prompts_to_decide"),
            _prompts("prompts_to_pass"),
        ),
        note=_needed_note,
    ),
    TableSpec(
        title="How often a gate of this design says what",
        needs=("gate/outcome_share",),
        condition=_is_decided,
        rows=labels_of("gate/scenario"),
        columns=(
            Column("truth", _scenario),
            over("gate/outcome", "{outcome}: gate/outcome_share | 2"),
        ),
        note="By simulation from the resamples or draws, with bounds as far away as now.",
    ),
    TableSpec(
        title="Judges that have changed",
        condition=lambda view: "gate/drift" in view and bool(view["gate/drift"].notnull().any()),
        rows=labels_of("gate/metric"),
        columns=(
            Column("metric", lambda row: name_threshold(str(row.labels["metric"]))),
            "drift: gate/drift",
        ),
        note="How much higher judges score the anchors now; it is subtracted.",
    ),
    TableSpec(
        title="The difference without each judge",
        condition=lambda view: (
            "gate/difference_without" in view
            and view["gate/difference_without"].sizes["judge_out"] > 0
        ),
        rows=labels_of("gate/judge_out", "gate/metric"),
        columns=(
            "{judge_out}",
            Column("metric", lambda row: name_threshold(str(row.labels["metric"]))),
            "difference: gate/difference_without",
            "margin: gate/margin",
        ),
    ),
)

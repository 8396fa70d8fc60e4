"""Tables of careless raters: who may be one, in which groups, and the metrics without them."""

from collections.abc import Iterator

import numpy as np

from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.report.tables.crowd import EVERYONE, HEADLINE, MAX_ROWS, bias_of_model
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View
from sharpbayes.report.tables.format import MISSING, estimate, number

MAX_CARELESS = "-careless/prob_careless"
# A rater below this probability is not in the table, except the first.
SHOWN_FROM = 0.05


def _suspects(view: View) -> list[Labels]:
    """Raters from the most to the least likely careless; at least one."""
    ordered = view.coordinate("careless/rater", MAX_CARELESS)
    n_likely = int((view["careless/prob_careless"] >= SHOWN_FROM).sum())
    return [{"rater": rater} for rater in ordered[: max(1, n_likely)]]


def _suspects_note(view: View) -> str:
    """How many raters there are, and what a flag means."""
    data = view.group("careless")
    text = (
        f"{{shown}} of {data.sizes['rater']} raters, those with P(careless) of at least "
        f"{SHOWN_FROM:g}; error: Monte Carlo standard error. "
    )
    if not bool((data["prob_careless"] >= SHOWN_FROM).any()):
        text = (
            f"No rater has a P(careless) of {SHOWN_FROM:g} or more; of {data.sizes['rater']} "
            "raters this one has the largest. Error: Monte Carlo standard error. "
        )
    return view.text(text) + str(data.attrs["careless_note"])


def _groups(view: View) -> list[Labels]:
    """Groups with raters, all raters first."""
    return [{"group": group} for group in labels_where(view["careless/raters"] > 0)]


def _share(row: View) -> str:
    """The share of flagged raters of a group with its interval."""
    return estimate(row["careless/flagged_share"], row["careless/flagged_share_interval"])


def _populations(view: View) -> Iterator[Labels]:
    """Weights of raters; those under which no rater is left have no metrics."""
    for population in view.group("responsiveness_careless")["population"].to_numpy():
        yield {**EVERYONE, "population": population}


def _metric(row: View, name: str) -> str:
    """Observed value; posterior median and interval."""
    observed = number(row[f"responsiveness_careless/{name}"])
    draws = f"{{posterior_responsiveness_careless/{name}:posterior}}"
    return MISSING if observed == MISSING else row.text(f"{observed}; {draws}")


def _measured(view: View) -> bool:
    """Whether responsiveness of all raters is known."""
    return bool(np.isfinite(view.select(EVERYONE)["responsiveness_careless/hm"]).any())


def _metrics_note(view: View) -> str:
    """What the rows and the numbers are."""
    text = (
        "Observed; median and interval of replicates. sample: all raters count once; weighted: a "
        "rater counts 1 \u2212 P(careless)."
    )
    note = str(view.group("posterior_responsiveness_careless").attrs["interval_note"])
    remark = bias_of_model(view, "posterior_responsiveness_careless")
    return " ".join(filter(None, (text, note, remark)))


SUSPECTS = TableSpec(
    name="careless_raters",
    title="Raters who may be careless",
    needs=("careless",),
    rows=_suspects,
    max_rows=MAX_ROWS,
    columns=(
        "{rater}; P(careless): careless/prob_careless | probability",
        "error: careless/prob_careless_error; ratings: careless/ratings | thousands",
        "flagged: careless/flagged | yes_no; p of no reading: careless/reading_p | short p",
    ),
    note=_suspects_note,
)
FLAGS_BY_GROUP = TableSpec(
    title="How flags of careless raters fall over groups",
    needs=("careless",),
    rows=_groups,
    columns=(
        "{group}; raters: careless/raters | count; flagged: careless/flagged_raters | count",
        Column("share flagged", _share),
        "mean P(careless): careless/mean_prob_careless | probability",
    ),
    note="Share with its {careless[level]:percent} Wilson interval, which takes the raters as a "
    "sample.",
)
WITHOUT_CARELESS = TableSpec(
    title="Responsiveness of all raters, without careless ones, and weighted",
    needs=("responsiveness_careless", "posterior_responsiveness_careless"),
    condition=_measured,
    rows=_populations,
    columns=(
        "raters: {population}",
        *(
            Column(label, lambda row, name=name: _metric(row, name))  # type: ignore[misc]
            for name, label in HEADLINE.items()
        ),
    ),
    note=_metrics_note,
)
TABLES = (SUSPECTS, FLAGS_BY_GROUP, WITHOUT_CARELESS)

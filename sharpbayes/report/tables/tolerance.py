"""The tolerance of the weights: the verdict on each model, and each limit."""

from sharpbayes.errors import format_percent
from sharpbayes.report.metric_names import name_threshold
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View, labels_of, over
from sharpbayes.report.tables.format import estimate


def _observed(row: View) -> str:
    """The observed value between its one-sided bounds."""
    return estimate(row["tolerance/observed"], row["tolerance/bounds"])


def _rises_by_ends(view: View) -> list[Labels]:
    """One row of no labels where answers at the end of the scale can raise a bound, else none."""
    path = "tolerance/unseen_end_rise"
    return [{}] if path in view and bool((view[path] > 0).any()) else []


def _note(view: View) -> str:
    """What the bounds are."""
    limits = view.group("tolerance").sizes["threshold"]
    confidence = format_percent(view.group("tolerance").attrs["confidence"])
    corrected = f", the lower one corrected for {limits} limits" * (limits > 1)
    unseen = (
        " Ends add: what answers at the end of the scale that prompts can miss add to the upper "
        "bound."
    ) * len(_rises_by_ends(view))
    fitted = (
        " P(kept): posterior probability of staying within the limit; one on log-risk or on the "
        "policy score is kept only where the bootstrap keeps it too."
    ) * ("tolerance/prob_within" in view)
    return (
        "Observed value and bootstrap bounds, each one-sided at "
        f"{confidence} confidence{corrected}. A limit is kept where the upper bound is within it, "
        "and exceeded where the lower one is beyond. Where resamples do not differ, or fewer than "
        "five prompts carry a mean, bounds contain what so many prompts can miss."
        f"{unseen}{fitted}"
    )


TABLES = (
    TableSpec(
        title="Verdict on each model under the tolerance",
        needs=("tolerance", "profile/cvar"),
        rows=labels_of("profile/model", order="profile/cvar"),
        columns=(
            "{model}; by the bootstrap: tolerance/verdict | text",
            "by the fit: decision/verdict | text?",
            "P(adm.): decision/prob_admissible | probability?",
            "by people's scoring: decision_human/verdict | text?",
        ),
        note="At {tolerance[confidence]:percent} confidence. Cannot tell: neither is shown, or "
        "the evidence does not tell the tails that a limit is about.",
    ),
    TableSpec(
        title="The tolerance limit by limit",
        needs=("tolerance",),
        rows=labels_of("tolerance/model", "tolerance/threshold"),
        columns=(
            "{model}",
            Column("limit on", lambda row: name_threshold(str(row.labels["threshold"]))),
            "limit: tolerance/limit",
            Column("observed", _observed),
            over(_rises_by_ends, "ends add: tolerance/unseen_end_rise"),
            "P(kept): tolerance/prob_within | probability?",
            "by the bootstrap: tolerance/state | text",
            "by the fit: decision/state | text?",
        ),
        note=_note,
    ),
)

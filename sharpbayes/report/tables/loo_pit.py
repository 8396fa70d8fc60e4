"""Whether the model predicts single ratings: the table of leave-one-out PIT."""

from sharpbayes.metrics.stats.multiplicity import SIGNIFICANCE_LEVEL
from sharpbayes.report.tables.declaration import Column, TableSpec, View, labels_of
from sharpbayes.report.tables.format import number
from sharpbayes.report.tables.missing import percent

# A mean this far from one half, or a spread this far from 1, has words.
MEAN_GAP, SPREAD_GAP = 0.02, 0.1


def describe_misfit(row: View) -> str:
    """Return in words how ratings differ from their predictions, where the test fails."""
    if not float(row["loo_pit/p_holm"]) < SIGNIFICANCE_LEVEL:
        return "as predicted"
    mean, spread = float(row["loo_pit/pit_mean"]) - 0.5, float(row["loo_pit/pit_spread"]) - 1.0
    texts = []
    if abs(mean) >= MEAN_GAP:
        texts.append("scores higher than predicted" if mean > 0 else "scores lower than predicted")
    if abs(spread) >= SPREAD_GAP:
        texts.append("predictions too narrow" if spread > 0 else "predictions too wide")
    return ", ".join(texts) or "another shape than predicted"


def _bad_k(view: View) -> str:
    """How many weights are not reliable."""
    largest = float(view["loo_pit/bad_k"].max())
    limit = number(view.group("loo_pit").attrs["good_k"], 2)
    return f"Pareto k is above {limit} for {percent(largest)} of the ratings at most."


LOO_PIT = TableSpec(
    name="loo_pit",
    title="Leave-one-out PIT: does the model predict single ratings?",
    needs=("loo_pit/member",),
    rows=labels_of("loo_pit/member"),
    columns=(
        "ratings of: {member}",
        "left out: loo_pit/ratings | thousands",
        "mean: loo_pit/pit_mean",
        "spread: loo_pit/pit_spread | 2",
        "p: loo_pit/p_value | p",
        "p (Holm): loo_pit/p_holm | p",
        Column("band", "loo_pit/outside", lambda flag: "OUTSIDE" if bool(flag) else "inside"),
        Column("ratings are", describe_misfit),
    ),
    note=lambda view: (
        "Each rating has a place in its prediction from all other ratings (PIT), uniform from 0 to "
        "1 if the model is right. Mean: above 0.5 scores are higher than predicted. Spread: their "
        "variance as a multiple of a uniform one; above 1 predictions are too narrow. p: "
        "uniformity (POT-C), which ratings that depend on each other leave valid. "
        f"{_bad_k(view)}"
    ),
)

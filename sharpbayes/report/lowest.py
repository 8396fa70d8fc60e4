"""Which models are lowest by a metric: observed, by the posterior, and where the two dispute it."""

from collections.abc import Iterator, Mapping, Sequence

from sharpbayes.analysis.metric_names import METRICS
from sharpbayes.errors import join_names
from sharpbayes.posterior.lowest import lower_models, observed_lowest, similar_models
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.wording import bootstrap_estimate


def describe_observed_lowest(view: View, metric: str) -> str:
    """Return which model has the lowest observed value of a metric, and which are like it."""
    names = observed_lowest(view, metric)
    row = view.select({"metric": metric, "model": names[0]})
    verb, estimate = "has" if len(names) == 1 else "share", bootstrap_estimate(row)
    similar = similar_models(view, metric)
    others = f", not distinguishable from {join_names(similar)}" if similar else ""
    if lower := lower_models(view, metric):
        others += f", and a higher one than {join_names(lower)} on the prompts of both"
    return f"{join_names(names)} {verb} the lowest {METRICS[metric]}, {estimate}{others}"


def describe_different_lowest(lowest: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield that no model is lowest by all of some metrics, given the lowest ones by metric.

    >>> [text] = describe_different_lowest({"mean log-risk": ["a"], "policy score": ["b"]})
    >>> text.partition(":")[0]
    'Different models are lowest by mean log-risk and by policy score'
    """
    if len(lowest) > 1 and not set.intersection(*map(set, lowest.values())):
        metrics = join_names([f"by {metric}" for metric in lowest])
        yield (
            f"Different models are lowest {metrics}: log-risk counts harm near the end of the "
            "scale for more."
        )

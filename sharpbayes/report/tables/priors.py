"""The priors of a model file in words, defaults included."""

from collections.abc import Iterator

from sharpbayes.spec.model import Model
from sharpbayes.spec.prior_text import describe_effects


def prior_lines(model: Model) -> list[str]:
    """Return one line a part of a model: what it is by, and its prior.

    >>> from sharpbayes.library import find
    >>> from sharpbayes.spec.load import load
    >>> print(prior_lines(load(find("models", "judge_severity"), Model).spec)[0])
    thresholds of each scale: normal(0, 5), ordered
    >>> print(prior_lines(load(find("models", "crowd_adjacent"), Model).spec)[0])
    thresholds of each scale: normal(0, 5), unordered
    """
    return list(_lines(model))


def _lines(model: Model) -> Iterator[str]:
    """Thresholds, then location terms, slopes and discrimination terms."""
    thresholds = model.thresholds
    prior = thresholds.prior
    order = "ordered" if model.ordered_thresholds else "unordered"
    yield f"thresholds of each scale: normal({prior.mean:g}, {prior.sd:g}), {order}"
    for column in thresholds.by[1:]:
        effect = "log-gap effect" if model.ordered_thresholds else "gap effect"
        yield f"{effect} by {column}: {describe_effects(thresholds.gap)}"
    for term in model.location:
        by = " x ".join(term.by)
        yield (
            f"location by {by}: {describe_effects(term.prior)}"
            + ", sum 0 along every column" * term.zero_sum
        )
        if term.correlated_over:
            yield f"correlation over {term.correlated_over}: lkj({term.correlation.eta:g})"
    for column in model.numeric_columns:
        first = next(slope for slope in model.slope if slope.column == column)
        log = "log " * (first.transform == "log")
        yield f"slope of {log}{column}, by sd of it: {describe_effects(first.prior)}"
    for slope in model.slope:
        if slope.by:
            by = " x ".join(slope.by)
            deviation = describe_effects(slope.deviation)
            yield f"slope of {slope.column} by {by}: common slope + {deviation}"
    for factor in model.discrimination:
        by = " x ".join(factor.by)
        yield f"log discrimination by {by}: {describe_effects(factor.prior)}, sum 0"
    if careless := model.careless:
        yield f"share of careless raters: beta({careless.share.a:g}, {careless.share.b:g})"
        yield f"scores of a careless rater: dirichlet({careless.concentration:g}) of each score"

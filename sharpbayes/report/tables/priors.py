"""The priors of a model file in words, defaults included."""

from collections.abc import Iterator

from sharpbayes.spec.model import Exponential, HalfNormal, HalfStudentT, Model, Normal, StudentT


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
        yield f"{effect} by {column}: {effects(thresholds.gap)}"
    for term in model.location:
        by = " x ".join(term.by)
        yield (
            f"location by {by}: {effects(term.prior)}"
            + ", sum 0 along every column" * term.zero_sum
        )
        if term.correlated_over:
            yield f"correlation over {term.correlated_over}: lkj({term.correlation.eta:g})"
    for column in model.numeric_columns:
        first = next(slope for slope in model.slope if slope.column == column)
        log = "log " * (first.transform == "log")
        yield f"slope of {log}{column}, by sd of it: {effects(first.prior)}"
    for slope in model.slope:
        if slope.by:
            by = " x ".join(slope.by)
            yield f"slope of {slope.column} by {by}: common slope + {effects(slope.deviation)}"
    for factor in model.discrimination:
        yield f"log discrimination by {' x '.join(factor.by)}: {effects(factor.prior)}, sum 0"
    if careless := model.careless:
        yield f"share of careless raters: beta({careless.share.a:g}, {careless.share.b:g})"
        yield f"scores of a careless rater: dirichlet({careless.concentration:g}) of each score"


def effects(prior: Normal | StudentT) -> str:
    """Return the prior of effects.

    >>> effects(Normal(sd=HalfNormal(scale=1.5)))
    'normal(0, sd), sd half_normal(1.5)'
    """
    law = "normal(0, " if isinstance(prior, Normal) else f"student_t({prior.df:g}, 0, "
    if isinstance(prior.sd, float):
        return f"{law}{prior.sd:g})"
    return f"{law}sd), sd {scale(prior.sd)}"


def scale(prior: HalfNormal | Exponential | HalfStudentT) -> str:
    """Return the prior of an sd.

    >>> scale(HalfStudentT(kind="half_student_t", df=3, scale=1))
    'half_student_t(3, 1)'
    """
    numbers = [f"{value:g}" for name, value in prior.model_dump().items() if name != "kind"]
    return f"{prior.kind}({', '.join(numbers)})"

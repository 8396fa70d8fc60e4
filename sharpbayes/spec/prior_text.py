"""Priors of a model file in words."""

from sharpbayes.spec.model import Exponential, HalfNormal, HalfStudentT, Normal, StudentT


def describe_effects(prior: Normal | StudentT) -> str:
    """Return the prior of effects.

    >>> describe_effects(Normal(sd=HalfNormal(scale=1.5)))
    'normal(0, sd), sd half_normal(1.5)'
    """
    law = "normal(0, " if isinstance(prior, Normal) else f"student_t({prior.df:g}, 0, "
    if isinstance(prior.sd, float):
        return f"{law}{prior.sd:g})"
    return f"{law}sd), sd {describe_sd(prior.sd)}"


def describe_sd(prior: HalfNormal | Exponential | HalfStudentT) -> str:
    """Return the prior of an sd.

    >>> describe_sd(HalfStudentT(kind="half_student_t", df=3, scale=1))
    'half_student_t(3, 1)'
    """
    numbers = [f"{value:g}" for name, value in prior.model_dump().items() if name != "kind"]
    return f"{prior.kind}({', '.join(numbers)})"

"""Who scores beside the judges of a panel: ensembles, people, families of models and judges."""

from typing import Annotated

from pydantic import Field

from sharpbayes.spec.base import Name, Spec


class Ensemble(Spec):
    """Another choice of judges, measured beside the study's own (SHARP, Appendix C)."""

    judges: Annotated[tuple[Name, ...], Field(min_length=1, strict=False)]


class PeopleRoles(Spec):
    """Which column holds what, in a table of people's ratings; without a rater, gold labels."""

    model: Name
    prompt: Name
    score: Name
    rater: Name | None = None
    indicator: Name | None = None
    sample: Name | None = None


class People(Spec):
    """People who scored some of the cells that judges score, on the same scales: one row a rating.

    ``raters`` names those who are used, all that there are by default.
    """

    data: Name
    roles: PeopleRoles
    raters: Annotated[tuple[Name, ...], Field(min_length=1, strict=False)] | None = None


class Family(Spec):
    """Models and judges of one family: by one maker, or of one kind."""

    models: Annotated[tuple[Name, ...], Field(min_length=1, strict=False)]
    judges: Annotated[tuple[Name, ...], Field(min_length=1, strict=False)]
